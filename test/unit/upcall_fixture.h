// What the tests of upcalls begin with: the loop and the library thread that requests and answers go through, whoever
// takes the requests, and a stand-in for libpmix, which is not started. Include it once in a program.
#pragma once

#include "server-glue/allocation/allocation_ask.h"
#include "server-glue/collective/connect_ask.h"
#include "server-glue/collective/fence_ask.h"
#include "server-glue/control/abort_ask.h"
#include "server-glue/control/job_control_ask.h"
#include "server-glue/daemon/module_table.h"
#include "server-glue/events/notify_ask.h"
#include "server-glue/groups/group_ask.h"
#include "server-glue/iof/iof_ask.h"
#include "server-glue/iof/pull_gate.h"
#include "server-glue/library/upcalls.h"
#include "server-glue/log/log_ask.h"
#include "server-glue/modex/modex_ask.h"
#include "server-glue/publish/publish_asks.h"
#include "server-glue/query/query_ask.h"
#include "server-glue/security/credential_asks.h"
#include "server-glue/spawn/spawn_ask.h"
#include "server-glue/tasks/client_asks.h"
#include "server-glue/tool_access/tool_ask.h"

#include <pmix_server.h>
#include <utility>
#include <vector>

#include "test/unit/check.h"
#include "test/unit/gate.h"

namespace pmixhost {

// What libpmix' own thread is given, by the library thread: it is run at once, or, with `waits`, when the test says so,
// which is that thread then.
struct ProgressThread {
    struct Given {
        pmix_op_cbfunc_t callback;
        void *data;
    };
    bool waits = false;
    std::vector<Given> given;
    void goes_on() {
        for (const Given &each : std::exchange(given, {}))
            each.callback(PMIX_SUCCESS, each.data);
    }
};
inline ProgressThread progress_thread;

// Without a gate, for which alone it counts what the request needs.
template <typename Ask, typename Take> void take_one(UpcallHandlers &handlers, Take take) {
    if constexpr (NamesCaller<Ask>)
        handlers.on<Ask>(policy::Action::observe, take);
    else
        handlers.on_unjudged<Ask>(take);
}

struct UpcallFixture {
    std::unique_ptr<EventLoop> loop;
    std::unique_ptr<LibraryThread> thread;
    std::unique_ptr<Upcalls> upcalls;

    UpcallFixture() {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        auto started = LibraryThread::start([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok() && started.ok());
        loop = std::move(*made);
        thread = std::move(*started);
        upcalls = std::make_unique<Upcalls>(*loop, *thread);
        upcalls->handlers.shared<CollectiveLimits>()->bytes = 64u << 20;
        upcalls->handlers.shared<PublishLimits>()->bytes = 1u << 20;
        upcalls->handlers.shared<EventGate>()->most = 1u << 20;
    }
    // Each of these is taken by `take`, and answered when it is dropped.
    template <typename... Asks, typename Take> void take(Take take) {
        (take_one<Asks>(upcalls->handlers, [take](Asks ask) { take(ask); }), ...);
    }
    template <typename Take> void take_all(Take taken) {
        take<ClientConnectedAsk, ClientFinalizedAsk, AbortAsk, FenceAsk, ModexAsk, ConnectAsk, GroupAsk, PublishAsk,
             LookupAsk, UnpublishAsk, SpawnAsk, JobControlAsk, LogAsk, CredentialAsk, ValidationAsk, QueryAsk,
             AllocationAsk, NotifyAsk, PullAsk, PullEndAsk, PushAsk, ToolConnectedAsk>(taken);
    }
    // What the loop and the library thread have to do is done.
    void through() {
        loop->post([this] { loop->stop(); });
        assert_true(loop->run().ok());
        OneTimeGate gate;
        thread->run("end", [&] { gate.open(); });
        gate.wait();
    }
};

} // namespace pmixhost

extern "C" pmix_status_t PMIx_server_deliver_inventory(pmix_info_t *, std::size_t, pmix_info_t *, std::size_t,
                                                       pmix_op_cbfunc_t callback, void *data) {
    if (pmixhost::progress_thread.waits)
        pmixhost::progress_thread.given.push_back({callback, data});
    else
        callback(PMIX_SUCCESS, data);
    return PMIX_SUCCESS;
}
