// See debugger_server.h.
#include "server-glue/indirect/debugger_server.h"

#include "server-glue/indirect/packing.h"
#include "server-glue/library/connected_server.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/info_list.h"
#include "server-glue/library/iof_deregistration.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/pmix_library.h"

#include <pmix.h>
#include <pmix_server.h>

#include <algorithm>
#include <atomic>
#include <csignal>

namespace pmixhost::indirect {

// What libpmix' table of functions, which has no argument of ours, calls.
static std::atomic<DebuggerServer *> the_server = nullptr;

static constexpr const char *stop_pulling = "pmix.iof.stop"; // PMIX_IOF_STOP, which libpmix has for itself
static constexpr Duration end_patience = std::chrono::seconds(3);
static constexpr Duration look_for_start = std::chrono::milliseconds(10);
static constexpr Duration linger = std::chrono::milliseconds(300);

// The way from an upcall to the loop.
struct Upcalled {
    template <typename Body> static pmix_status_t post(Body body) noexcept {
        DebuggerServer *server = the_server;
        if (!server)
            return PMIX_ERR_NOT_AVAILABLE;
        try {
            server->loop_.post([server, body = std::move(body)] { body(*server, server->events_); });
            return PMIX_SUCCESS;
        } catch (...) {
            return PMIX_ERR_NOMEM;
        }
    }
    // The other way. libpmix 4.2.2 touches its own lists in some callbacks: all are called in its thread.
    static void in_library(DebuggerServer &server, std::function<void()> call) {
        server.calls_->run("an answer", [call = std::move(call)] { PmixLibrary::in_progress_thread(call); });
    }
    static bool is_here(const DebuggerServer &server, std::string_view nspace) { return server.nspace_ == nspace; }
    static Named named(const pmix_proc_t *procs, std::size_t count) {
        DebuggerServer *server = the_server;
        return server ? named_by(server->nspace_, procs, count) : Named::jobs;
    }
    // In libpmix' thread.
    static void note_child(DebuggerServer &server, const std::string &nspace) { server.children_.insert(nspace); }
    static bool is_child(const pmix_proc_t &process) {
        DebuggerServer *server = the_server;
        return server && server->children_.contains(process_of(process).nspace);
    }
    static void forget_connection(DebuggerServer &server) {
        server.loses_refusals_ =
            library_drops_refusals_of_connected_servers() && !(library_is_of_headers() && pmixhost_forget_connection());
    }
    static bool serves(const DebuggerServer &server) { return server.serves_; }
};

namespace {

using Reply = DebuggerServer::Reply;

Reply list_reply(DebuggerServer &server, pmix_info_cbfunc_t callback, void *data) {
    return [&server, callback, data](const Answer &answer) {
        auto info = answer.status == PMIX_SUCCESS || answer.info.count > 0
                        ? unpack_info(answer.info)
                        : Result<Unpacked<pmix_info_t>>(std::make_shared<std::vector<pmix_info_t>>());
        pmix_status_t status = info ? answer.status : PMIX_ERR_UNPACK_FAILURE;
        auto values = info ? *info : std::make_shared<std::vector<pmix_info_t>>();
        Upcalled::in_library(server, [callback, data, status, values] {
            auto *kept = new Unpacked<pmix_info_t>(values);
            callback(
                status, values->empty() ? nullptr : values->data(), values->size(), data,
                [](void *released) { delete static_cast<Unpacked<pmix_info_t> *>(released); }, kept);
        });
    };
}

Reply op_reply(DebuggerServer &server, pmix_op_cbfunc_t callback, void *data) {
    return [&server, callback, data](const Answer &answer) {
        Upcalled::in_library(server, [callback, data, status = answer.status] { callback(status, data); });
    };
}

pmix_status_t post_call(Call call, pmix_info_cbfunc_t callback, void *data) {
    return Upcalled::post([call = std::move(call), callback, data](DebuggerServer &server, const auto &events) {
        events.on_call(call, list_reply(server, callback, data));
    });
}

// Always answered through the callback: what the upcall refuses itself libpmix 4.2.2 frees twice.
pmix_status_t on_spawn(const pmix_proc_t *, const pmix_info_t info[], std::size_t info_count, const pmix_app_t apps[],
                       std::size_t app_count, pmix_spawn_cbfunc_t callback, void *data) {
    auto refuse = [callback, data](pmix_status_t status) -> pmix_status_t {
        DebuggerServer *server = the_server;
        if (!server)
            return status;
        Upcalled::in_library(*server, [callback, data, status] { callback(status, nullptr, data); });
        return PMIX_SUCCESS;
    };
    auto first = pack_info(info, info_count);
    auto second = pack(apps, app_count, PMIX_APP);
    if (!first || !second)
        return refuse(PMIX_ERR_PACK_FAILURE);
    Call call{0, CallKind::spawn, std::move(*first), std::move(*second)};
    pmix_status_t posted =
        Upcalled::post([call = std::move(call), callback, data](DebuggerServer &server, const auto &events) {
            events.on_call(call, [&server, callback, data](const Answer &answer) {
                Upcalled::in_library(
                    server, [&server, callback, data, status = answer.status, nspace = answer.nspace]() mutable {
                        if (!nspace.empty())
                            Upcalled::note_child(server, nspace);
                        callback(status, nspace.empty() ? nullptr : nspace.data(), data);
                    });
            });
        });
    return posted == PMIX_SUCCESS ? PMIX_SUCCESS : refuse(posted);
}

pmix_status_t on_query(pmix_proc_t *, pmix_query_t queries[], std::size_t count, pmix_info_cbfunc_t callback,
                       void *data) {
    DebuggerServer *server = the_server;
    if (!server || !server->is_released())
        return PMIX_ERR_NOT_AVAILABLE; // at once: a later refusal might get lost (library/connected_server.h)
    if (Upcalled::serves(*server))
        Upcalled::forget_connection(*server); // PMIx_server_init has not returned, but its connection is made
    auto packed = pack(queries, count, PMIX_QUERY);
    if (!packed)
        return PMIX_ERR_PACK_FAILURE;
    Call call{0, CallKind::query, std::move(*packed), {}};
    return Upcalled::post([call = std::move(call), callback, data](DebuggerServer &server, const auto &events) {
        events.on_call(call, [reply = list_reply(server, callback, data),
                              lost = server.loses_refusals()](const Answer &answer) {
            reply(lost && answer.status != PMIX_SUCCESS ? Answer{answer.id, PMIX_SUCCESS, {}, answer.info} : answer);
        });
    });
}

// Of what can be done to a process, the launcher takes signals.
pmix_status_t signal_launcher(const pmix_info_t directives[], std::size_t count, pmix_info_cbfunc_t callback,
                              void *data) {
    int signal = 0;
    for (std::size_t i = 0; directives && i < count; ++i) {
        auto number = number_of(directives[i].value);
        if (PMIX_CHECK_KEY(&directives[i], PMIX_JOB_CTRL_KILL) && flag_of(directives[i].value))
            signal = SIGKILL;
        else if (PMIX_CHECK_KEY(&directives[i], PMIX_JOB_CTRL_TERMINATE) && flag_of(directives[i].value))
            signal = SIGTERM;
        else if (PMIX_CHECK_KEY(&directives[i], PMIX_JOB_CTRL_SIGNAL) && number && *number > 0 && *number < NSIG)
            signal = static_cast<int>(*number);
    }
    if (signal == 0)
        return PMIX_ERR_NOT_SUPPORTED;
    return Upcalled::post([signal, callback, data](DebuggerServer &server, const auto &events) {
        events.on_signal(signal, list_reply(server, callback, data));
    });
}

pmix_status_t on_control(const pmix_proc_t *, const pmix_proc_t targets[], std::size_t target_count,
                         const pmix_info_t directives[], std::size_t count, pmix_info_cbfunc_t callback, void *data) {
    Named whom = Upcalled::named(targets, target_count);
    if (whom == Named::both)
        return PMIX_ERR_BAD_PARAM; // one answer would be for what two have done
    if (whom == Named::launcher)
        return signal_launcher(directives, count, callback, data);
    auto first = pack(targets, target_count, PMIX_PROC);
    auto second = pack_info(directives, count);
    if (!first || !second)
        return PMIX_ERR_PACK_FAILURE;
    return post_call({0, CallKind::control, std::move(*first), std::move(*second)}, callback, data);
}

// What is for this process alone, the release, libpmix has heard itself.
pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t *, pmix_data_range_t range, pmix_info_t info[],
                        std::size_t count, pmix_op_cbfunc_t, void *) {
    std::vector<Process> custom;
    for (std::size_t i = 0; info && i < count; ++i)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_CUSTOM_RANGE))
            read_processes(info[i].value, custom);
    auto packed = pack_info(info, count);
    if (!packed)
        return PMIX_ERR_PACK_FAILURE;
    Notify event{code, range, std::move(*packed)};
    pmix_status_t posted = Upcalled::post(
        [event = std::move(event), custom = std::move(custom)](DebuggerServer &server, const auto &events) {
            bool here = std::all_of(custom.begin(), custom.end(),
                                    [&](const Process &process) { return Upcalled::is_here(server, process.nspace); });
            if (custom.empty() || !here)
                events.on_notify(event);
        });
    return posted == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : posted;
}

