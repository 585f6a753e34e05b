// What a step and the session tell each other of themselves (server-glue/step/session_link.h).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/names.h"

namespace pmixhost::wire {

struct ProcessesEnded {
    static constexpr std::uint8_t type = 36;
    static constexpr const char *name = "ProcessesEnded";
    static constexpr const char *text = "to the session: processes have ended";
    std::vector<RankRange> ranks;
    static constexpr void fields(auto &&field) {
        field(&ProcessesEnded::ranks, "ranks", "of the connection's namespace");
    }
};
struct StepDelegate {
    static constexpr std::uint8_t type = 176;
    static constexpr const char *name = "StepDelegate";
    static constexpr const char *text =
        "from the session to one host of each step: it tells of the ends of processes of other hosts too";
    static constexpr void fields(auto &&) {}
};
struct NamespaceEnded {
    static constexpr std::uint8_t type = 38;
    static constexpr const char *name = "NamespaceEnded";
    static constexpr const char *text = "to the session: a job that this one has spawned has ended";
    Bytes nspace;
    static constexpr void fields(auto &&field) { field(&NamespaceEnded::nspace, "nspace", "of that job"); }
};
struct WantSession {
    static constexpr std::uint8_t type = 37;
    static constexpr const char *name = "WantSession";
    static constexpr const char *text = "to the lowest host of the step: see to it that this allocation has a session";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) { field(&WantSession::reserved, "reserved", "0"); }
};

} // namespace pmixhost::wire
