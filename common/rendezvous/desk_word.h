// What a desk (server-glue/desk/desk_server.h) tells whoever started it, over the socket that is its life:
//
//     serving NAMESPACE      tools may come
//     failed KIND TEXT       it ends; KIND is a word of failure_kinds
//
// Header-only, because the shims of RMs use it too.
#pragma once

#include "common/base/result.h"

#include <array>
#include <string>
#include <string_view>

namespace pmixhost {

struct FailureKindName {
    ErrorKind kind;
    std::string_view name;
};
inline constexpr std::array<FailureKindName, 9> failure_kinds{{{ErrorKind::invalid, "invalid"},
                                                               {ErrorKind::not_found, "not_found"},
                                                               {ErrorKind::denied, "denied"},
                                                               {ErrorKind::limit, "limit"},
                                                               {ErrorKind::timeout, "timeout"},
                                                               {ErrorKind::unreachable, "unreachable"},
                                                               {ErrorKind::exists, "exists"},
                                                               {ErrorKind::unsupported, "unsupported"},
                                                               {ErrorKind::system, "system"}}};

// Between the job and the reason in the text of a refusal (denied), so that jobs that are refused for one reason can be
// named together.
inline constexpr std::string_view lets_no_tools_in = " lets no tools of this host in: ";

inline std::string desk_serves(const std::string &nspace) {
    return "serving " + nspace;
}
inline std::string desk_failed(const Error &why) {
    std::string_view name = "system";
    for (const auto &one : failure_kinds) {
        if (one.kind == why.kind)
            name = one.name;
    }
    return fmt::format("failed {} {}", name, why.text);
}

// The namespace, or the failure that the desk tells, of its kind. Fails (system) where it says something else.
inline Result<std::string> parse_desk_word(std::string_view word) {
    constexpr std::string_view serving = "serving ", failed = "failed ";
    if (word.starts_with(serving))
        return std::string(word.substr(serving.size()));
    if (word.starts_with(failed)) {
        word.remove_prefix(failed.size());
        for (const auto &one : failure_kinds) {
            if (word.starts_with(one.name) && word.substr(one.name.size()).starts_with(' '))
                return Error{one.kind, std::string(word.substr(one.name.size() + 1))};
        }
    }
    return error(ErrorKind::system, "the desk says '{}'", word);
}

} // namespace pmixhost
