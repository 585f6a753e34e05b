// Every message between daemons, for the document of the wire format (contrib/doc/wire-format.md), the session, which
// finds here what it relays (relayed.h), and the tests.
//
// To add one: a struct in the file of its capability with `type`, `name`, `text` and fields() (codec.h tells how fields
// become bytes), and an entry here; type numbers are never used again for another meaning.
#pragma once

#include "common/wire/collective_messages.h"
#include "common/wire/connection_messages.h"
#include "common/wire/control_messages.h"
#include "common/wire/cross_job_messages.h"
#include "common/wire/debug_messages.h"
#include "common/wire/event_messages.h"
#include "common/wire/iof_messages.h"
#include "common/wire/modex_messages.h"
#include "common/wire/publish_messages.h"
#include "common/wire/relay_messages.h"
#include "common/wire/session_messages.h"
#include "common/wire/spawn_messages.h"
#include "common/wire/table_messages.h"

#include <tuple>

namespace pmixhost::wire {

using AllMessages =
    std::tuple<Hello, Welcome, Farewell, CollectiveUp, CollectiveDown, CollectiveProbe, CollectiveComplete,
               CollectivePiece, CollectiveTaken, ModexRequest, ModexReply, PostedByEnded, PostedKept, KillRanks,
               SignalRanks, SignalReply, PublishRequest, LookupRequest, UnpublishRequest, DataReply, ToolEnded,
               ProcessesEnded, WantSession, SessionCollectiveJoin, SessionCollectiveDone, SpawnRequest, SpawnReply,
               StepOver, EndChild, SpawnCancel, LeaveAllocation, ChildEnds, ChildEndsTaken, EventNotice, HostReport,
               NormalExits, BadEnds, CrossJobEvent, SubscribeEvents, JobEvent, TableRequest, TableReply,
               JobTableRequest, JobTableReply, NamespaceEnded, NamespaceRequest, NamespaceReply, ControlRequest,
               ControlReply, ControlCancel, ControlPart, ControlPartReply, StepDelegate, DeskHello, DeskHelloFor,
               DeskHelloAsked, DeskGreeting, RelayOpen, RelayOpenFrom, RelayBytes, RelayTaken, RelayEnd, OutputDemand,
               OutputPieces, OutputTaken, InputPush, InputTaken, ForwardedOutput, ForwardedOutputTaken, ForwardedInput,
               ForwardedInputTaken, RanksStopped, JobEndRequest, JobEndReply>;

} // namespace pmixhost::wire
