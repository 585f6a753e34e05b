// Many daemons' collectives in one process, on a fake clock and a fake network: messages are
// delayed and reordered at random (never on one link: TCP keeps order there), hosts are lost and
// processes die at random moments. Whatever happens, every participant is answered exactly once
// and in time, and a collective that succeeds anywhere had everyone's data.
//
// A run is given by its seed alone; a failing one is named and can be run again:
//   PMIXHOST_SIM_SEED=123 test/sim/collectives
#include "server-glue/collective/collective.h"

#include <cstdlib>
#include <pmix_common.h>
#include <queue>
#include <random>
#include <set>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

class World;

struct Host final : FakeHosts, CollectivePort { // `gone` is what it knows
    World *world = nullptr;
    HostIndex self = 0;
    std::unique_ptr<Collectives> collectives;
    bool lost = false;         // the host itself
    bool process_dead = false; // its only process
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override;
    CollectiveReply reply(std::uint64_t id);
    Result<std::vector<HostIndex>> hosts_of(const Signature &signature) override;
    bool local_member_gone(const Signature &signature) override {
        return process_dead && signature.contains("job", self);
    }
    std::optional<Bytes> part_of_the_dead(const Signature &) override {
        return process_dead ? std::optional<Bytes>("gone") : std::nullopt;
    }
};

struct Answer {
    std::int32_t status;
    std::vector<HostIndex> from;
    TimePoint at;
};

// One rank on each host; rank number = host index.
class World {
  public:
    World(HostIndex size, std::uint32_t radix, std::uint64_t seed, Collectives::PieceSizes pieces = {})
        : random_(seed), hosts_(size) {
        for (HostIndex h = 0; h < size; ++h) {
            hosts_[h].world = this;
            hosts_[h].self = h;
            hosts_[h].collectives = std::make_unique<Collectives>(hosts_[h], hosts_[h], h, radix, pieces);
        }
    }
    HostIndex size() const { return static_cast<HostIndex>(hosts_.size()); }
    Host &host(HostIndex h) { return hosts_[h]; }
    std::uint64_t pick(std::uint64_t below) { return random_() % below; }

    void at(TimePoint when, std::function<void()> what) { events_.push({when, order_++, std::move(what)}); }
    TimePoint now() const { return now_; }

    void deliver(HostIndex from, HostIndex to, std::uint8_t type, SharedBytes payload) {
        ++messages;
        bytes += payload->size();
        if (type == wire::CollectiveUp::type && wire::decode<wire::CollectiveUp>(*payload)->status == PMIX_SUCCESS)
            told.insert({from, wire::decode<wire::CollectiveUp>(*payload)->sequence});
        auto &link = link_[{from, to}];
        link = std::max(link, now_ + std::chrono::microseconds(20 + pick(5000)));
        at(link, [this, from, to, type, payload] {
            Host &host = hosts_[to];
            if (host.lost || host.gone.contains(from) || cut_.contains({from, to}))
                return;
            if (type == wire::CollectiveUp::type)
                host.collectives->on_up(now_, from, *wire::decode<wire::CollectiveUp>(*payload));
            else if (type == wire::CollectiveDown::type)
                host.collectives->on_down(from, *wire::decode<wire::CollectiveDown>(*payload), payload);
            else if (type == wire::CollectiveComplete::type)
                host.collectives->on_complete(now_, from, *wire::decode<wire::CollectiveComplete>(*payload));
            else if (type == wire::CollectivePiece::type)
                host.collectives->on_piece(now_, from, *wire::decode<wire::CollectivePiece>(*payload), payload);
            else if (type == wire::CollectiveTaken::type)
                host.collectives->on_taken(from, *wire::decode<wire::CollectiveTaken>(*payload));
            else
                host.collectives->on_probe(now_, from, *wire::decode<wire::CollectiveProbe>(*payload));
        });
    }

