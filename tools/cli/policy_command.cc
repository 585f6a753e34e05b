// `pmixhost policy`: the rules for tools that are in force, and what they decide.
#include "common/config/config.h"
#include "common/config/config_file.h"
#include "common/config/option_values.h"
#include "common/policy/accounts.h"
#include "common/policy/others_jobs.h"
#include "common/policy/policy_load.h"
#include "common/policy/unreachable.h"
#include "tools/cli/parse.h"
#include "tools/terminal/terminal.h"
#include "tools/view/job_owner.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <netdb.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using policy::Account;
using policy::Location;

int refuse_usage(const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s (see pmixhost policy --help)\n", text.c_str());
    return exit_usage;
}

// What the configuration and a user's own file say, and what is wrong with either.
struct InForce {
    Checked checked;
    policy::SitePolicy site;
    policy::Policy of_site; // without the user's own
    policy::UserPolicy user;
    std::string user_path; // empty: none is read
    bool wrong = false;
};

struct Sources {
    std::string file;      // empty: the installed one
    std::string user_file; // empty: the one in the user's home
};

InForce load(const Sources &sources, const Account &user) {
    policy::SystemNames names;
    InForce all;
    std::vector<Error> errors;
    all.checked = check_config(sources.file, {});
    all.site = load_site_policy(all.checked.loaded, names);
    if (!all.checked.errors.empty()) {
        errors = all.checked.errors;
        all.site.policy = policy::Policy::closed({"the configuration has errors: " + errors.front().text,
                                                  sources.file.empty() ? default_config_path() : sources.file});
    } else {
        errors = all.site.errors;
    }
    all.of_site = all.site.policy;
    if (all.checked.loaded.settings.tools_user_policy != "off") {
        all.user_path = sources.user_file.empty() ? policy::user_policy_path(user.home) : sources.user_file;
        auto content = sources.user_file.empty() ? policy::read_user_policy(all.user_path, user.person.uid)
                                                 : read_config_file(all.user_path);
        bool hidden = !content && content.failure().kind == ErrorKind::denied && ::geteuid() != user.person.uid;
        if (hidden) {
            std::fprintf(stderr, "pmixhost: warning: %s; what %s refuses in it is not told here\n",
                         content.failure().text.c_str(), user.name.c_str());
            all.user_path.clear();
        } else {
            if (!content && !sources.user_file.empty())
                content = Error{ErrorKind::system, content.failure().text}; // a file that is named must be there
            auto more = add_user_policy(all.site.policy, user.person.uid, content, all.user_path, names);
            errors.insert(errors.end(), more.begin(), more.end());
            if (content)
                all.user = parse_user_policy(*content, all.user_path, names);
        }
    }
    for (const auto &error : errors)
        std::fprintf(stderr, "pmixhost: error: %s\n", error.text.c_str());
    all.wrong = !errors.empty();
    return all;
}

void show_rules(const std::vector<policy::Rule> &rules) {
    std::size_t width = 0;
    for (const auto &rule : rules)
        width = std::max(width, std::min<std::size_t>(rule.source.text.size(), 72));
    for (const auto &rule : rules)
        fmt::print("{:<{}}  # {}\n", rule.source.text, width, rule.source.place);
}

// What there is for tools beside the rules: whether they come, and how much of a daemon they may use.
bool is_about_tools(std::string_view key) {
    return (key.starts_with("tools.") && key != "tools.policy") || key == "io.cache" || key == "publish.max_bytes";
}

void show_settings(const Loaded &loaded) {
    auto options = config_options();
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (is_about_tools(options[i].key))
            fmt::print("{}  # {}\n", fmt::format("{} = {}", options[i].key, show_option(options[i], loaded.settings)),
                       loaded.origins[i].where);
    }
}

using PolicyJson = nlohmann::ordered_json;

