// What services cost on as many hosts as nobody has here: the real state machines, with a clock and a network of this
// program's own (simulated_network.h).
//
// usage: bench_scale [MOST_HOSTS [SVG]]
// Prints a row for each size; with SVG, the times are drawn into that file. Exit code 1 where somebody has not heard
// what it should, where there are more rounds or messages than the tree explains, or a barrier's bytes grow with the
// hosts (collective.h, event_service.h).
#include "test/bench/scale.h"

#include <cstdio>
#include <cstdlib>
#include <pmix_common.h>

using namespace pmixhost;

namespace {

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
                                                 "#444444", "#c2498a", "#2aa0a0", "#9bb81b", "#c97b2c",
                                                 "#5c6bc0", "#8d6e63", "#00897b", "#6d4c41", "#d81b60"};
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
    constexpr CollectiveCase collectives[] = {
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
    constexpr ConnectCase connects[] = {
        {"connect of two jobs", 32, 0},
        {"connect, 64 B a host", 32, 64},
    };
    using What = EventCase::What;
    constexpr EventCase events[] = {
        {"an event to all", What::notice, 32, 200, false},
        {"an event, 1 % slow", What::notice, 32, 200, true},
        {"the ends of all ranks", What::ends, 32, 0, false},
        {"a host is lost", What::loss, 32, 0, false},
    };
    std::printf("%-28s %7s %12s %7s %9s | %s\n", "", "hosts", "us", "rounds", "messages",
                "worst host: sent, bytes out, bytes in");
    bool well = true;
    Plot plot;
    auto show = [&](const auto &one, HostIndex most_hosts, auto run) {
        plot.lines.push_back({one.name, {}});
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
    if (argc > 2) {
        std::FILE *file = std::fopen(argv[2], "w");
        if (!file || std::fputs(plot.text().c_str(), file) < 0 || std::fclose(file) != 0) {
            std::fprintf(stderr, "bench_scale: cannot write %s\n", argv[2]);
            return 2;
        }
    }
    return well ? 0 : 1;
}
