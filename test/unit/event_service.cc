// Events over the tree of a step's hosts: everyone once, in order, around hosts that are gone.
#include "server-glue/events/event_service.h"

#include <pmix_common.h>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;

namespace {

// Hosts with two ranks each: 2h and 2h+1. What is sent waits until run().
struct Step : FakeNetwork {
    struct Host final : EventPort {
        Step &step;
        NetworkHosts others;
        std::vector<wire::EventNotice> notices;
        std::vector<wire::HostReport> reports;
        EventService service;
        Host(Step &s, HostIndex h, std::uint32_t radix)
            : step(s), others(s, h), service(others, *this, *s.map, s.nspace, h, radix) {}
        void event_lost(HostIndex to) override { step.lost.push_back(to); }
        void deliver(const wire::EventNotice &notice) override { notices.push_back(notice); }
        void deliver(const wire::HostReport &report) override { reports.push_back(report); }
        void deliver(const wire::BadEnds &ends) override {
            for (auto &report : by_host(ends, *step.map))
                reports.push_back(std::move(report));
        }
        void deliver(const wire::NormalExits &e) override {
            for (const auto &range : e.ranks) {
                for (Rank rank = range.first; rank <= range.last; ++rank)
                    ends.push_back(rank);
            }
            for (const auto &range : e.uncertain) {
                for (Rank rank = range.first; rank <= range.last; ++rank)
                    uncertain.push_back(rank);
            }
        }
        std::vector<Rank> ends, uncertain;
        void send_cross_job(wire::CrossJobEvent event) override { cross_job.push_back(std::move(event)); }
        std::vector<wire::CrossJobEvent> cross_job;
    };
    std::string nspace = "job";
    std::unique_ptr<JobMap> map;
    std::vector<std::unique_ptr<Host>> hosts;
    std::map<HostIndex, int> crossed; // to a host
    std::vector<HostIndex> lost;      // an event

