// See plan_spawn.h.
#include "server-glue/spawn/plan_spawn.h"

#include "server-glue/spawn/debugger_daemons.h"
#include "server-glue/spawn/spawn_wishes.h"

#include <algorithm>
#include <map>
#include <pmix.h>
#include <utility>

namespace pmixhost {

namespace {

using Kind = EnvironmentChange::Kind;

class Planner {
  public:
    Planner(const wire::SpawnRequest &request, const SpawnSite &site) : request_(request), site_(site) {}

    std::variant<SpawnPlan, SpawnRefusal> plan() {
        plan_.parent_nspace = request_.nspace;
        plan_.parent_rank = request_.rank;
        for (const auto &directive : request_.directives) {
            if (auto no = reader_.read(directive, common_, true))
                return *no;
        }
        for (const auto &app : request_.apps) {
            Wishes own = common_;
            own.hosts.clear();
            own.stops.clear();
            for (const auto &directive : app.directives) {
                if (auto no = reader_.read(directive, own, false))
                    return *no;
            }
            if (own.hosts.empty())
                own.hosts = common_.hosts;
            if (auto no = add_app(app, std::move(own)))
                return *no;
        }
        if (auto no = reader_.settle())
            return *no;
        for (const auto &name : reader_.added()) {
            if (!slots_of(name))
                return refuse_spawn(PMIX_ERR_JOB_ALLOC_FAILED,
                                    "host {} is not in the allocation, and no host can be added to it", name);
        }
        if (auto no = place())
            return *no;
        if (auto no = place_stops())
            return *no;
        if (auto no = complete_sets())
            return *no;
        // Who names a personality is an MPI library. Who wants to be told of the end sees to it itself.
        auto names_mpi = [](const auto &directive) { return directive.key == PMIX_PERSONALITY; };
        plan_.shares_fate = std::any_of(request_.directives.begin(), request_.directives.end(), names_mpi) &&
                            request_.lives_on == 0 && !plan_.tell_end && !are_daemons(request_);
        return std::move(plan_);
    }

  private:
    Verdict place_stops() {
        for (StopPlace place : stop_places) {
            RankRanges wanted = std::exchange(plan_.stops.at(place), {});
            for (auto [first, named] : wanted.ranges()) {
                Rank last = named == SpawnPlan::all_ranks ? plan_.tasks() - 1 : named;
                if (last >= plan_.tasks() || first > last)
                    return refuse_spawn(PMIX_ERR_BAD_PARAM, "there is no rank {} to stop for a debugger",
                                        std::max(first, last));
                plan_.stops.at(place).add(first, last);
            }
        }
        if (plan_.stops.text().size() > DebugStops::max_text)
            return refuse_spawn(PMIX_ERR_OUT_OF_RESOURCE, "the list of ranks to stop for a debugger is too long");
        for (auto &app : plan_.apps) {
            for (auto [first, last] : plan_.stops.at(StopPlace::exec).ranges()) {
                Rank low = std::max(first, app.first), high = std::min(last, app.first + app.count - 1);
                if (low <= high)
                    app.stop_on_exec.emplace_back(low, high);
            }
        }
        return {};
    }

    // Programs that name the same set are in it together.
    void add_to_set(const std::string &name, std::uint32_t first, std::uint32_t count) {
        auto &sets = plan_.process_sets;
        auto set = std::find_if(sets.begin(), sets.end(), [&](const auto &s) { return s.name == name; });
        if (set == sets.end())
            set = sets.insert(sets.end(), {name, {}});
        for (std::uint32_t rank = first; rank < first + count; ++rank)
            set->ranks.push_back(rank);
    }

