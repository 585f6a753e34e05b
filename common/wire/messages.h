// Every message between daemons, once. See codec.h for how fields become bytes.
//
// To add one: a struct here with `type`, `name`, `text` and fields(), and an entry in AllMessages;
// type numbers are never used again for another meaning.
#pragma once

#include "common/wire/codec.h"

#include <tuple>

namespace pmixhost::wire {

// --- opening a connection (transport/link.h tells the exchange) ---------------------------------
struct Hello {
    static constexpr std::uint8_t type = 1;
    static constexpr const char *name = "Hello";
    static constexpr const char *text = "the dialing daemon says and proves who it is";
    Bytes proof;
    static constexpr void fields(auto &&field) {
        field(&Hello::proof, "proof", "a proof (transport/authenticator.h) of an Introduction");
    }
};
struct Welcome {
    static constexpr std::uint8_t type = 2;
    static constexpr const char *name = "Welcome";
    static constexpr const char *text = "the answer of the daemon that was dialed; the link is open";
    Bytes proof;
    static constexpr void fields(auto &&field) {
        field(&Welcome::proof, "proof", "a proof of the Introduction with `reply` set");
    }
};
// What a proof vouches for; never sent bare.
struct Introduction {
    static constexpr const char *name = "Introduction";
    Bytes step_key;
    std::uint32_t dialer = 0;
    std::uint32_t listener = 0;
    Bytes listener_cookie;
    Bytes dialer_nonce;
    std::uint8_t reply = 0;
    Bytes secret;
    std::uint8_t wants_tags = 0;
    static constexpr void fields(auto &&field) {
        field(&Introduction::step_key, "step_key", "cluster-wide name of the step");
        field(&Introduction::dialer, "dialer", "host of the daemon that dials");
        field(&Introduction::listener, "listener", "host of the daemon that is dialed");
        field(&Introduction::listener_cookie, "listener_cookie",
              "16 random bytes from the contact message of the dialed daemon");
        field(&Introduction::dialer_nonce, "dialer_nonce", "16 random bytes of this attempt");
        field(&Introduction::reply, "reply", "0 in a Hello, 1 in a Welcome");
        field(&Introduction::secret, "secret", "32 random bytes of who makes the proof, for the keys of the tags");
        field(&Introduction::wants_tags, "wants_tags",
              "1: the frames that follow have tags, whatever the other side wants");
    }
};

struct Farewell {
    static constexpr std::uint8_t type = 3;
    static constexpr const char *name = "Farewell";
    static constexpr const char *text =
        "every task of this host has finished with PMIx or ended: the close that follows is no loss";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) {
        field(&Farewell::reserved, "reserved", "0");
    }
};

// --- collectives (server-glue/collective/collective.h) ------------------------------------------------------
struct Contribution {
    static constexpr const char *name = "Contribution";
    std::uint32_t host = 0;
    Bytes data;
    static constexpr void fields(auto &&field) {
        field(&Contribution::host, "host", "whose it is");
        field(&Contribution::data, "data", "the blob of that host's library");
    }
};
struct CollectiveUp {
    static constexpr std::uint8_t type = 16;
    static constexpr const char *name = "CollectiveUp";
    static constexpr const char *text = "a subtree has entered a collective, or cannot complete it";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::int32_t status = 0;
    std::vector<Contribution> contributions;
    static constexpr void fields(auto &&field) {
        field(&CollectiveUp::signature, "signature", "kind and participants, canonical");
        field(&CollectiveUp::sequence, "sequence", "how many of this signature came before");
        field(&CollectiveUp::status, "status", "0, or a PMIx status that ends it for all");
        field(&CollectiveUp::contributions, "contributions", "of every host of the subtree");
    }
};
struct CollectiveDown {
    static constexpr std::uint8_t type = 17;
    static constexpr const char *name = "CollectiveDown";
    static constexpr const char *text = "a collective is complete, or has failed for all";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::int32_t status = 0;
    std::vector<Contribution> contributions;
    static constexpr void fields(auto &&field) {
        field(&CollectiveDown::signature, "signature", "as in CollectiveUp");
        field(&CollectiveDown::sequence, "sequence", "as in CollectiveUp");
        field(&CollectiveDown::status, "status", "0, or the PMIx status for every participant");
        field(&CollectiveDown::contributions, "contributions", "of every participating host");
    }
};
struct CollectiveProbe {
    static constexpr std::uint8_t type = 18;
    static constexpr const char *name = "CollectiveProbe";
    static constexpr const char *text =
        "a collective waits for this subtree: say so if a participant has gone";
    Bytes signature;
    std::uint64_t sequence = 0;
    static constexpr void fields(auto &&field) {
        field(&CollectiveProbe::signature, "signature", "as in CollectiveUp");
        field(&CollectiveProbe::sequence, "sequence", "as in CollectiveUp");
    }
};

