// `pmixhost output` and `pmixhost attach`: what the processes of a running job write, as it comes; with attach, what is
// typed is theirs.
#include "common/base/unique_fd.h"
#include "common/job/rank_ranges.h"
#include "common/text/printable.h"
#include "common/text/time_back.h"
#include "tools/cli/parse.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/pager.h"
#include "tools/terminal/rank_list.h"
#include "tools/terminal/terminal.h"
#include "tools/view/desk.h"
#include "tools/view/job_output.h"
#include "tools/view/output_lines.h"
#include "tools/view/recent_lines.h"
#include "tools/view/run_by_owner.h"
#include "tools/view/typed_input.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr auto leaves_within = std::chrono::seconds(2); // for what was typed before, and to give back what was taken
constexpr std::size_t most_unshown = 1u << 20;          // while a pager has the terminal

struct FollowOptions {
    std::string job, ranks = "all", input_ranks = "all", since; // since: empty: all that is kept
    bool label = false, only_out = false, only_err = false, take_over = false, end = false;
    unsigned wait = 0; // seconds
};

// A line is given when it ends, and at Ctrl-]. The terminal is as it was when this is dropped. Not `wanted`: it is let
// be, and so is that of another job than the one in the foreground, which would be stopped for changing it (SIGTTOU).
class InputTerminal {
  public:
    explicit InputTerminal(bool wanted) {
        known_ = wanted && ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0;
        termios now = before_;
        now.c_cc[VEOL] = static_cast<cc_t>(TypedInput::detaches);
        set(now);
    }
    ~InputTerminal() { set(before_); }
    InputTerminal(const InputTerminal &) = delete;
    explicit operator bool() const { return known_; }

  private:
    void set(const termios &settings) const {
        if (known_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp())
            ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
    }

    termios before_{};
    bool known_ = false;
};

class Follower {
  public:
    struct Of {
        std::size_t ranks;  // that were named
        bool by_a_stranger; // another user writes it
    };
    Follower(const FollowOptions &options, ListeningTool tool, UniqueFd input, bool types, Of of)
        : options_(options), tool_(std::move(tool)), input_(std::move(input)), types_(types), reads_(types),
          terminal_(types), typed_(static_cast<bool>(terminal_)), wanted_(of.ranks), by_a_stranger_(of.by_a_stranger),
          lines_(0, false) {}