pmix_status_t on_register(pmix_status_t codes[], std::size_t count, const pmix_info_t[], std::size_t, pmix_op_cbfunc_t,
                          void *) {
    Listen listen{std::vector<std::int32_t>(codes, codes + (codes ? count : 0))};
    pmix_status_t posted = Upcalled::post(
        [listen = std::move(listen)](DebuggerServer &, const auto &events) { events.on_listen(listen); });
    return posted == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : posted;
}
pmix_status_t on_deregister(pmix_status_t *, std::size_t, pmix_op_cbfunc_t, void *) {
    return PMIX_OPERATION_SUCCEEDED;
}

// The launcher's output goes to who started it, without this; what is delivered of a spawned process libpmix gives to
// who pulls it.
pmix_status_t on_pull(const pmix_proc_t procs[], std::size_t count, const pmix_info_t directives[],
                      std::size_t directive_count, pmix_iof_channel_t, pmix_op_cbfunc_t, void *data) {
    for (std::size_t i = 0; directives && i < directive_count; ++i)
        if (PMIX_CHECK_KEY(&directives[i], stop_pulling) && library_answers_iof_deregistrations_astray() &&
            library_is_of_headers())
            pmixhost_mend_iof_deregistration(data);
    bool known = !procs || std::all_of(procs, procs + count, [](const pmix_proc_t &each) {
        return Upcalled::named(&each, 1) == Named::launcher || Upcalled::is_child(each);
    });
    return known ? PMIX_OPERATION_SUCCEEDED : PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t on_push(const pmix_proc_t *, const pmix_proc_t targets[], std::size_t count,
                      const pmix_info_t directives[], std::size_t directive_count, const pmix_byte_object_t *bytes,
                      pmix_op_cbfunc_t callback, void *data) {
    Bytes pushed = bytes && bytes->bytes ? Bytes(bytes->bytes, bytes->size) : Bytes();
    Named whom = Upcalled::named(targets, count);
    if (whom == Named::both)
        return PMIX_ERR_BAD_PARAM;
    if (whom == Named::jobs) {
        auto first = pack(targets, targets ? count : 0, PMIX_PROC);
        auto second = pack_info(directives, directives ? directive_count : 0);
        if (!first || !second)
            return PMIX_ERR_PACK_FAILURE;
        Call call{0, CallKind::input, std::move(*first), std::move(*second), std::move(pushed)};
        return Upcalled::post([call = std::move(call), callback, data](DebuggerServer &server, const auto &events) {
            events.on_call(call, op_reply(server, callback, data));
        });
    }
    bool last = pushed.empty();
    for (std::size_t i = 0; directives && i < directive_count; ++i)
        last = last || (PMIX_CHECK_KEY(&directives[i], PMIX_IOF_COMPLETE) && flag_of(directives[i].value));
    return Upcalled::post(
        [pushed = std::move(pushed), last, callback, data](DebuggerServer &server, const auto &events) {
            events.on_input(pushed, last, op_reply(server, callback, data));
        });
}

void on_lost(std::size_t, pmix_status_t, const pmix_proc_t *, pmix_info_t[], std::size_t, pmix_info_t[], std::size_t,
             pmix_event_notification_cbfunc_fn_t done, void *data) {
    Upcalled::post([](DebuggerServer &, const auto &events) { events.on_debugger_gone(); });
    if (done)
        done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, data);
}

