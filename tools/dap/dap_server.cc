// See dap_server.h.
#include "tools/dap/dap_server.h"

#include "common/base/fd_pair.h"
#include "common/text/printable.h"
#include "tools/dap/dap_frames.h"
#include "tools/dap/dap_session.h"
#include "tools/debug/debug_target.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/rank_list.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

using DapClock = std::chrono::steady_clock;
constexpr auto between_looks = std::chrono::milliseconds(100);
constexpr auto to_be_read = std::chrono::seconds(30); // below longest_silence of the hosts
constexpr auto to_disconnect = std::chrono::seconds(10);
constexpr auto to_be_killed = std::chrono::seconds(10);
constexpr auto until_both_have = std::chrono::seconds(3); // of hosts and launcher, which say the same

// How many bytes of it are whole characters of UTF-8: the end of one that is cut is left for later.
std::size_t whole_characters(std::string_view text) {
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
        auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xc0) == 0x80)
            continue;
        std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        return length > back ? text.size() - back : text.size();
    }
    return text.size();
}

// What is printed on a standard stream while this lives can be read here.
class CaughtStream {
  public:
    static Result<CaughtStream> make(int fd, const char *category) {
        auto pipe = make_pipe();
        if (!pipe)
            return pipe.failure();
        UniqueFd before(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
        if (!before || ::dup2(pipe->second.get(), fd) < 0)
            return system_error("cannot take a standard stream", errno);
        ::fcntl(pipe->first.get(), F_SETFL, O_NONBLOCK);
        return CaughtStream(fd, std::move(before), std::move(pipe->first), category);
    }
    CaughtStream(CaughtStream &&) = default;
    CaughtStream &operator=(CaughtStream &&) = delete;
    ~CaughtStream() {
        if (before_)
            ::dup2(before_.get(), stream_);
    }

    int fd() const { return from_.get(); }
    // What is there, once: who prints without a pause is not all that there is to do.
    void pass_on(DapSession &session) {
        char bytes[65536];
        if (ssize_t got = ::read(from_.get(), bytes, sizeof bytes); got > 0) {
            begun_.append(bytes, static_cast<std::size_t>(got));
            std::size_t whole = whole_characters(begun_);
            session.on_output(category_, begun_.substr(0, whole));
            begun_.erase(0, whole);
        }
    }

  private:
    CaughtStream(int stream, UniqueFd before, UniqueFd from, const char *category)
        : stream_(stream), before_(std::move(before)), from_(std::move(from)), category_(category) {}
    int stream_;
    UniqueFd before_, from_;
    const char *category_;
    std::string begun_;
};

class DapServer {
  public:
    using EndRest = std::function<void(const std::string &nspace)>;
    DapServer(int in, UniqueFd out, CaughtStream caught_out, CaughtStream caught_err, const EndRest &end_rest)
        : in_(in), out_(std::move(out)), caught_out_(std::move(caught_out)), caught_err_(std::move(caught_err)),
          end_rest_(end_rest), session_({[this](const nlohmann::json &message) { write(message); },
                                         [this](const ToHost &message) {
                                             if (link_)
                                                 (void)link_->say(message);
                                         },
                                         [this](const PromptInput &input) { return give(input); }}) {}

    // What was wrong with what the client said.
    Result<void> run() {
        while (session_.end() == DapSession::End::none) {
            pump(between_looks);
            if (auto start = session_.take_start())
                begin(*start);
            if (link_ && session_.awaits_ranks() && DapClock::now() >= attach_by_)
                session_.give_up_starting("its host has not answered in time; next: a longer timeout, or pmixhost "
                                          "doctor there");
            look_at_launch();
        }
        end();
        // Who asked for the end in another way says "disconnect" when it has come.
        for (auto until = DapClock::now() + to_disconnect;
             in_open_ && !session_.leaves() && !is_told_to_end() && DapClock::now() < until;)
            pump(between_looks);
        session_.on_all_over();
        return wrong_;
    }

  private:
    bool over() {
        pump(std::chrono::milliseconds(0));
        return session_.end() != DapSession::End::none;
    }

