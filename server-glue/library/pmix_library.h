// The server side of libpmix behind an interface that belongs to the event loop: what is not said to be for another
// thread is called in the loop's. Every call that can wait for the library is made in the library thread
// (library/library_thread.h), in the order in which they are asked for here; every answer comes back to the loop,
// never from within.
#pragma once

#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/process/topology.h"
#include "server-glue/guard/hello.h"
#include "server-glue/guard/library_connection.h"
#include "server-glue/guard/tool_visitor.h"
#include "server-glue/library/info_list.h"
#include "server-glue/library/library_thread.h"

#include <list>
#include <map>
#include <pmix_server.h>
#include <set>

struct event_base;

namespace pmixhost {

class ConnectionGuard;
class DirectAnswers;
class InnerClient;
class ListenerTakeover;
class PostedNow;
struct StartedLibrary;

class PmixLibrary {
  public:
    struct Options {
        std::string nspace;    // the server's own namespace
        Rank rank = 0;         // and rank in it
        std::string directory; // for its rendezvous files and shared segments; private to the user
        std::string hostname;
        std::string store = {};         // the directory for the segments, if it is another one
        std::string topology_file = {}; // of this host: common/process/topology_file.h; empty: the library looks itself
    };
    // Starts the library (20 to 40 ms), in the environment of library_start.h. To be called in the library thread,
    // which outlives it. libpmix' own threads have all signals blocked. There can be one per process. Fails when the
    // library would hear of connections that do not come through the guard (guard/connection_guard.h), as in a program
    // without its interposition. `listening`: what listens already (ListenerTakeover::create_listening()); may be null.
    static Result<std::unique_ptr<PmixLibrary>> start(EventLoop &loop, LibraryThread &thread, const Options &options,
                                                      pmix_server_module_t *module,
                                                      std::unique_ptr<ListenerTakeover> listening);
    // Of processes that have been registered here: what the guard tells of them (connection_guard.h).
    struct Door {
        std::function<void(Error)> on_broken;
        std::function<void(const std::string &nspace, Rank rank, const std::string &version)> let_in = {};
        std::function<void(const std::string &nspace, Rank rank, const std::string &why)> turned_away = {};
        ToolMayCome tool_may_come = {};
        ToolCame tool_came = {};
        // May a tool say that this is its name, although it begins like a job's? Empty: none may.
        std::function<bool(const std::string &name)> tool_may_be_called = {};
        std::size_t most_tools = 64;
    };
    // From now on connections are judged, and the good ones handed to the library. `on_broken` is called
    // once if it does not take them. `log` outlives this.
    Result<void> admit_clients(Log &log, Door door);
    bool admits() const { return guard_ != nullptr; }
    // Once it admits: as ConnectionGuard::admit_relayed().
    void admit_relayed(UniqueFd connection, ToolOrigin origin, pid_t pid);
    // As ConnectionGuard::unsent_to(); 0 where it does not admit.
    std::size_t unsent_to(const std::string &nspace, Rank rank) const;
    // Where its clients and tools reach it, as PMIx writes it: tcp4://127.0.0.1:PORT. Empty if it cannot be told.
    const std::string &address() const { return address_; }
    // Has PMIx_server_finalize called after what has been asked for. It does not wait for that: LibraryThread::end()
    // does.
    ~PmixLibrary();
    PmixLibrary(const PmixLibrary &) = delete;

    using Done = std::function<void(pmix_status_t)>;
    using DataDone = std::function<void(pmix_status_t, Bytes)>;
    using EnvironmentDone = std::function<void(Result<std::vector<std::string>>)>;
    using CString = std::unique_ptr<char, void (*)(char *)>;

    // What job information is made of. Only for the library thread: for `describe` below.
    static Result<CString> node_regex(const std::vector<std::string> &hosts);
    static Result<CString> rank_regex(const std::vector<std::vector<Rank>> &ranks_by_host);
    // Empty when the library cannot tell.
    static std::string cpuset_string(const CpuSet &cpus);
    static std::string locality_string(const CpuSet &cpus);

