// What starts and spawns cost on as many hosts as nobody has here: the daemons' real mesh, contact messages, launcher
// and session's relay, with a clock, a network and a munge of this program's own (simulated_hosts.h). Slurm's part, its
// launch and the calls by which it brings contact messages, is a model (launch.h).
//
// usage: bench_launch [MOST_HOSTS [SVG]]
// Prints a row for each size; with SVG, the times are drawn into that file. Exit code 1 where a connection of the tree
// is missing, where somebody is not answered once, or where a start asks munge, has connections or takes time more than
// the tree explains.
#include "test/bench/launch.h"
#include "test/bench/scale_plot.h"

#include <cstdio>
#include <cstdlib>

using namespace pmixhost;

int main(int argc, char **argv) {
    auto most = argc > 1 ? static_cast<HostIndex>(std::strtoul(argv[1], nullptr, 10)) : HostIndex{10000};
    constexpr std::uint32_t width = LaunchModel::tree_width;
    constexpr StartCase starts[] = {
        {"start", 32, width, false, false},
        {"start, TreeWidth 50", 32, 50, false, false},
        {"start, radix 8", 8, width, false, false},
        {"start, 1 % slow", 32, width, true, false},
        {"start, a host is lost", 32, width, false, true},
    };
    constexpr SpawnCase spawns[] = {
        {"spawn of 1,000", 1000, false, false},
        {"spawn of one on each host", one_on_each, false, false},
        {"spawn of 1,000, 1 % slow", 1000, true, false},
        {"spawn of 1,000, a host is lost", 1000, false, true},
    };
    struct EndsCase {
        const char *name;
    };
    constexpr EndsCase ends[] = {{"ends of spawned processes"}};
    std::printf("%-30s %7s %12s %9s %6s | %s\n", "", "hosts", "ms", "messages", "calls",
                "worst host: munge, connections, sent, bytes out, bytes in");
    bool well = true;
    ScalePlot plot(3);
    auto show = [&](const auto &one, auto run) {
        plot.begin(one.name);
        for (HostIndex hosts : {10u, 100u, 1000u, 10000u}) {
            if (hosts > most)
                break;
            ScaleCosts result = run(one, hosts);
            std::printf("%-30s %7u %12.1f %9zu %6zu | %6zu %5zu %6zu %10zu %10zu %s\n", one.name, hosts,
                        result.us / 1000, result.all_messages, result.forwards, result.munge_calls, result.connections,
                        result.messages, result.bytes_out, result.bytes_in, result.wrong.c_str());
            std::fflush(stdout);
            well = well && result.wrong.empty();
            plot.add(hosts, result.us);
        }
    };
    for (const auto &one : starts)
        show(one, run_start);
    for (const auto &one : spawns)
        show(one, run_spawn);
    for (const auto &one : ends)
        show(one, [](const EndsCase &, HostIndex hosts) { return run_child_ends(hosts); });
    if (argc > 2 && !plot.write(argv[2])) {
        std::fprintf(stderr, "bench_launch: cannot write %s\n", argv[2]);
        return 2;
    }
    return well ? 0 : 1;
}
