// See library_start.h.
#include "server-glue/library/library_start.h"

#include "common/process/topology_file.h"
#include "server-glue/library/failed_collective.h"
#include "server-glue/library/given_environment.h"
#include "server-glue/library/host_query.h"
#include "server-glue/library/library_version.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pmix.h>
#include <sys/socket.h>

namespace pmixhost {

namespace {

// PMIX_DSTPATH, which is only of libraries before 5.
constexpr const char *store_attribute = "pmix.dstpath";

// The internet sockets on which this process listens.
std::vector<int> listening_sockets() {
    std::vector<int> found;
    DIR *list = opendir("/proc/self/fd");
    while (dirent *entry = list ? readdir(list) : nullptr) {
        int fd = std::atoi(entry->d_name), listens = 0, family = 0;
        socklen_t size = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && (family == AF_INET || family == AF_INET6))
            found.push_back(fd);
    }
    if (list)
        closedir(list);
    return found;
}

// Does every connection to the library come through the guard? `before`: who listened before it started.
Result<void> stands_behind_guard(const ListenerTakeover &takeover, const std::vector<int> &before) {
    auto after = listening_sockets();
    bool beside = std::any_of(after.begin(), after.end(), [&](int fd) {
        return fd != takeover.listener() && std::find(before.begin(), before.end(), fd) == before.end();
    });
    if (!takeover.stands_in() || beside)
        return error(ErrorKind::unsupported,
                     "the guard before the PMIx library is not in force: {} listens in a way that this pmixhostd "
                     "does not know. It is not started, since strangers could reach the job. Next: build pmixhost "
                     "for this version of the library, or tell its authors",
                     PMIx_Get_version());
    return {};
}

// libpmix 4.2.2 leaves Nagle's algorithm on, so that what it sends a client while an earlier message is
// not acknowledged waits for the client's delayed acknowledgement: 40 ms. Accepted sockets inherit the
// option from the one that listens.
void send_at_once(int listener) {
    int on = 1;
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Where it fails the library looks itself.
Result<Topology> kept_topology(const std::string &file) {
    auto xml = file.empty() ? Result<std::string>(error(ErrorKind::not_found, "none is kept"))
                            : read_topology_file(file, machine_state());
    return xml ? Topology::of_xml(*xml) : Result<Topology>(xml.failure());
}

// What to say of it, or nothing.
std::string mend_failed_collectives() {
    if (!library_hides_failed_collectives())
        return {};
    const char *why =
        library_is_of_headers() ? pmixhost_mend_failed_collectives() : "pmixhost was compiled for another version";
    if (!why)
        return {};
    return fmt::format("a fence or connect that fails is a success for some processes with {}; pmixhost cannot mend "
                       "it: {}",
                       PMIx_Get_version(), why);
}

} // namespace

std::size_t store_index_bytes(Rank ranks) {
    constexpr std::size_t page = 4096, least = 16 * page, by_default = 4u << 20, entry = 3 * sizeof(std::size_t);
    std::size_t needed = sizeof(std::size_t) + entry * (std::size_t{ranks} + 1); // and the job's own
    return std::clamp((needed + page - 1) / page * page, least, by_default);
}

void set_library_environment(const Settings &settings, Rank ranks) {
    constexpr int first_without_store = 5;
    if (settings.modex_segment_bytes > 0)
        setenv(data_size_variable, std::to_string(settings.modex_segment_bytes).c_str(), 1);
    if (library_version().major < first_without_store)
        setenv(index_size_variable, std::to_string(store_index_bytes(ranks)).c_str(), 1);
    // Of output that nobody pulls. 0 would be no bound; the host keeps what shall be kept.
    setenv("PMIX_MCA_pmix_max_iof_cache", "1", 1);
    setenv("PMIX_MCA_pmix_max_events", std::to_string(settings.events_keep).c_str(), 1);
    auto keep = std::chrono::ceil<std::chrono::seconds>(settings.events_keep_time);
    setenv("PMIX_MCA_pmix_event_eviction_time", std::to_string(keep.count()).c_str(), 1);
    limit_hwloc();
    // A user's wish for his clients, which would leave the server without the module that they are given.
    unsetenv("PMIX_MCA_psec");
}

Result<StartedLibrary> start_library(const PmixLibrary::Options &options, pmix_server_module_t *module,
                                     std::unique_ptr<ListenerTakeover> listening) {
    host_query() = module->query;
    InfoList info;
    info.add(PMIX_SERVER_NSPACE, options.nspace);
    info.add_rank(PMIX_SERVER_RANK, options.rank);
    info.add(PMIX_SERVER_TMPDIR, options.directory);
    info.add(PMIX_SYSTEM_TMPDIR, options.directory);
    if (!options.store.empty())
        info.add(store_attribute, options.store);
    info.add(PMIX_HOSTNAME, options.hostname);
    info.add(PMIX_EXTERNAL_PROGRESS, false);
    info.add(PMIX_IOF_LOCAL_OUTPUT, false); // what is delivered is for tools alone
    // Otherwise each MPI process of a host discovers it anew, all at once.
    info.add(PMIX_SERVER_SHARE_TOPOLOGY, true);

    Result<std::unique_ptr<ListenerTakeover>> takeover(std::move(listening));
    if (!*takeover)
        takeover = ListenerTakeover::create();
    if (!takeover)
        return takeover.failure();
    auto kept = kept_topology(options.topology_file);
    auto topology = kept ? std::make_shared<Topology>(std::move(*kept)) : nullptr;
    const std::string source = Topology::source();
    pmix_topology_t lent{const_cast<char *>(source.c_str()), topology ? topology->handle() : nullptr};
    pmix_info_t *lending = topology ? info.add_empty(1) : nullptr;
    if (lending) {
        PMIX_LOAD_KEY(lending->key, PMIX_TOPOLOGY2);
        lending->value.type = PMIX_TOPO;
        lending->value.data.topo = &lent;
    }

    auto listeners = listening_sockets();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pmix_status_t status;
    {
        ListenerTakeover::Scope scope(**takeover);
        status = PMIx_server_init(module, info.data(), info.size());
    }
    if (lending)
        lending->value = {}; // not the list's
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (status != PMIX_SUCCESS)
        return error(ErrorKind::system, "the PMIx server library does not start: {}", PMIx_Error_string(status));
    StartedLibrary started;
    started.stands_behind_guard = stands_behind_guard(**takeover, listeners);
    if (started.stands_behind_guard) {
        send_at_once((*takeover)->listener());
        started.address = (*takeover)->address();
        started.not_mended = mend_failed_collectives();
    }
    started.takeover = std::move(*takeover);
    started.topology = std::move(topology);
    if (!kept && !options.topology_file.empty())
        started.no_topology = kept.failure().text;
    return started;
}

} // namespace pmixhost
