// See step_iof.h.
#include "server-glue/iof/step_iof.h"

#include "server-glue/library/convert.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <bit>

namespace pmixhost {

namespace {

// A tool that has this much of what was sent to it still before it gets nothing more, and no tool beside it.
constexpr std::size_t much_unsent = 256u << 10;
constexpr Duration shortest_pause = std::chrono::milliseconds(1), longest_pause = std::chrono::milliseconds(50);
// libpmix does not tell when a tool goes. What one has taken over goes nowhere from its end to the next look.
constexpr Duration tools_look = std::chrono::seconds(1), taken_over_look = std::chrono::milliseconds(20);
// A stream that is open when its task has ended is held by what the task has left behind.
constexpr Duration left_open_patience = std::chrono::seconds(5);
// What any host holds back, however little was asked for: what comes must stay for a moment.
constexpr std::uint64_t least_cache = 64u << 10; // that of io.cache is not less
// Nobody's: what is delivered for it replaces the last piece that libpmix keeps for whoever pulls next.
constexpr const char *nobody = "pmixhost.nobody";

} // namespace

StepIof::StepIof(StepContext &context, StepTools &tools)
    : context_(context), tools_(tools),
      streams_(context.loop, {[this](Rank rank, std::uint8_t channel) { return output_.wanted(rank, channel); },
                              [this](Rank rank, std::uint8_t channel) { return output_.taken_over(rank, channel); },
                              [this](Rank rank, std::uint8_t channel, std::string_view bytes, bool end) {
                                  output_.output(rank, channel, bytes, end);
                              }}),
      output_(context, *this, context.step.map, context.self(), context.settings.transport_radix),
      input_(context, *this, context.step.map, context.self(), context.settings.transport_radix) {}

void StepIof::take_asks(UpcallHandlers &handlers) {
    gate_ = handlers.shared<PullGate>();
    gate_->nspace = context_.step.nspace;
    gate_->ranks = context_.step.map.rank_count();
    tools_.when_one_comes([this] { judge(); });
    handlers.on<PullAsk>([this](PullAsk ask) { pull(std::move(ask)); });
    handlers.on<PullEndAsk>([this](PullEndAsk) {
        if (pulls_ > 0 && --pulls_ == 0)
            end_pulls("it is over");
        else
            restore();
    });
    handlers.on<PushAsk>([this](PushAsk ask) { push(std::move(ask)); });
}

void StepIof::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::OutputDemand>(Peer::host, [this](HostIndex from, wire::OutputDemand message, SharedBytes) {
        output_.on_demand(from, message);
    });
    messages.on<wire::OutputPieces>(Peer::host, [this](HostIndex from, wire::OutputPieces message, SharedBytes) {
        output_.on_pieces(from, std::move(message));
    });
    messages.on<wire::OutputTaken>(Peer::host, [this](HostIndex from, wire::OutputTaken message, SharedBytes) {
        output_.on_taken(from, message);
    });
    messages.on<wire::InputPush>(Peer::host, [this](HostIndex from, wire::InputPush message, SharedBytes) {
        input_.on_push(from, std::move(message));
    });
    messages.on<wire::InputTaken>(
        Peer::host, [this](HostIndex from, wire::InputTaken message, SharedBytes) { input_.on_taken(from, message); });
}

void StepIof::on_host_gone(HostIndex host, bool left) {
    output_.on_host_gone(host);
    input_.on_host_gone(host, left);
}

void StepIof::take_streams(Rank rank, TaskDescriptors descriptors) {
    streams_.add(rank, std::move(descriptors));
}

bool StepIof::holds_end(TimePoint ended) {
    if (streams_.rm_waits())
        return true; // the RM waits as well, and says when that is enough
    if (context_.now() >= ended + left_open_patience)
        return false;
    return streams_.any_open() || output_.anything_waits() || !tools_have_all();
}

// Tools of this host have got the ends of all that they pull, or there are none.
bool StepIof::tools_have_all() {
    if (pulls_ == 0 || tools_.how_many() == 0)
        return true;
    std::size_t ranks = wish_.pulled.ranks.empty() ? context_.step.map.rank_count() : wish_.pulled.ranks.size();
    std::size_t streams = ranks * static_cast<std::size_t>(std::popcount(wish_.pulled.channels));
    return ended_here_.size() >= streams && tools_.most_unsent() == 0;
}

static void add(OutputSelection &selection, const PullAsk &ask) {
    bool everyone = selection.channels != 0 && selection.ranks.empty();
    for (const auto &source : ask.sources) {
        if (source.rank == PMIX_RANK_WILDCARD)
            everyone = true;
        else
            selection.ranks.insert(source.rank);
    }
    if (everyone)
        selection.ranks.clear();
    selection.channels |= ask.channels;
}

// --- pulls ------------------------------------------------------------------------------------------

// Of whoever took the output over libpmix does not say whether it is the one that has gone.
void StepIof::restore() {
    if (wish_.taken_over.channels == 0)
        return;
    wish_.taken_over = {};
    output_.pull(wish_);
}

