// See pmix_library.h.
#include "server-glue/pmix_library.h"

#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pmix.h>
#include <sys/socket.h>

namespace pmixhost {

namespace {

Error pmix_error(std::string_view what, pmix_status_t status) {
    return error(ErrorKind::system, "{}: {}", what, PMIx_Error_string(status));
}

// A completion on its way through libpmix, which calls back in its own thread.
struct Waiting {
    EventLoop &loop;
    PmixLibrary::Done done;
    InfoList info; // kept until the library is through with it
};
void on_done(pmix_status_t status, void *data) {
    std::shared_ptr<Waiting> waiting(static_cast<Waiting *>(data));
    waiting->loop.post([waiting, status] { waiting->done(status); });
}

struct WaitingData {
    EventLoop &loop;
    PmixLibrary::DataDone done;
};
void on_data(pmix_status_t status, char *bytes, std::size_t size, void *data) {
    std::shared_ptr<WaitingData> waiting(static_cast<WaitingData *>(data));
    auto copy = std::make_shared<Bytes>(bytes ? bytes : "", bytes ? size : 0);
    waiting->loop.post([waiting, copy, status] { waiting->done(status, std::move(*copy)); });
}

// The status of a call that calls back only on PMIX_SUCCESS.
template <typename W> void settle(pmix_status_t status, W *waiting) {
    if (status == PMIX_SUCCESS)
        return;
    std::shared_ptr<W> owner(waiting);
    pmix_status_t answer = status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
    owner->loop.post([owner, answer] {
        if constexpr (std::is_same_v<W, Waiting>)
            owner->done(answer);
        else
            owner->done(answer, {});
    });
}

// libpmix 4.2.2 leaves Nagle's algorithm on, so that what it sends a client while an earlier message is
// not acknowledged waits for the client's delayed acknowledgement: 40 ms. Accepted sockets inherit the
// option from the one that listens; our own ones have it anyway.
void send_at_once() {
    DIR *list = opendir("/proc/self/fd");
    while (dirent *entry = list ? readdir(list) : nullptr) {
        int fd = std::atoi(entry->d_name), listens = 0, family = 0, on = 1;
        socklen_t size = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
            continue;
        size = sizeof family;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 &&
            (family == AF_INET || family == AF_INET6))
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (list)
        closedir(list);
}

void free_chars(char *text) { std::free(text); }

} // namespace

// The store takes its sizes from the environment, which must say the same to every client.
static constexpr const char *segment_variable = "NS_DATA_SEG_SIZE";

void PmixLibrary::set_environment(const Settings &settings) {
    if (settings.modex_segment_bytes > 0)
        setenv(segment_variable, std::to_string(settings.modex_segment_bytes).c_str(), 1);
    setenv("PMIX_MCA_pmix_max_events", std::to_string(settings.events_keep).c_str(), 1);
    auto keep = std::chrono::ceil<std::chrono::seconds>(settings.events_keep_time);
    setenv("PMIX_MCA_pmix_event_eviction_time", std::to_string(keep.count()).c_str(), 1);
}

Result<std::unique_ptr<PmixLibrary>> PmixLibrary::start(EventLoop &loop, const Options &options,
                                                        pmix_server_module_t *module) {
    InfoList info;
    info.add(PMIX_SERVER_NSPACE, options.nspace);
    info.add_rank(PMIX_SERVER_RANK, options.rank);
    info.add(PMIX_SERVER_TMPDIR, options.directory);
    info.add(PMIX_SYSTEM_TMPDIR, options.directory);
    info.add(PMIX_HOSTNAME, options.hostname);
    info.add(PMIX_EXTERNAL_PROGRESS, false);
    // Or each MPI process of a host discovers it anew, all at once.
    info.add(PMIX_SERVER_SHARE_TOPOLOGY, true);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pmix_status_t status = PMIx_server_init(module, info.data(), info.size());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (status != PMIX_SUCCESS)
        return pmix_error("the PMIx server library does not start", status);
    send_at_once();
    std::unique_ptr<PmixLibrary> library(new PmixLibrary(loop));
    if (const char *size = getenv(segment_variable))
        library->segment_size_ = fmt::format("{}={}", segment_variable, size);
    return library;
}

PmixLibrary::~PmixLibrary() { PMIx_server_finalize(); }

Result<PmixLibrary::CString> PmixLibrary::node_regex(const std::vector<std::string> &hosts) {
    char *regex = nullptr;
    pmix_status_t status =
        PMIx_generate_regex(fmt::format("{}", fmt::join(hosts, ",")).c_str(), &regex);
    if (status != PMIX_SUCCESS)
        return pmix_error("PMIx_generate_regex", status);
    return CString(regex, free_chars);
}

Result<PmixLibrary::CString>
PmixLibrary::rank_regex(const std::vector<std::vector<Rank>> &ranks_by_host) {
    std::vector<std::string> parts;
    for (const auto &ranks : ranks_by_host)
        parts.push_back(fmt::format("{}", fmt::join(ranks, ",")));
    char *regex = nullptr;
    pmix_status_t status = PMIx_generate_ppn(fmt::format("{}", fmt::join(parts, ";")).c_str(), &regex);
    if (status != PMIX_SUCCESS)
        return pmix_error("PMIx_generate_ppn", status);
    return CString(regex, free_chars);
}

using Generate = pmix_status_t (*)(const pmix_cpuset_t *, char **);
static std::string generated(Generate generate, const CpuSet &cpus) {
    pmix_cpuset_t set;
    char source[] = "hwloc";
    set.source = source;
    set.bitmap = static_cast<decltype(set.bitmap)>(cpus.bitmap());
    char *text = nullptr;
    if (generate(&set, &text) != PMIX_SUCCESS || !text)
        return {};
    std::string out(text);
    std::free(text);
    return out;
}
std::string PmixLibrary::cpuset_string(const CpuSet &cpus) {
    return generated(PMIx_server_generate_cpuset_string, cpus);
}
std::string PmixLibrary::locality_string(const CpuSet &cpus) {
    // libpmix 4.2 leaves out the mark that its own PMIx_Get_relative_locality asks for.
    std::string text = generated(PMIx_server_generate_locality_string, cpus);
    if (!text.empty() && text.rfind("hwloc:", 0) != 0)
        text = "hwloc:" + text;
    return text;
}

void PmixLibrary::register_nspace(const std::string &nspace, int local_count, InfoList info,
                                  Done done) {
    pmix_nspace_t name;
    PMIX_LOAD_NSPACE(name, nspace.c_str());
    auto *waiting = new Waiting{loop_, std::move(done), std::move(info)};
    settle(PMIx_server_register_nspace(name, local_count, waiting->info.data(), waiting->info.size(),
                                       on_done, waiting),
           waiting);
}

void PmixLibrary::end_nspace(const std::string &nspace, Done done) {
    pmix_nspace_t name;
    PMIX_LOAD_NSPACE(name, nspace.c_str());
    PMIx_server_deregister_nspace(name, on_done, new Waiting{loop_, std::move(done), {}});
}

void PmixLibrary::register_client(const std::string &nspace, Rank rank, uid_t uid, gid_t gid,
                                  Done done) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace.c_str(), rank);
    auto *waiting = new Waiting{loop_, std::move(done), {}};
    settle(PMIx_server_register_client(&proc, uid, gid, nullptr, on_done, waiting), waiting);
}