// --- direct modex (server-glue/modex/modex.h) ----------------------------------------------------------
struct ModexRequest {
    static constexpr std::uint8_t type = 20;
    static constexpr const char *name = "ModexRequest";
    static constexpr const char *text = "what has this process posted?";
    std::uint64_t id = 0;
    Bytes nspace;
    std::uint32_t rank = 0;
    std::uint32_t timeout_ms = 0;
    Bytes key = {};
    std::uint32_t key_ms = 0;
    static constexpr void fields(auto &&field) {
        field(&ModexRequest::id, "id", "chosen by the asking daemon");
        field(&ModexRequest::nspace, "nspace", "namespace of the process");
        field(&ModexRequest::rank, "rank", "its rank");
        field(&ModexRequest::timeout_ms, "timeout_ms", "how long the asker waits");
        field(&ModexRequest::key, "key", "what it has posted must contain this; empty: anything will do");
        field(&ModexRequest::key_ms, "key_ms", "for how long; then anything will do");
    }
};
struct ModexReply {
    static constexpr std::uint8_t type = 21;
    static constexpr const char *name = "ModexReply";
    static constexpr const char *text = "the posted data, or why there is none";
    std::uint64_t id = 0;
    std::int32_t status = 0;
    Bytes data;
    static constexpr void fields(auto &&field) {
        field(&ModexReply::id, "id", "as in ModexRequest");
        field(&ModexReply::status, "status", "0 or a PMIx status");
        field(&ModexReply::data, "data", "the library's modex blob");
    }
};

// --- control ------------------------------------------------------------------------------------
struct PostedByEnded {
    static constexpr std::uint8_t type = 22;
    static constexpr const char *name = "PostedByEnded";
    static constexpr const char *text =
        "what the processes of a host that leaves had posted, to the heir of that host, which answers PostedKept";
    Bytes posted;
    static constexpr void fields(auto &&field) {
        field(&PostedByEnded::posted, "posted", "PostedData, one behind the other");
    }
};

struct PostedKept {
    static constexpr std::uint8_t type = 23;
    static constexpr const char *name = "PostedKept";
    static constexpr const char *text = "the heir has it, or leaves too";
    std::uint8_t kept = 0;
    static constexpr void fields(auto &&field) {
        field(&PostedKept::kept, "kept", "0: the next one is to be asked");
    }
};

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
              "signal numbers, for each process in this order; 0 alone: are they there?");
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

// Of processes in other namespaces, over the session (server-glue/control/session_control.h).
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
    static constexpr void fields(auto &&field) {
        field(&ControlCancel::id, "id", "as in ControlRequest");
    }
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

