// What the two processes of pmixhost-indirect say to each other (indirect_program.cc): one is a PMIx server to the
// debugger, the other a PMIx tool of the job's server. Fields become bytes as common/wire/codec.h tells; what libpmix
// packs only libpmix reads, and it is the same one in both.
#pragma once

#include "common/wire/codec.h"

namespace pmixhost::indirect {

// Values of one PMIx type, packed (packing.h).
struct Packed {
    Bytes bytes;
    std::uint32_t count = 0;
    static constexpr void fields(auto &&field) {
        field(&Packed::bytes, "bytes", "");
        field(&Packed::count, "count", "");
    }
};

inline constexpr std::uint32_t longest_message = 256u << 20; // bytes, either way

// --- to the tool

// There is a job, whose server will be told in this file.
struct AwaitJob {
    static constexpr std::uint8_t type = 1;
    static constexpr const char *name = "AwaitJob";
    Bytes file;
    static constexpr void fields(auto &&field) { field(&AwaitJob::file, "file", ""); }
};
enum class CallKind : std::uint8_t {
    spawn = 1,   // info | apps
    query = 2,   // queries
    control = 3, // processes | info
    input = 4    // likewise, and bytes
};
struct Call {
    static constexpr std::uint8_t type = 2;
    static constexpr const char *name = "Call";
    std::uint64_t id = 0; // an Answer has it
    CallKind kind = CallKind::query;
    Packed first, second;
    Bytes bytes = {};
    static constexpr void fields(auto &&field) {
        field(&Call::id, "id", "");
        field(&Call::kind, "kind", "");
        field(&Call::first, "first", "");
        field(&Call::second, "second", "");
        field(&Call::bytes, "bytes", "");
    }
};
struct Notify {
    static constexpr std::uint8_t type = 3;
    static constexpr const char *name = "Notify";
    std::int32_t code = 0;
    std::uint8_t range = 0;
    Packed info;
    static constexpr void fields(auto &&field) {
        field(&Notify::code, "code", "");
        field(&Notify::range, "range", "");
        field(&Notify::info, "info", "");
    }
};
// The debugger listens to events of these codes; none: to all.
struct Listen {
    static constexpr std::uint8_t type = 4;
    static constexpr const char *name = "Listen";
    std::vector<std::int32_t> codes;
    static constexpr void fields(auto &&field) { field(&Listen::codes, "codes", ""); }
};

// --- from the tool

// Once: it is connected to the job's server; or cannot be, and why.
struct Reached {
    static constexpr std::uint8_t type = 10;
    static constexpr const char *name = "Reached";
    Bytes failure;
    static constexpr void fields(auto &&field) { field(&Reached::failure, "failure", ""); }
};
struct Answer {
    static constexpr std::uint8_t type = 11;
    static constexpr const char *name = "Answer";
    std::uint64_t id = 0;
    std::int32_t status = 0;
    Bytes nspace; // of what was spawned
    Packed info;
    static constexpr void fields(auto &&field) {
        field(&Answer::id, "id", "");
        field(&Answer::status, "status", "");
        field(&Answer::nspace, "nspace", "");
        field(&Answer::info, "info", "");
    }
};
struct Heard {
    static constexpr std::uint8_t type = 12;
    static constexpr const char *name = "Heard";
    std::int32_t code = 0;
    Bytes nspace;
    std::uint32_t rank = 0;
    Packed info;
    static constexpr void fields(auto &&field) {
        field(&Heard::code, "code", "");
        field(&Heard::nspace, "nspace", "");
        field(&Heard::rank, "rank", "");
        field(&Heard::info, "info", "");
    }
};
// What a process wrote that was spawned for the debugger.
struct Output {
    static constexpr std::uint8_t type = 13;
    static constexpr const char *name = "Output";
    Bytes nspace;
    std::uint32_t rank = 0;
    std::uint16_t channel = 0; // as pmix_iof_channel_t
    Bytes bytes;               // empty: the end
    Packed info;
    static constexpr void fields(auto &&field) {
        field(&Output::nspace, "nspace", "");
        field(&Output::rank, "rank", "");
        field(&Output::channel, "channel", "");
        field(&Output::bytes, "bytes", "");
        field(&Output::info, "info", "");
    }
};

} // namespace pmixhost::indirect
