// See launch_listener.h.
#include "plugins/kit/launch_listener.h"

#include "common/base/no_room.h"
#include "common/start/spawn_channel.h"
#include "plugins/kit/unproved_note.h"
#include "server-glue/rm/user_notes.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace pmixhost::kit {

namespace {

constexpr StrangerLimits::Bounds stranger_bounds{256, 128}; // the starter needs descriptors of its own
constexpr auto pause_without_descriptor = std::chrono::milliseconds(100);
constexpr int batch = 64;
constexpr std::size_t max_notes = 100, max_unproved_notes = 10;
constexpr std::size_t stack_bytes = 256u << 10;
// Of very many hosts each has a connection of its own, and proves itself.
constexpr std::chrono::milliseconds ends_of_a_host{2}, ends_of_all{20'000};

void put_length(std::string &out, std::size_t length) {
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(length >> shift);
}

} // namespace

LaunchListener::LaunchListener(StarterListener listener, Parts parts)
    : listener_(std::move(listener)), parts_(std::move(parts)), strangers_(stranger_bounds) {}

// Where the starter ends without having waited, the launcher hears it by the end of its channel.
LaunchListener::~LaunchListener() {
    if (has_thread_)
        (void)finish(std::chrono::milliseconds(0));
}

void LaunchListener::begin() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    wake_read_.reset(ends[0]);
    wake_write_.reset(ends[1]);
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    // The starter's own threads handle its signals.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    has_thread_ = pthread_create(&thread_, &attributes, thread_main, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
}

void *LaunchListener::thread_main(void *self) noexcept {
    auto *listener = static_cast<LaunchListener *>(self);
    try {
        listener->listen();
    } catch (...) {
        // Out of memory: what comes from now on is read when the step is over.
    }
    return nullptr;
}

void LaunchListener::listen() {
    while (round(wake_read_.get(), -1)) {
    }
}

// Waits once and takes what is there. False when `wake_fd` has something to read.
bool LaunchListener::round(int wake_fd, int timeout_ms) {
    auto now = Clock::now();
    drop_the_late(now);
    if (auto deadline = next_deadline()) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(*deadline - now, {})).count();
        timeout_ms = timeout_ms < 0 ? static_cast<int>(left) : std::min(timeout_ms, static_cast<int>(left));
    }
    std::vector<pollfd> polls{{wake_fd, POLLIN, 0},
                              {launcher_ ? launcher_->channel.get() : -1, POLLIN, 0},
                              {now >= accept_again_ ? listener_.fd() : -1, POLLIN, 0},
                              {tools_ ? tools_->fd() : -1, POLLIN, 0},
                              {parts_.ends_children && !has_ended_holder_ ? parts_.spawn_channel.get() : -1, 0, 0}};
    for (const auto &[id, visitor] : visitors_)
        polls.push_back({visitor.connection.fd(), POLLIN, 0});
    int ready = ::poll(polls.data(), polls.size(), timeout_ms);
    if (ready <= 0)
        return ready == 0 || errno == EINTR;
    if (polls[0].revents)
        return false; // the rest is for drain()
    auto state = polls.begin() + 5;
    for (auto next = visitors_.begin(); next != visitors_.end(); ++state) {
        auto at = next++;
        if (!state->revents || hear(at->first, at->second))
            continue;
        strangers_.remove(at->first);
        kept_ -= at->second.kept;
        visitors_.erase(at);
    }
    if (polls[4].revents) // POLLHUP, POLLERR
        end_holder();
    if (polls[1].revents)
        launcher_ended();
    if (polls[3].revents)
        tools_are_there();
    if (polls[2].revents)
        accept();
    return true;
}

// Who speaks with the debugger has gone, and with it what would have ended this: its job does nothing, and would do so
// until its time is up.
void LaunchListener::end_holder() {
    has_ended_holder_ = true;
    parts_.complain("what speaks with the debugger has gone; the launcher ends");
    ::kill(::getpid(), SIGTERM);
}

