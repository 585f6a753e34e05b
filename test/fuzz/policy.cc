// The rules for tools, as a user's own file has them, and the networks in them.
#include "common/policy/policy_load.h"
#include "common/policy/unreachable.h"
#include "test/fuzz/fuzz.h"

using namespace pmixhost;
using namespace pmixhost::policy;

int fuzz_rounds() {
    return 10'000;
}

std::vector<std::string> fuzz_seeds() {
    return {"# mine\n\ndeny input, spawn by @g, 12 to jobs of anyone from anywhere\r\n",
            "allow everything by anyone to jobs of themselves, a from here, 10.0.0.0/8, 2001:db8::/32\n"
            "deny output by b to jobs of a from 10.128.0.0/9\ndeny output by b to jobs of themselves from here\n",
            "::ffff:10.0.0.0/104", "192.0.2.1", "::/0"};
}

namespace {
// Each short name is somebody.
struct FuzzNames : Names {
    Result<std::uint32_t> user(const std::string &name) const override { return id(name); }
    Result<std::uint32_t> group(const std::string &name) const override { return id(name); }
    static Result<std::uint32_t> id(const std::string &name) {
        fuzz_expect(!name.empty() && name.find_first_of(std::string_view(" ,\t\n\0", 5)) == std::string::npos);
        if (name.size() > 2)
            return error(ErrorKind::not_found, "nobody");
        return static_cast<std::uint32_t>(name[0]) & 3;
    }
};
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char *>(data), size);
    auto user = parse_user_policy(text, "f", FuzzNames());
    for (const auto &error : user.errors)
        fuzz_expect(error.text.starts_with("f:") && error.text.find('\n') == std::string::npos &&
                    error.text.size() < 1000);
    for (const auto &rule : user.rules) {
        fuzz_expect(rule.actions != 0 && rule.actions <= every_action);
        for (auto count : {rule.askers.size(), rule.owners.size(), rule.places.size()})
            fuzz_expect(count > 0 && count <= max_rule_items);
        auto again = parse_rule(rule.source, FuzzNames());
        fuzz_expect(again.ok() && again->askers == rule.askers && again->owners == rule.owners);
    }
    if (user.rules.size() < 20)
        fuzz_expect(never_matching(user.rules, 1).size() <= user.rules.size());
    if (auto network = parse_network(text)) {
        fuzz_expect(*parse_network(network->text()) == *network);
        fuzz_expect(network->contains(*network) && is_covered(*network, {*network}));
    }
    return 0;
}
