// Events on their way between hosts and namespaces (server-glue/events/event_service.h).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/names.h"
#include "common/wire/rank_set.h"

namespace pmixhost::wire {

// What is passed on along the tree begins with the same three fields, by which it finds its way; but for BadEnds, which
// is known by its ranks.
struct EventNotice {
    static constexpr std::uint8_t type = 56;
    static constexpr const char *name = "EventNotice";
    static constexpr const char *text = "an event of a process, or of a daemon; passed on along the tree";
    std::uint32_t origin = 0;
    std::uint64_t sequence = 0;
    std::vector<std::uint32_t> hosts;
    std::int32_t status = 0;
    Bytes nspace;
    std::uint32_t rank = 0;
    std::uint8_t range = 0;
    std::uint8_t of_host = 0;
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
        field(&EventNotice::of_host, "of_host", "1: a daemon tells it, whatever the source is; 0: a process notifies");
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
    std::uint8_t ends_job = 0;
    static constexpr void fields(auto &&field) {
        field(&EndedProcess::rank, "rank", "rank");
        field(&EndedProcess::code, "code", "of the event");
        field(&EndedProcess::term_status, "term_status", "PMIX_PROC_TERM_STATUS; 0: unknown");
        field(&EndedProcess::exit_code, "exit_code", "as a shell reports it; -1: unknown");
        field(&EndedProcess::ends_job, "ends_job", "1: the job is ended for it");
    }
};
// What a daemon tells its services of a host: it is lost, or processes of it have ended badly. Between daemons it is
// the loss alone; the ends of a moment, of whatever hosts, are BadEnds there.
struct HostReport {
    static constexpr std::uint8_t type = 57;
    static constexpr const char *name = "HostReport";
    static constexpr const char *text = "a host is lost; passed on along the tree";
    std::uint32_t origin = 0;
    std::uint64_t sequence = 0;
    std::vector<std::uint32_t> hosts;
    std::uint32_t host = 0;
    std::uint64_t time = 0;
    std::uint8_t lost = 0;               // not in the message
    std::vector<EndedProcess> processes; // likewise
    static constexpr void fields(auto &&field) {
        field(&HostReport::origin, "origin", "as in EventNotice");
        field(&HostReport::sequence, "sequence", "as in EventNotice");
        field(&HostReport::hosts, "hosts", "as in EventNotice");
        field(&HostReport::host, "host", "which host is lost");
        field(&HostReport::time, "time", "when it was seen, in seconds of the epoch");
    }
};
struct EndedRanks {
    static constexpr const char *name = "EndedRanks";
    RankSet ranks;
    std::int32_t code = 0;
    std::int32_t term_status = 0;
    std::int32_t exit_code = -1;
    std::uint8_t ends_job = 0;
    std::uint64_t time = 0;
    static constexpr void fields(auto &&field) {
        field(&EndedRanks::ranks, "ranks", "which have ended so");
        field(&EndedRanks::code, "code", "as in EndedProcess");
        field(&EndedRanks::term_status, "term_status", "as in EndedProcess");
        field(&EndedRanks::exit_code, "exit_code", "as in EndedProcess");
        field(&EndedRanks::ends_job, "ends_job", "as in EndedProcess");
        field(&EndedRanks::time, "time", "when it was seen, in seconds of the epoch");
    }
};
struct BadEnds {
    static constexpr std::uint8_t type = 59;
    static constexpr const char *name = "BadEnds";
    static constexpr const char *text =
        "processes have ended badly; passed on along the tree, with others that came meanwhile";
    std::vector<EndedRanks> ends;
    static constexpr void fields(auto &&field) { field(&BadEnds::ends, "ends", "of whatever hosts"); }
};
struct NormalExits {
    static constexpr std::uint8_t type = 58;
    static constexpr const char *name = "NormalExits";
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
        field(&NormalExits::origin, "origin", "as in EventNotice; the root, or who stands in for it");
        field(&NormalExits::sequence, "sequence", "as in EventNotice");
        field(&NormalExits::hosts, "hosts", "as in EventNotice");
        field(&NormalExits::up, "up", "1: not yet passed on, the three above mean nothing");
        field(&NormalExits::time, "time", "when it was seen, in seconds of the epoch");
        field(&NormalExits::ranks, "ranks", "which have ended, with 0");
        field(&NormalExits::uncertain, "uncertain", "which have ended, the kernel does not say how");
    }
};
// Between namespaces, over the session (server-glue/events/session_events.h).
struct CrossJobEvent {
    static constexpr std::uint8_t type = 96;
    static constexpr const char *name = "CrossJobEvent";
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
    std::uint8_t of_host = 0;
    std::uint32_t info_count = 0;
    Bytes info;
    static constexpr void fields(auto &&field) {
        field(&CrossJobEvent::nspaces, "nspaces", "for these; none: for all");
        field(&CrossJobEvent::related, "related", "1: only for namespaces that are connected with that of the sender");
        field(&CrossJobEvent::once, "once",
              "not empty: one of the same name that this namespace has sent before is the same event");
        field(&CrossJobEvent::status, "status", "the event's code");
        field(&CrossJobEvent::nspace, "nspace", "namespace of the source");
        field(&CrossJobEvent::rank, "rank", "its rank");
        field(&CrossJobEvent::range, "range", "pmix_data_range_t");
        field(&CrossJobEvent::custom, "custom", "for PMIX_RANGE_CUSTOM: for whom");
        field(&CrossJobEvent::of_host, "of_host", "as in EventNotice");
        field(&CrossJobEvent::info_count, "info_count", "how many pmix_info_t");
        field(&CrossJobEvent::info, "info", "these, as PMIx_Data_pack makes them");
    }
};
struct SubscribeEvents {
    static constexpr std::uint8_t type = 97;
    static constexpr const char *name = "SubscribeEvents";
    static constexpr const char *text = "to the session: here I am, with my namespace";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) { field(&SubscribeEvents::reserved, "reserved", "0"); }
};

} // namespace pmixhost::wire