    Step(HostIndex count, std::uint32_t radix) {
        std::vector<std::string> names;
        std::vector<std::vector<Rank>> ranks;
        for (HostIndex h = 0; h < count; ++h) {
            names.push_back("n" + std::to_string(h));
            ranks.push_back({2 * h, 2 * h + 1});
        }
        map = std::make_unique<JobMap>(*JobMap::create(names, ranks));
        for (HostIndex h = 0; h < count; ++h)
            hosts.push_back(std::make_unique<Host>(*this, h, radix));
    }
    void run() {
        while (auto sent = take()) {
            if (gone.contains(sent->to))
                continue;
            ++crossed[sent->to];
            auto &service = hosts[sent->to]->service;
            if (sent->type == wire::EventNotice::type)
                service.on_notice(sent->from, *wire::decode<wire::EventNotice>(*sent->payload), sent->payload);
            else if (sent->type == wire::BadEnds::type)
                service.on_bad_ends(sent->from, *wire::decode<wire::BadEnds>(*sent->payload));
            else if (sent->type == wire::NormalExits::type)
                service.on_ends(sent->from, *wire::decode<wire::NormalExits>(*sent->payload), sent->payload);
            else
                service.on_report(sent->from, *wire::decode<wire::HostReport>(*sent->payload), sent->payload);
        }
    }
    void notify(HostIndex from, int code, std::uint8_t range = PMIX_RANGE_NAMESPACE, std::vector<Process> custom = {},
                std::size_t bytes = 0) {
        NotifyAsk ask;
        ask.info.assign(bytes, 'x');
        ask.source = {"job", 2 * from, false};
        ask.status = code;
        ask.range = range;
        ask.custom = std::move(custom);
        hosts[from]->service.notify(std::move(ask));
    }
};

void everyone_hears_once_and_in_order(void **) {
    for (HostIndex count : {1u, 2u, 3u, 7u, 40u}) {
        for (std::uint32_t radix : {1u, 2u, 32u}) {
            for (HostIndex from : {HostIndex{0}, count / 2, count - 1}) {
                Step step(count, radix);
                step.notify(from, 1);
                step.notify(from, 2);
                step.run();
                for (HostIndex h = 0; h < count; ++h) {
                    auto &got = step.hosts[h]->notices;
                    assert_int_equal(got.size(), h == from ? 0 : 2);
                    assert_int_equal(step.crossed[h], h == from ? 0 : 2);
                    if (h != from)
                        assert_true(got[0].status == 1 && got[1].status == 2);
                }
            }
        }
    }
}

void ranges_that_end_at_the_host(void **) {
    Step step(3, 2);
    for (std::uint8_t range : {PMIX_RANGE_RM, PMIX_RANGE_LOCAL, PMIX_RANGE_PROC_LOCAL})
        step.notify(1, 1, range);
    assert_true(step.wire.empty());
    for (std::uint8_t range : {PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL, PMIX_RANGE_UNDEF})
        step.notify(1, 1, range);
    step.run();
    assert_int_equal(step.hosts[0]->notices.size(), 3);
    assert_int_equal(step.hosts[2]->notices.size(), 3);
}

void a_custom_range_goes_where_it_names_and_no_farther(void **) {
    Step step(7, 2); // 0: 1 2; 1: 3 4; 2: 5 6
    step.notify(3, 1, PMIX_RANGE_CUSTOM, {{"job", 12, false}, {"other", 8, false}, {"job", 7, false}});
    step.run();
    for (HostIndex h = 0; h < 7; ++h)
        assert_int_equal(step.hosts[h]->notices.size(), h == 6 ? 1 : 0);
    assert_int_equal(step.crossed[5] + step.crossed[4], 0);
    step.notify(3, 1, PMIX_RANGE_CUSTOM, {{"job", 6, false}, {"job", 99, false}});
    assert_true(step.wire.empty()); // its own host, and nobody
    step.notify(3, 1, PMIX_RANGE_CUSTOM, {{"job", 0, true}});
    step.run();
    assert_int_equal(step.hosts[5]->notices.size(), 1);
}

void what_is_for_other_namespaces_goes_to_the_session(void **) {
    Step step(3, 2);
    auto &cross_job = step.hosts[1]->cross_job;
    for (std::uint8_t range : {PMIX_RANGE_NAMESPACE, PMIX_RANGE_LOCAL, PMIX_RANGE_RM, PMIX_RANGE_UNDEF})
        step.notify(1, 1, range);
    step.notify(1, 1, PMIX_RANGE_CUSTOM, {{"job", 0, false}});
    assert_int_equal(cross_job.size(), 0);
    for (std::uint8_t range : {PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL})
        step.notify(1, 2, range);
    step.notify(1, 3, PMIX_RANGE_CUSTOM, {{"b", 8, false}, {"job", 0, false}, {"a", 0, true}, {"b", 9, false}});
    assert_int_equal(cross_job.size(), 3);
    assert_true(cross_job[0].nspaces.empty() && cross_job[1].nspaces.empty());
    assert_true(cross_job[2].nspaces == (std::vector<Bytes>{"a", "b"}));
    assert_int_equal(cross_job[2].custom.size(), 4);
    assert_int_equal(cross_job[2].custom[2].rank, PMIX_RANK_WILDCARD);
    step.run();
    assert_int_equal(step.hosts[0]->notices.back().status, 3); // its own namespace's part
    for (auto &host : step.hosts)
        assert_true(host->cross_job.empty() || host == step.hosts[1]); // once, from where it is notified
}

void what_the_session_brings_reaches_all_it_is_for(void **) {
    Step step(7, 2);
    wire::CrossJobEvent event;
    event.nspace = "other";
    event.range = PMIX_RANGE_SESSION;
    for (int code : {1, 2, 3}) {
        event.status = code;
        step.hosts[4]->service.on_cross_job(event);
    }
    event.range = PMIX_RANGE_CUSTOM;
    event.status = 4;
    event.custom = {{"job", 1}, {"other", 3}, {"job", 13}, {"job", 99}};
    step.hosts[4]->service.on_cross_job(event);
    event.custom = {{"third", PMIX_RANK_WILDCARD}};
    step.hosts[4]->service.on_cross_job(event);
    event.custom = {{"job", 8}};
    step.hosts[4]->service.on_cross_job(event);
    step.run();
    for (HostIndex h = 0; h < 7; ++h) {
        auto &got = step.hosts[h]->notices;
        assert_int_equal(got.size(), h == 0 || h == 6 || h == 4 ? 4 : 3);
        for (std::size_t i = 0; i < got.size(); ++i)
            assert_true(got[i].status == static_cast<int>(i) + 1 || h == 4);
        assert_string_equal(got[0].nspace.c_str(), "other");
    }
}

void around_those_who_are_gone(void **) {
    for (std::uint32_t radix : {1u, 2u, 3u, 32u}) {
        for (HostIndex dead = 0; dead < 13; ++dead) {
            for (HostIndex from = 0; from < 13; ++from) {
                Step step(13, radix);
                step.gone = {dead, (dead + 1) % 13};
                if (step.gone.contains(from))
                    continue;
                step.notify(from, 1);
                step.run();
                for (HostIndex h = 0; h < 13; ++h) {
                    bool hears = h != from && !step.gone.contains(h);
                    assert_int_equal(step.hosts[h]->notices.size(), hears ? 1 : 0);
                    assert_int_equal(step.crossed[h], hears ? 1 : 0);
                }
            }
        }
    }
}

// Its origin's next event has come before it, another way.
void a_loss_that_was_overtaken_is_told(void **) {
    Step step(7, 2);
    step.gone = {3};
    step.hosts[1]->service.report_lost(3, 5);
    auto late = std::exchange(step.wire, {});
    step.notify(1, -100);
    step.run();
    step.wire = std::move(late);
    step.run();
    step.hosts[2]->service.report_lost(3, 6); // another one has noticed it, too
    step.run();
    for (HostIndex h : {0u, 1u, 2u, 4u, 5u, 6u}) {
        assert_int_equal(step.hosts[h]->reports.size(), 1);
        assert_int_equal(step.hosts[h]->notices.size(), h == 1 ? 0 : 1);
    }
}

void a_lost_host_is_told_once(void **) {
    Step step(7, 2);
    step.gone = {1};
    for (HostIndex neighbour : {0u, 3u, 4u})
        step.hosts[neighbour]->service.report_lost(1, 5);
    step.run();
    for (HostIndex h : {0u, 2u, 3u, 4u, 5u, 6u}) {
        assert_int_equal(step.hosts[h]->reports.size(), 1);
        assert_int_equal(step.hosts[h]->reports[0].host, 1);
        assert_int_equal(step.hosts[h]->reports[0].lost, 1);
    }
}

void ends_of_processes_reach_their_own_host_too(void **) {
    Step step(3, 2);
    step.hosts[2]->service.report_ended({{4, PMIX_ERR_PROC_ABORTED, 0, -1}, {5, -1, 0, 3}}, 9);
    step.run();
    for (auto &host : step.hosts) {
        assert_int_equal(host->reports.size(), 1);
        assert_int_equal(host->reports[0].processes.size(), 2);
        assert_int_equal(host->reports[0].processes[1].exit_code, 3);
    }
}

// 0 - 1 - 2 - 3, and 2 takes nothing: 1 holds no more for it than so much.
void what_waits_for_a_slow_host_is_bounded(void **) {
    constexpr std::size_t mebi = 1u << 20, fit = EventService::max_waiting / mebi - 1;
    Step step(4, 1);
    step.stuck = {2};
    step.queued[{1, 2}] = 2 * EventService::max_waiting; // of other things
    for (int i = 0; i < 200; ++i) {
        step.notify(0, i + 1, PMIX_RANGE_NAMESPACE, {}, mebi);
        step.run();
    }
    assert_int_equal(step.hosts[1]->notices.size(), 200);
    std::size_t waiting = step.queued[std::pair<HostIndex, HostIndex>(1, 2)] - 2 * EventService::max_waiting;
    assert_int_equal(waiting / mebi, fit);
    assert_int_equal(step.lost.size(), 1); // said once
    assert_int_equal(step.lost[0], 2);
    // What hosts report is always sent.
    step.hosts[0]->service.report_ended({{0, PMIX_ERR_PROC_ABORTED, 0, -1}}, 9);
    const std::pair<HostIndex, HostIndex> there{1, 2};
    std::size_t before = step.queued[there];
    step.run();
    assert_true(step.queued[there] > before);
    // It takes again.
    step.stuck.clear();
    step.queued[{1, 2}] = 0;
    for (int i = 0; i < 200; ++i) {
        step.notify(0, 1000 + i, PMIX_RANGE_NAMESPACE, {}, mebi);
        step.run();
    }
    assert_int_equal(step.hosts[3]->notices.size(), 200);
    assert_int_equal(step.lost.size(), 1);
}

void what_cannot_be_is_dropped(void **) {
    Step step(3, 2);
    auto &service = step.hosts[1]->service;
    auto notice = [&](HostIndex from, HostIndex origin, std::uint64_t sequence, std::vector<std::uint32_t> hosts) {
        wire::EventNotice message;
        message.origin = origin;
        message.sequence = sequence;
        message.hosts = std::move(hosts);
        service.on_notice(from, message, share(wire::encode(message)));
    };
    notice(1, 0, 1, {});
    notice(0, 1, 1, {});
    notice(9, 0, 1, {});
    notice(0, 9, 1, {});
    notice(0, 0, 1, {1, 77});
    notice(0, 0, 0, {});
    assert_int_equal(step.hosts[1]->notices.size(), 0);
    notice(0, 0, 3, {});
    notice(0, 0, 3, {});
    notice(0, 0, 2, {});
    assert_int_equal(step.hosts[1]->notices.size(), 1);
    wire::HostReport report;
    report.sequence = 1;
    report.host = 8;
    service.on_report(2, report, share(wire::encode(report)));
    report.host = 1; // this one itself
    service.on_report(2, report, share(wire::encode(report)));
    wire::BadEnds ends;
    ends.ends = {{{0, 4}, PMIX_ERR_PROC_ABORTED}};
    service.on_bad_ends(1, ends);
    service.on_bad_ends(9, ends);
    ends.ends.push_back({{6}, PMIX_ERR_PROC_ABORTED}); // no rank of this job
    service.on_bad_ends(2, ends);
    ends.ends[1].ranks = {};
    service.on_bad_ends(2, ends);
    assert_int_equal(step.hosts[1]->reports.size(), 0);
}

// How often each rank was told to have ended badly, at this host.
std::map<Rank, int> bad_ends_at(const Step::Host &host) {
    std::map<Rank, int> told;
    for (const auto &report : host.reports) {
        for (const auto &process : report.processes) {
            assert_int_equal(host.step.map->host_of(process.rank), report.host);
            ++told[process.rank];
        }
    }
    return told;
}

// What each host hears while it gathers goes on in one message, so nobody has more of them for more hosts.
void ends_of_all_hosts_are_gathered(void **) {
    for (std::uint32_t radix : {2u, 8u}) {
        constexpr HostIndex hosts = 300;
        Step step(hosts, radix);
        for (HostIndex h = 0; h < hosts; ++h)
            step.hosts[h]->service.report_ended({{2 * h, -1, 0, 3}, {2 * h + 1, PMIX_ERR_PROC_ABORTED, 0, 137}}, 9);
        step.run();
        bool gathers = true;
        int times = 0;
        for (; gathers; ++times) {
            gathers = false;
            for (auto &host : step.hosts) {
                if (!host->service.gathers_bad_ends())
                    continue;
                host->service.pass_on_bad_ends();
                gathers |= host->service.gathers_bad_ends();
            }
            for (const auto &under_way : step.wire)
                assert_true(under_way.payload->size() < 1000);
            step.run();
        }
        for (HostIndex h = 0; h < hosts; ++h) {
            auto told = bad_ends_at(*step.hosts[h]);
            assert_int_equal(told.size(), 2 * hosts);
            for (const auto &[rank, count] : told)
                assert_int_equal(count, 1);
            // A message of each neighbour for each time that it has passed on.
            assert_true(step.crossed[h] <= static_cast<int>(radix + 1) * times);
        }
        assert_true(times <= 20); // up and down the tree
    }
}

// Nor is it kept from those behind a host that has gone.
void the_first_end_waits_for_nobody(void **) {
    Step step(13, 2);
    step.gone = {1};
    step.hosts[9]->service.report_ended({{19, PMIX_ERR_PROC_ABORTED, 0, 1}}, 9);
    step.run();
    for (HostIndex h = 0; h < 13; ++h)
        assert_int_equal(bad_ends_at(*step.hosts[h]).size(), h == 1 ? 0 : 1);
    // The next one waits, also where it comes from, and comes with those of others.
    step.hosts[9]->service.report_ended({{18, PMIX_ERR_PROC_ABORTED, 0, 1}}, 9);
    assert_true(step.wire.empty());
    assert_int_equal(bad_ends_at(*step.hosts[9]).size(), 2);
    step.hosts[9]->service.pass_on_bad_ends();
    assert_false(step.wire.empty());
    step.run();
    // When nothing came meanwhile, the one after that does not wait.
    for (int i = 0; i < 3; ++i) {
        for (auto &host : step.hosts) {
            if (host->service.gathers_bad_ends())
                host->service.pass_on_bad_ends();
        }
        step.run();
    }
    for (HostIndex h = 0; h < 13; ++h) {
        assert_int_equal(bad_ends_at(*step.hosts[h]).size(), h == 1 ? 0 : 2);
        assert_false(step.hosts[h]->service.gathers_bad_ends());
    }
    step.hosts[0]->service.report_ended({{0, -1, 0, 1}}, 10);
    step.run();
    assert_int_equal(bad_ends_at(*step.hosts[12]).size(), 3);
}

// What ended first may be why the others did.
void the_first_manner_to_end_stays_the_first(void **) {
    Step step(3, 2);
    step.hosts[2]->service.report_ended({{5, PMIX_ERR_PROC_ABORTED, 0, 139}, {4, PMIX_ERR_PROC_ABORTED, 0, 1}}, 9);
    step.run();
    for (auto &host : step.hosts) {
        assert_int_equal(host->reports.size(), 1);
        assert_int_equal(host->reports[0].host, 2);
        assert_int_equal(host->reports[0].time, 9);
        assert_int_equal(host->reports[0].processes[0].rank, 5);
        assert_int_equal(host->reports[0].processes[0].exit_code, 139);
    }
}

// Each host tells its parent what it knows by then, and the root all.
void ends_that_are_in_order_are_gathered(void **) {
    Step step(7, 2);
    for (HostIndex h = 0; h < 7; ++h)
        step.hosts[h]->service.note_normal_exit(2 * h, h % 2 == 0);
    for (HostIndex h = 7; h-- > 0;) {
        step.hosts[h]->service.tell_ends(0);
        assert_false(step.hosts[h]->service.ends_to_tell());
        step.run();
    }
    for (HostIndex h = 0; h < 7; ++h) {
        assert_true(step.hosts[h]->ends == (std::vector<Rank>{0, 4, 8, 12}));
        assert_true(step.hosts[h]->uncertain == (std::vector<Rank>{2, 6, 10}));
        assert_int_equal(step.crossed[h], h == 0 ? 2 : h < 3 ? 3 : 1); // from its children, from its parent
    }
}

void ends_go_around_hosts_that_are_gone(void **) {
    Step step(7, 2);
    step.gone = {1}; // its children are 3 and 4
    step.hosts[3]->service.note_normal_exit(6, true);
    step.hosts[3]->service.tell_ends(0);
    step.run();
    step.hosts[0]->service.tell_ends(0);
    step.run();
    for (HostIndex h : {0, 2, 3, 4, 5, 6})
        assert_int_equal(step.hosts[h]->ends.size(), 1);

    step.gone = {0}; // who stands in for the root tells all
    step.hosts[5]->service.note_normal_exit(10, true);
    step.hosts[5]->service.tell_ends(0);
    step.run();
    step.hosts[2]->service.tell_ends(0);
    step.run();
    for (HostIndex h : {1, 2, 3, 4, 5, 6})
        assert_int_equal(step.hosts[h]->ends.back(), 10);
}

// The hosts that would be connected with have most likely left.
void no_connection_is_made_for_ends(void **) {
    Step step(7, 2);
    step.hosts[0]->service.note_normal_exit(0, true);
    step.hosts[0]->service.tell_ends(0);
    step.gone.insert(0);
    step.run();
    for (HostIndex h = 1; h < 7; ++h)
        assert_true(step.hosts[h]->ends == std::vector<Rank>{0});
    step.apart = true;
    for (HostIndex h : {5, 2}) {
        step.hosts[h]->service.note_normal_exit(2 * h, true);
        step.hosts[h]->service.tell_ends(0);
        assert_true(step.wire.empty());
        assert_int_equal(step.hosts[h]->ends.back(), 2 * h); // its own processes hear of it
    }
}

// It may be why others end.
void what_a_lost_host_said_last_comes_before_its_loss(void **) {
    for (bool itself : {true, false}) { // host 0 sees the loss, or hears of it
        Step step(7, 2);
        step.hosts[1]->service.report_ended({{2, PMIX_ERR_PROC_ABORTED, 0, 1}}, 9);
        step.hosts[1]->service.pass_on_bad_ends();
        step.hosts[1]->service.pass_on_bad_ends();
        step.run();
        step.hosts[1]->service.report_ended({{3, PMIX_ERR_PROC_ABORTED, 0, 7}}, 9);
        step.run();
        assert_int_equal(bad_ends_at(*step.hosts[2]).size(), 1); // host 0 holds the second one
        step.gone = {1};
        step.hosts[itself ? 0 : 3]->service.report_lost(1, 9);
        step.run();
        auto &reports = step.hosts[2]->reports;
        assert_int_equal(reports.size(), 3);
        assert_true(reports[1].lost == 0 && reports[1].processes.at(0).rank == 3 && reports[2].lost == 1);
    }
}

void bad_ends_that_make_no_sense_are_dropped(void **) {
    Step step(3, 2);
    auto &service = step.hosts[0]->service;
    wire::EndedRanks three{{2, 3, 4}, PMIX_ERR_PROC_ABORTED, 0, 1, 0, 1}, others = three;
    others.time = 2;
    service.on_bad_ends(1, {{three, others, others}}); // nine of six
    service.on_bad_ends(1, {{{{6}, PMIX_ERR_PROC_ABORTED, 0, 1, 0, 1}}});
    service.on_bad_ends(1, {{{{}, PMIX_ERR_PROC_ABORTED, 0, 1, 0, 1}}});
    service.on_bad_ends(7, {{three}});
    assert_true(step.hosts[0]->reports.empty() && step.wire.empty());
}

void ends_that_make_no_sense_are_dropped(void **) {
    Step step(3, 2);
    auto &service = step.hosts[0]->service;
    for (wire::RankRange bad : {wire::RankRange{0, 6}, {3, 2}, {6, UINT32_MAX}}) {
        wire::NormalExits ends;
        ends.up = 1;
        ends.ranks = {{0, 1}, bad};
        service.on_ends(1, ends, nullptr);
        ends.up = 0;
        ends.origin = ends.sequence = 1;
        service.on_ends(1, ends, nullptr);
    }
    assert_false(service.ends_to_tell());
    assert_true(step.hosts[0]->ends.empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(everyone_hears_once_and_in_order),
        cmocka_unit_test(ranges_that_end_at_the_host),
        cmocka_unit_test(a_custom_range_goes_where_it_names_and_no_farther),
        cmocka_unit_test(what_is_for_other_namespaces_goes_to_the_session),
        cmocka_unit_test(what_the_session_brings_reaches_all_it_is_for),
        cmocka_unit_test(around_those_who_are_gone),
        cmocka_unit_test(a_loss_that_was_overtaken_is_told),
        cmocka_unit_test(a_lost_host_is_told_once),
        cmocka_unit_test(ends_of_processes_reach_their_own_host_too),
        cmocka_unit_test(what_waits_for_a_slow_host_is_bounded),
        cmocka_unit_test(what_cannot_be_is_dropped),
        cmocka_unit_test(ends_of_all_hosts_are_gathered),
        cmocka_unit_test(the_first_end_waits_for_nobody),
        cmocka_unit_test(the_first_manner_to_end_stays_the_first),
        cmocka_unit_test(ends_that_are_in_order_are_gathered),
        cmocka_unit_test(ends_go_around_hosts_that_are_gone),
        cmocka_unit_test(no_connection_is_made_for_ends),
        cmocka_unit_test(what_a_lost_host_said_last_comes_before_its_loss),
        cmocka_unit_test(bad_ends_that_make_no_sense_are_dropped),
        cmocka_unit_test(ends_that_make_no_sense_are_dropped),
    };
    return cmocka_run_group_tests_name("events", tests, nullptr, nullptr);
}
