// pmixhost.conf, the remedies and the rules for tools, as `pmixhost doctor` sees them. See host_checks.h.
#include "common/config/remedies.h"
#include "common/policy/accounts.h"
#include "common/policy/others_jobs.h"
#include "common/policy/own_rules.h"
#include "common/policy/policy_load.h"
#include "common/policy/unreachable.h"
#include "tools/doctor/host_checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace pmixhost {

Findings config_findings(const Patient &patient) {
    const auto &[loaded, errors] = patient.config;
    Findings all;
    for (const auto &one : errors)
        all.push_back(wrong("configuration", one.text,
                            one.text.starts_with("environment ") ? "unset that variable, or give it what is allowed"
                                                                 : "mend that line; pmixhost config --check FILE"));
    for (const auto &note : loaded.notes)
        all.push_back(doubtful("configuration", note, "pmixhost config --show"));
    const std::string file = patient.config_file.empty() ? default_config_path() : patient.config_file;
    if (all.empty())
        all.push_back(
            fine("configuration", ::access(file.c_str(), F_OK) == 0 ? file : "the defaults: there is no " + file));
    auto names = loaded.settings.mpi_remedies;
    if (loaded.settings.modex_store == "shared") // which overrides it
        std::erase(names, remedy_pmix_store.name);
    std::vector<std::string_view> off;
    for (auto name : remedy_names) {
        if (std::find(names.begin(), names.end(), name) == names.end())
            off.push_back(name);
    }
    if (off.empty())
        all.push_back(fine("remedies", fmt::format("{}", fmt::join(names, ", "))));
    else
        all.push_back(doubtful("remedies", fmt::format("not in force: {}", fmt::join(off, ", ")),
                               "name them in mpi.remedies (pmix-store also needs another modex.store than shared), "
                               "unless the libraries here have not the faults that "
                               "pmixhost.conf(5) tells"));
    return all;
}

Findings policy_findings(const Patient &patient) {
    policy::SystemNames names;
    Findings all;
    const Loaded &loaded = patient.config.loaded;
    auto site = load_site_policy(loaded, names);
    for (const auto &one : site.errors)
        all.push_back(wrong("policy", one.text + "; until then every tool is refused",
                            "mend that rule: pmixhost.conf(5), TOOLS; pmixhost config --check FILE"));
    auto idle = [&all](const std::vector<Error> &rules, const char *cure) {
        for (const auto &one : rules)
            all.push_back(
                doubtful("policy", one.text,
                         one.kind == ErrorKind::limit ? "fewer users, groups and networks in one rule" : cure));
    };
    constexpr char too_late[] = "put that rule before the one that decides, or take it out";
    idle(policy::never_matching(site.rules), too_late);
    idle(without_effect_on_others(site.rules), "allow everything from an address, or take it out");
    std::size_t own = 0;
    auto account = policy::find_account(patient.uid);
    if (!account && policy::needs_account(site, account.failure()))
        all.push_back(wrong(
            "policy", account.failure().text + "; until then every tool is refused",
            fmt::format("getent passwd {} on this host: what users are known by (sssd, /etc/passwd)", patient.uid)));
    if (account && loaded.settings.tools_user_policy != "off") {
        std::string path = policy::user_policy_path(account->home);
        auto content = policy::read_user_policy(path, patient.uid);
        for (const auto &one : add_user_policy(site.policy, patient.uid, content, path, names))
            all.push_back(
                wrong("policy", one.text + "; until then no tool reaches your jobs", "mend or remove " + path));
        if (content) {
            auto rules = policy::parse_user_policy(*content, path, names).rules;
            own = rules.size();
            idle(policy::never_matching(rules, patient.uid), too_late);
        }
    }
    if (!all.empty())
        return all;
    return {fine("policy", loaded.settings.tools_enabled == "off"
                               ? "tools are switched off (tools.enabled)"
                               : fmt::format("{} rules of the site, {} of your own", site.rules.size(), own))};
}

} // namespace pmixhost
