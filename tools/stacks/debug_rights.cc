// See debug_rights.h.
#include "tools/stacks/debug_rights.h"

#include "common/config/config.h"
#include "common/policy/own_rules.h"

namespace pmixhost {

Result<void> may_debug_here() {
    auto config = check_config({}, {});
    if (!config.errors.empty())
        return error(ErrorKind::denied, "the configuration of this host has errors: {}", config.errors.front().text);
    auto rules = policy::read_own_rules(config.loaded.settings);
    policy::Request request;
    request.asker = request.owner = rules.user;
    request.from = policy::Location::here();
    request.action = policy::Action::debug;
    auto decision = rules.policy.decide(request);
    if (decision.allowed)
        return {};
    return error(ErrorKind::denied, "the rules for tools do not let it be debugged: {} \"{}\"", decision.by.place,
                 decision.by.text);
}

} // namespace pmixhost
