// `pmixhost get`, `lookup`, `publish` and `unpublish`: what a process of a job has posted, and what has been published
// in its session, also by these commands. What is published belongs to the process that has published it, and only that
// one can take it back; so the two commands come as one and the same tool, which is called by the key.
#include "tools/cli/parse.h"
#include "tools/terminal/terminal.h"
#include "tools/view/desk.h"
#include "tools/view/failed_call.h"
#include "tools/view/run_by_owner.h"
#include "tools/view/tool_process.h"
#include "tools/view/value_text.h"

#include <pmix_tool.h>

#include <charconv>
#include <cstdio>
#include <iterator>
#include <optional>

namespace pmixhost {

namespace {

int refuse_data(const char *name, int code, const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s%s\n", text.c_str(),
                 code == exit_usage ? fmt::format(" (see pmixhost {} --help)", name).c_str() : "");
    return code;
}

std::optional<pmix_rank_t> rank_of(const std::string &text) {
    if (text == "*")
        return PMIX_RANK_WILDCARD;
    pmix_rank_t rank = 0;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), rank);
    bool whole = failed == std::errc() && end == text.data() + text.size() && rank <= PMIX_RANK_VALID;
    return whole ? std::optional(rank) : std::nullopt;
}

// A value, which may begin as what is wrong does (tool_process.h).
std::string found(const std::string &value) {
    return "=" + value;
}

std::string get(const std::string &job, pmix_rank_t rank, const std::string &name, int seconds) {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, job.c_str(), rank);
    // For a process of the server's own host, libpmix 4.2.2 finds what was posted only when asked as from another one.
    pmix_info_t directives[2];
    pmix_scope_t elsewhere = PMIX_REMOTE;
    PMIX_INFO_LOAD(&directives[0], PMIX_TIMEOUT, &seconds, PMIX_INT);
    PMIX_INFO_LOAD(&directives[1], PMIX_DATA_SCOPE, &elsewhere, PMIX_SCOPE);
    pmix_value_t *value = nullptr;
    std::string key = key_of(name);
    pmix_status_t status = PMIx_Get(&process, key.c_str(), directives, 1, &value);
    if (status == PMIX_ERR_NOT_FOUND && rank != PMIX_RANK_WILDCARD)
        status = PMIx_Get(&process, key.c_str(), directives, 2, &value);
    if (status != PMIX_SUCCESS)
        return status == PMIX_ERR_NOT_FOUND
                   ? std::string("!there is no such key; next: only what was posted (PMIx_Put and "
                                 "PMIx_Commit), and what the host says of a process, is there")
                   : failed_call("PMIx_Get", status, "observe");
    return found(value ? value_text(*value) : std::string());
}

std::string look_up(const std::string &name, int seconds, bool wait) {
    pmix_pdata_t data;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, name.c_str());
    pmix_info_t directives[2];
    std::size_t count = 0;
    PMIX_INFO_LOAD(&directives[count++], PMIX_TIMEOUT, &seconds, PMIX_INT);
    int all = 0;
    if (wait)
        PMIX_INFO_LOAD(&directives[count++], PMIX_WAIT, &all, PMIX_INT);
    if (pmix_status_t status = PMIx_Lookup(&data, 1, directives, count); status != PMIX_SUCCESS)
        return status == PMIX_ERR_NOT_FOUND
                   ? std::string("!nobody has published it; next: --wait waits until somebody has")
                   : failed_call("PMIx_Lookup", status, "observe");
    return found(value_text(data.value));
}

