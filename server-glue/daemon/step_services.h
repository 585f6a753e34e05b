// The capabilities of a step's daemon, and how they are wired with each other. The order of the members is that in
// which they are made and told of what happens.
#pragma once

#include "common/wire/event_messages.h"
#include "server-glue/allocation/step_allocations.h"
#include "server-glue/collective/step_connect.h"
#include "server-glue/control/step_abort.h"
#include "server-glue/control/step_control.h"
#include "server-glue/debug/job_end.h"
#include "server-glue/debug/step_debug.h"
#include "server-glue/events/parent_news.h"
#include "server-glue/events/step_events.h"
#include "server-glue/groups/step_groups.h"
#include "server-glue/iof/output_copies.h"
#include "server-glue/iof/step_iof.h"
#include "server-glue/log/step_log.h"
#include "server-glue/modex/step_modex.h"
#include "server-glue/publish/step_publish.h"
#include "server-glue/query/step_queries.h"
#include "server-glue/security/credential_service.h"
#include "server-glue/spawn/lost_children.h"
#include "server-glue/spawn/spawn_places.h"
#include "server-glue/spawn/spawned_jobs.h"
#include "server-glue/spawn/step_spawn.h"
#include "server-glue/step/session_link.h"
#include "server-glue/tool_access/step_desks.h"
#include "server-glue/tool_access/step_tools.h"

namespace pmixhost {

struct StepServices {
    explicit StepServices(StepContext &context)
        : session(context), sets(context),
          fate(context, [this](const Bytes &nspace) { return spawned_jobs.is_running(nspace); }),
          jobs(context, sets, fate), handing_over(context, {[this](Rank rank) { modex.on_kept(rank); },
                                                            [this](Rank rank) { modex.on_refused(rank); }}),
          modex(context, jobs, handing_over), collectives(context, jobs, handing_over),
          connect(context, jobs, collectives, [this](const Bytes &nspace) { return spawned_jobs.has_ended(nspace); }),
          publish(context, session, [this](const Process &process) { return tools.place_of(process); }),
          queries(context, sets.sets(), groups, jobs), tools(context), desks(context, tools),
          events(
              context, [this] { return jobs.jobs().any(); },
              [this](const Process &source) { return tools.is_tool(source); }, [this] { return tools.names(); }),
          group_calls(context, groups, jobs, collectives, connect, events.to_library()),
          control(context, groups, jobs, spawned_jobs, events,
                  [this](const Process &caller) { return tools.is_tool(caller); }),
          allocations(
              context, [this](wire::CrossJobEvent event) { events.tell_step(std::move(event)); },
              [this](const Process &caller) { return tool_children.connection_of(caller); }),
          children_io(context, tools, session),
          tool_children(context, tools, spawned_jobs,
                        {[this](const Process &tool, const Bytes &nspace) { control.debugger_gone(tool, nspace); },
                         [this](const Bytes &nspace) { debug.leave_alone(nspace); }}),
          children_ends(context, spawned_jobs, fate, events, collectives),
          spawn_places(context, tool_children, spawned_jobs,
                       [this](const Bytes &nspace) { return children_io.is_drained(nspace); }),
          spawn(context, spawned_jobs, children_io, jobs, session, tool_children, spawn_places),
          lost_children(context, spawned_jobs, children_ends), log(context),
          abort(context, groups, events, log.texts()), credentials(context), iof(context, tools, events, children_io),
          output_copies(context), debug(context, events), job_end(context, events), parent_news(context, events) {}

    SpawnedJobs spawned_jobs;
    GroupRegistry groups;
    SessionLink session;
    StepSets sets;
    StepFate fate;
    CrossJobs jobs;
    HandingOver handing_over;
    StepModex modex;
    StepCollectives collectives;
    StepConnect connect;
    StepPublish publish;
    StepQueries queries;
    StepTools tools;
    StepDesks desks;
    StepEvents events;
    StepGroups group_calls;
    StepControl control;
    StepAllocations allocations;
    ChildrenIo children_io;
    ToolChildren tool_children;
    ChildrenEnds children_ends;
    SpawnPlaces spawn_places;
    StepSpawn spawn;
    LostChildren lost_children;
    StepLog log;
    StepAbort abort;
    CredentialService credentials;
    StepIof iof;
    OutputCopies output_copies;
    StepDebug debug;
    JobEnd job_end;
    ParentNews parent_news;
};

} // namespace pmixhost
