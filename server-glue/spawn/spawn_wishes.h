// What the directives of a spawn request ask for, each read by its meaning: of the whole job, or of one program. What
// concerns the job alone goes into the plan; what may differ from program to program is kept as wishes, which the
// planner (plan_spawn.h) places. Pure.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/rm/spawn_plan.h"
#include "server-glue/spawn/debugger_daemons.h"
#include "server-glue/spawn/spawn_refusal.h"

#include <map>
#include <memory>

namespace pmixhost {

struct HostWish {
    std::string name;
    std::uint32_t slots = 0; // 0: what the allocation has
};

// Each once, in the order in which they were named.
class HostWishes {
  public:
    // A host that is named again adds its slots, if it gives any.
    void add(HostWish wish);
    const std::vector<HostWish> &all() const { return all_; }

  private:
    std::vector<HostWish> all_;
    std::map<std::string, std::size_t> places_; // in it, by name
};

// What can be said for the whole job or for one program.
struct Wishes {
    std::shared_ptr<HostWishes> hosts; // the job's are of all its programs that name none; null: none is named
    std::string directory, prefix, process_set, exec_agent, fork_agent;
    std::vector<EnvironmentChange> changes;
    bool index_argv = false, merge = false;
    TaskOutput output; // never Place::pattern: `output_pattern`, which may be said first
    bool output_pattern = false, output_of_job = false;          // where the place was said
    std::uint32_t daemons_per_host = 0, daemons_per_process = 0; // of PMIX_DEBUG_TARGET
    std::vector<StopPlace> stops;                                // of all of one program's processes
    bool beside_target() const { return daemons_per_host != 0 || daemons_per_process != 0; }
};

// Of the mapping.
struct JobWishes {
    bool by_node = false;
    std::optional<bool> rank_by_node;
    std::uint32_t per_host = 0; // ppr
    bool oversubscribe = false;
    bool not_on_head = false;
};

class WishReader {
  public:
    // All three outlive this.
    WishReader(const wire::SpawnRequest &request, const SpawnSite &site, SpawnPlan &plan)
        : site_(site), plan_(plan), daemons_(are_daemons(request)) {}

    // `of_job`: the directive is one of the whole request, not of a program.
    Verdict read(const wire::SpawnDirective &d, Wishes &wishes, bool of_job);
    // When all of the job's and the programs' have been read: what is meant by several of them together.
    Verdict settle();
    const JobWishes &job() const { return job_; }
    // PMIX_ADD_HOST: hosts that have to be there already.
    const std::vector<std::string> &added() const { return added_; }

  private:
    Verdict malformed(const wire::SpawnDirective &d) const;
    Verdict missing(const wire::SpawnDirective &d, std::string_view what) const;
    Verdict read_environment(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes);
    Verdict read_placement(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes);
    Verdict read_output(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes);
    Verdict read_hold(std::string_view key, const wire::SpawnDirective &d);
    Verdict read_rest(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes);
    Verdict read_debugger(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes);
    Verdict read_stop(StopPlace place, const wire::SpawnDirective &d);
    Verdict standard_input(const wire::SpawnDirective &d);
    Verdict host_list(const std::string &text, std::shared_ptr<HostWishes> &hosts);
    Verdict host_file(const std::string &path, std::shared_ptr<HostWishes> &hosts);
    Verdict add_host(HostWish wish, std::shared_ptr<HostWishes> &hosts);
    Verdict map_by(const wire::SpawnDirective &d);
    Verdict per_resource(const wire::SpawnDirective &d, const std::string &text);
    Verdict bind_to(const wire::SpawnDirective &d);

    const SpawnSite &site_;
    SpawnPlan &plan_;
    const bool daemons_; // the programs are a debugger's
    JobWishes job_;
    std::optional<std::uint32_t> held_; // PMIX_IOF_BUFFERING_SIZE, and _TIME
    std::optional<std::chrono::seconds> held_for_;
    std::string must_hold_; // the one that is required
    std::string must_mark_; // the same of marks, which srun sets (--label) on what it prints
    std::vector<std::string> added_;
    bool of_job_ = false, handled_ = false; // of the directive that is being read
};

} // namespace pmixhost