Result<LaunchWishes> get_wishes(const std::string &nspace) {
    pmix_proc_t job = proc_of(nspace, PMIX_RANK_WILDCARD);
    pmix_value_t *value = nullptr;
    pmix_status_t status = PMIx_Get(&job, PMIX_LAUNCH_DIRECTIVES, nullptr, 0, &value);
    if (status == PMIX_ERR_NOT_FOUND)
        return LaunchWishes();
    if (status != PMIX_SUCCESS)
        return error(ErrorKind::system, "the debugger's directives cannot be read: {}", PMIx_Error_string(status));
    Result<LaunchWishes> wishes = error(ErrorKind::invalid, "the debugger's directives are no array");
    if (value->type == PMIX_DATA_ARRAY && value->data.darray && value->data.darray->type == PMIX_INFO)
        wishes =
            read_launch_wishes(static_cast<const pmix_info_t *>(value->data.darray->array), value->data.darray->size);
    PMIX_VALUE_RELEASE(value);
    return wishes;
}

} // namespace

Result<std::unique_ptr<DebuggerServer>> DebuggerServer::start(EventLoop &loop, std::string nspace, std::uint32_t rank,
                                                              const std::string &directory, bool serves,
                                                              Events events) {
    std::unique_ptr<DebuggerServer> server(
        new DebuggerServer(loop, std::move(nspace), rank, serves, std::move(events)));
    auto complain = [](const std::string &what) {
        fmt::print(stderr, "pmixhost-indirect: internal error: {}\n", what);
    };
    auto first = LibraryThread::start(complain), calls = LibraryThread::start(complain);
    auto takeover = ListenerTakeover::create();
    if (!first || !calls || !takeover)
        return !first ? first.failure() : !calls ? calls.failure() : takeover.failure();
    server->first_ = std::move(*first);
    server->calls_ = std::move(*calls);
    server->takeover_ = std::move(*takeover);
    the_server = server.get();
    server->first_->run("PMIx_server_init", [raw = server.get(), directory] {
        static pmix_server_module_t module{}; // libpmix keeps it
        module.spawn = on_spawn;
        module.query = on_query;
        module.job_control = on_control;
        module.notify_event = on_notify;
        module.register_events = on_register;
        module.deregister_events = on_deregister;
        module.iof_pull = on_pull;
        module.push_stdin = on_push;
        InfoList info;
        info.add(PMIX_SERVER_NSPACE, raw->nspace_);
        info.add_rank(PMIX_SERVER_RANK, raw->rank_);
        info.add(PMIX_SERVER_TMPDIR, directory);
        info.add(PMIX_SYSTEM_TMPDIR, directory);
        pmix_status_t status;
        {
            ListenerTakeover::Scope scope(*raw->takeover_);
            status = PMIx_server_init(&module, info.data(), info.size());
        }
        auto wishes = status == PMIX_SUCCESS ? get_wishes(raw->nspace_)
                                             : Result<LaunchWishes>(error(ErrorKind::unreachable,
                                                                          "the debugger that has started this job "
                                                                          "is not to be reached: {}",
                                                                          PMIx_Error_string(status)));
        // What comes from now on is the job's business.
        PmixLibrary::in_progress_thread([raw] {
            Upcalled::forget_connection(*raw);
            raw->released_ = true;
        });
        raw->loop_.post([raw, wishes = std::move(wishes)] { raw->events_.on_released(wishes); });
    });
    server->await_start();
    return server;
}