// Accepts some, and then those that are here already are heard again.
void LaunchListener::accept() {
    for (int i = 0; i < batch; ++i) {
        auto connection = listener_.accept();
        if (!connection && is_no_room(errno)) {
            auto gone = is_no_descriptor(errno) ? strangers_.evict() : std::nullopt;
            if (gone)
                visitors_.erase(*gone);
            else
                accept_again_ = Clock::now() + pause_without_descriptor;
            return;
        }
        if (!connection)
            return;
        StrangerLimits::Id id = next_id_++;
        if (auto gone = strangers_.add(id, connection->from().source()))
            visitors_.erase(*gone); // never the newcomer: all of them are silent
        visitors_.emplace(id, Visitor{std::move(*connection), Clock::now() + parts_.patience});
    }
}

void LaunchListener::drop_the_late(Clock::time_point now) {
    std::erase_if(visitors_, [&](const auto &entry) {
        bool late = !entry.second.kept && entry.second.until <= now;
        if (late)
            strangers_.remove(entry.first);
        return late;
    });
}

std::optional<LaunchListener::Clock::time_point> LaunchListener::next_deadline() const {
    std::optional<Clock::time_point> next;
    if (accept_again_ > Clock::now())
        next = accept_again_;
    auto first = std::find_if(visitors_.begin(), visitors_.end(), [](const auto &entry) { return !entry.second.kept; });
    if (first != visitors_.end())
        next = next ? std::min(*next, first->second.until) : first->second.until;
    return next;
}

// Reads from a visitor. False when that was all that it has to say.
bool LaunchListener::hear(StrangerLimits::Id id, Visitor &visitor) {
    for (;;) {
        auto progress = visitor.connection.receive();
        if (progress != FrameProgress::whole)
            return progress == FrameProgress::more;
        if (!take(visitor.connection.take_frame()))
            return false;
        if (visitor.kept)
            continue;
        if (kept_ >= parts_.hosts * max_addresses)
            return false;
        visitor.kept = true;
        ++kept_;
        strangers_.remove(id);
    }
}

// Takes what has been sent by now.
void LaunchListener::drain(std::chrono::milliseconds limit) {
    const auto begin = Clock::now();
    const std::chrono::milliseconds of_hosts = ends_of_a_host * std::min<std::size_t>(parts_.hosts, 1'000'000);
    const auto ends_deadline = begin + limit + std::min(of_hosts, ends_of_all);
    for (;;) {
        pollfd waiting{listener_.fd(), POLLIN, 0};
        const bool awaits = awaits_ends();
        if (visitors_.empty() && ::poll(&waiting, 1, 0) <= 0 && !awaits)
            return;
        auto deadline = awaits ? std::min(ends_deadline, std::max(begin, ends_came_) + limit) : begin + limit;
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0 || !round(-1, static_cast<int>(left.count())))
            return;
    }
}

// False when the connection has said all.
bool LaunchListener::take(const std::string &frame) {
    if (is_unproved_note(frame)) {
        auto text = unproved_notes_ < max_unproved_notes ? open_unproved_note(frame, listener_.cookie())
                                                         : Result<std::string>(error(ErrorKind::limit, "enough"));
        if (text && notes_.size() < max_notes && notes_.insert(*text).second) {
            ++unproved_notes_;
            parts_.complain(*text);
        }
        return false;
    }
    auto message = open_message(frame, listener_.cookie(), geteuid(), *parts_.sealer);
    if (!message)
        return false;
    switch (message->kind) {
    case StarterMessage::Kind::exit_report:
        if (!report_)
            report_ = ExitReport{message->status, message->body};
        break;
    case StarterMessage::Kind::launched:
        if (message->status == 0) {
            say_first_runs();
            launched_hosts_.insert(message->body);
            if (launched_hosts_.size() < parts_.hosts)
                break;
            message->body.clear();
        }
        launch_failed_ = launch_failed_ || message->status != 0;
        if (parts_.spawn_channel && !std::exchange(told_launched_, true))
            say_on_channel([&](int fd) { return say_launched(fd, message->status, message->body); });
        break;
    case StarterMessage::Kind::started:
        say_first_runs();
        break;
    case StarterMessage::Kind::ended:
        take_ends(*message);
        break;
    case StarterMessage::Kind::note:
        if (message->status != 0 && !noted_.insert(message->status).second)
            break;
        // Whoever has started this is told what it is, and sees to it.
        if (parts_.spawn_channel && message->status == static_cast<int>(UserNote::Subject::stands))
            break;
        // What concerns all hosts, each of them says.
        if (notes_.size() < max_notes && notes_.insert(message->body).second)
            parts_.complain(message->body);
        break;
    case StarterMessage::Kind::invitation:
        invite(message->body);
        break;
    case StarterMessage::Kind::tools:
        let_tools_come(message->body);
        break;
    case StarterMessage::Kind::kept:
        return true;
    }
    return false;
}

