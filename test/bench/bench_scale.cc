// What a collective costs on as many hosts as nobody has here: the real state machines, with a clock and a network of
// this program's own. Each host has one link, which takes one message after the other in either direction, and works
// on one message after the other.
//
// usage: bench_scale [MOST_HOSTS [SVG]]
// Prints a row for each size; with SVG, the times are drawn into that file. Exit code 1 where there are more rounds or
// messages than the tree explains, or a barrier's bytes grow with the hosts (collective.h).
#include "server-glue/collective/collective.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <pmix_common.h>
#include <queue>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

constexpr Duration latency = 2us, work = 5us; // of a link; of a daemon for a message, either way: assumed
constexpr double bytes_per_ns = 25.0 / 8;     // 25 Gb/s
constexpr std::size_t frame_bytes = 24;       // header and tag

Duration transfer(std::size_t bytes) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes) / bytes_per_ns));
}

class World;

struct Host final : FakeHosts, CollectivePort {
    World *world = nullptr;
    HostIndex self = 0;
    std::unique_ptr<Collectives> collectives;
    TimePoint sends_until{}, takes_until{}, works_until{};
    Duration work_of_one = work;
    std::uint32_t depth = 0; // of the longest chain of messages that led here
    std::size_t messages = 0, bytes_out = 0, bytes_in = 0, answers = 0;
    std::int32_t status = PMIX_ERR_TIMEOUT;
    bool dead = false; // its process
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override;
    void take(TimePoint now, HostIndex from, std::uint8_t type, const SharedBytes &payload);
    Result<std::vector<HostIndex>> hosts_of(const Signature &) override;
    bool local_member_gone(const Signature &) override { return dead; }
};

class World {
  public:
    World(HostIndex size, std::uint32_t radix) : hosts_(size) {
        for (HostIndex h = 0; h < size; ++h) {
            everybody.push_back(h);
            hosts_[h].world = this;
            hosts_[h].self = h;
            hosts_[h].collectives = std::make_unique<Collectives>(hosts_[h], hosts_[h], h, radix);
        }
    }
    std::vector<Host> &hosts() { return hosts_; }
    HostIndex size() const { return static_cast<HostIndex>(hosts_.size()); }

    void deliver(Host &from, HostIndex number, std::uint8_t type, SharedBytes payload) {
        Host &to = hosts_[number];
        std::size_t bytes = payload->size() + frame_bytes;
        from.works_until = std::max(now_, from.works_until) + from.work_of_one;
        from.sends_until = std::max(from.works_until, from.sends_until) + transfer(bytes);
        ++from.messages;
        from.bytes_out += bytes;
        to.bytes_in += bytes;
        auto arrives = [this, &to, sender = from.self, depth = from.depth + 1, type, payload] {
            to.depth = std::max(to.depth, depth);
            to.take(now_, sender, type, payload);
        };
        auto is_here = [this, &to, arrives] {
            to.works_until = std::max(now_, to.works_until) + to.work_of_one;
            events_.push({to.works_until, order_++, arrives});
        };
        // Its first byte comes while the last one is sent, unless the link is taken by another one.
        auto comes = [this, &to, bytes, is_here] {
            to.takes_until = std::max(now_, to.takes_until + transfer(bytes));
            events_.push({to.takes_until, order_++, is_here});
        };
        events_.push({from.sends_until + latency, order_++, comes});
    }
    void enter(Host &host, const Signature &signature, std::size_t bytes) {
        host.collectives->enter(now_, signature, Bytes(bytes, 'x'), PMIX_SUCCESS, TimePoint::max(),
                                {[this, &host, bytes](std::int32_t status, Contributions all) {
                                     host.status = status;
                                     ++host.answers;
                                     last_answer = now_;
                                     whole = whole &&
                                             (status != PMIX_SUCCESS || all->size() == (bytes > 0 ? hosts_.size() : 0));
                                 },
                                 PMIX_ERROR, nullptr});
    }
    void run() {
        for (;;) {
            if (!events_.empty() && events_.top().when < look_at_) {
                auto next = events_.top();
                events_.pop();
                now_ = std::max(now_, next.when);
                next.what();
                continue;
            }
            TimePoint timer = earliest_timer();
            if (events_.empty() && timer == TimePoint::max())
                return;
            now_ = std::max(now_, events_.empty() ? timer : look_at_);
            for (auto &host : hosts_)
                host.collectives->on_time(now_);
            look_at_ = std::min(earliest_timer(), now_ + Collectives::probe_after); // a new one is not due before
        }
    }

    std::vector<HostIndex> everybody;
    TimePoint last_answer{};
    bool whole = true; // everyone's contribution came with each success