Result<std::vector<std::string>> PmixLibrary::environment(const std::string &nspace, Rank rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace.c_str(), rank);
    char **entries = nullptr;
    pmix_status_t status = PMIx_server_setup_fork(&proc, &entries);
    std::vector<std::string> out;
    for (char **entry = entries; entry && *entry; ++entry) {
        out.emplace_back(*entry);
        std::free(*entry);
    }
    std::free(entries);
    if (!segment_size_.empty())
        out.push_back(segment_size_);
    if (status != PMIX_SUCCESS)
        return pmix_error("PMIx_server_setup_fork", status);
    return out;
}

void PmixLibrary::posted_data(const std::string &nspace, Rank rank, DataDone done) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace.c_str(), rank);
    auto *waiting = new WaitingData{loop_, std::move(done)};
    settle(PMIx_server_dmodex_request(&proc, on_data, waiting), waiting);
}

void PmixLibrary::notify(pmix_status_t code, const pmix_proc_t &source, std::uint8_t range,
                         const pmix_info_t info[], std::size_t count, Done done) {
    auto *waiting = new Waiting{loop_, std::move(done), {}};
    settle(PMIx_Notify_event(code, &source, range, info, count, on_done, waiting), waiting);
}

pmix_status_t PmixLibrary::define_process_set(const std::string &name, const std::string &nspace,
                                              const std::vector<Rank> &ranks) {
    std::vector<pmix_proc_t> members(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
        PMIX_LOAD_PROCID(&members[i], nspace.c_str(), ranks[i]);
    pmix_status_t status = PMIx_server_define_process_set(members.data(), members.size(), name.c_str());
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
}

void PmixLibrary::delete_process_set(const std::string &name) {
    std::string copy = name; // against its signature, the library does not change it
    PMIx_server_delete_process_set(copy.data());
}

} // namespace pmixhost
