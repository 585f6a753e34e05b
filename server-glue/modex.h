// Direct modex: what has that process posted? Asks the daemon of the process' host and answers such
// questions of others. Pure: messages and time in, messages and answers out.
//
// The asked daemon waits until the process has committed something; the asker's deadline bounds the
// wait on both sides. Of one process the library is asked once at a time, for all who wait: it keeps
// a question that nobody waits for any more until it has an answer. A process that is gone, or goes while one waits, is NOT_FOUND; a host that is
// gone is LOST_CONNECTION.
#pragma once

#include "common/event_loop.h"
#include "common/job_map.h"
#include "common/wire/messages.h"

#include <map>
#include <vector>

namespace pmixhost {

class ModexPort {
  public:
    virtual ~ModexPort() = default;
    // False when the host is gone.
    virtual bool send(HostIndex to, std::uint8_t type, SharedBytes payload) = 0;
    // The answer to request(id): exactly once.
    virtual void answer(std::uint64_t id, std::int32_t status, Bytes data) = 0;
    // Ask the server library; on_local_data(token) brings its answer, perhaps never.
    virtual void ask_library(std::uint64_t token, const Bytes &nspace, Rank rank) = 0;
    // no_host when there is no such process.
    virtual HostIndex host_of(const Bytes &nspace, Rank rank) = 0;
    virtual bool local_process_gone(const Bytes &nspace, Rank rank) = 0;
};

class Modex {
  public:
    static constexpr std::size_t max_served = 100'000; // questions of others that wait here

    Modex(ModexPort &port, HostIndex self) : port_(port), self_(self) {}

    void request(std::uint64_t id, const Bytes &nspace, Rank rank, TimePoint now,
                 TimePoint deadline);
    void on_request(TimePoint now, HostIndex from, const wire::ModexRequest &message);
    void on_reply(HostIndex from, wire::ModexReply message);
    void on_local_data(std::uint64_t token, std::int32_t status, Bytes data);
    void on_local_process_gone(const Bytes &nspace, Rank rank);
    void on_host_gone(HostIndex host);
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Asked { // by us, of another host
        std::uint64_t id;
        HostIndex host;
        TimePoint deadline;
    };
    struct Served { // asked by another host, waiting for the library here
        HostIndex from;
        std::uint64_t id;
        TimePoint deadline;
    };
    struct Question { // to the library; perhaps nobody waits for it any more
        std::uint64_t token;
        std::vector<Served> waiting;
    };
    using Owner = std::pair<Bytes, Rank>;
    void reply(HostIndex to, std::uint64_t id, std::int32_t status, Bytes data);
    void reply_all(std::map<Owner, Question>::iterator question, std::int32_t status,
                   const Bytes &data);
    template <typename Condition> void forget(Condition condition);

    ModexPort &port_;
    HostIndex self_;
    std::uint64_t next_ = 1;
    std::map<std::uint64_t, Asked> asked_; // by wire id
    std::map<Owner, Question> questions_;
    std::size_t served_ = 0; // who waits for any of them
};

} // namespace pmixhost
