// Lines behind a job's comment, also when others write to it at the same time.
#include "plugins/slurm/backend/job_record.h"

#include <vector>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::slurm;

namespace {

struct Job {
    std::string comment;
    std::vector<std::string> others; // what somebody makes of it, behind each write
    int writes = 0;
    CommentCalls calls{[this]() -> Result<std::string> { return comment; },
                       [this](const std::string &text) -> Result<void> {
                           comment = text;
                           ++writes;
                           return {};
                       },
                       [this](int) {
                           if (others.empty())
                               return;
                           comment = others.front();
                           others.erase(others.begin());
                       }};
    Result<void> append(const std::string &line) { return append_to_comment(line, calls); }
};

void it_comes_behind_what_is_there(void **) {
    Job job;
    assert_true(job.append("one").ok());
    assert_string_equal(job.comment.c_str(), "one");
    job.comment = "of the user";
    assert_true(job.append("one").ok());
    assert_true(job.append("on").ok()); // is not there as a whole
    assert_true(job.append("two").ok());
    assert_true(job.append("one").ok()); // is
    assert_string_equal(job.comment.c_str(), "of the user; one; on; two");
    assert_int_equal(job.writes, 4);
}

void it_is_written_again_where_others_took_it_away(void **) {
    Job job;
    job.others = {"theirs", "theirs; more"};
    assert_true(job.append("one").ok());
    assert_string_equal(job.comment.c_str(), "theirs; more; one");
    assert_int_equal(job.writes, 3);
    job.others.assign(100, "theirs");
    auto never = job.append("two");
    assert_true(!never && never.failure().kind == ErrorKind::limit);
}

void it_has_a_limit(void **) {
    Job job;
    assert_true(job.append(std::string(max_comment, 'x')).ok());
    auto full = job.append("y");
    assert_true(!full && full.failure().kind == ErrorKind::limit);
    assert_int_equal(job.writes, 1);
    job.calls.read = []() -> Result<std::string> { return error(ErrorKind::unreachable, "nobody"); };
    auto gone = job.append("y");
    assert_true(!gone && gone.failure().kind == ErrorKind::unreachable);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_behind_what_is_there),
        cmocka_unit_test(it_is_written_again_where_others_took_it_away),
        cmocka_unit_test(it_has_a_limit),
    };
    return cmocka_run_group_tests_name("record of a job", tests, nullptr, nullptr);
}
