// Which jobs are ended for whose end, when, and with which exit code.
#include "server-glue/cross_job/shared_fate.h"

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

Rank size_of(const Bytes &nspace) {
    return nspace == "parent" ? 2 : nspace == "child" ? 3 : 0;
}

Signature signature(std::vector<Members> members) {
    Signature out;
    out.kind = CollectiveKind::connect;
    out.members = std::move(members);
    return out;
}

struct Job {
    SharedFate fate{"parent"};
    TimePoint now{};
    explicit Job(Signature connection = signature({{"child", 1, {}}, {"parent", 1, {}}})) {
        fate.add_kin("child", "7.1");
        fate.connected(connection, size_of);
    }
    int verdict(Duration later = 0s) {
        auto out = fate.on_time(now + later);
        return out ? out->exit_status : 0;
    }
};

void a_process_of_the_other_job_ends(void **) {
    Job job;
    job.fate.on_bad_end(job.now, "child", 1, 4, true);
    auto verdict = job.fate.on_time(job.now);
    assert_true(verdict.has_value());
    assert_int_equal(verdict->exit_status, 4);
    assert_string_equal(verdict->text.c_str(),
                        "rank 1 of job 7.1, with which this job is connected, ended with exit code 4 "
                        "without MPI_Finalize");
    job.fate.on_bad_end(job.now, "child", 2, 5, true);
    assert_int_equal(job.verdict(10s), 0); // one is enough
}

void who_wrote_to_the_gone_ends_nobody(void **) {
    Job job;
    job.fate.on_bad_end(job.now, "child", 1, 141, true);
    job.fate.on_bad_end(job.now, "parent", 1, 141, false);
    job.fate.on_job_ended(job.now, "child", 141);
    assert_int_equal(job.verdict(10s), 0);
}

void whose_end_is_that_of_all(void **) {
    Job job;
    assert_true(job.fate.is_end_of_all("parent", 1, 4));
    assert_true(job.fate.is_end_of_all("parent", 1, std::nullopt));
    assert_false(job.fate.is_end_of_all("parent", 1, 141));
    assert_false(job.fate.is_end_of_all("parent", 2, 4)); // there is none
    assert_int_equal(job.verdict(10s), 0);                // nothing has ended
    job.fate.disconnected(signature({{"child", 1, {}}, {"parent", 1, {}}}), size_of);
    assert_false(job.fate.is_end_of_all("parent", 1, 4));
}

void success_is_none(void **) {
    Job job;
    job.fate.on_bad_end(job.now, "child", 0, 0, true);
    assert_int_equal(job.verdict(), 1);
}

void who_was_killed_may_only_be_the_last(void **) {
    Job job;
    job.fate.on_bad_end(job.now, "child", 0, 137, true);
    assert_int_equal(job.verdict(), 0);
    assert_true(job.fate.next_time() == job.now + SharedFate::patience);
    job.fate.on_job_ended(job.now + 1s, "child", 3);
    assert_int_equal(job.verdict(1s), 3);
    Job other;
    other.fate.on_bad_end(other.now, "child", 0, 137, true);
    assert_int_equal(other.verdict(SharedFate::patience), 137);
    Job far;
    far.fate.on_bad_end(far.now, "child", 0, std::nullopt, false);
    assert_int_equal(far.verdict(SharedFate::patience), 0);
    assert_int_equal(far.verdict(SharedFate::longer_patience), 1);
}

void a_process_of_its_own_ends(void **) {
    Job job;
    job.fate.on_bad_end(job.now, "parent", 1, 139, false);
    auto verdict = job.fate.on_time(job.now);
    assert_true(verdict.has_value());
    assert_int_equal(verdict->exit_status, 139);
    assert_string_equal(verdict->text.c_str(), "rank 1 was ended by signal 11 without MPI_Finalize while "
                                               "this job was connected with job 7.1");
}

void only_the_connected_count(void **) {
    Job job(signature({{"child", 0, {0, 2}}, {"parent", 0, {1}}}));
    job.fate.on_bad_end(job.now, "parent", 0, 4, false);
    job.fate.on_bad_end(job.now, "child", 1, 4, false);
    job.fate.on_bad_end(job.now, "stranger", 0, 4, false);
    assert_int_equal(job.verdict(), 0);
    job.fate.on_bad_end(job.now, "child", 2, 4, false);
    assert_int_equal(job.verdict(), 4);
}

void no_kin_no_fate(void **) {
    SharedFate fate("parent");
    fate.connected(signature({{"child", 1, {}}, {"parent", 1, {}}}), size_of);
    fate.on_bad_end({}, "child", 0, 4, true);
    fate.on_job_ended({}, "child", 4);
    assert_true(fate.next_time() == TimePoint::max());
}