void write_json(const PolicyJson &out) {
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

PolicyJson json_of(const std::vector<policy::Rule> &rules) {
    auto out = PolicyJson::array();
    for (const auto &rule : rules)
        out.push_back({{"rule", rule.source.text}, {"place", rule.source.place}});
    return out;
}

PolicyJson json_of(const std::vector<Error> &errors) {
    auto out = PolicyJson::array();
    for (const auto &error : errors)
        out.push_back(error.text);
    return out;
}

// Rules that do nothing.
struct Idle {
    std::vector<Error> never;   // can never match
    std::vector<Error> nothing; // give nothing on jobs of others
    std::vector<Error> unknown; // from which one on that was not found out
};

void show_as_json(const InForce &all, const Account &user, const Idle &idle) {
    PolicyJson out;
    out["settings"] = PolicyJson::object();
    auto options = config_options();
    const Loaded &loaded = all.checked.loaded;
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (!is_about_tools(options[i].key))
            continue;
        auto value = PolicyJson::parse(show_option(options[i], loaded.settings), nullptr, false);
        out["settings"][std::string(options[i].key)] = {{"value", value}, {"where", loaded.origins[i].where}};
    }
    const auto &closed = all.site.policy.closed_by();
    out["closed_by"] = closed ? PolicyJson{{"rule", closed->text}, {"place", closed->place}} : PolicyJson();
    out["site"] = json_of(all.site.rules);
    out["user"] = {{"name", user.name}, {"uid", user.person.uid}, {"rules", json_of(all.user.rules)}};
    out["built_in"] = json_of(policy::built_in_rules());
    out["never_matching"] = json_of(idle.never);
    out["without_effect_on_others"] = json_of(idle.nothing);
    out["not_looked_at"] = json_of(idle.unknown);
    write_json(out);
}

int show_policy(const Sources &sources, const Account &user, bool json) {
    InForce all = load(sources, user);
    Idle idle{never_matching(all.site.rules), without_effect_on_others(all.site.rules), {}};
    auto more = policy::never_matching(all.user.rules, user.person.uid);
    idle.never.insert(idle.never.end(), more.begin(), more.end());
    for (auto *found : {&idle.never, &idle.nothing}) {
        auto looked_at = std::stable_partition(found->begin(), found->end(),
                                               [](const Error &one) { return one.kind != ErrorKind::limit; });
        idle.unknown.insert(idle.unknown.end(), looked_at, found->end());
        found->erase(looked_at, found->end());
    }
    if (json) {
        show_as_json(all, user, idle);
        return all.wrong ? exit_failure : exit_ok;
    }
    Colours colours(stdout);
    show_settings(all.checked.loaded);
    if (const auto &closed = all.site.policy.closed_by())
        fmt::print("\n{}# Every tool is refused because of {}: {}{}\n", colours.red, closed->place, closed->text,
                   colours.off);
    fmt::print("\n{}# The site's rules; the first that matches decides:{}{}\n", colours.bold, colours.off,
               all.site.rules.empty() ? " none" : "");
    show_rules(all.site.rules);
    if (!all.user_path.empty()) {
        fmt::print("\n{}# Those of {} for the jobs of this user:{}{}\n", colours.bold, user.name, colours.off,
                   all.user.rules.empty() ? " none" : "");
        show_rules(all.user.rules);
    }
    fmt::print("\n{}# Where none matches:{}\n", colours.bold, colours.off);
    show_rules(policy::built_in_rules());
    for (const auto &errors : {idle.never, idle.nothing, idle.unknown}) {
        for (const auto &error : errors)
            std::fprintf(stderr, "pmixhost: warning: %s\n", error.text.c_str());
    }
    return all.wrong ? exit_failure : exit_ok;
}

