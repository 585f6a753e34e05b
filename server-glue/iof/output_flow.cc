// See output_flow.h.
#include "server-glue/iof/output_flow.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

static constexpr std::uint32_t batch = 64u << 10; // in cost, for one message
static constexpr std::uint64_t most_cached = 1u << 30;

// In milliseconds.
static std::uint64_t on_wire(Duration time) {
    using std::chrono::milliseconds;
    return time == Duration::max() ? UINT64_MAX
                                   : static_cast<std::uint64_t>(std::chrono::ceil<milliseconds>(time).count());
}
static Duration from_wire(std::uint64_t time) {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365 * 10);
    return time > static_cast<std::uint64_t>(longest.count()) ? Duration::max() : std::chrono::milliseconds(time);
}

bool OutputFlow::neighbours(HostIndex a, HostIndex b) const {
    return a < map_.host_count() && b < map_.host_count() && (tree_.parent(a) == b || tree_.parent(b) == a);
}

static wire::OutputDemand demand_of(HostIndex root, std::uint64_t serial, const OutputWish &wish) {
    const auto &[pulled, taken_over, cache, drop_oldest, kept, kept_but, kept_for, held, whole] = wish;
    return {root,
            serial,
            no_host,
            pulled.on_wire(),
            taken_over.on_wire(),
            cache,
            drop_oldest,
            kept,
            kept_but.on_wire(),
            on_wire(kept_for),
            whole,
            held.bytes,
            on_wire(held.time)};
}

static wire::OutputDemand end_of_wish(HostIndex root, std::uint64_t serial) {
    wire::OutputDemand over;
    over.root = root;
    over.serial = serial;
    return over;
}

// Tells that neighbour of `at`, or those behind it if it has gone.
void OutputFlow::tell(wire::OutputDemand &demand, Asked &asked, HostIndex neighbour, HostIndex at) {
    demand.behind = at;
    if (!hosts_.host_gone(neighbour) && hosts_.send(neighbour, wire::OutputDemand::type, share(wire::encode(demand))))
        asked[neighbour] = at;
    else
        spread(demand, asked, neighbour, at);
}

// Tells those behind `at`, where they can be reached; around those that have gone.
void OutputFlow::spread(wire::OutputDemand &demand, Asked &asked, HostIndex at, HostIndex coming_from) {
    if (HostIndex parent = tree_.parent(at); parent != no_host && parent != coming_from)
        tell(demand, asked, parent, at);
    HostIndex first = tree_.first_child(at);
    for (HostIndex child = first; child < first + tree_.child_count(at); ++child) {
        if (child != coming_from)
            tell(demand, asked, child, at);
    }
}

void OutputFlow::set(TimePoint now, HostIndex root, std::uint64_t serial, HostIndex upstream, HostIndex behind,
                     OutputWish wish) {
    // By another way a wish may come behind its own end, or that behind the next wish.
    auto found = flows_.find(root);
    auto over = over_.find(root);
    if ((over != over_.end() && serial <= over->second.serial) ||
        (found != flows_.end() && serial < found->second.serial))
        return;
    if (wish.pulled.none() && found == flows_.end()) {
        if (root != self_)
            over_[root] = {serial, {}, now};
        return;
    }
    if (found != flows_.end() && found->second.serial != serial && !wish.pulled.none())
        end(now, std::exchange(found, flows_.end()));
    over_.erase(root);
    if (found == flows_.end())
        found = flows_.try_emplace(root).first;
    Flow &flow = found->second;
    flow.serial = serial;
    if (upstream != flow.upstream) {
        take_back(flow);
        flow.under_way = 0;
        flow.upstream = upstream;
    }
    if (wish.pulled.none()) { // what is over was
        wish.whole = flow.wish.whole;
        wish.taken_over = flow.wish.taken_over;
        wish.held = flow.wish.held;
    }
    // What is held has gone to the RM, or has not, by the wish that was.
    if (wish.held != flow.wish.held || wish.taken_over != flow.wish.taken_over) {
        for (auto &piece : flow.held.release())
            enqueue(flow, std::move(piece));
    }
    // What was for its tools alone is the RM's again, too: who had taken it over may have gone without it.
    std::vector<wire::OutputPiece> shared;
    auto is_shared_now = [&](const OutputQueue::Stream &stream) {
        return !wish.takes_alone(stream.first, stream.second);
    };
    OutputQueue::share(flow.not_sure, is_shared_now, shared);
    flow.queue.share(is_shared_now, shared);
    flow.held.set(wish.held, wish.cache / 2);
    flow.wish = std::move(wish);
    if (!shared.empty())
        port_.give_back(std::move(shared));
    flow.asked.clear();
    auto demand = demand_of(root, serial, flow.wish);
    spread(demand, flow.asked, self_, behind);
    if (flow.wish.pulled.none())
        return end(now, found);
    flow.queue.set_limit(flow.wish.whole ? UINT64_MAX : flow.wish.cache, flow.wish.drop_oldest);
    // Once: who is told again, because a host between has gone, has had it.
    if (std::exchange(flow.wish.kept, false)) {
        for (auto &piece : port_.kept_output(flow.wish))
            flow.queue.add_kept(std::move(piece));
    }
    pump(root, flow);
    port_.on_room();
}

