// See host_debug.h.
#include "tools/debug/host_debug.h"

#include "tools/debug/command_pipe.h"
#include "tools/debug/debugged_rank.h"
#include "tools/debug/ready_for_debug.h"
#include "tools/debug/signal_ends_input.h"
#include "tools/stacks/attach_refusal.h"
#include "tools/stacks/debug_rights.h"
#include "tools/stacks/hold_notice.h"
#include "tools/stacks/read_stacks.h"
#include "tools/stacks/this_host.h"
#include "tools/view/process_list.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <poll.h>
#include <set>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

constexpr auto to_let_all_go = std::chrono::seconds(12); // a busy host; below to_leave of those who wait for it
constexpr auto to_release = std::chrono::seconds(10), to_look = std::chrono::seconds(10);
// Once it is over: for ranks on their way to their first instruction, all together.
constexpr auto to_come_there = std::chrono::seconds(5);
constexpr std::chrono::milliseconds slice{200};
// The first gdb reads the debugging information of the program and its libraries, and the others what it has made of
// that: but where it takes longer than this they begin all the same.
constexpr auto first_alone = std::chrono::seconds(20);
constexpr std::size_t worth_waiting = 3; // ranks: two gdbs that read it both are as fast

// Where the gdbs of this host find what the first of them has made of debugging information. It lies in the directory
// of the job's daemon, with which it goes where this is killed.
class IndexDirectory {
  public:
    IndexDirectory() = default;
    IndexDirectory(const IndexDirectory &) = delete;
    ~IndexDirectory() {
        std::error_code ignored;
        if (!path_.empty())
            std::filesystem::remove_all(path_, ignored);
    }
    void make_beside(const std::string &file) {
        std::string path = std::filesystem::path(file).parent_path().string() + "/gdb-index.XXXXXX";
        if (::mkdtemp(path.data()))
            path_ = std::move(path);
    }
    const std::string &path() const { return path_; } // empty: none

  private:
    std::string path_;
};

class HostDebug {
  public:
    HostDebug(const HostDebugAsk &ask, int in, int out) : ask_(ask), pipe_(in, out) {}

    void run() {
        std::signal(SIGPIPE, SIG_IGN);
        SignalEndsInput ends(pipe_.input());
        begin();
        pipe_.count_silence_anew();
        while (!pipe_.is_over()) {
            turn();
            release_when_held();
        }
        std::vector<Rank> held; // and those that were announced and have no gdb yet
        for (Rank rank : here_) {
            auto one = ranks_.find(rank);
            if (!told_over_.contains(rank) && (one == ranks_.end() || !one->second.is_lost()))
                held.push_back(rank);
        }
        let_go();
        notice_.over();
        // The command may still be there, and wait for their answers.
        for (Rank rank : told_to_leave_ ? std::vector<Rank>() : held)
            tell(rank, {0, GdbEvent::Kind::gone, "it was let go on its host, and is not debugged any more\n"});
    }

  private:
    // Waits once, and takes what there is.
    void turn() {
        std::vector<pollfd> waits{{pipe_.input(), POLLIN, 0}};
        std::vector<Rank> of;
        for (auto &[rank, one] : ranks_) {
            if (one.is_lost())
                continue;
            waits.push_back({one.output(), POLLIN, 0});
            of.push_back(rank);
        }
        for (auto &[rank, one] : ranks_) {
            if (!one.is_lost() && one.has_to_write())
                waits.push_back({one.input(), POLLOUT, 0});
        }
        bool wished = std::any_of(ranks_.begin(), ranks_.end(),
                                  [](const auto &one) { return !one.second.is_lost() && one.second.wish_is_due(); });
        int ready = ::poll(waits.data(), waits.size(), wished ? 100 : 1000);
        if (ready > 0 && waits[0].revents != 0)
            pipe_.take();
        obey_commands(); // those, too, that have come while something was said
        for (std::size_t i = 0; ready > 0 && i < of.size(); ++i) {
            if (waits[i + 1].revents != 0)
                read_from(of[i], ranks_.at(of[i]));
        }
        for (auto &[rank, one] : ranks_) {
            if (!one.is_lost() && one.has_to_write())
                one.write(); // as much as its pipe takes
            if (!one.is_lost() && one.wish_is_due())
                one.look_at_wish();
        }
        pipe_.look_at_silence();
    }