// An address, "here", or the name of a host, which may have several.
Result<std::vector<Location>> places_of(const std::string &host) {
    if (auto address = policy::parse_address(host))
        return std::vector{Location::at(*address)};
    char own[256] = "";
    if (host == "here" || (::gethostname(own, sizeof own - 1) == 0 && host == own))
        return std::vector{Location::here()};
    addrinfo hints{}, *list = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); code != 0)
        return error(ErrorKind::not_found, "host {}: {}", printable(host), ::gai_strerror(code));
    std::vector<Location> places;
    for (auto *one = list; one; one = one->ai_next) {
        char text[NI_MAXHOST] = "";
        if (::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
            continue;
        if (auto address = policy::parse_address(std::string_view(text).substr(0, std::string_view(text).find('%'))))
            places.push_back(Location::at(*address));
    }
    ::freeaddrinfo(list);
    if (places.empty())
        return error(ErrorKind::not_found, "host {} has no address of IPv4 or IPv6", printable(host));
    return places;
}

// What is told of one place.
struct Told {
    std::string from;
    policy::Decision decision;
};

// Of own jobs: a tool that may not observe is not let in by the daemons, whatever else it may do
// (server-glue/tool_access/step_tools.h).
policy::Decision decide_on_own(const InForce &all, const policy::Request &request) {
    auto decision = all.site.policy.decide(request);
    policy::Request observing = request;
    observing.action = policy::Action::observe;
    auto refused = all.site.policy.decide(observing);
    if (!decision.allowed || refused.allowed)
        return decision;
    refused.note = fmt::format("{} (\"{}\") allows {}, without effect: a tool that may not observe is not let in.",
                               decision.by.place, decision.by.text, policy::name_of(request.action));
    return refused;
}

Told decide_at(const InForce &all, policy::Request request, const Location &place) {
    request.from = place;
    bool is_own = request.asker.uid == request.owner.uid;
    return {place.text(),
            is_own ? decide_on_own(all, request) : policy::decide_on_others(all.of_site, all.site.policy, request)};
}

// For jobs of others, who is on this host is asked for an address of it. Which one a job's hosts see, they know alone;
// so what the gate asks for counts: whether there is one from which it is allowed.
Told decide_of_others_here(const InForce &all, const policy::Request &request) {
    Told here = decide_at(all, request, Location::here());
    auto addresses = policy::addresses_of_host();
    if (addresses.empty())
        return here;
    // The first of those that tell the most.
    auto rank = [](const Told &one) { return one.decision.allowed ? 2 : one.decision.note.empty() ? 0 : 1; };
    std::optional<Told> chosen;
    for (const auto &address : addresses) {
        Told told = decide_at(all, request, Location::at(address));
        told.from = fmt::format("this host, as {}", told.from);
        if (!chosen || rank(told) > rank(*chosen))
            chosen = std::move(told);
    }
    if (!here.decision.allowed)
        return rank(here) > rank(*chosen) ? here : std::move(*chosen);
    if (!chosen->decision.allowed)
        chosen->decision.note = fmt::format("{} (\"{}\") allows it from here, without effect: others are asked for the "
                                            "address under which their host is seen.",
                                            here.decision.by.place, here.decision.by.text);
    return std::move(*chosen);
}

