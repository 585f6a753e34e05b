// What queries need to know of their surroundings (query_service.h, query_keys.h).
#pragma once

#include "common/start/agent_description.h"
#include "server-glue/groups/group_registry.h"
#include "server-glue/query/host_support.h"
#include "server-glue/query/process_table.h"
#include "server-glue/rm/questions.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/sets/process_sets.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pmixhost {

// What tools may do here, each with its name (common/policy/rule.h).
using ToolActions = std::vector<std::pair<std::string, bool>>;

class QueryPort {
  public:
    virtual ~QueryPort() = default;
    virtual const StepInfo &step() const = 0;
    virtual const ProcessSets &process_sets() const = 0;
    virtual const GroupRegistry &groups() const = 0;
    // The namespaces of the other jobs that processes here deal with.
    virtual std::vector<Bytes> other_namespaces() const = 0;
    // The own job or another one that processes here deal with; null: it is none of these.
    virtual const StepInfo *job(const Bytes &nspace) const = 0;
    virtual JobTable local_table() = 0;
    virtual void gather_table(Duration timeout, ProcessTable::Done done) = 0;
    // `then` comes when job() knows that other job, or with why it does not; perhaps at once.
    virtual void find_job(const Bytes &nspace, Duration timeout, std::function<void(pmix_status_t)> then) = 0;
    // Of another job, which job() knows; `host` as it counts them, no_host: all.
    virtual void gather_table_of(const StepInfo &job, HostIndex host, Duration timeout, ProcessTable::Done done) = 0;
    // 0: no process has ended badly.
    virtual std::int32_t first_bad_end() const = 0;
    virtual RmQuestions *rm_questions() = 0; // null: the RM answers none
    virtual HostAbilities abilities() = 0;
    // `done` comes when the rules for tools are known; perhaps at once, perhaps never.
    virtual void ask_rights(std::function<void(const ToolActions &)> done) = 0;
    // What an agent of this host is to start (PMIX_FORKEXEC_AGENT). Fails (not_found, invalid).
    virtual Result<AgentDescription> described_to(pid_t agent) = 0;
    // For the log: why a key has no answer.
    virtual void unanswered(const std::string &key, pmix_status_t status, const std::string &why) = 0;
};

} // namespace pmixhost