  private:
    TimePoint earliest_timer() const {
        TimePoint timer = TimePoint::max();
        for (const auto &host : hosts_)
            timer = std::min(timer, host.collectives->next_time());
        return timer;
    }
    struct Event {
        TimePoint when;
        std::uint64_t order;
        std::function<void()> what;
        bool operator<(const Event &other) const { return std::tie(when, order) > std::tie(other.when, other.order); }
    };
    std::vector<Host> hosts_;
    std::priority_queue<Event> events_;
    std::uint64_t order_ = 0;
    TimePoint now_{}, look_at_ = TimePoint{} + Collectives::probe_after;
};

bool Host::send(HostIndex to, std::uint8_t type, SharedBytes payload) {
    if (gone.contains(to))
        return false;
    world->deliver(*this, to, type, std::move(payload));
    return true;
}
Result<std::vector<HostIndex>> Host::hosts_of(const Signature &) {
    return world->everybody;
}

void Host::take(TimePoint now, HostIndex from, std::uint8_t type, const SharedBytes &payload) {
    if (type == wire::CollectiveUp::type)
        collectives->on_up(now, from, *wire::decode<wire::CollectiveUp>(*payload));
    else if (type == wire::CollectiveDown::type)
        collectives->on_down(from, *wire::decode<wire::CollectiveDown>(*payload), payload);
    else if (type == wire::CollectiveComplete::type)
        collectives->on_complete(now, from, *wire::decode<wire::CollectiveComplete>(*payload));
    else if (type == wire::CollectivePiece::type)
        collectives->on_piece(now, from, *wire::decode<wire::CollectivePiece>(*payload), payload);
    else if (type == wire::CollectiveTaken::type)
        collectives->on_taken(from, *wire::decode<wire::CollectiveTaken>(*payload));
    else
        collectives->on_probe(now, from, *wire::decode<wire::CollectiveProbe>(*payload));
}

struct Case {
    const char *name;
    std::uint32_t radix;
    std::size_t bytes;    // of a host
    HostIndex most;       // hosts, for what this program can hold
    bool slow, lost_host; // 1 % of the hosts work 100 times as long; one has been lost
    bool dead;            // a process has ended without having come, and nobody was told
    std::int32_t status;
};

struct Costs {
    double us = 0;
    std::uint32_t rounds = 0;
    std::size_t all_messages = 0, messages = 0, bytes_out = 0, bytes_in = 0; // the latter three of the worst host
    std::string wrong;
};

Costs run(const Case &one, HostIndex hosts) {
    World world(hosts, one.radix);
    auto signature = *canonical(CollectiveKind::fence, {{"job", 0, true}}, [&](const Bytes &) { return hosts; });
    HostIndex victim = hosts - 1;
    for (auto &host : world.hosts()) {
        if (one.slow && host.self % 100 == 1)
            host.work_of_one = 100 * work;
        if (one.dead && host.self == victim)
            host.dead = true;
        else if (!one.lost_host || host.self != victim)
            world.enter(host, signature, one.bytes);
    }
    if (one.lost_host) {
        for (auto &host : world.hosts()) {
            if (host.self == victim)
                continue;
            host.gone.insert(victim);
            host.collectives->on_host_gone({}, victim);
        }
    }
    world.run();
    Costs result;
    result.us = std::chrono::duration<double, std::micro>(world.last_answer.time_since_epoch()).count();
    for (auto &host : world.hosts()) {
        result.rounds = std::max(result.rounds, host.depth);
        result.all_messages += host.messages;
        result.messages = std::max(result.messages, host.messages);
        result.bytes_out = std::max(result.bytes_out, host.bytes_out);
        result.bytes_in = std::max(result.bytes_in, host.bytes_in);
        bool entered = host.self != victim || !(one.dead || one.lost_host);
        if (entered && (host.answers != 1 || host.status != one.status))
            result.wrong = fmt::format("host {} got {} answers, the last {}", host.self, host.answers, host.status);
    }
    auto levels =
        static_cast<std::uint32_t>(std::ceil(std::log(hosts * (one.radix - 1.0) + 1) / std::log(one.radix) - 1e-9));
    if (!world.whole)
        result.wrong = "a success without everyone's data";
    std::size_t total = (one.bytes + 8) * hosts;
    bool in_pieces = total >= Collectives::PieceSizes().from;
    if (one.status == PMIX_SUCCESS && !in_pieces && result.rounds > 2 * (levels - 1))
        result.wrong = fmt::format("{} rounds for {} levels", result.rounds, levels);
    if (one.bytes == 0 && result.bytes_out > std::size_t{100} * (one.radix + 2))
        result.wrong = "a barrier's bytes grow";
    if (one.status == PMIX_SUCCESS && !in_pieces && result.all_messages > 2 * (hosts - 1))
        result.wrong = "more than one message up and one down for a host";
    // Twice down, and what a subtree sends up.
    if (one.status == PMIX_SUCCESS && in_pieces && result.bytes_out > 3 * total + 65'536)
        result.wrong = "a host sends more than its part of a large result";
    return result;
}

// Times against sizes, both by their logarithms.
struct Plot {
    struct Line {
        std::string name, points;
        double x = 0, y = 0;
    };
    std::vector<Line> lines;
    static double x_of(double hosts) { return 70 + 150 * (std::log10(hosts) - 0.5); }
    static double y_of(double us) { return 460 - 70 * std::log10(us); }
    void add(double hosts, double us) {
        auto &line = lines.back();
        line.x = x_of(hosts);
        line.y = y_of(us);
        line.points += fmt::format("{:.0f},{:.0f} ", line.x, line.y);
    }
    std::string text() const {
        std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"500\" "
                          "font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" "
                          "fill=\"white\"/>\n";
        for (int i = 1; i <= 4; ++i)
            out += fmt::format("<text x=\"{:.0f}\" y=\"480\" text-anchor=\"middle\">{:.0f} hosts</text>\n",
                               x_of(std::pow(10, i)), std::pow(10, i));
        static constexpr const char *names[] = {"1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"};
        for (int i = 0; i <= 6; ++i)
            out += fmt::format("<text x=\"8\" y=\"{0:.0f}\">{1}</text><line x1=\"60\" y1=\"{0:.0f}\" x2=\"680\" "
                               "y2=\"{0:.0f}\" stroke=\"#ddd\"/>\n",
                               y_of(std::pow(10, i)), names[i]);
        static constexpr const char *colors[] = {"#1b6ca8", "#b5482a", "#2a7f4f", "#7a4fa3", "#a8861b",
                                                 "#444444", "#c2498a", "#2aa0a0", "#9bb81b"};
        for (std::size_t i = 0; i < lines.size(); ++i)
            out += fmt::format("<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"2\" points=\"{1}\"/>"
                               "<line x1=\"700\" y1=\"{2}\" x2=\"720\" y2=\"{2}\" stroke=\"{0}\" stroke-width=\"2\"/>"
                               "<text x=\"726\" y=\"{3}\">{4}</text>\n",
                               colors[i % std::size(colors)], lines[i].points, 60 + 22 * i, 64 + 22 * i, lines[i].name);
        return out + "</svg>\n";
    }
};

} // namespace