// --- published data, to and from the session (server-glue/publish/data_store.h) ----------------------------
struct ProcessName {
    static constexpr const char *name = "ProcessName";
    Bytes nspace;
    std::uint32_t rank = 0;
    static constexpr void fields(auto &&field) {
        field(&ProcessName::nspace, "nspace", "namespace");
        field(&ProcessName::rank, "rank", "rank, or PMIX_RANK_WILDCARD");
    }
};
struct Datum {
    static constexpr const char *name = "Datum";
    Bytes key;
    Bytes value;
    static constexpr void fields(auto &&field) {
        field(&Datum::key, "key", "its key");
        field(&Datum::value, "value", "a pmix_value_t as PMIx_Data_pack makes it");
    }
};
inline constexpr std::uint32_t any_group = UINT32_MAX;
struct Found {
    static constexpr const char *name = "Found";
    Bytes nspace;
    std::uint32_t rank = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    Bytes key;
    Bytes value;
    static constexpr void fields(auto &&field) {
        field(&Found::nspace, "nspace", "namespace of the publisher");
        field(&Found::rank, "rank", "its rank");
        field(&Found::uid, "uid", "the owner: user");
        field(&Found::gid, "gid", "the owner: group");
        field(&Found::key, "key", "the key");
        field(&Found::value, "value", "as in Datum");
    }
};
struct PublishRequest {
    static constexpr std::uint8_t type = 32;
    static constexpr const char *name = "PublishRequest";
    static constexpr const char *text = "a process publishes data";
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    Bytes host;
    std::uint8_t range = 0;
    std::uint8_t persistence = 0;
    std::vector<ProcessName> custom;
    std::vector<Datum> data;
    static constexpr void fields(auto &&field) {
        field(&PublishRequest::id, "id", "chosen by the asking daemon");
        field(&PublishRequest::rank, "rank", "the publisher, of the connection's namespace");
        field(&PublishRequest::uid, "uid", "whose the data is: user");
        field(&PublishRequest::gid, "gid", "whose the data is: group");
        field(&PublishRequest::host, "host", "name of its node");
        field(&PublishRequest::range, "range", "pmix_data_range_t");
        field(&PublishRequest::persistence, "persistence", "pmix_persistence_t");
        field(&PublishRequest::custom, "custom", "who may see it, for PMIX_RANGE_CUSTOM");
        field(&PublishRequest::data, "data", "what it publishes");
    }
};
struct LookupRequest {
    static constexpr std::uint8_t type = 33;
    static constexpr const char *name = "LookupRequest";
    static constexpr const char *text = "a process looks published data up";
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = any_group;
    Bytes host;
    std::uint8_t range = 0;
    std::vector<ProcessName> custom;
    std::vector<Bytes> keys;
    std::int32_t wait = -1;
    std::uint32_t timeout_ms = 0;
    static constexpr void fields(auto &&field) {
        field(&LookupRequest::id, "id", "chosen by the asking daemon");
        field(&LookupRequest::rank, "rank", "the asker, of the connection's namespace");
        field(&LookupRequest::uid, "uid", "the asker's user");
        field(&LookupRequest::gid, "gid", "only data of this group; 2^32-1: of any");
        field(&LookupRequest::host, "host", "name of its node");
        field(&LookupRequest::range, "range", "whose data to look at: pmix_data_range_t");
        field(&LookupRequest::custom, "custom", "the same, for PMIX_RANGE_CUSTOM");
        field(&LookupRequest::keys, "keys", "what it looks for");
        field(&LookupRequest::wait, "wait", "-1: does not wait; 0: for all keys; else for so many");
        field(&LookupRequest::timeout_ms, "timeout_ms", "how long it waits; 0: without limit");
    }
};
struct UnpublishRequest {
    static constexpr std::uint8_t type = 34;
    static constexpr const char *name = "UnpublishRequest";
    static constexpr const char *text = "a process takes back what it published";
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    std::uint8_t range = 0;
    std::vector<Bytes> keys;
    static constexpr void fields(auto &&field) {
        field(&UnpublishRequest::id, "id", "chosen by the asking daemon");
        field(&UnpublishRequest::rank, "rank", "the publisher, of the connection's namespace");
        field(&UnpublishRequest::range, "range", "only of this range; PMIX_RANGE_UNDEF: of all");
        field(&UnpublishRequest::keys, "keys", "these; none: all of its data");
    }
};
struct DataReply {
    static constexpr std::uint8_t type = 35;
    static constexpr const char *name = "DataReply";
    static constexpr const char *text = "the answer to one of the three above";
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::vector<Found> found;
    static constexpr void fields(auto &&field) {
        field(&DataReply::id, "id", "as in the request");
        field(&DataReply::status, "status", "PMIx status");
        field(&DataReply::found, "found", "of a lookup");
    }
};
struct RankRange {
    static constexpr const char *name = "RankRange";
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    static constexpr void fields(auto &&field) {
        field(&RankRange::first, "first", "a rank");
        field(&RankRange::last, "last", "the last one that follows on it");
    }
};
struct ProcessesEnded {
    static constexpr std::uint8_t type = 36;
    static constexpr const char *name = "ProcessesEnded";
    static constexpr const char *text = "to the session: processes have ended";
    std::vector<RankRange> ranks;
    static constexpr void fields(auto &&field) {
        field(&ProcessesEnded::ranks, "ranks", "of the connection's namespace");
    }
};
struct SpeakForStep {
    static constexpr std::uint8_t type = 176;
    static constexpr const char *name = "SpeakForStep";
    static constexpr const char *text =
        "from the session to one host of each step: it tells of the ends of processes of other hosts too";
    static constexpr void fields(auto &&) {}
};
struct NamespaceEnded {
    static constexpr std::uint8_t type = 38;
    static constexpr const char *name = "NamespaceEnded";
    static constexpr const char *text = "to the session: a job that this one has spawned has ended";
    Bytes nspace;
    static constexpr void fields(auto &&field) {
        field(&NamespaceEnded::nspace, "nspace", "of that job");
    }
};

