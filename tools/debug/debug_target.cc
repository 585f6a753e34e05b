// See debug_target.h.
#include "tools/debug/debug_target.h"

#include "common/start/starter_command.h"
#include "common/text/printable.h"
#include "tools/doctor/host_checks.h"
#include "tools/terminal/interrupt.h"
#include "tools/view/desk.h"
#include "tools/view/process_list.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/ranges.h>
#include <numeric>

namespace pmixhost {

constexpr int no_such_job_there = 3; // what the program says that brings parts to hosts

std::optional<StopPlace> stop_place_of(const std::string &name) {
    for (StopPlace place : stop_places) {
        if (name == stop_place_words[static_cast<std::size_t>(place)])
            return place;
    }
    return std::nullopt;
}

Result<DebugTarget> running_target(const std::string &job, const std::vector<Rank> &ranks, unsigned patience) {
    auto found = find_server(job, std::chrono::seconds(patience));
    if (!found)
        return found.failure();
    if (found->desk && found->desk->is_anothers())
        return not_for_others(found->server.job);
    auto list = processes_of(found->server, std::chrono::seconds(patience));
    if (!list)
        return error(list.failure().kind, "job {}: {}", printable(found->server.job), list.failure().text);
    DebugTarget out{found->server.job, {}};
    for (const auto &process : *list) {
        if (process.pid > 0 && (ranks.empty() || std::binary_search(ranks.begin(), ranks.end(), process.rank)))
            out.ranks.push_back(process.rank);
    }
    if (out.ranks.empty())
        return error(ErrorKind::not_found, "job {} has none of these ranks, or none runs",
                     printable(found->server.job));
    std::sort(out.ranks.begin(), out.ranks.end());
    return out;
}

// Null: it is none.
static const StarterCommand *starter_of(const std::vector<std::string> &command) {
    const auto &starters = starter_commands();
    auto starter = std::find_if(starters.begin(), starters.end(), [&](const StarterCommand &one) {
        return command[0].substr(command[0].rfind('/') + 1) == one.name;
    });
    return starter == starters.end() ? nullptr : &*starter;
}

// Does an option of these letters, in one word, take the next word for its value?
static bool takes_next_word(std::string_view letters, std::string_view alone) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
        auto place = letters[i] == ':' ? alone.npos : alone.find(letters[i]);
        if (place == alone.npos)
            return i + 1 == letters.size(); // else the rest of the word is the value
        if (alone.substr(place + 1, 2) == "::")
            return false;
    }
    return false;
}