    void pump(std::chrono::milliseconds patience) {
        // A line of a host that has been read already is no event of its descriptor.
        pollfd waits[] = {{in_open_ ? in_ : -1, POLLIN, 0},
                          {link_ && link_->is_open() ? link_->fd() : -1, POLLIN, 0},
                          {caught_out_.fd(), POLLIN, 0},
                          {caught_err_.fd(), POLLIN, 0},
                          {interrupt_fd(), POLLIN, 0}};
        (void)::poll(waits, std::size(waits), static_cast<int>(patience.count()));
        if (waits[0].revents != 0)
            read_client();
        caught_out_.pass_on(session_);
        caught_err_.pass_on(session_);
        if (link_)
            hear_hosts();
        (void)take_interrupt(); // Ctrl-C is nobody's; what else there was stays told
        if (is_told_to_end() && !std::exchange(told_to_end_, true))
            session_.on_client_gone();
        if (!out_)
            session_.on_client_gone(); // it hears nothing any more
    }

    void hear_hosts() {
        if (hosts_gone_)
            return;
        for (const auto &said : link_->hear(std::chrono::milliseconds(0)))
            session_.on_host(said);
        // What was launched ends at about the same time, and that says more.
        if (!link_->is_open() && !closed_by_)
            closed_by_ = DapClock::now() + until_both_have;
        if (closed_by_ && (!launch_ || !launch_->runs() || DapClock::now() >= *closed_by_)) {
            hosts_gone_ = true;
            std::string why = one_line(link_->complaints(), 500);
            if (launch_ && !launch_->runs() && session_.awaits_ranks())
                return; // look_at_launch() tells
            session_.on_hosts_gone("the way to its host is gone" + (why.empty() ? why : ": " + why));
            session_.settle();
            link_.reset(); // whom debuggers that were ended by force have left stopped is let go on
            return;
        }
        session_.settle();
    }

    void read_client() {
        char bytes[65536];
        ssize_t got = ::read(in_, bytes, sizeof bytes);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (got <= 0) {
            in_open_ = false;
            return session_.on_client_gone();
        }
        auto messages = input_.add(std::string_view(bytes, static_cast<std::size_t>(got)));
        if (!messages) {
            in_open_ = false;
            wrong_ = messages.failure();
            return session_.on_client_gone();
        }
        for (const auto &message : *messages)
            session_.on_message(message);
    }

    void write(const nlohmann::json &message) {
        std::string text = dap_frame(message);
        auto until = DapClock::now() + to_be_read;
        for (std::string_view rest = text; !rest.empty() && out_;) {
            pollfd wait{out_.get(), POLLOUT, 0};
            bool ready = ::poll(&wait, 1, 1000) > 0;
            // A pipe that can be written to takes so much without a wait.
            ssize_t done = ready ? ::write(out_.get(), rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF)) : 0;
            if (ready && done < 0 && errno != EINTR)
                out_.reset(); // it has gone
            else if (done > 0)
                rest.remove_prefix(static_cast<std::size_t>(done)), until = DapClock::now() + to_be_read;
            else if (is_told_to_end() || DapClock::now() >= until)
                out_.reset(); // it does not read
        }
    }

    void begin(const DapStart &start) {
        if (auto begun = try_to_begin(start); !begun)
            session_.on_not_started(begun.failure().text);
    }

    Result<void> try_to_begin(const DapStart &start) {
        std::vector<Rank> ranks;
        if (!start.ranks.empty()) {
            auto parsed = ranks_in_words(start.ranks, "'ranks'");
            if (!parsed)
                return parsed.failure();
            ranks = std::move(*parsed);
        }
        auto target = start.job.empty() ? launched(start, ranks) : running_target(start.job, ranks, start.patience);
        if (!target)
            return target.failure();
        auto link = link_to_hosts({start.ranks, start.job.empty() ? start.stop : std::string(), start.patience},
                                  target->nspace, [this] { return over() || (launch_ && !launch_->runs()); });
        if (!link)
            return link.failure();
        link_.emplace(std::move(*link));
        if (!start.job.empty())
            attached_ = target->nspace;
        attach_by_ = DapClock::now() + std::chrono::seconds(start.patience);
        session_.on_started(target->ranks);
        return {};
    }

