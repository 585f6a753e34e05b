// See task_map.h.
#include "plugins/slurm/base/task_map.h"

#include "common/text/take_until.h"
#include "common/wire/wire_version.h"
#include "config.h"
#include "plugins/slurm/base/app_list.h"

#include <algorithm>
#include <charconv>
#include <span>

namespace pmixhost::slurm {

namespace {

using Delta = std::int64_t;

struct Run {
    Delta delta;
    std::size_t times;
    bool operator==(const Run &) const = default;
};

std::vector<Delta> deltas_of(std::span<const Rank> ranks) {
    std::vector<Delta> deltas;
    deltas.reserve(ranks.size());
    for (std::size_t i = 1; i < ranks.size(); ++i)
        deltas.push_back(static_cast<Delta>(ranks[i]) - static_cast<Delta>(ranks[i - 1]));
    return deltas;
}

std::vector<Run> runs_of(std::span<const Delta> deltas) {
    std::vector<Run> runs;
    for (Delta delta : deltas) {
        if (!runs.empty() && runs.back().delta == delta)
            ++runs.back().times;
        else
            runs.push_back({delta, 1});
    }
    return runs;
}

std::string text_of(std::span<const Run> runs) {
    std::string text;
    for (const Run &run : runs) {
        if (!text.empty())
            text += ',';
        text += std::to_string(run.delta);
        if (run.times > 1)
            text += fmt::format("x{}", run.times);
    }
    return text;
}

// How often the `period` runs at the head are there in a row.
std::size_t repeats(std::span<const Run> runs, std::size_t period) {
    std::size_t times = 1;
    while ((times + 1) * period <= runs.size() &&
           std::equal(runs.begin(), runs.begin() + period, runs.begin() + times * period))
        ++times;
    return times;
}

std::string shape_of(std::span<const Delta> deltas) {
    constexpr std::size_t longest_pattern = 8;
    std::vector<Run> all = runs_of(deltas);
    std::span<const Run> runs = all;
    std::string shape;
    while (!runs.empty()) {
        std::size_t best_period = 1, best_times = 1;
        for (std::size_t period = 2; period <= longest_pattern; ++period) {
            std::size_t times = repeats(runs, period);
            if (times > 1 && times * period > best_times * best_period) {
                best_period = period;
                best_times = times;
            }
        }
        if (!shape.empty())
            shape += ',';
        if (best_times > 1)
            shape += fmt::format("({})x{}", text_of(runs.first(best_period)), best_times);
        else
            shape += text_of(runs.first(1));
        runs = runs.subspan(best_period * best_times);
    }
    return shape;
}

// Hosts in a row that have the same shape and whose first tasks are evenly apart.
class HostRunWriter {
  public:
    void add(std::span<const Rank> ranks) {
        if (ranks.empty()) {
            if (hosts_ && !empty_)
                flush();
            empty_ = true;
            ++hosts_;
            return;
        }
        if (hosts_ && empty_)
            flush();
        std::vector<Delta> deltas = deltas_of(ranks);
        Delta first = ranks.front();
        bool extends = hosts_ > 0 && deltas == deltas_ && (hosts_ == 1 || first - last_ == step_);
        if (hosts_ && !extends)
            flush();
        if (hosts_ == 0) {
            first_ = first;
            deltas_ = std::move(deltas);
        } else {
            step_ = first - last_;
        }
        last_ = first;
        ++hosts_;
    }
    std::string finish() {
        if (hosts_)
            flush();
        return std::move(text_);
    }

  private:
    void flush() {
        if (!text_.empty())
            text_ += ';';
        if (empty_) {
            text_ += hosts_ > 1 ? fmt::format("ex{}", hosts_) : "e";
        } else {
            text_ += std::to_string(first_);
            if (hosts_ > 1)
                text_ += fmt::format("{:+}x{}", step_, hosts_);
            if (!deltas_.empty()) {
                if (deltas_ != shape_deltas_) {
                    shape_ = shape_of(deltas_);
                    shape_deltas_ = deltas_;
                }
                text_ += ':';
                text_ += shape_;
            }
        }
        hosts_ = 0;
        empty_ = false;
    }

