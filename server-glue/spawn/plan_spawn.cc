// See plan_spawn.h.
#include "server-glue/spawn/plan_spawn.h"

#include "server-glue/spawn/debugger_daemons.h"
#include "server-glue/spawn/spawn_wishes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <pmix.h>
#include <utility>

namespace pmixhost {

namespace {

using Kind = EnvironmentChange::Kind;

class Planner {
  public:
    Planner(const wire::SpawnRequest &request, const SpawnSite &site)
        : request_(request), site_(site), used_(site.hosts.size()) {
        for (std::size_t at = 0; at < site.hosts.size(); ++at)
            places_.emplace(site.hosts[at].name, at);
    }

    std::variant<SpawnPlan, SpawnRefusal> plan() {
        plan_.parent_nspace = request_.nspace;
        plan_.parent_rank = request_.rank;
        for (const auto &directive : request_.directives) {
            if (auto no = reader_.read(directive, common_, true))
                return *no;
        }
        for (const auto &app : request_.apps) {
            Wishes own = common_;
            own.hosts.reset();
            own.stops.clear();
            for (const auto &directive : app.directives) {
                if (auto no = reader_.read(directive, own, false))
                    return *no;
            }
            if (!own.hosts)
                own.hosts = common_.hosts;
            if (auto no = add_app(app, std::move(own)))
                return *no;
        }
        if (auto no = reader_.settle())
            return *no;
        for (const auto &name : reader_.added()) {
            if (!place_of(name))
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
        for (std::size_t i = 0; i < plan_.apps.size(); ++i) {
            TaskApp &app = plan_.apps[i];
            for (auto [first, last] : plan_.stops.at(StopPlace::exec).ranges()) {
                Rank low = std::max(first, app.first), high = std::min(last, app.first + app.count - 1);
                if (low <= high)
                    app.stop_on_exec.emplace_back(low, high);
            }
            // It is told apart from a program by nobody: it would be what stands, and the program would run.
            const Wishes &wishes = wishes_of_app_[i];
            bool execs = !wishes.exec_agent.empty();
            if (!app.stop_on_exec.empty() && (execs || !wishes.fork_agent.empty()))
                return refuse_spawn(PMIX_ERR_NOT_SUPPORTED,
                                    "{} cannot be stopped at its first instruction (PMIX_DEBUG_STOP_ON_EXEC): it is "
                                    "started by an agent ({}), {}; next: PMIX_DEBUG_STOP_IN_INIT",
                                    argv_of_app_[i].front(), execs ? "PMIX_EXEC_AGENT" : "PMIX_FORKEXEC_AGENT",
                                    execs ? wishes.exec_agent : wishes.fork_agent);
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
            std::vector<Room> rooms;
            if (auto no = candidates(wishes.hosts, rooms))
                return no;
            for (const auto &room : rooms)
                count += room.slots;
        }
        // Else 0 is "as many as fit" for some hosts; with the standard, there has to be a number.
        if (count <= 0)
            return refuse_spawn(PMIX_ERR_BAD_PARAM, "{} processes of {} were asked for", count, out.program);
        if (static_cast<std::uint64_t>(count) > site_.max_tasks - tasks_)
            return refuse_spawn(PMIX_ERR_OUT_OF_RESOURCE,
                                "{} more processes are too many: one PMIx_Spawn starts {} at most", count,
                                site_.max_tasks);
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
        if (!wishes.fork_agent.empty() && !wishes.exec_agent.empty())
            return refuse_spawn(PMIX_ERR_BAD_PARAM,
                                "{} cannot be started by two agents, {} (PMIX_FORKEXEC_AGENT) and {} (PMIX_EXEC_AGENT)",
                                argv_of_app_.back().front(), wishes.fork_agent, wishes.exec_agent);
        out.fork_agent = wishes.fork_agent;
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
    Verdict place_beside_target(const Wishes &wishes) {
        for (const auto &target : request_.targets) {
            auto place = place_of(target.host);
            if (!place)
                return refuse_spawn(PMIX_ERR_NOT_FOUND,
                                    "host {}, where processes are to be debugged, is not in the allocation",
                                    target.host);
            auto count = static_cast<std::uint32_t>(beside(wishes, target));
            used_[*place] += count;
            plan_.host_of_rank.insert(plan_.host_of_rank.end(), count, target.host);
        }
        return {};
    }

    // Of a host, in the site's list.
    std::optional<std::size_t> place_of(std::string_view name) const {
        auto found = places_.find(name);
        return found == places_.end() ? std::nullopt : std::optional(found->second);
    }

    // A host that a program may use, with the number of its tasks that it may hold.
    struct Room {
        std::size_t place = 0;
        std::uint32_t slots = 0;
    };
    Verdict named_rooms(const HostWishes &wished, std::vector<Room> &out) const {
        for (const auto &wish : wished.all()) {
            auto place = place_of(wish.name);
            if (!place)
                return refuse_spawn(PMIX_ERR_NOT_FOUND, "host {} is not in the allocation", wish.name);
            out.push_back({*place, wish.slots ? wish.slots : site_.hosts[*place].slots});
        }
        return {};
    }
    Verdict candidates(const std::shared_ptr<HostWishes> &wished, std::vector<Room> &out) {
        auto known = rooms_.find(wished.get()); // many programs may have the job's hosts
        if (known != rooms_.end()) {
            out = known->second;
        } else {
            if (wished) {
                if (auto no = named_rooms(*wished, out))
                    return no;
            } else if (!request_.targets.empty()) { // where there is something to debug
                for (const auto &target : request_.targets) {
                    if (auto place = place_of(target.host))
                        out.push_back({*place, site_.hosts[*place].slots});
                }
            } else {
                for (const auto &host : site_.hosts)
                    out.push_back({*place_of(host.name), host.slots});
            }
            rooms_.emplace(wished.get(), out);
        }
        if (job_.not_on_head)
            std::erase_if(out, [](const Room &room) { return room.place == 0; });
        for (Room &room : out) {
            room.slots /= plan_.cpus_per_task;
            if (job_.per_host)
                room.slots = job_.oversubscribe ? job_.per_host : std::min(room.slots, job_.per_host);
        }
        return {};
    }

    // How many of `left` tasks each room gets without being over-full; `left` is then what finds none.
    std::vector<std::uint32_t> fill(const std::vector<Room> &rooms, std::uint32_t &left) {
        std::vector<std::uint32_t> counts(rooms.size());
        std::vector<std::size_t> open(rooms.size()); // rooms that may have place
        std::iota(open.begin(), open.end(), std::size_t{0});
        while (left > 0 && !open.empty()) {
            std::erase_if(open, [&](std::size_t each) {
                const Room &room = rooms[each];
                std::uint32_t taken = used_[room.place];
                std::uint32_t count = std::min(room.slots > taken ? room.slots - taken : 0, job_.by_node ? 1u : left);
                count = std::min(count, left);
                used_[room.place] += count;
                counts[each] += count;
                left -= count;
                return count == 0;
            });
        }
        return counts;
    }

    // From host to host, or all of a host one after the other.
    void name_hosts(const std::vector<Room> &rooms, const std::vector<std::uint32_t> &counts) {
        auto &hosts = plan_.host_of_rank;
        if (!job_.rank_by_node.value_or(job_.by_node)) {
            for (std::size_t each = 0; each < rooms.size(); ++each)
                hosts.insert(hosts.end(), counts[each], site_.hosts[rooms[each].place].name);
            return;
        }
        std::vector<std::size_t> open(rooms.size());
        std::iota(open.begin(), open.end(), std::size_t{0});
        for (std::uint32_t round = 0; !open.empty(); ++round) {
            std::erase_if(open, [&](std::size_t each) { return counts[each] <= round; });
            for (std::size_t each : open)
                hosts.push_back(site_.hosts[rooms[each].place].name);
        }
    }

    Verdict place() {
        for (std::size_t i = 0; i < plan_.apps.size(); ++i) {
            if (wishes_of_app_[i].beside_target()) {
                if (auto no = place_beside_target(wishes_of_app_[i]))
                    return no;
                continue;
            }
            std::vector<Room> rooms;
            if (auto no = candidates(wishes_of_app_[i].hosts, rooms))
                return no;
            std::uint32_t left = plan_.apps[i].count;
            auto counts = fill(rooms, left);
            if (left > 0 && (!job_.oversubscribe || rooms.empty() || job_.per_host))
                return too_many(plan_.apps[i], left);
            plan_.oversubscribed = plan_.oversubscribed || left > 0;
            for (std::size_t each = 0; left > 0; each = (each + 1) % rooms.size(), --left) { // the rest goes round
                ++used_[rooms[each].place];
                ++counts[each];
            }
            name_hosts(rooms, counts);
        }
        for (std::size_t place = 0; place < used_.size(); ++place) {
            if (std::uint64_t{used_[place]} * plan_.cpus_per_task > site_.hosts[place].slots)
                plan_.oversubscribed = true; // PMIX_HOST gave more than there is
        }
        if (auto input = plan_.input_rank();
            input && plan_.pushed_rank && !plan_.push_to_all && input != plan_.pushed_rank)
            return refuse_spawn(PMIX_ERR_BAD_PARAM,
                                "PMIX_STDIN_TGT names rank {} for the standard input, and PMIX_FWD_STDIN rank {}; "
                                "next: one of them, or PMIX_RANK_WILDCARD for all",
                                *input, *plan_.pushed_rank);
        for (auto rank : {plan_.input_rank(), plan_.pushed_rank}) {
            if (rank && *rank >= plan_.tasks())
                return refuse_spawn(PMIX_ERR_BAD_PARAM, "there is no rank {} to give the standard input to", *rank);
        }
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
    std::map<std::string_view, std::size_t> places_; // of the site's hosts
    std::vector<std::uint32_t> used_;                // tasks on each
    std::map<const HostWishes *, std::vector<Room>> rooms_;
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
