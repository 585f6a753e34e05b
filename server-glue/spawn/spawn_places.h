// Where the jobs are started that are spawned here. Processes of a job have theirs in the allocation of that job. A
// lobby (StepInfo::is_lobby) has none: its tool names one of its user's, or asks for a new one, which is given back
// when the jobs in it have ended. There is one at a time (rm/spawn_places.h).
//
// What is asked for is taken back when it does not come in time (PMIX_TIMEOUT, allocation.timeout), when the tool has
// gone meanwhile, and when this daemon leaves. Once the launcher has the request, giving back is the launcher's. A job
// that has ended is taken to be in its place until its end is told and its forwarded output has come: both come through
// the session of the allocation, which ends with it.
//
// All in the loop's thread.
#pragma once

#include "server-glue/spawn/place_wish.h"
#include "server-glue/spawn/tool_children.h"

namespace pmixhost {

class SpawnPlaces final : public StepService {
  public:
    // `jobs` tells which run, and when nothing but output will come of one; `is_drained`: nor does that.
    SpawnPlaces(StepContext &context, const ToolChildren &of_tools, SpawnedJobs &jobs,
                std::function<bool(const Bytes &nspace)> is_drained);

    // Whoever holds it keeps the place for the jobs there; null in the own allocation.
    using Stay = std::shared_ptr<void>;
    using Then = std::function<void(pmix_status_t, Stay, wire::SpawnRequest)>;
    // Finds the place, and notes it in the request. `then` comes once, perhaps at once, but not where the caller has
    // gone meanwhile, or this daemon leaves. Why it is refused is in the log, and told to the user, before.
    void find(const Process &caller, wire::SpawnRequest request, Then then);
    // Why something was not started here: for the log and for the user, whose tool hears a status alone. The user is
    // told once a minute of what is refused for the same reason again and again: the gate's log has few lines for each.
    void note_refusal(const std::string &why) { note_refusal(why, context_.step.is_lobby); }
    // The same, and the user is told in any case.
    void tell_refusal(const std::string &why) { note_refusal(why, true); }
    // The launcher is asked now for a job in the place: from here on it gives back what there is to be given back.
    void note_sent() { is_sent_ = true; }
    // Of the place in which jobs are now; null: there is none but the own allocation.
    Stay stay() const { return stay_.lock(); }

    TimePoint next_time() const override {
        return std::min(waiting_.empty() ? TimePoint::max() : next_look_,
                        leaving_.empty() ? TimePoint::max() : next_look_at_output_);
    }
    void on_time(TimePoint now) override;
    void on_launcher_gone() override;
    void on_leaving(bool badly) override;
    bool has_unsent() override;

  private:
    // libpmix tells nobody that a tool has gone.
    static constexpr Duration look_again = std::chrono::seconds(1);
    // For what a job has written to come when it has ended: as long as its daemons hold it (daemon/step_ending.h).
    static constexpr Duration output_patience = std::chrono::seconds(20);
    static constexpr Duration look_at_output_again = std::chrono::milliseconds(20);
    static constexpr Duration rm_patience = std::chrono::seconds(30); // for it to say what an allocation is
    // Beside those of PMIx_Allocation_request (allocation_service.h), which count from 1.
    static constexpr std::uint64_t first_id = std::uint64_t{1} << 63;
    struct Waiting {
        ToolOrigins::IsHere is_here; // null: nobody knows
        wire::SpawnRequest request;
        Then then;
        bool is_new = false;
        std::uint64_t seconds = 0; // that the caller waits; 0: it does not say
        TimePoint began;
    };
    void note_refusal(const std::string &why, bool is_for_user);
    void find_in_lobby(const Process &caller, const PlaceWish &wish, wire::SpawnRequest request, const Then &then);
    void ask(const Process &caller, PlaceWish wish, wire::SpawnRequest request, Then then);
    void on_answer(std::uint64_t id, Result<RmAllocated> outcome);
    Stay enter(const RmAllocated &allocated, bool gives_back);
    void let_go(const Bytes &nspace);
    void left();
    void give_back(const std::string &allocation);
    void give_back_place();
    void refuse(const Then &then, pmix_status_t status, const std::string &why);

    StepContext &context_;
    const ToolChildren &of_tools_;
    const std::function<bool(const Bytes &nspace)> is_drained_;
    std::string allocation_; // where jobs are, as long as somebody stays
    std::weak_ptr<void> stay_;
    std::string told_last_; // to the user
    TimePoint told_again_;  // from when on
    bool gives_back_ = false;
    bool is_sent_ = false;        // to the launcher, a request for this place
    std::map<Bytes, Stay> stays_; // of jobs that run, or whose end is not told
    struct Leaving {
        Stay stay;
        TimePoint until;
    };
    std::map<Bytes, Leaving> leaving_; // jobs whose output may still come
    TimePoint next_look_at_output_{};
    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t next_id_ = first_id;
    std::size_t giving_ = 0; // allocations back
    TimePoint next_look_{};
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace pmixhost
