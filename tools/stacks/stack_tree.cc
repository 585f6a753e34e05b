// See stack_tree.h.
#include "tools/stacks/stack_tree.h"

#include <algorithm>
#include <fmt/format.h>

namespace pmixhost {

namespace {

std::string last_part(const std::string &path) {
    return path.substr(path.rfind('/') + 1); // all of it where there is none
}

constexpr char cut_here[] = "(more calls)";

} // namespace

// One host may have debugging information and another none, so what is not known of a call tells nothing apart.
bool StackTree::may_be_in(const Node &node, const std::string &file, const std::string &module) {
    if (!node.file.empty() && !file.empty())
        return node.file == file;
    return node.module.empty() || module.empty() || node.module == module;
}

std::size_t StackTree::below(std::size_t caller, const StackFrame &frame) {
    std::string file = last_part(frame.file), module = last_part(frame.module);
    Key key{caller, frame.function, frame.function.empty() ? module : std::string(), lines_ ? frame.line : 0u};
    auto &same_name = index_[std::move(key)];
    auto found = std::find_if(same_name.begin(), same_name.end(),
                              [&](std::size_t one) { return may_be_in(nodes_[one], file, module); });
    if (found == same_name.end()) {
        found = same_name.insert(found, nodes_.size());
        nodes_.emplace_back().function = frame.function;
        nodes_[caller].below.push_back(*found);
    }
    Node &node = nodes_[*found];
    if (node.file.empty())
        node.file = std::move(file);
    if (node.module.empty())
        node.module = std::move(module);
    return *found;
}

void StackTree::add(Rank rank, const ThreadStack &stack) {
    auto enter = [&](std::size_t at, unsigned line) {
        Node &node = nodes_[at];
        node.ranks.add(rank, rank);
        ++node.threads;
        if (line != 0 && node.at.size() < 16)
            node.at.insert(line);
    };
    std::size_t at = root;
    enter(at, 0);
    if (stack.cut) {
        at = below(at, {cut_here, {}, 0, {}});
        enter(at, 0);
    }
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
        at = below(at, *frame);
        enter(at, frame->line);
    }
    ++nodes_[at].ends;
}

void StackTree::finish() {
    auto before = [&](std::size_t one, std::size_t other) {
        const Node &a = nodes_[one], &b = nodes_[other];
        auto key = [](const Node &node, std::size_t index) {
            return std::tuple<Rank, const std::string &, const std::string &, std::size_t>(
                node.ranks.ranges().begin()->first, node.function, node.module, index);
        };
        return key(a, one) < key(b, other);
    };
    for (Node &node : nodes_) {
        std::sort(node.below.begin(), node.below.end(), before);
        for (std::size_t index : node.below)
            nodes_[index].differs = nodes_[index].threads != node.threads;
    }
}

std::size_t StackTree::groups() const {
    return static_cast<std::size_t>(
        std::count_if(nodes_.begin() + 1, nodes_.end(), [](const Node &node) { return node.ends > 0; }));
}

std::string ranks_text(const RankRanges &ranks, std::size_t max) {
    std::string out;
    for (const auto &[first, last] : ranks.ranges()) {
        if (max-- == 0)
            return out + ",...";
        if (!out.empty())
            out += ',';
        out += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    }
    return out;
}

std::size_t count_of(const RankRanges &ranks) {
    std::size_t count = 0;
    for (const auto &[first, last] : ranks.ranges())
        count += std::size_t{last} - first + 1;
    return count;
}

std::string place_of(const StackTree::Node &node) {
    if (!node.file.empty()) {
        std::string out = node.file;
        char separator = ':';
        for (unsigned line : node.at) {
            out += fmt::format("{}{}", separator, line);
            separator = ',';
        }
        return out;
    }
    return node.module.empty() ? std::string() : "in " + node.module;
}

std::string name_of(const StackTree::Node &node) {
    return node.function.empty() ? std::string("??") : node.function;
}

} // namespace pmixhost