// What has been launched has been started: one that says so later says nothing new.
void LaunchListener::say_first_runs() {
    if (parts_.spawn_channel && !told_launched_ && !std::exchange(told_started_, true))
        say_on_channel([](int fd) { return say_started(fd); });
}

// Behind a line that was cut another one would be read as its rest.
template <typename Say> void LaunchListener::say_on_channel(Say say) {
    if (!channel_is_cut_)
        channel_is_cut_ = say(parts_.spawn_channel.get()) == Said::cut;
}

// A host says once that it has told of all.
void LaunchListener::take_ends(const StarterMessage &message) {
    if (!parts_.spawn_channel || parts_.ends == ToldEnds::none)
        return;
    ends_came_ = Clock::now();
    const std::string host = message.body.substr(0, message.body.find(' '));
    if (message.status != 0 && ended_hosts_.contains(host))
        return;
    if (speaking_hosts_.size() < parts_.hosts)
        speaking_hosts_.insert(host);
    if (message.status != 0 && ended_hosts_.size() < parts_.hosts)
        ended_hosts_.insert(host);
    pass_on_ends(message.body);
}

// There may be many for one reader, which a user may have stopped, and which the starter need not wait for.
void LaunchListener::pass_on_ends(const std::string &line) {
    if (leaves_ends_out_)
        return;
    const auto begin = Clock::now();
    auto left = std::chrono::ceil<std::chrono::milliseconds>(parts_.ends_patience - waited_for_reader_);
    leaves_ends_out_ = true; // unless it is said
    say_on_channel([&](int fd) {
        Said said = say_ends(fd, line, std::max(left, {}));
        leaves_ends_out_ = said != Said::whole;
        return said;
    });
    waited_for_reader_ += Clock::now() - begin;
    if (leaves_ends_out_)
        parts_.complain("what speaks with the debugger does not read: how processes end is not told any more");
}

// A step's last host may end a moment behind the starter's own step. One that has not begun has no ends to tell of, and
// where a task could not be started some host may have none.
std::size_t LaunchListener::hosts_with_ends() const {
    if (parts_.ends == ToldEnds::none || leaves_ends_out_ || launch_failed_ || !(told_started_ || told_launched_))
        return 0;
    const std::size_t all = parts_.ends == ToldEnds::all ? parts_.hosts : speaking_hosts_.size();
    return all - std::min(all, ended_hosts_.size());
}

void LaunchListener::invite(const std::string &invitation) {
    if (!launcher_ && !launcher_failed_) {
        auto started = parts_.start_launcher();
        if (started) {
            launcher_ = std::move(*started);
        } else {
            launcher_failed_ = true;
            parts_.complain(started.failure().text);
        }
    }
    constexpr std::size_t most_unwritten = 1u << 20; // by a launcher that stands still
    if (!launcher_ || unwritten_.size() > most_unwritten)
        return;
    std::string bytes;
    put_length(bytes, invitation.size());
    bytes += invitation;
    write_channel(bytes);
}