std::string publish(const std::string &name, const std::string &text, int seconds) {
    pmix_info_t info[3];
    pmix_persistence_t persistence = PMIX_PERSIST_SESSION; // beyond this command
    PMIX_INFO_LOAD(&info[0], name.c_str(), text.c_str(), PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
    PMIX_INFO_LOAD(&info[2], PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Publish(info, std::size(info));
    if (status == PMIX_ERR_DUPLICATE_KEY)
        return "!it is published already; next: `pmixhost lookup` shows what is there, and `pmixhost unpublish` takes "
               "back what the command has published";
    if (status == PMIX_ERR_OUT_OF_RESOURCE)
        return "!there is no room for it; next: publish.max_bytes says how much the jobs of an allocation may publish";
    return status == PMIX_SUCCESS ? std::string() : failed_call("PMIx_Publish", status, "control");
}

std::string unpublish(const std::string &name, int seconds) {
    pmix_info_t timeout;
    PMIX_INFO_LOAD(&timeout, PMIX_TIMEOUT, &seconds, PMIX_INT);
    char *keys[] = {const_cast<char *>(name.c_str()), nullptr};
    pmix_status_t status = PMIx_Unpublish(keys, &timeout, 1);
    if (status == PMIX_ERR_NOT_FOUND)
        return "!`pmixhost publish` has not published it, or it is gone; next: what a process has published, that "
               "process takes back";
    return status == PMIX_SUCCESS ? std::string() : failed_call("PMIx_Unpublish", status, "control");
}

// A key of PMIx' own is no name of data: the library and the host take it for an attribute.
bool may_be_published(const std::string &key) {
    return may_be_key(key) && !key.starts_with("pmix.");
}

int refuse_key(const char *command, const std::string &key) {
    return refuse_data(command, exit_usage,
                       key.starts_with("pmix.")
                           ? fmt::format("KEY is '{}'; allowed: none that begins with 'pmix.'", printable(key, 100))
                           : fmt::format("KEY has {} characters; allowed: 1 to {}", key.size(), PMIX_MAX_KEYLEN));
}

// Two commands of one name that are there at once would not both be let in: with the key in it that is those that
// cannot both succeed. A name is short, a key need not be.
std::string publisher_of(std::string_view key) {
    std::uint64_t digest = 0xcbf29ce484222325; // FNV-1a: the same in each build
    for (unsigned char byte : key)
        digest = (digest ^ byte) * 0x100000001b3;
    return fmt::format("pmixhost.publish.{:016x}", digest);
}

// Asks, and writes the answer as it is. `as`: see as_tool(); such an answer is silent.
int answer_with(const char *name, const std::string &job, unsigned seconds,
                const std::function<std::string(const ListedServer &)> &ask, const AskedRun *run = nullptr,
                const std::string &as = {}) {
    std::optional<ProgressLine> progress(job.empty() ? "waiting for the job" : "waiting for job " + printable(job));
    auto found = find_server(job, std::chrono::seconds(seconds + 5), run);
    if (!found || found->is_run())
        progress.reset();
    if (!found)
        return refuse_data(name, exit_failure, found.failure().text);
    if (found->is_run())
        return show_run(std::move(*found->desk));
    const ListedServer *server = &found->server;
    // libpmix' own limit is the first to come.
    auto answer = as_tool(
        *server, std::chrono::seconds(seconds + 5), [&] { return ask(*server); }, as);
    progress.reset();
    if (!answer)
        return refuse_data(name, exit_failure,
                           fmt::format("job {}: {}", printable(server->job), printable(answer.failure().text, 300)));
    if (as.empty())
        fmt::print("{}\n", std::string_view(*answer).substr(1)); // see found()
    return exit_ok;
}

} // namespace

int get_command(const Words &words) {
    CLI::App parser("Shows what a process of a job has posted under a key, or what its host says of it.",
                    "pmixhost get");
    std::string job, rank, key;
    unsigned patience = 10;
    parser.add_option("JOB", job, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them")->required();
    parser.add_option("RANK", rank, "The process; * for what concerns the whole job")->required();
    parser.add_option("KEY", key, "The key, such as pmix.job.size, or the name of an attribute: PMIX_JOB_SIZE")
        ->required();
    parser.add_option("--timeout", patience, "Seconds to wait for the value [10]")->check(CLI::Range(1u, 3600u));
    if (auto over = parse(parser, words))
        return *over;
    auto number = rank_of(rank);
    if (!number || !may_be_key(key))
        return refuse_data("get", exit_usage,
                           !number
                               ? fmt::format("RANK is '{}'; allowed: a number, or *", printable(rank))
                               : fmt::format("KEY has {} characters; allowed: 1 to {}", key.size(), PMIX_MAX_KEYLEN));
    AskedRun run{"get", {fmt::format("--timeout={}", patience), rank, key}};
    return answer_with(
        "get", job, patience,
        [&](const ListedServer &server) { return get(server.job, *number, key, static_cast<int>(patience)); }, &run);
}

int lookup_command(const Words &words) {
    CLI::App parser("Shows what a process has published under a key (PMIx_Publish, MPI_Publish_name).",
                    "pmixhost lookup");
    std::string job, key;
    bool wait = false;
    unsigned patience = 10;
    parser.add_option("KEY", key, "The key")->required();
    parser.add_option("--job", job, "In whose session: JOB[.STEP] or a namespace [the only one here]")
        ->type_name("JOB");
    parser.add_flag("--wait", wait, "Wait until somebody publishes it");
    parser.add_option("--timeout", patience, "Seconds to wait for the value [10]")->check(CLI::Range(1u, 3600u));
    if (auto over = parse(parser, words))
        return *over;
    if (!may_be_key(key))
        return refuse_data("lookup", exit_usage,
                           fmt::format("KEY has {} characters; allowed: 1 to {}", key.size(), PMIX_MAX_KEYLEN));
    return answer_with("lookup", job, patience,
                       [&](const ListedServer &) { return look_up(key, static_cast<int>(patience), wait); });
}

int publish_command(const Words &words) {
    CLI::App parser("Publishes a text where the processes of a job and its allocation find it (PMIx_Lookup, "
                    "MPI_Lookup_name).",
                    "pmixhost publish");
    std::string job, key, text;
    unsigned patience = 10;
    parser.add_option("JOB", job, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them")->required();
    parser.add_option("KEY", key, "The key")->required();
    parser.add_option("VALUE", text, "The text, such as the name of a port")->required();
    parser.add_option("--timeout", patience, "Seconds to wait for the answer [10]")->check(CLI::Range(1u, 3600u));
    if (auto over = parse(parser, words))
        return *over;
    if (!may_be_published(key))
        return refuse_key("publish", key);
    return answer_with(
        "publish", job, patience, [&](const ListedServer &) { return publish(key, text, static_cast<int>(patience)); },
        nullptr, publisher_of(key));
}

int unpublish_command(const Words &words) {
    CLI::App parser("Takes back what `pmixhost publish` has published.", "pmixhost unpublish");
    std::string job, key;
    unsigned patience = 10;
    parser.add_option("JOB", job, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them")->required();
    parser.add_option("KEY", key, "The key")->required();
    parser.add_option("--timeout", patience, "Seconds to wait for the answer [10]")->check(CLI::Range(1u, 3600u));
    if (auto over = parse(parser, words))
        return *over;
    if (!may_be_published(key))
        return refuse_key("unpublish", key);
    return answer_with(
        "unpublish", job, patience, [&](const ListedServer &) { return unpublish(key, static_cast<int>(patience)); },
        nullptr, publisher_of(key));
}

} // namespace pmixhost
