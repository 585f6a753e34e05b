// See debug_talk.h.
#include "tools/debug/debug_talk.h"

#include "common/text/take_until.h"
#include "tools/stacks/stack_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace pmixhost {

namespace {

using DebugClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds a_moment{100};
constexpr std::chrono::milliseconds to_come_together{300}; // what ranks say at nearly the same time is shown as one

void say_to_user(const std::string &text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

std::string text_of_ranks(const std::vector<Rank> &ranks) {
    RankRanges ranges;
    for (Rank rank : ranks)
        ranges.add(rank, rank);
    return ranks_text(ranges, 20);
}

} // namespace

std::size_t DebugTalk::begin(std::chrono::milliseconds patience) {
    for (auto until = DebugClock::now() + patience; !board_.all_known() && link_.is_open();) {
        hear(a_moment);
        if (interrupted_()) {
            board_.give_up_starting("it was not waited for");
        } else if (DebugClock::now() >= until) {
            board_.give_up_starting("its host has not answered in time; next: a longer --timeout, or pmixhost doctor "
                                    "there");
        }
    }
    show_events();
    return board_.alive(std::nullopt).size();
}

void DebugTalk::hear(std::chrono::milliseconds patience) {
    for (const auto &said : link_.hear(patience))
        board_.on(said);
    if (!link_.is_open())
        board_.lost("the way to its host is gone: the job's step has ended, or srun was killed");
}

void DebugTalk::listen() {
    for (auto until = DebugClock::now() + to_come_together; DebugClock::now() < until && link_.is_open();)
        hear(a_moment);
    show_events();
}

void DebugTalk::show_events() {
    say_to_user(shown_texts(merged_texts(board_.take_events()), colours_.yellow, colours_.off));
}

bool DebugTalk::obey(const std::string &line) {
    auto word = parse_prompt(line);
    if (auto *quit = std::get_if<PromptQuit>(&word)) {
        kills_ = quit->kills;
        if (kills_) {
            focus_.reset(); // the job, and not a part of it
            say("kill", false);
        }
        return false;
    }
    if (auto *focus = std::get_if<PromptFocus>(&word)) {
        auto alive = board_.alive(focus->ranks);
        if (alive.empty())
            say_to_user("no debugged rank that runs or has stopped is among these\n");
        else
            focus_ = std::move(focus->ranks);
    } else if (auto *refused = std::get_if<PromptRefused>(&word)) {
        say_to_user(refused->why + "\n");
    } else if (std::holds_alternative<PromptHelp>(word)) {
        say_to_user(prompt_help);
    } else if (std::holds_alternative<PromptRanks>(word)) {
        hear(std::chrono::milliseconds(0));
        show_events();
        say_to_user(shown_texts(merged_texts(board_.states()), colours_.bold, colours_.off));
    } else if (std::holds_alternative<PromptInterrupt>(word)) {
        interrupt();
        await_stops();
    } else if (std::holds_alternative<PromptWait>(word)) {
        await_stops();
    } else if (auto *input = std::get_if<PromptInput>(&word)) {
        if (auto given = give_(*input); !given)
            say_to_user(given.failure().text + "\n");
    } else if (auto *command = std::get_if<PromptSay>(&word)) {
        say(command->text, command->background);
    }
    return true;
}

void DebugTalk::interrupt() {
    (void)link_.say(DebugInterrupt{focus_});
}

void DebugTalk::say(const std::string &command, bool background) {
    auto asked = board_.alive(focus_);
    if (asked.empty())
        return say_to_user("no debugged rank of the focus runs or has stopped; next: ranks, or all\n");
    std::uint64_t id = next_id_++;
    board_.ask(id, asked);
    (void)link_.say(DebugCommand{id, asked, command});
    bool interrupted = !await_answers(asked);
    say_to_user(shown_texts(merged_texts(board_.take_answers()), colours_.bold, colours_.off));
    // What runs otherwise is not what this command has started.
    if (!background && board_.some_run_by_it())
        await_stops(interrupted);
    else
        show_events();
}

bool DebugTalk::await_answers(const std::vector<Rank> &asked) {
    while (!board_.answered() && link_.is_open()) {
        hear(a_moment);
        if (interrupted_()) {
            (void)link_.say(DebugInterrupt{asked});
            for (auto until = DebugClock::now() + std::chrono::seconds(2);
                 !board_.answered() && link_.is_open() && DebugClock::now() < until;)
                hear(a_moment);
            if (!board_.answered())
                say_to_user(fmt::format("[{}] no answer yet; what runs by it will be stopped\n",
                                        text_of_ranks(board_.unanswered())));
            return false;
        }
    }
    return true;
}

// `interrupted`: it was, before the ranks were known to run; what did not run then has not taken it.
void DebugTalk::await_stops(bool interrupted) {
    bool asked = interrupted;
    if (interrupted)
        interrupt();
    auto shown = DebugClock::now();
    while (!board_.running(focus_).empty() && link_.is_open()) {
        hear(a_moment);
        if (DebugClock::now() - shown > to_come_together) {
            show_events();
            shown = DebugClock::now();
        }
        if (!interrupted_())
            continue;
        if (asked) {
            say_to_user(fmt::format("[{}] still running\n", text_of_ranks(board_.running(focus_))));
            break;
        }
        interrupt();
        asked = true;
    }
    hear(std::chrono::milliseconds(0));
    show_events();
}

std::vector<std::string> DebugTalk::complete(const std::string &line) {
    auto begin = line.find_last_of(' ');
    std::string before = begin == line.npos ? std::string() : line.substr(0, begin + 1);
    std::vector<std::string> out = before.empty() ? own_words(line) : std::vector<std::string>();
    // A gdb whose process runs says nothing before that has stopped.
    auto asked = board_.alive(focus_), runs = board_.running(focus_);
    std::erase_if(asked, [&runs](Rank rank) { return std::find(runs.begin(), runs.end(), rank) != runs.end(); });
    const std::string command = "complete " + line;
    if (asked.empty() || command.size() > longest_debug_command)
        return out;
    asked.resize(1);
    std::uint64_t id = next_id_++;
    board_.ask(id, asked);
    (void)link_.say(DebugCommand{id, asked, command});
    for (auto until = DebugClock::now() + std::chrono::seconds(5);
         !board_.answered() && link_.is_open() && DebugClock::now() < until && !interrupted_();)
        hear(a_moment);
    for (const auto &answer : board_.take_answers()) {
        for (std::string_view rest = answer.text; !rest.empty();) {
            auto found = take_until(rest, '\n');
            if (found.starts_with(before) && found.find("***") == found.npos)
                out.emplace_back(found.substr(before.size()));
        }
    }
    return out;
}

std::string DebugTalk::focus_text() const {
    return text_of_ranks(board_.alive(focus_));
}

std::string DebugTalk::prompt() const {
    std::string focus = focus_text();
    return fmt::format("(debug {}) ", focus.empty() ? "none" : focus);
}

} // namespace pmixhost
