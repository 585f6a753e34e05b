// Asks daemons of other jobs, by way of the session, who their processes are. Pure: messages and time in, messages and
// answers out.
//
// While one question is under way, those who ask the same wait and are the next one: nobody is told what was known
// before he asked. Whoever is asked gathers the table from its hosts (process_table.h), with all who ask meanwhile, so
// that a debugger's daemons may all ask at once, each for its own host.
#pragma once

#include "common/loop/event_loop.h"
#include "common/wire/table_messages.h"

#include <functional>
#include <map>

namespace pmixhost {

class JobTables {
  public:
    static constexpr std::size_t max_waiting = 1024;
    static constexpr Duration longest = std::chrono::hours(24);
    // False when there is no way to the session.
    using Send = std::function<bool(std::uint8_t type, SharedBytes payload)>;
    // Called exactly once, with a PMIx status; `hosts` are there with PMIX_SUCCESS only.
    using Answer = std::function<void(std::int32_t status, const std::vector<wire::TableHost> &hosts)>;

    explicit JobTables(Send send) : send_(std::move(send)) {}

    // `timeout`: up to `longest`. `only_on`: the processes of the host of this name; empty: of all.
    void ask(TimePoint now, const Bytes &nspace, const std::string &only_on, Duration timeout, Answer answer);
    void on_reply(TimePoint now, const wire::JobTableReply &message);
    void on_session_gone();
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Waiting {
        TimePoint deadline;
        Answer answer;
    };
    struct Question {
        Bytes nspace;
        std::string only_on;
        std::vector<Waiting> waiting, next;
    };
    void put(TimePoint now, Question question);
    void settle(TimePoint now, std::uint64_t id, std::int32_t status, const std::vector<wire::TableHost> &hosts);

    Send send_;
    std::map<std::uint64_t, Question> questions_;
    std::size_t waiting_ = 0; // in all of them
    std::uint64_t next_id_ = 1;
};

} // namespace pmixhost
