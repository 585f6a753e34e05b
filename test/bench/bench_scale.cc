// What services cost on as many hosts as nobody has here: the real state machines, with a clock and a network of this
// program's own (simulated_network.h).
//
// usage: bench_scale [MOST_HOSTS [SVG]]
// Prints a row for each size; with SVG, the times are drawn into that file. Exit code 1 where somebody has not heard
// what it should, where there are more rounds or messages than the tree explains, or a barrier's bytes grow with the
// hosts (collective.h, event_service.h).
#include "test/bench/scale.h"
#include "test/bench/scale_plot.h"

#include <cstdio>
#include <cstdlib>
#include <pmix_common.h>

using namespace pmixhost;

int main(int argc, char **argv) {
    auto most = argc > 1 ? static_cast<HostIndex>(std::strtoul(argv[1], nullptr, 10)) : HostIndex{10000};
    using Who = CollectiveCase::Who;
    constexpr CollectiveCase collectives[] = {
        {"barrier", 32, 0, 10000, false, false, false, PMIX_SUCCESS},
        {"barrier, radix 8", 8, 0, 10000, false, false, false, PMIX_SUCCESS},
        {"barrier, 1 % slow", 32, 0, 10000, true, false, false, PMIX_SUCCESS},
        {"barrier, a host is lost", 32, 0, 10000, false, true, false, PMIX_ERR_LOST_CONNECTION},
        {"barrier, a rank has ended", 32, 0, 10000, false, false, true, PMIX_ERR_PROC_TERM_WO_SYNC},
        {"barrier, first half", 32, 0, 10000, false, false, false, PMIX_SUCCESS, Who::first_half},
        {"barrier, each second rank", 32, 0, 10000, false, false, false, PMIX_SUCCESS, Who::every_second},
        {"barrier, half of each host", 32, 0, 1000, false, false, false, PMIX_SUCCESS, Who::half_of_each_host},
        {"barrier, two ranks of three", 32, 0, 1000, false, false, false, PMIX_SUCCESS, Who::two_of_three},
        {"64 B a host", 32, 64, 10000, false, false, false, PMIX_SUCCESS},
        {"8 KiB a host (128 x 64 B)", 32, 8192, 1000, false, false, false, PMIX_SUCCESS},
        {"8 KiB a host, radix 2", 2, 8192, 1000, false, false, false, PMIX_SUCCESS},
        {"8 KiB a host, radix 8", 8, 8192, 1000, false, false, false, PMIX_SUCCESS},
    };
    constexpr ConnectCase connects[] = {
        {"connect of two jobs", 32, 0},
        {"connect, 64 B a host", 32, 64},
    };
    using What = EventCase::What;
    constexpr EventCase events[] = {
        {"an event to all", What::notice, 32, 200, false},
        {"an event, 1 % slow", What::notice, 32, 200, true},
        {"the ends of all ranks", What::ends, 32, 0, false},
        {"the bad ends of all ranks", What::bad_ends, 32, 0, false},
        {"a host is lost", What::loss, 32, 0, false},
    };
    std::printf("%-28s %7s %12s %7s %9s | %s\n", "", "hosts", "us", "rounds", "messages",
                "worst host: sent, bytes out, bytes in");
    bool well = true;
    ScalePlot plot(0);
    auto show = [&](const auto &one, HostIndex most_hosts, auto run) {
        plot.begin(one.name);
        for (HostIndex hosts : {10u, 100u, 1000u, 10000u}) {
            if (hosts > most_hosts)
                break;
            ScaleCosts result = run(one, hosts);
            std::printf("%-28s %7u %12.1f %7u %9zu | %6zu %12zu %12zu %s\n", one.name, hosts, result.us, result.rounds,
                        result.all_messages, result.messages, result.bytes_out, result.bytes_in, result.wrong.c_str());
            std::fflush(stdout);
            well = well && result.wrong.empty();
            plot.add(hosts, result.us);
        }
    };
    for (const auto &one : collectives)
        show(one, std::min(one.most, most), run_collective);
    for (const auto &one : connects)
        show(one, most, run_connect);
    for (const auto &one : events)
        show(one, most, run_event);
    if (argc > 2 && !plot.write(argv[2])) {
        std::fprintf(stderr, "bench_scale: cannot write %s\n", argv[2]);
        return 2;
    }
    return well ? 0 : 1;
}