    bool at_exec() const { return ask_.stop == StopPlace::exec; }
    bool for_release() const { return ask_.stop && !at_exec(); }

    std::vector<ListedServer> servers_here() {
        auto all = servers_of(servers_below(rendezvous_root()), ask_.nspace);
        std::erase_if(all, [this](const auto &server) { return server.job != ask_.nspace; });
        return all;
    }

    // Until all processes of the job have come to where they wait for a debugger. Fails with what to say of them.
    Result<void> await_ready(StackClock::time_point deadline) {
        std::optional<ReadyForDebug> ready;
        std::string why;
        for (; StackClock::now() < deadline && !pipe_.is_over();) {
            if (auto servers = ready ? std::vector<ListedServer>() : servers_here(); !servers.empty()) {
                auto listens = ReadyForDebug::listen(servers[0]);
                if (!listens)
                    return listens.failure();
                ready.emplace(std::move(*listens));
            }
            // On a host of the allocation that has no process of the job, this is ended from outside.
            pollfd waits[2] = {{pipe_.input(), POLLIN, 0}, {ready ? ready->fd() : -1, POLLIN, 0}};
            if (::poll(waits, 2, 500) <= 0)
                continue;
            if (waits[0].revents != 0)
                read_commands();
            auto word = waits[1].revents != 0 ? ready->hear() : ReadyForDebug::Word::nothing;
            if (word == ReadyForDebug::Word::ready)
                return {};
            if (word != ReadyForDebug::Word::ended)
                continue;
            why = ready->why();
            ready.reset(); // a busy host; and the rules for tools are the daemon's
            pollfd pause{pipe_.input(), POLLIN, 0};
            ::poll(&pause, 1, 1000);
        }
        if (!why.empty())
            return error(ErrorKind::unreachable, "nobody could hear whether it has come to where it stops: {}", why);
        return error(ErrorKind::timeout,
                     "the processes of the job have not all come to {}; next: a longer --timeout, or "
                     "--stop exec",
                     ask_.stop == StopPlace::init ? "PMIx_Init" : "where they wait for a debugger");
    }

    // What the processes of this host have waited for is theirs once a debugger holds each: they go on when it says so.
    // One whose gdb does not answer must not hold the others that somebody wants to run; but those that wait for the
    // first one have no gdb yet.
    void release_when_held() {
        bool held = all_begun_ && (attaching_.empty() || commanded_ || StackClock::now() >= attach_by_);
        if (for_release() && !released_ && held && release_tries_ > 0)
            release();
    }

    void release() {
        --release_tries_;
        auto servers = servers_here();
        Result<void> done = servers.empty() ? Result<void>(error(ErrorKind::not_found, "the job has no server here"))
                                            : release_from_stop(servers[0], here_, to_release);
        released_ = done.ok();
        if (released_ || release_tries_ > 0)
            return;
        for (Rank rank : here_)
            tell(rank, {0, GdbEvent::Kind::error, "it waits for its release: " + done.failure().text + "\n"});
    }

    // At the end, whatever was tried before; also those of which nobody could say before that they are here.
    void release_at_the_end() {
        if (!for_release() || (released_ && !here_.empty()))
            return;
        for (const auto &one :
             here_.empty() ? processes_here(StackClock::now() + to_release) : std::vector<ListedProcess>()) {
            if (is_among(ask_.ranks, one.rank))
                here_.push_back(one.rank);
        }
        release_tries_ = 1;
        release();
    }

