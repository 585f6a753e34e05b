// The server of a step with all of its services, over a real mesh: the resource manager and libpmix are fakes (the
// library's functions are this program's own), the daemon of the other host is a mesh alone.
#include "server-glue/daemon/step_server.h"

#include "common/base/fd_pair.h"
#include "server-glue/rm/allocations.h"

#include "server-glue/tasks/job_info.h"

#include <arpa/inet.h>
#include <atomic>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <pmix_server.h>
#include <poll.h>
#include <set>
#include <sstream>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/wire/collective_messages.h"
#include "common/wire/cross_job_messages.h"
#include "common/wire/event_messages.h"
#include "common/wire/session_messages.h"
#include "server-glue/core/signature.h"
#include "server-glue/events/host_events.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/pack.h"
#include "server-glue/library/seen_environment.h"
#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace std::chrono_literals;

// --- libpmix ----------------------------------------------------------------------------------------

namespace {

struct FakeLibrary {
    std::mutex mutex; // it is called in the library thread
    pmix_server_module_t *module = nullptr;
    std::vector<std::pair<pmix_status_t, std::string>> events;   // status and who notifies
    std::set<std::pair<pmix_status_t, std::string>> flags;       // status, and a key that is true
    std::shared_ptr<OneTimeGate> stuck;                          // until it opens
    std::vector<std::pair<pmix_status_t, std::string>> for_each; // status and each who is named in a custom range
    bool deregistered = false;
    std::set<std::pair<Rank, std::string>> stored; // whose, and the key
    std::size_t stores_asked = 0;                  // each is a hand-over
    bool stores = true;
    std::shared_ptr<OneTimeGate> starts;            // it does not start until this opens
    std::map<Rank, std::vector<std::string>> gives; // the environment; not there: FAKE_RANK
    std::set<Rank> clients;                         // registered
    std::set<Rank> refused;                         // and who is not
    std::vector<std::string> asked;                 // "environment RANK" and "client RANK", in order
    bool holds_clients = false;                     // their answers stay in `held`
    std::vector<std::function<void()>> held;
    std::vector<std::vector<pmix_info_t>> packed; // what is in a buffer is the number of one of these
    ~FakeLibrary() {
        for (auto &infos : packed) {
            for (auto &info : infos)
                PMIX_INFO_DESTRUCT(&info);
        }
    }
};
FakeLibrary *library = nullptr;

pmix_status_t later(pmix_op_cbfunc_t callback, void *data) {
    callback(PMIX_SUCCESS, data);
    return PMIX_SUCCESS;
}

} // namespace

#define REPLACES extern "C" __attribute__((visibility("default")))

