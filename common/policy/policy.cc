// See policy.h.
#include "common/policy/policy.h"

#include "common/text/printable.h"

#include <algorithm>

namespace pmixhost::policy {

static bool includes(const Party &party, const Person &person, const Person &asker) {
    switch (party.kind) {
    case Party::Kind::anyone:
        return true;
    case Party::Kind::user:
        return person.uid == party.id;
    case Party::Kind::group:
        return std::find(person.gids.begin(), person.gids.end(), party.id) != person.gids.end();
    case Party::Kind::themselves:
        return person.uid == asker.uid;
    }
    return false;
}

static bool includes(const Place &place, const Location &from) {
    switch (place.kind) {
    case Place::Kind::anywhere:
        return from.kind != Location::Kind::unknown;
    case Place::Kind::here:
        return from.kind == Location::Kind::here;
    case Place::Kind::network:
        return from.kind == Location::Kind::address && place.network.contains(from.address);
    }
    return false;
}

static const Rule *first_match(const std::vector<Rule> &rules, const Request &request) {
    auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule &rule) { return matches(rule, request); });
    return found == rules.end() ? nullptr : &*found;
}

static Decision decided_by(const Rule &rule) {
    return {rule.allows, rule.source, ""};
}

std::string Location::text() const {
    return kind == Kind::here ? "this host" : kind == Kind::address ? address.text() : "somewhere";
}

bool matches(const Rule &rule, const Request &request) {
    auto among = [&](const std::vector<Party> &parties, const Person &person) {
        return std::any_of(parties.begin(), parties.end(),
                           [&](const Party &party) { return includes(party, person, request.asker); });
    };
    return (rule.actions & bit_of(request.action)) != 0 && among(rule.askers, request.asker) &&
           among(rule.owners, request.owner) &&
           std::any_of(rule.places.begin(), rule.places.end(),
                       [&](const Place &place) { return includes(place, request.from); });
}

const std::vector<Rule> &built_in_rules() {
    static const std::vector<Rule> rules = {
        {true,
         every_action,
         {{Party::Kind::anyone}},
         {{Party::Kind::themselves}},
         {{Place::Kind::here}},
         {"allow everything by anyone to jobs of themselves from here", "built in"}},
        {false,
         every_action,
         {{Party::Kind::anyone}},
         {{Party::Kind::anyone}},
         {{Place::Kind::anywhere}},
         {"deny everything by anyone to jobs of anyone from anywhere", "built in"}},
    };
    return rules;
}

Policy::Policy() : closed_(PlacedText{"no policy was loaded", "nowhere"}) {}

Policy::Policy(std::vector<Rule> site, UserRules users) : site_(std::move(site)), users_(users) {}

Policy Policy::closed(PlacedText why) {
    Policy policy;
    policy.closed_ = std::move(why);
    return policy;
}

void Policy::set_user_rules(uid_t user, std::vector<Rule> rules) {
    of_users_[user] = {std::move(rules), std::nullopt};
}

void Policy::close_user(uid_t user, PlacedText why) {
    of_users_[user] = {{}, std::move(why)};
}

Decision Policy::decide(const Request &request) const {
    if (closed_)
        return {false, *closed_, "Every tool is refused because of it."};
    if (request.asker.uid == no_id || request.owner.uid == no_id || request.from.kind == Location::Kind::unknown)
        return {false, built_in_rules().back().source, "Who asks, from where, or whose job it is, is not known."};

    const Rule *site = first_match(site_, request);
    if (site && !site->allows)
        return decided_by(*site);
    const Rule *user = nullptr;
    if (auto found = of_users_.find(request.owner.uid); users_ != UserRules::off && found != of_users_.end()) {
        if (found->second.closed)
            return {false, *found->second.closed, "Every tool is refused for this user's jobs because of it."};
        user = first_match(found->second.rules, request);
    }
    if (user && !user->allows)
        return decided_by(*user);
    if (site)
        return decided_by(*site);
    if (user && users_ == UserRules::loosen)
        return decided_by(*user);

    Decision decision = decided_by(*first_match(built_in_rules(), request));
    if (user && !decision.allowed)
        decision.note = fmt::format("{} would allow it, but users may only tighten (tools.user_policy).",
                                    printable(user->source.place, 200));
    return decision;
}

bool Policy::leaves_to_owner(const Request &request) const {
    bool known =
        request.asker.uid != no_id && request.owner.uid != no_id && request.from.kind != Location::Kind::unknown;
    return !closed_ && users_ == UserRules::loosen && known && !first_match(site_, request);
}

bool Policy::may_anybody(Action action, const Location &from) const {
    if (closed_)
        return false;
    return users_ == UserRules::loosen || std::any_of(site_.begin(), site_.end(), [&](const Rule &rule) {
               return rule.allows && (rule.actions & bit_of(action)) != 0 &&
                      std::any_of(rule.places.begin(), rule.places.end(),
                                  [&](const Place &place) { return includes(place, from); });
           });
}

Decision Policy::decide_everything(Request &request) const {
    Decision decision;
    for (Action action : all_actions) {
        request.action = action;
        if (decision = decide(request); !decision.allowed)
            break;
    }
    return decision;
}

std::string log_line(const Request &request, const Decision &decision) {
    std::string pid = request.pid > 0 ? fmt::format(", pid {}", request.pid) : "";
    return fmt::format("tools: {}: uid {}{}, from {}: {} of {}{} of uid {}, by {} \"{}\"",
                       decision.allowed ? "allowed" : "refused", request.asker.uid, pid, request.from.text(),
                       name_of(request.action), request.job.empty() ? "jobs" : "job ", printable(request.job),
                       request.owner.uid, printable(decision.by.place, 200), printable(decision.by.text, 400));
}

} // namespace pmixhost::policy