    // What the job's daemons of this host say. Of a job that has just been started, they may not be there yet, or not
    // have seen all of their processes.
    std::vector<ListedProcess> processes_here(StackClock::time_point deadline) {
        for (bool were_there = false;;) {
            std::vector<ListedProcess> out;
            asked_ = ticks_now();
            for (const auto &server : servers_here()) {
                auto left = std::chrono::ceil<std::chrono::seconds>(deadline - StackClock::now());
                if (left.count() <= 0)
                    continue;
                auto list = processes_of(server, left, true);
                if (list)
                    out.insert(out.end(), list->begin(), list->end());
            }
            bool all =
                !out.empty() && std::none_of(out.begin(), out.end(), [](const auto &one) { return one.prepared; });
            // One that has begun since they were asked would be taken for another that has its number now. So of a job
            // that has just been started they are asked once more, when all of them are there.
            if ((all && were_there) || !ask_.stop || StackClock::now() >= deadline || pipe_.is_over())
                return out;
            if (std::exchange(were_there, all) != all)
                continue;
            // On a host of the allocation that has no process of the job, this is ended from outside.
            pollfd wait{pipe_.input(), POLLIN, 0};
            if (::poll(&wait, 1, 100) > 0)
                read_commands();
        }
    }

    void begin() {
        auto deadline = StackClock::now() + ask_.patience;
        auto debugger = find_debugger("gdb");
        if (auto allowed = may_debug_here(); !allowed)
            debugger = allowed.failure();
        Result<void> came;
        if (for_release() && debugger) {
            came = await_ready(deadline);
            deadline = std::max(deadline, StackClock::now() + to_look);
        }
        std::map<Rank, ListedProcess> meant;
        for (const auto &one : processes_here(deadline)) {
            if (is_among(ask_.ranks, one.rank) && meant.emplace(one.rank, one).second)
                here_.push_back(one.rank);
        }
        if (auto servers = servers_here(); !meant.empty() && !servers.empty()) {
            // One of an earlier version has no door.
            for (auto one = servers.begin(); one != servers.end() && !notice_.open(one->file);)
                ++one;
            if (meant.size() >= worth_waiting)
                indexes_.make_beside(servers.front().file); // without one it takes longer
        }
        pipe_.count_silence_anew();
        pipe_.say(hello_line(name_of_this_host(), here_));
        attach_by_ = deadline;
        pipe_.count_silence_anew();
        for (const auto &[rank, process] : meant) {
            if (pipe_.is_over() && !at_exec())
                break; // let_go() has those, too; one on its way to its first instruction is to be awaited there
            auto begun = came ? begin(process, debugger, deadline) : came;
            if (!begun) {
                told_over_.insert(rank);
                pipe_.say(lines_of(RankEvent{rank, {0, GdbEvent::Kind::error, begun.failure().text + "\n"}, true}));
            } else if (ranks_.size() == 1 && !indexes_.path().empty())
                await_first();
        }
        all_begun_ = true;
        release_when_held();
    }

    // What it takes is not taken from the time of the others.
    void await_first() {
        auto since = StackClock::now();
        for (auto until = std::min(since + first_alone, attach_by_);
             !first_has_read_ && !pipe_.is_over() && StackClock::now() < until;)
            turn();
        attach_by_ += StackClock::now() - since;
    }

    Result<void> begin(const ListedProcess &process, const Result<Debugger> &debugger,
                       StackClock::time_point deadline) {
        if (process.pid <= 0)
            return error(ErrorKind::not_found, "{}", process.prepared ? "it has not begun" : "it has ended");
        if (!debugger)
            return debugger.failure();
        if (ranks_.size() >= most_debugged_here)
            return error(ErrorKind::limit, "more than {} ranks of one host; next: fewer --ranks", most_debugged_here);
        auto target =
            LookedAt::find({ask_.nspace, process.rank, process.pid, asked_, is_name_of_this_host(process.host)});
        if (!target)
            return target.failure();
        if (at_exec() || !target->see_whether_stopped())
            notice_.holds(target->pid());
        if (at_exec() && !await_own_stop(*target, deadline))
            return error(ErrorKind::timeout, "it has not stopped at its first instruction");
        auto gdb = GdbProcess::start(debugger->path, indexes_.path(), GdbScripts::trusted);
        if (!gdb)
            return gdb.failure();
        ranks_.try_emplace(process.rank, std::move(*gdb), std::move(*target));
        attaching_.insert(process.rank);
        return {};
    }

