// See step_iof.h.
#include "server-glue/iof/step_iof.h"

#include "server-glue/events/host_events.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/pack.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <bit>
#include <ctime>

namespace pmixhost {

namespace {

// libpmix does not tell when a tool goes. What one has taken over goes nowhere from its end to the next look.
constexpr Duration tools_look = std::chrono::seconds(1), taken_over_look = std::chrono::milliseconds(20);
// A stream that is open when its task has ended is held by what the task has left behind.
constexpr Duration left_open_patience = std::chrono::seconds(5);
// What is forwarded has no other reader, and its own may be slow.
constexpr Duration forward_patience = OutputForward::comes_within + std::chrono::seconds(5);
// Where the output of a spawned job comes together.
constexpr HostIndex forwarding_host = 0;
// What any host holds back, however little was asked for: what comes must stay for a moment.
constexpr std::uint64_t least_cache = 64u << 10; // that of io.cache is not less
// Nobody's: what is delivered for it replaces the last piece that libpmix keeps for whoever pulls next.
constexpr const char *nobody = "pmixhost.nobody";

} // namespace

static OutputWish forwarded(std::uint8_t channels, const StepContext &context) {
    constexpr std::uint8_t output = wire::stdout_channel | wire::stderr_channel;
    OutputWish wish;
    wish.pulled = wish.taken_over = OutputSelection(channels & output);
    wish.cache = context.settings.io_cache;
    wish.held = {context.step.parent->held_bytes, std::chrono::seconds(context.step.parent->held_seconds)};
    wish.whole = true;
    return wish;
}

StepIof::StepIof(StepContext &context, StepTools &tools, StepEvents &events, ChildrenIo &children)
    : StepService(context.services), context_(context), tools_(tools), events_(events), children_(children),
      forwards_(context.step.parent ? context.step.parent->forwards : 0),
      streams_(context.loop, context.settings.io_kept,
               {[this](Rank rank, std::uint8_t channel) { return output_.wanted(rank, channel); },
                [this](Rank rank, std::uint8_t channel) { return output_.taken_over(rank, channel); },
                [this](Rank rank, std::uint8_t channel, std::string_view bytes, bool end) {
                    output_.output(context_.now(), rank, channel, bytes, end);
                },
                [this](Rank rank, std::uint8_t channel) { return output_.room(rank, channel); },
                [this](Rank rank, std::uint8_t channel) { return output_.may_come_back(rank, channel); }}),
      copy_(
          context,
          [this](Rank rank, std::uint8_t channel, std::string_view bytes, bool end) {
              output_.output(context_.now(), rank, channel, bytes, end);
          },
          [this](const auto &streams) { output_.failed(streams); }),
      readable_(context.ranks_here().size()),
      output_(context, *this, context.step.map, context.self(), context.settings.transport_radix),
      input_(context, *this, context.step.map, context.self(), context.settings.transport_radix), pace_(tools) {
    children_.when_output_fails([this](const Bytes &nspace, const auto &channels) { tell_failures(channels, nspace); });
    streams_.hold_input(forwards_ & wire::stdin_channel);
    if (forwards_output())
        begin_forwarding();
}

void StepIof::take_asks(UpcallHandlers &handlers) {
    gate_ = handlers.shared<PullGate>();
    gate_->nspace = context_.step.nspace;
    gate_->ranks = context_.step.map.rank_count();
    gate_->can_be_taken_over = captures(context_);
    gate_->most_cache = context_.settings.io_cache;
    gate_->comes_as_spawned = forward_.has_value();
    if (context_.step.parent)
        gate_->channels = forwards_;
    tools_.when_one_comes([this] { judge(); });
    handlers.on<PullAsk>([this](PullAsk ask) { pull(std::move(ask)); });
    handlers.on<PullEndAsk>([this](PullEndAsk ask) {
        if (ask.by_tool == false)
            return; // what a process of the job pulls is of its children, and is not counted
        if (child_pulls_ > 0)
            --child_pulls_; // it may have been the other kind
        else if (pulls_ > 0 && --pulls_ == 0)
            return end_pulls("it is over");
        restore();
    });
    handlers.on<PushAsk>([this](PushAsk ask) { push(std::move(ask)); });
}

void StepIof::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::OutputDemand>(Peer::host, [this](HostIndex from, wire::OutputDemand message, SharedBytes) {
        output_.on_demand(context_.now(), from, message);
        read_copy_if_wanted();
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
    messages.on<wire::ForwardedOutputTaken>(Peer::session,
                                            [this](HostIndex, wire::ForwardedOutputTaken message, SharedBytes) {
                                                if (forward_)
                                                    forward_->on_reply(context_.now(), message);
                                            });
    messages.on<wire::ForwardedInput>(Peer::session, [this](HostIndex, wire::ForwardedInput message, SharedBytes) {
        on_forwarded_input(std::move(message));
    });
}

void StepIof::on_host_gone(HostIndex host, bool left) {
    output_.on_host_gone(context_.now(), host, left);
    input_.on_host_gone(host, left);
}

// What came from a host that is lost has come.
void StepIof::on_bad_ends(const wire::HostReport &report) {
    if (report.lost)
        output_.on_root_lost(context_.now(), report.host);
    if (!report.lost)
        return;
    std::map<Rank, std::uint8_t> failed;
    std::vector<std::pair<Rank, std::uint8_t>> forwarded;
    for (Rank rank : context_.step.map.ranks_on(report.host)) {
        for (std::uint8_t channel : {wire::stdout_channel, wire::stderr_channel}) {
            if (forward_ && (forwards_ & channel))
                forwarded.emplace_back(rank, channel); // its parent hears it, too, behind what has come
            else if (pulls_ > 0 && wish_.pulled.has(rank, channel) && !ended_here_.contains({rank, channel}))
                failed[rank] |= channel;
        }
    }
    tell_failures(failed, context_.step.nspace);
    output_.failed_here(forwarded);
}

void StepIof::take_streams(Rank rank, TaskDescriptors descriptors) {
    note_streams(rank, static_cast<std::uint8_t>((descriptors.out.rms ? wire::stdout_channel : 0) |
                                                 (descriptors.err.rms ? wire::stderr_channel : 0)));
    streams_.add(rank, std::move(descriptors));
}

void StepIof::note_unread(Rank rank, std::uint8_t channels) {
    if (!captures(context_))
        note_streams(rank, static_cast<std::uint8_t>((wire::stdout_channel | wire::stderr_channel) & ~channels));
}

bool StepIof::holds_end(TimePoint ended) {
    output_.release_held();
    if (forwards_output() && context_.now() < ended + forward_patience &&
        (output_.anything_waits() || (forward_ && !forwarded_all())))
        return true;
    if (streams_.rm_waits())
        return true; // the RM waits as well, and says when that is enough
    // An RM whose launcher is slow gives the copy slowly, too.
    if (copy_.streams().comes(context_.now()) && copy_is_wanted() && context_.now() < ended + forward_patience)
        return true;
    if (context_.now() >= ended + left_open_patience) {
        output_.leave();
        return streams_.rm_waits();
    }
    return streams_.any_open() || (copy_.any_open() && copy_is_wanted()) || output_.anything_waits() ||
           !tools_have_all();
}

// Those of other hosts may still run: what they write comes through here.
bool StepIof::forwarded_all() {
    if (forward_->waits())
        return false;
    constexpr std::uint8_t output = wire::stdout_channel | wire::stderr_channel;
    std::size_t streams = context_.step.map.rank_count() *
                          static_cast<std::size_t>(std::popcount(static_cast<std::uint8_t>(forwards_ & output)));
    bool alone = true;
    for (HostIndex host = 0; host < context_.step.map.host_count(); ++host)
        alone = alone && (host == context_.self() || context_.host_gone(host));
    return alone || forward_ended_.size() >= streams;
}

// Tools of this host have got the ends of all that they pull, or there are none.
bool StepIof::tools_have_all() {
    if (pulls_ == 0 || tools_.how_many() == 0)
        return true;
    return wish_.pulled.is_within(ended_here_, context_.step.map.rank_count()) && tools_.most_unsent() == 0;
}

static OutputSelection asked_for(const PullAsk &ask) {
    std::set<Rank> ranks;
    for (const auto &source : ask.sources) {
        if (source.rank == PMIX_RANK_WILDCARD)
            return ask.channels;
        ranks.insert(source.rank);
    }
    return {ask.channels, ranks};
}

// Who wants it sooner is not to wait for who does not.
static HeldOutput::Rule least(const HeldOutput::Rule &one, const HeldOutput::Rule &other) {
    if (one.bytes == 0 || other.bytes == 0)
        return {};
    return {std::min(one.bytes, other.bytes), std::min(one.time, other.time)};
}

// --- pulls ------------------------------------------------------------------------------------------

// Of whoever took the output over libpmix does not say whether it is the one that has gone.
void StepIof::restore() {
    if (wish_.taken_over.none())
        return;
    wish_.taken_over = {};
    want();
}

// What this host's tools want, and what is forwarded.
void StepIof::want() {
    // They can pull only what is forwarded (PullGate::channels).
    output_.pull(context_.now(), forward_ ? forwarded(forwards_, context_) : wish_);
    read_copy_if_wanted();
}

void StepIof::read_copy_if_wanted() {
    if (RmOutputCopy::offered(context_) && !captures(context_) && copy_is_wanted())
        copy_.read();
}

bool StepIof::copy_is_wanted() const {
    auto ranks = context_.ranks_here();
    return std::any_of(ranks.begin(), ranks.end(), [this](Rank rank) {
        return output_.wanted(rank, wire::stdout_channel) || output_.wanted(rank, wire::stderr_channel);
    });
}

// A tool has come or gone, or perhaps. libpmix cannot keep what one tool pulls from another that was refused the same.
void StepIof::judge() {
    const std::size_t present = tools_.how_many();
    if (present == 0)
        child_pulls_ = 0;
    bool may = tools_.all_may(policy::Action::output);
    gate_->of_children = may ? PMIX_SUCCESS : PMIX_ERR_NO_PERMISSIONS;
    if (!can_be_read(context_))
        return;
    pmix_status_t verdict = present == 0 ? PMIX_ERR_NOT_SUPPORTED : may ? PMIX_SUCCESS : PMIX_ERR_NO_PERMISSIONS;
    tools_.log_output_decisions(gate_->verdict.exchange(verdict) != verdict);
    if (pulls_ > 0 && !may)
        tell_failure(wish_.pulled);
    if (pulls_ > 0 && (!may || present == 0))
        end_pulls(may ? "no tool is here" : "a tool has come that the rules allow no output");
    else if (pulls_ > 0 && tools_.oldest() > last_to_pull_)
        end_pulls("who pulled it has gone"); // so the next one has what was written before
    else if (std::exchange(gone_, tools_.have_gone()) != tools_.have_gone())
        restore();
    look_at_tools_ =
        present == 0 ? TimePoint::max() : context_.now() + (!wish_.taken_over.none() ? taken_over_look : tools_look);
}

void StepIof::note_streams(Rank rank, std::uint8_t channels) {
    readable_.note(rank, channels);
    const std::uint8_t there = readable_.there();
    if (gate_ && gate_->there.exchange(there) != there)
        context_.log.info("what the processes here write to {} is their own: there is nothing of it for tools",
                          there == 0                      ? "standard output and error"
                          : there == wire::stdout_channel ? "standard error"
                                                          : "standard output");
}

void StepIof::pull(PullAsk ask) {
    if (ask.of_child) {
        child_pulls_ += ask.by_tool.value_or(tools_.how_many() > 0); // how those of processes end nobody tells
        return;
    }
    const OutputSelection asked = asked_for(ask);
    if (gate_->verdict != PMIX_SUCCESS) { // a tool without the right has come meanwhile
        gate_->kept_is_gone = pulls_ > 0;
        return tell_failure(asked);
    }
    wish_.pulled.add(asked);
    if (ask.take_over)
        wish_.taken_over.add(asked);
    const std::uint64_t most = context_.settings.io_cache;
    wish_.cache = std::max(wish_.cache, std::clamp(ask.cache.value_or(most), least_cache, most));
    wish_.drop_oldest = ask.drop_oldest.value_or(wish_.drop_oldest);
    auto held = HeldOutput::rule_of(ask.held, ask.held_for);
    wish_.held = pulls_ == 0 ? held : least(wish_.held, held);
    wish_.kept = pulls_++ == 0 && ask.since != std::chrono::seconds(0); // who pulls already has had it
    wish_.kept_for = ask.since ? Duration(*ask.since) : Duration::max();
    gate_->kept_is_gone = true;
    if (pulls_ == 1 && ask.since)
        tell_what_is_undated(*ask.since);
    last_to_pull_ = tools_.newest();
    context_.log.info("output of job {} is pulled{}", context_.step.job_id, ask.take_over ? ", and taken over" : "");
    if (forward_ && wish_.kept)
        give_what_was_forwarded();
    want();
    wish_.kept = false; // once is enough: others who come and go have it said again what is wanted
    judge();            // for when to look at the tools
}

// To tools that come late. What is forwarded has gone to the parent, so the flow, which is for that one, does not bring
// it again. Of other hosts' processes only the ends are known here.
void StepIof::give_what_was_forwarded() {
    auto give = [this](Rank rank, std::uint8_t channel, Bytes bytes, bool end, bool cut) {
        PmixLibrary::OutputText text{proc_of(context_.step.nspace, rank), channel, std::move(bytes), end};
        text.cut = cut;
        context_.library->deliver_output(std::move(text), [this](pmix_status_t) { queue_taken(0); });
    };
    for (auto &piece : kept_output(wish_)) {
        // The last of it may be still to come this way.
        const std::uint64_t comes = output_.undelivered(piece.rank, piece.channel);
        piece.bytes.resize(piece.bytes.size() - std::min<std::uint64_t>(piece.bytes.size(), comes));
        if (!piece.bytes.empty() || piece.cut)
            give(piece.rank, piece.channel, std::move(piece.bytes), false, piece.cut != 0);
    }
    for (auto [rank, channel] : forward_ended_) {
        if (!wish_.pulled.has(rank, channel))
            continue;
        ended_here_.emplace(rank, channel);
        give(rank, channel, {}, true, false);
    }
}

// An RM does not say when what it gives of before was written.
void StepIof::tell_what_is_undated(Duration since) {
    if (captures(context_) || !copy_.streams().may_be_older(context_.now() - since))
        return;
    const auto &ranks = wish_.pulled.whose().begin()->second;
    Rank any = ranks.empty() ? 0 : *ranks.begin();
    PmixLibrary::OutputText text{proc_of(context_.step.nspace, any), wish_.pulled.channels(), {}, false};
    text.undated = true;
    context_.library->deliver_output(std::move(text), [](pmix_status_t) {});
}

void StepIof::end_pulls(const char *why) {
    pulls_ = 0;
    gate_->kept_is_gone = false;
    wish_ = {};
    untold_.clear();
    want();
    context_.log.info("output of job {} is no longer pulled: {}", context_.step.job_id, why);
    context_.library->deliver_output({proc_of(nobody, 0), wire::stdout_channel, {}, true}, [](pmix_status_t) {});
}

void StepIof::on_time(TimePoint now) {
    if (now >= look_at_tools_)
        judge();
    if (now >= pace_.next_time())
        go_on();
    copy_.on_time(now);
    output_.on_time(now);
    if (forward_)
        forward_->on_time(now);
}

std::vector<wire::OutputPiece> StepIof::kept_output(const OutputWish &wish) {
    std::vector<wire::OutputPiece> pieces;
    auto since = wish.kept_for == Duration::max() ? TimePoint::min() : context_.now() - wish.kept_for;
    for (Rank rank : context_.ranks_here()) {
        for (std::uint8_t channel : {wire::stdout_channel, wire::stderr_channel}) {
            if (!wish.pulled.has(rank, channel))
                continue;
            auto kept = streams_.kept(rank, channel, since);
            if (auto copied = copy_.streams().kept(rank, channel, since))
                kept = {copied->bytes, copied->end, copied->cut};
            if (kept && (!kept->bytes.empty() || kept->end))
                pieces.push_back({rank, channel, kept->end, 0, Bytes(kept->bytes), 0, 0, kept->cut});
        }
    }
    for (auto [rank, channel] : copy_.streams().cut_off()) {
        if (wish.pulled.has(rank, channel))
            pieces.push_back({rank, channel, 0, 0, {}, 1});
    }
    return pieces;
}

// A tool that took the output over and has gone is noticed before more is lost.
void StepIof::deliver(std::vector<wire::OutputPiece> pieces) {
    if (!wish_.taken_over.none())
        look_at_tools_ = context_.now();
    std::map<Rank, std::uint8_t> failed;
    for (auto &piece : pieces) {
        std::uint32_t of_this = OutputQueue::cost(piece);
        bool is_forwarded = forward_ && (forwards_ & piece.channel);
        if (is_forwarded) {
            wire::OutputPiece once = piece; // a stream ends once, though more of it may come from a host in between
            if ((piece.end || piece.failed) && !forward_ended_.emplace(piece.rank, piece.channel).second)
                once.end = once.failed = 0;
            forward_->add(std::move(once), std::exchange(of_this, 0));
        }
        if (pulls_ == 0 || !wish_.pulled.has(piece.rank, piece.channel)) {
            queue_taken(of_this);
            continue;
        }
        // A tool that is slow holds up neither the one it is for nor who writes. It hears of the end all the same.
        if (is_forwarded && pace_.next_time() != TimePoint::max())
            piece.dropped += std::exchange(piece.bytes, {}).size();
        if (piece.dropped > 0) {
            missed_ += piece.dropped;
            untold_[{piece.rank, piece.channel}] += piece.dropped;
            if (auto others = missed_lines_.admit(context_.now()))
                context_.log.warning("tools here were too slow for the output of rank {}: {} bytes of job {} are "
                                     "missing so far (io.cache){}",
                                     piece.rank, missed_, context_.step.job_id, not_logged(*others));
        }
        if (piece.failed) {
            if (!ended_here_.contains({piece.rank, piece.channel}))
                failed[piece.rank] |= piece.channel;
            queue_taken(of_this);
            continue;
        }
        if (piece.bytes.empty() && !piece.end) {
            queue_taken(of_this);
            continue;
        }
        if (piece.end)
            ended_here_.emplace(piece.rank, piece.channel);
        PmixLibrary::OutputText text{proc_of(context_.step.nspace, piece.rank), piece.channel, std::move(piece.bytes),
                                     piece.end != 0};
        text.cut = piece.cut != 0;
        if (auto untold = untold_.extract({piece.rank, piece.channel}))
            text.missing = untold.mapped();
        context_.library->deliver_output(std::move(text), [this, of_this](pmix_status_t) { queue_taken(of_this); });
    }
    tell_failures(failed, context_.step.nspace);
}

// An event for those that have the same channels.
void StepIof::tell_failures(const std::map<Rank, std::uint8_t> &channels, const Bytes &nspace) {
    std::map<std::uint8_t, std::vector<Rank>> ranks;
    for (auto [rank, of_rank] : channels)
        ranks[of_rank].push_back(rank);
    for (const auto &[of_ranks, which] : ranks)
        tell_failure(which, of_ranks, nspace);
}

void StepIof::tell_failure(const OutputSelection &of) {
    std::map<std::set<Rank>, std::uint8_t> channels;
    for (const auto &[channel, ranks] : of.whose())
        channels[ranks] |= channel;
    for (const auto &[ranks, of_ranks] : channels)
        tell_failure({ranks.begin(), ranks.end()}, of_ranks, context_.step.nspace);
}

// Of whoever pulls libpmix tells nobody, so all who have asked for such events hear it.
void StepIof::tell_failure(const std::vector<Rank> &ranks, std::uint8_t channels, const Bytes &nspace) {
    auto event = output_failure_event(ranks, channels, static_cast<std::uint64_t>(std::time(nullptr)), nspace);
    auto packed = pack_infos(event.info->data(), event.info->size());
    if (!packed)
        return context_.log.warning("tools do not hear that output does not come: {}", packed.failure().text);
    wire::EventNotice notice;
    notice.status = event.code;
    notice.nspace = context_.step.server_nspace();
    notice.rank = context_.self();
    notice.origin = context_.self();
    notice.range = event.range;
    notice.info_count = static_cast<std::uint32_t>(event.info->size());
    notice.info = std::move(*packed);
    events_.deliver(notice);
}

// Not at once: the flow is in the middle of it.
void StepIof::queue_taken(std::uint32_t cost) {
    queued_ += cost;
    if (!std::exchange(goes_on_, true))
        context_.loop.post([this] {
            goes_on_ = false;
            if (pace_.next_time() == TimePoint::max())
                go_on();
        });
}

void StepIof::go_on() {
    if (pace_.go(context_.now()))
        output_.taken(std::exchange(queued_, 0));
}

// --- to the parent of a spawned job ------------------------------------------------------------------

// Before any task writes; and on all hosts, whose output waits for the demand.
void StepIof::begin_forwarding() {
    output_.expect(forwarding_host, forwarded(forwards_, context_));
    if (context_.self() != forwarding_host)
        return;
    const auto &parent = *context_.step.parent;
    forward_.emplace(parent.nspace, parent.host,
                     OutputForward::Callbacks{
                         [this](wire::ForwardedOutput message) {
                             if (!context_.send_to_session(message))
                                 context_.loop.post([this] { on_session_gone(); });
                         },
                         [this](std::uint32_t cost) { context_.loop.post([this, cost] { output_.taken(cost); }); },
                         [this](std::uint64_t lost) { context_.loop.post([this, lost] { end_forwarding(lost); }); }});
}

void StepIof::on_library() {
    if (!forward_)
        return;
    want();
    forward_->open();
}

// The RM gets what comes now.
void StepIof::end_forwarding(std::uint64_t lost) {
    context_.log.info("the output of job {} is no longer forwarded: {} has nobody who takes it; {} bytes are lost",
                      context_.step.job_id, context_.step.parent->nspace, lost);
    forward_.reset();
    if (gate_)
        gate_->comes_as_spawned = false;
    // Who writes to the processes is there no more than who reads them; it could not always say so.
    forwards_ &= wire::stdin_channel;
    if (forwards_ != 0)
        input_.push({context_.step.parent->nspace, 0}, {}, {}, true, StatusReply([](pmix_status_t) {}, PMIX_ERROR));
    want();
}

void StepIof::on_forwarded_input(wire::ForwardedInput message) {
    StatusReply reply(
        [this, id = message.id](pmix_status_t status) {
            context_.send_to_session(wire::ForwardedInputTaken{id, status});
        },
        PMIX_ERR_LOST_CONNECTION);
    bool known = std::all_of(message.ranks.begin(), message.ranks.end(),
                             [this](Rank rank) { return rank < context_.step.map.rank_count(); });
    if (!context_.step.parent || message.source != context_.step.parent->nspace ||
        (forwards_ & wire::stdin_channel) == 0)
        return reply(PMIX_ERR_NOT_SUPPORTED);
    if (!known)
        return reply(PMIX_ERR_NOT_FOUND);
    std::sort(message.ranks.begin(), message.ranks.end());
    message.ranks.erase(std::unique(message.ranks.begin(), message.ranks.end()), message.ranks.end());
    input_.push({std::move(message.source), 0}, std::move(message.ranks), std::move(message.bytes), message.end != 0,
                std::move(reply));
}

// --- pushes -----------------------------------------------------------------------------------------

void StepIof::push(PushAsk ask) {
    if (!ask.targets.empty() && children_.channels_of(ask.targets.front().nspace) != 0)
        return children_.push(std::move(ask));
    // To a spawned job nobody writes but where that was asked for, though one task may have its input open for srun's.
    if (!captures(context_) || (context_.step.parent && !(forwards_ & wire::stdin_channel)))
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
    input_.push({std::move(ask.caller.nspace), ask.caller.rank}, std::move(ranks), std::move(ask.bytes), ask.end,
                std::move(ask.reply));
}

} // namespace pmixhost