    void enter(HostIndex h, std::uint64_t id, const Signature &signature, TimePoint deadline) {
        if (hosts_[h].lost || hosts_[h].process_dead)
            return;
        entered.insert({h, id});
        hosts_[h].collectives->enter(now_, signature, Bytes(1 + h % 7, static_cast<char>('a' + h % 26)), PMIX_SUCCESS,
                                     deadline, hosts_[h].reply(id));
    }
    void barrier(HostIndex h, std::uint64_t id, const Signature &signature) {
        entered.insert({h, id});
        hosts_[h].collectives->enter(now_, signature, "", PMIX_SUCCESS, TimePoint{} + 60s, hosts_[h].reply(id));
    }
    void enter_at(TimePoint when, HostIndex h, std::uint64_t id, const Signature &signature) {
        at(when, [this, h, id, signature] { enter(h, id, signature, TimePoint{} + 60s); });
    }
    // What happens as soon as that host is answered.
    void when_answered(std::pair<HostIndex, std::uint64_t> which, std::function<void()> then) {
        on_answer_ = {which, std::move(then)};
    }
    void answered(HostIndex h, std::uint64_t id, Answer answer) {
        bool first = answers.emplace(std::pair{h, id}, std::move(answer)).second;
        assert_true(first);
        if (on_answer_.second && on_answer_.first == std::pair{h, id})
            std::exchange(on_answer_.second, nullptr)();
    }
    void kill_process(HostIndex h) {
        if (hosts_[h].lost)
            return;
        hosts_[h].process_dead = true;
        hosts_[h].collectives->on_local_process_gone(now_);
    }
    // Nothing comes from one to the other any more, not even what is under way.
    void cut(HostIndex a, HostIndex b) {
        cut_.insert({a, b});
        cut_.insert({b, a});
    }
    void notice(HostIndex h, HostIndex other) {
        hosts_[h].gone.insert(other);
        hosts_[h].collectives->on_host_gone(now_, other);
    }
    // Everyone who has or wants a connection notices, some time later.
    void lose_host(HostIndex h) {
        hosts_[h].lost = true;
        for (auto &other : hosts_) {
            if (other.self == h)
                continue;
            at(now_ + std::chrono::milliseconds(1 + pick(400)), [this, &other, h] {
                if (other.lost)
                    return;
                other.gone.insert(h);
                other.collectives->on_host_gone(now_, h);
            });
        }
    }

    void run() {
        while (true) {
            TimePoint timer = TimePoint::max();
            for (auto &host : hosts_) {
                if (!host.lost)
                    timer = std::min(timer, host.collectives->next_time());
            }
            TimePoint event = events_.empty() ? TimePoint::max() : events_.top().when;
            if (std::min(timer, event) == TimePoint::max())
                return;
            if (event <= timer) {
                auto next = events_.top();
                events_.pop();
                now_ = std::max(now_, next.when);
                next.what();
            } else {
                now_ = std::max(now_, timer);
                for (auto &host : hosts_) {
                    if (!host.lost)
                        host.collectives->on_time(now_);
                }
            }
        }
    }

    std::map<std::pair<HostIndex, std::uint64_t>, Answer> answers;
    std::set<std::pair<HostIndex, std::uint64_t>> entered;
    std::set<std::pair<HostIndex, std::uint64_t>> told; // their parents what they and all behind them have
    std::uint64_t messages = 0, bytes = 0;

  private:
    struct Event {
        TimePoint when;
        std::uint64_t order;
        std::function<void()> what;
        bool operator<(const Event &other) const { return std::tie(when, order) > std::tie(other.when, other.order); }
    };
    std::mt19937_64 random_;
    std::vector<Host> hosts_;
    std::priority_queue<Event> events_;
    std::map<std::pair<HostIndex, HostIndex>, TimePoint> link_;
    std::set<std::pair<HostIndex, HostIndex>> cut_;
    std::pair<std::pair<HostIndex, std::uint64_t>, std::function<void()>> on_answer_;
    std::uint64_t order_ = 0;
    TimePoint now_{};
};

bool Host::send(HostIndex to, std::uint8_t type, SharedBytes payload) {
    if (gone.contains(to))
        return false;
    world->deliver(self, to, type, std::move(payload));
    return true;
}
CollectiveReply Host::reply(std::uint64_t id) {
    return {[this, id](std::int32_t status, Contributions contributions) {
                Answer answer{status, {}, world->now()};
                if (contributions) {
                    for (const auto &c : *contributions)
                        answer.from.push_back(c.host);
                }
                world->answered(self, id, std::move(answer));
            },
            PMIX_ERROR, nullptr};
}
Result<std::vector<HostIndex>> Host::hosts_of(const Signature &signature) {
    std::vector<HostIndex> out;
    for (HostIndex h = 0; h < world->size(); ++h) {
        if (signature.contains("job", h))
            out.push_back(h);
    }
    return out;
}