    // Here and not by the backend, to which all of the programs are pmixhost-task.
    Verdict complete_sets() {
        auto with_programs = plan_.process_sets;
        std::vector<App> apps;
        for (std::size_t i = 0; i < plan_.apps.size(); ++i) {
            const auto &app = plan_.apps[i];
            App &out = apps.emplace_back(App{argv_of_app_[i], {}});
            for (std::uint32_t rank = app.first; rank < app.first + app.count; ++rank)
                out.ranks.push_back(rank);
        }
        add_program_sets(with_programs, apps);
        if (format_process_sets(with_programs).size() <= max_process_sets_text)
            plan_.process_sets = std::move(with_programs);
        else if (format_process_sets(plan_.process_sets).size() > max_process_sets_text)
            return refuse_spawn(PMIX_ERR_OUT_OF_RESOURCE, "the names of the process sets are too long");
        return {};
    }

    Verdict add_app(const wire::SpawnApp &app, Wishes wishes) {
        TaskApp out;
        out.program = app.command.empty() && !app.argv.empty() ? app.argv.front() : app.command;
        if (out.program.empty())
            return refuse_spawn(PMIX_ERR_JOB_NO_EXE_SPECIFIED, "no program was named");
        std::int64_t count = app.count;
        if (wishes.beside_target()) {
            if (auto no = count_beside_target(wishes, count))
                return no;
        } else if (count == 0 && job_.per_host != 0) { // as mpirun does: so many on each host
            std::vector<SpawnSite::Host> hosts;
            if (auto no = candidates(wishes.hosts, hosts))
                return no;
            for (const auto &host : hosts)
                count += host.slots;
        }
        // Else 0 is "as many as fit" for some hosts; with the standard, there has to be a number.
        if (count <= 0)
            return refuse_spawn(PMIX_ERR_BAD_PARAM, "{} processes of {} were asked for", count, out.program);
        if (static_cast<std::uint64_t>(count) > site_.max_tasks - tasks_)
            return refuse_spawn(PMIX_ERR_OUT_OF_RESOURCE, "{} more processes are too many", count);
        out.argv = app.argv;
        if (out.argv.empty())
            out.argv.push_back(out.program);
        argv_of_app_.push_back(out.argv);
        if (!wishes.exec_agent.empty()) { // becomes the program, when it has prepared what it has to
            if (wishes.index_argv)
                return refuse_spawn(PMIX_ERR_NOT_SUPPORTED, "PMIX_INDEX_ARGV would number the agent, not {}",
                                    out.program);
            if (out.program.find('/') != std::string::npos && out.argv.front().find('/') == std::string::npos)
                out.argv.front() = out.program; // so that the agent finds it
            out.program = wishes.exec_agent;
            out.argv.insert(out.argv.begin(), out.program);
        }
        out.directory = wishes.directory.empty() ? app.directory : wishes.directory;
        if (!wishes.prefix.empty()) {
            out.changes.push_back({Kind::first, "PATH", wishes.prefix + "/bin", ':'});
            out.changes.push_back({Kind::first, "LD_LIBRARY_PATH", wishes.prefix + "/lib", ':'});
        }
        for (const auto &entry : app.environment) {
            std::size_t equals = entry.find('=');
            if (equals != 0 && equals != std::string::npos)
                out.changes.push_back({Kind::set, entry.substr(0, equals), entry.substr(equals + 1), ':'});
        }
        out.changes.insert(out.changes.end(), wishes.changes.begin(), wishes.changes.end());
        out.index_argv = wishes.index_argv;
        out.merge = wishes.merge;
        out.output = wishes.output;
        if (wishes.output_pattern && out.output.place == TaskOutput::Place::file)
            out.output.place = TaskOutput::Place::pattern;
        if (auto no = check_output(out.output, static_cast<std::uint64_t>(count)))
            return no;
        out.first = tasks_;
        out.count = static_cast<std::uint32_t>(count);
        for (StopPlace place : wishes.stops)
            plan_.stops.at(place).add(out.first, out.first + out.count - 1);
        if (!wishes.process_set.empty())
            add_to_set(wishes.process_set, out.first, out.count);
        tasks_ += out.count;
        plan_.apps.push_back(std::move(out));
        wishes_of_app_.push_back(std::move(wishes));
        return {};
    }

