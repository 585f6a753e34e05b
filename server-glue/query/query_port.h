// What queries need to know of their surroundings (query_service.h, query_keys.h).
#pragma once

#include "server-glue/groups/group_registry.h"
#include "server-glue/query/process_sets.h"
#include "server-glue/query/process_table.h"
#include "server-glue/rm/questions.h"
#include "server-glue/rm/rm_backend.h"

#include <string>
#include <vector>

namespace pmixhost {

class QueryPort {
  public:
    virtual ~QueryPort() = default;
    virtual const StepInfo &step() const = 0;
    virtual const ProcessSets &process_sets() const = 0;
    virtual const GroupRegistry &groups() const = 0;
    // The namespaces of the other jobs that processes here deal with.
    virtual std::vector<Bytes> other_namespaces() const = 0;
    virtual std::vector<ProcessEntry> local_table() = 0;
    virtual void gather_table(Duration timeout, ProcessTable::Done done) = 0;
    // 0: no process has ended badly.
    virtual std::int32_t first_bad_end() const = 0;
    virtual RmQuestions *rm_questions() = 0; // null: the RM answers none
    virtual bool spawns() = 0;               // PMIx_Spawn works here
    // For the log: why a key has no answer.
    virtual void unanswered(const std::string &key, pmix_status_t status, const std::string &why) = 0;
};

} // namespace pmixhost
