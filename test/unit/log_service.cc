// PMIx_Log: which entries are written, and the one status for all of them.
#include "server-glue/log_service.h"

#include <unistd.h>

#include "server-glue/user_terminal.h"
#include "test/unit/check.h"

using namespace pmixhost;

namespace {

struct Written {
    std::vector<std::pair<int, std::string>> lines;
    bool works = true;
    pmix_status_t log(LogAsk &ask) {
        return log_entries(ask, [this](int fd, const std::string &text) {
            if (works)
                lines.emplace_back(fd, text);
            return works;
        });
    }
};

LogAsk ask_of(std::vector<LogAsk::Entry> entries) {
    LogAsk ask;
    ask.entries = std::move(entries);
    return ask;
}
const LogAsk::Entry out{"out", 1, "to out", PMIX_SUCCESS}, err{"err", 2, "to err", PMIX_SUCCESS},
    mail{"mail", -1, "", PMIX_ERR_NOT_SUPPORTED}, bad{"bad", -1, "", PMIX_ERR_BAD_PARAM},
    done{"syslog", -1, "", PMIX_SUCCESS};

void one_status_for_all(void **) {
    auto status = [](std::vector<LogAsk::Entry> entries, bool works = true) {
        Written written;
        written.works = works;
        LogAsk ask = ask_of(std::move(entries));
        return written.log(ask);
    };
    assert_int_equal(status({out, err, done}), PMIX_SUCCESS);
    assert_int_equal(status({out, mail}), PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(status({done, out}, false), PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(status({bad, mail}), PMIX_ERR_BAD_PARAM);
    assert_int_equal(status({out}, false), PMIX_ERR_OUT_OF_RESOURCE);
}

void once_is_once(void **) {
    Written written;
    LogAsk ask = ask_of({mail, err, out});
    ask.once = true;
    assert_int_equal(written.log(ask), PMIX_SUCCESS);
    assert_int_equal(written.lines.size(), 1);
    assert_int_equal(written.lines[0].first, 2);
}

void labels(void **) {
    Written written;
    LogAsk ask = ask_of({out, err});
    ask.tagged = ask.timed = true;
    ask.time = 1'000'000'000;
    assert_int_equal(written.log(ask), PMIX_SUCCESS);
    assert_string_equal(written.lines[0].second.c_str(), "2001-09-09T01:46:40Z stdout: to out");
    assert_string_equal(written.lines[1].second.c_str(), "2001-09-09T01:46:40Z stderr: to err");
}

// Where nobody reads, nothing waits.
void a_full_pipe_is_not_waited_for(void **) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    int kept = dup(2);
    dup2(ends[1], 2);
    bool first = write_for(getpid(), 2, "x"), second = write_for(getpid(), 2, std::string(1 << 20, 'x'));
    dup2(kept, 2);
    close(kept);
    assert_true(first);
    assert_false(second);
    char byte = 0;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'x');
    close(ends[0]);
    close(ends[1]);
    assert_false(write_for(0, 2, "x"));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_status_for_all),
        cmocka_unit_test(once_is_once),
        cmocka_unit_test(labels),
        cmocka_unit_test(a_full_pipe_is_not_waited_for),
    };
    return cmocka_run_group_tests_name("log", tests, nullptr, nullptr);
}