static bool is_name_of(const std::vector<std::string> &names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Is it one of these names, or the beginning of one? Less than half of one may as well begin another option, which has
// a value: --wait is not --wait-for-children.
static bool stands_alone(std::string_view name, const std::vector<std::string> &alone) {
    return is_name_of(alone, name) || std::any_of(alone.begin(), alone.end(), [name](const std::string &one) {
               return one.starts_with(name) && 2 * name.size() >= one.size();
           });
}

// Where the program is, as the starter itself finds it (getopt_long(3)). An option that is not known may have a value:
// rather is a word too many taken for the starter's.
static std::size_t place_of_program(const std::vector<std::string> &command, const StarterCommand &starter) {
    std::size_t at = 1;
    for (; at < command.size(); ++at) {
        std::string_view word = command[at];
        if (word == "--" || word.size() < 2 || word[0] != '-')
            break;
        if (!word.starts_with("--"))
            at += takes_next_word(word.substr(1), starter.letters_alone);
        else if (word.find('=') == word.npos)
            at += !stands_alone(word.substr(2), starter.names_alone);
    }
    return std::min(at, command.size());
}

Result<void> may_be_launched(const std::vector<std::string> &command) {
    // What starts several would have all of them stop, and one debugged.
    const StarterCommand *starter = starter_of(command);
    if (!starter)
        return error(ErrorKind::invalid, "{0} is not {1}; next: {1} ...", printable(command[0], 100),
                     starter_commands().front().name);
    const auto program = command.begin() + static_cast<std::ptrdiff_t>(place_of_program(command, *starter));
    for (const auto &one : starter->refused) {
        const bool option = one.first.starts_with("--");
        auto is_it = [&](std::string_view word) {
            if (word == one.first || !option)
                return word == one.first;
            std::string_view name = word.substr(0, word.find('='));
            return name == one.first || (name.size() > 2 && one.first.starts_with(name) &&
                                         !is_name_of(starter->names_alone, name.substr(2)));
        };
        if (std::any_of(command.begin(), option ? program : command.end(), is_it))
            return error(ErrorKind::invalid, "{}", one.second);
    }
    return {};
}

Result<DebuggedLaunch> launch_for_debug(const std::vector<std::string> &command, StopPlace stop,
                                        const std::vector<Rank> &ranks, LaunchWish wish) {
    DebugStops stops;
    for (Rank rank : ranks)
        stops.at(stop).add(rank, rank);
    DebuggedLaunch::Wish how{ranks.empty() ? std::string(stop_place_words[static_cast<std::size_t>(stop)])
                                           : stops.text(),
                             wish.takes_input,
                             {}};
    if (const StarterCommand *starter = starter_of(command); starter && wish.labels)
        how.labels = starter->labels;
    return DebuggedLaunch::start(command, how);
}

Result<DebugTarget> launched_target(DebuggedLaunch &launch, const std::vector<Rank> &ranks,
                                    const std::function<bool()> &over,
                                    const std::function<void(const std::string &)> &tell) {
    const StarterCommand &starter = starter_commands().front();
    const std::string right = fmt::format("{} {}", starter.name, fmt::join(starter.words, " "));
    auto tell_at = std::optional(std::chrono::steady_clock::now() + std::chrono::seconds(10));
    auto job = launch.await_job([&] {
        if (tell_at && std::chrono::steady_clock::now() >= *tell_at) {
            tell_at.reset();
            tell(fmt::format(
                "no job of pmixhost has begun yet: it waits for its turn, or is not pmixhost's; next: wait, "
                "or end this and say {}",
                right));
        }
        return over();
    });
    if (!job)
        return error(ErrorKind::not_found, "has started no job that pmixhost serves; next: {}, or its words above",
                     right);
    DebugTarget out{job->nspace, ranks};
    if (ranks.empty()) {
        out.ranks.resize(job->processes);
        std::iota(out.ranks.begin(), out.ranks.end(), 0);
    }
    return out;
}

// Debuggers that are ended by force leave stopped what they were about to take hold of, which others on the same hosts
// let go on. `words`: of the parts; `program` brings them there (empty: they are here).
static void let_go_on(const std::string &nspace, const std::string &program, const std::vector<std::string> &words) {
    constexpr std::chrono::seconds patience(40);
    std::vector<std::string> all = program.empty() ? words : std::vector<std::string>{program, "--talk-to", nspace};
    if (!program.empty())
        all.insert(all.end(), words.begin(), words.end());
    all.emplace_back("--let-go");
    int code = -1;
    (void)take_interrupt(); // what has ended this command may have ended the debuggers; a further order ends the wait
    if (auto link = DebugLink::open(all); link) {
        for (auto until = std::chrono::steady_clock::now() + patience;
             link->is_open() && !was_interrupted() && std::chrono::steady_clock::now() < until;)
            (void)link->hear(std::chrono::milliseconds(100));
        code = link->exit_code();
    }
    if (code == no_such_job_there)
        return; // it has ended with them
    std::string next = fmt::format("where it still runs, processes may stand; next: pmixhost resume {}", nspace);
    std::fprintf(stderr, "pmixhost: the debuggers of job %s were ended by force; %s\n", printable(nspace).c_str(),
                 code == 0 ? "its processes have been let go on" : printable(next).c_str());
}

Result<DebugLink> link_to_hosts(const DebugWish &wish, const std::string &nspace, const std::function<bool()> &over) {
    std::error_code failed;
    std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe", failed).string(),
                                   "debug",
                                   "--here",
                                   nspace,
                                   "--timeout",
                                   std::to_string(wish.patience)};
    if (!wish.ranks.empty())
        words.insert(words.end(), {"--ranks", wish.ranks});
    if (!wish.stop.empty())
        words.insert(words.end(), {"--stop", wish.stop});
    for (const auto &program : check_programs()) {
        std::vector<std::string> all{program, "--talk-to", nspace};
        all.insert(all.end(), words.begin(), words.end());
        auto link = DebugLink::open(all);
        if (!link)
            return link;
        // Who does not know the job ends at once, and says nothing.
        auto until = std::chrono::steady_clock::now() + std::chrono::seconds(wish.patience);
        while (link->is_open() && !link->has_spoken() && !over() && std::chrono::steady_clock::now() < until)
            link->await_first_word(std::chrono::milliseconds(100));
        if (link->is_open() || link->exit_code() != no_such_job_there) {
            link->when_forced([=] { let_go_on(nspace, program, words); });
            return link;
        }
    }
    auto link = DebugLink::open(words);
    if (link)
        link->when_forced([=] { let_go_on(nspace, {}, words); });
    return link;
}

} // namespace pmixhost
