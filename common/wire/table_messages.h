// The table of processes (server-glue/query/process_table.h).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/relayed.h"

namespace pmixhost::wire {

struct TableRequest {
    static constexpr std::uint8_t type = 128;
    static constexpr const char *name = "TableRequest";
    static constexpr const char *text = "who are the processes of this host and of those behind it?";
    std::uint64_t id = 0;
    std::uint32_t behind = 0;
    std::uint32_t timeout_ms = 0;
    static constexpr void fields(auto &&field) {
        field(&TableRequest::id, "id", "chosen by the asking daemon");
        field(&TableRequest::behind, "behind", "the neighbour in the tree that is not to be asked");
        field(&TableRequest::timeout_ms, "timeout_ms", "when to answer with what there is");
    }
};
struct TableProcess {
    static constexpr const char *name = "TableProcess";
    std::uint32_t rank = 0;
    std::uint32_t pid = 0;
    std::uint8_t state = 0;
    std::int32_t exit_code = 0;
    std::uint32_t executable = 0;
    std::uint64_t memory_kib = 0;
    static constexpr void fields(auto &&field) {
        field(&TableProcess::rank, "rank", "rank");
        field(&TableProcess::pid, "pid", "0: it has none");
        field(&TableProcess::state, "state", "pmix_proc_state_t");
        field(&TableProcess::exit_code, "exit_code", "as a shell reports it");
        field(&TableProcess::executable, "executable", "position in the host's list");
        field(&TableProcess::memory_kib, "memory_kib", "resident; 0: not known");
    }
};
struct TableHost {
    static constexpr const char *name = "TableHost";
    std::uint32_t host = 0;
    std::uint64_t daemon_kib = 0;
    std::vector<Bytes> executables;
    std::vector<TableProcess> processes;
    static constexpr void fields(auto &&field) {
        field(&TableHost::host, "host", "its index");
        field(&TableHost::daemon_kib, "daemon_kib", "resident memory of its daemon");
        field(&TableHost::executables, "executables", "each once");
        field(&TableHost::processes, "processes", "of this host");
    }
};
struct TableReply {
    static constexpr std::uint8_t type = 129;
    static constexpr const char *name = "TableReply";
    static constexpr const char *text = "the answer for a part of the tree";
    std::uint64_t id = 0;
    std::vector<TableHost> hosts;
    std::vector<std::uint32_t> silent;
    static constexpr void fields(auto &&field) {
        field(&TableReply::id, "id", "as in TableRequest");
        field(&TableReply::hosts, "hosts", "those that have answered");
        field(&TableReply::silent, "silent", "those that have not, in time");
    }
};

// Between two jobs, by way of the session.
struct JobTableRequest {
    static constexpr std::uint8_t type = 130;
    static constexpr const char *name = "JobTableRequest";
    static constexpr const char *text =
        "to the session, and from it to a daemon of that namespace: who are its processes?";
    std::uint64_t id = 0;
    Bytes nspace;
    Bytes only_on;
    std::uint32_t timeout_ms = 0;
    static constexpr void fields(auto &&field) {
        field(&JobTableRequest::id, "id", "chosen by who sends it");
        field(&JobTableRequest::nspace, "nspace", "its name");
        field(&JobTableRequest::only_on, "only_on", "those of the host of this name; empty: all");
        field(&JobTableRequest::timeout_ms, "timeout_ms", "how long the asker waits");
    }
};
struct JobTableReply {
    static constexpr std::uint8_t type = 131;
    static constexpr const char *name = "JobTableReply";
    static constexpr const char *text = "that, or why it is not told";
    using Answers = JobTableRequest;
    static constexpr Relayed relayed{.gathers = true};
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::vector<TableHost> hosts;
    static constexpr void fields(auto &&field) {
        field(&JobTableReply::id, "id", "as in JobTableRequest");
        field(&JobTableReply::status, "status", "0 or a PMIx status");
        field(&JobTableReply::hosts, "hosts", "as that namespace counts them");
    }
};

} // namespace pmixhost::wire
