// Why a spawn request is not met.
#pragma once

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

namespace pmixhost {

// A status for the caller, a text for people.
struct SpawnRefusal {
    int status;
    std::string text;
};

// A step of the planning: nothing, or why it stops.
using Verdict = std::optional<SpawnRefusal>;

template <typename... Args> SpawnRefusal refuse_spawn(int status, fmt::format_string<Args...> format, Args &&...args) {
    return {status, fmt::format(format, std::forward<Args>(args)...)};
}

} // namespace pmixhost
