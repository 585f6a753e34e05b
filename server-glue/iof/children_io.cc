// See children_io.h.
#include "server-glue/iof/children_io.h"

#include "server-glue/iof/input_flow.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

ChildrenIo::ChildrenIo(StepContext &context, StepTools &tools, SessionLink &session)
    : StepService(context.services), context_(context), tools_(tools), session_(session) {}

void ChildrenIo::take_asks(UpcallHandlers &handlers) {
    gate_ = handlers.shared<PullGate>();
}

void ChildrenIo::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::ForwardedOutput>(Peer::session, [this](HostIndex, wire::ForwardedOutput message, SharedBytes) {
        on_output(std::move(message));
    });
    messages.on<wire::ForwardedInputTaken>(
        Peer::session, [this](HostIndex, wire::ForwardedInputTaken message, SharedBytes) { on_pushed(message); });
}

// This host must be in the session by the time that the job writes.
void ChildrenIo::begins() {
    ++beginning_;
    session_.come();
}

void ChildrenIo::runs(const Bytes &nspace, const Process &spawner, std::uint8_t channels) {
    Child &child = children_[nspace];
    child.spawner = spawner;
    if (spawner.nspace != context_.step.nspace)
        child.spawner_is_here = tools_.connection_of(spawner);
    child.channels = channels;
    if (auto size = sizes_.extract(nspace)) {
        std::uint64_t streams = (channels & wire::stdout_channel ? 1 : 0) + (channels & wire::stderr_channel ? 1 : 0);
        child.open = size.mapped() * streams;
    }
    child.spawner_gone = spawner.nspace == context_.step.nspace && ended_.contains(spawner.rank);
    if (child.spawner_gone)
        end_input(nspace, child);
    if (may_be_written_to_by_tool(child))
        look_at_spawners_ = std::min(look_at_spawners_, context_.now() + spawners_look);
    gate_->note_child(nspace, channels);
}

// What came before the answer is delivered behind it. Of a job that never was nothing comes.
void ChildrenIo::answered() {
    if (--beginning_ == 0)
        ended_.clear();
    for (auto &message : std::exchange(early_, {}))
        on_output(std::move(message));
}

void ChildrenIo::ended(const Bytes &nspace) {
    sizes_.erase(nspace);
    auto child = children_.find(nspace);
    if (child == children_.end())
        return gate_->forget_child(nspace);
    child->second.until = context_.now() + output_patience;
}

void ChildrenIo::forget(Children::iterator child) {
    gate_->forget_child(child->first);
    auto pushes = std::move(child->second.pushes);
    children_.erase(child);
    for (auto &ask : pushes)
        ask.reply(PMIX_ERR_IOF_COMPLETE);
}

TimePoint ChildrenIo::next_time() const {
    TimePoint next = std::min(pace_.next_time(), look_at_spawners_);
    for (const auto &[nspace, child] : children_) {
        next = std::min(next, child.until);
        if (child.input_ends && child.pushes.empty())
            next = std::min(next, child.tell_end);
    }
    return next;
}

bool ChildrenIo::is_drained(const Bytes &nspace) const {
    auto child = children_.find(nspace);
    return child == children_.end() || child->second.open == 0;
}

std::uint8_t ChildrenIo::channels_of(const Bytes &nspace) const {
    auto child = children_.find(nspace);
    return child == children_.end() ? 0 : child->second.channels;
}

// --- output -----------------------------------------------------------------------------------------

void ChildrenIo::answer(std::uint64_t id, pmix_status_t status) {
    context_.send_to_session(wire::ForwardedOutputTaken{id, status});
}

// A job sends one message at a time; who is refused so asks again.
void ChildrenIo::on_output(wire::ForwardedOutput message) {
    auto child = children_.find(message.source);
    if (child != children_.end())
        return deliver(child, std::move(message));
    if (beginning_ == 0 || !context_.library)
        return answer(message.id, PMIX_ERR_LOST_CONNECTION);
    bool again =
        std::any_of(early_.begin(), early_.end(), [&](const auto &early) { return early.source == message.source; });
    if (again || early_.size() >= most_early)
        return answer(message.id, PMIX_ERR_NOT_FOUND);
    early_.push_back(std::move(message));
}

bool ChildrenIo::spawner_is_gone(const Child &child) const {
    if (child.spawner.nspace == context_.step.nspace)
        return child.spawner_gone;
    return child.spawner_is_here ? !child.spawner_is_here() : tools_.how_many() == 0;
}

