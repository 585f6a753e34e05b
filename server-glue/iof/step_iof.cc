// See step_iof.h.
#include "server-glue/iof/step_iof.h"

#include "server-glue/events/host_events.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/pack.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <ctime>
#include <tuple>

namespace pmixhost {

namespace {

// A stream that is open when its task has ended is held by what the task has left behind.
constexpr Duration left_open_patience = std::chrono::seconds(5);
// What is forwarded has no other reader, and its own may be slow.
constexpr Duration forward_patience = OutputForward::comes_within + std::chrono::seconds(5);
// Nobody's: what is delivered for it replaces the last piece that libpmix keeps for whoever pulls next.
constexpr const char *nobody = "pmixhost.nobody";

PmixLibrary::OutputText text_of(const std::string &nspace, ToolOutput output) {
    PmixLibrary::OutputText text{proc_of(nspace, output.rank), output.channel, std::move(output.bytes), output.end};
    text.undated = output.undated;
    text.cut = output.cut;
    text.missing = output.missing;
    return text;
}

} // namespace

StepIof::StepIof(StepContext &context, StepTools &tools, StepEvents &events, ChildrenIo &children)
    : StepService(context.services), context_(context), tools_(tools), events_(events), children_(children),
      pulls_(context.log, *this), parent_(*this, context.step, context.settings.io_cache),
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
      input_(context, *this, context.step.map, context.self(), context.settings.transport_radix) {
    children_.when_output_fails(
        [this](const Bytes &nspace, const auto &channels) { pulls_.tell_failures(channels, nspace); });
    streams_.hold_input(parent_.has_input());
    if (parent_.has_output()) // before any task writes; and on all hosts, whose output waits for the demand
        output_.expect(ParentForwarding::host, parent_.wish());
}

void StepIof::take_asks(UpcallHandlers &handlers) {
    ToolPulls::Job job{context_.step.nspace, context_.step.job_id, context_.step.map.rank_count()};
    job.can_be_read = can_be_read(context_);
    job.can_be_taken_over = captures(context_);
    job.most_cache = context_.settings.io_cache;
    if (context_.step.parent)
        job.channels = parent_.channels();
    pulls_.open(handlers.shared<PullGate>(), std::move(job));
    pulls_.note_forwarded(parent_.gathers());
    tools_.when_one_comes([this] { pulls_.judge(context_.now()); });
    handlers.on_unjudged<PullAsk>([this](PullAsk ask) { pulls_.pull(context_.now(), ask); });
    handlers.on_unjudged<PullEndAsk>([this](PullEndAsk ask) { pulls_.end_pull(ask); });
    handlers.on_unjudged<KeptPullAsk>([this](KeptPullAsk) { pulls_.judge(context_.now()); });
    handlers.on<PushAsk>(policy::Action::input, [this](PushAsk ask) { push(std::move(ask)); });
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
                                                parent_.on_reply(context_.now(), message);
                                            });
    messages.on<wire::ForwardedInput>(Peer::session, [this](HostIndex, wire::ForwardedInput message, SharedBytes) {
        parent_.on_input(std::move(message));
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
            if (parent_.gathers(channel))
                forwarded.emplace_back(rank, channel); // its parent hears it, too, behind what has come
            else if (pulls_.waits_for(rank, channel))
                failed[rank] |= channel;
        }
    }
    pulls_.tell_failures(failed, context_.step.nspace);
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
    if (parent_.has_output() && context_.now() < ended + forward_patience &&
        (output_.anything_waits() || !parent_has_all()))
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

bool StepIof::parent_has_all() {
    bool alone = true;
    for (HostIndex host = 0; host < context_.step.map.host_count(); ++host)
        alone = alone && (host == context_.self() || context_.host_gone(host));
    return !parent_.gathers() || parent_.has_gone(alone);
}

// Tools of this host have got the ends of all that they pull, or there are none.
bool StepIof::tools_have_all() {
    if (!pulls_.any() || tools_.how_many() == 0)
        return true;
    pulls_.most_unsent(context_.now()); // one that takes something again is told what it has missed
    return pulls_.has_all_ends() && !pulls_.owes_words() && tools_.most_unsent() == 0;
}

void StepIof::note_streams(Rank rank, std::uint8_t channels) {
    readable_.note(rank, channels);
    pulls_.note_there(readable_.there());
}

// --- what is wanted ---------------------------------------------------------------------------------

StepIof::Tools StepIof::tools() {
    const std::size_t here = tools_.how_many(); // the others follow from this look
    Tools tools{here, tools_.have_gone(), tools_.oldest(), tools_.newest(),
                tools_.first_without(policy::Action::output)};
    if (!tools.may())
        std::tie(tools.allowed, tools.barred) = tools_.connections_with(policy::Action::output);
    return tools;
}

