// One rule of the policy for tools, and its text:
//
//     allow|deny ACTIONS by WHO to jobs of WHOSE from WHERE
//
//     ACTIONS  everything, or a list of observe, output, input, control, spawn, debug
//     WHO      anyone, or a list of NAME (a user), @NAME (who is in the group), and numbers instead of names
//     WHOSE    anyone, or a list of these, and themselves (whoever asks)
//     WHERE    anywhere, or a list of here (this host), addresses and networks (10.0.0.0/8)
//
// The items of a list have commas between them. All parts must be there, in this order, so that no rule means more than
// it says; there is no negation, since the rule before says who is excepted. contrib/doc/decisions/policy.md has why.
//
// Pure: names become numbers by the Names that the caller gives. Any thread.
#pragma once

#include "common/base/result.h"
#include "common/config/settings.h"
#include "common/policy/network.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::policy {

enum class Action : std::uint8_t { observe, output, input, control, spawn, debug };
inline constexpr Action all_actions[] = {Action::observe, Action::output, Action::input,
                                         Action::control, Action::spawn,  Action::debug};
inline constexpr std::string_view action_names[] = {"observe", "output", "input", "control", "spawn", "debug"};
static_assert(std::size(all_actions) == std::size(action_names));
inline constexpr std::uint8_t every_action = (1u << std::size(action_names)) - 1;
constexpr std::uint8_t bit_of(Action action) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(action));
}
std::string_view name_of(Action action);
// Fails (invalid) with a text that lists what is allowed.
Result<Action> parse_action(std::string_view name);

// What the kernel calls nobody: (uid_t)-1, (gid_t)-1. No rule and no request has it.
inline constexpr std::uint32_t no_id = UINT32_MAX;

struct Party {
    enum class Kind : std::uint8_t { anyone, user, group, themselves };
    Kind kind = Kind::anyone;
    std::uint32_t id = no_id; // of a user or group
    bool operator==(const Party &) const = default;
};

struct Place {
    enum class Kind : std::uint8_t { anywhere, here, network };
    Kind kind = Kind::anywhere;
    Network network = {};
};

struct Rule {
    bool allows = false;
    std::uint8_t actions = 0;  // of bit_of()
    std::vector<Party> askers; // never themselves
    std::vector<Party> owners;
    std::vector<Place> places;
    PlacedText source; // as it stands in the file
};

// Who has which number. A failure says why there is none; not_found where there is no such name. May block: rules are
// read when a program starts.
class Names {
  public:
    virtual ~Names() = default;
    virtual Result<std::uint32_t> user(const std::string &name) const = 0;
    virtual Result<std::uint32_t> group(const std::string &name) const = 0;
};

inline constexpr std::size_t max_rule_bytes = 4096;
inline constexpr std::size_t max_rule_items = 64; // of one list

// Fails (invalid, limit, or as Names does) with "PLACE: word N, "WORD": what is wrong".
Result<Rule> parse_rule(const PlacedText &source, const Names &names);

} // namespace pmixhost::policy