void the_whole_job_ends(void **) {
    Job job;
    job.fate.on_job_ended(job.now, "child", 0);
    assert_int_equal(job.verdict(), 0);
    job.fate.on_job_ended(job.now, "child", 256 + 7);
    assert_int_equal(job.verdict(), 7);
}

void who_has_disconnected_is_independent(void **) {
    // In other words: a fence names all ranks, one by one.
    Job job;
    job.fate.disconnected(signature({{"parent", 1, {}}}), size_of);
    job.fate.disconnected(signature({{"child", 0, {0, 1}}, {"parent", 1, {}}}), size_of);
    assert_true(job.fate.connected_with("child"));
    job.fate.disconnected(signature({{"child", 0, {0, 1, 2}}, {"parent", 0, {0, 1}}}), size_of);
    assert_false(job.fate.connected_with("child"));
    job.fate.on_bad_end(job.now, "child", 0, 4, true);
    job.fate.on_job_ended(job.now, "child", 4);
    assert_int_equal(job.verdict(), 0);
    // Connected twice, disconnected once.
    Job twice;
    twice.fate.connected(signature({{"child", 1, {}}, {"parent", 1, {}}}), size_of);
    twice.fate.disconnected(signature({{"child", 1, {}}, {"parent", 1, {}}}), size_of);
    twice.fate.on_bad_end(twice.now, "child", 0, 4, true);
    assert_int_equal(twice.verdict(), 4);
}

// One after the other, as a master has them.
void who_has_parted_is_known_for_a_while(void **) {
    auto with = [](const std::string &child) { return signature({{child, 1, {}}, {"parent", 1, {}}}); };
    SharedFate fate("parent");
    auto connect = [&](const std::string &child) {
        fate.add_kin(child, "7");
        fate.connected(with(child), size_of);
    };
    connect("first");
    connect("lasting");
    // This one connects once more, and parts in between.
    connect("busy");
    fate.add_kin("busy", "7");
    fate.disconnected(with("busy"), size_of);
    for (int i = 0; i < 100'000; ++i) {
        if (i == 1000)
            fate.connected(with("busy"), size_of);
        std::string name = "c" + std::to_string(i);
        connect(name);
        fate.disconnected(with(name), size_of);
        assert_true(fate.kin_count() <= SharedFate::most_apart + 3);
    }
    assert_true(fate.is_kin("c99999") && !fate.is_kin("c0"));
    assert_true(fate.connected_with("first") && fate.connected_with("lasting") && fate.connected_with("busy"));
    // As if for the first time.
    connect("c0");
    assert_true(fate.is_end_of_all("parent", 0, 4));
    fate.on_job_ended({}, "c0", 4);
    auto verdict = fate.on_time({});
    assert_true(verdict && verdict->exit_status == 4);
    assert_string_equal(verdict->text.c_str(), "job 7, with which this job is connected, ended with exit code 4");
}

// Twice, and parted once: it is not forgotten while others part.
void who_is_connected_twice_stays_kin(void **) {
    auto with = [](const std::string &child) { return signature({{child, 1, {}}, {"parent", 1, {}}}); };
    SharedFate fate("parent");
    for (int i = 0; i < 2; ++i) {
        fate.add_kin("child", "7.1");
        fate.connected(with("child"), size_of);
    }
    fate.disconnected(with("child"), size_of);
    for (int i = 0; i < 5000; ++i) {
        std::string name = std::to_string(i);
        fate.add_kin(name, name);
        fate.connected(with(name), size_of);
        fate.disconnected(with(name), size_of);
    }
    assert_true(fate.is_kin("child") && fate.connected_with("child"));
    fate.on_job_ended({}, "child", 3);
    auto verdict = fate.on_time({});
    assert_true(verdict && verdict->exit_status == 3);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_process_of_the_other_job_ends),
        cmocka_unit_test(who_wrote_to_the_gone_ends_nobody),
        cmocka_unit_test(whose_end_is_that_of_all),
        cmocka_unit_test(success_is_none),
        cmocka_unit_test(who_was_killed_may_only_be_the_last),
        cmocka_unit_test(a_process_of_its_own_ends),
        cmocka_unit_test(only_the_connected_count),
        cmocka_unit_test(no_kin_no_fate),
        cmocka_unit_test(the_whole_job_ends),
        cmocka_unit_test(who_has_disconnected_is_independent),
        cmocka_unit_test(who_has_parted_is_known_for_a_while),
        cmocka_unit_test(who_is_connected_twice_stays_kin),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