REPLACES pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t[], std::size_t) {
    std::unique_lock lock(library->mutex);
    library->module = module;
    if (auto gate = library->starts) {
        lock.unlock();
        gate->wait();
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool listens = bind(fd, reinterpret_cast<sockaddr *>(&here), sizeof here) == 0 && listen(fd, 5) == 0;
    return listens ? PMIX_SUCCESS : PMIX_ERROR;
}
REPLACES pmix_status_t PMIx_server_finalize(void) {
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_server_register_nspace(const pmix_nspace_t, int, pmix_info_t[], std::size_t,
                                                   pmix_op_cbfunc_t callback, void *data) {
    return later(callback, data);
}
REPLACES pmix_status_t PMIx_Store_internal(const pmix_proc_t *process, const char key[], pmix_value_t *value) {
    std::lock_guard lock(library->mutex);
    if (std::string_view(key) != PMIX_PROC_DATA || value->type != PMIX_DATA_ARRAY)
        return PMIX_ERR_BAD_PARAM;
    const auto *infos = static_cast<const pmix_info_t *>(value->data.darray->array);
    if (std::string_view(infos[0].key) != PMIX_RANK || infos[0].value.data.rank != process->rank)
        return PMIX_ERR_TYPE_MISMATCH;
    for (std::size_t i = 1; i < value->data.darray->size; ++i)
        library->stored.emplace(process->rank, infos[i].key);
    ++library->stores_asked;
    return library->stores ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE;
}
REPLACES void PMIx_server_deregister_nspace(const pmix_nspace_t, pmix_op_cbfunc_t callback, void *data) {
    std::unique_lock lock(library->mutex);
    library->deregistered = true;
    lock.unlock();
    later(callback, data);
}
REPLACES pmix_status_t PMIx_server_register_client(const pmix_proc_t *process, uid_t, gid_t, void *,
                                                   pmix_op_cbfunc_t callback, void *data) {
    std::unique_lock lock(library->mutex);
    library->asked.push_back("client " + std::to_string(process->rank));
    if (library->refused.contains(process->rank))
        return PMIX_ERR_NOMEM;
    library->clients.insert(process->rank);
    if (library->holds_clients) {
        library->held.push_back([callback, data] { callback(PMIX_SUCCESS, data); });
        return PMIX_SUCCESS;
    }
    lock.unlock();
    return later(callback, data);
}
REPLACES pmix_status_t PMIx_server_setup_fork(const pmix_proc_t *process, char ***environment) {
    std::lock_guard lock(library->mutex);
    library->asked.push_back("environment " + std::to_string(process->rank));
    std::vector<std::string> gives{"FAKE_RANK=" + std::to_string(process->rank)};
    if (auto given = library->gives.find(process->rank); given != library->gives.end())
        gives = given->second;
    *environment = static_cast<char **>(calloc(gives.size() + 1, sizeof(char *)));
    for (std::size_t i = 0; i < gives.size(); ++i)
        (*environment)[i] = strdup(gives[i].c_str());
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t *process, pmix_dmodex_response_fn_t callback,
                                                  void *data) {
    std::string posted = "posted by " + std::to_string(process->rank);
    callback(PMIX_SUCCESS, posted.data(), posted.size(), data);
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_server_deliver_inventory(pmix_info_t[], std::size_t, pmix_info_t[], std::size_t,
                                                     pmix_op_cbfunc_t callback, void *data) {
    std::unique_lock lock(library->mutex);
    auto stuck = library->stuck;
    lock.unlock();
    if (stuck)
        stuck->wait();
    return later(callback, data);
}
REPLACES pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t,
                                         const pmix_info_t info[], std::size_t count, pmix_op_cbfunc_t callback,
                                         void *data) {
    std::unique_lock lock(library->mutex);
    for (std::size_t i = 0; i < count; ++i) {
        if (info[i].value.type == PMIX_BOOL && info[i].value.data.flag)
            library->flags.emplace(status, info[i].key);
        if (std::string_view(info[i].key) != PMIX_EVENT_CUSTOM_RANGE || info[i].value.type != PMIX_DATA_ARRAY)
            continue;
        const auto *named = static_cast<const pmix_proc_t *>(info[i].value.data.darray->array);
        for (std::size_t k = 0; k < info[i].value.data.darray->size; ++k)
            library->for_each.emplace_back(status, fmt::format("{}:{}", named[k].nspace, named[k].rank));
    }
    library->events.emplace_back(status, fmt::format("{}:{}", source->nspace, source->rank));
    lock.unlock();
    return later(callback, data);
}
REPLACES pmix_status_t PMIx_Register_event_handler(pmix_status_t[], std::size_t, pmix_info_t[], std::size_t,
                                                   pmix_notification_fn_t, pmix_hdlr_reg_cbfunc_t callback,
                                                   void *data) {
    callback(PMIX_SUCCESS, 1, data);
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_generate_regex(const char *text, char **out) {
    *out = strdup(text);
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_generate_ppn(const char *text, char **out) {
    *out = strdup(text);
    return PMIX_SUCCESS;
}
// Regular expressions only a library that has started loads.
REPLACES pmix_status_t PMIx_Value_load(pmix_value_t *value, const void *data, pmix_data_type_t type) {
    if (type != PMIX_REGEX) {
        using Load = pmix_status_t (*)(pmix_value_t *, const void *, pmix_data_type_t);
        return reinterpret_cast<Load>(dlsym(RTLD_NEXT, "PMIx_Value_load"))(value, data, type);
    }
    value->type = PMIX_STRING;
    value->data.string = strdup(static_cast<const char *>(data));
    return PMIX_SUCCESS;
}
// Nor does it pack values before.
REPLACES pmix_status_t PMIx_Data_pack(const pmix_proc_t *, pmix_data_buffer_t *buffer, void *values, std::int32_t count,
                                      pmix_data_type_t) {
    std::lock_guard lock(library->mutex);
    auto number = static_cast<std::uint32_t>(library->packed.size());
    auto &kept = library->packed.emplace_back(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < kept.size(); ++i)
        PMIX_INFO_XFER(&kept[i], &static_cast<pmix_info_t *>(values)[i]);
    buffer->bytes_used = std::max(sizeof number, kept.size()); // no value is less than a byte
    buffer->base_ptr = static_cast<char *>(calloc(1, buffer->bytes_used));
    std::memcpy(buffer->base_ptr, &number, sizeof number);
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_Data_embed(pmix_data_buffer_t *buffer, const pmix_byte_object_t *bytes) {
    buffer->bytes_used = bytes->size;
    buffer->base_ptr = static_cast<char *>(malloc(bytes->size));
    std::memcpy(buffer->base_ptr, bytes->bytes, bytes->size);
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_Data_unpack(const pmix_proc_t *, pmix_data_buffer_t *buffer, void *values,
                                        std::int32_t *count, pmix_data_type_t) {
    std::lock_guard lock(library->mutex);
    std::uint32_t number = 0;
    std::memcpy(&number, buffer->base_ptr, sizeof number);
    auto &kept = library->packed.at(number);
    for (std::size_t i = 0; i < kept.size(); ++i)
        PMIX_INFO_XFER(&static_cast<pmix_info_t *>(values)[i], &kept[i]);
    *count = static_cast<std::int32_t>(kept.size());
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_server_generate_cpuset_string(const pmix_cpuset_t *, char **out) {
    *out = strdup("hwloc:0");
    return PMIX_SUCCESS;
}
REPLACES pmix_status_t PMIx_server_generate_locality_string(const pmix_cpuset_t *, char **out) {
    *out = strdup("hwloc:CR0");
    return PMIX_SUCCESS;
}

namespace {

// --- the resource manager ---------------------------------------------------------------------------

// Starts no task and ends none; what it is asked is noted.
struct FakeBackend final : RmBackend, private RmAllocations {
    bool submits = false; // asks for an allocation, which takes its time
    RmAllocations *allocations() override { return this; }
    void allocate(std::uint64_t, RmAllocation, TimePoint, std::function<void(Result<RmAllocated>)> done) override {
        done(error(ErrorKind::unsupported, "no"));
    }
    void abandon_allocation(std::uint64_t) override {}
    bool is_submitting() const override { return submits; }

    StepInfo info;
    BackendListener *listener = nullptr;
    std::vector<StepEnd> ended;
    std::function<void(std::string)> to_other_host; // a contact message
    bool stopped = false;

    const StepInfo &step() const override { return info; }
    Result<void> start(BackendListener &the_listener) override {
        listener = &the_listener;
        return {};
    }
    void send_contact(HostIndex, std::string message, bool, TimePoint,
                      std::function<void(Result<void>)> done) override {
        if (to_other_host)
            to_other_host(std::move(message));
        done({});
    }
    void end_step(StepEnd end, std::function<void(Result<void>)> done) override {
        ended.push_back(std::move(end));
        done({});
    }
    void stop() override { stopped = true; }
};

// A process that stands for a task.
pid_t make_task() {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pause();
        _exit(0);
    }
    return pid;
}

// A listening socket of that name.
UniqueFd listen_at(const std::string &path) {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un here{};
    here.sun_family = AF_UNIX;
    std::strncpy(here.sun_path, path.c_str(), sizeof here.sun_path - 1);
    assert_int_equal(bind(fd.get(), reinterpret_cast<sockaddr *>(&here), sizeof here), 0);
    assert_int_equal(listen(fd.get(), 5), 0);
    return fd;
}

// A process that knocks at the task door (contrib/doc/task-door.md), and writes the answer, with its status before it,
// to where `answer` reads; then it waits.
struct Knocking {
    pid_t pid;
    UniqueFd answer;
};
Knocking make_knocking_task(const std::string &door, Rank rank) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        close(ends[1]);
        return {pid, UniqueFd(ends[0])};
    }
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un there{};
    there.sun_family = AF_UNIX;
    std::strncpy(there.sun_path, door.c_str(), sizeof there.sun_path - 1);
    std::uint32_t words[3] = {htonl(0x504d4832), htonl(rank), 0};
    char text[4096];
    if (connect(fd, reinterpret_cast<sockaddr *>(&there), sizeof there) != 0 ||
        send(fd, words, sizeof words, MSG_NOSIGNAL) != sizeof words)
        _exit(1);
    for (ssize_t n; (n = recv(fd, text, sizeof text, 0)) > 0;)
        (void)!write(ends[1], text, static_cast<std::size_t>(n));
    close(ends[1]);
    pause();
    _exit(0);
}

// What a fence was answered.
struct FenceAnswer {
    std::mutex mutex;
    bool came = false;
    pmix_status_t status = 0;
    std::string data;
    static void take(pmix_status_t status, const char *data, std::size_t size, void *mine,
                     pmix_release_cbfunc_t release, void *release_data) {
        auto *answer = static_cast<FenceAnswer *>(mine);
        std::unique_lock lock(answer->mutex);
        answer->came = true;
        answer->status = status;
        answer->data.assign(data ? data : "", size);
        lock.unlock();
        if (release)
            release(release_data);
    }
    bool is_there() {
        std::lock_guard lock(mutex);
        return came;
    }
};

// Host 0 of a step of two ranks on each host.
struct World {
    FakeLibrary fake;
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "test"};
    Settings settings;
    FakeBackend backend;
    std::string directory;
    std::vector<pid_t> tasks;
    std::optional<Result<void>> ended;
    std::unique_ptr<Mesh> other; // the daemon of host 1
    std::unique_ptr<StepServer> server;

    struct Ends {
        bool live_on = false, on_bad_exit = false;
        bool has_door = false;
        PmixUse use = PmixUse::may_come;
        bool captures = false;
    };
    explicit World(HostIndex hosts, std::chrono::milliseconds library_timeout = 0ms, Rank details_up_to = 4096)
        : World(hosts, Ends{}, library_timeout, details_up_to) {}
    World(HostIndex hosts, Ends ends, std::chrono::milliseconds library_timeout = 0ms, Rank details_up_to = 4096) {
        library = &fake;
        auto made_loop = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        loop = std::move(*made_loop);
        char name[] = "/tmp/pmixhost-step.XXXXXX";
        directory = mkdtemp(name);
        settings.transport_interfaces = {"lo"};
        settings.transport_connect_timeout = 5s;
        settings.daemon_library_timeout = library_timeout;
        settings.daemon_details_up_to = details_up_to;
        if (ends.captures)
            settings.io_capture = "on";
        std::vector<std::string> names;
        std::vector<std::vector<Rank>> ranks;
        for (HostIndex h = 0; h < hosts; ++h) {
            names.push_back("host" + std::to_string(h));
            ranks.push_back({2 * h, 2 * h + 1});
        }
        backend.info.nspace = "job";
        backend.info.step_key = "step";
        backend.info.shared_secret = "secret";
        auto map = JobMap::create(names, ranks);
        assert_true(map.ok());
        backend.info.map = std::move(*map);
        backend.info.apps.emplace_back();
        backend.info.pmix_use = ends.use;
        UniqueFd door;
        if (ends.has_door)
            door = listen_at(directory + "/door");
        if (hosts > 1)
            join_other_host();
        auto made = StepServer::create({*loop,
                                        log,
                                        settings,
                                        backend,
                                        nullptr,
                                        nullptr,
                                        std::move(door),
                                        ends.live_on,
                                        ends.on_bad_exit,
                                        directory + "/step",
                                        {}},
                                       [this](Result<void> result) { ended = std::move(result); });
        if (!made)
            fail_msg("%s", made.failure().text.c_str());
        server = std::move(*made);
    }
    ~World() {
        server->leave();
        server.reset();
        for (pid_t pid : tasks)
            kill(pid, SIGKILL);
        while (::wait(nullptr) > 0)
            continue;
        std::filesystem::remove_all(directory);
        library = nullptr;
    }
    void join_other_host() {
        auto mesh =
            Mesh::create(*loop, log, settings, "step", 1, 2 + central_role_count, make_secret_authenticator("secret"),
                         {[this](HostIndex, std::uint8_t type, Bytes payload) { on_message(type, payload); },
                          [](HostIndex, Mesh::Gone, const Error &) {},
                          [this](HostIndex, Bytes message, TimePoint, std::function<void(Result<void>)> done) {
                              backend.listener->on_contact(std::move(message));
                              done({});
                          }});
        assert_true(mesh.ok());
        other = std::move(*mesh);
        backend.to_other_host = [this](std::string message) {
            loop->post([this, message] {
                if (other)
                    other->on_contact(message);
            });
        };
    }
    std::vector<std::uint8_t> received;       // by the other host
    std::optional<wire::CollectiveDown> down; // the last one that it has received
    void on_message(std::uint8_t type, const Bytes &payload) {
        received.push_back(type);
        if (auto it = wire::decode<wire::CollectiveDown>(payload); it && type == wire::CollectiveDown::type)
            down = std::move(*it);
    }

    void run_until(const std::function<bool()> &done) { pmixhost::run_until(*loop, done); }

    // The tasks of this host, with their environment, as clients.
    void start_tasks() {
        std::size_t answered = 0;
        for (Rank rank : {0, 1}) {
            backend.listener->want_environment(rank, [&, rank](Result<std::vector<std::string>> environment) {
                assert_true(environment.ok());
                assert_string_equal(environment->front().c_str(), fmt::format("FAKE_RANK={}", rank).c_str());
                ++answered;
            });
        }
        run_until([&] { return answered == 2; });
        for (Rank rank : {0, 1}) {
            tasks.push_back(make_task());
            backend.listener->on_task_started(rank, tasks.back());
            pmix_proc_t process;
            PMIX_LOAD_PROCID(&process, "job", rank);
            fake.module->client_connected2(
                &process, nullptr, nullptr, 0,
                [](pmix_status_t, void *count) { ++*static_cast<std::atomic<int> *>(count); }, &connected);
        }
        run_until([&] { return connected == 2; });
    }
    // The tasks of this host, which come to the door: what each gets, by rank.
    std::map<Rank, std::vector<std::string>> knock() {
        std::map<Rank, std::vector<std::string>> given;
        for (Rank rank : {0, 1}) {
            Knocking task = make_knocking_task(directory + "/door", rank);
            tasks.push_back(task.pid);
            std::string answer;
            run_until([&] {
                char text[4096];
                ssize_t n = read(task.answer.get(), text, sizeof text);
                answer.append(text, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
                return n == 0;
            });
            constexpr std::size_t head = 4 + 4 + 4; // who answers, its status, the length
            assert_true(answer.size() > head);
            std::istringstream entries(answer.substr(head));
            for (std::string entry; std::getline(entries, entry, '\0');)
                given[rank].push_back(entry);
            has_late_environment = given[rank].front().starts_with("PMIX_");
        }
        return given;
    }
    bool has_late_environment = false; // the last one who knocked
    // Files in the daemon's directory whose name begins so.
    std::vector<std::string> directory_files(const std::string &name) const {
        std::vector<std::string> found;
        std::error_code none;
        for (const auto &file : std::filesystem::directory_iterator(directory + "/step", none)) {
            if (file.path().filename().string().starts_with(name) && file.is_regular_file())
                found.push_back(file.path());
        }
        return found;
    }
    bool is_client(Rank rank) {
        std::lock_guard lock(fake.mutex);
        return fake.clients.contains(rank);
    }
    bool has_begun_to_start() {
        std::lock_guard lock(fake.mutex);
        return fake.module != nullptr;
    }
    std::atomic<int> connected = 0;
    void fence(FenceAnswer &answer, bool collects = false) { fence(answer, {"job"}, collects); }
    // All of these jobs.
    void fence(FenceAnswer &answer, std::vector<const char *> jobs, bool collects) {
        std::vector<pmix_proc_t> all(jobs.size());
        for (std::size_t i = 0; i < jobs.size(); ++i)
            PMIX_LOAD_PROCID(&all[i], jobs[i], PMIX_RANK_WILDCARD);
        char *data = strdup("ours"); // the module's from now on
        pmix_info_t collect;
        PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &collects, PMIX_BOOL);
        assert_int_equal(
            fake.module->fence_nb(all.data(), all.size(), &collect, 1, data, 4, FenceAnswer::take, &answer),
            PMIX_SUCCESS);
    }
    void end_task(Rank rank, int signal) {
        kill(tasks[rank], signal);
        int status = 0;
        assert_int_equal(waitpid(tasks[rank], &status, 0), tasks[rank]);
        backend.listener->on_task_ended(rank, status);
    }
    bool said(pmix_status_t status, const char *key) {
        std::lock_guard lock(fake.mutex);
        return fake.flags.contains({status, key});
    }
    bool told(pmix_status_t status, const std::string &source) {
        std::lock_guard lock(fake.mutex);
        return std::find(fake.events.begin(), fake.events.end(), std::pair{status, source}) != fake.events.end();
    }
};

// --- tests ------------------------------------------------------------------------------------------

void a_step_begins_and_ends(void **) {
    World world(1);
    world.start_tasks();
    for (bool collects : {true, false}) {
        FenceAnswer answer;
        world.fence(answer, collects);
        world.run_until([&] { return answer.is_there(); });
        assert_int_equal(answer.status, PMIX_SUCCESS);
        assert_string_equal(answer.data.c_str(), collects && library_wants_own_part_of_fences() ? "ours" : "");
    }
    for (Rank rank : {0, 1}) {
        pmix_proc_t process;
        PMIX_LOAD_PROCID(&process, "job", rank);
        world.fake.module->client_finalized(
            &process, nullptr, [](pmix_status_t, void *) {}, nullptr);
    }
    world.end_task(0, SIGTERM);
    assert_false(world.ended.has_value());
    world.end_task(1, SIGTERM);
    world.run_until([&] { return world.ended.has_value(); });
    assert_true(world.ended->ok());
    assert_true(world.fake.deregistered);
    assert_true(world.backend.ended.empty());
}

// Whoever hands over to the library wakes its threads: for all tasks it is done once. None has its environment before
// libpmix knows all of them.
void tasks_are_registered_together(void **) {
    int answered = 0; // outlives who may still answer
    World world(1);
    world.fake.holds_clients = true;
    for (Rank rank : {0, 1})
        world.backend.listener->want_environment(
            rank, [&](Result<std::vector<std::string>> environment) { answered += environment.ok(); });
    auto waits = [&] {
        std::lock_guard lock(world.fake.mutex);
        return world.fake.held.size();
    };
    world.run_until([&] { return waits() == 2; });
    std::vector<std::string> asked{"environment 0", "environment 1", "client 0", "client 1"};
    assert_true(world.fake.asked == asked);
    world.fake.held[1]();
    world.run_until([&, turns = 0]() mutable { return ++turns == 5; });
    assert_int_equal(answered, 0);
    world.fake.held[0]();
    world.run_until([&] { return answered == 2; });
}

void a_task_that_the_library_refuses_is_told_so_alone(void **) {
    std::map<Rank, Result<std::vector<std::string>>> answers; // outlives who may still answer
    World world(1);
    world.fake.refused = {0};
    for (Rank rank : {0, 1})
        world.backend.listener->want_environment(
            rank, [&, rank](Result<std::vector<std::string>> environment) { answers.emplace(rank, environment); });
    world.run_until([&] { return answers.size() == 2; });
    assert_false(answers.at(0).ok());
    assert_non_null(strstr(answers.at(0).failure().text.c_str(), "the PMIx library refuses rank 0"));
    assert_true(answers.at(1).ok());
    assert_string_equal(answers.at(1)->front().c_str(), "FAKE_RANK=1");
}

// Somebody has asked this host to come, and does not answer: he may hold the connection for made, and is told farewell.
void the_last_client_is_held_for_who_is_dialed_and_nothing_polls(void **) {
    World world(1);
    world.start_tasks();
    UniqueFd ear(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in here{};
    socklen_t length = sizeof here;
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(ear.get(), reinterpret_cast<sockaddr *>(&here), length), 0);
    assert_int_equal(listen(ear.get(), 5), 0);
    assert_int_equal(getsockname(ear.get(), reinterpret_cast<sockaddr *>(&here), &length), 0);
    Contact contact;
    contact.host = 1; // the session
    contact.port = ntohs(here.sin_port);
    contact.cookie = Bytes(16, 'c');
    contact.addresses = {"127.0.0.1"};
    world.backend.listener->on_contact(wire::encode(contact));
    UniqueFd dialed;
    world.run_until([&] {
        if (!dialed)
            dialed.reset(accept4(ear.get(), nullptr, nullptr, SOCK_CLOEXEC));
        char byte;
        return dialed && recv(dialed.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1; // it has introduced itself
    });

    struct Answers {
        EventLoop *loop;
        std::atomic<int> count = 0;
    } answers{world.loop.get()};
    for (Rank rank : {0, 1}) {
        pmix_proc_t process;
        PMIX_LOAD_PROCID(&process, "job", rank);
        world.fake.module->client_finalized(
            &process, nullptr,
            [](pmix_status_t, void *data) {
                auto *told = static_cast<Answers *>(data);
                if (++told->count == 2)
                    told->loop->stop();
            },
            &answers);
    }
    int turns = 0;
    auto counts = world.loop->before_waiting([&] { ++turns; });
    auto pause = world.loop->after(300ms, [&] { world.loop->stop(); });
    assert_true(world.loop->run().ok());
    assert_int_equal(answers.count.load(), 1);
    assert_true(turns < 30); // 5 ms each would be 60

    // He goes, and can be reached no more: nothing is left to be waited for.
    auto begun = world.loop->now();
    ear.reset();
    dialed.reset();
    pause = world.loop->after(20s, [&] { world.loop->stop(); });
    assert_true(world.loop->run().ok());
    assert_int_equal(answers.count.load(), 2);
    assert_true(world.loop->now() - begun < 3s); // and not at its limit
}

void a_daemon_stays_while_the_rm_is_asked_for_an_allocation(void **) {
    World world(1);
    world.start_tasks();
    world.backend.submits = true;
    for (Rank rank : {0, 1})
        world.end_task(rank, SIGTERM);
    auto later = world.loop->now() + 300ms;
    world.run_until([&] { return world.loop->now() > later; });
    assert_false(world.ended.has_value());
    world.backend.submits = false;
    world.run_until([&] { return world.ended.has_value(); });
}

// --- a library that is started late -----------------------------------------------------------------

// What the build has seen of the library is what tasks are told before it starts. With this setting its clients look
// for no files before they connect.
struct OwnStore {
    OwnStore() { setenv("PMIX_MCA_gds", "hash", 1); }
    ~OwnStore() { unsetenv("PMIX_MCA_gds"); }
};
bool can_be_late() {
    return !seen_environment().with_hash.empty();
}

void tasks_do_not_wait_for_a_library_that_is_late(void **) {
    if (!can_be_late())
        skip();
    OwnStore own_store;
    World world(1, {.has_door = true});
    auto gate = world.fake.starts = std::make_shared<OneTimeGate>();
    auto given = world.knock();
    for (Rank rank : {0, 1}) {
        assert_true(std::find(given[rank].begin(), given[rank].end(), "PMIX_RANK=" + std::to_string(rank)) !=
                    given[rank].end());
        assert_true(std::find(given[rank].begin(), given[rank].end(), "PMIX_NAMESPACE=job") != given[rank].end());
    }
    {
        std::lock_guard lock(world.fake.mutex);
        world.fake.gives = given;
        assert_true(world.fake.clients.empty());
    }
    gate->open();
    world.run_until([&] { return world.is_client(0) && world.is_client(1); });
    FenceAnswer answer;
    for (Rank rank : {0, 1}) {
        pmix_proc_t process;
        PMIX_LOAD_PROCID(&process, "job", rank);
        world.fake.module->client_connected2(
            &process, nullptr, nullptr, 0, [](pmix_status_t, void *) {}, nullptr);
    }
    world.fence(answer);
    world.run_until([&] { return answer.is_there(); });
    assert_int_equal(answer.status, PMIX_SUCCESS);
    assert_false(world.ended.has_value());
}

// Only tools could miss it, and what has come to PMIx all the same connects.
void where_no_program_can_use_it_the_library_is_a_second_later(void **) {
    if (!can_be_late())
        skip();
    OwnStore own_store;
    World world(1, {.has_door = true, .use = PmixUse::cannot});
    auto gate = world.fake.starts = std::make_shared<OneTimeGate>();
    auto begun = world.loop->now();
    world.knock();
    world.run_until([&] { return world.has_begun_to_start(); });
    assert_true(world.loop->now() - begun >= 1s);
    gate->open();
}

void a_connection_starts_a_late_library(void **) {
    if (!can_be_late())
        skip();
    OwnStore own_store;
    World world(1, {.has_door = true});
    std::string uri;
    world.run_until([&] { return !world.directory_files("pmix.").empty(); });
    std::ifstream(world.directory_files("pmix.").front()) >> uri;
    auto colon = uri.rfind(':');
    assert_true(colon != uri.npos);
    assert_false(world.has_begun_to_start());
    UniqueFd visitor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons(static_cast<std::uint16_t>(std::stoi(uri.substr(colon + 1))));
    assert_int_equal(connect(visitor.get(), reinterpret_cast<sockaddr *>(&there), sizeof there), 0);
    world.run_until([&] { return world.has_begun_to_start(); });
    // It is judged, although no task has come to the door.
    const std::string rubbish(200, '!');
    assert_int_equal(send(visitor.get(), rubbish.data(), rubbish.size(), MSG_NOSIGNAL), rubbish.size());
    world.run_until([&] {
        char byte;
        return recv(visitor.get(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
    });
    // And tasks get what the library gives.
    auto given = world.knock();
    assert_true(std::find(given[0].begin(), given[0].end(), "FAKE_RANK=0") != given[0].end());
}

void tasks_end_before_a_late_library_has_started(void **) {
    if (!can_be_late())
        skip();
    OwnStore own_store;
    World world(1, {.has_door = true});
    auto gate = world.fake.starts = std::make_shared<OneTimeGate>();
    world.knock();
    world.run_until([&] { return world.has_begun_to_start(); }); // tasks have run for a while
    for (Rank rank : {0, 1})
        world.end_task(rank, SIGTERM);
    world.run_until([&] { return world.ended.has_value(); });
    assert_true(world.ended->ok());
    assert_false(world.fake.deregistered);
    gate->open(); // nobody takes it any more
}

void a_library_that_gives_something_else_ends_the_step(void **) {
    if (!can_be_late())
        skip();
    OwnStore own_store;
    World world(1, {.has_door = true});
    world.knock();
    world.run_until([&] { return world.ended.has_value(); });
    assert_false(world.ended->ok());
    assert_non_null(strstr(world.ended->failure().text.c_str(), "the PMIx library gives processes no PMIX_NAMESPACE"));
    assert_non_null(strstr(world.ended->failure().text.c_str(), "daemon.library"));
}

void a_program_that_names_the_library_does_not_find_it_late(void **) {
    OwnStore own_store;
    World world(1, {.has_door = true, .use = PmixUse::is_expected});
    world.run_until([&] { return world.has_begun_to_start(); }); // nobody has knocked
}

void with_a_store_that_clients_look_for_the_library_is_late_for_what_cannot_come(void **) {
    if (library_version() >= LibraryVersion{5, 0, 0} || seen_environment().by_default.empty())
        skip();
    {
        World world(1, {.has_door = true, .use = PmixUse::cannot});
        world.knock(); // it answers, without the library's FAKE_RANK
        assert_true(world.has_late_environment);
    }
    World world(1, {.has_door = true});
    world.run_until([&] { return world.has_begun_to_start(); }); // nobody has knocked
}

void processes_of_a_large_job_are_described_afterwards(void **) {
    {
        World small(2);
        small.start_tasks();
        assert_true(small.fake.stored.empty());
    }
    World large(2, 0ms, 3);
    large.start_tasks(); // they have their environment when all is stored
    for (Rank rank : {0, 1}) {
        for (const char *key : {PMIX_APPNUM, PMIX_GLOBAL_RANK, PMIX_LOCAL_RANK})
            assert_true(large.fake.stored.contains({rank, key}));
    }
    for (const auto &[rank, key] : large.fake.stored)
        assert_true(rank < 2 && key != PMIX_RANK); // of this host
    assert_int_equal(large.fake.stores_asked, 2);
}

void a_backend_that_starts_tasks_hands_over_their_streams(void **) {
    {
        World world(1);
        assert_false(world.backend.listener->wants_streams());
    }
    World::Ends ends;
    ends.captures = true;
    World world(1, ends);
    assert_true(world.backend.listener->wants_streams());
    auto rms = make_pipe(), tasks = make_pipe();
    assert_true(rms.ok() && tasks.ok());
    TaskDescriptors streams;
    streams.out = {std::move(rms->second), std::move(tasks->first)};
    world.backend.listener->take_streams(0, std::move(streams));
    assert_int_equal(write(tasks->second.get(), "words", 5), 5);
    pollfd comes{rms->first.get(), POLLIN, 0};
    world.run_until([&] { return poll(&comes, 1, 0) == 1; });
    char text[16] = {};
    assert_int_equal(read(rms->first.get(), text, sizeof text), 5);
    assert_string_equal(text, "words");
}

void a_description_that_is_not_taken_ends_the_step(void **) {
    bool let_go = false; // outlives who may still answer
    World world(1, 0ms, 1);
    world.fake.stores = false;
    for (Rank rank : {0, 1})
        world.backend.listener->want_environment(
            rank, [&](Result<std::vector<std::string>> environment) { let_go |= environment.ok(); });
    world.run_until([&] { return world.ended.has_value(); });
    assert_false(world.ended->ok());
    assert_non_null(strstr(world.ended->failure().text.c_str(), "does not take"));
    assert_false(let_go);
}

void which_jobs_are_described_by_their_maps(void **) {
    StepInfo step;
    step.map = *JobMap::create({"a", "b"}, {{0, 1}, {2, 3}});
    step.apps.emplace_back();
    assert_true(describes_all(step, 4));
    assert_false(describes_all(step, 3));
    step.process_sets.push_back({"set", {0}});
    assert_true(describes_all(step, 3)); // who is in it follows from no map
    step.process_sets.clear();
    step.apps.emplace_back();
    assert_true(describes_all(step, 3));
}

void a_lost_host_fails_what_waits_for_it_and_is_told(void **) {
    World world(2);
    world.start_tasks();
    FenceAnswer answer;
    world.fence(answer);
    world.other->send(0, wire::WantSession::type, share(wire::encode(wire::WantSession{}))); // so that they connect
    world.run_until([&] { return world.other->connected(0); });
    assert_false(answer.is_there());
    world.other.reset(); // without a farewell
    world.run_until([&] { return answer.is_there() && world.told(PMIX_EVENT_NODE_DOWN, "job.server:1"); });
    assert_int_not_equal(answer.status, PMIX_SUCCESS);
    assert_true(world.said(PMIX_EVENT_NODE_DOWN, PMIX_EVENT_TERMINATE_JOB));
    assert_false(world.said(PMIX_EVENT_NODE_DOWN, PMIX_EVENT_TERMINATE_NODE));
}

void a_killed_task_fails_the_fence_and_is_told(void **) {
    World world(2);
    world.start_tasks();
    FenceAnswer answer;
    world.fence(answer);
    world.end_task(1, SIGKILL);
    world.run_until([&] { return answer.is_there() && world.told(PMIX_ERR_PROC_ABORTED, "job:1"); });
    assert_int_equal(answer.status, PMIX_ERR_PROC_TERM_WO_SYNC);
    assert_false(world.ended.has_value()); // the other one runs
    assert_false(world.said(PMIX_ERR_PROC_ABORTED, PMIX_EVENT_TERMINATE_JOB));
}

void an_end_says_so_where_it_is_that_of_the_job(void **) {
    World world(2, World::Ends{.on_bad_exit = true});
    world.start_tasks();
    world.end_task(1, SIGKILL);
    world.run_until([&] { return world.told(PMIX_EVENT_PROC_TERMINATED, "job:1"); });
    assert_true(world.said(PMIX_ERR_PROC_ABORTED, PMIX_EVENT_TERMINATE_JOB));
    assert_true(world.said(PMIX_EVENT_PROC_TERMINATED, PMIX_EVENT_TERMINATE_JOB));
}

// Who has ever invited to a group does not get the older code of an end, and nobody else goes without it for that.
void an_inviter_keeps_no_end_from_tools(void **) {
    World world(2);
    world.start_tasks();
    std::atomic<bool> has_name = false;
    world.fake.module->tool_connected(
        nullptr, 0, [](pmix_status_t, pmix_proc_t *, void *data) { *static_cast<std::atomic<bool> *>(data) = true; },
        &has_name);
    world.run_until([&] { return has_name.load(); });
    pmix_proc_t inviter;
    PMIX_LOAD_PROCID(&inviter, "job", 0);
    world.fake.module->notify_event(
        PMIX_GROUP_INVITED, &inviter, PMIX_RANGE_NAMESPACE, nullptr, 0, [](pmix_status_t, void *) {}, nullptr);
    world.end_task(1, SIGKILL);
    world.run_until([&] { return world.told(PMIX_PROC_TERMINATED, "job:1"); });
    std::lock_guard lock(world.fake.mutex);
    using Told = std::vector<std::pair<pmix_status_t, std::string>>;
    assert_true((world.fake.for_each == Told{{PMIX_PROC_TERMINATED, "job.tool.0.1:0"}}));
}

// A process that says that all abort, which only hosts say: of this host, and of another one.
struct Liar {
    World &world;
    InfoList info;
    explicit Liar(World &of) : world(of) {
        pmix_proc_t all;
        PMIX_LOAD_PROCID(&all, "job", PMIX_RANK_WILDCARD);
        info.add_process(PMIX_EVENT_AFFECTED_PROC, all);
    }
    void here() {
        pmix_proc_t self;
        PMIX_LOAD_PROCID(&self, "job", 0);
        assert_int_equal(world.fake.module->notify_event(PMIX_ERR_PROC_REQUESTED_ABORT, &self, PMIX_RANGE_NAMESPACE,
                                                         info.data(), info.size(), nullptr, nullptr),
                         PMIX_OPERATION_SUCCEEDED);
    }
    void there(bool of_host) {
        wire::EventNotice notice;
        notice.origin = 1;
        notice.sequence = 1;
        notice.status = PMIX_ERR_PROC_REQUESTED_ABORT;
        notice.nspace = "job";
        notice.rank = 2;
        notice.range = PMIX_RANGE_NAMESPACE;
        notice.of_host = of_host;
        notice.info_count = static_cast<std::uint32_t>(info.size());
        auto packed = pack_infos(info.data(), info.size());
        assert_true(packed.ok());
        notice.info = std::move(*packed);
        world.other->send(0, wire::EventNotice::type, share(wire::encode(notice)));
        world.run_until([&] { return world.told(PMIX_ERR_PROC_REQUESTED_ABORT, "job:2"); });
    }
    // Rank 1 aborts its whole job.
    void abort_all() {
        pmix_proc_t self;
        PMIX_LOAD_PROCID(&self, "job", 1);
        assert_int_equal(world.fake.module->abort(
                             &self, nullptr, 3, "why", nullptr, 0, [](pmix_status_t, void *) {}, nullptr),
                         PMIX_SUCCESS);
        world.run_until([&] { return !world.backend.ended.empty(); });
    }
};

// The library keeps no event of an end for later: where no client is left and no tool, it is not given any.
void an_end_that_nobody_can_hear_of_is_no_event(void **) {
    World world(2);
    world.start_tasks();
    pmix_proc_t first;
    PMIX_LOAD_PROCID(&first, "job", 0);
    std::atomic<bool> finalized = false;
    world.fake.module->client_finalized(
        &first, nullptr, [](pmix_status_t, void *data) { *static_cast<std::atomic<bool> *>(data) = true; }, &finalized);
    world.run_until([&] { return finalized.load(); });
    world.end_task(1, SIGKILL);
    world.run_until([&] { return world.told(PMIX_ERR_PROC_ABORTED, "job:1"); }); // which is kept
    Liar(world).there(true);                                                     // comes behind it
    assert_false(world.told(PMIX_EVENT_PROC_TERMINATED, "job:1"));
    assert_false(world.told(PMIX_PROC_TERMINATED, "job:1"));
}

void an_abort_of_all_is_told_whatever_processes_have_said(void **) {
    World world(2);
    world.start_tasks();
    Liar liar(world);
    liar.here();
    liar.there(false);
    liar.abort_all();
    world.run_until([&] { return world.told(PMIX_ERR_PROC_REQUESTED_ABORT, "job:1"); });
}

void an_abort_of_all_that_a_host_has_told_is_not_told_again(void **) {
    World world(2);
    world.start_tasks();
    Liar(world).there(true);
    Liar(world).abort_all();
    world.end_task(1, SIGKILL); // which is told behind it
    world.run_until([&] { return world.told(PMIX_ERR_PROC_ABORTED, "job:1"); });
    assert_false(world.told(PMIX_ERR_PROC_REQUESTED_ABORT, "job:1"));
}

// Also when nobody waits for anything: a service is asked for its next time before each wait.
// The caller's own host has nothing more to do at once, and no connection with the one that is to end the rank.
void an_order_to_end_ranks_goes_out_before_the_daemon(void **) {
    World world(2);
    std::vector<std::string> contacts; // for the other host, which is slow to come
    world.backend.to_other_host = [&](std::string message) { contacts.push_back(std::move(message)); };
    world.start_tasks();
    pmix_proc_t self, meant;
    PMIX_LOAD_PROCID(&self, "job", 1);
    PMIX_LOAD_PROCID(&meant, "job", 2);
    assert_int_equal(world.fake.module->abort(
                         &self, nullptr, 3, "why", &meant, 1, [](pmix_status_t, void *) {}, nullptr),
                     PMIX_SUCCESS);
    world.run_until([&] { return !contacts.empty(); });
    for (Rank rank : {0, 1})
        world.end_task(rank, SIGTERM);
    auto later = world.loop->now() + 2s;
    world.run_until([&] { return world.loop->now() > later; });
    assert_false(world.ended.has_value());
    for (const auto &contact : contacts)
        world.other->on_contact(contact);
    auto has_come = [&](std::uint8_t type) {
        return std::find(world.received.begin(), world.received.end(), type) != world.received.end();
    };
    world.run_until([&] { return has_come(wire::KillRanks::type) && world.ended.has_value(); });
}

void a_fence_that_takes_too_long_fails(void **) {
    World world(2);
    world.settings.fence_timeout = 300ms;
    world.start_tasks();
    FenceAnswer answer;
    world.fence(answer);
    world.run_until([&] { return answer.is_there(); });
    assert_int_equal(answer.status, PMIX_ERR_TIMEOUT);
}

// Another host may name four billion ranks in a few bytes. They are not gone through, and what comes next is taken.
void a_fence_of_ranks_that_there_are_not_is_nobodys(void **) {
    World world(2);
    world.start_tasks();
    auto signature = canonical(CollectiveKind::fence, {{"job", 0, true}}, [](const Bytes &) { return 4; });
    wire::CollectiveUp up, of_nobody;
    up.signature = wire::encode(*signature);
    Bytes words;
    wire::Writer(words).put(std::vector<std::uint32_t>{1, 0, UINT32_MAX / 2 - 100, 2}); // each second one
    signature->members[0].all = 0;
    signature->members[0].ranks = *wire::decode<wire::RankSet>(words);
    of_nobody.signature = wire::encode(*signature);
    for (const auto &message : {of_nobody, up})
        world.other->send(0, wire::CollectiveUp::type, share(wire::encode(message)));
    FenceAnswer answer;
    world.fence(answer);
    world.run_until([&] { return answer.is_there(); });
    assert_int_equal(answer.status, PMIX_SUCCESS);
}

// Another host may know that job: it would wait for this one.
void a_fence_with_a_job_that_nobody_knows_fails_on_all_hosts(void **) {
    World world(2);
    world.start_tasks();
    FenceAnswer answer;
    world.fence(answer, {"job", "nobody"}, false);
    world.run_until([&] { return answer.is_there() && world.down; });
    assert_int_equal(answer.status, PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.down->status, PMIX_ERR_NOT_FOUND);
    auto of = wire::decode<Signature>(world.down->signature);
    assert_true(of && of->kind == CollectiveKind::fence && of->members.size() == 2);
}

// Who wants to know of the ends of members hears of those, too, that had ended before the group was begun here; once.
void a_group_tells_who_had_ended_before_it_was_built(void **) {
    World world(2);
    world.start_tasks();
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, "job", PMIX_RANK_WILDCARD);
    bool yes = true;
    pmix_info_t notify;
    PMIX_INFO_LOAD(&notify, PMIX_GROUP_NOTIFY_TERMINATION, &yes, PMIX_BOOL);
    std::atomic<bool> built = false;
    auto answered = [](pmix_status_t status, pmix_info_t[], std::size_t, void *mine, pmix_release_cbfunc_t release,
                       void *release_data) {
        *static_cast<std::atomic<bool> *>(mine) = status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
        if (release)
            release(release_data);
    };
    char name[] = "g";
    assert_int_equal(world.fake.module->group(PMIX_GROUP_CONSTRUCT, name, &all, 1, &notify, 1, answered, &built),
                     PMIX_SUCCESS);
    auto signature = canonical(CollectiveKind::group_construct, {{"job", 0, true}}, [](const Bytes &) { return 4; });
    signature->group = name;
    signature->tolerant = 1;
    wire::GroupPart part;
    part.nspace = "job";
    part.host = 1;
    part.gone = {3};
    wire::CollectiveUp up;
    up.signature = wire::encode(*signature);
    up.contributions = {{1, wire::encode(part)}};
    world.other->send(0, wire::CollectiveUp::type, share(wire::encode(up)));
    world.run_until([&] { return built && world.told(PMIX_GROUP_MEMBER_FAILED, "job:3"); });
    wire::BadEnds late; // its host says so now
    late.ends.push_back({{3}, PMIX_ERR_PROC_ABORTED, 9});
    world.other->send(0, wire::BadEnds::type, share(wire::encode(late)));
    world.run_until([&] { return world.told(PMIX_ERR_PROC_ABORTED, "job:3"); });
    std::lock_guard lock(world.fake.mutex);
    assert_int_equal(std::count(world.fake.events.begin(), world.fake.events.end(),
                                std::pair<pmix_status_t, std::string>(PMIX_GROUP_MEMBER_FAILED, "job:3")),
                     1);
}

// Which of them know what the group bears makes no difference: they would wait for each other.
void all_hosts_name_a_destruction_alike(void **) {
    World world(2);
    world.start_tasks();
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, "job", PMIX_RANK_WILDCARD);
    bool yes = true;
    pmix_info_t tolerant;
    PMIX_INFO_LOAD(&tolerant, PMIX_GROUP_OPTIONAL, &yes, PMIX_BOOL);
    auto answered = [](pmix_status_t status, pmix_info_t[], std::size_t, void *mine, pmix_release_cbfunc_t release,
                       void *release_data) {
        *static_cast<std::atomic<bool> *>(mine) = status == PMIX_SUCCESS;
        if (release)
            release(release_data);
    };
    auto other_enters = [&](CollectiveKind kind, std::uint8_t is_tolerant, std::vector<wire::Contribution> parts) {
        auto signature = canonical(kind, {{"job", 0, true}}, [](const Bytes &) { return 4; });
        signature->group = "g";
        signature->tolerant = is_tolerant;
        wire::CollectiveUp up;
        up.signature = wire::encode(*signature);
        up.contributions = std::move(parts);
        world.other->send(0, wire::CollectiveUp::type, share(wire::encode(up)));
    };
    char name[] = "g";
    wire::GroupPart part;
    part.nspace = "job";
    part.host = 1;
    std::atomic<bool> built = false, destructed = false;
    world.fake.module->group(PMIX_GROUP_CONSTRUCT, name, &all, 1, &tolerant, 1, answered, &built);
    other_enters(CollectiveKind::group_construct, 1, {{1, wire::encode(part)}});
    world.run_until([&] { return built.load(); });
    world.fake.module->group(PMIX_GROUP_DESTRUCT, name, &all, 1, nullptr, 0, answered, &destructed);
    other_enters(CollectiveKind::group_destruct, 0, {});
    world.run_until([&] { return destructed.load(); });
}

void a_message_that_nobody_takes_is_dropped(void **) {
    World world(2);
    world.start_tasks();
    world.other->send(0, 250, share("nonsense"));
    world.other->send(0, wire::TableRequest::type, share("too short"));
    wire::TableRequest request;
    request.behind = 1;
    request.timeout_ms = 1000;
    world.other->send(0, wire::TableRequest::type, share(wire::encode(request)));
    world.run_until([&] { return !world.received.empty(); });
    assert_int_equal(world.received.front(), wire::TableReply::type);
}

void a_stuck_library_ends_the_step(void **) {
    World world(1, 300ms);
    world.start_tasks();
    auto gate = std::make_shared<OneTimeGate>();
    {
        std::lock_guard lock(world.fake.mutex);
        world.fake.stuck = gate;
    }
    world.run_until([&] { return world.ended.has_value(); });
    assert_false(world.ended->ok());
    assert_non_null(strstr(world.ended->failure().text.c_str(), "has not answered"));
    {
        std::lock_guard lock(world.fake.mutex);
        world.fake.stuck = nullptr;
    }
    gate->open();
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_step_begins_and_ends),
        cmocka_unit_test(tasks_are_registered_together),
        cmocka_unit_test(a_task_that_the_library_refuses_is_told_so_alone),
        cmocka_unit_test(the_last_client_is_held_for_who_is_dialed_and_nothing_polls),
        cmocka_unit_test(a_daemon_stays_while_the_rm_is_asked_for_an_allocation),
        cmocka_unit_test(tasks_do_not_wait_for_a_library_that_is_late),
        cmocka_unit_test(where_no_program_can_use_it_the_library_is_a_second_later),
        cmocka_unit_test(a_connection_starts_a_late_library),
        cmocka_unit_test(tasks_end_before_a_late_library_has_started),
        cmocka_unit_test(a_library_that_gives_something_else_ends_the_step),
        cmocka_unit_test(a_program_that_names_the_library_does_not_find_it_late),
        cmocka_unit_test(with_a_store_that_clients_look_for_the_library_is_late_for_what_cannot_come),
        cmocka_unit_test(processes_of_a_large_job_are_described_afterwards),
        cmocka_unit_test(a_backend_that_starts_tasks_hands_over_their_streams),
        cmocka_unit_test(a_description_that_is_not_taken_ends_the_step),
        cmocka_unit_test(which_jobs_are_described_by_their_maps),
        cmocka_unit_test(a_lost_host_fails_what_waits_for_it_and_is_told),
        cmocka_unit_test(a_killed_task_fails_the_fence_and_is_told),
        cmocka_unit_test(an_end_says_so_where_it_is_that_of_the_job),
        cmocka_unit_test(an_inviter_keeps_no_end_from_tools),
        cmocka_unit_test(an_end_that_nobody_can_hear_of_is_no_event),
        cmocka_unit_test(an_abort_of_all_is_told_whatever_processes_have_said),
        cmocka_unit_test(an_abort_of_all_that_a_host_has_told_is_not_told_again),
        cmocka_unit_test(an_order_to_end_ranks_goes_out_before_the_daemon),
        cmocka_unit_test(a_fence_that_takes_too_long_fails),
        cmocka_unit_test(a_fence_of_ranks_that_there_are_not_is_nobodys),
        cmocka_unit_test(a_fence_with_a_job_that_nobody_knows_fails_on_all_hosts),
        cmocka_unit_test(a_group_tells_who_had_ended_before_it_was_built),
        cmocka_unit_test(all_hosts_name_a_destruction_alike),
        cmocka_unit_test(a_message_that_nobody_takes_is_dropped),
        cmocka_unit_test(a_stuck_library_ends_the_step),
    };
    return cmocka_run_group_tests_name("step_server", tests, nullptr, nullptr);
}
