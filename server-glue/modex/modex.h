// Direct modex: what has that process posted? Asks the daemon of the process' host and answers such
// questions of others. Pure: messages and time in, messages and answers out.
//
// The asked daemon waits until the process has committed something; the asker's deadline bounds the wait on both
// sides. The library is asked about a process once at a time, for all who wait, because it keeps a question that
// nobody waits for any more until it has an answer. What a process had committed is there also when it has ended;
// without that, it is NOT_FOUND. When its host has left in order, its heir is asked (posted_heirs.h), which says
// NOT_AVAILABLE when it has refused the data because it leaves itself: then the next one is asked. What is kept here of
// such a host is not asked for. The answer is NOT_FOUND when nobody has the data, and LOST_CONNECTION when the host was
// lost.
//
// A question for a certain key (PMIX_REQUIRED_KEY) is answered when the process has posted it, or will post nothing
// more, or the asker's patience for it is over. The library tells nobody of a commit, so it is asked again, at
// growing intervals and only while somebody waits.
#pragma once

#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/wire/modex_messages.h"
#include "server-glue/core/host_port.h"
#include "server-glue/core/one_shot.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace pmixhost {

// A PMIx status, and what the process has posted.
using PostedReply = OneShot<std::int32_t, Bytes>;

class ModexPort {
  public:
    virtual ~ModexPort() = default;
    // for_commit: wait until the process has committed. if_there: the process will commit nothing more; NOT_FOUND
    // when it has committed nothing.
    enum class Wait { for_commit, if_there };
    // Asks the server library; on_local_data(token) brings its answer, with for_commit perhaps never.
    virtual void ask_library(std::uint64_t token, const Bytes &nspace, Rank rank, Wait wait) = 0;
    // Where the process lives or lived. no_host when there is no such process.
    virtual HostIndex host_of(const Bytes &nspace, Rank rank) = 0;
    // Who is to be asked for what it has posted: its host, or that host's heir, but not one of those. no_host: nobody
    // has it.
    virtual HostIndex holder_of(const Bytes &nspace, Rank rank, const std::set<HostIndex> &but) = 0;
    // What is kept here for a host that has left.
    struct Kept {
        const Bytes *data;    // null: nothing
        bool may_still_come;  // from that host or another heir of it
        bool refused = false; // since this host hands over itself: the next heir has it
    };
    virtual Kept kept(const Bytes &nspace, Rank rank) = 0;
    virtual bool local_process_gone(const Bytes &nspace, Rank rank) = 0;
};

// The key that must be among the data.
struct ModexKey {
    Bytes name;           // empty: whatever it has posted
    Duration patience{0}; // from when it has posted anything
    // In the data that the library gives of a process, keys stand as they are, with a zero at their end. (A match may
    // be the end of a longer key: then the answer is early.)
    bool is_in(const Bytes &data) const {
        return name.empty() || data.find(name.c_str(), 0, name.size() + 1) != Bytes::npos;
    }
};

class Modex {
  public:
    static constexpr std::size_t max_served = 100'000; // questions of others that wait here
    static constexpr unsigned max_tries = 16;          // hosts that are asked, each having left

    Modex(HostPort &hosts, ModexPort &port, HostIndex self) : hosts_(hosts), port_(port), self_(self) {}
    ~Modex() { drop_all(); }
    Modex(const Modex &) = delete;
    Modex &operator=(const Modex &) = delete;

    static constexpr Duration first_look = std::chrono::milliseconds(10), last_look = std::chrono::seconds(1);

    // The answer comes exactly once, perhaps from within. `deadline` may be TimePoint::max().
    void request(const Bytes &nspace, Rank rank, TimePoint now, TimePoint deadline, PostedReply reply,
                 ModexKey key = {});
    // At the end: forgets all questions and tells no other host. Whoever waits here gets the default of its reply.
    void drop_all();
    void on_request(TimePoint now, HostIndex from, const wire::ModexRequest &message);
    void on_reply(TimePoint now, HostIndex from, wire::ModexReply message);
    void on_local_data(TimePoint now, std::uint64_t token, std::int32_t status, Bytes data);
    void on_local_process_gone(const Bytes &nspace, Rank rank);
    // Another host has handed over what this process, which is not of this host, had posted.
    void on_kept(TimePoint now, const Bytes &nspace, Rank rank);
    // Another host wanted to, and goes to the next heir with it.
    void on_refused(TimePoint now, const Bytes &nspace, Rank rank);
    // `orderly`: it has left, and its heir is asked instead.
    void on_host_gone(TimePoint now, HostIndex host, bool orderly);
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    using Owner = std::pair<Bytes, Rank>;
    struct Asked { // by us, of another host
        Owner owner;
        TimePoint deadline;
        PostedReply reply;
        ModexKey key;
        HostIndex host = no_host;
        unsigned tries = 0;
        std::set<HostIndex> not_there{}; // heirs that have refused it
    };
    struct Served { // asked by another host, waiting for the library here
        HostIndex from;
        std::uint64_t id;
        TimePoint deadline;
        ModexKey key;
        TimePoint key_deadline = TimePoint::max(); // then it need not be there; runs when there is anything
    };
    struct Question { // to the library, or for what may be handed over; perhaps nobody waits any more
        std::uint64_t token = 0;
        bool asking = false; // the library has not answered
        bool last = false;   // the process posts nothing more
        bool posted = false; // it has posted something
        TimePoint look_again = TimePoint::max();
        Duration interval = first_look;
        std::vector<Served> waiting;
    };
    using Place = std::map<Owner, Question>::iterator;
    void look(Place question, ModexPort::Wait wait);
    void ask(TimePoint now, Asked asked);
    void reply(TimePoint now, HostIndex to, std::uint64_t id, std::int32_t status, Bytes data);
    void reply_all(TimePoint now, Place question, std::int32_t status, const Bytes &data);
    template <typename Condition> void forget(Condition condition);

    HostPort &hosts_;
    ModexPort &port_;
    HostIndex self_;
    std::uint64_t next_ = 1;
    Asked take(std::map<std::uint64_t, Asked>::iterator asked);
    void look_by(TimePoint time) { look_by_ = std::min(look_by_, time); }
    std::map<std::uint64_t, Asked> asked_;                      // by wire id
    std::set<std::pair<TimePoint, std::uint64_t>> asked_until_; // the same
    std::set<HostIndex> lost_;                                  // known to be
    std::map<Owner, Question> questions_;
    TimePoint look_by_ = TimePoint::max(); // no question, and nobody who waits for one, has an earlier time
    std::size_t served_ = 0;               // who waits for any of them
};

} // namespace pmixhost
