// The socket between the gate and a desk of a user (SOCK_SEQPACKET), whose end is the end of the desk. The gate
// sends connections, a word with a descriptor each: those of tools (tool_word), those of tools on other hosts
// (remote_tool_word), of which the first message is there as a whole, and those of other users who may come to a job of
// this one (Visit in common/rendezvous/gate_door.h: who asks, and the job). The desk says
//
//     ready              tools may come
//     took COUNT         so many connections have come
//     quiet COUNT        none of the COUNT connections that have come is open
//     refused TEXT       why one was closed; for the log
//     tells TEXT         what a tool's own server has to say (desk/desk_lobbies.h); for the log, twenty a minute
//     failed KIND TEXT   it ends (common/rendezvous/desk_word.h)
//
// What a desk says is a user's, and is worth no more: bytes alone are read of it, never a descriptor. Nothing waits.
#pragma once

#include "common/base/result.h"
#include "common/process/descriptor_message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace pmixhost {

inline constexpr auto tool_word = "t", remote_tool_word = "r";
inline constexpr std::size_t longest_desk_word = longest_with_descriptor;

// The same as receive_descriptor() for bytes; descriptors that come with them do not get into this process, and cost no
// time, whatever they are.
Result<std::optional<std::string>> receive_word(int channel);
// False: it did not fit, and is dropped.
bool say(int channel, const std::string &word);
// Ends the conversation with whoever came to the gate's door, for all who hold the connection: the gate has it, too.
void hang_up(int connection);

struct DeskReady {};
struct DeskTook {
    std::uint64_t given;
};
struct DeskQuiet {
    std::uint64_t given;
};
struct DeskRefused {
    std::string why;
};
struct DeskTells {
    std::string what;
};
using DeskWord = std::variant<DeskReady, DeskTook, DeskQuiet, DeskRefused, DeskTells>;
// A failure is that of the desk, or says that this is no word of one.
Result<DeskWord> parse_gate_word(std::string_view word);

} // namespace pmixhost