    // The command is heard meanwhile. When it is over it is awaited still, but not for long: SIGCONT, which lets go of
    // one that stands, is in vain where it comes before the stop.
    bool await_own_stop(LookedAt &target, StackClock::time_point deadline) {
        for (;;) {
            bool is_late = come_by_ && StackClock::now() >= *come_by_;
            if (target.await_own_stop(is_late ? std::chrono::milliseconds(0) : slice))
                return true;
            pollfd wait{pipe_.input(), POLLIN, 0};
            if (!pipe_.is_over() && ::poll(&wait, 1, 0) > 0)
                read_commands();
            if (pipe_.is_over() && !come_by_)
                come_by_ = StackClock::now() + to_come_there;
            if (!target.still_there() ||
                StackClock::now() >= (pipe_.is_over() ? std::min(deadline, *come_by_) : deadline))
                return false;
        }
    }

    void read_commands() {
        pipe_.take();
        obey_commands();
    }

    void obey_commands() {
        while (auto message = pipe_.next())
            obey(*message);
    }

    void obey(const ToHost &message) {
        if (std::holds_alternative<DebugLeave>(message)) {
            told_to_leave_ = true;
            pipe_.end();
        }
        commanded_ = commanded_ || std::holds_alternative<DebugCommand>(message);
        for (auto &[rank, one] : ranks_) {
            if (const auto *command = std::get_if<DebugCommand>(&message); command && is_among(command->ranks, rank)) {
                if (one.is_lost())
                    tell(rank, {command->id, GdbEvent::Kind::error, "its gdb has ended\n"});
                else
                    one.ask(command->id, command->text, command->language);
            }
            if (const auto *stop = std::get_if<DebugInterrupt>(&message);
                stop && !one.is_lost() && is_among(stop->ranks, rank))
                one.want_stop();
        }
    }

    void read_from(Rank rank, DebuggedRank &one) {
        one.read([this, rank = rank](GdbEvent event) { tell(rank, std::move(event)); });
        for (pid_t process : one.followed())
            notice_.holds(process);
        if (one.is_lost())
            has_attached(rank);
    }

    void tell(Rank rank, GdbEvent event) {
        bool of_attach = event.id == GdbDialogue::attach_id;
        bool refused = of_attach && event.kind == GdbEvent::Kind::error;
        // gdb says that it is attached, then reads, and says then that the process has stopped.
        first_has_read_ |= refused || event.kind == GdbEvent::Kind::stopped || event.kind == GdbEvent::Kind::gone;
        if (of_attach)
            has_attached(rank);
        if (of_attach && !refused) {
            if (at_exec())
                ranks_.at(rank).take_stop_back();
            return; // that it has stopped is said, too
        }
        if (refused || event.kind == GdbEvent::Kind::gone)
            told_over_.insert(rank);
        if (refused) {
            event.id = 0;
            event.text = why_not_attached(event.text, ranks_.at(rank).pid()) + "\n";
        }
        pipe_.say(lines_of(RankEvent{rank, std::move(event), refused}));
    }

    // Or never will.
    void has_attached(Rank rank) {
        if (attaching_.erase(rank) > 0)
            release_when_held();
    }