    // Of several processes each needs files of its own.
    Verdict check_output(const TaskOutput &output, std::uint64_t count) const {
        bool is_one_name = output.place == TaskOutput::Place::pattern && output.path.find("%r") == std::string::npos;
        bool is_taken = std::any_of(plan_.apps.begin(), plan_.apps.end(), [&](const TaskApp &other) {
            return other.output.place == TaskOutput::Place::pattern && other.output.path == output.path;
        });
        if (is_one_name && (count > 1 || is_taken))
            return refuse_spawn(PMIX_ERR_BAD_PARAM,
                                "the output of several processes cannot go to one file, {}: %r in its name becomes the "
                                "rank",
                                output.path);
        return {};
    }

    // How many processes there are is then the target's business; what the program's own number says is not looked at.
    Verdict count_beside_target(const Wishes &wishes, std::int64_t &count) const {
        if (wishes.daemons_per_host != 0 && wishes.daemons_per_process != 0)
            return refuse_spawn(PMIX_ERR_BAD_PARAM, "daemons are asked for both per host and per process");
        if (!debug_target_of(request_))
            return refuse_spawn(PMIX_ERR_BAD_PARAM,
                                "daemons are asked for beside a job, but PMIX_DEBUG_TARGET names none");
        count = 0;
        for (const auto &target : request_.targets)
            count += beside(wishes, target);
        if (count == 0)
            return refuse_spawn(PMIX_ERR_NOT_FOUND, "there is no process to debug of that rank");
        return {};
    }
    static std::int64_t beside(const Wishes &wishes, const wire::TargetHost &target) {
        return wishes.daemons_per_host + std::int64_t{wishes.daemons_per_process} * target.processes;
    }
    Verdict place_beside_target(const Wishes &wishes, std::map<std::string, std::uint32_t> &used) {
        for (const auto &target : request_.targets) {
            if (!slots_of(target.host))
                return refuse_spawn(PMIX_ERR_NOT_FOUND,
                                    "host {}, where processes are to be debugged, is not in the allocation",
                                    target.host);
            auto count = static_cast<std::uint32_t>(beside(wishes, target));
            used[target.host] += count;
            plan_.host_of_rank.insert(plan_.host_of_rank.end(), count, target.host);
        }
        return {};
    }

    const std::uint32_t *slots_of(const std::string &name) const {
        auto found =
            std::find_if(site_.hosts.begin(), site_.hosts.end(), [&](const auto &host) { return host.name == name; });
        return found == site_.hosts.end() ? nullptr : &found->slots;
    }

    // The hosts a program may use, with the number of its tasks that each may hold.
    Verdict candidates(const std::vector<HostWish> &wished, std::vector<SpawnSite::Host> &out) const {
        if (wished.empty() && !request_.targets.empty()) { // where there is something to debug
            for (const auto &target : request_.targets) {
                if (const std::uint32_t *slots = slots_of(target.host))
                    out.push_back({target.host, *slots});
            }
        } else if (wished.empty()) {
            out = site_.hosts;
        } else {
            for (const auto &wish : wished) {
                const std::uint32_t *slots = slots_of(wish.name);
                if (!slots)
                    return refuse_spawn(PMIX_ERR_NOT_FOUND, "host {} is not in the allocation", wish.name);
                out.push_back({wish.name, wish.slots ? wish.slots : *slots});
            }
        }
        if (job_.not_on_head && !site_.hosts.empty())
            std::erase_if(out, [&](const auto &host) { return host.name == site_.hosts.front().name; });
        for (auto &host : out) {
            host.slots /= plan_.cpus_per_task;
            if (job_.per_host)
                host.slots = job_.oversubscribe ? job_.per_host : std::min(host.slots, job_.per_host);
        }
        return {};
    }