// --- what is known of other namespaces (server-glue/cross_job/namespace_asks.h) -------------------------------
struct HostRanks {
    static constexpr const char *name = "HostRanks";
    Bytes host;
    std::vector<std::uint32_t> ranks;
    static constexpr void fields(auto &&field) {
        field(&HostRanks::host, "host", "name of the host");
        field(&HostRanks::ranks, "ranks", "its ranks, by local rank");
    }
};
// What the processes of other namespaces may know of one.
struct NamespaceInfo {
    static constexpr const char *name = "NamespaceInfo";
    Bytes nspace;
    Bytes job_id;
    std::uint32_t universe_size = 0;
    std::vector<HostRanks> hosts;
    Bytes process_sets;
    Bytes shares_fate_with;
    static constexpr void fields(auto &&field) {
        field(&NamespaceInfo::nspace, "nspace", "its name");
        field(&NamespaceInfo::job_id, "job_id", "PMIX_JOBID");
        field(&NamespaceInfo::universe_size, "universe_size", "PMIX_UNIV_SIZE");
        field(&NamespaceInfo::hosts, "hosts", "in the order of the node ids");
        field(&NamespaceInfo::process_sets, "process_sets", "as common/process_set.h has it");
        field(&NamespaceInfo::shares_fate_with, "shares_fate_with",
              "of its parent, if it does (server-glue/spawn/shared_fate.h)");
    }
};
struct NamespaceRequest {
    static constexpr std::uint8_t type = 42;
    static constexpr const char *name = "NamespaceRequest";
    static constexpr const char *text =
        "to the session, and from it to a daemon of that namespace: what may others know of it?";
    std::uint64_t id = 0;
    Bytes nspace;
    static constexpr void fields(auto &&field) {
        field(&NamespaceRequest::id, "id", "chosen by who sends it");
        field(&NamespaceRequest::nspace, "nspace", "its name");
    }
};
struct NamespaceReply {
    static constexpr std::uint8_t type = 43;
    static constexpr const char *name = "NamespaceReply";
    static constexpr const char *text = "that, or why it is not told";
    std::uint64_t id = 0;
    std::int32_t status = 0;
    NamespaceInfo info;
    static constexpr void fields(auto &&field) {
        field(&NamespaceReply::id, "id", "as in NamespaceRequest");
        field(&NamespaceReply::status, "status", "0 or a PMIx status");
        field(&NamespaceReply::info, "info", "empty where there is none");
    }
};