Signature signature_of(const World &world, const std::vector<HostIndex> &ranks) {
    std::vector<Process> processes;
    for (HostIndex rank : ranks)
        processes.push_back({"job", rank, false});
    return *canonical(CollectiveKind::fence, processes, [&](const Bytes &) { return world.size(); });
}

std::uint64_t base_seed() {
    const char *given = std::getenv("PMIXHOST_SIM_SEED");
    return given ? std::strtoull(given, nullptr, 10) : 1;
}

// Several groups, each with several collectives one after the other, all at once.
void exchange(World &world, std::size_t groups, std::size_t rounds, bool trouble) {
    struct Group {
        std::vector<HostIndex> ranks;
        Signature signature;
    };
    std::vector<Group> all;
    for (std::size_t g = 0; g < groups; ++g) {
        Group group;
        for (HostIndex h = 0; h < world.size(); ++h) {
            if (g == 0 || world.pick(3) != 0)
                group.ranks.push_back(h);
        }
        if (group.ranks.empty())
            group.ranks.push_back(0);
        group.signature = signature_of(world, group.ranks);
        all.push_back(std::move(group));
    }
    TimePoint deadline = TimePoint{} + 60s;
    for (std::size_t g = 0; g < groups; ++g) {
        for (HostIndex rank : all[g].ranks) {
            for (std::size_t r = 0; r < rounds; ++r) {
                // In order per host, at a random pace.
                world.at(TimePoint{} + std::chrono::milliseconds(100 * r + world.pick(100)),
                         [&world, rank, id = g * 1000 + r, signature = all[g].signature, deadline] {
                             world.enter(rank, id, signature, deadline);
                         });
            }
        }
    }
    std::set<HostIndex> lost;
    if (trouble) {
        for (int i = 0; i < 2; ++i) {
            auto h = static_cast<HostIndex>(world.pick(world.size()));
            TimePoint when = TimePoint{} + std::chrono::milliseconds(world.pick(100 * rounds));
            if (world.pick(2))
                world.at(when, [&world, h] { world.kill_process(h); });
            else if (lost.insert(h).second)
                world.at(when, [&world, h] { world.lose_host(h); });
        }
    }
    world.run();

    for (const auto &[host, id] : world.entered) {
        if (world.host(host).lost)
            continue;
        auto found = world.answers.find({host, id});
        assert_true(found != world.answers.end()); // nobody hangs
        if (!trouble)
            assert_int_equal(found->second.status, PMIX_SUCCESS);
        if (found->second.status == PMIX_SUCCESS) {
            auto from = found->second.from;
            std::sort(from.begin(), from.end());
            assert_true(from == all[id / 1000].ranks); // everyone's, once each
        } else {
            assert_true(found->second.status == PMIX_ERR_LOST_CONNECTION ||
                        found->second.status == PMIX_ERR_PROC_TERM_WO_SYNC || found->second.status == PMIX_ERR_TIMEOUT);
        }
    }
    for (HostIndex h = 0; h < world.size(); ++h) {
        if (!world.host(h).lost)
            assert_int_equal(world.host(h).collectives->active(), 0);
    }
}

void concurrent_collectives_succeed(void **) {
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 100; ++seed) {
        World world(static_cast<HostIndex>(1 + seed % 24), 2 + seed % 3, seed);
        exchange(world, 4, 5, false);
    }
}

void nobody_hangs_when_hosts_and_processes_die(void **) {
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 300; ++seed) {
        World world(static_cast<HostIndex>(2 + seed % 24), 2 + seed % 3, seed);
        exchange(world, 3, 4, true);
        // Nobody was left to a deadline: the losses were noticed.
        for (const auto &[who, answer] : world.answers) {
            if (answer.status == PMIX_ERR_TIMEOUT)
                fail_msg("seed %lu: host %u only got a timeout", static_cast<unsigned long>(seed), who.first);
        }
    }
}