// Once: the others of the step offer nothing else. Tools are no part of the job, which goes on without them.
void LaunchListener::let_tools_come(const std::string &offer) {
    auto parsed = ToolOffer::parse(offer);
    if (!parts_.start_desk || tools_ || !parsed || (parsed->base.empty() && parts_.launcher_file.empty()))
        return;
    auto door = ToolDoor::open(*parsed, parts_.on_a_host_of_jobs, [this](int listener) -> Result<ToolDoor::Desk> {
        auto started = parts_.start_desk(listener);
        if (!started)
            return started.failure();
        return ToolDoor::Desk{started->pid, std::move(started->channel)};
    });
    if (!door)
        return parts_.complain("tools of this host do not find the job: " + door.failure().text);
    Result<void> told;
    if (!parts_.launcher_file.empty())
        told = door->tell(parts_.launcher_file);
    if (!told)
        parts_.complain(fmt::format("{}: {}", launcher_file_variable, told.failure().text));
    if (told || !parsed->base.empty())
        tools_.emplace(std::move(*door));
}

void LaunchListener::tools_are_there() {
    if (auto heard = tools_->on_readable(); !heard)
        parts_.complain(heard.failure().text);
}

// Whole frames alone, or the launcher would take the middle of one for its beginning. It reads all the time; for
// one that does not for long, what has no room is kept until there is something else to write.
void LaunchListener::write_channel(std::string_view frame) {
    unwritten_ += frame;
    const auto until = Clock::now() + parts_.launcher_patience;
    while (!unwritten_.empty() && launcher_) {
        ssize_t n = ::send(launcher_->channel.get(), unwritten_.data(), unwritten_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            unwritten_.erase(0, static_cast<std::size_t>(n));
        } else if (n < 0 && errno == EAGAIN) {
            auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
            if (left.count() <= 0)
                return;
            pollfd room{launcher_->channel.get(), POLLOUT, 0};
            (void)::poll(&room, 1, static_cast<int>(left.count()));
        } else if (n == 0 || errno != EINTR) {
            unwritten_.clear(); // it has gone
        }
    }
}

void LaunchListener::launcher_ended() {
    char byte;
    ssize_t n = ::recv(launcher_->channel.get(), &byte, 1, MSG_DONTWAIT);
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    int status;
    while (waitpid(launcher_->pid, &status, 0) < 0 && errno == EINTR) {
    }
    launcher_.reset();
    unwritten_.clear();
}

void LaunchListener::wait_for_launcher() {
    if (!launcher_)
        return;
    std::optional<Clock::time_point> until;
    if (report_ || parts_.ends_children) {
        until = Clock::now() + parts_.end_patience;
        std::string end;
        put_length(end, 0);
        write_channel(end);
    }
    while (launcher_) {
        const bool all_written = unwritten_.empty();
        if (all_written)
            ::shutdown(launcher_->channel.get(), SHUT_WR);
        pollfd waits{launcher_->channel.get(), static_cast<short>(all_written ? POLLIN : POLLIN | POLLOUT), 0};
        int left = -1;
        if (until)
            left = static_cast<int>(
                std::max(std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()), {}).count());
        int ready = ::poll(&waits, 1, left);
        if (ready == 0 && until) {
            parts_.complain(
                "what runs the jobs that this one has spawned does not end, and is killed; what it leaves is "
                "the resource manager's to end");
            ::kill(launcher_->pid, SIGKILL);
            until.reset(); // its channel ends with it
        }
        if (ready <= 0)
            continue;
        if ((waits.revents & POLLOUT) != 0)
            write_channel({});
        if ((waits.revents & ~POLLOUT) != 0)
            launcher_ended();
    }
}

std::optional<ExitReport> LaunchListener::finish(std::chrono::milliseconds limit) {
    if (has_thread_) {
        [[maybe_unused]] ssize_t n = ::write(wake_write_.get(), "x", 1);
        pthread_join(thread_, nullptr);
        has_thread_ = false;
    }
    tools_.reset();
    drain(limit);
    tools_.reset(); // one that came just now
    if (auto silent = hosts_with_ends(); silent > 0 && limit.count() > 0)
        parts_.complain(fmt::format("{} of {} hosts have not told how their processes have ended: the debugger misses "
                                    "these ends",
                                    silent, parts_.hosts));
    wait_for_launcher();
    if (parts_.spawn_channel && !std::exchange(told_launched_, true))
        say_on_channel([&](int fd) { return say_over(fd, report_ ? report_->text : ""); });
    return report_;
}

} // namespace pmixhost::kit