    std::string text_;
    std::size_t hosts_ = 0;
    bool empty_ = false;
    Delta first_ = 0, last_ = 0, step_ = 0;
    std::vector<Delta> deltas_;
    std::string shape_; // of shape_deltas_: neighbours mostly share it
    std::vector<Delta> shape_deltas_;
};

// Reads RANKS. Every count is checked against the bounds before anything is stored for it.
class RanksReader {
  public:
    explicit RanksReader(std::string_view text) : rest_(text) {}

    Result<std::vector<std::vector<Rank>>> read() {
        do {
            if (auto ok = read_host_run(); !ok)
                return ok.failure();
        } while (take(';'));
        if (!rest_.empty())
            return garbled();
        return std::move(hosts_);
    }

  private:
    static Error garbled() { return error(ErrorKind::invalid, "task map: ranks= is garbled"); }
    static Error too_many() {
        return error(ErrorKind::limit, "task map: more than {} hosts or {} tasks", TaskMap::max_hosts,
                     TaskMap::max_ranks);
    }
    bool take(char c) {
        if (rest_.empty() || rest_.front() != c)
            return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool number(Delta &value) {
        auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (code != std::errc() || value > UINT32_MAX || value < -Delta{UINT32_MAX})
            return false;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return true;
    }
    bool count(std::size_t &value) { // of at least one
        Delta number_read;
        if (!number(number_read) || number_read < 1)
            return false;
        value = static_cast<std::size_t>(number_read);
        return true;
    }

    Result<void> read_host_run() {
        std::size_t hosts = 1;
        if (take('e')) {
            if (take('x') && !count(hosts))
                return garbled();
            if (hosts > TaskMap::max_hosts - hosts_.size())
                return too_many();
            hosts_.resize(hosts_.size() + hosts);
            return {};
        }
        Delta first, step = 0;
        if (!number(first))
            return garbled();
        bool plus = take('+');
        if (plus || (!rest_.empty() && rest_.front() == '-')) {
            if (!number(step) || (plus && step < 0) || !take('x') || !count(hosts))
                return garbled();
        }
        std::vector<Delta> deltas;
        if (take(':')) {
            if (auto ok = read_shape(deltas); !ok)
                return ok.failure();
        }
        if (hosts > TaskMap::max_hosts - hosts_.size() || hosts > (TaskMap::max_ranks - ranks_) / (deltas.size() + 1))
            return too_many();
        ranks_ += hosts * (deltas.size() + 1);
        for (std::size_t h = 0; h < hosts; ++h, first += step) {
            std::vector<Rank> ranks;
            ranks.reserve(deltas.size() + 1);
            Delta rank = first;
            for (std::size_t i = 0;; ++i) {
                if (rank < 0 || rank >= static_cast<Delta>(TaskMap::max_ranks))
                    return garbled();
                ranks.push_back(static_cast<Rank>(rank));
                if (i == deltas.size())
                    break;
                rank += deltas[i];
            }
            hosts_.push_back(std::move(ranks));
        }
        return {};
    }

    Result<void> read_shape(std::vector<Delta> &deltas) {
        do {
            std::size_t begin = deltas.size();
            bool group = take('(');
            do {
                if (auto ok = read_run(deltas); !ok)
                    return ok.failure();
            } while (group && take(','));
            if (!group)
                continue;
            std::size_t times, length = deltas.size() - begin;
            if (!take(')') || !take('x') || !count(times))
                return garbled();
            if (times - 1 > (TaskMap::max_ranks - deltas.size()) / length)
                return too_many();
            deltas.reserve(deltas.size() + length * (times - 1));
            for (std::size_t i = 0; i < length * (times - 1); ++i)
                deltas.push_back(deltas[begin + i]);
        } while (take(','));
        return {};
    }

    Result<void> read_run(std::vector<Delta> &deltas) {
        Delta delta;
        std::size_t times = 1;
        if (!number(delta) || (take('x') && !count(times)))
            return garbled();
        if (times > TaskMap::max_ranks - deltas.size())
            return too_many();
        deltas.insert(deltas.end(), times, delta);
        return {};
    }

    std::string_view rest_;
    std::vector<std::vector<Rank>> hosts_;
    std::size_t ranks_ = 0;
};

bool printable_word(std::string_view value) {
    return std::all_of(value.begin(), value.end(),
                       [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
}

Result<std::uint32_t> number_of(std::string_view key, std::string_view value) {
    std::uint32_t number = 0;
    const char *end = value.data() + value.size();
    auto [stop, code] = std::from_chars(value.data(), end, number);
    if (code != std::errc() || stop != end)
        return error(ErrorKind::invalid, "task map: {}= is not a number", key);
    return number;
}

constexpr std::string_view magic = "pmixhost2";

// What srun's pmixhost is. Before all else: to another one, the rest may mean something else.
Result<void> take_version(std::string_view &text) {
    constexpr std::string_view version_key = " version=";
    std::string_view there = "another one";
    if (text.starts_with(magic)) {
        text.remove_prefix(magic.size());
        std::string_view version = text.substr(0, text.find(' ', 1));
        text.remove_prefix(version.size());
        std::string_view wire = text.substr(0, text.find(' ', 1));
        text.remove_prefix(wire.size());
        if (version.starts_with(version_key) && version.size() < 64 && printable_word(version.substr(1)))
            there = version.substr(version_key.size());
        if (wire == fmt::format(" wire={:x}", wire::wire_version()))
            return {};
    }
    return error(ErrorKind::unsupported,
                 "this host has pmixhost {}, srun where it was started {}, and the two do not speak the same; the same "
                 "pmixhost must be on all hosts: wait until its installation is over",
                 PACKAGE_VERSION, there);
}

} // namespace

Result<std::string> encode_task_map(const TaskMap &map) {
    std::size_t ranks = 0;
    HostRunWriter writer;
    for (const auto &host : map.ranks_by_host) {
        ranks += host.size();
        writer.add(host);
    }
    if (map.ranks_by_host.size() > TaskMap::max_hosts || ranks > TaskMap::max_ranks)
        return error(ErrorKind::limit, "the step has {} tasks on {} hosts; pmixhost takes {} on {}", ranks,
                     map.ranks_by_host.size(), +TaskMap::max_ranks, +TaskMap::max_hosts);
    auto apps = encode_apps(map.apps);
    if (!apps)
        return apps.failure();
    std::string jobs;
    for (auto job : map.component_jobs)
        jobs += fmt::format("{}{}", jobs.empty() ? "" : ",", job);
    std::string psets = format_process_sets(map.process_sets);
    std::string text = fmt::format("{} version={} wire={:x} job={} step={}", magic, PACKAGE_VERSION,
                                   wire::wire_version(), map.job_id, map.step_id);
    if (map.first_rank)
        text += fmt::format(" first={}", map.first_rank);
    const std::pair<std::string_view, std::string_view> words[] = {
        {"jobs", jobs},
        {"key", map.start_key},
        {"cluster", map.cluster},
        {"hosts", map.host_list},
        {"dist", map.distribution},
        {"bind", map.binding},
        {"alloc", map.allocated_hosts},
        {"cpus", map.allocated_cpus},
        {"apps", *apps},
        {"psets", psets},
    };
    for (auto [key, value] : words) {
        if (!printable_word(value))
            return error(ErrorKind::invalid, "task map: {}= has a space in it", key);
        if (!value.empty())
            text += fmt::format(" {}={}", key, value);
    }
    text += " ranks=";
    text += writer.finish();
    if (text.size() > TaskMap::max_text)
        return error(ErrorKind::limit,
                     "the list of this step's tasks is too irregular: {} bytes, and pmixhost takes "
                     "{}; use a block, cyclic or plane distribution or fewer tasks",
                     text.size(), +TaskMap::max_text);
    return text;
}

Result<TaskMap> decode_task_map(std::string_view text) {
    if (text.size() > TaskMap::max_text)
        return error(ErrorKind::limit, "task map: over {} bytes", +TaskMap::max_text);
    if (auto same = take_version(text); !same)
        return same.failure();
    TaskMap map;
    std::string_view process_sets;
    bool have_ranks = false;
    while (!text.empty()) {
        if (text.front() != ' ')
            return error(ErrorKind::invalid, "task map: garbled");
        text.remove_prefix(1);
        std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(word.size());
        std::size_t equals = word.find('=');
        if (equals == std::string_view::npos || !printable_word(word))
            return error(ErrorKind::invalid, "task map: garbled");
        std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);

        std::uint32_t *number = key == "job"     ? &map.job_id
                                : key == "step"  ? &map.step_id
                                : key == "first" ? &map.first_rank
                                                 : nullptr;
        std::string *string = key == "key"       ? &map.start_key
                              : key == "cluster" ? &map.cluster
                              : key == "hosts"   ? &map.host_list
                              : key == "dist"    ? &map.distribution
                              : key == "bind"    ? &map.binding
                              : key == "alloc"   ? &map.allocated_hosts
                              : key == "cpus"    ? &map.allocated_cpus
                                                 : nullptr;
        if (number) {
            auto parsed = number_of(key, value);
            if (!parsed)
                return parsed.failure();
            *number = *parsed;
        } else if (string) {
            *string = value;
        } else if (key == "jobs") {
            while (!value.empty()) {
                auto parsed = number_of(key, take_until(value, ','));
                if (!parsed)
                    return parsed.failure();
                if (map.component_jobs.size() == TaskMap::max_component_jobs)
                    return error(ErrorKind::limit, "task map: jobs= is too long");
                map.component_jobs.push_back(*parsed);
            }
        } else if (key == "apps" && map.apps.empty()) {
            auto apps = decode_apps(value, TaskMap::max_ranks);
            if (!apps)
                return apps.failure();
            map.apps = std::move(*apps);
        } else if (key == "psets") {
            process_sets = value;
        } else if (key == "ranks" && !have_ranks) {
            auto ranks = RanksReader(value).read();
            if (!ranks)
                return ranks.failure();
            map.ranks_by_host = std::move(*ranks);
            have_ranks = true;
        } else {
            return error(ErrorKind::invalid, "task map: garbled");
        }
    }
    if (!have_ranks || map.host_list.empty())
        return error(ErrorKind::invalid, "task map: cut off");
    std::size_t count = 0;
    for (const auto &host : map.ranks_by_host)
        count += host.size();
    if (!map.apps.empty() && !covers_each_rank(map.apps, count))
        return error(ErrorKind::invalid, "task map: apps= and ranks= do not fit together");
    auto sets = parse_process_sets(process_sets, static_cast<Rank>(count));
    if (!sets)
        return error(ErrorKind::invalid, "task map: {}", sets.failure().text);
    map.process_sets = std::move(*sets);
    return map;
}

std::vector<std::uint32_t> jobs_in_task_map(std::string_view text) {
    std::vector<std::uint32_t> jobs;
    while (!text.empty()) {
        std::string_view value = take_until(text, ' '), key = take_until(value, '=');
        while ((key == "job" || key == "jobs") && !value.empty() && jobs.size() < TaskMap::max_component_jobs) {
            auto job = number_of(key, take_until(value, ','));
            if (!job)
                break;
            jobs.push_back(*job);
        }
    }
    return jobs;
}

std::string namespace_of(std::uint32_t job_id, std::uint32_t step_id) {
    return fmt::format("{}{}.{}", namespace_prefix, job_id, step_id);
}

std::vector<std::string> split_for_environment(std::string_view text) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += max_environment_value)
        pieces.emplace_back(text.substr(at, max_environment_value));
    if (!pieces.empty())
        pieces.front().insert(0, fmt::format("{} ", pieces.size()));
    return pieces;
}

std::string task_map_variable(std::size_t index) {
    return std::string(task_map_prefix) + std::to_string(index);
}

} // namespace pmixhost::slurm