// Each result is a large one.
constexpr Collectives::PieceSizes small_pieces{1, 16, 0};

void large_results_reach_all(void **) {
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 100; ++seed) {
        World world(static_cast<HostIndex>(1 + seed % 40), 2 + seed % 9, seed, small_pieces);
        exchange(world, 4, 5, false);
    }
}

void large_results_reach_all_but_the_dead(void **) {
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 300; ++seed) {
        World world(static_cast<HostIndex>(2 + seed % 40), 2 + seed % 9, seed, small_pieces);
        exchange(world, 3, 4, true);
        for (const auto &[who, answer] : world.answers) {
            if (answer.status == PMIX_ERR_TIMEOUT)
                fail_msg("seed %lu: host %u only got a timeout", static_cast<unsigned long>(seed), who.first);
        }
        for (HostIndex h = 0; h < world.size(); ++h) {
            if (!world.host(h).lost)
                assert_int_equal(world.host(h).collectives->handing_down(), 0); // nothing is kept for ever
        }
    }
}

// All hosts, in the fence 1.
std::vector<HostIndex> all_enter(World &world) {
    std::vector<HostIndex> ranks;
    for (HostIndex h = 0; h < world.size(); ++h)
        ranks.push_back(h);
    auto signature = signature_of(world, ranks);
    for (HostIndex h : ranks)
        world.enter_at(TimePoint{}, h, 1, signature);
    return ranks;
}

// A host is lost while a large result goes down a chain of eight, when all has been decided: everybody else has it.
void a_chain_goes_on_behind_a_lost_host(void **) {
    std::set<HostIndex> lost_before_all_had_it;
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 200; ++seed) {
        World world(9, 8, seed, small_pieces);
        auto ranks = all_enter(world);
        auto victim = static_cast<HostIndex>(1 + seed % 8);
        world.when_answered({0, 1}, [&world, victim] { world.lose_host(victim); });
        world.run();
        for (HostIndex h : ranks) {
            if (h != victim)
                assert_int_equal(world.answers.at({h, 1}).status, PMIX_SUCCESS);
        }
        if (!world.answers.contains({victim, 1}))
            lost_before_all_had_it.insert(victim);
    }
    assert_int_equal(lost_before_all_had_it.size(), 8);
}

// Two children of one parent lose their connection, or never get one, and nobody else notices.
void a_chain_goes_on_where_two_cannot_reach_each_other(void **) {
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 200; ++seed) {
        World world(9, 8, seed, small_pieces);
        auto ranks = all_enter(world);
        auto first = static_cast<HostIndex>(1 + seed % 7);
        bool only_one_knows = world.pick(2);
        world.at(TimePoint{} + std::chrono::microseconds(world.pick(20'000)), [&world, first, only_one_knows] {
            world.cut(first, first + 1);
            world.notice(first, first + 1);
            if (!only_one_knows)
                world.notice(first + 1, first);
        });
        world.run();
        for (HostIndex h : ranks)
            assert_int_equal(world.answers.at({h, 1}).status, PMIX_SUCCESS);
    }
}

void the_same_seed_is_the_same_run(void **) {
    auto trace = [](std::uint64_t seed) {
        World world(17, 3, seed);
        exchange(world, 3, 4, true);
        std::string out = std::to_string(world.messages);
        for (const auto &[who, answer] : world.answers)
            out +=
                fmt::format(" {}:{}:{}@{}", who.first, who.second, answer.status, answer.at.time_since_epoch().count());
        return out;
    };
    assert_true(trace(7) == trace(7));
    assert_true(trace(7) != trace(8));
}

void a_thousand_hosts(void **) {
    World world(1000, 32, base_seed());
    exchange(world, 2, 3, false);
    // Each host sends up once and gets down once, per collective: no more than that.
    assert_true(world.messages <= 2 * 3 * (2 * 999));
}