    int run() {
        deadline_ = std::chrono::steady_clock::now() + tool_connects_in;
        progress_.emplace("waiting for job " + printable(options_.job));
        while (!over_ || pager_) {
            if (pager_ && !is_told_to_end())
                take_interrupt(); // it was the pager's
            if (was_interrupted() && !(leaving_ && has_deadline())) {
                if (!listens_)
                    break;
                leave();
            }
            if (!typed_.empty())
                pass_on_input(); // poll(2) does not say that there is room before most of what waits there has gone
            bool takes_more =
                reads_ && !pager_ && !input_ended_ && !leaving_ && typed_.reads(std::chrono::steady_clock::now());
            // What has no room is not read: who reads slowly misses some of it.
            bool has_room = !over_ && unshown_[0].size() + unshown_[1].size() < most_unshown;
            pollfd polls[] = {{has_room ? tool_.fd() : -1, POLLIN, 0},
                              {pager_ ? pager_->fd() : -1, POLLIN, 0},
                              {takes_more ? STDIN_FILENO : -1, POLLIN, 0},
                              {has_more_to_say() ? input_.get() : -1, POLLOUT, 0}};
            if (::poll(polls, std::size(polls), quiet_.count() > 0 ? 50 : 500) < 0)
                continue; // their contents are not defined
            if (polls[0].revents == 0 && !pager_ && std::chrono::steady_clock::now() >= quiet_by_)
                break;
            if (polls[0].revents != 0) {
                progress_.reset();
                read_tool();
            }
            if (polls[1].revents != 0)
                end_pager();
            if (polls[2].revents != 0)
                read_input();
            if (polls[3].revents != 0)
                pass_on_input();
            if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || std::ferror(stderr) != 0) {
                if (!was_interrupted()) {
                    if (errno != EPIPE) // else nobody reads it any more
                        std::fprintf(stderr, "pmixhost: error: cannot write: %s\n", std::strerror(errno));
                    return exit_failure;
                }
                std::clearerr(stdout); // the write was interrupted, as all of this is
                std::clearerr(stderr);
            }
            if (std::chrono::steady_clock::now() < deadline_)
                continue;
            if (leaving_)
                break;
            if (!listens_)
                return fail(fmt::format("it does not answer within {} s; next: pmixhost doctor --job JOB",
                                        tool_connects_in.count()));
        }
        for (bool is_err : {false, true})
            show(is_err, lines_.end_all(is_err));
        if (leaving_ && !typed_.empty())
            put(true, "pmixhost: not all that was typed has come to the job\n");
        return code_;
    }

  private:
    int fail(std::string_view why) {
        put(true,
            fmt::format("pmixhost: error: job {}: {}\n", printable(options_.job), printable(std::string(why), 300)));
        over_ = true;
        return code_ = exit_failure;
    }

    void read_tool() {
        char bytes[65536];
        ssize_t got = ::read(tool_.fd(), bytes, sizeof bytes);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (got <= 0) {
            std::string_view why = frames_.left(); // "!TEXT\n" of one that could not connect
            why.remove_prefix(why.starts_with('!') ? 1 : 0);
            why.remove_suffix(why.ends_with('\n') ? 1 : 0);
            if (!over_)
                fail(why.empty() ? "the process that listens came to grief" : why);
            return;
        }
        frames_.add({bytes, static_cast<std::size_t>(got)});
        while (auto frame = frames_.next())
            take(*frame);
        tell_failed();
        if (quiet_.count() > 0)
            quiet_by_ = std::chrono::steady_clock::now() + quiet_;
    }

    // All that was asked for has ended, or does not come: but the words of that come by other ways than what was
    // written, and before or behind it, so what still comes is taken, until nothing has come for this time.
    void end_when_quiet(std::chrono::milliseconds time) { quiet_ = std::max(quiet_, time); }
    bool all_have_ended() const { return streams_ > 0 && ended_.size() >= streams_; }

    // What was said of several ranks at once is one line.
    void tell_failed() {
        for (bool is_err : {false, true}) {
            bool all = failed_[is_err].contains(every_rank);
            std::string which;
            for (const auto &range : failed_[is_err].take_all())
                which += fmt::format("{}{}", which.empty() ? "" : ",",
                                     range.first == range.last ? fmt::format("{}", range.first)
                                                               : fmt::format("{}-{}", range.first, range.last));
            if (which.empty())
                continue;
            put(true, fmt::format("pmixhost: the standard {} of {} does not come any more\n",
                                  is_err ? "error" : "output", all ? "this job" : "rank " + which));
        }
    }

    void take(const OutputFrame &frame) {
        switch (frame.kind) {
        case OutputFrame::Kind::size: {
            std::size_t ranks = wanted_ > 0 ? wanted_ : frame.rank;
            streams_ = ranks * (options_.only_out || options_.only_err ? 1 : 2);
            if (options_.label)
                lines_ = OutputLines(static_cast<unsigned>(std::to_string(std::max(frame.rank, 1u) - 1).size()),
                                     !by_a_stranger_ && !Colours(stdout).off.empty() && !Colours(stderr).off.empty());
            break;
        }
        case OutputFrame::Kind::listening:
            listens_ = true;
            deadline_ = std::chrono::steady_clock::time_point::max();
            break;
        case OutputFrame::Kind::bytes:
            show(frame.is_err, lines_.add(frame.rank, frame.is_err, frame.bytes));
            break;
        case OutputFrame::Kind::ended:
            show(frame.is_err, lines_.end(frame.rank, frame.is_err));
            ended_.emplace(frame.rank, frame.is_err);
            if (all_have_ended())
                end_when_quiet(std::chrono::milliseconds(code_ == exit_some ? 1000 : 100));
            break;
        case OutputFrame::Kind::failed:
            code_ = exit_some;
            failed_[frame.is_err].add(frame.rank, frame.rank);
            ended_.emplace(frame.rank, frame.is_err);
            if (frame.rank == every_rank || all_have_ended())
                end_when_quiet(std::chrono::seconds(1));
            break;
        case OutputFrame::Kind::nothing:
            only_types_ = true;
            deadline_ = std::chrono::steady_clock::time_point::max();
            put(true, fmt::format("pmixhost: {}\n", printable(std::string(frame.bytes), 300)));
            leave_if_nothing_is_left();
            break;
        case OutputFrame::Kind::undated:
            put(true, "pmixhost: what was written before somebody first followed this job has no times: all of it "
                      "that is kept is shown\n");
            break;
        case OutputFrame::Kind::cut:
            lines_.begin_cut(frame.rank, frame.is_err);
            if (!options_.since.empty() && !std::exchange(told_cut_, true))
                put(true,
                    "pmixhost: not all that was written in that time is kept: the end of it is shown (io.kept)\n");
            break;
        case OutputFrame::Kind::missing:
            show(frame.is_err, lines_.end(frame.rank, frame.is_err));
            lines_.begin_cut(frame.rank, frame.is_err);
            put(true, fmt::format("pmixhost: {} bytes of the standard {} of rank {} are missing here: what was written "
                                  "before was not taken in time (io.cache)\n",
                                  frame.bytes, frame.is_err ? "error" : "output", frame.rank));
            code_ = exit_some;
            break;
        case OutputFrame::Kind::left:
            over_ = true;
            break;
        case OutputFrame::Kind::over:
            show(false, lines_.end_all(0));
            show(true, lines_.end_all(1));
            over_ = true;
            break;
        case OutputFrame::Kind::input_closed:
            end_input();
            put(true, fmt::format("pmixhost: input goes nowhere: {}\n", printable(std::string(frame.bytes))));
            if (only_types_) {
                code_ = exit_failure;
                over_ = true;
            }
            break;
        case OutputFrame::Kind::error:
            fail(frame.bytes);
            break;
        }
    }

    void show(bool is_err, std::string text) {
        bool is_seen = ::isatty(is_err ? STDERR_FILENO : STDOUT_FILENO) == 1;
        if (by_a_stranger_ && is_seen)
            text = harmless(text);
        if (terminal_ && is_seen)
            shown_.add(text);
        put(is_err, text);
    }
    // After the pager, if there is one.
    void put(bool is_err, std::string_view text) {
        progress_.reset();
        if (pager_)
            unshown_[is_err] += text;
        else
            std::fwrite(text.data(), 1, text.size(), is_err ? stderr : stdout);
    }

    void start_pager() {
        if (::isatty(STDOUT_FILENO) != 1)
            return put(true, "pmixhost: what was shown is seen again on a terminal only\n");
        auto started = Pager::start(shown_.last());
        if (!started)
            return put(true, fmt::format("pmixhost: no pager: {}\n", printable(started.failure().text, 300)));
        pager_.emplace(std::move(*started));
    }
    void end_pager() {
        pager_->end();
        pager_.reset();
        if (!is_told_to_end())
            take_interrupt();
        for (bool is_err : {false, true})
            put(is_err, std::exchange(unshown_[is_err], {}));
    }

    // "~." and "~v" in a line of their own, and Ctrl-], are not the job's.
    void read_input() {
        char bytes[4096];
        ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (got <= 0) {
            input_ended_ = true;
            return pass_on_input();
        }
        auto word = typed_.add({bytes, static_cast<std::size_t>(got)}, std::chrono::steady_clock::now());
        tell_typed();
        if (word == TypedInput::Word::leave)
            return leave();
        if (word == TypedInput::Word::page)
            return start_pager();
        pass_on_input();
    }
    void tell_typed() {
        while (auto notice = typed_.notice())
            put(true, fmt::format("pmixhost: {}\n", *notice));
    }

    // There is no output, and all input has been passed on, if there was any.
    void leave_if_nothing_is_left() {
        if (!only_types_ || !input_ended_ || types_ || leaving_)
            return;
        if (!gave_)
            code_ = exit_failure;
        begin_to_leave(); // the job may take its time to read what it was given
    }
    bool has_deadline() const { return deadline_ != std::chrono::steady_clock::time_point::max(); }
    // Somebody wants to have the terminal back.
    void leave() {
        deadline_ = std::chrono::steady_clock::now() + leaves_within;
        begin_to_leave();
    }
    void begin_to_leave() {
        leaving_ = true;
        pass_on_input();
    }

    // The job may take it slowly, or never: nothing else waits for that.
    void pass_on_input() {
        while (!typed_.empty()) {
            std::string message(1, typed_message);
            message += typed_.next(most_in_message);
            if (!send(message))
                return;
            typed_.taken(message.size() - 1, std::chrono::steady_clock::now());
            tell_typed();
            gave_ = true;
        }
        if (input_ended_ && !leaving_ && types_) {
            if (options_.end && !send(std::string(1, end_message)))
                return;
            gave_ = gave_ || options_.end;
            types_ = false;
            leave_if_nothing_is_left();
        }
        if (leaving_ && !said_leave_)
            said_leave_ = send(std::string(1, leave_message));
    }
    bool has_more_to_say() const {
        return !typed_.empty() || (input_ended_ && types_ && !leaving_) || (leaving_ && !said_leave_);
    }
    // False: not now, or never.
    bool send(const std::string &message) {
        ssize_t sent = -1;
        do
            sent = ::send(input_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        while (sent < 0 && errno == EINTR);
        if (sent < 0 && errno != EAGAIN) {
            input_.reset(); // it has ended, and says why
            end_input();
        }
        return sent >= 0;
    }
    void end_input() {
        typed_.close();
        types_ = false;
        reads_ = static_cast<bool>(terminal_); // there somebody may still want to leave
    }

    const FollowOptions &options_;
    ListeningTool tool_;
    UniqueFd input_; // see InputRequest
    bool types_;     // what is typed is for the processes
    bool reads_;     // it is read
    bool input_ended_ = false;
    InputTerminal terminal_;
    TypedInput typed_;
    RecentLines shown_;                    // for the pager
    std::optional<Pager> pager_;           // has the terminal
    std::optional<ProgressLine> progress_; // until it answers
    std::string unshown_[2];               // what came meanwhile; of standard output and of standard error
    OutputFrames frames_;
    std::size_t wanted_, streams_ = 0;
    bool by_a_stranger_;
    OutputLines lines_;
    static constexpr std::uint32_t every_rank = UINT32_MAX - 1; // PMIX_RANK_WILDCARD
    std::set<std::pair<std::uint32_t, bool>> ended_;
    std::chrono::milliseconds quiet_{0}; // 0: not yet (end_when_quiet)
    std::chrono::steady_clock::time_point quiet_by_ = std::chrono::steady_clock::time_point::max();
    RankRanges failed_[2]; // streams, of standard output and of standard error, until it is told
    std::chrono::steady_clock::time_point deadline_; // to listen, or to leave
    bool only_types_ = false, gave_ = false;         // there is no output to be had; there was some input
    bool listens_ = false, leaving_ = false, said_leave_ = false, over_ = false;
    bool told_cut_ = false;
    int code_ = exit_ok;
};

