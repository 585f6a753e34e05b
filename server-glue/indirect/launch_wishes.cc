// See launch_wishes.h.
#include "server-glue/indirect/launch_wishes.h"

#include "common/text/printable.h"
#include "server-glue/library/convert.h"

#include <algorithm>
#include <utility>

namespace pmixhost::indirect {

namespace {

constexpr std::pair<const char *, StopPlace> stop_keys[] = {{PMIX_DEBUG_STOP_ON_EXEC, StopPlace::exec},
                                                            {PMIX_DEBUG_STOP_IN_INIT, StopPlace::init},
                                                            {PMIX_DEBUG_STOP_IN_APP, StopPlace::app}};
// Its events are told in any case; its output is what the launcher prints, which is the debugger's child.
constexpr const char *without_effect[] = {PMIX_NOTIFY_JOB_EVENTS,
                                          PMIX_NOTIFY_COMPLETION,
                                          PMIX_NOTIFY_PROC_TERMINATION,
                                          PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION,
                                          PMIX_FWD_STDIN,
                                          PMIX_FWD_STDOUT,
                                          PMIX_FWD_STDERR,
                                          PMIX_FWD_STDDIAG};

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
    for (std::size_t i = 0; info && i < count; ++i) {
        auto stop = std::find_if(std::begin(stop_keys), std::end(stop_keys),
                                 [&](const auto &each) { return PMIX_CHECK_KEY(&info[i], each.first); });
        if (stop != std::end(stop_keys)) {
            if (!read_stop(info[i].value, wishes.stops.at(stop->second)))
                return error(ErrorKind::invalid, "the value of the debugger's {} cannot be read", stop->first);
        } else if (PMIX_INFO_IS_REQUIRED(&info[i]) &&
                   std::none_of(std::begin(without_effect), std::end(without_effect),
                                [&](const char *key) { return PMIX_CHECK_KEY(&info[i], key); })) {
            return error(ErrorKind::unsupported,
                         "the debugger requires {} of the job, which is not "
                         "supported",
                         printable(key_of(info[i])));
        }
    }
    return wishes;
}

} // namespace pmixhost::indirect
