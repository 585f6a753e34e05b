// Of the connections at the gate's remote door whose users are not known yet: which one has to go when there are too
// many, and of which munge is asked next.
//
//     a connection:  has said nothing -> has said who it is -> munge is asked -> known, or refused
//
// Until munge has been asked nothing tells those of one address apart: what floods may be one user's, and the honest
// tool beside it on a login host another one's. That tool needs a place until its message is here, which takes its
// library a few milliseconds (it asks its own munge for the credential first), and then one of munge's answers.
//   - The places are for all addresses. When one more comes than there are, the oldest goes of the address that has the
//     most, whether or not it has spoken. So who comes from an address that floods has the time in which so many
//     others come as there are places, and who comes from another one costs the flood a place.
//   - Who is asked about has none of these places any more: that munge is slow shortens nobody's time.
//   - Munge is asked about so many at a time, one of each address in turn, and of an address about whoever came first,
//     who would be the next to go. So a flood of whole messages holds up tools of other addresses by a turn each.
// Where more whole messages come from an address than munge answers, some have to go, and each has the same chance:
// the answers that its address gets for those that come.
//
// Of the other ways, to refuse the newest lets who says nothing shut the door for as long as he may say nothing; to
// leave each a time in which it cannot be pushed out does so for that time, with as few connections as there are
// places; and to push out any, by chance, takes from those who need the least time and gives to nobody who is honest.
//
// Pure: no sockets, no clock. Deadlines are the owner's.
#pragma once

#include "common/peer/stranger_limits.h"

namespace pmixhost {

class UnknownTools {
  public:
    using Id = StrangerLimits::Id; // rising in the order in which they come
    struct Bounds {
        std::size_t places = 512;      // for those about whom munge is not asked yet
        std::size_t asked_at_once = 8; // beside them: each thread that asks has the next one at hand
    };
    explicit UnknownTools(Bounds bounds) : bounds_(bounds), waiting_({bounds.places, bounds.places}) {}

    // A connection has come from that address. Returns the one that has to go for it, if any, which is counted no more.
    std::optional<Id> add(Id newcomer, const std::string &source) {
        sources_.emplace(newcomer, source);
        auto gone = waiting_.add(newcomer, source);
        if (gone)
            forget(*gone);
        return gone;
    }
    // Its message is there as a whole. Of one that is not counted, nothing happens.
    void has_spoken(Id id) {
        if (auto found = sources_.find(id); found != sources_.end())
            ready_[found->second].insert(id);
    }
    // Munge is to be asked about this one now; it keeps its turn until it is removed. Nothing: about nobody.
    std::optional<Id> ask_next() {
        if (ready_.empty() || asked_.size() >= bounds_.asked_at_once)
            return std::nullopt;
        auto next = ready_.upper_bound(last_source_);
        if (next == ready_.end())
            next = ready_.begin();
        last_source_ = next->first;
        Id id = *next->second.begin();
        waiting_.remove(id);
        forget(id);
        asked_.insert(id);
        return id;
    }
    // It was closed, or its user is known now. Does nothing where it is not counted.
    void remove(Id id) {
        waiting_.remove(id);
        forget(id);
        asked_.erase(id);
    }
    std::size_t size() const { return sources_.size() + asked_.size(); }

  private:
    void forget(Id id) {
        auto found = sources_.find(id);
        if (found == sources_.end())
            return;
        if (auto line = ready_.find(found->second); line != ready_.end()) {
            line->second.erase(id);
            if (line->second.empty())
                ready_.erase(line);
        }
        sources_.erase(found);
    }

    const Bounds bounds_;
    StrangerLimits waiting_;                    // those about whom munge is not asked yet
    std::map<Id, std::string> sources_;         // of the same
    std::map<std::string, std::set<Id>> ready_; // those of them that have spoken, by source
    std::string last_source_;                   // whose turn was the last one
    std::set<Id> asked_;
};

} // namespace pmixhost
