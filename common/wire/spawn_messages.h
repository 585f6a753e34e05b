// Spawned jobs, to and from the launcher (server-glue/spawn/spawn_request.h,
// server-glue/daemon/launcher_server.h).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/cross_job_messages.h"
#include "common/wire/event_messages.h"
#include "common/wire/relayed.h"

namespace pmixhost::wire {

// One directive of a spawn request, whatever pmix type its value had.
struct SpawnDirective {
    static constexpr const char *name = "SpawnDirective";
    Bytes key;
    std::uint8_t required = 0;
    std::uint8_t kind = 0;
    Bytes text;
    std::uint64_t number = 0;
    static constexpr void fields(auto &&field) {
        field(&SpawnDirective::key, "key", "the attribute's string");
        field(&SpawnDirective::required, "required", "1: refuse the request if it cannot be met");
        field(&SpawnDirective::kind, "kind",
              "of value: 0 other, 1 flag, 2 number, 3 text, 4 process, 5 variable, 6 ranks");
        field(&SpawnDirective::text, "text",
              "a text; the namespace of a process; NAME=VALUE of a variable; ranks, separated by commas");
        field(&SpawnDirective::number, "number",
              "a flag or a number; the rank of a process; the separator of a variable");
    }
};
// A pmix_app_t.
struct SpawnApp {
    static constexpr const char *name = "SpawnApp";
    Bytes command;
    std::vector<Bytes> argv;
    std::vector<Bytes> environment;
    Bytes directory;
    std::int32_t count = 0;
    std::vector<SpawnDirective> directives;
    static constexpr void fields(auto &&field) {
        field(&SpawnApp::command, "command", "program; empty: the first of argv");
        field(&SpawnApp::argv, "argv", "arguments, from the program's name on");
        field(&SpawnApp::environment, "environment", "NAME=VALUE each");
        field(&SpawnApp::directory, "directory", "working directory; may be empty");
        field(&SpawnApp::count, "count", "number of processes");
        field(&SpawnApp::directives, "directives", "of this program alone");
    }
};
// Where processes are that are to be debugged.
struct TargetHost {
    static constexpr const char *name = "TargetHost";
    Bytes host;
    std::uint32_t processes = 0;
    static constexpr void fields(auto &&field) {
        field(&TargetHost::host, "host", "name of the host");
        field(&TargetHost::processes, "processes", "how many of them it has");
    }
};
struct SpawnRequest {
    static constexpr std::uint8_t type = 48;
    static constexpr const char *name = "SpawnRequest";
    static constexpr const char *text = "to the launcher: start these programs as a job of their own";
    std::uint64_t id = 0;
    Bytes nspace;
    std::uint32_t rank = 0;
    std::vector<SpawnDirective> directives;
    std::vector<SpawnApp> apps;
    std::uint8_t lives_on = 0;
    std::vector<TargetHost> targets;
    Bytes allocation;
    std::uint8_t gives_back = 0;
    static constexpr void fields(auto &&field) {
        field(&SpawnRequest::id, "id", "chosen by the asking daemon");
        field(&SpawnRequest::nspace, "nspace", "namespace of the caller");
        field(&SpawnRequest::rank, "rank", "its rank");
        field(&SpawnRequest::directives, "directives", "of the whole job");
        field(&SpawnRequest::apps, "apps", "the programs, in order");
        field(&SpawnRequest::lives_on, "lives_on", "1: the caller's job asked to live on, and shares no fate");
        field(&SpawnRequest::targets, "targets", "of PMIX_DEBUG_TARGET; none where the request has none");
        field(&SpawnRequest::allocation, "allocation", "in which to start them; empty: the launcher's own");
        field(&SpawnRequest::gives_back, "gives_back", "1: that allocation is given back when its jobs have ended");
    }
};
struct SpawnReply {
    static constexpr std::uint8_t type = 49;
    static constexpr const char *name = "SpawnReply";
    static constexpr const char *text = "the children run, or will not";
    std::uint64_t id = 0;
    std::int32_t status = 0;
    Bytes nspace;
    Bytes reason;
    NamespaceInfo info;
    static constexpr void fields(auto &&field) {
        field(&SpawnReply::id, "id", "as in SpawnRequest");
        field(&SpawnReply::status, "status", "0 or a PMIx status");
        field(&SpawnReply::nspace, "nspace", "of the children");
        field(&SpawnReply::reason, "reason", "for people; empty on success");
        field(&SpawnReply::info, "info", "of the children; empty where it is not told");
    }
};
struct StepOver {
    static constexpr std::uint8_t type = 50;
    static constexpr const char *name = "StepOver";
    static constexpr const char *text = "to the launcher: the tasks of this host have ended";
    std::uint8_t badly = 0;
    static constexpr void fields(auto &&field) {
        field(&StepOver::badly, "badly", "1: a task ended without having finalized");
    }
};
struct EndChild {
    static constexpr std::uint8_t type = 51;
    static constexpr const char *name = "EndChild";
    static constexpr const char *text = "to the launcher: end this job, which was spawned for a process of this host";
    Bytes nspace;
    static constexpr void fields(auto &&field) { field(&EndChild::nspace, "nspace", "of the job"); }
};
struct SpawnCancel {
    static constexpr std::uint8_t type = 55;
    static constexpr const char *name = "SpawnCancel";
    static constexpr const char *text = "to the launcher: the tool of this request has gone, or this host leaves: its "
                                        "job is not to be, even if it runs";
    std::uint64_t id = 0;
    static constexpr void fields(auto &&field) { field(&SpawnCancel::id, "id", "as in SpawnRequest"); }
};
struct LeaveAllocation {
    static constexpr std::uint8_t type = 54;
    static constexpr const char *name = "LeaveAllocation";
    static constexpr const char *text =
        "to the launcher: of the jobs in this allocation nothing more is to come; it may be given back";
    Bytes allocation;
    static constexpr void fields(auto &&field) {
        field(&LeaveAllocation::allocation, "allocation", "as in SpawnRequest");
    }
};
// From a host of a spawned job to the job that spawned it, through the session, which says from whom it is.
struct ChildEnds {
    static constexpr std::uint8_t type = 52;
    static constexpr const char *name = "ChildEnds";
    static constexpr const char *text = "processes of a spawned job have ended, for the host that spawned it";
    std::uint64_t id = 0;
    Bytes nspace;
    std::uint32_t host = 0;
    Bytes source;
    std::uint64_t time = 0;
    std::vector<EndedProcess> bad;
    std::vector<RankRange> well;
    std::uint8_t logs = 0;
    static constexpr void fields(auto &&field) {
        field(&ChildEnds::id, "id", "chosen by the asking daemon; the session puts its own");
        field(&ChildEnds::nspace, "nspace", "of the job that spawned it");
        field(&ChildEnds::host, "host", "the one of that job by which it was spawned");
        field(&ChildEnds::source, "source", "namespace of the spawned job; the session fills it in");
        field(&ChildEnds::time, "time", "when the first of these was seen, in microseconds of the epoch");
        field(&ChildEnds::bad, "bad", "which have ended badly, in the order in which they did");
        field(&ChildEnds::well, "well", "which have ended, with 0");
        field(&ChildEnds::logs, "logs", "1: the user wants lines of them");
    }
};
struct ChildEndsTaken {
    static constexpr std::uint8_t type = 53;
    static constexpr const char *name = "ChildEndsTaken";
    static constexpr const char *text = "the answer to ChildEnds";
    using Answers = ChildEnds;
    static constexpr Relayed relayed{};
    std::uint64_t id = 0;
    std::int32_t status = 0;
    static constexpr void fields(auto &&field) {
        field(&ChildEndsTaken::id, "id", "as in ChildEnds");
        field(&ChildEndsTaken::status, "status", "0 or a PMIx status");
    }
};
// News from the launcher (server-glue/daemon/launcher_server.h).
struct JobEvent {
    static constexpr std::uint8_t type = 98;
    static constexpr const char *name = "JobEvent";
    static constexpr const char *text =
        "to who spawned a job: it has begun or runs, which is told only when asked for, or has ended";
    static constexpr std::uint8_t running = 1, ended = 2, started = 3;
    static constexpr std::int32_t not_known = -1; // exit_code, of a job that has ended; the launcher knows
    Bytes nspace;
    std::uint8_t what = 0;
    std::uint8_t asked = 0;
    std::int32_t exit_code = 0;
    std::uint64_t time = 0;
    static constexpr void fields(auto &&field) {
        field(&JobEvent::nspace, "nspace", "of the job");
        field(&JobEvent::what, "what", "1: all of its processes run; 2: all have ended; 3: the first one runs");
        field(&JobEvent::asked, "asked", "1: its parent asked to hear of it");
        field(&JobEvent::exit_code, "exit_code", "of the ended job, as a shell reports it");
        field(&JobEvent::time, "time", "when, in seconds of the epoch");
    }
};

} // namespace pmixhost::wire