// A tool has come or gone, or perhaps. libpmix cannot keep what one tool pulls from another that was refused the same.
void StepIof::judge() {
    if (!captures())
        return;
    const std::size_t present = tools_.how_many();
    bool may = tools_.all_may(policy::Action::output, false);
    pmix_status_t verdict = present == 0 ? PMIX_ERR_NOT_SUPPORTED : may ? PMIX_SUCCESS : PMIX_ERR_NO_PERMISSIONS;
    if (gate_->verdict.exchange(verdict) != verdict && present > 0)
        tools_.all_may(policy::Action::output, true); // once, for the log
    if (pulls_ > 0 && (!may || present == 0))
        end_pulls(may ? "no tool is here" : "a tool has come that the rules allow no output");
    else if (std::exchange(gone_, tools_.have_gone()) != tools_.have_gone())
        restore();
    look_at_tools_ = present == 0 ? TimePoint::max()
                                  : context_.now() + (wish_.taken_over.channels != 0 ? taken_over_look : tools_look);
}

void StepIof::pull(PullAsk ask) {
    if (gate_->verdict != PMIX_SUCCESS)
        return; // a tool without the right has come meanwhile
    add(wish_.pulled, ask);
    if (ask.take_over)
        add(wish_.taken_over, ask);
    const std::uint64_t most = context_.settings.io_cache;
    wish_.cache = std::max(wish_.cache, std::clamp(ask.cache.value_or(most), least_cache, most));
    wish_.drop_oldest = ask.drop_oldest;
    wish_.kept = pulls_++ == 0; // who pulls already has had it
    context_.log.info("output of job {} is pulled{}", context_.step.job_id, ask.take_over ? ", and taken over" : "");
    output_.pull(wish_);
    judge(); // for when to look at the tools
}

void StepIof::end_pulls(const char *why) {
    pulls_ = 0;
    wish_ = {};
    output_.pull(wish_);
    context_.log.info("output of job {} is no longer pulled: {}", context_.step.job_id, why);
    context_.library->deliver_output({proc_of(nobody, 0), wire::stdout_channel, {}, true}, [](pmix_status_t) {});
}

void StepIof::on_time(TimePoint now) {
    if (now >= look_at_tools_)
        judge();
    if (now >= deliver_on_)
        go_on();
}

std::vector<wire::OutputPiece> StepIof::kept_output(const OutputWish &wish) {
    std::vector<wire::OutputPiece> pieces;
    for (Rank rank : context_.ranks_here()) {
        for (std::uint8_t channel : {wire::stdout_channel, wire::stderr_channel}) {
            auto kept = wish.pulled.has(rank, channel) ? streams_.kept(rank, channel) : std::nullopt;
            if (kept && (!kept->bytes.empty() || kept->end))
                pieces.push_back({rank, channel, kept->end, 0, Bytes(kept->bytes)});
        }
    }
    return pieces;
}

// A tool that took the output over and has gone is noticed before more is lost.
void StepIof::deliver(std::vector<wire::OutputPiece> pieces) {
    if (wish_.taken_over.channels != 0)
        look_at_tools_ = context_.now();
    for (auto &piece : pieces) {
        if (piece.dropped > 0) {
            missed_ += piece.dropped;
            if (auto others = missed_lines_.admit(context_.now()))
                context_.log.warning("tools here were too slow for the output of rank {}: {} bytes of job {} are "
                                     "missing so far (io.cache){}",
                                     piece.rank, missed_, context_.step.job_id, not_logged(*others));
        }
        if (piece.end)
            ended_here_.emplace(piece.rank, piece.channel);
        std::uint32_t of_this = OutputQueue::cost(piece);
        context_.library->deliver_output(
            {proc_of(context_.step.nspace, piece.rank), piece.channel, std::move(piece.bytes), piece.end != 0},
            [this, of_this](pmix_status_t) {
                queued_ += of_this;
                if (deliver_on_ == TimePoint::max())
                    go_on();
            });
    }
}

// What libpmix has queued counts as taken when no connection has much before it: libpmix writes whenever it can.
void StepIof::go_on() {
    if (tools_.most_unsent() > much_unsent) {
        pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
        deliver_on_ = context_.now() + pause_;
        return;
    }
    pause_ = {};
    deliver_on_ = TimePoint::max();
    output_.taken(std::exchange(queued_, 0));
}

// --- pushes -----------------------------------------------------------------------------------------

void StepIof::push(PushAsk ask) {
    if (!captures())
        return ask.reply(PMIX_ERR_NOT_SUPPORTED);
    std::vector<Rank> ranks;
    bool everyone = ask.targets.empty();
    for (const auto &target : ask.targets) {
        if (target.nspace != context_.step.nspace ||
            (target.rank >= context_.step.map.rank_count() && target.rank != PMIX_RANK_WILDCARD))
            return ask.reply(PMIX_ERR_NOT_FOUND);
        everyone = everyone || target.rank == PMIX_RANK_WILDCARD;
        ranks.push_back(target.rank);
    }
    if (everyone)
        ranks.clear();
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    input_.push(std::move(ranks), std::move(ask.bytes), ask.end, std::move(ask.reply));
}

} // namespace pmixhost
