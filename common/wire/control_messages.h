// Signals and job control, in a step and to and from the session (server-glue/control).
#pragma once

#include "common/wire/codec.h"

namespace pmixhost::wire {

struct KillRanks {
    static constexpr std::uint8_t type = 28;
    static constexpr const char *name = "KillRanks";
    static constexpr const char *text = "a process aborted these processes of its own job";
    Bytes nspace;
    std::vector<std::uint32_t> ranks;
    std::int32_t signal = 0;
    static constexpr void fields(auto &&field) {
        field(&KillRanks::nspace, "nspace", "namespace of the processes");
        field(&KillRanks::ranks, "ranks", "those on the addressed host");
        field(&KillRanks::signal, "signal", "signal number");
    }
};
struct SignalRanks {
    static constexpr std::uint8_t type = 29;
    static constexpr const char *name = "SignalRanks";
    static constexpr const char *text =
        "signal these processes of this host and of those behind it; passed on along the tree";
    std::uint64_t id = 0;
    Bytes nspace;
    std::uint32_t origin = 0;
    std::uint64_t number = 0;
    std::uint32_t behind = 0;
    std::uint8_t whole = 0;
    std::vector<std::uint32_t> ranks;
    std::vector<std::int32_t> signals;
    std::uint32_t timeout_ms = 0;
    static constexpr void fields(auto &&field) {
        field(&SignalRanks::id, "id", "chosen by the asking daemon");
        field(&SignalRanks::nspace, "nspace", "namespace of the processes");
        field(&SignalRanks::origin, "origin", "host where it begins");
        field(&SignalRanks::number, "number", "of that host; what comes again is done once");
        field(&SignalRanks::behind, "behind", "the neighbour in the tree that is not to be asked");
        field(&SignalRanks::whole, "whole", "1: all processes there");
        field(&SignalRanks::ranks, "ranks", "else these, on the host or behind it");
        field(&SignalRanks::signals, "signals",
              "signal numbers, for each process in this order; 0 alone: are they there?; -18: the end of a pause");
        field(&SignalRanks::timeout_ms, "timeout_ms", "when to answer with what there is");
    }
};
struct SignalReply {
    static constexpr std::uint8_t type = 30;
    static constexpr const char *name = "SignalReply";
    static constexpr const char *text = "how many of them there were, in that part of the tree";
    std::uint64_t id = 0;
    std::uint32_t signalled = 0;
    std::uint8_t lost = 0;
    std::uint8_t late = 0;
    static constexpr void fields(auto &&field) {
        field(&SignalReply::id, "id", "as in SignalRanks");
        field(&SignalReply::signalled, "signalled", "processes that got all of the signals");
        field(&SignalReply::lost, "lost", "1: a host of theirs is lost");
        field(&SignalReply::late, "late", "1: not all have answered in time");
    }
};
// Control of processes in other namespaces, over the session (server-glue/control/session_control.h).
struct ControlTarget {
    static constexpr const char *name = "ControlTarget";
    Bytes nspace;
    std::uint8_t whole = 0;
    std::vector<std::uint32_t> ranks;
    static constexpr void fields(auto &&field) {
        field(&ControlTarget::nspace, "nspace", "namespace of the processes");
        field(&ControlTarget::whole, "whole", "1: all of them that run");
        field(&ControlTarget::ranks, "ranks", "these, ascending; with `whole`, those that must exist");
    }
};
struct ControlOrder {
    static constexpr const char *name = "ControlOrder";
    Bytes nspace;
    std::uint32_t rank = 0;
    std::vector<std::int32_t> signals;
    std::uint8_t notifies = 0;
    Bytes checkpoint;
    static constexpr void fields(auto &&field) {
        field(&ControlOrder::nspace, "nspace", "namespace of who asks");
        field(&ControlOrder::rank, "rank", "its rank");
        field(&ControlOrder::signals, "signals", "as in SignalRanks; with `notifies`, perhaps none");
        field(&ControlOrder::notifies, "notifies", "1: PMIX_JCTRL_CHECKPOINT comes to the processes");
        field(&ControlOrder::checkpoint, "checkpoint", "the id of the checkpoint, for the event");
    }
};
struct ControlOutcome {
    static constexpr const char *name = "ControlOutcome";
    std::int32_t refused = 0;
    std::uint64_t signalled = 0;
    std::uint64_t absent = 0;
    std::uint8_t lost = 0;
    std::uint8_t late = 0;
    static constexpr void fields(auto &&field) {
        field(&ControlOutcome::refused, "refused", "0, or the PMIx status for which nothing was done");
        field(&ControlOutcome::signalled, "signalled", "processes that got all of the signals");
        field(&ControlOutcome::absent, "absent", "processes that had ended");
        field(&ControlOutcome::lost, "lost", "1: a host of theirs is lost");
        field(&ControlOutcome::late, "late", "1: the time was up before all had answered");
    }
};
struct ControlRequest {
    static constexpr std::uint8_t type = 144;
    static constexpr const char *name = "ControlRequest";
    static constexpr const char *text = "to the session: a process controls processes of other jobs";
    std::uint64_t id = 0;
    ControlOrder order;
    std::uint8_t everyone = 0;
    std::vector<ControlTarget> targets;
    std::uint32_t timeout_ms = 0;
    static constexpr void fields(auto &&field) {
        field(&ControlRequest::id, "id", "chosen by the asking daemon");
        field(&ControlRequest::order, "order", "what to do, asked in the connection's namespace");
        field(&ControlRequest::everyone, "everyone",
              "1: all other jobs of the session; `targets` are some that must be among them");
        field(&ControlRequest::targets, "targets", "per namespace");
        field(&ControlRequest::timeout_ms, "timeout_ms", "how long the asker waits");
    }
};
struct ControlReply {
    static constexpr std::uint8_t type = 145;
    static constexpr const char *name = "ControlReply";
    static constexpr const char *text = "from the session: how it went, in all namespaces together";
    std::uint64_t id = 0;
    ControlOutcome outcome;
    static constexpr void fields(auto &&field) {
        field(&ControlReply::id, "id", "as in ControlRequest");
        field(&ControlReply::outcome, "outcome", "the sum");
    }
};
struct ControlCancel {
    static constexpr std::uint8_t type = 146;
    static constexpr const char *name = "ControlCancel";
    static constexpr const char *text = "to the session: who asked waits no longer; what is not done need not be";
    std::uint64_t id = 0;
    static constexpr void fields(auto &&field) { field(&ControlCancel::id, "id", "as in ControlRequest"); }
};
struct ControlPart {
    static constexpr std::uint8_t type = 147;
    static constexpr const char *name = "ControlPart";
    static constexpr const char *text =
        "from the session to one host of a step: do this to processes of yours, or say whether it makes sense";
    std::uint64_t id = 0;
    std::uint8_t act = 0;
    ControlOrder order;
    ControlTarget target;
    std::uint32_t timeout_ms = 0;
    static constexpr void fields(auto &&field) {
        field(&ControlPart::id, "id", "chosen by the session");
        field(&ControlPart::act, "act", "0: only say whether there are such processes; 1: do it");
        field(&ControlPart::order, "order", "what to do");
        field(&ControlPart::target, "target", "processes of this step");
        field(&ControlPart::timeout_ms, "timeout_ms", "how long is left");
    }
};
struct ControlPartReply {
    static constexpr std::uint8_t type = 148;
    static constexpr const char *name = "ControlPartReply";
    static constexpr const char *text = "to the session: the answer to a ControlPart";
    std::uint64_t id = 0;
    std::uint8_t act = 0;
    ControlOutcome outcome;
    static constexpr void fields(auto &&field) {
        field(&ControlPartReply::id, "id", "as in ControlPart");
        field(&ControlPartReply::act, "act", "as in ControlPart");
        field(&ControlPartReply::outcome, "outcome", "of this step");
    }
};

} // namespace pmixhost::wire
