// PMIx_Query_info: what each key asks for, who knows it, and one answer when all of the keys have
// theirs. Pure: what others know comes through the port.
//
// The status: SUCCESS when every key was answered, PARTIAL_SUCCESS when some were; when none was, what
// is wrong with the first. Of a key: NOT_SUPPORTED (not offered here, or a required qualifier is not),
// NOT_FOUND (there is no such namespace, set, group, queue), BAD_PARAM (a qualifier it needs is
// missing, or the same table of processes once more), TIMEOUT, OUT_OF_RESOURCE (too many questions wait already).
#pragma once

#include "server-glue/groups/group_registry.h"
#include "server-glue/library/info_list.h"
#include "server-glue/query/process_sets.h"
#include "server-glue/query/process_table.h"
#include "server-glue/query/query_ask.h"
#include "server-glue/rm/questions.h"
#include "server-glue/rm/rm_backend.h"

#include <map>

namespace pmixhost {

class QueryPort {
  public:
    virtual ~QueryPort() = default;
    virtual const StepInfo &step() const = 0;
    virtual const ProcessSets &process_sets() const = 0;
    virtual const GroupRegistry &groups() const = 0;
    // Of the other jobs that processes here deal with.
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

class QueryService {
  public:
    static constexpr Duration patience = std::chrono::seconds(30); // without PMIX_TIMEOUT
    static constexpr std::size_t max_waiting = 256;                // queries

    explicit QueryService(QueryPort &port) : port_(port) {}

    void query(TimePoint now, QueryAsk ask);
    TimePoint next_time() const;
    void on_time(TimePoint now);

    // The keys that can be answered here.
    std::vector<std::string> supported_keys();

  private:
    struct Answer {
        std::string key;
        pmix_status_t status = PMIX_ERR_TIMEOUT; // until it comes
        InfoList found;
        std::string why; // there is none
    };
    struct Pending {
        std::vector<Answer> answers;
        std::size_t missing = 0;
        TimePoint deadline;
        ListReply reply;
    };
    using Query = QueryAsk::Query;
    using Fill = std::function<pmix_status_t(InfoList &found, std::string &why)>;
    void start(std::uint64_t id, std::size_t place, const std::string &key, const Query &query, Duration timeout);
    void answer(std::uint64_t id, std::size_t place, const Fill &fill);
    pmix_status_t answer_now(const std::string &key, const Query &query, InfoList &out, bool &known);
    pmix_status_t about_sets(const std::string &key, const Query &query, InfoList &out, bool &known);
    pmix_status_t about_groups(const std::string &key, const Query &query, InfoList &out, bool &known);
    bool ask_rm(std::uint64_t id, std::size_t place, const std::string &key, const Query &query);
    pmix_status_t check_namespace(const Query &query) const;
    InfoList describe_namespace(const Bytes &nspace) const;
    void finish(std::uint64_t id);

    QueryPort &port_;
    std::map<std::uint64_t, Pending> pending_;
    std::uint64_t next_id_ = 1;
};

} // namespace pmixhost
