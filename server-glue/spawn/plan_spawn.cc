// See plan_spawn.h.
#include "server-glue/spawn/plan_spawn.h"

#include "common/text/take_until.h"
#include "server-glue/spawn/debugger_daemons.h"
#include "server-glue/spawn/spawn_directives.h"
#include "server-glue/spawn/spawn_request.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <pmix.h>
#include <utility>

namespace pmixhost {

namespace {

using Kind = EnvironmentChange::Kind;

template <typename... Args> SpawnRefusal refuse(int status, fmt::format_string<Args...> format, Args &&...args) {
    return {status, fmt::format(format, std::forward<Args>(args)...)};
}

// A step of the planning: nothing, or why it stops.
using Verdict = std::optional<SpawnRefusal>;

struct HostWish {
    std::string name;
    std::uint32_t slots = 0; // 0: what the allocation has
};

// What can be said for the whole job or for one program.
struct Wishes {
    std::vector<HostWish> hosts;
    std::string directory, prefix, process_set, exec_agent;
    std::vector<EnvironmentChange> changes;
    bool index_argv = false, merge = false;
    std::uint32_t daemons_per_host = 0, daemons_per_process = 0; // of PMIX_DEBUG_TARGET
    std::vector<StopPlace> stops;                                // of all of one program's processes
    bool beside_target() const { return daemons_per_host != 0 || daemons_per_process != 0; }
};

struct JobWishes {
    bool by_node = false;
    std::optional<bool> rank_by_node;
    std::uint32_t per_host = 0; // ppr
    bool oversubscribe = false;
    bool not_on_head = false;
};

bool is_flag(const wire::SpawnDirective &d) {
    return d.kind == static_cast<std::uint8_t>(SpawnValue::flag);
}
bool is_text(const wire::SpawnDirective &d) {
    return d.kind == static_cast<std::uint8_t>(SpawnValue::text);
}
bool is_number(const wire::SpawnDirective &d) {
    return d.kind == static_cast<std::uint8_t>(SpawnValue::number);
}
bool is_variable(const wire::SpawnDirective &d) {
    return d.kind == static_cast<std::uint8_t>(SpawnValue::variable);
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char &c : out)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> out;
    while (!text.empty()) {
        std::string_view part = take_until(text, separator);
        if (!part.empty())
            out.emplace_back(part);
    }
    return out;
}

bool number_of(std::string_view text, std::uint32_t &value) {
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() && end == text.data() + text.size();
}

class Planner {
  public:
    Planner(const wire::SpawnRequest &request, const SpawnSite &site) : request_(request), site_(site) {}