// It is ended with the process, in which threads of libpmix may be calling up.
DebuggerServer::~DebuggerServer() {
    the_server = nullptr;
}

// PMIx_server_init holds libpmix' lock until the library works, and goes on to the debugger then.
void DebuggerServer::await_start() {
    calls_->run("PMIx_Initialized", [this] {
        bool works = PMIx_Initialized();
        if (works) {
            takeover_->stop_listening();
            PmixLibrary::register_handler({PMIX_ERR_LOST_CONNECTION}, on_lost, [](pmix_status_t) {});
        }
        loop_.post([this, works] {
            works_ = works;
            if (works)
                return events_.on_works();
            patience_ = loop_.after(look_for_start, [this] { await_start(); });
        });
    });
}

void DebuggerServer::tell(Heard event) {
    calls_->run("PMIx_Notify_event", [event = std::move(event)] {
        auto info = unpack_info(event.info);
        if (!info)
            return;
        // What is told first stays so (host_events.cc).
        std::vector<pmix_info_t> all;
        for (const auto &each : **info)
            if (!PMIX_CHECK_KEY(&each, PMIX_EVENT_NON_DEFAULT) && !PMIX_CHECK_KEY(&each, PMIX_EVENT_CUSTOM_RANGE))
                all.push_back(each); // what it holds stays that of `info`
        InfoList flag;
        flag.add(PMIX_EVENT_NON_DEFAULT, true);
        all.push_back(*flag.data());
        pmix_proc_t source = proc_of(event.nspace, event.rank);
        PMIx_Notify_event(event.code, &source, PMIX_RANGE_LOCAL, all.data(), all.size(), nullptr, nullptr);
    });
}

void DebuggerServer::deliver(Output output) {
    calls_->run("PMIx_server_IOF_deliver", [output = std::move(output)]() mutable {
        auto info = unpack_info(output.info);
        if (!info)
            return;
        pmix_proc_t source = proc_of(output.nspace, output.rank);
        pmix_byte_object_t bytes{output.bytes.data(), output.bytes.size()};
        PMIx_server_IOF_deliver(&source, output.channel, &bytes, (*info)->data(), (*info)->size(), nullptr, nullptr);
    });
}

// What was told last is in queues of libpmix, here and at the debugger, where the end of the connection that comes at
// the same moment is heard before it. Nobody says when they are empty.
void DebuggerServer::end(std::function<void()> done) {
    done_ = std::move(done);
    if (!works_)
        return loop_.post([this] { ended(); });
    patience_ = loop_.after(linger, [this] {
        patience_ = loop_.after(end_patience, [this] { ended(); });
        calls_->run("PMIx_server_finalize", [this] {
            PMIx_server_finalize();
            loop_.post([this] { ended(); });
        });
    });
}

void DebuggerServer::ended() {
    patience_.reset();
    if (auto done = std::exchange(done_, nullptr))
        done();
}

} // namespace pmixhost::indirect
