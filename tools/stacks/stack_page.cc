// The report as a page and as a picture, which need nothing else and hold no script. See stack_report.h.
#include "tools/stacks/shown_text.h"
#include "tools/stacks/stack_report.h"

#include <algorithm>
#include <fmt/format.h>

namespace pmixhost {

namespace {

constexpr std::string_view page_head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 1.5em; color: #222; background: #fff }
details { margin-left: 1.2em; border-left: 1px solid #ddd; padding-left: .6em }
summary { cursor: pointer }
.call { margin-left: 1.1em }
code { font: 13px monospace }
.differs > summary code { color: #a33; font-weight: bold }
.ranks, code { overflow-wrap: anywhere }
.ranks { color: #fff; background: #357; border-radius: .3em; padding: 0 .4em; font-size: 12px }
.place { color: #777; font-size: 12px }
details.all { margin-left: 0; border: 0; padding: 0 }
h2 { font-size: 1.1em; margin: 1.5em 0 0 }
table { border-collapse: collapse; margin-top: 1em }
td, th { text-align: left; padding: .1em .8em .1em 0; border-bottom: 1px solid #ddd; vertical-align: top }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1b1b1b }
  .differs > summary code { color: #f98 }
}
</style>
)";

void page_call(std::string &out, const StackTree::Node &node) {
    out += fmt::format("<code>{}</code> <span class=\"place\">{}</span>", markup_text(name_of(node)),
                       markup_text(place_of(node)));
}

// Who is in it: so many ranges are shown, all are in what appears under the pointer.
constexpr std::size_t ranges_of_call = 8;

std::string who(const StackTree::Node &node, std::size_t most) {
    std::size_t count = count_of(node.ranks);
    return fmt::format("{} {}", count == 1 ? "rank" : fmt::format("{} ranks:", count), ranks_text(node.ranks, most));
}

// Of more branches than these each is one line, until it is unfolded.
constexpr std::size_t most_unfolded = 12;

// A chain of calls without a branch is one part that can be folded.
void page_part(std::string &out, const StackTree &tree, std::size_t index, bool open) {
    const auto *node = &tree.node(index);
    out += fmt::format("<details{}{}><summary><span class=\"ranks\" title=\"{}\">{}</span> ", open ? " open" : "",
                       node->differs ? " class=\"differs\"" : "", who(*node, SIZE_MAX), who(*node, ranges_of_call));
    page_call(out, *node);
    out += "</summary>\n";
    while (node->below.size() == 1 && !tree.node(node->below[0]).differs) {
        node = &tree.node(node->below[0]);
        out += "<div class=\"call\">";
        page_call(out, *node);
        out += "</div>\n";
    }
    for (std::size_t below : node->below)
        page_part(out, tree, below, node->below.size() <= most_unfolded);
    out += "</details>\n";
}

std::string remark_on(const ProcessStacks &process) {
    return process.stopped ? process.why + (process.why.empty() ? "" : "; ") + "stopped by a signal" : process.why;
}

void page_processes(std::string &out, const std::vector<ProcessStacks> &processes,
                    bool (*shown)(const ProcessStacks &)) {
    out += "<table><tr><th>rank</th><th>host</th><th>process</th><th>executable</th><th></th></tr>\n";
    for (const auto &process : processes) {
        if (!shown(process))
            continue;
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", process.rank,
                           markup_text(process.host), process.pid == 0 ? std::string() : std::to_string(process.pid),
                           markup_text(process.executable), markup_text(remark_on(process)));
    }
    out += "</table>\n";
}

struct Picture {
    const StackTree &tree;
    std::string out;
    std::size_t depth = 0;
    static constexpr double width = 1200, row = 18, letter = 6.8; // of a monospace font of 11
    static constexpr std::string_view colours[] = {"#f2b279", "#f0a06a", "#eec07e", "#e9956b", "#f3c98f", "#e8ab72"};

    void draw(std::size_t index, double left, double share, std::size_t level) {
        const auto &node = tree.node(index);
        depth = std::max(depth, level + 1);
        std::size_t sum = 0;
        for (char c : node.function)
            sum = sum * 31 + static_cast<unsigned char>(c);
        std::string name = name_of(node);
        std::string text = node.differs ? fmt::format("{} ({})", name, who(node, ranges_of_call)) : name;
        auto room = static_cast<std::size_t>(std::max(0.0, (share - 6) / letter));
        bool all = text.size() <= room;
        std::string label = all ? text : room < 5 ? std::string() : shown_text(text.substr(0, room - 2), room);
        out += fmt::format("<g><title>{} {} ({}; {} stacks)</title><rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" "
                           "height=\"{}\" fill=\"{}\" stroke=\"#fff\"/><text x=\"{:.2f}\" y=\"{}\">{}{}</text></g>\n",
                           markup_text(name), markup_text(place_of(node)), who(node, SIZE_MAX), node.threads, left,
                           static_cast<double>(level) * row, share, row, node.differs ? "#e06c5a" : colours[sum % 6],
                           left + 3, static_cast<double>(level) * row + 13, markup_text(label),
                           all || label.empty() ? "" : "..");
        draw_below(node, left, share, level + 1);
    }
    void draw_below(const StackTree::Node &node, double left, double share, std::size_t level) {
        for (std::size_t below : node.below) {
            double part = share * static_cast<double>(tree.node(below).threads) / static_cast<double>(node.threads);
            draw(below, left, part, level);
            left += part;
        }
    }
};

std::string picture_of(const StackReport &report) {
    Picture picture{report.tree, {}};
    picture.draw_below(report.tree.node(StackTree::root), 0, Picture::width, 0);
    return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"monospace\" "
                       "font-size=\"11\" width=\"100%\" preserveAspectRatio=\"xMidYMin\">\n{}</svg>\n",
                       Picture::width, static_cast<double>(picture.depth) * Picture::row, picture.out);
}

} // namespace

std::string report_html(const StackReport &report) {
    std::string title = report.job.empty() ? std::string("stacks of core files") : "stacks of job " + report.job;
    std::string out = fmt::format("{}<title>{}</title></head><body>\n<h1>{}</h1>\n", page_head, markup_text(title),
                                  markup_text(title));
    out += fmt::format("<p>{} of {} ranks, in {} different places</p>\n", report.read(), report.processes.size(),
                       report.tree.groups());
    for (std::size_t below : report.tree.node(StackTree::root).below)
        page_part(out, report.tree, below, true);
    auto has_remark = [](const ProcessStacks &process) { return !remark_on(process).empty(); };
    if (std::any_of(report.processes.begin(), report.processes.end(), has_remark)) {
        out += "<h2>Not shown, or not as it ran</h2>\n";
        page_processes(out, report.processes, has_remark);
    }
    out += "<h2>Processes</h2>\n<details class=\"all\"><summary>all of them</summary>\n";
    page_processes(out, report.processes, [](const ProcessStacks &) { return true; });
    return out + "</details>\n</body></html>\n";
}

std::string report_svg(const StackReport &report) {
    return picture_of(report);
}

} // namespace pmixhost
