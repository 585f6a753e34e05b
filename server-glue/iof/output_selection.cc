// See output_selection.h.
#include "server-glue/iof/output_selection.h"

#include <algorithm>

namespace pmixhost {

void OutputSelection::add(std::uint8_t channels, const std::set<Rank> &ranks) {
    for (std::uint8_t channel : {wire::stdout_channel, wire::stderr_channel}) {
        if (!(channels & channel))
            continue;
        auto [known, is_new] = whose_.try_emplace(channel, ranks);
        if (is_new || known->second.empty())
            continue;
        if (ranks.empty())
            known->second.clear();
        else
            known->second.insert(ranks.begin(), ranks.end());
    }
}

void OutputSelection::add(const OutputSelection &other) {
    for (const auto &[channel, ranks] : other.whose_)
        add(channel, ranks);
}

OutputSelection OutputSelection::without(const OutputSelection &other, Rank processes) const {
    OutputSelection left;
    for (const auto &[channel, ranks] : whose_) {
        auto others = other.whose_.find(channel);
        if (others == other.whose_.end()) {
            left.add(channel, ranks);
            continue;
        }
        if (others->second.empty())
            continue;
        std::set<Rank> mine = ranks;
        for (Rank rank = 0; ranks.empty() && rank < processes; ++rank)
            mine.insert(mine.end(), rank);
        std::erase_if(mine, [&](Rank rank) { return others->second.contains(rank); });
        if (!mine.empty()) // which would be all
            left.add(channel, mine);
    }
    return left;
}

bool OutputSelection::has(Rank rank, std::uint8_t channel) const {
    auto found = whose_.find(channel);
    return found != whose_.end() && (found->second.empty() || found->second.contains(rank));
}

bool OutputSelection::meets(const OutputSelection &other) const {
    return std::any_of(whose_.begin(), whose_.end(), [&](const auto &entry) {
        const auto &[channel, ranks] = entry;
        auto others = other.whose_.find(channel);
        return others != other.whose_.end() &&
               (ranks.empty() || others->second.empty() ||
                std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) { return others->second.contains(rank); }));
    });
}

std::uint8_t OutputSelection::channels() const {
    std::uint8_t all = 0;
    for (const auto &[channel, ranks] : whose_)
        all |= channel;
    return all;
}

std::size_t OutputSelection::streams(std::size_t processes) const {
    std::size_t count = 0;
    for (const auto &[channel, ranks] : whose_)
        count += ranks.empty() ? processes : ranks.size();
    return count;
}

bool OutputSelection::is_within(const std::set<std::pair<Rank, std::uint8_t>> &some, std::size_t processes) const {
    auto mine =
        std::count_if(some.begin(), some.end(), [this](auto stream) { return has(stream.first, stream.second); });
    return static_cast<std::size_t>(mine) >= streams(processes);
}

wire::OutputWanted OutputSelection::on_wire() const {
    wire::OutputWanted wanted;
    wanted.channels = channels();
    for (const auto &[channel, ranks] : whose_)
        (channel == wire::stdout_channel ? wanted.of_stdout : wanted.of_stderr).assign(ranks.begin(), ranks.end());
    return wanted;
}

OutputSelection OutputSelection::from_wire(const wire::OutputWanted &wanted) {
    OutputSelection selection;
    selection.add(wanted.channels & wire::stdout_channel, {wanted.of_stdout.begin(), wanted.of_stdout.end()});
    selection.add(wanted.channels & wire::stderr_channel, {wanted.of_stderr.begin(), wanted.of_stderr.end()});
    return selection;
}

} // namespace pmixhost
