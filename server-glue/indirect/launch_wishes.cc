// See launch_wishes.h.
#include "server-glue/indirect/launch_wishes.h"

#include "common/text/printable.h"
#include "server-glue/library/convert.h"
#include "server-glue/spawn/spawn_directives.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace pmixhost::indirect {

namespace {

constexpr std::pair<const char *, StopPlace> stop_keys[] = {{PMIX_DEBUG_STOP_ON_EXEC, StopPlace::exec},
                                                            {PMIX_DEBUG_STOP_IN_INIT, StopPlace::init},
                                                            {PMIX_DEBUG_STOP_IN_APP, StopPlace::app}};
// Its output is what the launcher prints, which is the debugger's child.
constexpr const char *met_anyway[] = {PMIX_FWD_STDIN, PMIX_FWD_STDOUT, PMIX_FWD_STDERR, PMIX_FWD_STDDIAG};
// Without these another program would be run than was asked for.
constexpr std::pair<const char *, const char *> refused[] = {{PMIX_EXEC_AGENT, "PMIX_EXEC_AGENT"},
                                                             {PMIX_FORKEXEC_AGENT, "PMIX_FORKEXEC_AGENT"},
                                                             {PMIX_LAUNCHER_DAEMON, "PMIX_LAUNCHER_DAEMON"}};

bool is_met_anyway(const pmix_info_t &info) {
    return std::any_of(std::begin(met_anyway), std::end(met_anyway),
                       [&](const char *key) { return PMIX_CHECK_KEY(&info, key); });
}

// True where it is of the job's life, wanted or not.
bool read_life(const pmix_info_t &info, LifeWishes &life) {
    const std::pair<const char *, bool *> flags[] = {{PMIX_NOTIFY_JOB_EVENTS, &life.names_first},
                                                     {PMIX_NOTIFY_COMPLETION, &life.names_first},
                                                     {PMIX_LOG_COMPLETION, &life.logs_end},
                                                     {PMIX_LOG_PROC_TERMINATION, &life.logs_all_ends},
                                                     {PMIX_LOG_PROC_ABNORMAL_TERMINATION, &life.logs_bad_ends},
                                                     {PMIX_NOTIFY_PROC_TERMINATION, &life.tells_all_ends},
                                                     {PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, &life.tells_bad_ends}};
    const bool wanted = flag_of(info.value);
    if (PMIX_CHECK_KEY(&info, PMIX_LOG_JOB_EVENTS)) {
        life.logs_start = life.logs_start || wanted;
        life.logs_end = life.logs_end || wanted;
        return true;
    }
    for (const auto &[key, flag] : flags) {
        if (PMIX_CHECK_KEY(&info, key)) {
            *flag = *flag || wanted;
            return true;
        }
    }
    return false;
}

// "PMIX_MAPBY", where that is known.
std::string name_of(const pmix_info_t &info) {
    const auto *known = find_spawn_attribute(key_of(info));
    return known ? std::string(known->name) : printable(key_of(info));
}

// Its user would take it for granted: not what says no, or is libpmix' own affair.
bool is_missed(const pmix_info_t &info) {
    const auto *known = find_spawn_attribute(key_of(info));
    return !(info.value.type == PMIX_BOOL && !info.value.data.flag) &&
           !(known && known->treatment == SpawnAttribute::Treatment::library);
}

bool is_output(const pmix_info_t &info) {
    return PMIX_CHECK_KEY(&info, PMIX_FWD_STDOUT) || PMIX_CHECK_KEY(&info, PMIX_FWD_STDERR);
}

bool says(const pmix_info_t *info, std::size_t count, const char *key) {
    return info && std::any_of(info, info + count, [key](const pmix_info_t &each) {
               return PMIX_CHECK_KEY(&each, key) && flag_of(each.value);
           });
}

bool add(RankRanges &ranks, Rank rank) {
    if (rank == PMIX_RANK_WILDCARD)
        ranks.add(0, UINT32_MAX);
    else if (rank <= PMIX_RANK_VALID)
        ranks.add(rank, rank);
    else
        return false;
    return true;
}

// A flag for all, a rank, a process, or an array of ranks.
bool read_stop(const pmix_value_t &value, RankRanges &ranks) {
    if (value.type == PMIX_BOOL || value.type == PMIX_UNDEF)
        return !flag_of(value) || add(ranks, PMIX_RANK_WILDCARD);
    if (value.type == PMIX_PROC_RANK)
        return add(ranks, value.data.rank);
    if (value.type == PMIX_DATA_ARRAY && value.data.darray && value.data.darray->type == PMIX_PROC_RANK) {
        const auto *all = static_cast<const pmix_rank_t *>(value.data.darray->array);
        return std::all_of(all, all + value.data.darray->size, [&](pmix_rank_t rank) { return add(ranks, rank); });
    }
    std::vector<Process> processes;
    if (read_processes(value, processes))
        return std::all_of(processes.begin(), processes.end(), [&](const Process &process) {
            return add(ranks, process.wildcard ? PMIX_RANK_WILDCARD : process.rank);
        });
    auto number = number_of(value);
    return number && *number >= 0 && *number <= UINT32_MAX && add(ranks, static_cast<Rank>(*number));
}

} // namespace