// --- spawn (server-glue/spawn/spawn_request.h) ---------------------------------------------------------
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
        field(&SpawnDirective::kind, "kind", "of value: 0 other, 1 flag, 2 number, 3 text, 4 process, 5 variable");
        field(&SpawnDirective::text, "text", "a text; the namespace of a process; NAME=VALUE of a variable");
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
    static constexpr void fields(auto &&field) {
        field(&SpawnRequest::id, "id", "chosen by the asking daemon");
        field(&SpawnRequest::nspace, "nspace", "namespace of the caller");
        field(&SpawnRequest::rank, "rank", "its rank");
        field(&SpawnRequest::directives, "directives", "of the whole job");
        field(&SpawnRequest::apps, "apps", "the programs, in order");
        field(&SpawnRequest::lives_on, "lives_on", "1: the caller's job asked to live on, and shares no fate");
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

struct WantSession {
    static constexpr std::uint8_t type = 37;
    static constexpr const char *name = "WantSession";
    static constexpr const char *text =
        "to the lowest host of the step: see to it that this allocation has a session";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) {
        field(&WantSession::reserved, "reserved", "0");
    }
};

// --- operations over several namespaces, to and from the session (server-glue/collective/gathering.h) ----------
struct NamespacePart {
    static constexpr const char *name = "NamespacePart";
    NamespaceInfo info;
    Bytes data;
    static constexpr void fields(auto &&field) {
        field(&NamespacePart::info, "info", "the namespace");
        field(&NamespacePart::data, "data", "what its hosts contributed, one behind the other");
    }
};
// The data of a connect, one behind the other.
struct PostedData {
    static constexpr const char *name = "PostedData";
    std::uint32_t rank = 0;
    Bytes cpuset;
    Bytes data;
    static constexpr void fields(auto &&field) {
        field(&PostedData::rank, "rank", "of the namespace whose part it is in");
        field(&PostedData::cpuset, "cpuset", "PMIX_CPUSET; empty: unknown");
        field(&PostedData::data, "data", "the library's modex blob; empty: not known here");
    }
};
// The contribution of a host to the construction of a group; those of a namespace one behind the other.
struct GroupPart {
    static constexpr const char *name = "GroupPart";
    Bytes nspace;
    std::uint32_t host = 0;
    std::vector<std::uint32_t> gone;
    std::uint8_t wants_context = 0;
    std::uint64_t context_id = 0;
    Bytes endpoints;
    Bytes posted;
    static constexpr void fields(auto &&field) {
        field(&GroupPart::nspace, "nspace", "namespace of this host's members");
        field(&GroupPart::host, "host", "the host, in that namespace's step");
        field(&GroupPart::gone, "gone", "ranks of its members that have ended before they joined");
        field(&GroupPart::wants_context, "wants_context", "1: its members ask for a context id");
        field(&GroupPart::context_id, "context_id", "one that is free; 0: of another host");
        field(&GroupPart::endpoints, "endpoints", "the library's PMIX_GROUP_ENDPT_DATA");
        field(&GroupPart::posted, "posted", "PostedData of its members, for other namespaces");
    }
};
struct GatheringJoin {
    static constexpr std::uint8_t type = 40;
    static constexpr const char *name = "GatheringJoin";
    static constexpr const char *text =
        "all participants of this namespace have entered a collective over several, or it fails here";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::int32_t status = 0;
    NamespacePart part;
    static constexpr void fields(auto &&field) {
        field(&GatheringJoin::signature, "signature", "as in CollectiveUp");
        field(&GatheringJoin::sequence, "sequence", "as in CollectiveUp, of this namespace");
        field(&GatheringJoin::status, "status", "0, or the PMIx status that ends it for all");
        field(&GatheringJoin::part, "part", "of this namespace");
    }
};
struct GatheringDone {
    static constexpr std::uint8_t type = 41;
    static constexpr const char *name = "GatheringDone";
    static constexpr const char *text = "all namespaces have joined, or it has failed for all";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::int32_t status = 0;
    std::vector<NamespacePart> parts;
    static constexpr void fields(auto &&field) {
        field(&GatheringDone::signature, "signature", "as the namespace gave it");
        field(&GatheringDone::sequence, "sequence", "as the namespace gave it");
        field(&GatheringDone::status, "status", "0, or a PMIx status");
        field(&GatheringDone::parts, "parts", "of the other namespaces");
    }
};

