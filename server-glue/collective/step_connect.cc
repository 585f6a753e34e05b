// See step_connect.h.
#include "server-glue/collective/step_connect.h"

#include "common/process/topology.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

static constexpr auto posted_patience = std::chrono::seconds(2); // for the library
// libpmix 4.2.2 must not see its own timer of a group or connect expire. The answer comes so much earlier, because
// the daemon may be late itself.
static constexpr auto head_start = std::chrono::milliseconds(250);
static constexpr auto most_head_start = std::chrono::milliseconds(2000);

void StepConnect::take_asks(UpcallHandlers &handlers) {
    handlers.on_unjudged<ConnectAsk>([this](ConnectAsk ask) { connect(std::move(ask)); });
}

std::chrono::milliseconds StepConnect::before_the_library(std::chrono::seconds timeout) {
    auto all = std::chrono::milliseconds(timeout);
    return all.count() > 0 ? all - std::clamp(all / 5, head_start, most_head_start) : all;
}

std::chrono::milliseconds StepConnect::left_of(std::chrono::milliseconds timeout, TimePoint since, TimePoint now) {
    using std::chrono::milliseconds;
    if (timeout.count() <= 0)
        return timeout;
    return std::max(milliseconds(1), timeout - std::chrono::duration_cast<milliseconds>(now - since));
}

void StepConnect::connect(ConnectAsk request) {
    auto signature = canonical(request.kind, request.participants, [this](const Bytes &nspace) {
        return nspace == context_.step.nspace ? context_.step.map.rank_count() : size_unknown;
    });
    if (!signature)
        return request.reply(PMIX_ERR_NOT_FOUND);
    // libpmix 4.2.2 answers a connect with PMIX_TIMEOUT itself when the time is up, and takes an answer
    // that comes after its own for another one (contrib/doc/decisions/libpmix.md): be earlier.
    std::optional<std::chrono::milliseconds> timeout;
    if (request.timeout)
        timeout = request.kind == CollectiveKind::connect ? before_the_library(*request.timeout)
                                                          : std::chrono::milliseconds(*request.timeout);
    auto shared = std::make_shared<ConnectAsk>(std::move(request));
    auto go_on = [this, shared, signature = *signature, timeout, since = context_.now()](Bytes posted) {
        // This is asked only now, because a namespace may have ended while the posted data was collected.
        if (shared->kind == CollectiveKind::connect && shared->refused == PMIX_SUCCESS &&
            std::any_of(signature.members.begin(), signature.members.end(),
                        [this](const Members &m) { return has_ended_(m.nspace); }))
            shared->refused = PMIX_ERR_PROC_TERM_WO_SYNC;
        auto left = timeout ? std::optional(left_of(*timeout, since, context_.now())) : timeout;
        collectives_.enter(signature, {std::move(posted), shared->refused, shared->local_status, left},
                           {[shared](pmix_status_t status, Bytes) { shared->reply(status); }, PMIX_ERROR, Bytes()});
    };
    if (shared->kind == CollectiveKind::connect && jobs_.spanned_by(*signature))
        return collect_posted(*signature, go_on);
    go_on({});
}

void StepConnect::collect_posted(const Signature &signature, std::function<void(Bytes)> then) {
    struct Collection {
        std::function<void(Bytes)> then; // null: it has gone on
        Bytes data;
        EventLoop::Handle timer;
        void finish() {
            timer.reset();
            if (auto go_on = std::exchange(then, nullptr))
                go_on(std::move(data));
        }
    };
    std::vector<Rank> ranks;
    auto all = std::make_shared<Collection>();
    for (Rank rank : context_.ranks_here()) {
        if (signature.contains(context_.step.nspace, rank) && !context_.tasks->gone(rank))
            ranks.push_back(rank);
        // For every participant of this host, so that others on this host know who is local.
        pid_t pid = context_.tasks->watch().pid_of(rank);
        if (auto cpus = pid > 0 ? CpuSet::of_process(pid) : Result<CpuSet>(error(ErrorKind::not_found, "")))
            all->data += wire::encode(wire::PostedData{rank, Bytes(CrossJobs::cpuset_prefix) + cpus->list(), {}});
    }
    if (ranks.empty() || !context_.library)
        return then(std::move(all->data));
    all->then = std::move(then);
    all->timer = context_.loop.after(posted_patience, [all] {
        auto kept = all; // the timer owns what it is called with
        kept->finish();
    });
    context_.library->posted_data_now(
        context_.step.nspace, std::move(ranks), [this, all](std::map<Rank, Bytes> posted) {
            for (auto &[rank, data] : posted) {
                if (all->data.size() + data.size() <= context_.settings.fence_max_bytes)
                    all->data += wire::encode(wire::PostedData{rank, {}, std::move(data)});
            }
            all->finish();
        });
}

} // namespace pmixhost
