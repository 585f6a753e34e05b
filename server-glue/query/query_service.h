// PMIx_Query_info: asks, for each key, whoever knows it, and gives one answer when all of the keys have theirs. What
// a key means is in a table (query_keys.h). Pure: what others know comes through the port.
//
// The status: SUCCESS when every key was answered, PARTIAL_SUCCESS when some were, and what is wrong with the first
// when none was. The statuses of a key: NOT_SUPPORTED (not offered here, or a required qualifier is not), NOT_FOUND
// (there is no such namespace, process, host, set, group, queue, allocation), BAD_PARAM (a qualifier it needs is
// missing, one of its query has a value of a wrong type, or the same part of the table of processes, or the same
// agent's program, once more),
// TIMEOUT, OUT_OF_RESOURCE (too many questions wait already).
#pragma once

#include "server-glue/library/info_list.h"
#include "server-glue/query/query_ask.h"
#include "server-glue/query/query_keys.h"
#include "server-glue/query/query_port.h"

#include <map>

namespace pmixhost {

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
        std::size_t told = 0; // elements of arrays, in all answers
        TimePoint deadline;
        ListReply reply;
    };
    using Query = QueryAsk::Query;
    using Fill = std::function<pmix_status_t(InfoList &found, std::string &why)>;
    void start(std::uint64_t id, std::size_t place, const QueryKey &key, const Query &query, Duration timeout);
    void refuse(std::uint64_t id, std::size_t place, pmix_status_t status, std::string why);
    void answer(std::uint64_t id, std::size_t place, const Fill &fill);
    void ask_hosts(std::uint64_t id, std::size_t place, const QueryKey &key, const Query &query, Duration timeout);
    void ask_other_job(std::uint64_t id, std::size_t place, const QueryKey &key, const Query &query, Duration timeout);
    void ask_rm(std::uint64_t id, std::size_t place, const QueryKey &key, const Query &query);
    void finish(std::uint64_t id);

    QueryPort &port_;
    std::map<std::uint64_t, Pending> pending_;
    std::uint64_t next_id_ = 1;
};

} // namespace pmixhost
