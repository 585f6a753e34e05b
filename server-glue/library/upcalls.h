// The pmix_server_module_t that libpmix calls, in its own thread. Each callback copies what it was
// given into a Request and posts it to the event loop; the handler answers there, exactly once. The
// answer is given to libpmix in the library thread, for it takes locks of libpmix.
// The module table has no user pointer, so one file-scope pointer (in upcalls.cc) leads from it to
// the Upcalls object.
#pragma once

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/transport/credential.h"
#include "common/wire/messages.h"
#include "server-glue/library/info_list.h"
#include "server-glue/library/library_thread.h"
#include "server-glue/log/mail.h"
#include "server-glue/core/one_shot.h"
#include "server-glue/core/signature.h"
#include "server-glue/spawn/spawn_service.h"

#include <pmix_server.h>

#include <atomic>
#include <ctime>
#include <memory>
#include <optional>
#include <set>

namespace pmixhost {

using StatusReply = OneShot<pmix_status_t>;
using DataReply = OneShot<pmix_status_t, Bytes>;

struct AbortRequest {
    Process caller;
    int status = 0;
    std::string message;
    std::vector<Process> targets; // empty: the caller's whole job
    StatusReply reply;
};
struct FenceRequest {
    std::vector<Process> participants;
    Bytes data;
    pmix_status_t local_status = PMIX_SUCCESS; // PMIX_LOCAL_COLLECTIVE_STATUS
    // Why this host cannot take part (an unknown required directive, too much data). Not refused at
    // once: the other hosts must hear of it, and libpmix does not answer all of a refused fence's
    // participants.
    pmix_status_t refused = PMIX_SUCCESS;
    std::optional<std::chrono::seconds> timeout;
    bool collects = false; // PMIX_COLLECT_DATA: it brings everywhere what the participants have posted
    DataReply reply;
};
struct ConnectRequest {
    CollectiveKind kind = CollectiveKind::connect; // or disconnect
    std::vector<Process> participants;
    pmix_status_t local_status = PMIX_SUCCESS;
    pmix_status_t refused = PMIX_SUCCESS; // as in FenceRequest
    std::optional<std::chrono::seconds> timeout;
    StatusReply reply;
};
struct GroupAnswer {
    std::optional<std::uint64_t> context_id;
    Bytes endpoints; // PMIX_GROUP_ENDPT_DATA of all hosts
};
using GroupReply = OneShot<pmix_status_t, GroupAnswer>;
struct GroupAsk {
    CollectiveKind kind = CollectiveKind::group_construct; // or group_destruct
    Bytes name;
    std::vector<Process> members; // in group-rank order
    bool wants_context = false;
    bool tolerant = false;      // goes on without members that end
    bool tells_of_ends = false; // PMIX_GROUP_NOTIFY_TERMINATION
    Bytes endpoints;            // of this host
    pmix_status_t local_status = PMIX_SUCCESS;
    pmix_status_t refused = PMIX_SUCCESS; // as in FenceRequest
    std::optional<std::chrono::seconds> timeout;
    GroupReply reply;
};
struct ModexAsk {
    Process target;
    Bytes key; // PMIX_REQUIRED_KEY; empty: whatever it has posted
    std::optional<std::chrono::seconds> timeout;
    DataReply reply;
};
// Values are already what PMIx_Data_pack makes of them.
struct PublishAsk {
    Process caller;
    std::uint32_t gid = wire::any_group; // of the owner; any: the caller's own
    std::uint8_t range = PMIX_RANGE_SESSION;
    std::uint8_t persistence = PMIX_PERSIST_SESSION;
    std::vector<wire::ProcessName> custom; // for PMIX_RANGE_CUSTOM
    std::vector<wire::Datum> data;
    std::optional<std::chrono::seconds> timeout;
    StatusReply reply;
};
using LookupReply = OneShot<pmix_status_t, std::vector<wire::Found>>;
struct LookupAsk {
    Process caller;
    std::uint32_t gid = wire::any_group; // as in wire::LookupRequest
    std::uint8_t range = PMIX_RANGE_SESSION;
    std::vector<wire::ProcessName> custom;
    std::vector<Bytes> keys;
    std::int32_t wait = -1; // as in wire::LookupRequest
    std::optional<std::chrono::seconds> timeout;
    LookupReply reply;
};
struct UnpublishAsk {
    Process caller;
    std::uint8_t range = PMIX_RANGE_UNDEF;
    std::vector<Bytes> keys; // empty: all
    std::optional<std::chrono::seconds> timeout;
    StatusReply reply;
};
struct SpawnAsk {
    Process caller;
    wire::SpawnRequest request;
    pmix_status_t refused = PMIX_SUCCESS;
    SpawnAnswer answer;
};
using CredentialReply = OneShot<pmix_status_t, Bytes>;
struct CredentialAsk {
    std::optional<std::chrono::seconds> timeout;
    CredentialReply reply;
};
using ValidationReply = OneShot<pmix_status_t, Identity>;
struct ValidationAsk {
    Bytes credential;
    std::optional<std::chrono::seconds> timeout;
    ValidationReply reply;
};
struct JobControlAsk {
    static constexpr std::size_t max_signals = 64;
    static constexpr std::size_t max_targets = 4'000'000; // more than the largest job has processes
    Process caller;
    std::vector<Process> targets;       // empty: the caller's whole job, or
    bool everyone = false;              // every job of the session
    wire::ControlOrder order;           // without who asks
    std::vector<std::string> unsupported; // keys of what was passed over, or is why it is refused
    std::vector<std::string> declared;    // keys by which the caller only says what it can take
    pmix_status_t refused = PMIX_SUCCESS;
    std::optional<std::chrono::seconds> timeout;
    StatusReply reply;
    bool only_declares() const { return order.signals.empty() && !order.notifies && !declared.empty(); }
};
struct LogAsk {
    static constexpr std::size_t max_text = 64 * 1024; // of one entry: what a pipe holds
    static constexpr std::size_t max_record = 1024;
    static constexpr std::size_t max_request = 1024 * 1024;
    static constexpr std::size_t max_entries = 1000;
    struct Entry {
        std::string channel; // the entry's key
        int fd = -1;         // 1 or 2: the caller's standard output or error
        std::string text;
        pmix_status_t status = PMIX_SUCCESS; // without a place to go to: how it went
        bool job_record = false;
        std::shared_ptr<const Mail> mail = nullptr;
    };
    Process caller;
    std::vector<Entry> entries;
    bool once = false, tagged = false, timed = false;
    std::time_t time = 0; // of the request; 0: not said
    pmix_status_t refused = PMIX_SUCCESS;
    StatusReply reply;
};
// How many bytes of events are under way in this daemon: counted by the library's thread, the loop's
// thread tells what waits for the network.
struct EventGate {
    std::atomic<std::uint64_t> posted{0};  // not yet seen by the loop
    std::atomic<std::uint64_t> waiting{0}; // for other hosts
};
struct NotifyAsk {
    Process source;
    pmix_status_t status = 0;
    std::uint8_t range = PMIX_RANGE_UNDEF;
    std::vector<Process> custom; // for PMIX_RANGE_CUSTOM
    std::uint32_t info_count = 0;
    Bytes info; // as PMIx_Data_pack makes it
    std::shared_ptr<void> admission; // its place in EventGate::posted
    bool of_library = false;         // one of its monitors found it
};
using QueryReply = OneShot<pmix_status_t, std::shared_ptr<InfoList>>;
struct QueryAsk {
    static constexpr std::size_t max_keys = 1000;
    struct Query {
        std::vector<std::string> keys;
        // Its qualifiers; empty: not said.
        std::string nspace, process_set, group, queue, allocation;
        std::uint8_t range = PMIX_RANGE_SESSION;
        bool local_only = false;
        std::optional<std::chrono::seconds> timeout;
        std::string unsupported; // one that is required and not known
    };
    std::vector<Query> queries;
    QueryReply reply;
};
struct AllocationAsk {
    static constexpr std::size_t max_text = 1024, max_host_list = 64 * 1024;
    Process caller;
    std::uint8_t directive = 0;
    // What was not said is empty or 0.
    std::string request_id, allocation, host_list, queue;
    std::uint64_t hosts = 0, cpus = 0, seconds = 0, megabytes = 0;
    std::vector<std::string> unsupported; // keys of what was passed over, or is why it is refused
    pmix_status_t refused = PMIX_SUCCESS;
    std::optional<std::chrono::seconds> timeout;
    QueryReply reply;
};
struct ClientEvent {
    Process client;
    StatusReply reply;
};

// In the loop's thread.
class UpcallHandler {
  public:
    virtual ~UpcallHandler() = default;
    virtual void client_connected(ClientEvent event) = 0;
    virtual void client_finalized(ClientEvent event) = 0;
    virtual void abort(AbortRequest request) = 0;
    virtual void fence(FenceRequest request) = 0;
    virtual void connect(ConnectRequest request) = 0;
    virtual void group(GroupAsk request) = 0;
    virtual void direct_modex(ModexAsk request) = 0;
    virtual void publish(PublishAsk request) = 0;
    virtual void lookup(LookupAsk request) = 0;
    virtual void unpublish(UnpublishAsk request) = 0;
    virtual void spawn(SpawnAsk request) = 0;
    virtual void job_control(JobControlAsk request) = 0;
    virtual void log(LogAsk request) = 0;
    virtual void get_credential(CredentialAsk request) = 0;
    virtual void validate_credential(ValidationAsk request) = 0;
    virtual void query(QueryAsk request) = 0;
    virtual void allocate(AllocationAsk request) = 0;
    // Of a process of this host; those of this host have it already.
    virtual void notify(NotifyAsk request) = 0;
};

class Upcalls {
  public:
    // What is larger is refused before it is copied.
    struct Limits {
        std::uint64_t fence_bytes;
        std::uint64_t publish_bytes; // of one call
        std::uint64_t event_bytes;   // under way in this daemon
    };
    // `loop`, `library` and `handler` outlive it.
    Upcalls(EventLoop &loop, LibraryThread &library, UpcallHandler &handler, Limits limits);
    // After PMIx_server_finalize: no upcall may come any more.
    ~Upcalls();
    Upcalls(const Upcalls &) = delete;

    static pmix_server_module_t *module();
    // What the library's monitors find it tells the processes of this host alone; from now on it comes to
    // UpcallHandler::notify as well, of whichever host it is. Once, when the library has started; any
    // thread. `done` comes in libpmix' thread.
    static void listen_to_monitors(std::function<void(pmix_status_t)> done);
    static bool is_monitors(pmix_status_t code);

    EventLoop &loop;
    LibraryThread &library;
    UpcallHandler &handler;
    const Limits limits;
    const std::shared_ptr<EventGate> events = std::make_shared<EventGate>();
    // Direct modexes that libpmix has not been through with, by its own name of them. Its progress thread
    // alone.
    std::set<void *> modexes;
};

} // namespace pmixhost
