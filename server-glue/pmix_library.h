// The server side of libpmix behind an interface that belongs to the event loop: calls go in from
// the loop's thread, and every answer comes back to it.
#pragma once

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/job_map.h"
#include "common/settings.h"
#include "common/topology.h"
#include "server-glue/info_list.h"

#include <pmix_server.h>

namespace pmixhost {

class PmixLibrary {
  public:
    struct Options {
        std::string nspace;    // the server's own namespace
        Rank rank = 0;         // and rank in it
        std::string directory; // for its rendezvous files and shared segments; private to the user
        std::string hostname;
    };
    // What the library takes from the process' environment alone: the size of its shared data store, how
    // many events it keeps for late registrants and for how long. To be called before the process
    // has a second thread: who changes the environment while another thread reads it crashes that one.
    static void set_environment(const Settings &settings);
    // Starts the library (20 to 40 ms: call it in a worker's thread). Its threads have all signals
    // blocked. There can be one per process.
    static Result<std::unique_ptr<PmixLibrary>> start(EventLoop &loop, const Options &options,
                                                      pmix_server_module_t *module);
    // PMIx_server_finalize.
    ~PmixLibrary();
    PmixLibrary(const PmixLibrary &) = delete;

    using Done = std::function<void(pmix_status_t)>;
    using DataDone = std::function<void(pmix_status_t, Bytes)>;
    using CString = std::unique_ptr<char, void (*)(char *)>;

    Result<CString> node_regex(const std::vector<std::string> &hosts);
    Result<CString> rank_regex(const std::vector<std::vector<Rank>> &ranks_by_host);
    // Empty when the library cannot tell.
    std::string cpuset_string(const CpuSet &cpus);
    std::string locality_string(const CpuSet &cpus);

    void register_nspace(const std::string &nspace, int local_count, InfoList info, Done done);
    // Its processes of this host have all ended. Removes the files that they wanted to be removed at the
    // end of their job (PMIX_REGISTER_CLEANUP), in the library's thread.
    void end_nspace(const std::string &nspace, Done done);
    void register_client(const std::string &nspace, Rank rank, uid_t uid, gid_t gid, Done done);
    // NAME=VALUE entries that a client needs; only what the library adds.
    Result<std::vector<std::string>> environment(const std::string &nspace, Rank rank);
    // What the process has posted; waits, perhaps for ever, until it has.
    void posted_data(const std::string &nspace, Rank rank, DataDone done);
    // Gives an event to the clients of this host that registered for it. `info` is copied before it
    // returns; done: all has been queued for them. In the order of the calls.
    void notify(pmix_status_t code, const pmix_proc_t &source, std::uint8_t range,
                const pmix_info_t info[], std::size_t count, Done done);
    // Tells the clients of this host of it. Both wait for the library's own thread, some microseconds.
    pmix_status_t define_process_set(const std::string &name, const std::string &nspace,
                                     const std::vector<Rank> &ranks);
    void delete_process_set(const std::string &name);

  private:
    explicit PmixLibrary(EventLoop &loop) : loop_(loop) {}
    EventLoop &loop_;
    std::string segment_size_; // NAME=VALUE, or empty
};

} // namespace pmixhost