Result<LaunchWishes> read_launch_wishes(const pmix_info_t *info, std::size_t count) {
    LaunchWishes wishes;
    std::vector<std::string> missed;
    bool requires_output = false;
    for (std::size_t i = 0; info && i < count; ++i) {
        if (read_life(info[i], wishes.life))
            continue;
        auto is_it = [&](const auto &each) { return PMIX_CHECK_KEY(&info[i], each.first); };
        auto stop = std::find_if(std::begin(stop_keys), std::end(stop_keys), is_it);
        auto other_program = std::find_if(std::begin(refused), std::end(refused), is_it);
        if (other_program != std::end(refused))
            return error(ErrorKind::unsupported, "the debugger's {} is not supported, as the launcher starts the job",
                         other_program->second);
        if (stop != std::end(stop_keys)) {
            if (!read_stop(info[i].value, wishes.stops.at(stop->second)))
                return error(ErrorKind::invalid, "the value of the debugger's {} cannot be read", stop->first);
        } else if (is_met_anyway(info[i])) {
            requires_output = requires_output || (PMIX_INFO_IS_REQUIRED(&info[i]) && is_output(info[i]));
        } else if (PMIX_INFO_IS_REQUIRED(&info[i])) {
            return error(ErrorKind::unsupported,
                         "the debugger requires {} of the job, which is not "
                         "supported",
                         printable(key_of(info[i])));
        } else if (is_missed(info[i])) {
            missed.push_back(name_of(info[i]));
        }
    }
    if (!missed.empty())
        wishes.notes.push_back(
            fmt::format("of the debugger's directives for the job these have no effect: {}; next: the launcher's own "
                        "options",
                        fmt::join(missed, ", ")));
    if (requires_output)
        wishes.notes.emplace_back("the debugger requires the job's output: it comes as the launcher's, and is to be "
                                  "forwarded, or pulled, of that one");
    return wishes;
}

std::vector<std::int32_t> stops_and_goes(const pmix_info_t *info, std::size_t count) {
    std::vector<std::int32_t> out;
    for (std::size_t i = 0; info && i < count; ++i) {
        auto number = number_of(info[i].value);
        bool is_signal = PMIX_CHECK_KEY(&info[i], PMIX_JOB_CTRL_SIGNAL);
        auto is = [&](const char *key, int signal) {
            return (is_signal && number == signal) || (PMIX_CHECK_KEY(&info[i], key) && flag_of(info[i].value));
        };
        if (is(PMIX_JOB_CTRL_PAUSE, SIGSTOP))
            out.push_back(SIGSTOP);
        else if (is(PMIX_JOB_CTRL_RESUME, SIGCONT))
            out.push_back(SIGCONT);
    }
    return out;
}

bool starts_daemons_beside(std::string_view job, const pmix_info_t *info, std::size_t info_count,
                           const pmix_app_t *apps, std::size_t app_count) {
    std::vector<Process> targets;
    auto add_targets = [&](const pmix_info_t *some, std::size_t count) {
        for (std::size_t i = 0; some && i < count; ++i)
            if (PMIX_CHECK_KEY(&some[i], PMIX_DEBUG_TARGET))
                read_processes(some[i].value, targets);
    };
    add_targets(info, info_count);
    bool all = apps && app_count > 0;
    for (std::size_t i = 0; apps && i < app_count; ++i) {
        add_targets(apps[i].info, apps[i].ninfo);
        all = all && says(apps[i].info, apps[i].ninfo, PMIX_DEBUGGER_DAEMONS);
    }
    if (!targets.empty())
        return std::any_of(targets.begin(), targets.end(), [&](const Process &each) { return each.nspace == job; });
    return all || says(info, info_count, PMIX_DEBUGGER_DAEMONS);
}

Named named_by(std::string_view launcher, const pmix_proc_t *processes, std::size_t count) {
    std::size_t here = 0;
    for (std::size_t i = 0; processes && i < count; ++i)
        here += process_of(processes[i]).nspace == launcher ? 1 : 0;
    return here == 0 ? Named::jobs : here == count ? Named::launcher : Named::both;
}

} // namespace pmixhost::indirect