// A barrier of some of the hosts, which are named one by one: it costs what one of all of them costs, which the
// wildcard names, and 16 bytes a message where they are at one distance, however many; else a bit of each at most.
void a_list_is_as_cheap_as_the_wildcard(void **) {
    constexpr std::uint64_t of_a_message = 50; // an Up or Down of this job with the wildcard, without data
    for (HostIndex size : {100, 300, 1000}) {
        auto bytes_of_barrier = [size](auto is_in) {
            World world(size, 32, base_seed());
            std::vector<HostIndex> ranks;
            for (HostIndex h = 0; h < size; ++h) {
                if (is_in(h))
                    ranks.push_back(h);
            }
            auto signature = signature_of(world, ranks);
            for (HostIndex h : ranks)
                world.at(TimePoint{}, [&world, h, signature] { world.barrier(h, 1, signature); });
            world.run();
            for (HostIndex h : ranks)
                assert_int_equal(world.answers.at({h, 1}).status, PMIX_SUCCESS);
            assert_int_equal(world.messages, 2 * (ranks.size() - 1));
            return world.bytes / world.messages;
        };
        assert_true(bytes_of_barrier([](HostIndex) { return true; }) < of_a_message);
        assert_true(bytes_of_barrier([size](HostIndex h) { return h < size / 2; }) < of_a_message + 16);
        assert_true(bytes_of_barrier([](HostIndex h) { return h % 2 == 1; }) < of_a_message + 16);
        assert_true(bytes_of_barrier([](HostIndex h) { return h % 3 != 2; }) < of_a_message + 16 + size / 8);
    }
}

void a_thousand_hosts_in_trouble(void **) {
    World world(1000, 32, base_seed());
    exchange(world, 1, 3, true);
}

// As long as their connection holds, whoever dies and whenever, and whatever the deadlines.
void two_hosts_come_to_the_same_verdict(void **) {
    std::map<std::int32_t, int> seen;
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 3000; ++seed) {
        World world(2, 32, seed);
        auto signature = signature_of(world, {0, 1});
        for (std::uint64_t id = 0; id < 3; ++id) {
            for (HostIndex h = 0; h < 2; ++h) {
                if (id == 2 && h == 1 && world.pick(4) == 0)
                    continue; // the last one without it
                TimePoint begin = TimePoint{} + std::chrono::microseconds(8000 * id),
                          when = begin + std::chrono::microseconds(world.pick(8000));
                // Who has not entered when the other's time is over counts differently (collective.cc, finish()).
                TimePoint deadline =
                    world.pick(2) ? begin + std::chrono::microseconds(8000 + world.pick(6000)) : begin + 60s;
                world.at(when, [&world, h, id, signature, deadline] { world.enter(h, id, signature, deadline); });
            }
        }
        if (auto h = static_cast<HostIndex>(world.pick(3)); h < 2)
            world.at(TimePoint{} + std::chrono::microseconds(world.pick(24000)),
                     [&world, h] { world.kill_process(h); });
        world.run();
        for (const auto &[who, answer] : world.answers) {
            ++seen[answer.status];
            auto other = world.answers.find({1 - who.first, who.second});
            if (other != world.answers.end() && other->second.status != answer.status)
                fail_msg("seed %lu: fence %lu is %d on one host and %d on the other", static_cast<unsigned long>(seed),
                         static_cast<unsigned long>(who.second), answer.status, other->second.status);
        }
        for (const auto &who : world.entered)
            assert_true(world.answers.contains(who));
    }
    for (auto status : {PMIX_SUCCESS, PMIX_ERR_TIMEOUT, PMIX_ERR_PROC_TERM_WO_SYNC})
        assert_true(seen[status] > 100);
}

void a_dead_process_is_found_by_asking(void **) {
    // Nobody tells the others; the host of the dead one alone knows.
    World world(9, 2, base_seed());
    std::vector<HostIndex> ranks;
    for (HostIndex h = 0; h < world.size(); ++h)
        ranks.push_back(h);
    auto signature = signature_of(world, ranks);
    world.at(TimePoint{} + 1ms, [&] { world.kill_process(8); });
    for (HostIndex h = 0; h < 8; ++h)
        world.at(TimePoint{} + 10ms, [&, h] { world.enter(h, 1, signature, TimePoint{} + 60s); });
    world.run();
    for (HostIndex h = 0; h < 8; ++h) {
        assert_int_equal(world.answers.at({h, 1}).status, PMIX_ERR_PROC_TERM_WO_SYNC);
        assert_true(world.answers.at({h, 1}).at < TimePoint{} + 1s);
    }
}

