// See process_list.h.
#include "tools/view/process_list.h"

#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "tools/view/tool_process.h"

#include <algorithm>
#include <charconv>
#include <pmix_tool.h>

namespace pmixhost {

namespace {

constexpr std::size_t longest_name = 4096;

// What the asking process says of each.
std::string line_of(const pmix_proc_info_t &process) {
    auto plain = [](const char *text) { return one_line(text ? text : "", longest_name); };
    return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", process.proc.rank, static_cast<long>(process.pid),
                       plain(PMIx_Proc_state_string(process.state)), plain(process.hostname),
                       plain(process.executable_name), process.state == PMIX_PROC_STATE_PREPPED ? 1 : 0);
}

std::string table_of(const std::string &job, bool of_its_host) {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    char all[] = PMIX_QUERY_PROC_TABLE, local[] = PMIX_QUERY_LOCAL_PROC_TABLE;
    char *keys[] = {of_its_host ? local : all, nullptr};
    query.keys = keys;
    pmix_info_t of_job;
    PMIX_INFO_LOAD(&of_job, PMIX_NSPACE, job.c_str(), PMIX_STRING);
    query.qualifiers = &of_job;
    query.nqual = 1;
    pmix_info_t *results = nullptr;
    std::size_t count = 0;
    if (pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count); status != PMIX_SUCCESS)
        return fmt::format("!PMIx_Query_info: {}", PMIx_Error_string(status));
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
        const pmix_value_t &value = results[i].value;
        if (value.type != PMIX_DATA_ARRAY || !value.data.darray || value.data.darray->type != PMIX_PROC_INFO)
            continue;
        auto *processes = static_cast<const pmix_proc_info_t *>(value.data.darray->array);
        for (std::size_t p = 0; p < value.data.darray->size; ++p)
            out += line_of(processes[p]);
    }
    return out;
}

ListedProcess process_of(std::string_view line) {
    ListedProcess process;
    for (int field = 0; field < 6; ++field) {
        std::string_view text = take_until(line, '\t');
        if (field == 0)
            std::from_chars(text.data(), text.data() + text.size(), process.rank);
        else if (field == 1)
            std::from_chars(text.data(), text.data() + text.size(), process.pid);
        else if (field == 5)
            process.prepared = text == "1";
        else
            (field == 2 ? process.state : field == 3 ? process.host : process.executable) = text;
    }
    return process;
}

std::vector<ListedProcess> processes_in(std::string_view table) {
    std::vector<ListedProcess> processes;
    while (!table.empty())
        processes.push_back(process_of(take_until(table, '\n')));
    std::sort(processes.begin(), processes.end(),
              [](const auto &one, const auto &other) { return one.rank < other.rank; });
    return processes;
}

} // namespace

std::vector<Result<std::vector<ListedProcess>>> processes_of_each(const std::vector<ListedServer> &servers,
                                                                  std::chrono::seconds patience, bool of_its_host,
                                                                  const StopAsking &stop) {
    std::vector<Result<std::vector<ListedProcess>>> out;
    auto ask = [of_its_host](const ListedServer &server) { return table_of(server.job, of_its_host); };
    for (auto &table : as_tool_of_each(servers, patience, ask, {}, stop)) {
        if (table)
            out.push_back(processes_in(*table));
        else
            out.push_back(table.failure());
    }
    return out;
}

Result<std::vector<ListedProcess>> processes_of(const ListedServer &server, std::chrono::seconds patience,
                                                bool of_its_host) {
    return std::move(processes_of_each({server}, patience, of_its_host)[0]);
}

} // namespace pmixhost
