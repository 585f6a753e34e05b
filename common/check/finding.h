// What a look at this host's set-up found, for `pmixhost doctor`: its own checks, and those of each plugin, which a
// program of the plugin makes (contrib/doc/decisions/doctor.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

struct Finding {
    enum class Level { ok, warning, problem };
    Level level = Level::ok;
    std::string check; // one word or a few: "munge", "ports"
    std::string text;  // what is so
    std::string cure;  // what to do; empty where it is as it should be
};

using Findings = std::vector<Finding>;

std::string_view name_of(Finding::Level level);

// The lines in which a plugin's program tells its findings: level, check, text and cure with tabs between them.
// Control characters in them become spaces, and what is very long is cut.
std::string finding_line(const Finding &finding);
// Without the line's end. Nothing: it is no such line.
std::optional<Finding> parse_finding(std::string_view line);

inline Finding fine(std::string check, std::string text) {
    return {Finding::Level::ok, std::move(check), std::move(text), {}};
}
inline Finding doubtful(std::string check, std::string text, std::string cure) {
    return {Finding::Level::warning, std::move(check), std::move(text), std::move(cure)};
}
inline Finding wrong(std::string check, std::string text, std::string cure) {
    return {Finding::Level::problem, std::move(check), std::move(text), std::move(cure)};
}

} // namespace pmixhost
