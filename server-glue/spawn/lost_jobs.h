// Jobs that were spawned here and whose launcher cannot be reached any more: nobody tells of their ends but their own
// daemons, which are asked by way of the session, as those of a debugged job are (debug/debugged_job.h). Pure: messages
// and time in, what has ended out.
#pragma once

#include "server-glue/debug/debugged_job.h"

#include <map>
#include <set>
#include <vector>

namespace pmixhost {

class LostJobs {
  public:
    // Until the first question: a step that ends may lose its launcher first.
    static constexpr Duration patience = std::chrono::seconds(2);
    // Each time that the session goes may cost the RM a new one; then nobody is asked any more.
    static constexpr unsigned most_sessions = 5;
    struct Ended {
        Bytes nspace;
        std::optional<int> exit_code; // as a shell reports it; nothing where nobody knows it
    };

    explicit LostJobs(HostPort &hosts) : hosts_(hosts) {}

    void on_launcher_gone(TimePoint now) { begin_ = std::min(begin_, now + patience); }
    void on_reply(TimePoint now, const wire::JobEndReply &message);
    // False: it has gone too often, and the ends of those that were asked for will not be known.
    bool on_session_gone(TimePoint now, const std::set<Bytes> &running);
    TimePoint next_time() const;
    // `running`: all that were spawned here, and whose end is not known.
    std::vector<Ended> on_time(TimePoint now, const std::set<Bytes> &running);

  private:
    void forget_who_has_ended(const std::set<Bytes> &running);
    struct Asked final : DebuggedJobPort {
        Asked(HostPort &hosts, const Bytes &nspace, std::uint64_t before_first)
            : job(hosts, *this, nspace, before_first) {}
        void has_ended(std::optional<int> code) override {
            over = true;
            exit_code = code;
        }
        void end_daemons() override {}
        DebuggedJob job;
        bool over = false;
        std::optional<int> exit_code;
    };

    HostPort &hosts_;
    std::map<Bytes, Asked> asked_;
    std::uint64_t number_ = 0; // of those that were asked
    unsigned sessions_ = 0;    // that went while any were asked
    TimePoint begin_ = TimePoint::max();
};

} // namespace pmixhost
