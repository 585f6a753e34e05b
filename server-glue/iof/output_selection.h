// Which output is wanted: of each channel, of which processes. Two tools may want different channels of different ones,
// and what is taken over for them goes nowhere else. Pure.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/iof_messages.h"

#include <map>
#include <set>

namespace pmixhost {

class OutputSelection {
  public:
    OutputSelection() = default; // nothing
    // `channels`: wire::stdout_channel, wire::stderr_channel; of these processes, or of all where none is named.
    OutputSelection(std::uint8_t channels, const std::set<Rank> &ranks = {}) { add(channels, ranks); }

    void add(std::uint8_t channels, const std::set<Rank> &ranks);
    void add(const OutputSelection &other);
    // What is in it and not in the other one, of a job with so many processes.
    OutputSelection without(const OutputSelection &other, Rank processes) const;
    bool operator==(const OutputSelection &) const = default;
    bool none() const { return whose_.empty(); }
    bool has(Rank rank, std::uint8_t channel) const;
    std::uint8_t channels() const;
    // Of a channel that it has: empty is of all.
    const std::map<std::uint8_t, std::set<Rank>> &whose() const { return whose_; }
    // How many streams that is, of a job with so many processes.
    std::size_t streams(std::size_t processes) const;
    // Is there a stream in both?
    bool meets(const OutputSelection &other) const;
    // Are they all among these?
    bool is_within(const std::set<std::pair<Rank, std::uint8_t>> &some, std::size_t processes) const;

    wire::OutputWanted on_wire() const;
    static OutputSelection from_wire(const wire::OutputWanted &wanted);

  private:
    std::map<std::uint8_t, std::set<Rank>> whose_;
};

} // namespace pmixhost