// What comes for a tool that has gone has nobody, and nothing more will: the job hears so.
void ChildrenIo::deliver(Children::iterator entry, wire::ForwardedOutput message) {
    Child &child = entry->second;
    constexpr std::uint8_t output = wire::stdout_channel | wire::stderr_channel;
    bool is_tool = child.spawner.nspace != context_.step.nspace;
    if (spawner_is_gone(child)) {
        if (is_tool)
            forget(entry);
        return answer(message.id, PMIX_ERR_LOST_CONNECTION);
    }
    for (const auto &piece : message.pieces) {
        bool known = piece.channel == wire::stdout_channel || piece.channel == wire::stderr_channel;
        if (!known || (child.channels & output & piece.channel) == 0 || piece.rank > PMIX_RANK_VALID)
            return answer(message.id, PMIX_ERR_BAD_PARAM);
    }
    // It was given, and the session went before the answer had come there.
    if (child.given > message.before)
        message.pieces.erase(message.pieces.begin(),
                             message.pieces.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(
                                                          child.given - message.before, message.pieces.size())));
    child.given = std::max(child.given, message.before) + message.pieces.size();
    auto rest = std::make_shared<std::size_t>(message.pieces.size() + 1);
    auto reader = is_tool ? std::nullopt : std::optional(child.spawner.rank);
    auto done = [this, rest, reader, id = message.id, session = sessions_](pmix_status_t) {
        if (--*rest > 0 || session != sessions_)
            return;
        queued_.push_back({id, reader});
        bool paused = pace_.next_time() != TimePoint::max();
        if (!paused || (reader && unsent_to(reader) <= ToolPace::much_unsent))
            go_on();
    };
    std::map<Rank, std::uint8_t> failed;
    for (auto &piece : message.pieces) {
        child.open -= (piece.end != 0 || piece.failed != 0) && child.open > 0 ? 1 : 0;
        if (piece.failed != 0) {
            failed[piece.rank] |= piece.channel;
            done(PMIX_SUCCESS);
            continue;
        }
        context_.library->deliver_output(
            {proc_of(message.source, piece.rank), piece.channel, std::move(piece.bytes), piece.end != 0}, done);
    }
    if (!failed.empty() && tell_failure_)
        tell_failure_(message.source, failed);
    done(PMIX_SUCCESS);
}

// A process that does not read, such as one that is stopped, holds up its own children; a tool those of all tools, for
// it may have pulled what is for another.
std::size_t ChildrenIo::unsent_to(const std::optional<Rank> &reader) const {
    return reader && context_.library ? context_.library->unsent_to(context_.step.nspace, *reader)
                                      : tools_.most_unsent();
}

void ChildrenIo::go_on() {
    std::size_t most = 0;
    for (const auto &each : std::exchange(queued_, {})) {
        std::size_t unsent = unsent_to(each.reader);
        if (unsent <= ToolPace::much_unsent) {
            answer(each.id, PMIX_SUCCESS);
        } else {
            queued_.push_back(each);
            most = std::max(most, unsent);
        }
    }
    pace_.go(context_.now(), most);
}

void ChildrenIo::on_time(TimePoint now) {
    if (now >= pace_.next_time())
        go_on();
    if (now >= look_at_spawners_)
        look_at_spawners(now);
    for (auto next = children_.begin(); next != children_.end();) {
        auto child = next++;
        tell_end_of_input(child->first, child->second);
        if (now >= child->second.until)
            forget(child);
    }
}

void ChildrenIo::on_process_gone(Rank rank, std::optional<int>) {
    if (beginning_ > 0)
        ended_.insert(rank);
    for (auto &[nspace, child] : children_) {
        if (child.spawner.nspace != context_.step.nspace || child.spawner.rank != rank || child.spawner_gone)
            continue;
        child.spawner_gone = true;
        end_input(nspace, child);
    }
}

// Tools, of which nobody says that they go.
void ChildrenIo::look_at_spawners(TimePoint now) {
    look_at_spawners_ = TimePoint::max();
    for (auto &[nspace, child] : children_) {
        if (!may_be_written_to_by_tool(child))
            continue;
        child.spawner_gone = spawner_is_gone(child);
        if (child.spawner_gone)
            end_input(nspace, child);
        else
            look_at_spawners_ = now + spawners_look;
    }
}

bool ChildrenIo::may_be_written_to_by_tool(const Child &child) const {
    return child.spawner.nspace != context_.step.nspace && !child.spawner_gone && child.until == TimePoint::max() &&
           (child.channels & wire::stdin_channel) != 0;
}

// Nobody writes to them any more: that is told behind what has been pushed, however much it is.
void ChildrenIo::end_input(const Bytes &nspace, Child &child) {
    child.input_ends = (child.channels & wire::stdin_channel) != 0;
    tell_end_of_input(nspace, child);
}