// --- events (server-glue/events/event_service.h) ---------------------------------------------------------
// All kinds begin with the same three fields, by which they find their way.
struct EventNotice {
    static constexpr std::uint8_t type = 56;
    static constexpr const char *name = "EventNotice";
    static constexpr const char *text = "a process notifies an event; passed on along the tree";
    std::uint32_t origin = 0;
    std::uint64_t sequence = 0;
    std::vector<std::uint32_t> hosts;
    std::int32_t status = 0;
    Bytes nspace;
    std::uint32_t rank = 0;
    std::uint8_t range = 0;
    std::uint32_t info_count = 0;
    Bytes info;
    static constexpr void fields(auto &&field) {
        field(&EventNotice::origin, "origin", "host it comes from");
        field(&EventNotice::sequence, "sequence", "of that host, counting up");
        field(&EventNotice::hosts, "hosts", "where it shall be delivered; none: everywhere");
        field(&EventNotice::status, "status", "the event's code");
        field(&EventNotice::nspace, "nspace", "namespace of the process");
        field(&EventNotice::rank, "rank", "its rank");
        field(&EventNotice::range, "range", "pmix_data_range_t");
        field(&EventNotice::info_count, "info_count", "how many pmix_info_t");
        field(&EventNotice::info, "info", "these, as PMIx_Data_pack makes them");
    }
};
struct EndedProcess {
    static constexpr const char *name = "EndedProcess";
    std::uint32_t rank = 0;
    std::int32_t code = 0;
    std::int32_t term_status = 0;
    std::int32_t exit_code = -1;
    static constexpr void fields(auto &&field) {
        field(&EndedProcess::rank, "rank", "rank");
        field(&EndedProcess::code, "code", "of the event");
        field(&EndedProcess::term_status, "term_status", "PMIX_PROC_TERM_STATUS; 0: unknown");
        field(&EndedProcess::exit_code, "exit_code", "as a shell reports it; -1: unknown");
    }
};
struct HostReport {
    static constexpr std::uint8_t type = 57;
    static constexpr const char *name = "HostReport";
    static constexpr const char *text =
        "processes of a host have ended badly, or it is lost; passed on along the tree";
    std::uint32_t origin = 0;
    std::uint64_t sequence = 0;
    std::vector<std::uint32_t> hosts;
    std::uint32_t host = 0;
    std::uint8_t lost = 0;
    std::uint64_t time = 0;
    std::vector<EndedProcess> processes;
    static constexpr void fields(auto &&field) {
        field(&HostReport::origin, "origin", "as in EventNotice");
        field(&HostReport::sequence, "sequence", "as in EventNotice");
        field(&HostReport::hosts, "hosts", "as in EventNotice");
        field(&HostReport::host, "host", "of which host it tells");
        field(&HostReport::lost, "lost", "1: that host is lost");
        field(&HostReport::time, "time", "when it was seen, in seconds of the epoch");
        field(&HostReport::processes, "processes", "of that host, which have ended badly");
    }
};

struct OrderlyEnds {
    static constexpr std::uint8_t type = 58;
    static constexpr const char *name = "OrderlyEnds";
    static constexpr const char *text =
        "processes have ended, and all was in order; first up the tree, then passed on along it";
    std::uint32_t origin = 0;
    std::uint64_t sequence = 0;
    std::vector<std::uint32_t> hosts;
    std::uint8_t up = 0;
    std::uint64_t time = 0;
    std::vector<RankRange> ranks;
    std::vector<RankRange> uncertain;
    static constexpr void fields(auto &&field) {
        field(&OrderlyEnds::origin, "origin", "as in EventNotice; the root, or who stands in for it");
        field(&OrderlyEnds::sequence, "sequence", "as in EventNotice");
        field(&OrderlyEnds::hosts, "hosts", "as in EventNotice");
        field(&OrderlyEnds::up, "up", "1: not yet passed on, the three above mean nothing");
        field(&OrderlyEnds::time, "time", "when it was seen, in seconds of the epoch");
        field(&OrderlyEnds::ranks, "ranks", "which have ended, with 0");
        field(&OrderlyEnds::uncertain, "uncertain", "which have ended, the kernel does not say how");
    }
};