    std::variant<SpawnPlan, SpawnRefusal> plan() {
        plan_.parent_nspace = request_.nspace;
        plan_.parent_rank = request_.rank;
        for (const auto &directive : request_.directives) {
            if (auto no = read(directive, common_))
                return *no;
        }
        for (const auto &app : request_.apps) {
            Wishes own = common_;
            own.hosts.clear();
            own.stops.clear();
            for (const auto &directive : app.directives) {
                if (auto no = read(directive, own))
                    return *no;
            }
            if (own.hosts.empty())
                own.hosts = common_.hosts;
            if (auto no = add_app(app, std::move(own)))
                return *no;
        }
        for (const auto &name : added_) {
            if (!slots_of(name))
                return refuse(PMIX_ERR_JOB_ALLOC_FAILED,
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
                            request_.lives_on == 0 && !plan_.tell_end && !daemons_;
        return std::move(plan_);
    }

  private:
    Verdict malformed(const wire::SpawnDirective &d) const {
        return refuse(PMIX_ERR_BAD_PARAM, "the value of {} cannot be read", d.key);
    }
    // Something that a directive asks for and that is not there; a flag that says no asks for nothing.
    Verdict missing(const wire::SpawnDirective &d, std::string_view what) const {
        if (!d.required || (find_spawn_attribute(d.key) && is_flag(d) && d.number == 0))
            return {};
        return refuse(PMIX_ERR_NOT_SUPPORTED, "{} is required and not supported{}{}", d.key, what.empty() ? "" : ": ",
                      what);
    }

    Verdict read(const wire::SpawnDirective &d, Wishes &wishes) {
        const SpawnAttribute *known = find_spawn_attribute(d.key);
        if (!known || known->treatment == SpawnAttribute::Treatment::missing)
            return missing(d, known ? known->name : "");
        if (known->treatment == SpawnAttribute::Treatment::library)
            return {};
        if (known->treatment == SpawnAttribute::Treatment::always_refused)
            return refuse(PMIX_ERR_NOT_SUPPORTED, "{} is not supported: the resource manager has daemons of its own",
                          known->name);
        std::string_view key = d.key;
        if (auto no = read_environment(key, d, wishes); no || handled_)
            return no;
        if (auto no = read_placement(key, d, wishes); no || handled_)
            return no;
        if (auto no = read_debugger(key, d, wishes); no || handled_)
            return no;
        return read_rest(key, d, wishes);
    }

    Verdict read_environment(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
        handled_ = true;
        if (key == PMIX_UNSET_ENVAR) {
            if (!is_text(d) || d.text.empty())
                return malformed(d);
            wishes.changes.push_back({Kind::unset, d.text, {}, ':'});
            return {};
        }
        static constexpr std::pair<std::string_view, Kind> kinds[] = {
            {PMIX_SET_ENVAR, Kind::set},       {PMIX_ADD_ENVAR, Kind::add},     {PMIX_PREPEND_ENVAR, Kind::prepend},
            {PMIX_APPEND_ENVAR, Kind::append}, {PMIX_FIRST_ENVAR, Kind::first},
        };
        for (const auto &[name, kind] : kinds) {
            if (key != name)
                continue;
            std::size_t equals = d.text.find('=');
            if (!is_variable(d) || equals == 0 || equals == std::string::npos)
                return malformed(d);
            char separator = d.number ? static_cast<char>(d.number) : ':';
            wishes.changes.push_back({kind, d.text.substr(0, equals), d.text.substr(equals + 1), separator});
            return {};
        }
        handled_ = false;
        return {};
    }

    Verdict read_placement(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
        handled_ = true;
        if (key == PMIX_HOST)
            return is_text(d) ? host_list(d.text, wishes.hosts) : malformed(d);
        if (key == PMIX_HOSTFILE)
            return is_text(d) ? host_file(d.text, wishes.hosts) : malformed(d);
        if (key == PMIX_ADD_HOST || key == PMIX_ADD_HOSTFILE) {
            std::vector<HostWish> hosts;
            if (!is_text(d))
                return malformed(d);
            if (auto no = key == PMIX_ADD_HOST ? host_list(d.text, hosts) : host_file(d.text, hosts))
                return no;
            for (auto &host : hosts)
                added_.push_back(std::move(host.name));
            return {};
        }
        if (key == PMIX_MAPBY)
            return is_text(d) ? map_by(d) : malformed(d);
        if (key == PMIX_PPR)
            return is_text(d) ? per_resource(d, d.text) : malformed(d);
        if (key == PMIX_RANKBY) {
            std::string word = lower(d.text.substr(0, d.text.find(':')));
            if (word == "slot" || word == "core" || word == "hwthread")
                job_.rank_by_node = false;
            else if (word == "node")
                job_.rank_by_node = true;
            else
                return missing(d, d.text);
            return {};
        }
        if (key == PMIX_BINDTO)
            return is_text(d) ? bind_to(d) : malformed(d);
        if (key == PMIX_CPUS_PER_PROC) {
            if (!is_number(d) || d.number == 0 || d.number > 65'536)
                return malformed(d);
            plan_.cpus_per_task = static_cast<std::uint32_t>(d.number);
            return {};
        }
        if (key == PMIX_NO_PROCS_ON_HEAD || key == PMIX_NO_OVERSUBSCRIBE) {
            if (!is_flag(d))
                return malformed(d);
            if (key == PMIX_NO_PROCS_ON_HEAD)
                job_.not_on_head = d.number;
            else if (d.number)
                job_.oversubscribe = false;
            return {};
        }
        handled_ = false;
        return {};
    }

    Verdict read_rest(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
        if (key == PMIX_WDIR || key == PMIX_PREFIX || key == PMIX_EXEC_AGENT) {
            if (!is_text(d))
                return malformed(d);
            (key == PMIX_WDIR ? wishes.directory : key == PMIX_PREFIX ? wishes.prefix : wishes.exec_agent) = d.text;
        } else if (key == PMIX_PSET_NAME) {
            if (!is_text(d) || !check_process_set_name(d.text))
                return malformed(d);
            wishes.process_set = d.text;
        } else if (key == PMIX_TIMEOUT || key == PMIX_SPAWN_TIMEOUT) {
            if (!is_number(d))
                return malformed(d);
            auto seconds = std::clamp<std::int64_t>(static_cast<std::int64_t>(d.number), 0, INT32_MAX);
            plan_.timeout = std::chrono::seconds(seconds);
        } else if (key == PMIX_STDIN_TGT) {
            return standard_input(d);
        } else if (forwarded_channel(key) != 0 && !site_.forwards_streams) {
            return missing(d, "the standard streams of spawned jobs stay with the resource manager here");
        } else if (key == PMIX_FWD_STDIN && is_number(d)) {
            plan_.forwards |= forwarded_channels({&d, 1});
        } else if (is_flag(d)) {
            if (key == PMIX_INDEX_ARGV)
                wishes.index_argv = d.number;
            else if (key == PMIX_MERGE_STDERR_STDOUT || key == PMIX_IOF_MERGE_STDERR_STDOUT)
                wishes.merge = d.number;
            else if (key == PMIX_TAG_OUTPUT || key == PMIX_IOF_TAG_OUTPUT || key == PMIX_IOF_RANK_OUTPUT)
                plan_.label_output = plan_.label_output || d.number;
            else if (forwarded_channel(key) != 0)
                plan_.forwards |= forwarded_channels({&d, 1});
            else if (key == PMIX_ABORT_NON_ZERO_TERM)
                plan_.end_on_bad_exit = d.number != 0;
            else if (key == PMIX_NOTIFY_COMPLETION)
                plan_.tell_end = plan_.tell_end || d.number;
            else if (key == PMIX_NOTIFY_JOB_EVENTS && d.number)
                plan_.tell_start = plan_.tell_end = true;
            else if (key == PMIX_NOTIFY_PROC_TERMINATION && d.number)
                plan_.tells_ends |= ParentWord::all_ends;
            else if (key == PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION && d.number)
                plan_.tells_ends |= ParentWord::bad_ends;
            else if (key == PMIX_LOG_JOB_EVENTS && d.number)
                plan_.logs_start = plan_.logs_end = true;
            else if (key == PMIX_LOG_COMPLETION && d.number)
                plan_.logs_end = true;
        } else if (key != PMIX_NON_PMI) {
            return malformed(d);
        }
        return {};
    }

    Verdict read_debugger(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
        handled_ = true;
        if (auto place = stop_place_of(key)) {
            if (daemons_)
                return {}; // who debugs does not stop
            if (&wishes == &common_)
                return read_stop(*place, d);
            if (!is_flag(d))
                return refuse(PMIX_ERR_BAD_PARAM, "ranks of {} are those of the whole job, not of one program", key);
            if (d.number)
                wishes.stops.push_back(*place);
            return {};
        }
        if (key == PMIX_DEBUGGER_DAEMONS || key == PMIX_COSPAWN_APP)
            return is_flag(d) ? Verdict() : malformed(d);
        if (key == PMIX_DEBUG_TARGET) {
            auto rank = static_cast<std::uint32_t>(d.number);
            if (d.kind != static_cast<std::uint8_t>(SpawnValue::process) || d.text.empty())
                return malformed(d);
            if (!plan_.debugs.empty() && (plan_.debugs != d.text || plan_.debugged_rank != rank))
                return refuse(PMIX_ERR_BAD_PARAM, "one request cannot debug both {} and {}", plan_.debugs, d.text);
            plan_.debugs = d.text;
            plan_.debugged_rank = rank;
            return {};
        }
        if (key == PMIX_DEBUG_DAEMONS_PER_NODE || key == PMIX_DEBUG_DAEMONS_PER_PROC) {
            if (!is_number(d) || d.number > UINT16_MAX)
                return malformed(d);
            (key == PMIX_DEBUG_DAEMONS_PER_NODE ? wishes.daemons_per_host : wishes.daemons_per_process) =
                static_cast<std::uint32_t>(d.number);
            return {};
        }
        handled_ = false;
        return {};
    }

    static std::optional<StopPlace> stop_place_of(std::string_view key) {
        if (key == PMIX_DEBUG_STOP_ON_EXEC)
            return StopPlace::exec;
        if (key == PMIX_DEBUG_STOP_IN_INIT)
            return StopPlace::init;
        if (key == PMIX_DEBUG_STOP_IN_APP)
            return StopPlace::app;
        return std::nullopt;
    }

    // How many processes there are is known later (place_stops()).
    Verdict read_stop(StopPlace place, const wire::SpawnDirective &d) {
        RankRanges &ranks = plan_.stops.at(place);
        auto add = [&](std::uint64_t rank) {
            if (rank == PMIX_RANK_WILDCARD)
                ranks.add(0, SpawnPlan::all_ranks);
            else if (rank <= PMIX_RANK_VALID)
                ranks.add(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(rank));
            else
                return false;
            return true;
        };
        if (is_flag(d)) {
            if (d.number)
                add(PMIX_RANK_WILDCARD);
        } else if (is_number(d) || d.kind == static_cast<std::uint8_t>(SpawnValue::process)) {
            if (!add(d.number))
                return malformed(d);
        } else if (d.kind == static_cast<std::uint8_t>(SpawnValue::ranks)) {
            for (const auto &word : split(d.text, ',')) {
                std::uint32_t rank = 0;
                if (!number_of(word, rank) || !add(rank))
                    return malformed(d);
            }
        } else {
            return malformed(d);
        }
        return {};
    }

    Verdict place_stops() {
        for (StopPlace place : stop_places) {
            RankRanges wanted = std::exchange(plan_.stops.at(place), {});
            for (auto [first, named] : wanted.ranges()) {
                Rank last = named == SpawnPlan::all_ranks ? plan_.tasks() - 1 : named;
                if (last >= plan_.tasks() || first > last)
                    return refuse(PMIX_ERR_BAD_PARAM, "there is no rank {} to stop for a debugger",
                                  std::max(first, last));
                plan_.stops.at(place).add(first, last);
            }
        }
        if (plan_.stops.text().size() > DebugStops::max_text)
            return refuse(PMIX_ERR_OUT_OF_RESOURCE, "the list of ranks to stop for a debugger is too long");
        for (auto &app : plan_.apps) {
            for (auto [first, last] : plan_.stops.at(StopPlace::exec).ranges()) {
                Rank low = std::max(first, app.first), high = std::min(last, app.first + app.count - 1);
                if (low <= high)
                    app.stop_on_exec.emplace_back(low, high);
            }
        }
        return {};
    }

    Verdict standard_input(const wire::SpawnDirective &d) {
        bool process = d.kind == static_cast<std::uint8_t>(SpawnValue::process);
        std::string word = lower(d.text);
        std::uint32_t rank = 0;
        if (process || is_number(d))
            plan_.stdin_rank = static_cast<std::uint32_t>(d.number) == PMIX_RANK_WILDCARD
                                   ? SpawnPlan::all_ranks
                                   : static_cast<std::uint32_t>(d.number);
        else if (is_text(d) && word == "all")
            plan_.stdin_rank = SpawnPlan::all_ranks;
        else if (is_text(d) && word == "none")
            plan_.stdin_rank.reset();
        else if (is_text(d) && number_of(word, rank))
            plan_.stdin_rank = rank;
        else
            return malformed(d);
        return {};
    }

    Verdict host_list(const std::string &text, std::vector<HostWish> &hosts) {
        for (const auto &entry : split(text, ',')) {
            std::size_t colon = entry.find(':');
            HostWish wish{entry.substr(0, colon), 0};
            if (colon != std::string::npos && entry.substr(colon + 1) != "*" &&
                !number_of(std::string_view(entry).substr(colon + 1), wish.slots))
                return refuse(PMIX_ERR_BAD_PARAM, "'{}' names no host", entry);
            if (auto no = add_host(std::move(wish), hosts))
                return no;
        }
        return {};
    }

    Verdict host_file(const std::string &path, std::vector<HostWish> &hosts) {
        auto content = site_.read_file(path);
        if (!content)
            return refuse(PMIX_ERR_NOT_FOUND, "host file: {}", content.failure().text);
        for (auto line : split(*content, '\n')) {
            line.resize(std::min(line.size(), line.find('#')));
            std::replace_if(
                line.begin(), line.end(), [](char c) { return c == '\t' || c == '\r'; }, ' ');
            auto words = split(line, ' ');
            if (words.empty())
                continue;
            HostWish wish{words.front(), 0};
            if (std::size_t colon = wish.name.find(':'); colon != std::string::npos) {
                if (!number_of(std::string_view(wish.name).substr(colon + 1), wish.slots))
                    return refuse(PMIX_ERR_BAD_PARAM, "host file {}: '{}' names no host", path, wish.name);
                wish.name.resize(colon);
            }
            for (const auto &word : words) {
                if (word.starts_with("slots=") && !number_of(std::string_view(word).substr(6), wish.slots))
                    return refuse(PMIX_ERR_BAD_PARAM, "host file {}: '{}' is no number of slots", path, word);
            }
            if (auto no = add_host(std::move(wish), hosts))
                return no;
        }
        return {};
    }

    // A host that is named again adds its slots, if it gives any.
    Verdict add_host(HostWish wish, std::vector<HostWish> &hosts) {
        for (auto &host : hosts) {
            if (host.name == wish.name) {
                host.slots += wish.slots;
                return {};
            }
        }
        if (hosts.size() >= site_.max_tasks)
            return refuse(PMIX_ERR_OUT_OF_RESOURCE, "the list of hosts is too long");
        hosts.push_back(std::move(wish));
        return {};
    }

    Verdict map_by(const wire::SpawnDirective &d) {
        auto words = split(lower(d.text), ':');
        std::size_t next = 0;
        if (!words.empty() && words[0] == "ppr") {
            if (words.size() < 3)
                return malformed(d);
            if (auto no = per_resource(d, words[1] + ":" + words[2]))
                return no;
            next = 3;
        } else if (!words.empty() && d.text.front() != ':') {
            if (words[0] == "slot" || words[0] == "core" || words[0] == "hwthread")
                job_.by_node = false;
            else if (words[0] == "node")
                job_.by_node = true;
            else if (auto no = missing(d, d.text))
                return no;
            next = 1;
        }
        for (; next < words.size(); ++next) {
            for (const auto &word : split(words[next], ',')) {
                if (word == "oversubscribe")
                    job_.oversubscribe = true;
                else if (word == "nooversubscribe")
                    job_.oversubscribe = false;
                else if (word.starts_with("pe=")) {
                    if (!number_of(std::string_view(word).substr(3), plan_.cpus_per_task) || plan_.cpus_per_task == 0 ||
                        plan_.cpus_per_task > 65'536)
                        return malformed(d);
                } else if (auto no = missing(d, word)) {
                    return no;
                }
            }
        }
        return {};
    }

    Verdict per_resource(const wire::SpawnDirective &d, const std::string &text) {
        std::size_t colon = text.find(':');
        std::string what = colon == std::string::npos ? "" : lower(text.substr(colon + 1));
        std::uint32_t count = 0;
        if (!number_of(std::string_view(text).substr(0, colon), count) || count == 0)
            return malformed(d);
        if (what != "node")
            return missing(d, text);
        job_.per_host = count;
        return {};
    }

    Verdict bind_to(const wire::SpawnDirective &d) {
        static constexpr std::pair<std::string_view, SpawnPlan::Binding> words[] = {
            {"none", SpawnPlan::Binding::none},      {"hwthread", SpawnPlan::Binding::hwthread},
            {"core", SpawnPlan::Binding::core},      {"socket", SpawnPlan::Binding::socket},
            {"package", SpawnPlan::Binding::socket}, {"numa", SpawnPlan::Binding::numa},
        };
        std::string wanted = lower(d.text.substr(0, d.text.find(':')));
        for (const auto &[word, binding] : words) {
            if (wanted == word) {
                plan_.binding = binding;
                return {};
            }
        }
        return missing(d, d.text);
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
            return refuse(PMIX_ERR_OUT_OF_RESOURCE, "the names of the process sets are too long");
        return {};
    }

    Verdict add_app(const wire::SpawnApp &app, Wishes wishes) {
        TaskApp out;
        out.program = app.command.empty() && !app.argv.empty() ? app.argv.front() : app.command;
        if (out.program.empty())
            return refuse(PMIX_ERR_JOB_NO_EXE_SPECIFIED, "no program was named");
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
            return refuse(PMIX_ERR_BAD_PARAM, "{} processes of {} were asked for", count, out.program);
        if (static_cast<std::uint64_t>(count) > site_.max_tasks - tasks_)
            return refuse(PMIX_ERR_OUT_OF_RESOURCE, "{} more processes are too many", count);
        out.argv = app.argv;
        if (out.argv.empty())
            out.argv.push_back(out.program);
        argv_of_app_.push_back(out.argv);
        if (!wishes.exec_agent.empty()) { // becomes the program, when it has prepared what it has to
            if (wishes.index_argv)
                return refuse(PMIX_ERR_NOT_SUPPORTED, "PMIX_INDEX_ARGV would number the agent, not {}", out.program);
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

    // How many processes there are is then the target's business; what the program's own number says is not looked at.
    Verdict count_beside_target(const Wishes &wishes, std::int64_t &count) const {
        if (wishes.daemons_per_host != 0 && wishes.daemons_per_process != 0)
            return refuse(PMIX_ERR_BAD_PARAM, "daemons are asked for both per host and per process");
        if (!debug_target_of(request_))
            return refuse(PMIX_ERR_BAD_PARAM, "daemons are asked for beside a job, but PMIX_DEBUG_TARGET names none");
        count = 0;
        for (const auto &target : request_.targets)
            count += beside(wishes, target);
        if (count == 0)
            return refuse(PMIX_ERR_NOT_FOUND, "there is no process to debug of that rank");
        return {};
    }
    static std::int64_t beside(const Wishes &wishes, const wire::TargetHost &target) {
        return wishes.daemons_per_host + std::int64_t{wishes.daemons_per_process} * target.processes;
    }
    Verdict place_beside_target(const Wishes &wishes, std::map<std::string, std::uint32_t> &used) {
        for (const auto &target : request_.targets) {
            if (!slots_of(target.host))
                return refuse(PMIX_ERR_NOT_FOUND,
                              "host {}, where processes are to be debugged, is not in the allocation", target.host);
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
                    return refuse(PMIX_ERR_NOT_FOUND, "host {} is not in the allocation", wish.name);
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
            return refuse(PMIX_ERR_BAD_PARAM, "there is no rank {} to give the standard input to", *plan_.stdin_rank);
        return {};
    }

    Verdict too_many(const TaskApp &app, std::uint32_t left) const {
        std::uint64_t slots = 0;
        for (const auto &host : site_.hosts)
            slots += host.slots;
        return refuse(PMIX_ERR_OUT_OF_RESOURCE,
                      "{} of {} processes of {} find no room: the allocation has {} CPUs on {} hosts; "
                      "next: allocate more, or map by :oversubscribe",
                      left, app.count, app.program, slots, site_.hosts.size());
    }

    const wire::SpawnRequest &request_;
    const SpawnSite &site_;
    SpawnPlan plan_;
    Wishes common_;
    JobWishes job_;
    bool handled_ = false;
    const bool daemons_ = are_daemons(request_);
    std::uint32_t tasks_ = 0;
    std::vector<Wishes> wishes_of_app_;
    std::vector<std::vector<std::string>> argv_of_app_; // without an exec agent
    std::vector<std::string> added_;
};

} // namespace

std::variant<SpawnPlan, SpawnRefusal> plan_spawn(const wire::SpawnRequest &request, const SpawnSite &site) {
    return Planner(request, site).plan();
}

} // namespace pmixhost
