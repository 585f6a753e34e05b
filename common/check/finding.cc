// See finding.h.
#include "common/check/finding.h"

#include "common/text/printable.h"

#include <array>

namespace pmixhost {

namespace {

constexpr std::array finding_levels{Finding::Level::ok, Finding::Level::warning, Finding::Level::problem};
constexpr std::size_t max_finding_part = 2000;

} // namespace

std::string_view name_of(Finding::Level level) {
    static constexpr std::string_view names[] = {"ok", "warning", "problem"};
    return names[static_cast<int>(level)];
}

std::string finding_line(const Finding &finding) {
    std::string line(name_of(finding.level));
    for (const auto *part : {&finding.check, &finding.text, &finding.cure})
        line += '\t' + one_line(*part, max_finding_part);
    return line + '\n';
}

std::optional<Finding> parse_finding(std::string_view line) {
    std::array<std::string_view, 4> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::size_t end = line.find('\t');
        if ((end == line.npos) != (i + 1 == parts.size()))
            return std::nullopt;
        parts[i] = line.substr(0, end);
        line.remove_prefix(end == line.npos ? line.size() : end + 1);
    }
    for (auto level : finding_levels) {
        if (parts[0] == name_of(level) && !parts[1].empty())
            return Finding{level, one_line(parts[1], 80), one_line(parts[2], max_finding_part),
                           one_line(parts[3], max_finding_part)};
    }
    return std::nullopt;
}

} // namespace pmixhost
