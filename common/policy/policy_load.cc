// See policy_load.h.
#include "common/policy/policy_load.h"

#include "common/text/printable.h"
#include "common/text/take_until.h"

#include <algorithm>

namespace pmixhost::policy {

// Why a policy is closed, of its first error, whose text begins with the place.
static PlacedText closed_for(const std::vector<Error> &errors) {
    const std::string &text = errors.front().text;
    auto colon = text.find(": ");
    std::string more = errors.size() > 1 ? fmt::format(" (and {} more)", errors.size() - 1) : "";
    return {text.substr(colon == std::string::npos ? 0 : colon + 2) + more, text.substr(0, colon)};
}

// Reads the rules that there are, up to max_rules.
static void parse_rules(const std::vector<PlacedText> &texts, const Names &names, std::vector<Rule> &rules,
                        std::vector<Error> &errors) {
    if (texts.size() > max_rules) {
        errors.push_back(error(ErrorKind::limit, "{}: there are {} rules, more than {}", texts[max_rules].place,
                               texts.size(), +max_rules));
        return;
    }
    for (const auto &text : texts) {
        auto rule = parse_rule(text, names);
        if (rule)
            rules.push_back(std::move(*rule));
        else
            errors.push_back(rule.failure());
    }
}

SitePolicy load_site_policy(const Loaded &config, const Names &names) {
    SitePolicy site;
    const Settings &settings = config.settings;
    parse_rules(settings.tools_policy, names, site.rules, site.errors);
    auto enabled = std::find_if(config.origins.begin(), config.origins.end(),
                                [](const Origin &origin) { return origin.key == "tools.enabled"; });
    if (settings.tools_enabled != "on") {
        std::string where = enabled == config.origins.end() ? "pmixhost.conf" : enabled->where;
        site.policy = Policy::closed({fmt::format("tools.enabled = \"{}\"", settings.tools_enabled), where});
    } else if (!site.errors.empty()) {
        site.policy = Policy::closed(closed_for(site.errors));
    } else {
        site.policy = Policy(site.rules, settings.tools_user_policy == "loosen"    ? UserRules::loosen
                                         : settings.tools_user_policy == "tighten" ? UserRules::tighten
                                                                                   : UserRules::off);
    }
    return site;
}

UserPolicy parse_user_policy(std::string_view content, const std::string &path, const Names &names) {
    UserPolicy user;
    std::vector<PlacedText> texts;
    if (content.size() > max_user_file_bytes) {
        user.errors.push_back(
            error(ErrorKind::limit, "{}:1: the file has more than {} bytes", path, +max_user_file_bytes));
        return user;
    }
    for (std::uint32_t line = 1; !content.empty(); ++line) {
        auto text = take_until(content, '\n');
        if (text.ends_with('\r'))
            text.remove_suffix(1);
        auto begin = text.find_first_not_of(" \t");
        if (begin != std::string_view::npos && text[begin] != '#')
            texts.push_back({std::string(text.substr(begin)), fmt::format("{}:{}", path, line)});
    }
    parse_rules(texts, names, user.rules, user.errors);
    return user;
}

std::vector<Error> add_user_policy(Policy &policy, uid_t user, const Result<std::string> &content,
                                   const std::string &path, const Names &names) {
    if (!content && content.failure().kind == ErrorKind::not_found) {
        policy.set_user_rules(user, {});
        return {};
    }
    UserPolicy parsed;
    if (content)
        parsed = parse_user_policy(*content, path, names);
    else
        parsed.errors.push_back(content.failure());
    if (parsed.errors.empty())
        policy.set_user_rules(user, std::move(parsed.rules));
    else
        policy.close_user(user, closed_for(parsed.errors));
    return parsed.errors;
}

} // namespace pmixhost::policy