// Between namespaces, over the session (server-glue/events/session_events.h).
struct EventAbroad {
    static constexpr std::uint8_t type = 96;
    static constexpr const char *name = "EventAbroad";
    static constexpr const char *text =
        "to the session: an event for other namespaces; from it: an event of another namespace";
    std::vector<Bytes> nspaces;
    std::uint8_t related = 0;
    Bytes once;
    std::int32_t status = 0;
    Bytes nspace;
    std::uint32_t rank = 0;
    std::uint8_t range = 0;
    std::vector<ProcessName> custom;
    std::uint32_t info_count = 0;
    Bytes info;
    static constexpr void fields(auto &&field) {
        field(&EventAbroad::nspaces, "nspaces", "for these; none: for all");
        field(&EventAbroad::related, "related", "1: only for namespaces that are connected with that of the sender");
        field(&EventAbroad::once, "once",
              "not empty: one of the same name that this namespace has sent before is the same event");
        field(&EventAbroad::status, "status", "the event's code");
        field(&EventAbroad::nspace, "nspace", "namespace of the source");
        field(&EventAbroad::rank, "rank", "its rank");
        field(&EventAbroad::range, "range", "pmix_data_range_t");
        field(&EventAbroad::custom, "custom", "for PMIX_RANGE_CUSTOM: for whom");
        field(&EventAbroad::info_count, "info_count", "how many pmix_info_t");
        field(&EventAbroad::info, "info", "these, as PMIx_Data_pack makes them");
    }
};
struct HearEvents {
    static constexpr std::uint8_t type = 97;
    static constexpr const char *name = "HearEvents";
    static constexpr const char *text = "to the session: here I am, with my namespace";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) {
        field(&HearEvents::reserved, "reserved", "0");
    }
};
// From the launcher (server-glue/daemon/launcher_server.h).
struct JobEvent {
    static constexpr std::uint8_t type = 98;
    static constexpr const char *name = "JobEvent";
    static constexpr const char *text = "to who spawned a job: it runs, which is told only when asked for, or has ended";
    static constexpr std::uint8_t running = 1, ended = 2;
    Bytes nspace;
    std::uint8_t what = 0;
    std::uint8_t asked = 0;
    std::int32_t exit_code = 0;
    std::uint64_t time = 0;
    static constexpr void fields(auto &&field) {
        field(&JobEvent::nspace, "nspace", "of the job");
        field(&JobEvent::what, "what", "1: all of its processes run; 2: all have ended");
        field(&JobEvent::asked, "asked", "1: its parent asked to hear of it");
        field(&JobEvent::exit_code, "exit_code", "of the ended job, as a shell reports it");
        field(&JobEvent::time, "time", "when, in seconds of the epoch");
    }
};

// --- the table of processes (server-glue/query/process_table.h) -----------------------------------------
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
    static constexpr void fields(auto &&field) {
        field(&TableProcess::rank, "rank", "rank");
        field(&TableProcess::pid, "pid", "0: it has none");
        field(&TableProcess::state, "state", "pmix_proc_state_t");
        field(&TableProcess::exit_code, "exit_code", "as a shell reports it");
        field(&TableProcess::executable, "executable", "position in the host's list");
    }
};
struct TableHost {
    static constexpr const char *name = "TableHost";
    std::uint32_t host = 0;
    std::vector<Bytes> executables;
    std::vector<TableProcess> processes;
    static constexpr void fields(auto &&field) {
        field(&TableHost::host, "host", "its index");
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

using AllMessages = std::tuple<Hello, Welcome, Farewell, CollectiveUp, CollectiveDown, CollectiveProbe,
                               ModexRequest, ModexReply, PostedByEnded, PostedKept, KillRanks, SignalRanks, SignalReply,
                               PublishRequest, LookupRequest, UnpublishRequest,
                               DataReply, ProcessesEnded, WantSession, GatheringJoin, GatheringDone, SpawnRequest, SpawnReply,
                               StepOver, EventNotice, HostReport, OrderlyEnds, EventAbroad, HearEvents, JobEvent, TableRequest, TableReply,
                               NamespaceEnded, NamespaceRequest, NamespaceReply, ControlRequest, ControlReply, ControlCancel, ControlPart,
                               ControlPartReply, SpeakForStep>;

} // namespace pmixhost::wire
