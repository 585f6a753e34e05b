// See unreachable.h.
#include "common/policy/unreachable.h"

#include <algorithm>

namespace pmixhost::policy {

namespace {

// Who asks, and whose job it is: an item of each list.
struct Pair {
    Party asker, owner;
};

bool has(const Party &wide, const Party &narrow) {
    return wide.kind == Party::Kind::anyone || wide == narrow;
}

// Does `wide` match whatever `narrow` matches?
bool has(const Pair &wide, const Pair &narrow) {
    using Kind = Party::Kind;
    if (narrow.owner.kind == Kind::themselves) // the owner is the asker: what is said of one holds for the other
        return has(wide.asker, narrow.asker) && (wide.owner.kind == Kind::themselves || has(wide.owner, narrow.asker));
    if (wide.owner.kind == Kind::themselves)
        return narrow.asker.kind == Kind::user && narrow.asker == narrow.owner && has(wide.asker, narrow.asker);
    return has(wide.asker, narrow.asker) && has(wide.owner, narrow.owner);
}

bool has(const Rule &wide, const Pair &narrow) {
    for (const auto &asker : wide.askers) {
        if (std::any_of(wide.owners.begin(), wide.owners.end(), [&](const Party &owner) {
                return has(Pair{asker, owner}, narrow);
            }))
            return true;
    }
    return false;
}

// The places of several rules together.
struct Places {
    bool here = false;
    std::vector<Network> networks;

    void add(const std::vector<Place> &places) {
        for (const auto &place : places) {
            here = here || place.kind != Place::Kind::network;
            if (place.kind == Place::Kind::network)
                networks.push_back(place.network);
            else if (place.kind == Place::Kind::anywhere)
                networks.insert(networks.end(), {all_ipv4(), all_ipv6()});
        }
    }
    bool cover(const Places &others) const {
        return (here || !others.here) && std::all_of(others.networks.begin(), others.networks.end(),
                                                     [&](const Network &n) { return is_covered(n, networks); });
    }

  private:
    static Network all_ipv4() { return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}; }
    static Network all_ipv6() { return {{}, 0}; }
};

// Takes from `left` what a comparison costs; false: there is not so much left.
bool pay(std::size_t &left, std::size_t cost) {
    left -= std::min(left, cost);
    return left > 0;
}
constexpr std::size_t of_networks = 64; // one that is covered by parts of it is halved, and compared again and again

// Do the rules from `first` to `last` match all that `rule` does? As long as there are comparisons `left`.
bool cover(const Rule *first, const Rule *last, const Rule &rule, std::size_t &left) {
    Places places;
    places.add(rule.places);
    for (unsigned action = 1; action <= every_action; action <<= 1) {
        if ((rule.actions & action) == 0)
            continue;
        for (const auto &asker : rule.askers) {
            for (const auto &owner : rule.owners) {
                Places covered;
                for (const Rule *before = first; before != last; ++before) {
                    if (!pay(left, before->askers.size() * before->owners.size()))
                        return false;
                    if ((before->actions & action) == 0 || !has(*before, Pair{asker, owner}))
                        continue;
                    if (!pay(left, before->places.size() * (1 + of_networks * places.networks.size())))
                        return false;
                    covered.add(before->places);
                }
                if (!covered.cover(places))
                    return false;
            }
        }
    }
    return true;
}

// In the user's own file: the owner is known, so what is said of owners is said of the user.
std::vector<Rule> as_of(const std::vector<Rule> &rules, uid_t user) {
    std::vector<Rule> all = rules;
    for (auto &rule : all) {
        std::erase_if(rule.owners,
                      [&](const Party &party) { return party.kind == Party::Kind::user && party.id != user; });
        for (auto &owner : rule.owners) {
            if (owner.kind == Party::Kind::user)
                owner = {};
        }
    }
    return all;
}

} // namespace

std::vector<Error> never_matching(const std::vector<Rule> &rules, std::optional<uid_t> file_of, std::size_t most) {
    std::vector<Error> found;
    std::size_t left = most;
    const std::vector<Rule> known = file_of ? as_of(rules, *file_of) : rules;
    for (std::size_t i = 0; i < known.size(); ++i) {
        const Rule *first = known.data(), *rule = first + i;
        const auto &place = rule->source.place;
        if (rule->owners.empty()) {
            found.push_back(error(ErrorKind::invalid,
                                  "{}: the rule can never match: the file is that of uid {}, and concerns the jobs of "
                                  "this user alone",
                                  place, *file_of));
            continue;
        }
        bool hidden = cover(first, rule, *rule, left);
        auto one = !hidden ? rule : std::find_if(first, rule, [&](const Rule &before) {
            return cover(&before, &before + 1, *rule, left);
        });
        if (left == 0) {
            found.push_back(error(ErrorKind::limit,
                                  "{}: it takes too long to find out whether this rule and those behind it can ever "
                                  "match: the rules before it name too many users, groups and networks",
                                  place));
            return found;
        }
        if (!hidden)
            continue;
        found.push_back(error(ErrorKind::invalid, "{}: the rule can never match: {}", place,
                              one != rule ? fmt::format("{} decides before it whatever it could; change their order, "
                                                        "or remove it",
                                                        one->source.place)
                                          : "the rules before it decide together whatever it could"));
    }
    return found;
}

} // namespace pmixhost::policy