    Result<DebugTarget> launched(const DapStart &start, const std::vector<Rank> &ranks) {
        auto stop = stop_place_of(start.stop);
        if (!stop)
            return error(ErrorKind::invalid, "'stop' is '{}'; allowed: exec, init, app", printable(start.stop));
        if (auto allowed = may_be_launched(start.command); !allowed)
            return allowed.failure();
        if (!start.directory.empty() && ::chdir(start.directory.c_str()) != 0)
            return system_error("'cwd' " + printable(start.directory, 200), errno);
        for (const auto &[name, value] : start.environment) {
            if (value)
                ::setenv(name.c_str(), value->c_str(), 1);
            else
                ::unsetenv(name.c_str());
        }
        auto launch = launch_for_debug(start.command, *stop, ranks, {start.takes_input, false});
        if (!launch)
            return launch.failure();
        launch_.emplace(std::move(*launch));
        takes_input_ = start.takes_input;
        auto target = launched_target(
            *launch_, ranks, [this] { return over() || !launch_->runs(); },
            [this](const std::string &line) { session_.on_output("console", line + "\n"); });
        if (target)
            return target;
        if (over())
            return error(ErrorKind::not_found, "it was not waited for");
        launch_->end_input();
        int code = launch_->await_end([] { return false; }, [this] { return over(); });
        launch_told_ = true;
        return error(ErrorKind::not_found, "{} has ended ({}), and {}", printable(start.command[0], 100), code,
                     target.failure().text);
    }

    Result<void> give(const PromptInput &input) {
        if (!launch_)
            return error(ErrorKind::unsupported,
                         "this job was not started here; next, in a terminal: pmixhost attach JOB");
        if (!takes_input_)
            return error(ErrorKind::unsupported,
                         "the standard input of this launch is /dev/null; next: \"input\": true "
                         "in its configuration");
        if (!input.ends)
            return launch_->give(input.text);
        launch_->end_input();
        return {};
    }

    // What its hosts still have to say comes first, for a moment.
    void look_at_launch() {
        if (!launch_ || launch_told_ || launch_->runs())
            return;
        if (!ended_by_)
            ended_by_ = DapClock::now() + until_both_have;
        if (link_ && !hosts_gone_ && session_.any_alive() && DapClock::now() < *ended_by_)
            return;
        launch_told_ = true;
        pump(std::chrono::milliseconds(0)); // what it has printed last
        session_.on_launch_end(launch_->await_end([] { return false; }, [] { return false; }));
    }

    void end() {
        bool kills = session_.end() == DapSession::End::kill;
        if (kills && !session_.any_alive())
            launch_.reset(); // before those that stand are let go
        for (auto until = DapClock::now() + to_be_killed;
             kills && link_ && !hosts_gone_ && session_.any_alive() && DapClock::now() < until;)
            pump(between_looks);
        link_.reset(); // lets all go
        if (launch_)
            launch_->end_input(); // or who reads it would wait for ever
        else if (kills && !attached_.empty())
            end_rest_(attached_);
        hosts_gone_ = true;
        session_.on_hosts_gone("it was let go");
        if (!kills)
            session_.on_all_over(); // the rest is not the client's any more
        for (auto until = DapClock::now() + to_be_killed;
             launch_ && launch_->runs() && (kills ? DapClock::now() < until : !is_told_to_end());) {
            pump(between_looks);
            if (!kills && session_.leaves())
                session_.on_all_over();
        }
        look_at_launch();
        launch_.reset(); // ends what still runs
        session_.on_all_over();
    }

    int in_;
    bool in_open_ = true;
    UniqueFd out_;
    CaughtStream caught_out_, caught_err_;
    EndRest end_rest_;
    std::string attached_; // the namespace of a job that ran before
    DapInput input_;
    std::optional<DebuggedLaunch> launch_;
    std::optional<DebugLink> link_;
    bool takes_input_ = false, hosts_gone_ = false, launch_told_ = false, told_to_end_ = false;
    DapClock::time_point attach_by_;
    std::optional<DapClock::time_point> closed_by_, ended_by_;
    Result<void> wrong_;
    DapSession session_;
};

} // namespace

bool serve_dap(int in, int out, const std::function<void(const std::string &nspace)> &end_rest) {
    await_interrupt();
    std::signal(SIGPIPE, SIG_IGN);
    UniqueFd client(::fcntl(out, F_DUPFD_CLOEXEC, 3));
    Result<void> done;
    if (!client) {
        done = system_error("cannot write to the editor", errno);
    } else {
        auto caught_out = CaughtStream::make(STDOUT_FILENO, "stdout");
        auto caught_err = CaughtStream::make(STDERR_FILENO, "stderr");
        if (!caught_out || !caught_err)
            done = caught_out ? caught_err.failure() : caught_out.failure();
        else
            done = DapServer(in, std::move(client), std::move(*caught_out), std::move(*caught_err), end_rest).run();
    }
    interrupt_as_before();
    if (!done)
        std::fprintf(stderr, "pmixhost: error: %s\n", done.failure().text.c_str());
    return static_cast<bool>(done);
}

} // namespace pmixhost