// Empty: all.
Result<std::vector<Rank>> chosen_ranks(const std::string &text, const char *option) {
    return text == "all" ? Result<std::vector<Rank>>(std::vector<Rank>()) : ranks_in_words(text, option);
}

int refuse_follow(const char *command, const Error &why) {
    std::fprintf(stderr, "pmixhost: error: %s (see pmixhost %s --help)\n", printable(why.text, 300).c_str(), command);
    return exit_usage;
}

// What another user's desk may run in our place: nothing that takes from others, or that types.
std::optional<AskedRun> asked_run(const FollowOptions &options, bool with_input) {
    if (with_input || options.take_over)
        return std::nullopt;
    AskedRun run{"output", {}};
    if (options.ranks != "all")
        run.words.push_back("--rank=" + options.ranks);
    for (auto [wanted, word] : {std::pair(options.label, "--label"), std::pair(options.only_out, "--stdout"),
                                std::pair(options.only_err, "--stderr")}) {
        if (wanted)
            run.words.emplace_back(word);
    }
    if (!options.since.empty())
        run.words.push_back("--since=" + options.since);
    return run;
}

int follow(const char *command, const FollowOptions &options, bool with_input) {
    auto ranks = chosen_ranks(options.ranks, "--rank"), targets = chosen_ranks(options.input_ranks, "--input");
    if (!ranks || !targets)
        return refuse_follow(command, !ranks ? ranks.failure() : targets.failure());
    auto since = time_back_in_words(options.since);
    if (!options.since.empty() && !since)
        return refuse_follow(command, error(ErrorKind::invalid,
                                            "--since is '{}'; allowed: a number of seconds, or "
                                            "with s, m or h for seconds, minutes and hours, such as 5m; at most {}h",
                                            printable(options.since),
                                            std::chrono::duration_cast<std::chrono::hours>(longest_time_back).count()));
    auto run = asked_run(options, with_input);
    await_interrupt();
    auto found = [&] {
        ProgressLine progress("waiting for job " + printable(options.job));
        return await_server(options.job, desk_patience, std::chrono::seconds(options.wait), was_interrupted,
                            run ? &*run : nullptr);
    }();
    if (found && found->is_run())
        return show_run(std::move(*found->desk), exit_ok);
    interrupt_as_before();
    if (!found && was_interrupted())
        return exit_ok;
    if (!found) {
        std::fprintf(stderr, "pmixhost: error: %s\n", printable(found.failure().text, 400).c_str());
        return exit_failure;
    }
    OutputRequest request{found->server.server.nspace, found->server.job, *ranks, !options.only_err,
                          !options.only_out,           options.take_over, since};
    UniqueFd reads, writes;
    if (int ends[2]; ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
        reads.reset(ends[0]);
        writes.reset(ends[1]);
    }
    std::signal(SIGPIPE, SIG_IGN);
    auto tool = ListeningTool::start(found->server, [&](int to) {
        writes.reset();
        return follow_output(to, request, {reads.get(), *targets, with_input});
    });
    reads.reset();
    if (!tool) {
        std::fprintf(stderr, "pmixhost: error: %s\n", printable(tool.failure().text, 300).c_str());
        return exit_failure;
    }
    await_interrupt();
    return Follower(options, std::move(*tool), std::move(writes), with_input,
                    {ranks->size(), found->desk && found->desk->is_anothers()})
        .run();
}

