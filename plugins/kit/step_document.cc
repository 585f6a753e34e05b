// See step_document.h.
#include "plugins/kit/step_document.h"

#include "common/config/config_values.h"
#include "common/local/local_text.h"
#include "common/start/spawn_channel.h"
#include "common/start/step_secret.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace pmixhost::kit {

Error garbled(std::string_view key, std::string_view value) {
    return error(ErrorKind::invalid, "start document: {} is '{}'", key, printable(value));
}

std::string_view next_word(std::string_view &rest) {
    return take_until(rest, ' ');
}

namespace {

struct Key {
    std::string backend;
    std::string operator()(std::string_view name) const { return fmt::format("{}.{}", backend, name); }
};

Result<std::vector<Rank>> parse_ranks(std::string_view text) {
    std::vector<Rank> ranks;
    while (!text.empty()) {
        auto one = take_until(text, ',');
        auto rank = parse_number(one, UINT32_MAX - 16);
        if (!rank)
            return garbled("one of a list of ranks", one);
        ranks.push_back(static_cast<Rank>(*rank));
    }
    return ranks;
}

Result<JobMap> parse_map(const StartDocument &document, const Key &key) {
    std::vector<std::vector<Rank>> by_host;
    for (const auto &line : document.all(key("ranks"))) {
        auto ranks = parse_ranks(line);
        if (!ranks)
            return ranks.failure();
        by_host.push_back(std::move(*ranks));
    }
    return JobMap::create(document.all(key("host_name")), std::move(by_host));
}

Result<std::vector<App>> parse_apps(const StartDocument &document, const Key &key) {
    std::vector<App> apps;
    for (const auto &line : document.all(key("app_ranks"))) {
        std::string_view rest = line;
        auto index = parse_number(next_word(rest), max_apps);
        auto ranks = parse_ranks(rest);
        if (!index || *index != apps.size() || !ranks)
            return garbled(key("app_ranks"), line);
        apps.push_back({{}, std::move(*ranks)});
    }
    for (const auto &line : document.all(key("app_arg"))) {
        std::string_view rest = line;
        auto index = parse_number(next_word(rest), max_apps);
        auto argument = local::unescape_line(rest);
        if (!index || *index >= apps.size() || !argument)
            return garbled(key("app_arg"), line);
        apps[*index].argv.push_back(std::move(*argument));
    }
    for (const auto &app : apps) {
        if (app.argv.empty() || app.argv.front().empty())
            return error(ErrorKind::invalid, "start document: a program without a name");
    }
    if (apps.empty())
        return error(ErrorKind::invalid, "start document: no {}", key("app_ranks"));
    return apps;
}

// The same number on every host of the run; a real session has one from its RM.
std::uint32_t session_number(std::string_view nspace) {
    std::uint32_t hash = 2166136261u;
    for (char c : nspace)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash & 0x7fffffffu;
}

// The policy in PMIx' words; empty where PMIx has none for it.
std::string policy_of(std::string_view map_by) {
    if (map_by == "slot" || map_by == "block")
        return "slot";
    if (map_by == "node" || map_by == "cyclic")
        return "node";
    return {};
}

} // namespace

Result<StepInfo> read_step(const StartDocument &document, std::string_view backend) {
    Key key{std::string(backend)};
    auto nspace = document.text(key("nspace"));
    auto secret = document.text(key("secret"));
    auto host = document.text("host");
    for (const auto *text : {&nspace, &secret, &host}) {
        if (!*text)
            return text->failure();
    }
    if (nspace->empty() || nspace->size() > 200)
        return garbled(key("nspace"), *nspace);
    if (!is_step_secret(*secret))
        return error(ErrorKind::invalid, "start document: {} is not 64 hex digits", key("secret"));
    auto map = parse_map(document, key);
    if (!map)
        return map.failure();
    auto apps = parse_apps(document, key);
    if (!apps)
        return apps.failure();
    StepInfo step;
    step.nspace = step.job_id = step.step_key = *nspace;
    step.session_id = session_number(*nspace);
    step.shared_secret = *secret;
    step.map = std::move(*map);
    step.apps = std::move(*apps);
    const auto &hosts = step.map.hosts();
    auto self = std::find(hosts.begin(), hosts.end(), *host);
    if (self == hosts.end())
        return garbled("host", *host);
    step.self = static_cast<HostIndex>(self - hosts.begin());
    if (auto policy = document.text(key("map_by")))
        step.mapping_policy = step.ranking_policy = policy_of(*policy);
    auto sets = document.text(key("process_sets"));
    auto process_sets = parse_process_sets(sets ? *sets : "", step.map.rank_count());
    if (!process_sets)
        return error(ErrorKind::invalid, "start document: {}", process_sets.failure().text);
    step.process_sets = std::move(*process_sets);
    if (auto text = document.text(key("parent"))) {
        auto parent = ParentWord::parse(*text);
        if (!parent)
            return garbled(key("parent"), *text);
        step.parent = StepInfo::Parent{parent->nspace,   parent->rank,       parent->shares_fate, parent->stops,
                                       parent->forwards, parent->host,       parent->debugs,      parent->debugged_rank,
                                       parent->tells,    parent->held_bytes, parent->held_seconds};
    }
    if (!step.parent) // else all of them are pmixhost-task, and the plan has named them
        add_program_sets(step.process_sets, step.apps);
    return step;
}

Result<void> describe_step(StartDocument &document, std::string_view backend, const StepDescription &step) {
    Key key{std::string(backend)};
    Result<void> added;
    auto add = [&](std::string_view name, const std::string &value) {
        if (added)
            added = document.add(key(name), value);
    };
    add("nspace", step.nspace);
    add("secret", step.secret);
    for (const auto &host : step.hosts)
        add("host_name", host);
    for (const auto &ranks : step.ranks_by_host)
        add("ranks", fmt::format("{}", fmt::join(ranks, ",")));
    for (std::size_t app = 0; app < step.apps.size(); ++app) {
        add("app_ranks", fmt::format("{} {}", app, fmt::join(step.apps[app].ranks, ",")));
        for (const auto &argument : step.apps[app].argv)
            add("app_arg", fmt::format("{} {}", app, local::escape_line(argument)));
    }
    return added;
}

} // namespace pmixhost::kit
