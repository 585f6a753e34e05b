// See debugger_process.h.
#include "server-glue/indirect/debugger_process.h"

#include "common/start/indirect_words.h"
#include "common/start/spawn_channel.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "server-glue/debug/release.h"
#include "server-glue/debug/stop_ask.h"
#include "server-glue/indirect/debugger_peer.h"
#include "server-glue/indirect/packing.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/info_list.h"
#include "server-glue/library/library_version.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost::indirect {

namespace {

constexpr std::size_t longest_line = 64u << 10;
constexpr auto file_name = "/job";
// For a job's server to tell where it is, once there is a job: its hosts may have to start first. For a launcher to end
// whose job has, or that was refused. For what the other process has still to say at the end.
constexpr Duration server_patience = std::chrono::minutes(10), launcher_patience = std::chrono::seconds(10),
                   last_words = std::chrono::seconds(1), look_again = std::chrono::seconds(1);

constexpr std::int32_t bad_ends[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_EXIT_NONZERO_TERM, PMIX_ERR_PROC_TERM_WO_SYNC};
// What hosts report, which is not for handlers without codes. libpmix does not say which codes the debugger wants, but
// for those of the system's events.
constexpr std::int32_t reported[] = {PMIX_READY_FOR_DEBUG,       PMIX_EVENT_JOB_START,         PMIX_LAUNCH_COMPLETE,
                                     PMIX_EVENT_JOB_END,         PMIX_EVENT_PROC_TERMINATED,   PMIX_ERR_PROC_ABORTED,
                                     PMIX_ERR_EXIT_NONZERO_TERM, PMIX_ERR_PROC_TERM_WO_SYNC,   PMIX_EVENT_NODE_DOWN,
                                     PMIX_JCTRL_PREEMPT_ALERT,   PMIX_ERR_PROC_REQUESTED_ABORT};

void say(int channel, const std::string &line) {
    // Short against the socket's buffer, which is empty.
    [[maybe_unused]] ssize_t said = ::send(channel, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

} // namespace

DebuggerProcess::DebuggerProcess(Start start, std::function<void()> on_end)
    : start_(std::move(start)), on_end_(std::move(on_end)) {}

Result<void> DebuggerProcess::open() {
    DebuggerServer::Events events;
    events.on_works = [this] {
        works_ = true;
        server_->tell({PMIX_LAUNCHER_READY, start_.nspace, start_.rank, {}});
        tell_allocation();
        watch_debugger();
    };
    events.on_released = [this](Result<LaunchWishes> wishes) { on_released(std::move(wishes)); };
    events.on_call = [this](Call call, DebuggerServer::Reply reply) { on_call(std::move(call), std::move(reply)); };
    events.on_notify = [this](const Notify &event) { on_notify(event); };
    events.on_listen = [this](const Listen &codes) {
        begin_service();
        to_tool(codes);
    };
    events.on_input = [this](Bytes bytes, bool last, const DebuggerServer::Reply &reply) {
        on_input(std::move(bytes), last, reply);
    };
    events.on_signal = [this](int signal, const DebuggerServer::Reply &reply) {
        reply({0, control_.signal(signal, !released_), {}, {}});
    };
    events.on_debugger_gone = [this] { debugger_gone(); };
    // The launcher's own libpmix does not work before the release, which such a debugger may never send.
    if (start_.serves && library_works_after_release())
        return error(ErrorKind::unsupported,
                     "with libpmix {} a debugger cannot spawn by a launcher that it has not released; next: have it "
                     "start the launcher with the program",
                     text_of(library_version()));
    auto server = DebuggerServer::start(start_.loop, start_.nspace, start_.rank, start_.directory, start_.serves,
                                        std::move(events));
    if (!server)
        return server.failure();
    server_ = std::move(*server);
    tool_ = std::make_unique<Link>(
        start_.loop, std::move(start_.tool), Duration::zero(),
        Link::Callbacks{[this](std::uint8_t type, const Bytes &payload) { on_tool_message(type, payload); },
                        [this](const Error &) { on_tool_gone(); }});
    tool_->set_limit(longest_message);
    to_tool(Listen{{std::begin(reported), std::end(reported)}});
    to_tool(Listen()); // and what programs notify
    input_.emplace(start_.loop, STDIN_FILENO, std::move(start_.input));
    launcher_watch_ =
        start_.loop.watch(start_.launcher.get(), EventLoop::readable, [this](unsigned) { read_launcher(); });
    // The launcher does not hear of Ctrl-C while it waits for the word.
    std::size_t next = 0;
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        signals_[next++] = start_.loop.on_signal(signal, [this] {
            if (!released_)
                refuse_job("interrupted");
        });
    if (start_.keepalive)
        keepalive_watch_ =
            start_.loop.watch(start_.keepalive.get(), EventLoop::readable, [this](unsigned) { debugger_gone(); });
    return {};
}

void DebuggerProcess::on_released(Result<LaunchWishes> wishes) {
    if (over_ || killed_)
        return;
    if (!wishes)
        return refuse(wishes.failure().text);
    if (!start_.serves)
        let_go(*wishes);
}

void DebuggerProcess::begin_service() {
    if (start_.serves && !released_ && !refused_ && !over_ && !killed_ && debugger_is_connected(start_.debugger_uri))
        let_go({});
}

// The kernel is asked until it says so: that there is no connection yet, or nothing to ask with, passes.
Result<void> DebuggerProcess::may_be_obeyed() {
    if (is_ours_)
        return {};
    auto ours = check_debugger(start_.debugger_uri);
    is_ours_ = ours.ok();
    return ours;
}

void DebuggerProcess::let_go(const LaunchWishes &wishes) {
    if (auto ours = may_be_obeyed(); !ours)
        return refuse(ours.failure().text);
    released_ = true;
    held_ = HeldJob(wishes.stops);
    life_.ask(wishes.life);
    tell_keeper();
    for (const auto &note : wishes.notes)
        fmt::print(stderr, "pmixhost: {}\n", note);
    say(start_.launcher.get(),
        Released{start_.directory + file_name, wishes.stops.text(), wishes.life.told_ends()}.line());
}

// A launcher that waits for its allocation hears of it hours later.
void DebuggerProcess::refuse(const std::string &why) {
    refused_ = true;
    refuse_job(why);
    patience_ = start_.loop.after(launcher_patience, [this, why] {
        fmt::print(stderr, "pmixhost: {}\n", one_line(why));
        end_launcher();
    });
}

// libpmix does not tell of a debugger that leaves in order.
void DebuggerProcess::watch_debugger() {
    bool connected = debugger_is_connected(start_.debugger_uri);
    if (connected_ && !connected)
        return debugger_gone();
    connected_ = connected;
    begin_service();
    look_ = start_.loop.after(look_again, [this] { watch_debugger(); });
}

static std::vector<Process> affected_by(const Packed &packed) {
    std::vector<Process> affected;
    auto info = unpack_info(packed);
    for (const auto &each : info ? **info : std::vector<pmix_info_t>())
        if (PMIX_CHECK_KEY(&each, PMIX_EVENT_AFFECTED_PROC))
            read_processes(each.value, affected);
    return affected;
}

// Before the release nothing counts that came over the connection. The end of a job is for a launcher its own, in so
// many words (standard, "Indirect launch"), where no other job is named.
void DebuggerProcess::on_notify(const Notify &event) {
    begin_service();
    if (!released_)
        return;
    if (event.code == PMIX_EVENT_JOB_END) {
        auto affected = affected_by(event.info);
        if (affected.empty() || affected.front().nspace == start_.nspace)
            end_for_debugger();
        return;
    }
    if (event.code == PMIX_DEBUGGER_RELEASE)
        note_release(event);
    to_tool(event);
}

// Who stops where is told when all of them have; not where they are very many.
void DebuggerProcess::note_ready(const Heard &event) {
    if (event.code != PMIX_READY_FOR_DEBUG || !held_.stands())
        return;
    std::optional<StopPlace> place;
    std::vector<Process> named;
    auto info = unpack_info(event.info);
    for (const auto &each : info ? **info : std::vector<pmix_info_t>()) {
        if (PMIX_CHECK_KEY(&each, PMIX_BREAKPOINT) && each.value.type == PMIX_STRING && each.value.data.string) {
            std::string_view at = each.value.data.string;
            place = at == exec_breakpoint ? StopPlace::exec : at == init_breakpoint ? StopPlace::init : StopPlace::app;
        } else if (PMIX_CHECK_KEY(&each, PMIX_DEBUG_TARGET)) {
            read_processes(each.value, named);
        }
    }
    std::vector<Rank> ranks;
    for (const Process &each : named) {
        if (each.nspace == nspace_ && !each.wildcard)
            ranks.push_back(each.rank);
    }
    if (place && !ranks.empty())
        held_.stand_at(*place, ranks);
    tell_keeper();
}

void DebuggerProcess::note_release(const Notify &event) {
    auto info = unpack_info(event.info);
    if (auto processes = info ? let_go_by((*info)->data(), (*info)->size()) : std::nullopt)
        held_.released(*processes, nspace_);
    tell_keeper();
}

// --- the launcher

void DebuggerProcess::read_launcher() {
    char bytes[4096];
    ssize_t got = ::recv(start_.launcher.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0)
        return launcher_over();
    said_.append(bytes, static_cast<std::size_t>(got));
    while (said_.find('\n') != said_.npos) {
        std::string_view rest = said_, line = take_until(rest, '\n');
        launcher_says(line);
        said_ = std::string(rest);
    }
    if (said_.size() > longest_line)
        launcher_over();
}

void DebuggerProcess::launcher_says(std::string_view line) {
    if (auto code = parse_exited(line))
        exit_code_ = code;
    if (auto allocated = parse_allocated(line); allocated && !start_.serves) {
        allocated_ = std::move(allocated);
        return tell_allocation();
    }
    if (line.starts_with(ends_word)) {
        if (auto ends = parse_host_ends(line.substr(ends_word.size())))
            life_.note_ends(*ends);
        return;
    }
    if (auto count = parse_process_count(line); count && nspace_.empty())
        processes_ = *count;
    auto event = parse_spawn_event(line);
    if (event && event->kind == SpawnEvent::Kind::started)
        return life_.started();
    if (event && event->kind == SpawnEvent::Kind::launched && event->status == 0)
        return life_.running();
    if (!event || event->kind != SpawnEvent::Kind::created || !nspace_.empty())
        return;
    nspace_ = std::move(event->text);
    if (!start_.serves)
        life_.begin(nspace_, processes_);
    to_tool(AwaitJob{start_.directory + file_name});
    patience_ = start_.loop.after(server_patience, [this] {
        not_reached("its server has not told where it is; are tools switched off (tools.enabled of pmixhost.conf)?");
    });
}

// A launcher may have its allocation before libpmix works, and while it waits for the release.
void DebuggerProcess::tell_allocation() {
    if (works_ && allocated_)
        life_.allocated(*std::exchange(allocated_, std::nullopt));
}

void DebuggerProcess::launcher_over() {
    if (std::exchange(over_, true))
        return;
    launcher_watch_.reset();
    keepalive_watch_.reset();
    look_.reset();
    fail_calls(PMIX_ERR_UNREACH);
    patience_.reset();
    if (tool_ && reached_)
        patience_ = start_.loop.after(last_words, [this] { told_end(); });
    else
        told_end();
}

void DebuggerProcess::told_end() {
    if (std::exchange(told_end_, true))
        return;
    patience_.reset();
    if (exit_code_ == 0)
        life_.running(); // it must have been
    life_.ended(exit_code_);
    life_.allocation_over();
    server_->end([this] { on_end_(); });
}

// libpmix gives no pipe to what shall outlive the debugger (PMIX_NOHUP). But nobody else lets those go who stand.
void DebuggerProcess::debugger_gone() {
    keepalive_watch_.reset();
    look_.reset();
    goes_on_ = goes_on_ || (released_ && !held_.stands() && !start_.keepalive && !start_.serves);
    if (!goes_on_)
        return end_for_debugger();
    input_->no_more_pushes();
    let_job_go_on();
}

// What it has paused, and whom its daemons may have left standing: they end with it, unless they were asked to go on,
// and then it is their business. In a job that has gone on nobody notices a release.
void DebuggerProcess::let_job_go_on() {
    if (!tool_)
        return; // not_reached() ends what is held then
    for (const auto &paused : held_.take_paused())
        control(paused, PMIX_JOB_CTRL_RESUME);
    tell_keeper();
    for (const auto &daemons : held_.take_daemons())
        control({{daemons, 0, true}}, PMIX_JOB_CTRL_KILL);
    if (!held_.is_left() || nspace_.empty())
        return;
    InfoList info;
    info.add(PMIX_EVENT_NON_DEFAULT, true);
    info.add_processes(PMIX_EVENT_CUSTOM_RANGE, {proc_of(nspace_, PMIX_RANK_WILDCARD)});
    if (auto packed = pack_info(info.data(), info.size()))
        to_tool(Notify{PMIX_DEBUGGER_RELEASE, PMIX_RANGE_CUSTOM, std::move(*packed)});
}

// Without this process nobody lets those go who stand, and nobody ends the launcher with its debugger.
void DebuggerProcess::tell_keeper() {
    const bool may = released_ && pausing_ == 0 && !held_.may_stand() && !start_.keepalive && !start_.serves;
    if (may != std::exchange(may_go_on_, may))
        start_.keeper.when_killed(may ? Keeper::Launcher::goes_on : Keeper::Launcher::ends);
}

void DebuggerProcess::control(const std::vector<Process> &whom, const char *what) {
    auto processes = procs_of(whom);
    InfoList info;
    info.add(what, true);
    auto first = pack(processes.data(), processes.size(), PMIX_PROC);
    auto second = pack_info(info.data(), info.size());
    if (!first || !second)
        return;
    Call call{next_call_++, CallKind::control, std::move(*first), std::move(*second)};
    to_tool(call); // nobody is left who would hear the answer
}

void DebuggerProcess::end_for_debugger() {
    keepalive_watch_.reset();
    if (!over_)
        read_launcher(); // it may have ended before
    if (over_ || std::exchange(killed_, true))
        return;
    end_launcher();
    if (!released_)
        refuse_job("the debugger that has started this job is gone");
}

// --- what the debugger asks for

static std::vector<Process> targets_of(const Call &call) {
    auto processes = unpack_processes(call.first);
    return processes ? processes_of((*processes)->data(), (*processes)->size()) : std::vector<Process>();
}

// It may say so of the job, and of each program.
static bool asks_to_outlive(const Call &call) {
    auto in = [](const pmix_info_t *info, std::size_t count) {
        return std::any_of(info, info + count, [](const pmix_info_t &each) {
            return PMIX_CHECK_KEY(&each, PMIX_NOHUP) && PMIX_INFO_TRUE(&each);
        });
    };
    auto info = unpack_info(call.first);
    auto apps = unpack_apps(call.second);
    return (info && in((*info)->data(), (*info)->size())) ||
           (apps && std::any_of((*apps)->begin(), (*apps)->end(),
                                [&](const pmix_app_t &app) { return in(app.info, app.info ? app.ninfo : 0); }));
}

void DebuggerProcess::on_call(Call call, DebuggerServer::Reply reply) {
    begin_service();
    if (!released_ || over_ || !tool_)
        return reply({0, over_ || !tool_ ? PMIX_ERR_UNREACH : PMIX_ERR_NOT_AVAILABLE, {}, {}});
    if (start_.serves && call.kind == CallKind::spawn && asks_to_outlive(call)) {
        fmt::print(stderr, "pmixhost: PMIx_Spawn by a launcher: what it starts ends with its debugger: not with "
                           "PMIX_NOHUP\n");
        return reply({0, PMIX_ERR_NOT_SUPPORTED, {}, {}});
    }
    call.id = next_call_++;
    calls_.emplace(call.id, noting_who_goes_on(call, std::move(reply)));
    to_tool(call);
}

// What the debugger asks for at its end is heard of behind that. A pause may have stopped some, whatever the answer.
DebuggerServer::Reply DebuggerProcess::noting_who_goes_on(const Call &call, DebuggerServer::Reply reply) {
    std::function<void(const Answer &)> note;
    auto is_success = [](const Answer &answer) {
        return answer.status == PMIX_SUCCESS || answer.status == PMIX_OPERATION_SUCCEEDED;
    };
    auto is_refused = [](const Answer &answer) {
        constexpr pmix_status_t refused[] = {PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NOT_FOUND, PMIX_ERR_BAD_PARAM,
                                             PMIX_ERR_NOT_SUPPORTED};
        return std::find(std::begin(refused), std::end(refused), answer.status) != std::end(refused);
    };
    if (auto second = unpack_info(call.kind == CallKind::control ? call.second : Packed())) {
        if (auto signals = stops_and_goes((*second)->data(), (*second)->size()); !signals.empty()) {
            const bool pauses = signals.back() == SIGSTOP;
            pausing_ += pauses;
            tell_keeper();
            note = [this, is_success, is_refused, signals, pauses, processes = targets_of(call)](const Answer &answer) {
                pausing_ -= pauses;
                if (is_success(answer) || (pauses && !is_refused(answer)))
                    held_.signalled(processes, signals, nspace_);
            };
        }
    }
    auto info = unpack_info(call.kind == CallKind::spawn ? call.first : Packed());
    auto apps = unpack_apps(call.kind == CallKind::spawn ? call.second : Packed());
    if (info && apps &&
        starts_daemons_beside(nspace_, (*info)->data(), (*info)->size(), (*apps)->data(), (*apps)->size()))
        note = [this, is_success, go_on = asks_to_outlive(call)](const Answer &answer) {
            if (is_success(answer))
                held_.daemons_run(answer.nspace, go_on);
        };
    if (!note)
        return reply;
    return [this, note = std::move(note), reply = std::move(reply)](Answer answer) {
        note(answer);
        tell_keeper();
        if (goes_on_)
            let_job_go_on();
        reply(std::move(answer));
    };
}

void DebuggerProcess::on_input(Bytes bytes, bool last, const DebuggerServer::Reply &reply) {
    if (!released_)
        return reply({0, PMIX_ERR_NOT_AVAILABLE, {}, {}});
    auto taken = over_ ? InputRelay::Taken::closed : input_->push(std::move(bytes), last);
    reply({0,
           taken == InputRelay::Taken::yes    ? PMIX_SUCCESS
           : taken == InputRelay::Taken::full ? PMIX_ERR_OUT_OF_RESOURCE
                                              : PMIX_ERR_IOF_COMPLETE,
           {},
           {}});
}

void DebuggerProcess::fail_calls(pmix_status_t status) {
    for (auto &[id, reply] : std::exchange(calls_, {}))
        reply({id, status, {}, {}});
}

// --- the job

void DebuggerProcess::on_tool_message(std::uint8_t type, const Bytes &payload) {
    auto with = [&]<typename Message>(Message, auto body) {
        if (auto message = wire::decode<Message>(payload))
            body(std::move(*message));
    };
    switch (type) {
    case Reached::type:
        return with(Reached(), [this](const Reached &reached) {
            patience_.reset();
            reached_ = reached.failure.empty();
            if (!reached_) // posted: this is called from within the link
                start_.loop.post([this, why = reached.failure] { not_reached(why); });
        });
    case Answer::type:
        return with(Answer(), [this](const Answer &answer) {
            auto call = calls_.find(answer.id);
            if (call == calls_.end())
                return;
            auto reply = std::move(call->second);
            calls_.erase(call);
            reply(answer);
        });
    case Heard::type:
        return with(Heard(), [this](Heard event) {
            if (start_.serves && event.nspace == nspace_)
                return; // of what holds the place
            note_end(event);
            note_daemons_end(event);
            note_ready(event);
            if (life_.passes(event.code, event.nspace))
                server_->tell(std::move(event));
        });
    case Output::type:
        return with(Output(), [this](Output output) { server_->deliver(std::move(output)); });
    }
}

// The job has ended, and the launcher's end comes by itself; or the other process came to grief.
void DebuggerProcess::on_tool_gone() {
    start_.loop.post([this] {
        tool_.reset();
        fail_calls(PMIX_ERR_UNREACH);
        if (over_)
            told_end();
        else
            patience_ = start_.loop.after(launcher_patience, [this] { not_reached("the connection is lost"); });
    });
}

// A job that stands would stand for ever, and a launcher without a program is of no use. Any other job goes on, but
// nothing that the debugger asks comes to it.
void DebuggerProcess::not_reached(std::string_view why) {
    patience_.reset();
    if (over_ || killed_)
        return;
    tool_.reset();
    bool is_ended = start_.serves || held_.any();
    if (is_ended)
        fmt::print(stderr, "pmixhost: the debugger does not reach {}, so it is ended: {}\n",
                   start_.serves ? "what it has started to spawn by" : "the job whose processes shall stop for it",
                   one_line(why));
    else if (!reached_ && !goes_on_) // else the job is about to end, or nobody asks
        fmt::print(stderr, "pmixhost: the debugger does not reach the job, which goes on without it: {}\n",
                   one_line(why));
    fail_calls(PMIX_ERR_UNREACH); // behind what says why: it may end at the refusal
    if (is_ended)
        end_launcher();
}

bool DebuggerProcess::signal_launcher(int signal) {
    return start_.launcher_end && syscall(SYS_pidfd_send_signal, start_.launcher_end.get(), signal, nullptr, 0) == 0;
}

bool DebuggerProcess::end_launcher() {
    return signal_launcher(SIGTERM);
}

void DebuggerProcess::refuse_job(const std::string &why) {
    say(start_.launcher.get(), refused_line(why));
}

void DebuggerProcess::kill_launcher_later() {
    if (!kill_)
        kill_ = start_.loop.after(launcher_patience, [this] { signal_launcher(SIGKILL); });
}

void DebuggerProcess::note_end(const Heard &event) {
    if (event.nspace != nspace_ ||
        std::find(std::begin(bad_ends), std::end(bad_ends), event.code) == std::end(bad_ends))
        return;
    auto info = unpack_info(event.info);
    std::optional<long long> code;
    std::optional<Rank> rank;
    for (const auto &each : info ? **info : std::vector<pmix_info_t>()) {
        if (PMIX_CHECK_KEY(&each, PMIX_EXIT_CODE))
            code = number_of(each.value);
        else if (PMIX_CHECK_KEY(&each, PMIX_EVENT_AFFECTED_PROC) && each.value.type == PMIX_PROC)
            rank = each.value.data.proc->rank;
    }
    if (rank)
        life_.note_failure({*rank, static_cast<std::int32_t>(code.value_or(-1))});
}

// Whom they have left standing, or who comes to stand behind that, somebody has to let go.
void DebuggerProcess::note_daemons_end(const Heard &event) {
    if (event.code == PMIX_EVENT_JOB_END) {
        for (const Process &each : affected_by(event.info))
            held_.ended(each.nspace);
    }
    if (goes_on_ && (event.code == PMIX_EVENT_JOB_END || event.code == PMIX_READY_FOR_DEBUG))
        let_job_go_on();
}

void DebuggerProcess::tell(const HostEvent &event) {
    if (auto packed = pack_info(event.info->data(), event.info->size()))
        server_->tell({event.code, event.source.nspace, event.source.rank, std::move(*packed)});
}

} // namespace pmixhost::indirect