// A group is built, several times, over a deep tree while hosts are lost and processes die: those that are left hear
// one verdict, and soon, however a host that others need, one that has entered for its dead and one that has gone
// before anybody came follow each other. Only who is behind a host that was lost when it had told its parent can hear
// of a loss where the others hear of success.
void a_tolerant_one_has_one_verdict(void **) {
    constexpr std::uint64_t rounds = 3;
    std::map<std::string, int> seen;
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 4000; ++seed) {
        auto radix = static_cast<std::uint32_t>(2 + seed % 3);
        World world(static_cast<HostIndex>(2 + radix + seed % 24), radix, seed);
        std::vector<Process> everybody{{"job", UINT32_MAX, true}};
        auto group =
            *canonical(CollectiveKind::group_construct, everybody, [&](const Bytes &) { return world.size(); });
        group.group = "g";
        group.tolerant = 1;
        for (HostIndex h = 0; h < world.size(); ++h) {
            for (std::uint64_t id = 0; id < rounds; ++id)
                world.enter_at(TimePoint{} + std::chrono::milliseconds(600 * id + world.pick(500)), h, id, group);
        }
        std::set<HostIndex> lost;
        for (std::uint64_t i = 0, troubles = 1 + world.pick(4); i < troubles; ++i) {
            auto h = static_cast<HostIndex>(world.pick(world.size()));
            TimePoint when = TimePoint{} + std::chrono::milliseconds(world.pick(600 * rounds));
            if (world.pick(2))
                world.at(when, [&world, h] { world.kill_process(h); });
            else if (lost.insert(h).second)
                world.at(when, [&world, h] { world.lose_host(h); });
        }
        world.run();
        for (std::uint64_t id = 0; id < rounds; ++id) {
            std::set<std::int32_t> verdicts;
            for (const auto &[host, entered] : world.entered) {
                if (entered != id || world.host(host).lost)
                    continue;
                auto found = world.answers.find({host, id});
                if (found == world.answers.end() || found->second.at > TimePoint{} + 600ms * (id + 1) + 2s)
                    fail_msg("seed %lu: host %u waited for long", static_cast<unsigned long>(seed), host);
                verdicts.insert(found->second.status);
            }
            bool crossed = std::any_of(lost.begin(), lost.end(), [&](auto h) { return world.told.contains({h, id}); });
            if (verdicts.size() > 1 && !crossed)
                fail_msg("seed %lu: group %lu has several verdicts", static_cast<unsigned long>(seed),
                         static_cast<unsigned long>(id));
            std::string all;
            for (std::int32_t verdict : verdicts) {
                assert_true(verdict == PMIX_SUCCESS || verdict == PMIX_ERR_LOST_CONNECTION);
                all += verdict == PMIX_SUCCESS ? "built " : "lost ";
            }
            ++seen[all];
        }
        for (HostIndex h = 0; h < world.size(); ++h) {
            if (!world.host(h).lost)
                assert_int_equal(world.host(h).collectives->active(), 0);
        }
    }
    assert_true(seen["built "] > 1000 && seen["lost "] > 1000);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(concurrent_collectives_succeed),
        cmocka_unit_test(nobody_hangs_when_hosts_and_processes_die),
        cmocka_unit_test(large_results_reach_all),
        cmocka_unit_test(large_results_reach_all_but_the_dead),
        cmocka_unit_test(a_chain_goes_on_behind_a_lost_host),
        cmocka_unit_test(a_chain_goes_on_where_two_cannot_reach_each_other),
        cmocka_unit_test(the_same_seed_is_the_same_run),
        cmocka_unit_test(a_thousand_hosts),
        cmocka_unit_test(a_list_is_as_cheap_as_the_wildcard),
        cmocka_unit_test(two_hosts_come_to_the_same_verdict),
        cmocka_unit_test(a_thousand_hosts_in_trouble),
        cmocka_unit_test(a_dead_process_is_found_by_asking),
        cmocka_unit_test(a_tolerant_one_has_one_verdict),
    };
    return cmocka_run_group_tests_name("collectives in a fake network", tests, nullptr, nullptr);
}