    // `describe` gives the job information. It runs in the library thread, and must own what it uses or
    // know that it does not change.
    void register_nspace(const std::string &nspace, int local_count, std::function<Result<InfoList>()> describe,
                         std::function<void(Result<void>)> done);
    // Has such a namespace been registered, by whatever of these calls?
    bool has_told_of(const std::string &nspace) const { return told_of_.contains(nspace); }
    // Puts what is said of single processes of a registered namespace to its job information, before any of them
    // connects: the first element of each list is its PMIX_RANK. `describe` as above.
    void describe_processes(const std::string &nspace, std::function<std::vector<InfoList>()> describe,
                            std::function<void(Result<void>)> done);
    // The processes of the namespace on this host have all ended. Removes the files that they wanted to be removed at
    // the end of their job, and those that `clients`, which had connected, wanted to be removed at their own
    // (PMIX_REGISTER_CLEANUP), in libpmix' own thread.
    void end_nspace(const std::string &nspace, std::vector<Rank> clients, Done done);
    struct Client {
        Rank rank;
        gid_t gid;
        bool needs_environment = true; // no: its entries stay empty
    };
    // Registers processes of this host, of a registered namespace, which are of the user `uid`. `done` comes once, when
    // the library has answered for each, and gives in the order of `clients` what environment() gives, or why the
    // library does not take that one.
    using ClientsDone = std::function<void(std::vector<Result<std::vector<std::string>>>)>;
    void register_clients(const std::string &nspace, uid_t uid, const std::vector<Client> &clients, ClientsDone done);
    // Makes this daemon a client of that namespace, which has been registered without processes here, under a
    // rank that it does not have. From then on register_nspace(nspace, update, ...) with PMIX_PROC_DATA puts
    // those where all clients of this host find them without asking (library/inner_client.h). Fails
    // (unsupported) where the library is not known to work so.
    void become_client(const std::string &nspace, Rank rank, std::function<void(Result<void>)> done);
    static constexpr int update = -1; // libpmix' word for it
    // NAME=VALUE entries that a client needs; only what the library adds.
    void environment(const std::string &nspace, Rank rank, EnvironmentDone done);
    // Gives what the process has posted; waits, perhaps for ever, until it has posted something.
    void posted_data(const std::string &nspace, Rank rank, DataDone done);
    // Gives what those of `ranks` have posted that have posted anything; does not wait for more.
    using PostedDone = std::function<void(std::map<Rank, Bytes>)>;
    void posted_data_now(const std::string &nspace, const std::vector<Rank> &ranks, PostedDone done);
    // Gives an event to the clients of this host that registered for it. `info` must not change any more. `done`: all
    // has been queued for them. Events keep the order of the calls.
    void notify(pmix_status_t code, const pmix_proc_t &source, std::uint8_t range, std::shared_ptr<InfoList> info,
                Done done);
    // Gives what a process has written to the tools of this library that pull it (4.2.2: of whatever is delivered while
    // nobody pulls, the library keeps the last piece for who comes next). `done`: it has been queued for them.
    struct OutputText {
        pmix_proc_t source;
        std::uint8_t channel; // of pmix_iof_channel_t
        Bytes bytes;
        bool end;                  // nothing follows
        bool undated = false;      // own_key::output_undated
        bool cut = false;          // own_key::output_cut
        std::uint64_t missing = 0; // own_key::output_missing; 0: nothing
    };
    void deliver_output(OutputText output, Done done);
    // What is delivered from now on of that namespace's processes is not for the pulls of that connection; behind
    // take_up() it is again. What deliver_to() is given is for these alone, or for one of them alone (PullAsk::number).
    // `done`: it has been queued. Where can_pass_over() is false nothing is done.
    static bool can_pass_over();
    void pass_over(const LibraryConnection &connection, const std::string &nspace);
    void take_up(const LibraryConnection &connection, const std::string &nspace);
    void deliver_to(const LibraryConnection &connection, std::optional<int> pull, std::vector<OutputText> texts,
                    std::function<void()> done);
    // `done` comes when libpmix has handled what it has been told so far, answers among it, and has written it to those
    // it is for; never where one of them does not read. With an event base that is not known: when it had the turns for
    // that.
    void after_sending(std::function<void()> done);
    // Makes the set known to the library, which tells the clients of this host.
    void define_process_set(const std::string &name, const std::string &nspace, const std::vector<Rank> &ranks,
                            Done done);
    void delete_process_set(const std::string &name);

    // Runs `what` in libpmix' own progress thread, soon. Only for the library thread. Before the library has started,
    // or after it has ended, `what` is run at once when `anyway`, else dropped, and false is returned. It is for the
    // few answers that 4.2.2 handles in the thread that gives them although they touch its queues
    // (contrib/doc/decisions/libpmix.md). It delivers an empty inventory, which does nothing but call back from there.
    static bool in_progress_thread(std::function<void()> what, bool anyway = false);
    // For library_watch.h: `answered` is called when the question has gone through both threads.
    static void ask(LibraryThread &thread, std::function<void()> answered);
    // `handler` hears of events with these codes, in libpmix' progress thread. Any thread; does not wait.
    // `done` comes in the progress thread.
    static void register_handler(std::vector<pmix_status_t> codes, pmix_notification_fn_t handler, Done done);

  private:
    void answer_directly();
    struct Sending;
    void look_at(const std::shared_ptr<Sending> &sending);
    PmixLibrary(EventLoop &loop, LibraryThread &thread, std::string nspace, StartedLibrary started);
    EventLoop &loop_;
    LibraryThread &thread_;
    std::string nspace_; // the server's own
    std::string address_;
    std::unique_ptr<ListenerTakeover> takeover_; // until clients are admitted
    std::unique_ptr<ConnectionGuard> guard_;
    std::set<std::string> told_of_;
    std::map<std::string, std::map<Rank, ProcessOwner>> registered_;    // by namespace
    std::map<std::string, std::unique_ptr<InnerClient>> inner_clients_; // by namespace
    std::shared_ptr<Topology> topology_;                                // null: the library has found its own
    std::string no_topology_;                                           // why
    std::string not_mended_;                                            // what to say of it, or empty
    std::shared_ptr<DirectAnswers> direct_answers_;                     // null, from the end on or where there are none
    std::string not_direct_;                                            // why there are none
    event_base *base_ = nullptr;                                        // libpmix'; null: it is not known
    std::list<std::shared_ptr<Sending>> sendings_;                      // of each after_sending() that is not over
    std::shared_ptr<PostedNow> posted_; // of the requests that the library has not answered, too
};

} // namespace pmixhost