void OutputFlow::end(TimePoint now, Flows::iterator flow) {
    take_back(flow->second);
    dropped_ += flow->second.queue.dropped();
    const OutputWish &wish = flow->second.wish;
    auto unsent = flow->second.queue.take_own();
    for (auto &piece : flow->second.held.release()) {
        if (wish.takes_alone(piece.rank, piece.channel))
            unsent.push_back(std::move(piece));
    }
    over_[flow->first] = {flow->second.serial, std::move(flow->second.asked), now};
    flows_.erase(flow);
    if (!unsent.empty())
        port_.give_back(std::move(unsent));
    port_.on_room();
}

void OutputFlow::expect(HostIndex root, OutputWish wish) {
    Flow &flow = flows_[root];
    flow.serial = first_serial;
    flow.queue.set_limit(wish.whole ? UINT64_MAX : wish.cache, wish.drop_oldest);
    flow.wish = std::move(wish);
}

bool OutputFlow::room(Rank rank, std::uint8_t channel) const {
    return std::none_of(flows_.begin(), flows_.end(), [&](const auto &entry) {
        const Flow &flow = entry.second;
        return flow.wish.whole && flow.wish.pulled.has(rank, channel) && flow.queue.own() > flow.wish.cache;
    });
}

void OutputFlow::pull(TimePoint now, OutputWish wish) {
    auto own = flows_.find(self_);
    std::uint64_t serial = own == flows_.end() ? next_serial_ : own->second.serial;
    next_serial_ = std::max(next_serial_, serial + 1);
    set(now, self_, serial, no_host, no_host, std::move(wish));
}

void OutputFlow::on_demand(TimePoint now, HostIndex from, const wire::OutputDemand &message) {
    if (message.root == self_ || message.root >= map_.host_count() ||
        (message.pulled.channels != 0 && hosts_.host_gone(message.root)) || !neighbours(self_, message.behind) ||
        from >= map_.host_count())
        return;
    OutputWish wish;
    wish.pulled = OutputSelection::from_wire(message.pulled);
    wish.taken_over = OutputSelection::from_wire(message.taken_over);
    wish.cache = std::min(message.cache, most_cached);
    wish.drop_oldest = message.drop_oldest != 0;
    wish.kept = message.kept != 0;
    wish.kept_but = OutputSelection::from_wire(message.kept_but);
    wish.kept_for = from_wire(message.kept_for);
    wish.whole = message.whole != 0;
    wish.held = {std::min(message.held, HeldOutput::most_bytes), from_wire(message.held_for)};
    set(now, message.root, message.serial, from, message.behind, std::move(wish));
}

bool OutputFlow::wanted(Rank rank, std::uint8_t channel) const {
    return std::any_of(flows_.begin(), flows_.end(),
                       [&](const auto &flow) { return flow.second.wish.pulled.has(rank, channel); });
}

