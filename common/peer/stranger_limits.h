// Decides which connection has to go when too many are open whose makers are not known yet. A listener that refused
// the newcomer instead could be shut for good by whoever is content to say nothing.
//
// Each connection has a source, which is what a flood cannot easily have many of: the peer's address on a network,
// its process on this host. So many may be there in all, and so many of each source. When one more comes, the oldest
// that has said nothing yet goes: of its own source if that has too many, otherwise of the source that has the most.
// An honest one says at once who it is, and is spared from then on; it has as much time for that as a flood of its
// own source needs to fill that source's places. The newcomer itself is refused only where all that could go are
// spared.
//
// Pure: no sockets, no clock. Deadlines are the owner's. When it is full, an addition costs time in the number of
// sources.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace pmixhost {

class StrangerLimits {
  public:
    using Id = std::uint64_t; // rising in the order in which they come
    struct Bounds {
        std::size_t in_all;
        std::size_t per_source;
    };
    explicit StrangerLimits(Bounds bounds) : bounds_(bounds) {}

    // A connection has come. Returns the one that has to go for it, if any, which is no longer counted and may be the
    // newcomer itself. `expected`: so many more places, for connections that were asked to come.
    std::optional<Id> add(Id newcomer, const std::string &source, std::size_t expected = 0) {
        std::optional<Id> gone;
        Source &own = sources_[source];
        if (own.count >= bounds_.per_source + expected)
            gone = own.silent.empty() ? newcomer : *own.silent.begin();
        else if (connections_.size() >= bounds_.in_all + expected)
            gone = oldest_of_the_most().value_or(newcomer);
        ++own.count;
        own.silent.insert(newcomer);
        connections_.emplace(newcomer, Connection{source, true});
        if (gone)
            remove(*gone);
        return gone;
    }
    // No descriptor or memory is left: returns the one that goes, if any is left that has said nothing.
    std::optional<Id> evict() {
        auto gone = oldest_of_the_most();
        if (gone)
            remove(*gone);
        return gone;
    }
    // It has said what has to be looked at now, and keeps its place.
    void spare(Id id) {
        auto found = connections_.find(id);
        if (found == connections_.end())
            return;
        found->second.silent = false;
        sources_.at(found->second.source).silent.erase(id);
    }
    // It was closed, or its maker is known now. Does nothing where it is not counted.
    void remove(Id id) {
        auto found = connections_.find(id);
        if (found == connections_.end())
            return;
        auto source = sources_.find(found->second.source);
        source->second.silent.erase(id);
        if (--source->second.count == 0)
            sources_.erase(source);
        connections_.erase(found);
    }
    std::size_t size() const { return connections_.size(); }

  private:
    struct Connection {
        std::string source;
        bool silent;
    };
    struct Source {
        std::size_t count = 0;
        std::set<Id> silent; // oldest first
    };
    std::optional<Id> oldest_of_the_most() const {
        const Source *most = nullptr;
        for (const auto &[name, source] : sources_) {
            if (source.silent.empty())
                continue;
            if (!most || source.count > most->count ||
                (source.count == most->count && *source.silent.begin() < *most->silent.begin()))
                most = &source;
        }
        return most ? std::optional<Id>(*most->silent.begin()) : std::nullopt;
    }

    Bounds bounds_;
    std::map<Id, Connection> connections_;
    std::map<std::string, Source> sources_;
};

} // namespace pmixhost