    void let_go() {
        release_at_the_end();
        std::vector<GdbProcess *> gdbs;
        for (auto &[rank, one] : ranks_) {
            one.begin_end();
            gdbs.push_back(&one.gdb());
        }
        end_all(gdbs, StackClock::now() + to_let_all_go);
        std::map<Rank, std::vector<LookedAt>> debugged;
        for (auto &[rank, one] : ranks_)
            debugged.emplace(rank, one.take_processes());
        ranks_.clear();
        for (const auto &[rank, processes] : debugged) {
            for (const auto &one : processes) {
                if (!one.put_right())
                    notice_.keeps();
            }
        }
        if (at_exec())
            let_go_of_others(debugged);
    }

    // Those that were not debugged, for whatever reason, have stopped for this all the same.
    void let_go_of_others(const std::map<Rank, std::vector<LookedAt>> &debugged) {
        ask_.stop.reset(); // one look is enough
        for (const auto &process : processes_here(StackClock::now() + std::chrono::seconds(5))) {
            if (process.pid <= 0 || debugged.contains(process.rank))
                continue;
            if (auto other = LookedAt::find({ask_.nspace, process.rank, process.pid, asked_, false}))
                other->take_stop_back();
        }
    }

    HostDebugAsk ask_;
    CommandPipe pipe_;
    std::map<Rank, DebuggedRank> ranks_;
    std::vector<Rank> here_;   // that are meant
    std::set<Rank> attaching_; // whose gdb has not said yet whether it has them
    std::set<Rank> told_over_; // of whom was said that they are not debugged, or not any more
    IndexDirectory indexes_;
    HoldNotice notice_;
    std::optional<StackClock::time_point> come_by_; // who is on his way to his first instruction; once it is over
    bool first_has_read_ = false;
    bool all_begun_ = false; // each that can has a gdb
    bool released_ = false;
    bool commanded_ = false; // somebody has said something to a gdb
    int release_tries_ = 3;
    StackClock::time_point attach_by_;
    std::uint64_t asked_ = 0; // ticks_now() before the daemons were asked the last time
    bool told_to_leave_ = false;
};

} // namespace

bool let_go_on_this_host(const HostDebugAsk &ask) {
    auto until = StackClock::now() + to_let_all_go;
    const bool waits_for_release = ask.stop && *ask.stop != StopPlace::exec;
    std::set<std::string> released; // servers, by their files
    // A stop that is still under way when its debugger ends is seen at the second look.
    int quiet = 0;
    for (; quiet < 2 && StackClock::now() < until; ::poll(nullptr, 0, 100)) {
        bool all_run = true;
        for (const auto &server : servers_of(servers_below(rendezvous_root()), ask.nspace)) {
            std::vector<Rank> here;
            bool comes = false; // one that is to stop, and has not begun
            std::uint64_t asked = ticks_now();
            auto list = server.job == ask.nspace ? processes_of(server, to_look, true)
                                                 : Result<std::vector<ListedProcess>>(std::vector<ListedProcess>());
            for (const auto &process : list ? *list : std::vector<ListedProcess>()) {
                if (!is_among(ask.ranks, process.rank))
                    continue;
                comes = comes || (ask.stop && process.prepared);
                if (process.pid <= 0)
                    continue;
                here.push_back(process.rank);
                auto found =
                    LookedAt::find({ask.nspace, process.rank, process.pid, asked, is_name_of_this_host(process.host)});
                bool stands = found && found->was_stopped();
                if (stands)
                    found->take_stop_back();
                // Denied: a debugger has it still.
                all_run = all_run && !stands && (found || found.failure().kind != ErrorKind::denied);
            }
            all_run = all_run && list.ok() && !comes;
            if (!waits_for_release || here.empty() || released.contains(server.file))
                continue;
            bool done = release_from_stop(server, here, to_release).ok();
            if (done && !comes) // who comes later is to be released, too
                released.insert(server.file);
            all_run = all_run && done;
        }
        quiet = all_run ? quiet + 1 : 0;
    }
    return quiet >= 2;
}

void debug_this_host(const HostDebugAsk &ask, int in, int out) {
    HostDebug(ask, in, out).run();
}

} // namespace pmixhost
