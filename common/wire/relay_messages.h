// Connections of tools on their way between a desk (server-glue/desk/desk_server.h) and a step's daemon: the bytes
// that a tool and libpmix' server say to each other, unread. Each direction of a connection may have `relay_window`
// bytes under way that the other side has not yet handed on.
#pragma once

#include "common/wire/codec.h"

namespace pmixhost::wire {

inline constexpr std::size_t relay_window = 256u << 10;

// What the desk has the RM bring to a step's daemon, behind `desk_call` (server-glue/core/central_roles.h); never sent
// over a link. The daemon dials.
struct DeskCall {
    static constexpr const char *name = "DeskCall";
    Bytes key;
    Bytes contact;
    static constexpr void fields(auto &&field) {
        field(&DeskCall::key, "key", "what both sides name in their Introduction as the step's key, new for each desk");
        field(&DeskCall::contact, "contact", "a Contact: where the desk listens");
    }
};
struct DeskGreeting {
    static constexpr std::uint8_t type = 192;
    static constexpr const char *name = "DeskGreeting";
    static constexpr const char *text = "to a desk that has called: whose server this is; or why no tool may come";
    Bytes nspace;
    Bytes server_nspace;
    std::uint32_t server_rank = 0;
    Bytes version;
    Bytes refusal;
    static constexpr void fields(auto &&field) {
        field(&DeskGreeting::nspace, "nspace", "of the job");
        field(&DeskGreeting::server_nspace, "server_nspace", "of the server");
        field(&DeskGreeting::server_rank, "server_rank", "its rank there");
        field(&DeskGreeting::version, "version", "of its PMIx library");
        field(&DeskGreeting::refusal, "refusal", "not empty: no tool may come by this desk, and why");
    }
};
struct DeskHello {
    static constexpr std::uint8_t type = 197;
    static constexpr const char *name = "DeskHello";
    static constexpr const char *text = "from a desk that has called: may tools come? A DeskGreeting answers";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) { field(&DeskHello::reserved, "reserved", "0"); }
};
struct DeskHelloFor {
    static constexpr std::uint8_t type = 207;
    static constexpr const char *name = "DeskHelloFor";
    static constexpr const char *text = "in place of DeskHello: may tools of another user come?";
    std::uint32_t user = 0;
    static constexpr void fields(auto &&field) {
        field(&DeskHelloFor::user, "user", "whose tools they are, by number");
    }
};
struct DeskHelloAsked {
    static constexpr std::uint8_t type = 213;
    static constexpr const char *name = "DeskHelloAsked";
    static constexpr const char *text =
        "in place of DeskHello: may a command of the job's user come as a tool, for which "
        "another user has asked?";
    std::uint32_t user = 0;
    std::uint8_t action = 0;
    static constexpr void fields(auto &&field) {
        field(&DeskHelloAsked::user, "user", "who has asked, by number");
        field(&DeskHelloAsked::action, "action",
              "what the rules must allow that user: 0 observe, 1 output, 2 input, "
              "3 control, 4 spawn, 5 debug");
    }
};
struct RelayOpen {
    static constexpr std::uint8_t type = 193;
    static constexpr const char *name = "RelayOpen";
    static constexpr const char *text = "from a desk: a tool has connected to it";
    std::uint64_t id = 0;
    std::uint32_t pid = 0;
    static constexpr void fields(auto &&field) {
        field(&RelayOpen::id, "id", "of the connection, new for each");
        field(&RelayOpen::pid, "pid", "of the tool, as the desk says, for the log; 0: not known");
    }
};
struct RelayOpenFrom {
    static constexpr std::uint8_t type = 214;
    static constexpr const char *name = "RelayOpenFrom";
    static constexpr const char *text = "in place of RelayOpen: a tool has connected that is on a third host";
    std::uint64_t id = 0;
    Bytes from;
    static constexpr void fields(auto &&field) {
        field(&RelayOpenFrom::id, "id", "of the connection, new for each");
        field(&RelayOpenFrom::from, "from", "the tool's address, in numbers, as the desk says");
    }
};
struct RelayBytes {
    static constexpr std::uint8_t type = 194;
    static constexpr const char *name = "RelayBytes";
    static constexpr const char *text = "what came over the tool's connection, or shall go there";
    std::uint64_t id = 0;
    Bytes bytes;
    static constexpr void fields(auto &&field) {
        field(&RelayBytes::id, "id", "of the connection");
        field(&RelayBytes::bytes, "bytes", "as they came");
    }
};
struct RelayTaken {
    static constexpr std::uint8_t type = 195;
    static constexpr const char *name = "RelayTaken";
    static constexpr const char *text = "so many bytes were handed on: as many more may come";
    std::uint64_t id = 0;
    std::uint32_t count = 0;
    static constexpr void fields(auto &&field) {
        field(&RelayTaken::id, "id", "of the connection");
        field(&RelayTaken::count, "count", "bytes");
    }
};
struct RelayEnd {
    static constexpr std::uint8_t type = 196;
    static constexpr const char *name = "RelayEnd";
    static constexpr const char *text = "that connection was closed; nothing more comes of it";
    std::uint64_t id = 0;
    static constexpr void fields(auto &&field) { field(&RelayEnd::id, "id", "of the connection"); }
};

} // namespace pmixhost::wire