// What is forwarded comes in any case, and tools can pull nothing else (PullGate::channels).
void StepIof::want(const OutputWish &wish) {
    output_.pull(context_.now(), parent_.gathers() ? parent_.wish() : wish);
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

void StepIof::on_time(TimePoint now) {
    pulls_.on_time(now);
    if (now >= pace_.next_time())
        go_on();
    copy_.on_time(now);
    output_.on_time(now);
    parent_.on_time(now);
}

// --- what is given ----------------------------------------------------------------------------------

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
            if (kept && wish.kept_but.has(rank, channel)) // it may have ended while nobody pulled it
                kept = {{}, kept->end, false};
            if (kept && (!kept->bytes.empty() || kept->end))
                pieces.push_back({rank, channel, kept->end, 0, Bytes(kept->bytes), 0, 0, kept->cut});
        }
    }
    for (auto [rank, channel] : copy_.streams().cut_off()) {
        if (wish.pulled.has(rank, channel) && !wish.kept_but.has(rank, channel))
            pieces.push_back({rank, channel, 0, 0, {}, 1});
    }
    return pieces;
}

// The flow is for the parent, and does not bring it again. Of other hosts' processes only the ends are known here.
std::vector<wire::OutputPiece> StepIof::forwarded_before(const OutputWish &wish) {
    if (!parent_.gathers())
        return {};
    auto pieces = kept_output(wish);
    for (auto &piece : pieces) {
        // The last of it may be still to come this way.
        const std::uint64_t comes = output_.undelivered(piece.rank, piece.channel);
        piece.bytes.resize(piece.bytes.size() - std::min<std::uint64_t>(piece.bytes.size(), comes));
        piece.end = 0;
    }
    for (auto [rank, channel] : parent_.ended()) {
        if (wish.pulled.has(rank, channel))
            pieces.push_back({rank, channel, 1, 0, {}});
    }
    return pieces;
}

void StepIof::deliver(std::vector<wire::OutputPiece> pieces) {
    std::vector<ToolPulls::Delivery> for_tools;
    for (auto &piece : pieces) {
        ToolPulls::Delivery for_tool;
        for_tool.cost = OutputQueue::cost(piece);
        if (parent_.gathers(piece.channel)) {
            parent_.add(piece, std::exchange(for_tool.cost, 0));
            // A tool that is slow holds up neither the one it is for nor who writes. It hears of the end all the same.
            for_tool.is_too_much = pace_.next_time() != TimePoint::max();
        }
        for_tool.piece = std::move(piece);
        for_tools.push_back(std::move(for_tool));
    }
    pulls_.deliver(context_.now(), std::move(for_tools));
}

void StepIof::give_tools(ToolOutput output, std::uint32_t cost) {
    context_.library->deliver_output(text_of(context_.step.nspace, std::move(output)),
                                     [this, cost](pmix_status_t) { queue_taken(cost); });
}

bool StepIof::can_pass_over() const {
    return PmixLibrary::can_pass_over();
}

void StepIof::pass_over(const LibraryConnection &connection) {
    context_.library->pass_over(connection, context_.step.nspace);
}

void StepIof::take_up(const LibraryConnection &connection) {
    context_.library->take_up(connection, context_.step.nspace);
}

void StepIof::give_one(const LibraryConnection &connection, std::optional<int> pull, std::vector<ToolOutput> words) {
    std::vector<PmixLibrary::OutputText> texts;
    for (auto &word : words)
        texts.push_back(text_of(context_.step.nspace, std::move(word)));
    context_.library->deliver_to(connection, pull, std::move(texts), [this] { pulls_.words_given(); });
}

void StepIof::give_nobody() {
    context_.library->deliver_output({proc_of(nobody, 0), wire::stdout_channel, {}, true}, [](pmix_status_t) {});
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
    if (!pace_.go(context_.now(), pulls_.most_unsent(context_.now())))
        return;
    output_.taken(std::exchange(queued_, 0));
    pulls_.tell_missing();
}

// --- to the parent of a spawned job ------------------------------------------------------------------

void StepIof::on_library() {
    if (!parent_.gathers())
        return;
    want(pulls_.wish());
    parent_.open();
}

void StepIof::forward(wire::ForwardedOutput message) {
    if (!context_.send_to_session(message))
        context_.loop.post([this] { on_session_gone(); });
}

// The RM gets what comes now.
void StepIof::parent_takes_no_more(std::uint64_t lost) {
    context_.log.info("the output of job {} is no longer forwarded: {} has nobody who takes it; {} bytes are lost",
                      context_.step.job_id, context_.step.parent->nspace, lost);
    pulls_.note_forwarded(false);
    want(pulls_.wish());
}

void StepIof::push_from_parent(std::vector<Rank> ranks, Bytes bytes, bool end, StatusReply reply) {
    input_.push({context_.step.parent->nspace, 0}, std::move(ranks), std::move(bytes), end, std::move(reply));
}

// --- pushes -----------------------------------------------------------------------------------------

void StepIof::push(PushAsk ask) {
    if (!ask.targets.empty() && children_.channels_of(ask.targets.front().nspace) != 0)
        return children_.push(std::move(ask));
    // To a spawned job nobody writes but where that was asked for, though one task may have its input open for srun's.
    if (!captures(context_) || (context_.step.parent && !parent_.has_input()))
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