bool OutputFlow::taken_over(Rank rank, std::uint8_t channel) const {
    return std::any_of(flows_.begin(), flows_.end(), [&](const auto &flow) {
        return flow.second.wish.pulled.has(rank, channel) && flow.second.wish.taken_over.has(rank, channel);
    });
}

bool OutputFlow::may_come_back(Rank rank, std::uint8_t channel) const {
    OutputQueue::Stream stream{rank, channel};
    return std::any_of(flows_.begin(), flows_.end(), [stream](const auto &entry) {
        const Flow &flow = entry.second;
        return flow.queue.any_alone(stream) || OutputQueue::any_alone(flow.not_sure, stream);
    });
}

std::uint64_t OutputFlow::undelivered(Rank rank, std::uint8_t channel) const {
    auto own = flows_.find(self_);
    return own == flows_.end() ? 0
                               : own->second.queue.bytes_of({rank, channel}) + own->second.held.bytes_of(rank, channel);
}

void OutputFlow::leave() {
    std::vector<wire::OutputPiece> unsent;
    for (auto &[root, flow] : flows_) {
        for (auto &piece : flow.queue.take_own())
            unsent.push_back(std::move(piece));
        for (auto &piece : flow.held.release()) {
            if (flow.wish.takes_alone(piece.rank, piece.channel))
                unsent.push_back(std::move(piece));
        }
        for (auto &entry : flow.not_sure)
            entry.nowhere_else = false; // nobody waits for the word that it was taken
    }
    if (!unsent.empty())
        port_.give_back(std::move(unsent));
    port_.on_room();
}

void OutputFlow::output(TimePoint now, Rank rank, std::uint8_t channel, std::string_view bytes, bool end) {
    const auto alone = std::count_if(flows_.begin(), flows_.end(), [&](const auto &entry) {
        const OutputWish &wish = entry.second.wish;
        return wish.pulled.has(rank, channel) && wish.takes_alone(rank, channel);
    });
    auto had = alone > 1 ? std::make_shared<bool>(false) : nullptr;
    for (auto &[root, flow] : flows_) {
        if (!flow.wish.pulled.has(rank, channel))
            continue;
        wire::OutputPiece piece{rank, channel, end, 0, Bytes(bytes)};
        if (!had || !flow.wish.takes_alone(rank, channel)) {
            pass_on(root, flow, flow.held.add(now, std::move(piece)));
        } else { // put together with others it would no longer be what the other hosts have
            pass_on(root, flow, flow.held.release());
            pass_on(root, flow, {std::move(piece)}, had);
        }
    }
    if (had && !*had && had.use_count() == 1 && !bytes.empty()) // none of the queues has room for it
        port_.give_back({{rank, channel, 0, 0, Bytes(bytes)}});
}

void OutputFlow::pass_on(HostIndex root, Flow &flow, std::vector<wire::OutputPiece> pieces,
                         const std::shared_ptr<bool> &had) {
    if (pieces.empty())
        return;
    for (auto &piece : pieces) {
        if (flow.queue.own() + OutputQueue::cost(piece) > flow.wish.cache)
            pump(root, flow); // it may make room
        enqueue(flow, std::move(piece), had);
    }
    pump(root, flow);
}

void OutputFlow::enqueue(Flow &flow, wire::OutputPiece piece, std::shared_ptr<bool> had) {
    bool is_here_alone = flow.wish.takes_alone(piece.rank, piece.channel);
    auto given_up = flow.queue.add_own(std::move(piece), is_here_alone, std::move(had));
    if (!given_up.empty())
        port_.give_back(std::move(given_up));
}

void OutputFlow::take_back(Flow &flow) {
    flow.queue.put_back(std::exchange(flow.not_sure, {}));
    flow.credited = 0;
}

void OutputFlow::release_held() {
    for (auto &[root, flow] : flows_)
        pass_on(root, flow, flow.held.release());
}

