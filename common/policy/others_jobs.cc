// See others_jobs.h.
#include "common/policy/others_jobs.h"

#include "common/policy/unreachable.h"
#include "common/text/printable.h"

#include <algorithm>

namespace pmixhost::policy {

static std::string quoted(const PlacedText &rule) {
    return fmt::format("{} (\"{}\")", printable(rule.place, 200), printable(rule.text, 400));
}

// `decision` allows it, and the site does not give everything.
static Decision decide_on_command(const Policy &site, const Policy &all, const Request &request, Decision decision) {
    std::string without_effect =
        fmt::format("{} allows {}, without effect: ", quoted(decision.by), name_of(request.action));
    Decision at_gate = site.decide(request);
    if (!at_gate.allowed) {
        at_gate.note = without_effect + "to jobs of others comes whom the site's rules alone let.";
        return at_gate;
    }
    for (Action action : {Action::observe, request.action}) {
        Request of_owner = request;
        of_owner.asker = request.owner;
        of_owner.action = action;
        if (Decision own = all.decide(of_owner); !own.allowed) {
            own.note =
                fmt::format("{}the owner runs the command for others, and {} is refused to the owner from there.",
                            without_effect, name_of(action));
            return own;
        }
    }
    decision.note = fmt::format("By a command of pmixhost that takes {} alone, which the owner runs for others by the "
                                "gate (pmixhost-gate) of the host where they are; other tools need everything.",
                                name_of(request.action));
    return decision;
}

Decision decide_on_others(const Policy &site, const Policy &all, const Request &request) {
    Decision decision = all.decide(request);
    if (!decision.allowed)
        return decision;
    if (request.owner.uid == 0)
        return {false,
                {"nobody comes to jobs of root", "the gate (pmixhost-gate)"},
                fmt::format("{} allows it, without effect.", quoted(decision.by))};
    Request missing = request;
    bool visits = site.decide_everything(missing).allowed;
    if (!visits && (bit_of(request.action) & by_commands) != 0)
        return decide_on_command(site, all, request, std::move(decision));
    Decision everything = all.decide_everything(missing);
    if (!everything.allowed) {
        everything.note =
            fmt::format("{} allows {}, without effect: to jobs of others comes who may do everything there, and {} is "
                        "refused.",
                        quoted(decision.by), name_of(request.action), name_of(missing.action));
        return everything;
    }
    if (!visits) {
        Decision at_gate = site.decide_everything(missing);
        at_gate.note = fmt::format("{} allows {}, without effect: to jobs of others comes whom the site's rules alone "
                                   "give everything there.",
                                   quoted(decision.by), name_of(request.action));
        return at_gate;
    }
    decision.note = "Tools of others come by the gate (pmixhost-gate), which has to run on the host where the tool is.";
    return decision;
}

namespace {

bool may_be_one(const Party &one, const Party &other) {
    return one.kind != Party::Kind::user || other.kind != Party::Kind::user || one.id == other.id;
}

// Who asks, and whose job it is.
struct OthersPair {
    Party asker, owner;

    bool is_of_others() const {
        return owner.kind != Party::Kind::themselves && !(asker.kind == Party::Kind::user && asker == owner);
    }
    bool is_of_root() const { return owner.kind == Party::Kind::user && owner.id == 0; }
};

bool may_share(const Place &one, const Place &other) {
    if (one.kind == Place::Kind::here || other.kind == Place::Kind::here)
        return false;
    return one.kind == Place::Kind::anywhere || other.kind == Place::Kind::anywhere ||
           one.network.contains(other.network) || other.network.contains(one.network);
}

std::vector<OthersPair> pairs_of_others(const Rule &rule) {
    std::vector<OthersPair> pairs;
    for (const auto &asker : rule.askers) {
        for (const auto &owner : rule.owners) {
            if (OthersPair pair{asker, owner}; pair.is_of_others())
                pairs.push_back(pair);
        }
    }
    return pairs;
}

// Does the rule, for all that is known, allow something to that pair from there?
bool may_give(const Rule &rule, const OthersPair &pair, const Place &place) {
    auto pairs = rule.allows ? pairs_of_others(rule) : std::vector<OthersPair>();
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const OthersPair &other) {
                           return may_be_one(other.asker, pair.asker) && may_be_one(other.owner, pair.owner);
                       }) &&
           std::any_of(rule.places.begin(), rule.places.end(),
                       [&](const Place &other) { return may_share(other, place); });
}

// The actions that the rules may give together to somebody to whom this one gives something; the most of them.
// Nothing: that takes more comparisons than are `left`.
std::optional<std::uint8_t> most_given(const std::vector<Rule> &rules, const Rule &rule,
                                       const std::vector<OthersPair> &pairs, std::size_t &left) {
    std::uint8_t most = 0;
    for (const auto &pair : pairs) {
        if (pair.is_of_root())
            continue;
        for (const auto &place : rule.places) {
            if (place.kind == Place::Kind::here)
                continue;
            std::uint8_t given = rule.actions;
            for (const auto &other : rules) {
                left -= std::min(left, other.askers.size() * other.owners.size() + other.places.size());
                if (left == 0)
                    return std::nullopt;
                if ((given | other.actions) != given && may_give(other, pair, place))
                    given |= other.actions;
            }
            if (__builtin_popcount(given) > __builtin_popcount(most))
                most = given;
        }
    }
    return most;
}

std::string names_of(std::uint8_t actions) {
    std::vector<std::string_view> names;
    for (Action action : all_actions) {
        if ((actions & bit_of(action)) != 0)
            names.push_back(name_of(action));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

std::vector<Error> without_effect_on_others(const std::vector<Rule> &site) {
    std::vector<Error> found;
    std::size_t left = most_comparisons;
    for (const auto &rule : site) {
        auto pairs = rule.allows ? pairs_of_others(rule) : std::vector<OthersPair>();
        if (pairs.empty())
            continue;
        auto told = most_given(site, rule, pairs, left);
        if (!told) {
            found.push_back(error(ErrorKind::limit,
                                  "{}: it takes too long to find out whether this rule and those behind it give "
                                  "anything on jobs of others: the rules name too many users, groups and networks",
                                  rule.source.place));
            return found;
        }
        std::uint8_t given = *told;
        if (given == every_action || (given != 0 && (rule.actions & by_commands) != 0))
            continue;
        bool of_root_alone =
            std::all_of(pairs.begin(), pairs.end(), [](const OthersPair &pair) { return pair.is_of_root(); });
        std::string why = of_root_alone ? "nobody comes to those of root"
                          : given == 0
                              ? "others are asked for the address of their host, not for \"here\""
                              : fmt::format("who comes to these needs everything there, and no rule gives {} as well",
                                            names_of(every_action & ~given));
        found.push_back(
            error(ErrorKind::invalid, "{}: the rule gives nothing on jobs of others: {}", rule.source.place, why));
    }
    return found;
}

} // namespace pmixhost::policy
