// See step_ending.h.
#include "server-glue/daemon/step_ending.h"

#include "server-glue/daemon/supervisor.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/tasks/client_asks.h"

#include <pmix_common.h>

namespace pmixhost {

// How long the end waits for peers that do not read.
static constexpr auto sending_patience = std::chrono::seconds(5);
static constexpr auto connecting_patience = std::chrono::seconds(1); // of that
// How long it waits for files to be removed when the file system does not answer.
static constexpr auto cleaning_patience = std::chrono::seconds(30);
// For output that is held, once the RM's own process has ended: less than plugins wait for their daemon.
static constexpr Duration output_patience = std::chrono::seconds(20);

void StepEnding::take_asks(UpcallHandlers &handlers) {
    handlers.on_unjudged<ClientConnectedAsk>([this](ClientConnectedAsk ask) {
        if (ask.client.nspace == context_.step.nspace)
            context_.tasks->client_connected(ask.client.rank);
        ask.reply(PMIX_SUCCESS);
    });
    handlers.on_unjudged<ClientFinalizedAsk>([this](ClientFinalizedAsk ask) {
        if (ask.client.nspace != context_.step.nspace || !context_.tasks->client_finalized(ask.client.rank))
            return ask.reply(PMIX_SUCCESS);
        last_client_finalized(std::move(ask.reply));
    });
}

void StepEnding::end(Result<void> result) {
    if (context_.ending)
        return;
    context_.ending = true;
    if (!result && page_)
        page_->fail(result.failure().text);
    // What a tool has started by a lobby ends with the tool.
    bool badly = context_.step.is_lobby || (!context_.live_on && (!result || context_.tasks->any_ended_badly()));
    context_.tell_services([badly](StepService &each) { each.on_leaving(badly); });
    // What the processes of this host had posted was handed over before they ended; what is kept for other hosts
    // perhaps was not.
    if (!result || services_.handing_over.heirs().all_kept().empty())
        return finish(std::move(result));
    services_.handing_over.start([this] { finish({}); });
}

void StepEnding::end_after_output(TimePoint ended) {
    // At its end a task's words are there: it takes no time to hear them.
    bool is_unheard = context_.tasks->awaits_exec_report() && context_.now() < ended + sending_patience;
    bool is_held = false;
    context_.tell_services([&](StepService &each) { is_held |= each.holds_end(ended); });
    if (!is_unheard && !is_held)
        return end({});
    output_end_ = context_.loop.after(std::chrono::milliseconds(5), [this, ended] { end_after_output(ended); });
}

// What processes wanted to be removed at the end of their job is, and what others wait for (the result of a fence,
// say) goes out. It is done in this order so that whoever asks for a connection meanwhile is told farewell as well.
void StepEnding::finish(Result<void> result) {
    context_.mesh->farewell();
    auto last = std::make_shared<std::optional<Result<void>>>(std::move(result));
    auto cleaned = [this, last] {
        if (auto end = std::exchange(*last, std::nullopt))
            when_sent(sending_of_end_, [this, end = *end] { on_end_(end); });
    };
    if (!context_.library || context_.library_stuck || !context_.tasks->any_started() ||
        context_.tasks->watch().running() > 0)
        return cleaned();
    stop_cleaning_ = cleaned;
    std::vector<Rank> clients;
    for (Rank rank : context_.ranks_here()) {
        if (context_.tasks->connected(rank))
            clients.push_back(rank);
    }
    context_.library->end_nspace(context_.step.nspace, std::move(clients), [cleaned](pmix_status_t) { cleaned(); });
    cleaning_end_ = context_.loop.after(cleaning_patience, cleaned);
}

void StepEnding::last_client_finalized(StatusReply reply) {
    auto shared = std::make_shared<StatusReply>(std::move(reply));
    services_.handing_over.start([this, shared, begun = context_.now()] {
        context_.mesh->farewell();
        when_sent(sending_of_finalize_, [this, shared, begun, handed_over = context_.now()] {
            using Milliseconds = std::chrono::duration<double, std::milli>;
            context_.log.debug("the last client was held in PMIx_Finalize for {:.1f} ms: {:.1f} until what was posted "
                               "had been handed over, {:.1f} until all was sent, last for {}",
                               Milliseconds(context_.now() - begun).count(), Milliseconds(handed_over - begun).count(),
                               Milliseconds(context_.now() - handed_over).count(), sending_of_finalize_.last);
            (*shared)(PMIX_SUCCESS);
        });
    });
}

// An RM that ends in order has waited for the tasks before, but this daemon may hear of both at once: the
// tasks' ends come first then, and all is well.
void StepEnding::on_rm_gone(std::string why) {
    rm_gone_ = context_.loop.after(dying_patience, [this, why = std::move(why)] {
        // The RM does not wait for output that goes to tools, or to who spawned the job.
        Duration more = holds_output() ? output_patience : Duration::zero();
        rm_gone_ = context_.loop.after(more, [this, why] { end(error(ErrorKind::unreachable, "{}", why)); });
    });
}

void StepEnding::on_supervisor_gone() {
    alone_ = context_.loop.after(dying_patience, [this] {
        if (context_.ending || context_.tasks->watch().running() == 0)
            return;
        if (context_.live_on)
            return context_.log.error("the supervisor of pmixhostd was killed; nobody watches this daemon now");
        std::string text =
            fmt::format("the supervisor of pmixhostd on {} was killed; the step is ended", context_.host_name());
        context_.log.error("{}", text);
        context_.end_step({1, text});
    });
}

bool StepEnding::on_library_stuck() {
    services_.handing_over.finish();
    if (auto stop = std::exchange(stop_cleaning_, nullptr))
        stop();
    return context_.ending;
}

// --- until everything is out --------------------------------------------------------------------------

void StepEnding::when_sent(Sending &sending, std::function<void()> then) {
    sending.then.push_back(std::move(then));
    if (sending.then.size() > 1)
        return;
    sending.begun = context_.now();
    sending.last = "nothing";
    const char *first = what_is_unsent(sending.begun);
    if (!first)
        return go_on(sending);
    sending.last = first;
    sending.look = context_.loop.before_waiting([this, &sending] {
        if (const char *what = what_is_unsent(sending.begun)) {
            sending.last = what;
            return;
        }
        // What follows may change when services are to be called next, and they have been asked already.
        sending.look.reset();
        sending.time = context_.loop.after(Duration::zero(), [this, &sending] { go_on(sending); });
    });
    sending.time = context_.loop.after(connecting_patience, [this, &sending] {
        sending.time = context_.loop.after(sending_patience - connecting_patience, [] {});
    });
}

void StepEnding::go_on(Sending &sending) {
    sending.look.reset();
    sending.time.reset();
    for (auto &then : std::exchange(sending.then, {}))
        then();
}

// Null: nothing, or it is not waited for any longer. What costs the most to find out comes last.
const char *StepEnding::what_is_unsent(TimePoint begun) {
    TimePoint now = context_.now();
    if (now >= begun + sending_patience)
        return nullptr;
    bool any = false;
    context_.tell_services([&any](StepService &each) { any |= each.has_unsent(); });
    if (any)
        return "something that a service has yet to hand on";
    Mesh &mesh = *context_.mesh;
    // Who may hold a connection for made already would take this host for lost.
    if (mesh.introduced() > 0)
        return "a connection that another host may hold for made";
    // For a moment, count also what the step's tree is told of the ends here, while that connection is being made.
    // Hosts that have been asked to come must be told farewell (decisions/start.md).
    if (now < begun + connecting_patience) {
        HostIndex heir = services_.handing_over.heirs().heir_of(context_.self());
        if (heir != no_host && mesh.connecting(heir) && mesh.queued_bytes(heir) > 0)
            return "the connection with this host's heir";
        if (mesh.dials_under_way() > 0)
            return "a connection that another host has asked for";
    }
    return mesh.has_unsent() ? "what the network has yet to take" : nullptr;
}

} // namespace pmixhost