void add_options(CLI::App &parser, FollowOptions &options) {
    parser.add_option("JOB", options.job, "JOB[.STEP] or a namespace")->required();
    parser.add_option("-r,--rank", options.ranks, "Only of these ranks: all, or a list such as 0,2-5 [all]")
        ->type_name("RANKS");
    parser.add_flag("-l,--label", options.label, "Whole lines, each with its rank in front");
    auto *out = parser.add_flag("--stdout", options.only_out, "Only standard output");
    parser.add_flag("--stderr", options.only_err, "Only standard error")->excludes(out);
    parser.add_option("--wait", options.wait, "Where the job has not begun, wait so many seconds for it [0]")
        ->type_name("SECONDS")
        ->check(CLI::Range(0u, 31u * 86400));
    parser
        .add_option("--since", options.since,
                    "Of what was written before, only what was in the last TIME, such as 90, 5m or 2h; 0: nothing")
        ->type_name("TIME");
    parser.add_flag("--take-over", options.take_over, "Nobody else gets it, as long as this runs");
}

} // namespace

int output_command(const Words &words) {
    CLI::App parser("Shows what the processes of a running job write, until they end or it is interrupted; the job "
                    "goes on. First comes what they wrote last.",
                    "pmixhost output");
    FollowOptions options;
    add_options(parser, options);
    if (auto over = parse(parser, words))
        return *over;
    return follow("output", options, false);
}

int attach_command(const Words &words) {
    CLI::App parser("Shows what the processes of a running job write, and gives them what is typed, until they end. A "
                    "line \"~.\", Ctrl-] or an interrupt detaches; the job goes on. A line \"~v\" shows what was shown "
                    "in a pager.",
                    "pmixhost attach");
    FollowOptions options;
    add_options(parser, options);
    parser.add_option("-i,--input", options.input_ranks, "Whose standard input it is: all, or a list [all]")
        ->type_name("RANKS");
    parser.add_flag("--eof", options.end, "The end of this input is the end of theirs, too");
    if (auto over = parse(parser, words))
        return *over;
    return follow("attach", options, true);
}

} // namespace pmixhost
