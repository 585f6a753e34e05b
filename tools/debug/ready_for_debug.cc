// See ready_for_debug.h.
#include "tools/debug/ready_for_debug.h"

#include "common/text/printable.h"
#include "tools/view/event_lines.h"

#include <fmt/format.h>
#include <pmix_tool.h>

namespace pmixhost {

Result<ReadyForDebug> ReadyForDebug::listen(const ListedServer &server) {
    auto tool = ListeningTool::start(server, [&server](int to) {
        return hear_events(to, server.server.nspace, {std::to_string(PMIX_READY_FOR_DEBUG)});
    });
    if (!tool)
        return tool.failure();
    return ReadyForDebug(std::move(*tool), server.job);
}

// The daemon says so in the name of the whole job. A process that notifies it of itself is one, and a job that this one
// has spawned has a name of its own.
ReadyForDebug::Word ReadyForDebug::hear() {
    auto lines = tool_.read_lines();
    if (!lines)
        return Word::ended;
    for (const auto &line : *lines) {
        auto event = parse_event_line(line);
        if (event && event->code == PMIX_READY_FOR_DEBUG && event->source == job_ + ":")
            return Word::ready;
        if (line.starts_with('!'))
            why_ = one_line(line.substr(1), 300);
    }
    return Word::nothing;
}

// PMIx_Notify_event() of libpmix 4.2.2 returns before anything is sent, and who leaves then has said nothing. The
// server takes what one says in order: what it answers to something else, it says behind that.
static void await_server() {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    char any[] = PMIX_QUERY_NAMESPACES;
    char *keys[] = {any, nullptr};
    query.keys = keys;
    pmix_info_t *results = nullptr;
    std::size_t count = 0;
    (void)PMIx_Query_info(&query, 1, &results, &count);
    PMIX_INFO_FREE(results, count);
}

static std::string release(const std::string &job, const std::vector<Rank> &ranks) {
    std::vector<pmix_proc_t> targets(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
        PMIX_LOAD_PROCID(&targets[i], job.c_str(), ranks[i]);
    pmix_data_array_t array{PMIX_PROC, targets.size(), targets.data()};
    bool yes = true;
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY); // copied
    pmix_status_t status =
        PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, nullptr, PMIX_RANGE_CUSTOM, info, 2, nullptr, nullptr);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    await_server();
    return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED
               ? std::string()
               : fmt::format("!PMIx_Notify_event: {}", PMIx_Error_string(status));
}

Result<void> release_from_stop(const ListedServer &server, const std::vector<Rank> &ranks,
                               std::chrono::seconds patience) {
    if (ranks.empty())
        return {};
    auto done = as_tool(server, patience, [&] { return release(server.job, ranks); });
    return done ? Result<void>() : Result<void>(done.failure());
}

} // namespace pmixhost
