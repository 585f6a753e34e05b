// See debugger_daemons.h.
#include "server-glue/spawn/debugger_daemons.h"

#include "server-glue/spawn/spawn_directives.h"
#include "server-glue/spawn/spawn_request.h"

#include <algorithm>
#include <pmix.h>

namespace pmixhost {

namespace {

using Directives = std::vector<wire::SpawnDirective>;

bool says(const Directives &directives, std::string_view key) {
    return std::any_of(directives.begin(), directives.end(), [&](const auto &d) {
        return d.key == key && d.kind == static_cast<std::uint8_t>(SpawnValue::flag) && d.number != 0;
    });
}

bool says_daemons(const Directives &directives) {
    return says(directives, PMIX_DEBUGGER_DAEMONS);
}

bool says_cospawned(const Directives &directives) {
    return says(directives, PMIX_COSPAWN_APP) && !says_daemons(directives);
}

std::optional<Process> target_in(const Directives &directives) {
    for (const auto &d : directives) {
        if (d.key == PMIX_DEBUG_TARGET && d.kind == static_cast<std::uint8_t>(SpawnValue::process))
            return Process{d.text, static_cast<Rank>(d.number), d.number == PMIX_RANK_WILDCARD};
    }
    return std::nullopt;
}

bool is_stop(const wire::SpawnDirective &d) {
    return d.key == PMIX_DEBUG_STOP_ON_EXEC || d.key == PMIX_DEBUG_STOP_IN_INIT || d.key == PMIX_DEBUG_STOP_IN_APP;
}

// What is the first job's own of what is said for the whole request: input and output, which libpmix brings to who
// spawned them by the one namespace that it returns.
bool is_for_the_returned_job(const wire::SpawnDirective &d) {
    bool gathers = d.key == PMIX_IOF_BUFFERING_SIZE || d.key == PMIX_IOF_BUFFERING_TIME;
    return d.key == PMIX_STDIN_TGT || forwarded_channel(d.key) != 0 || gathers;
}

// A stop of some of the first job's ranks.
bool names_ranks(const wire::SpawnDirective &d) {
    bool all = d.kind == static_cast<std::uint8_t>(SpawnValue::number) && d.number == PMIX_RANK_WILDCARD;
    return is_stop(d) && d.kind != static_cast<std::uint8_t>(SpawnValue::flag) && !all;
}

// An agent would run each daemon under a program that is the application's own; daemons end with that, whose time is
// over; and a set of processes by that name is the application's.
bool is_of_the_application(const wire::SpawnDirective &d) {
    return d.key == PMIX_EXEC_AGENT || d.key == PMIX_FORKEXEC_AGENT || d.key == PMIX_JOB_TIMEOUT ||
           d.key == PMIX_PSET_NAME;
}

bool is_not_for_daemons(const wire::SpawnDirective &d) {
    return is_for_the_returned_job(d) || is_stop(d) || is_about_output_files(d.key) || is_of_the_application(d);
}

// The programs of which `is_other` is true of their directives, in a request of their own; nothing where all are, or
// none.
template <typename Is> std::optional<wire::SpawnRequest> take_apps(wire::SpawnRequest &request, Is is_other) {
    auto &apps = request.apps;
    auto others =
        std::stable_partition(apps.begin(), apps.end(), [&](const auto &app) { return !is_other(app.directives); });
    if (others == apps.begin() || others == apps.end())
        return std::nullopt;
    wire::SpawnRequest out = request;
    out.apps.assign(std::make_move_iterator(others), std::make_move_iterator(apps.end()));
    apps.erase(others, apps.end());
    return out;
}

bool is_of_daemons(const wire::SpawnDirective &d) {
    return d.key == PMIX_DEBUG_TARGET || d.key == PMIX_DEBUG_DAEMONS_PER_NODE || d.key == PMIX_DEBUG_DAEMONS_PER_PROC;
}

} // namespace

std::optional<Process> debug_target_of(const wire::SpawnRequest &request) {
    auto found = target_in(request.directives);
    for (auto app = request.apps.begin(); !found && app != request.apps.end(); ++app)
        found = target_in(app->directives);
    return found;
}

bool has_stops(const wire::SpawnRequest &request) {
    auto in = [](const Directives &directives) {
        return std::any_of(directives.begin(), directives.end(), [](const auto &d) {
            return is_stop(d) && (d.kind != static_cast<std::uint8_t>(SpawnValue::flag) || d.number != 0);
        });
    };
    return in(request.directives) ||
           std::any_of(request.apps.begin(), request.apps.end(), [&](const auto &app) { return in(app.directives); });
}

std::vector<wire::TargetHost> target_hosts(const StepInfo &target, const Process &which) {
    std::vector<wire::TargetHost> out;
    if (!which.wildcard) {
        if (HostIndex host = target.map.host_of(which.rank); host != no_host)
            out.push_back({target.map.hosts()[host], 1});
        return out;
    }
    for (HostIndex host = 0; host < target.map.host_count(); ++host) {
        if (auto ranks = target.map.ranks_on(host); !ranks.empty())
            out.push_back({target.map.hosts()[host], static_cast<std::uint32_t>(ranks.size())});
    }
    return out;
}

bool are_daemons(const wire::SpawnRequest &request) {
    return says_daemons(request.directives) ||
           std::any_of(request.apps.begin(), request.apps.end(),
                       [](const auto &app) { return says_daemons(app.directives); });
}

std::optional<wire::SpawnRequest> take_daemons(wire::SpawnRequest &request) {
    if (says_daemons(request.directives))
        return std::nullopt; // all of them
    auto out = take_apps(request, says_daemons);
    if (!out)
        return std::nullopt;
    std::erase_if(out->directives, is_not_for_daemons);
    std::erase_if(request.directives, is_of_daemons);
    request.directives.push_back({PMIX_NOTIFY_COMPLETION, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1});
    return out;
}

std::optional<wire::SpawnRequest> take_cospawned(wire::SpawnRequest &request) {
    auto out = take_apps(request, says_cospawned);
    if (out)
        std::erase_if(out->directives, [](const auto &d) { return is_for_the_returned_job(d) || names_ranks(d); });
    return out;
}

bool has_two_jobs(const wire::SpawnRequest &request) {
    auto has_others = [&](auto is_other) {
        auto others = std::count_if(request.apps.begin(), request.apps.end(),
                                    [&](const auto &app) { return is_other(app.directives); });
        return others > 0 && others < std::ssize(request.apps);
    };
    return has_others(says_cospawned) || (!says_daemons(request.directives) && has_others(says_daemons));
}

void set_debug_target(wire::SpawnRequest &daemons, const Bytes &nspace) {
    if (!debug_target_of(daemons))
        daemons.directives.push_back(
            {PMIX_DEBUG_TARGET, 0, static_cast<std::uint8_t>(SpawnValue::process), nspace, PMIX_RANK_WILDCARD});
}

} // namespace pmixhost