int main(int argc, char **argv) {
    auto most = argc > 1 ? static_cast<HostIndex>(std::strtoul(argv[1], nullptr, 10)) : HostIndex{10000};
    constexpr Case cases[] = {
        {"barrier", 32, 0, 10000, false, false, false, PMIX_SUCCESS},
        {"barrier, radix 8", 8, 0, 10000, false, false, false, PMIX_SUCCESS},
        {"barrier, 1 % slow", 32, 0, 10000, true, false, false, PMIX_SUCCESS},
        {"barrier, a host is lost", 32, 0, 10000, false, true, false, PMIX_ERR_LOST_CONNECTION},
        {"barrier, a rank has ended", 32, 0, 10000, false, false, true, PMIX_ERR_PROC_TERM_WO_SYNC},
        {"64 B a host", 32, 64, 10000, false, false, false, PMIX_SUCCESS},
        {"8 KiB a host (128 x 64 B)", 32, 8192, 1000, false, false, false, PMIX_SUCCESS},
        {"8 KiB a host, radix 2", 2, 8192, 1000, false, false, false, PMIX_SUCCESS},
        {"8 KiB a host, radix 8", 8, 8192, 1000, false, false, false, PMIX_SUCCESS},
    };
    std::printf("%-28s %7s %12s %7s %9s | %s\n", "", "hosts", "us", "rounds", "messages",
                "worst host: sent, bytes out, bytes in");
    bool well = true;
    Plot plot;
    for (const auto &one : cases) {
        plot.lines.push_back({one.name, {}});
        for (HostIndex hosts : {10u, 100u, 1000u, 10000u}) {
            if (hosts > std::min(one.most, most))
                break;
            Costs result = run(one, hosts);
            std::printf("%-28s %7u %12.1f %7u %9zu | %6zu %12zu %12zu %s\n", one.name, hosts, result.us, result.rounds,
                        result.all_messages, result.messages, result.bytes_out, result.bytes_in, result.wrong.c_str());
            std::fflush(stdout);
            well = well && result.wrong.empty();
            plot.add(hosts, result.us);
        }
    }
    if (argc > 2) {
        std::FILE *file = std::fopen(argv[2], "w");
        if (!file || std::fputs(plot.text().c_str(), file) < 0 || std::fclose(file) != 0) {
            std::fprintf(stderr, "bench_scale: cannot write %s\n", argv[2]);
            return 2;
        }
    }
    return well ? 0 : 1;
}
