// The report as text and JSON. See stack_report.h.
#include "tools/stacks/stack_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pmixhost {

namespace {

using ReportJson = nlohmann::ordered_json;

constexpr std::size_t widest_ranks = 24; // characters of the column
constexpr std::size_t most_ranges = 8;   // of a line of text

class TextTree {
  public:
    TextTree(const StackTree &tree, const StackPaint &paint, std::string &out) : tree_(tree), paint_(paint), out_(out) {
        for (std::size_t i = 0; i < tree.size(); ++i) {
            auto width = ranks_text(tree.node(i).ranks, most_ranges).size();
            width_ = std::max(width_, std::min(width, widest_ranks));
        }
    }
    void show() {
        out_ += fmt::format("{:<{}}  CALLS\n", "RANKS", width_);
        for (std::size_t index : tree_.node(StackTree::root).below)
            show(index, 0);
    }

  private:
    void show(std::size_t index, std::size_t indent) {
        const auto &node = tree_.node(index);
        std::string ranks = ranks_text(node.ranks, most_ranges), place = place_of(node);
        if (ranks == last_ && !node.differs)
            ranks.clear();
        else
            last_ = ranks;
        out_ += fmt::format("{}{:<{}}{}  {:{}}{}{}{}{}", paint_.ranks, ranks, width_, paint_.off, "", indent * 2,
                            node.differs ? paint_.branch : std::string_view(), node.differs ? "+ " : "", name_of(node),
                            node.differs ? paint_.off : std::string_view());
        if (!place.empty())
            out_ += "  " + place;
        if (node.threads != count_of(node.ranks) && node.differs)
            out_ += fmt::format("  ({} stacks)", node.threads);
        out_ += '\n';
        for (std::size_t below : node.below)
            show(below, indent + (tree_.node(below).differs ? 1 : 0) + (node.differs ? 1 : 0));
    }
    const StackTree &tree_;
    const StackPaint &paint_;
    std::string &out_, last_;
    std::size_t width_ = 5;
};

ReportJson json_of(const StackFrame &frame) {
    ReportJson out;
    out["function"] = frame.function.empty() ? ReportJson() : ReportJson(frame.function);
    if (!frame.file.empty())
        out["file"] = frame.file, out["line"] = frame.line;
    if (!frame.module.empty())
        out["module"] = frame.module;
    return out;
}

ReportJson json_of(const StackTree &tree, std::size_t index) {
    const auto &node = tree.node(index);
    ReportJson out;
    out["function"] = node.function.empty() ? ReportJson() : ReportJson(node.function);
    out["place"] = place_of(node);
    out["ranks"] = ranks_text(node.ranks);
    out["stacks"] = node.threads;
    out["differs"] = node.differs;
    out["calls"] = ReportJson::array();
    for (std::size_t below : node.below)
        out["calls"].push_back(json_of(tree, below));
    return out;
}

// Those with the same words together.
std::map<std::string, RankRanges> reasons_of(const StackReport &report) {
    std::map<std::string, RankRanges> out;
    for (const auto &process : report.processes) {
        if (!process.why.empty())
            out[process.host.empty() ? process.why : process.host + ": " + process.why].add(process.rank, process.rank);
    }
    return out;
}

} // namespace

StackReport StackReport::of(std::string job, std::vector<ProcessStacks> processes, bool lines) {
    StackReport out{std::move(job), std::move(processes), StackTree(lines)};
    std::stable_sort(out.processes.begin(), out.processes.end(),
                     [](const auto &one, const auto &other) { return one.rank < other.rank; });
    for (const auto &process : out.processes) {
        for (const auto &thread : process.threads)
            out.tree.add(process.rank, thread);
    }
    out.tree.finish();
    return out;
}

std::size_t StackReport::read() const {
    return static_cast<std::size_t>(std::count_if(processes.begin(), processes.end(),
                                                  [](const auto &process) { return !process.threads.empty(); }));
}

std::string report_text(const StackReport &report, const StackPaint &paint) {
    std::string out;
    if (!report.job.empty()) {
        std::set<std::string> hosts;
        for (const auto &process : report.processes) {
            if (!process.threads.empty())
                hosts.insert(process.host);
        }
        out = fmt::format("job {}: {} of {} ranks on {} {}, in {} different {}\n", report.job, report.read(),
                          report.processes.size(), hosts.size(), hosts.size() == 1 ? "host" : "hosts",
                          report.tree.groups(), report.tree.groups() == 1 ? "place" : "places");
    }
    if (report.read() > 0)
        TextTree(report.tree, paint, out).show();
    RankRanges stopped;
    for (const auto &process : report.processes) {
        if (process.stopped)
            stopped.add(process.rank, process.rank);
    }
    if (!stopped.empty())
        out += fmt::format("{}stopped by a signal{}: {}\n", paint.warning, paint.off, ranks_text(stopped, most_ranges));
    for (const auto &[why, ranks] : reasons_of(report))
        out += fmt::format("{}not shown{}: {}  {}\n", paint.warning, paint.off, ranks_text(ranks, most_ranges), why);
    return out;
}

std::string report_json(const StackReport &report) {
    ReportJson out;
    out["job"] = report.job.empty() ? ReportJson() : ReportJson(report.job);
    out["ranks"] = report.processes.size();
    out["read"] = report.read();
    out["tree"] = json_of(report.tree, StackTree::root);
    out["processes"] = ReportJson::array();
    for (const auto &process : report.processes) {
        ReportJson one;
        one["rank"] = process.rank;
        one["host"] = process.host;
        one["pid"] = process.pid == 0 ? ReportJson() : ReportJson(process.pid);
        one["executable"] = process.executable;
        one["stopped"] = process.stopped;
        one["why"] = process.why.empty() ? ReportJson() : ReportJson(process.why);
        one["threads"] = ReportJson::array();
        for (const auto &thread : process.threads) {
            ReportJson stack;
            stack["id"] = thread.id;
            stack["name"] = thread.name;
            stack["cut"] = thread.cut;
            stack["frames"] = ReportJson::array();
            for (const auto &frame : thread.frames)
                stack["frames"].push_back(json_of(frame));
            one["threads"].push_back(std::move(stack));
        }
        out["processes"].push_back(std::move(one));
    }
    return out.dump(2, ' ', false, ReportJson::error_handler_t::replace) + "\n";
}

} // namespace pmixhost