int explain(const Sources &sources, const Account &user, const Account &owner, const std::string &host,
            policy::Request request, bool json) {
    auto places = places_of(host);
    if (!places)
        return refuse_usage(places.failure().text);
    InForce all = load(sources, owner);
    request.asker = user.person;
    request.owner = owner.person;
    bool allowed = true;
    auto out = PolicyJson::array();
    Colours colours(stdout);
    for (const auto &place : *places) {
        bool is_own = user.person.uid == owner.person.uid;
        auto [from, decision] = is_own || place.kind != Location::Kind::here ? decide_at(all, request, place)
                                                                             : decide_of_others_here(all, request);
        allowed = allowed && decision.allowed;
        if (json) {
            PolicyJson one;
            one["allowed"] = decision.allowed;
            one["user"] = {{"name", user.name}, {"uid", user.person.uid}};
            one["from"] = from;
            one["action"] = std::string(name_of(request.action));
            one["job"] = request.job.empty() ? PolicyJson() : PolicyJson(request.job);
            one["owner"] = {{"name", owner.name}, {"uid", owner.person.uid}};
            one["by"] = {{"rule", decision.by.text}, {"place", decision.by.place}};
            one["note"] = decision.note.empty() ? PolicyJson() : PolicyJson(decision.note);
            out.push_back(std::move(one));
            continue;
        }
        fmt::print("{}{}{}: {} (uid {}) from {}: {} of {}{} of {} (uid {})\n",
                   decision.allowed ? colours.green : colours.red, decision.allowed ? "allowed" : "refused",
                   colours.off, user.name, user.person.uid, from, name_of(request.action),
                   request.job.empty() ? "jobs" : "job ", printable(request.job), owner.name, owner.person.uid);
        fmt::print("  by {}: {}\n", decision.by.place, decision.by.text);
        if (!decision.note.empty())
            fmt::print("  {}\n", decision.note);
    }
    if (json)
        write_json(out);
    return allowed ? exit_ok : exit_failure;
}

constexpr std::chrono::seconds owner_patience{10};

// As it is said, else as the resource manager says of the job, else the asker's.
Result<Account> account_of_owner(const std::string &owner, const std::string &job, const Account &asker) {
    if (!owner.empty())
        return policy::find_account(owner);
    if (job.empty())
        return asker;
    ProgressLine progress("asking whose job that is");
    auto uid = owner_of(job, owner_patience);
    if (!uid)
        return error(ErrorKind::not_found, "whose job {} is: {}; next: say it with --owner", printable(job),
                     uid.failure().text);
    return policy::find_account(*uid);
}

} // namespace

int policy_command(const Words &words) {
    CLI::App parser("The rules for tools: which users may do what to whose jobs, and from where.", "pmixhost policy");
    parser.require_subcommand(1);
    Sources sources;
    bool json = false;
    std::string user, owner, host = "here", job, action;
    auto add_sources = [&](CLI::App &command) {
        command.add_flag("--json", json, "Write it as JSON");
        command.add_option("--file", sources.file, "Read this file instead of the installed pmixhost.conf")
            ->type_name("FILE");
        command.add_option("--user-file", sources.user_file, "Read this file instead of the one in the user's home")
            ->type_name("FILE");
    };
    auto *show = parser.add_subcommand("show", "Show the rules in force, and where each comes from");
    show->add_option("--user", user, "With the rules of this user's own file; default: you")->type_name("USER");
    add_sources(*show);
    auto *explains = parser.add_subcommand("explain", "Say what would happen, and by which rule");
    explains->add_option("--user", user, "Who asks: a name or a number; default: you")->type_name("USER");
    explains->add_option("--host", host, "From where: here (default), an address, or the name of a host")
        ->type_name("HOST");
    explains->add_option("--job", job, "Which job; the rules look at whose it is")->type_name("JOB");
    explains->add_option("--owner", owner, "Whose job it is; default: that of --job, or of who asks")
        ->type_name("USER");
    explains->add_option("--action", action, "One of: observe, output, input, control, spawn, debug")
        ->type_name("ACTION")
        ->required();
    add_sources(*explains);
    if (auto over = parse(parser, words))
        return *over;

    auto asker = user.empty() ? policy::find_account(::getuid()) : policy::find_account(user);
    if (!asker)
        return refuse_usage(asker.failure().text);
    if (*show)
        return show_policy(sources, *asker, json);
    auto whose = account_of_owner(owner, job, *asker);
    if (!whose)
        return refuse_usage(whose.failure().text);
    policy::Request request;
    auto parsed = policy::parse_action(action);
    if (!parsed)
        return refuse_usage(fmt::format("--action {}: {}", printable(action), parsed.failure().text));
    request.action = *parsed;
    request.job = job;
    return explain(sources, *asker, *whose, host, std::move(request), json);
}

} // namespace pmixhost