TimePoint OutputFlow::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[root, flow] : flows_)
        next = std::min(next, flow.held.next_time());
    return next;
}

void OutputFlow::on_time(TimePoint now) {
    for (auto &[root, flow] : flows_)
        pass_on(root, flow, flow.held.due(now));
}

void OutputFlow::failed(const std::vector<std::pair<Rank, std::uint8_t>> &streams) {
    for (auto &[root, flow] : flows_) {
        auto pieces = flow.held.release();
        for (auto [rank, channel] : streams) {
            if (flow.wish.pulled.has(rank, channel))
                pieces.push_back({rank, channel, 0, 0, {}, 1});
        }
        pass_on(root, flow, std::move(pieces));
    }
}

void OutputFlow::failed_here(const std::vector<std::pair<Rank, std::uint8_t>> &streams) {
    auto flow = flows_.find(self_);
    if (flow == flows_.end())
        return;
    for (auto [rank, channel] : streams) {
        if (flow->second.wish.pulled.has(rank, channel))
            enqueue(flow->second, {rank, channel, 0, 0, {}, 1});
    }
    pump(self_, flow->second);
}

void OutputFlow::give_credit(HostIndex root, const Flow &flow, const Credits &credits) {
    for (auto [to, cost] : credits)
        hosts_.send(to, wire::OutputTaken::type, share(wire::encode(wire::OutputTaken{root, flow.serial, cost})));
}

void OutputFlow::pump(HostIndex root, Flow &flow) {
    if (root != self_ && flow.upstream == no_host)
        return;
    while (!flow.queue.empty() && flow.under_way < wire::output_window) {
        auto taken = flow.queue.take(std::min(batch, wire::output_window - flow.under_way));
        flow.under_way += taken.cost;
        if (root == self_)
            deliver(flow, std::move(taken.entries));
        else
            send_upstream(root, flow, std::move(taken.entries));
    }
    if (flow.wish.whole)
        port_.on_room();
}

void OutputFlow::deliver(Flow &flow, std::vector<OutputQueue::Entry> entries) {
    Credits credits;
    std::vector<wire::OutputPiece> pieces;
    bool any_end = false;
    for (auto &entry : entries) {
        if (entry.from != no_host)
            credits[entry.from] += OutputQueue::cost(entry.piece);
        any_end = any_end || (entry.from == no_host && entry.piece.end);
        if (entry.had)
            *entry.had = true;
        pieces.push_back(std::move(entry.piece));
    }
    give_credit(self_, flow, credits);
    port_.deliver(std::move(pieces));
    if (any_end)
        port_.on_room(); // for may_come_back()
}

void OutputFlow::send_upstream(HostIndex root, Flow &flow, std::vector<OutputQueue::Entry> entries) {
    wire::OutputPieces message{root, flow.serial, {}};
    for (auto &entry : entries) {
        if (entry.from == no_host && entry.piece.number == 0)
            entry.piece.number = ++flow.numbers[OutputQueue::stream_of(entry.piece)];
        message.pieces.push_back(std::move(entry.piece));
    }
    hosts_.send(flow.upstream, wire::OutputPieces::type, share(wire::encode(message)));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        entries[i].piece = std::move(message.pieces[i]);
        flow.not_sure.push_back(std::move(entries[i]));
    }
}

// One that comes again had come by a host that has gone. Who sends it now hears of it when it is taken.
bool OutputFlow::receive(Flow &flow, HostIndex from, wire::OutputPiece piece) {
    auto &last = flow.numbers[OutputQueue::stream_of(piece)];
    if (piece.number > last) {
        last = piece.number;
        flow.queue.add(from, std::move(piece));
        return true;
    }
    OutputQueue::Entry *here = flow.queue.find(piece);
    if (!here)
        here = OutputQueue::find(flow.not_sure, piece);
    if (here && here->from != no_host)
        here->from = from;
    return here != nullptr;
}