// A session that goes before it is taken may have told nobody, and the job may come to the next one later than we do:
// as long as nobody has taken it, it is told again.
void ChildrenIo::tell_end_of_input(const Bytes &nspace, Child &child) {
    if (!child.input_ends || context_.now() < child.tell_end || !child.pushes.empty())
        return;
    child.tell_end = TimePoint::max();
    PushAsk end;
    end.targets.push_back({nspace, PMIX_RANK_WILDCARD, true});
    end.end = true;
    end.reply = StatusReply(
        [this, nspace, alive = std::weak_ptr(alive_)](pmix_status_t status) {
            if (alive.expired())
                return;
            auto told = children_.find(nspace);
            if (told == children_.end())
                return;
            // The last of them: too much is under way to others, at the session or where the processes are.
            bool nobody = status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH ||
                          status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_OUT_OF_RESOURCE;
            told->second.input_ends = nobody && told->second.until == TimePoint::max(); // else it has ended
            told->second.tell_end = context_.now() + told_again_in;
        },
        PMIX_ERR_LOST_CONNECTION);
    child.pushes.push_back(std::move(end));
    push_next(nspace, child);
}

void ChildrenIo::on_session_here() {
    for (auto &[nspace, child] : children_) {
        child.tell_end = {};
        tell_end_of_input(nspace, child);
    }
}

// Of a job that has not ended.
bool ChildrenIo::has_unsent() {
    return std::any_of(children_.begin(), children_.end(), [](const auto &entry) {
        return entry.second.input_ends && entry.second.until == TimePoint::max();
    });
}

// --- input ------------------------------------------------------------------------------------------

void ChildrenIo::push(PushAsk ask) {
    const Bytes nspace = ask.targets.front().nspace;
    auto child = children_.find(nspace);
    bool one_job = std::all_of(ask.targets.begin(), ask.targets.end(),
                               [&](const Process &target) { return target.nspace == nspace; });
    if (child == children_.end() || !one_job)
        return ask.reply(PMIX_ERR_NOT_FOUND);
    if ((child->second.channels & wire::stdin_channel) == 0)
        return ask.reply(PMIX_ERR_NOT_SUPPORTED);
    if (child->second.input_ends)
        return ask.reply(PMIX_ERR_IOF_COMPLETE);
    std::size_t waits = 0;
    for (const auto &other : child->second.pushes)
        waits += other.bytes.size();
    if (child->second.pushes.size() >= InputFlow::max_pending || waits + ask.bytes.size() > InputFlow::max_bytes)
        return ask.reply(PMIX_ERR_OUT_OF_RESOURCE);
    child->second.pushes.push_back(std::move(ask));
    if (child->second.pushes.size() == 1)
        push_next(nspace, child->second);
}

void ChildrenIo::push_next(const Bytes &nspace, Child &child) {
    while (!child.pushes.empty()) {
        PushAsk &ask = child.pushes.front();
        wire::ForwardedInput message{next_push_++, nspace, {}, static_cast<std::uint8_t>(ask.end), {}, ask.bytes};
        bool everyone = false;
        for (const auto &target : ask.targets) {
            everyone = everyone || target.wildcard || target.rank == PMIX_RANK_WILDCARD;
            message.ranks.push_back(target.rank);
        }
        if (everyone)
            message.ranks.clear();
        child.push_id = message.id;
        if (context_.send_to_session(message))
            return;
        PushAsk unsent = std::move(ask);
        child.pushes.pop_front();
        unsent.reply(PMIX_ERR_UNREACH);
    }
}

void ChildrenIo::on_pushed(const wire::ForwardedInputTaken &reply) {
    auto child = std::find_if(children_.begin(), children_.end(), [&](const auto &entry) {
        return !entry.second.pushes.empty() && entry.second.push_id == reply.id;
    });
    if (child == children_.end())
        return;
    PushAsk done = std::move(child->second.pushes.front());
    child->second.pushes.pop_front();
    push_next(child->first, child->second);
    tell_end_of_input(child->first, child->second);
    done.reply(reply.status);
}

void ChildrenIo::on_session_gone() {
    ++sessions_; // a new one knows nothing of what the other has asked
    early_.clear();
    queued_.clear();
    if (beginning_ > 0 || !children_.empty())
        context_.loop.post([this] { session_.come(); });
    for (auto &[nspace, child] : children_) {
        for (auto &ask : std::exchange(child.pushes, {}))
            ask.reply(PMIX_ERR_LOST_CONNECTION);
    }
}

} // namespace pmixhost