    Verdict place() {
        std::map<std::string, std::uint32_t> used;
        for (std::size_t i = 0; i < plan_.apps.size(); ++i) {
            if (wishes_of_app_[i].beside_target()) {
                if (auto no = place_beside_target(wishes_of_app_[i], used))
                    return no;
                continue;
            }
            std::vector<SpawnSite::Host> hosts;
            if (auto no = candidates(wishes_of_app_[i].hosts, hosts))
                return no;
            std::vector<std::uint32_t> counts(hosts.size());
            std::uint32_t left = plan_.apps[i].count;
            auto free_on = [&](std::size_t h) {
                std::uint32_t taken = used[hosts[h].name];
                return hosts[h].slots > taken ? hosts[h].slots - taken : 0;
            };
            std::vector<std::size_t> order; // the host of each task, as mapped
            bool by_node = job_.by_node;
            while (left > 0) {
                bool placed = false;
                for (std::size_t h = 0; h < hosts.size() && left > 0; ++h) {
                    std::uint32_t count = std::min(free_on(h), by_node ? 1u : left);
                    used[hosts[h].name] += count;
                    counts[h] += count;
                    left -= count;
                    order.insert(order.end(), count, h);
                    placed = placed || count > 0;
                }
                if (placed || left == 0)
                    continue;
                if (!job_.oversubscribe || hosts.empty() || job_.per_host)
                    return too_many(plan_.apps[i], left);
                // All are full: the rest goes round.
                plan_.oversubscribed = true;
                for (std::size_t h = 0; h < hosts.size() && left > 0; ++h, --left) {
                    ++used[hosts[h].name];
                    ++counts[h];
                    order.push_back(h);
                }
            }
            if (!job_.rank_by_node.value_or(job_.by_node)) {
                std::sort(order.begin(), order.end());
            } else {
                order.clear();
                for (std::uint32_t round = 0; order.size() < plan_.apps[i].count; ++round) {
                    for (std::size_t h = 0; h < hosts.size(); ++h) {
                        if (counts[h] > round)
                            order.push_back(h);
                    }
                }
            }
            for (std::size_t h : order)
                plan_.host_of_rank.push_back(hosts[h].name);
        }
        for (const auto &[name, count] : used) {
            const std::uint32_t *slots = slots_of(name);
            if (slots && std::uint64_t{count} * plan_.cpus_per_task > *slots)
                plan_.oversubscribed = true; // PMIX_HOST gave more than there is
        }
        if (plan_.stdin_rank && *plan_.stdin_rank != SpawnPlan::all_ranks && *plan_.stdin_rank >= plan_.tasks())
            return refuse_spawn(PMIX_ERR_BAD_PARAM, "there is no rank {} to give the standard input to",
                                *plan_.stdin_rank);
        return {};
    }

    Verdict too_many(const TaskApp &app, std::uint32_t left) const {
        std::uint64_t slots = 0;
        for (const auto &host : site_.hosts)
            slots += host.slots;
        return refuse_spawn(PMIX_ERR_OUT_OF_RESOURCE,
                            "{} of {} processes of {} find no room: the allocation has {} CPUs on {} hosts; "
                            "next: allocate more, or map by :oversubscribe",
                            left, app.count, app.program, slots, site_.hosts.size());
    }

    const wire::SpawnRequest &request_;
    const SpawnSite &site_;
    SpawnPlan plan_;
    Wishes common_;
    WishReader reader_{request_, site_, plan_};
    const JobWishes &job_ = reader_.job();
    std::uint32_t tasks_ = 0;
    std::vector<Wishes> wishes_of_app_;
    std::vector<std::vector<std::string>> argv_of_app_; // without an exec agent
};

} // namespace

std::variant<SpawnPlan, SpawnRefusal> plan_spawn(const wire::SpawnRequest &request, const SpawnSite &site) {
    return Planner(request, site).plan();
}

} // namespace pmixhost