// Pieces of a flow that is over, or of who has not been asked, are not wanted.
void OutputFlow::on_pieces(HostIndex from, wire::OutputPieces message) {
    auto found = flows_.find(message.root);
    if (found == flows_.end() || found->second.serial != message.serial || !found->second.asked.contains(from))
        return;
    Flow &flow = found->second;
    std::uint32_t needless = 0;
    for (auto &piece : message.pieces) {
        const std::uint32_t of_this = OutputQueue::cost(piece);
        if (piece.rank >= map_.rank_count() || !receive(flow, from, std::move(piece)))
            needless += of_this;
    }
    if (needless > 0)
        give_credit(message.root, flow, {{from, needless}});
    pump(message.root, flow);
}

void OutputFlow::note_taken(HostIndex root, Flow &flow, std::uint32_t cost) {
    flow.under_way -= std::min(flow.under_way, cost);
    flow.credited += cost;
    Credits credits;
    bool any_end = false;
    while (!flow.not_sure.empty() && OutputQueue::cost(flow.not_sure.front().piece) <= flow.credited) {
        const std::uint32_t of_this = OutputQueue::cost(flow.not_sure.front().piece);
        flow.credited -= of_this;
        if (HostIndex from = flow.not_sure.front().from; from != no_host)
            credits[from] += of_this;
        else
            any_end = any_end || flow.not_sure.front().piece.end;
        if (flow.not_sure.front().had)
            *flow.not_sure.front().had = true;
        flow.not_sure.pop_front();
    }
    give_credit(root, flow, credits);
    if (any_end)
        port_.on_room(); // for may_come_back()
}

void OutputFlow::on_taken(HostIndex from, const wire::OutputTaken &message) {
    auto flow = flows_.find(message.root);
    if (flow == flows_.end() || flow->second.serial != message.serial || flow->second.upstream != from)
        return;
    note_taken(flow->first, flow->second, message.count);
    pump(flow->first, flow->second);
}

void OutputFlow::taken(std::uint32_t cost) {
    auto flow = flows_.find(self_);
    if (flow == flows_.end())
        return;
    note_taken(self_, flow->second, cost);
    pump(flow->first, flow->second);
}

void OutputFlow::on_root_lost(TimePoint now, HostIndex root) {
    auto flow = flows_.find(root);
    if (root == self_ || flow == flows_.end())
        return;
    const HostIndex from = flow->second.upstream;
    flow->second.wish.pulled = {};
    auto over = end_of_wish(root, flow->second.serial);
    for (auto [asked, behind] : std::exchange(flow->second.asked, {})) {
        if (asked != root && asked != from)
            tell(over, flow->second.asked, asked, behind);
    }
    end(now, flow);
}

void OutputFlow::on_host_gone(TimePoint now, HostIndex host, bool left) {
    on_root_lost(now, host); // its own neighbours hear of its end for sure, and tell the others
    for (auto &[root, over] : over_) {
        if (now >= over.since + noticed_within)
            over.told.clear();
        auto told = over.told.extract(host);
        // One that has left in order has passed it on before, unless it came just then.
        if (told && !(left && now >= over.since + passed_on_within)) {
            auto demand = end_of_wish(root, over.serial);
            spread(demand, over.told, host, told.mapped());
        }
    }
    for (auto &[root, flow] : flows_) {
        if (flow.upstream == host) {
            take_back(flow);
            flow.upstream = no_host; // until another one asks
            flow.under_way = 0;
        }
        if (auto asked = flow.asked.extract(host)) {
            auto demand = demand_of(root, flow.serial, flow.wish);
            spread(demand, flow.asked, host, asked.mapped());
        }
    }
}

bool OutputFlow::anything_waits() const {
    return std::any_of(flows_.begin(), flows_.end(), [](const auto &flow) {
        return !flow.second.held.empty() || !flow.second.queue.empty() || flow.second.under_way > 0;
    });
}

std::uint64_t OutputFlow::dropped() const {
    std::uint64_t sum = dropped_;
    for (const auto &[root, flow] : flows_)
        sum += flow.queue.dropped();
    return sum;
}

} // namespace pmixhost
