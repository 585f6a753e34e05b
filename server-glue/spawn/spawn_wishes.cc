// See spawn_wishes.h.
#include "server-glue/spawn/spawn_wishes.h"

#include "common/text/take_until.h"
#include "server-glue/iof/held_output.h"
#include "server-glue/spawn/spawn_directives.h"
#include "server-glue/spawn/spawn_request.h"

#include <algorithm>
#include <charconv>
#include <pmix.h>
#include <utility>

namespace pmixhost {

static bool is_flag(const wire::SpawnDirective &d) {
    return d.kind == static_cast<std::uint8_t>(SpawnValue::flag);
}
static bool is_text(const wire::SpawnDirective &d) {
    return d.kind == static_cast<std::uint8_t>(SpawnValue::text);
}
static bool is_number(const wire::SpawnDirective &d) {
    return d.kind == static_cast<std::uint8_t>(SpawnValue::number);
}
static bool is_variable(const wire::SpawnDirective &d) {
    return d.kind == static_cast<std::uint8_t>(SpawnValue::variable);
}

static std::string lower(std::string_view text) {
    std::string out(text);
    for (char &c : out)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

static std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> out;
    while (!text.empty()) {
        std::string_view part = take_until(text, separator);
        if (!part.empty())
            out.emplace_back(part);
    }
    return out;
}

static bool number_of(std::string_view text, std::uint32_t &value) {
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() && end == text.data() + text.size();
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

Verdict WishReader::malformed(const wire::SpawnDirective &d) const {
    return refuse_spawn(PMIX_ERR_BAD_PARAM, "the value of {} cannot be read", d.key);
}
// Something that a directive asks for and that is not there; a flag that says no asks for nothing.
Verdict WishReader::missing(const wire::SpawnDirective &d, std::string_view what) const {
    if (!d.required || (find_spawn_attribute(d.key) && is_flag(d) && d.number == 0))
        return {};
    return refuse_spawn(PMIX_ERR_NOT_SUPPORTED, "{} is required and not supported{}{}", d.key, what.empty() ? "" : ": ",
                        what);
}

Verdict WishReader::read(const wire::SpawnDirective &d, Wishes &wishes, bool of_job) {
    of_job_ = of_job;
    const SpawnAttribute *known = find_spawn_attribute(d.key);
    if (!known || known->treatment == SpawnAttribute::Treatment::missing ||
        known->treatment == SpawnAttribute::Treatment::tools_library)
        return missing(d, known ? known->name : "");
    if (known->treatment == SpawnAttribute::Treatment::library)
        return {};
    if (known->treatment == SpawnAttribute::Treatment::always_refused)
        return refuse_spawn(PMIX_ERR_NOT_SUPPORTED, "{} is not supported: the resource manager has daemons of its own",
                            known->name);
    std::string_view key = d.key;
    if (auto no = read_environment(key, d, wishes); no || handled_)
        return no;
    if (auto no = read_placement(key, d, wishes); no || handled_)
        return no;
    if (auto no = read_debugger(key, d, wishes); no || handled_)
        return no;
    if (auto no = read_output(key, d, wishes); no || handled_)
        return no;
    return read_rest(key, d, wishes);
}

Verdict WishReader::read_environment(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
    using Kind = EnvironmentChange::Kind;
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

Verdict WishReader::read_placement(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
    handled_ = true;
    if (key == PMIX_HOST)
        return is_text(d) ? host_list(d.text, wishes.hosts) : malformed(d);
    if (key == PMIX_HOSTFILE)
        return is_text(d) ? host_file(d.text, wishes.hosts) : malformed(d);
    if (key == PMIX_ADD_HOST || key == PMIX_ADD_HOSTFILE) {
        std::shared_ptr<HostWishes> hosts;
        if (!is_text(d))
            return malformed(d);
        if (auto no = key == PMIX_ADD_HOST ? host_list(d.text, hosts) : host_file(d.text, hosts))
            return no;
        for (const auto &host : hosts ? hosts->all() : std::vector<HostWish>())
            added_.push_back(host.name);
        return {};
    }
    if (key == PMIX_MAPBY)
        return is_text(d) ? map_by(d) : malformed(d);
    if (key == PMIX_PPR)
        return is_text(d) ? per_resource(d, d.text) : malformed(d);
    if (key == PMIX_RANKBY) {
        if (!is_text(d))
            return malformed(d);
        std::string word = lower(d.text.substr(0, d.text.find(':')));
        if (word == "slot" || word == "core" || word == "hwthread")
            job_.rank_by_node = false;
        else if (word == "node")
            job_.rank_by_node = true;
        else
            return missing(d, d.text);
        return word.size() == d.text.size() ? Verdict() : missing(d, d.text);
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

Verdict WishReader::read_output(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
    using Place = TaskOutput::Place;
    handled_ = true;
    bool file = key == PMIX_IOF_OUTPUT_TO_FILE || key == PMIX_OUTPUT_TO_FILE;
    if (file || key == PMIX_IOF_OUTPUT_TO_DIRECTORY || key == PMIX_OUTPUT_TO_DIRECTORY) {
        if (!is_text(d) || d.text.empty())
            return malformed(d);
        Place place = file ? Place::file : Place::directory;
        if (wishes.output.place != Place::nowhere && wishes.output_of_job == of_job_ &&
            (wishes.output.place != place || wishes.output.path != d.text))
            return refuse_spawn(PMIX_ERR_BAD_PARAM, "output cannot go both to {} and to {}", wishes.output.path,
                                d.text);
        wishes.output.place = place;
        wishes.output.path = d.text;
        wishes.output_of_job = of_job_;
        return {};
    }
    if (key == PMIX_IOF_FILE_PATTERN || key == PMIX_IOF_FILE_ONLY || key == PMIX_OUTPUT_NOCOPY) {
        if (!is_flag(d))
            return malformed(d);
        (key == PMIX_IOF_FILE_PATTERN ? wishes.output_pattern : wishes.output.only) = d.number != 0;
        return {};
    }
    if (key == PMIX_IOF_BUFFERING_SIZE || key == PMIX_IOF_BUFFERING_TIME)
        return read_hold(key, d);
    handled_ = false;
    return {};
}

Verdict WishReader::read_hold(std::string_view key, const wire::SpawnDirective &d) {
    if (!is_number(d))
        return malformed(d);
    auto number = static_cast<std::uint32_t>(std::min<std::uint64_t>(d.number, UINT32_MAX));
    if (key == PMIX_IOF_BUFFERING_TIME)
        held_for_ = std::chrono::seconds(number);
    else if (d.required && number > HeldOutput::most_bytes)
        return refuse_spawn(PMIX_ERR_NOT_SUPPORTED, "{} is required to be {}, and {} bytes is the most", d.key, number,
                            +HeldOutput::most_bytes);
    else
        held_ = number;
    if (d.required)
        must_hold_ = d.key;
    return {};
}

Verdict WishReader::settle() {
    constexpr std::uint8_t output = PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
    if ((plan_.forwards & output) == 0 && !must_hold_.empty())
        return refuse_spawn(PMIX_ERR_NOT_SUPPORTED,
                            "{} is required, which is for output that is forwarded (PMIX_FWD_STDOUT, PMIX_FWD_STDERR)",
                            must_hold_);
    if ((plan_.forwards & output) != 0 && !must_mark_.empty())
        return refuse_spawn(PMIX_ERR_NOT_SUPPORTED,
                            "{} is required, and what is forwarded is not marked; next: leave PMIX_FWD_STDOUT and "
                            "PMIX_FWD_STDERR out, so that it is printed",
                            must_mark_);
    auto rule = HeldOutput::rule_of(held_, held_for_);
    plan_.held_bytes = rule.bytes;
    plan_.held_seconds =
        static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(rule.time).count());
    return {};
}

Verdict WishReader::read_rest(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
    if (key == PMIX_WDIR || key == PMIX_PREFIX || key == PMIX_EXEC_AGENT || key == PMIX_FORKEXEC_AGENT) {
        if (!is_text(d))
            return malformed(d);
        (key == PMIX_WDIR         ? wishes.directory
         : key == PMIX_PREFIX     ? wishes.prefix
         : key == PMIX_EXEC_AGENT ? wishes.exec_agent
                                  : wishes.fork_agent) = d.text;
    } else if (key == PMIX_PSET_NAME) {
        if (!is_text(d) || !check_process_set_name(d.text))
            return malformed(d);
        wishes.process_set = d.text;
    } else if (key == PMIX_TIMEOUT || key == PMIX_SPAWN_TIMEOUT || key == PMIX_JOB_TIMEOUT) {
        if (!is_number(d))
            return malformed(d);
        std::chrono::seconds time(std::clamp<std::int64_t>(static_cast<std::int64_t>(d.number), 0, INT32_MAX));
        if (key == PMIX_JOB_TIMEOUT)
            plan_.job_timeout = time;
        else
            plan_.timeout = time;
    } else if (key == PMIX_STDIN_TGT) {
        return standard_input(d);
    } else if (forwarded_channel(key) != 0 && !site_.forwards_streams) {
        return missing(d, "the standard streams of spawned jobs stay with the resource manager here");
    } else if (key == PMIX_FWD_STDIN && is_number(d) && !of_job_) {
        return missing(d, "of one program, and not of the whole request");
    } else if (key == PMIX_FWD_STDIN && is_number(d)) {
        plan_.forwards |= forwarded_channels({&d, 1});
        auto rank = static_cast<std::uint32_t>(d.number);
        if (rank == PMIX_RANK_WILDCARD)
            plan_.push_to_all = true;
        else if (plan_.pushed_rank && rank != PMIX_RANK_INVALID && *plan_.pushed_rank != rank)
            return refuse_spawn(PMIX_ERR_BAD_PARAM,
                                "PMIX_FWD_STDIN names ranks {} and {}; next: one, or PMIX_RANK_WILDCARD for all",
                                *plan_.pushed_rank, rank);
        else if (rank != PMIX_RANK_INVALID) // nobody
            plan_.pushed_rank = rank;
    } else if (is_flag(d)) {
        if (key == PMIX_INDEX_ARGV)
            wishes.index_argv = d.number;
        else if (key == PMIX_MERGE_STDERR_STDOUT || key == PMIX_IOF_MERGE_STDERR_STDOUT)
            wishes.merge = d.number;
        else if (key == PMIX_TAG_OUTPUT || key == PMIX_IOF_TAG_OUTPUT || key == PMIX_IOF_RANK_OUTPUT) {
            plan_.label_output = plan_.label_output || d.number;
            if (d.required && d.number)
                must_mark_ = d.key;
        } else if (forwarded_channel(key) != 0 && !of_job_) {
            return missing(d, "of one program, and not of the whole request"); // libpmix does not look there
        } else if (forwarded_channel(key) != 0) {
            plan_.forwards |= forwarded_channels({&d, 1});
            plan_.push_to_all = plan_.push_to_all || (key == PMIX_FWD_STDIN && d.number);
        } else if (key == PMIX_ABORT_NON_ZERO_TERM)
            plan_.end_on_bad_exit = d.number != 0;
        else if ((key == PMIX_NOTIFY_COMPLETION || key == PMIX_NOTIFY_JOB_EVENTS) && d.number) {
            plan_.tell_end = true;
            if (key == PMIX_NOTIFY_JOB_EVENTS) {
                plan_.tell_start = true;
                plan_.tells |= ParentWord::first_start;
            }
            plan_.tells |= ParentWord::first_bad; // whom the end of the job names
        } else if (key == PMIX_EVENT_SILENT_TERMINATION)
            plan_.silent_end = d.number != 0;
        else if (key == PMIX_NOTIFY_PROC_TERMINATION && d.number)
            plan_.tells |= ParentWord::all_ends;
        else if (key == PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION && d.number)
            plan_.tells |= ParentWord::bad_ends;
        else if (key == PMIX_LOG_PROC_TERMINATION && d.number)
            plan_.tells |= ParentWord::log_all;
        else if (key == PMIX_LOG_PROC_ABNORMAL_TERMINATION && d.number)
            plan_.tells |= ParentWord::log_bad;
        else if (key == PMIX_LOG_JOB_EVENTS && d.number)
            plan_.logs_start = plan_.logs_end = true;
        else if (key == PMIX_LOG_COMPLETION && d.number)
            plan_.logs_end = true;
    } else if (key != PMIX_NON_PMI) {
        return malformed(d);
    }
    return {};
}

Verdict WishReader::read_debugger(std::string_view key, const wire::SpawnDirective &d, Wishes &wishes) {
    handled_ = true;
    if (auto place = stop_place_of(key)) {
        if (daemons_)
            return {}; // who debugs does not stop
        if (of_job_)
            return read_stop(*place, d);
        if (!is_flag(d))
            return refuse_spawn(PMIX_ERR_BAD_PARAM, "ranks of {} are those of the whole job, not of one program", key);
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
            return refuse_spawn(PMIX_ERR_BAD_PARAM, "one request cannot debug both {} and {}", plan_.debugs, d.text);
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

// How many processes there are is known later (place_stops()).
Verdict WishReader::read_stop(StopPlace place, const wire::SpawnDirective &d) {
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

Verdict WishReader::standard_input(const wire::SpawnDirective &d) {
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

Verdict WishReader::host_list(const std::string &text, std::shared_ptr<HostWishes> &hosts) {
    for (const auto &entry : split(text, ',')) {
        std::size_t colon = entry.find(':');
        HostWish wish{entry.substr(0, colon), 0};
        if (colon != std::string::npos && entry.substr(colon + 1) != "*" &&
            !number_of(std::string_view(entry).substr(colon + 1), wish.slots))
            return refuse_spawn(PMIX_ERR_BAD_PARAM, "'{}' names no host", entry);
        if (auto no = add_host(std::move(wish), hosts))
            return no;
    }
    return {};
}

Verdict WishReader::host_file(const std::string &path, std::shared_ptr<HostWishes> &hosts) {
    auto content = site_.read_file(path);
    if (!content)
        return refuse_spawn(PMIX_ERR_NOT_FOUND, "host file: {}", content.failure().text);
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
                return refuse_spawn(PMIX_ERR_BAD_PARAM, "host file {}: '{}' names no host", path, wish.name);
            wish.name.resize(colon);
        }
        for (const auto &word : words) {
            if (word.starts_with("slots=") && !number_of(std::string_view(word).substr(6), wish.slots))
                return refuse_spawn(PMIX_ERR_BAD_PARAM, "host file {}: '{}' is no number of slots", path, word);
        }
        if (auto no = add_host(std::move(wish), hosts))
            return no;
    }
    return {};
}

void HostWishes::add(HostWish wish) {
    auto [place, fresh] = places_.emplace(wish.name, all_.size());
    if (fresh)
        all_.push_back(std::move(wish));
    else
        all_[place->second].slots += wish.slots;
}

Verdict WishReader::add_host(HostWish wish, std::shared_ptr<HostWishes> &hosts) {
    if (!hosts)
        hosts = std::make_shared<HostWishes>();
    hosts->add(std::move(wish));
    if (hosts->all().size() > site_.max_tasks)
        return refuse_spawn(PMIX_ERR_OUT_OF_RESOURCE, "the list of hosts has more than {} names", site_.max_tasks);
    return {};
}

Verdict WishReader::map_by(const wire::SpawnDirective &d) {
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

Verdict WishReader::per_resource(const wire::SpawnDirective &d, const std::string &text) {
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

Verdict WishReader::bind_to(const wire::SpawnDirective &d) {
    static constexpr std::pair<std::string_view, SpawnPlan::Binding> words[] = {
        {"none", SpawnPlan::Binding::none},      {"hwthread", SpawnPlan::Binding::hwthread},
        {"core", SpawnPlan::Binding::core},      {"socket", SpawnPlan::Binding::socket},
        {"package", SpawnPlan::Binding::socket}, {"numa", SpawnPlan::Binding::numa},
    };
    std::string wanted = lower(d.text.substr(0, d.text.find(':')));
    for (const auto &[word, binding] : words) {
        if (wanted == word) {
            plan_.binding = binding;
            return wanted.size() == d.text.size() ? Verdict() : missing(d, d.text);
        }
    }
    return missing(d, d.text);
}

} // namespace pmixhost
