// PMIx_Log: which entries are written, and the one status for all of them.
#include "server-glue/log/log_service.h"

#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

struct Written {
    std::vector<std::pair<int, std::string>> lines;
    bool works = true;
    std::vector<std::string> recorded;
    std::function<void(pmix_status_t)> recording; // waits for the RM
    pmix_status_t status = 1;                     // there is no answer yet
    pmix_status_t log(LogAsk &ask) {
        LogPlaces places;
        places.write = [this](std::vector<TaskText> texts, bool until_one_goes, const TaskTexts::Done &written) {
            std::vector<bool> went;
            for (auto &each : texts) {
                went.push_back(works);
                if (works)
                    lines.emplace_back(each.fd, each.text);
                if (works && until_one_goes)
                    break;
            }
            written(went);
        };
        places.record = [this](const std::string &text, std::function<void(pmix_status_t)> done) {
            recorded.push_back(text);
            recording = std::move(done);
        };
        places.mail = [this](std::shared_ptr<const Mail> letter, std::function<void(pmix_status_t)> done) {
            recorded.push_back(mail_message(*letter));
            recording = std::move(done);
        };
        places.syslog = [this](const std::string &text, std::function<void(pmix_status_t)> done) {
            recorded.push_back(text);
            recording = std::move(done);
        };
        log_entries(std::make_shared<LogAsk>(std::move(ask)), std::move(places),
                    [this](pmix_status_t all, LogAsk &) { status = all; });
        return status;
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

void elements_of_xml(void **) {
    Written written;
    LogAsk ask = ask_of({out, {"x", 2, "a < b && c\n\x1b[1m", PMIX_SUCCESS}});
    ask.caller = {"job", 7, false};
    ask.xml = true;
    assert_int_equal(written.log(ask), PMIX_SUCCESS);
    assert_string_equal(written.lines[0].second.c_str(), "<stdout nspace=\"job\" rank=\"7\">to out</stdout>\n");
    assert_string_equal(written.lines[1].second.c_str(),
                        "<stderr nspace=\"job\" rank=\"7\">a &#060; b &#038;&#038; c&#010;?[1m</stderr>\n");
    LogAsk dated = ask_of({out});
    dated.caller = {"job", 7, false};
    dated.xml = dated.timed = true;
    dated.time = 1'000'000'000;
    assert_int_equal(written.log(dated), PMIX_SUCCESS);
    assert_string_equal(written.lines[2].second.c_str(),
                        "<stdout nspace=\"job\" rank=\"7\" timestamp=\"2001-09-09T01:46:40Z\">to out</stdout>\n");
    // What no pipe holds as an element is not written by half.
    LogAsk large = ask_of({{"x", 1, std::string(LogAsk::max_text / 4, '<'), PMIX_SUCCESS}});
    large.xml = true;
    assert_int_equal(written.log(large), PMIX_ERR_OUT_OF_RESOURCE);
    assert_int_equal(written.lines.size(), 3);
}

void syslog_is_waited_for(void **) {
    LogAsk::Entry line{"syslog", -1, "two\nlines", PMIX_SUCCESS};
    line.syslog = true;
    Written written;
    LogAsk ask = ask_of({line, out});
    ask.caller = {"job", 7, false};
    ask.once = true;
    assert_int_equal(written.log(ask), 1);
    assert_string_equal(written.recorded.at(0).c_str(), "[job:7] two lines");
    written.recording(PMIX_SUCCESS);
    assert_int_equal(written.status, PMIX_SUCCESS);
    assert_true(written.lines.empty());
}

void the_record_is_waited_for(void **) {
    LogAsk::Entry record{"record", -1, "two\nlines ", PMIX_SUCCESS};
    record.job_record = true;
    Written written;
    LogAsk ask = ask_of({out, record, err});
    ask.caller = {"job", 7, false};
    assert_int_equal(written.log(ask), 1);
    assert_int_equal(written.lines.size(), 1); // in their order
    assert_string_equal(written.recorded.at(0).c_str(), "[job:7] two lines");
    written.recording(PMIX_ERR_TIMEOUT);
    assert_int_equal(written.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(written.lines.size(), 2);

    for (pmix_status_t how : {PMIX_SUCCESS, PMIX_ERR_TIMEOUT}) { // once: the next one where it fails
        Written once;
        LogAsk either = ask_of({mail, record, err});
        either.once = true;
        assert_int_equal(once.log(either), 1);
        once.recording(how);
        assert_int_equal(once.status, PMIX_SUCCESS);
        assert_int_equal(once.lines.size(), how == PMIX_SUCCESS ? 0 : 1);
    }
}

void a_letter_is_one_that_can_be_sent(void **) {
    auto list = mail_addresses("a@b.c, d@e");
    assert_true(list && *list == (std::vector<std::string>{"a@b.c", "d@e"}));
    for (const char *bad : {"", "a@b,", "-oQ/tmp@x", "a@b, -x", "a@b\nBcc: c@d", "a b@c"})
        assert_false(mail_addresses(bad).ok());
    std::string many = "a@b";
    for (int i = 0; i < 50; ++i)
        many += ",a@b";
    assert_false(mail_addresses(many).ok());
    assert_true(is_header_text("what a day"));
    assert_false(is_header_text("a\r\nBcc: b"));
    assert_false(is_header_text(std::string(1001, 'x')));

    Mail mail{{"a@b", "c@d"}, "me@x", "done", "all is well"};
    assert_string_equal(mail_message(mail).c_str(), "From: me@x\nTo: a@b, c@d\nSubject: done\n\nall is well\n");
    assert_true(send_mail("/bin/true", mail, std::chrono::seconds(30)).ok());
    assert_false(send_mail("/bin/false", mail, std::chrono::seconds(30)).ok());
    assert_false(send_mail("/nowhere/sendmail", mail, std::chrono::seconds(30)).ok());
    mail.text.assign(60'000, 'x');
    assert_true(send_mail("/bin/true", mail, std::chrono::seconds(30)).ok()); // that does not read it

    LogAsk::Entry letter{"mail", -1, "", PMIX_SUCCESS};
    letter.mail = std::make_shared<const Mail>(mail);
    Written written;
    LogAsk ask = ask_of({letter, out});
    assert_int_equal(written.log(ask), 1);
    written.recording(PMIX_SUCCESS);
    assert_int_equal(written.status, PMIX_SUCCESS);
    assert_int_equal(written.lines.size(), 1);
}

void a_program_that_hangs_is_ended(void **) {
    char script[] = "/tmp/pmixhost-mail.XXXXXX";
    int fd = mkstemp(script);
    assert_true(fd >= 0);
    std::string text = "#!/bin/sh\nexec sleep 1000\n";
    assert_int_equal(write(fd, text.data(), text.size()), text.size());
    fchmod(fd, 0700);
    close(fd);
    auto late = send_mail(script, {{"a@b"}, {}, {}, "x"}, std::chrono::milliseconds(300));
    unlink(script);
    assert_true(!late && late.failure().kind == ErrorKind::timeout);
}

} // namespace

int main() {
    ::signal(SIGPIPE, SIG_IGN); // as in the daemon: a program may end before it has read its letter
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_status_for_all),
        cmocka_unit_test(once_is_once),
        cmocka_unit_test(labels),
        cmocka_unit_test(elements_of_xml),
        cmocka_unit_test(syslog_is_waited_for),
        cmocka_unit_test(the_record_is_waited_for),
        cmocka_unit_test(a_letter_is_one_that_can_be_sent),
        cmocka_unit_test(a_program_that_hangs_is_ended),
    };
    return cmocka_run_group_tests_name("log", tests, nullptr, nullptr);
}
