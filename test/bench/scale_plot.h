// Draws what bench_scale and bench_launch have found: times against sizes, both by their logarithms.
#pragma once

#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <vector>

namespace pmixhost {

class ScalePlot {
  public:
    // From 10^`lowest` us on, six decades.
    explicit ScalePlot(int lowest) : lowest_(lowest) {}
    void begin(const std::string &name) { lines_.push_back({name, {}}); }
    void add(double hosts, double us) {
        lines_.back().points += fmt::format("{:.0f},{:.0f} ", x_of(hosts), y_of(std::log10(us)));
    }
    std::string text() const {
        std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"500\" "
                          "font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" "
                          "fill=\"white\"/>\n";
        for (int i = 1; i <= 4; ++i)
            out += fmt::format("<text x=\"{:.0f}\" y=\"480\" text-anchor=\"middle\">{:.0f} hosts</text>\n",
                               x_of(std::pow(10, i)), std::pow(10, i));
        static constexpr const char *names[] = {"1 us",   "10 us", "100 us", "1 ms",  "10 ms",
                                                "100 ms", "1 s",   "10 s",   "100 s", "1000 s"};
        for (int i = lowest_; i <= lowest_ + 6; ++i)
            out += fmt::format("<text x=\"8\" y=\"{0:.0f}\">{1}</text><line x1=\"60\" y1=\"{0:.0f}\" x2=\"680\" "
                               "y2=\"{0:.0f}\" stroke=\"#ddd\"/>\n",
                               y_of(i), names[i]);
        static constexpr const char *colors[] = {"#1b6ca8", "#b5482a", "#2a7f4f", "#7a4fa3", "#a8861b",
                                                 "#444444", "#c2498a", "#2aa0a0", "#9bb81b", "#c97b2c",
                                                 "#5c6bc0", "#8d6e63", "#00897b", "#6d4c41", "#d81b60",
                                                 "#7cb342", "#546e7a", "#ef9a9a", "#90caf9"};
        for (std::size_t i = 0; i < lines_.size(); ++i)
            out +=
                fmt::format("<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"2\" points=\"{1}\"/>"
                            "<line x1=\"700\" y1=\"{2}\" x2=\"720\" y2=\"{2}\" stroke=\"{0}\" stroke-width=\"2\"/>"
                            "<text x=\"726\" y=\"{3}\">{4}</text>\n",
                            colors[i % std::size(colors)], lines_[i].points, 60 + 22 * i, 64 + 22 * i, lines_[i].name);
        return out + "</svg>\n";
    }
    // False, with errno, where it cannot be written.
    bool write(const char *path) const {
        std::FILE *file = std::fopen(path, "w");
        bool written = file && std::fputs(text().c_str(), file) >= 0;
        return file && std::fclose(file) == 0 && written;
    }

  private:
    static double x_of(double hosts) { return 70 + 150 * (std::log10(hosts) - 0.5); }
    double y_of(double decade) const { return 460 - 70 * (decade - lowest_); }
    struct Line {
        std::string name, points;
    };
    const int lowest_;
    std::vector<Line> lines_;
};

} // namespace pmixhost
