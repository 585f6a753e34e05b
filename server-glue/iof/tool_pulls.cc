// See tool_pulls.h.
#include "server-glue/iof/tool_pulls.h"

#include <algorithm>
#include <tuple>

namespace pmixhost {

// Who wants it sooner is not to wait for who does not.
static HeldOutput::Rule least(const HeldOutput::Rule &one, const HeldOutput::Rule &other) {
    if (one.bytes == 0 || other.bytes == 0)
        return {};
    return {std::min(one.bytes, other.bytes), std::min(one.time, other.time)};
}

// `is_first`: nobody wants anything yet.
static void add(OutputWish &wish, const OutputWish &other, bool is_first) {
    wish.pulled.add(other.pulled);
    wish.taken_over.add(other.taken_over);
    wish.cache = std::max(wish.cache, other.cache);
    wish.held = is_first ? other.held : least(wish.held, other.held);
}

void ToolPulls::open(std::shared_ptr<PullGate> gate, Job job) {
    gate_ = std::move(gate);
    job_ = std::move(job);
    gate_->nspace = job_.nspace;
    gate_->ranks = job_.processes;
    gate_->can_be_taken_over = job_.can_be_taken_over;
    gate_->most_cache = job_.most_cache;
    gate_->channels = job_.channels;
}

void ToolPulls::note_there(std::uint8_t channels) {
    if (gate_->there.exchange(channels) != channels)
        log_.info("what the processes here write to {} is their own: there is nothing of it for tools",
                  channels == 0                      ? "standard output and error"
                  : channels == wire::stdout_channel ? "standard error"
                                                     : "standard output");
}

bool ToolPulls::any() const {
    return std::any_of(pulls_.begin(), pulls_.end(), [](const auto &entry) { return entry.second.of_job > 0; });
}

bool ToolPulls::waits_for(Rank rank, std::uint8_t channel) const {
    return any() && wish_.pulled.has(rank, channel) && !ended_.contains({rank, channel});
}

// Of a tool whose connection nobody knows libpmix does not say whether it is the one that had taken the output over.
// Returns whether less may be wanted than before.
bool ToolPulls::forget_gone(const ToolPullsPort::Tools &tools) {
    std::erase_if(left_, [this](const auto &left) { return !port_.is_here(left.first); });
    std::erase_if(shut_out_, [this](const auto &connection) { return !port_.is_here(connection); });
    const bool any_gone = std::exchange(gone_, tools.gone) != tools.gone;
    bool less = false;
    for (auto next = pulls_.begin(); next != pulls_.end();) {
        auto at = next++;
        auto &[connection, pulls] = *at;
        if (tools.here == 0 || (connection && !port_.is_here(*connection))) {
            pulls_.erase(at);
            less = true;
            continue;
        }
        if (connection)
            continue;
        if (tools.oldest > last_unknown_) {
            less = less || pulls.of_job > 0;
            pulls.of_job = 0;
            pulls.wish = {};
        } else if (any_gone) {
            less = less || !pulls.wish.taken_over.none();
            pulls.wish.taken_over = {};
        }
        if (pulls.of_job + pulls.of_children == 0)
            pulls_.erase(at);
    }
    return less;
}

// Of what waits at other hosts, for all of them, there is one rule: theirs, or the last that was said.
OutputWish ToolPulls::together() const {
    OutputWish wish;
    std::set<bool> drop_oldest;
    for (const auto &[connection, pulls] : pulls_) {
        if (pulls.of_job == 0)
            continue;
        add(wish, pulls.wish, drop_oldest.empty());
        drop_oldest.insert(pulls.wish.drop_oldest);
    }
    wish.drop_oldest = drop_oldest.size() == 1 ? *drop_oldest.begin() : wish_.drop_oldest;
    wish.kept_for = wish_.kept_for;
    return wish;
}

void ToolPulls::want_what_is_left() {
    OutputWish left = together();
    const bool is_less = left != wish_;
    if (is_less) {
        wish_ = std::move(left);
        std::erase_if(
            untold_, [this](const auto &missed) { return !wish_.pulled.has(missed.first.first, missed.first.second); });
        port_.want(wish_);
    }
    // Of what is wanted no longer; or by those alone that were passed over when somebody went.
    if (is_less || port_.can_pass_over())
        port_.give_nobody();
}

// libpmix cannot keep what one tool pulls from another that was refused the same, but where that pull can be made void.
// Then each tool is judged by itself, as its coming is known here before it can ask; and one that may have no output
// any more, which the library still has a pull of, is left out of what others are given.
void ToolPulls::judge(TimePoint now) {
    const ToolPullsPort::Tools tools = port_.tools();
    const bool any_pulled = any();
    const bool less = forget_gone(tools);
    if (tools.here == 0)
        gate_->keeps_refused = false; // whose it was has gone, and the pull with it
    const bool all_known = port_.can_pass_over() && !gate_->keeps_refused && !any_unknown();
    goes_on_ = tools.may() || all_known;
    const bool any_shut_out = !tools.may() && all_known && shut_out_others(tools);
    const pmix_status_t of_children = tools.may() ? PMIX_SUCCESS : PMIX_ERR_NO_PERMISSIONS;
    const pmix_status_t verdict = !job_.can_be_read || tools.here == 0 ? PMIX_ERR_NOT_SUPPORTED : of_children;
    const bool is_another =
        gate_->set_verdict(verdict, of_children, all_known ? tools.allowed : std::set<LibraryConnection>());
    if (!job_.can_be_read)
        return;
    const bool others_may = std::exchange(allowed_, tools.allowed) != tools.allowed;
    port_.log_decisions(is_another || others_may);
    if (any() && !goes_on_) {
        tell_failure(wish_.pulled);
        end_pulls("there is a tool that the rules allow no output");
    } else if (any_pulled && !any()) { // so the next one has what was written before
        end_pulls(tools.here == 0 ? "no tool is here"
                  : any_shut_out  ? "the rules allow no output any more to who pulled it"
                                  : "who pulled it has gone");
    } else if (less || any_shut_out) {
        want_what_is_left();
    }
    look_later(now, tools.here);
}

// Of a pull that nobody knows whose it is.
bool ToolPulls::any_unknown() const {
    const auto unknown = pulls_.find(std::nullopt);
    return unknown != pulls_.end() && unknown->second.of_job > 0;
}

// Who has no pull is passed over, too: it may have ended one of those that were refused, which the library says as if
// it were one that it serves. Returns whether one of them was pulling. All tools hear that nothing comes, so of what
// the others pull none does.
bool ToolPulls::shut_out_others(const ToolPullsPort::Tools &tools) {
    bool any_pulled = false;
    OutputSelection lost;
    for (auto next = pulls_.begin(); next != pulls_.end();) {
        auto at = next++;
        auto &[connection, pulls] = *at;
        if (pulls.of_job == 0 || tools.allowed.contains(*connection))
            continue;
        any_pulled = true;
        lost.add(pulls.wish.pulled);
        left_[*connection] += std::exchange(pulls.of_job, 0);
        pulls.wish = {};
        pulls.forget_behind();
        if (pulls.of_children == 0)
            pulls_.erase(at);
    }
    std::set<LibraryConnection> barred = tools.barred;
    for (const auto &[connection, count] : left_) {
        if (!tools.allowed.contains(connection))
            barred.insert(connection);
    }
    for (const auto &connection : barred) {
        if (!shut_out_.contains(connection))
            shut_out(connection);
    }
    tell_failure(lost.without(together().pulled, job_.processes));
    return any_pulled;
}

void ToolPulls::shut_out(const LibraryConnection &connection) {
    shut_out_.insert(connection);
    port_.pass_over(connection);
}

void ToolPulls::look_later(TimePoint now, std::size_t tools) {
    look_at_tools_ = tools == 0 ? TimePoint::max() : now + (!wish_.taken_over.none() ? taken_over_look : tools_look);
}

void ToolPulls::pull(TimePoint now, const PullAsk &ask) {
    judge(now); // whose pulls go on beside it
    const ToolPullsPort::Tools tools = port_.tools();
    const bool is_here = !ask.connection || port_.is_here(*ask.connection);
    if (ask.of_child) { // how those of processes end nobody tells
        if (is_here && ask.by_tool.value_or(tools.here > 0))
            ++pulls_[ask.connection].of_children;
        return;
    }
    const OutputSelection asked = ask.selection();
    const bool was_granted =
        gate_->verdict == PMIX_SUCCESS || (goes_on_ && ask.connection && tools.allowed.contains(*ask.connection));
    if (!was_granted || !is_here) {
        if (is_here && tools.here > 0) // a tool without the right has come meanwhile, or it may no longer
            tell_failure(asked.without(wish_.pulled, job_.processes)); // all hear it, and what they pull goes on
        if (is_here && ask.connection) {
            ++left_[*ask.connection];
            if (goes_on_ && !tools.may())
                shut_out(*ask.connection);
        }
        gate_->note_read();
        return;
    }
    if (ask.connection)
        shut_out_.erase(*ask.connection);
    const OutputSelection before = had_;
    OutputWish wish;
    wish.pulled = asked;
    if (ask.take_over)
        wish.taken_over = asked;
    wish.cache = std::clamp(ask.cache.value_or(job_.most_cache), least_cache, job_.most_cache);
    wish.held = HeldOutput::rule_of(ask.held, ask.held_for);
    Pulls &pulls = pulls_[ask.connection];
    add(pulls.wish, wish, pulls.of_job == 0);
    pulls.wish.drop_oldest = ask.drop_oldest.value_or(pulls.wish.drop_oldest);
    pulls.behind.set_limit(pulls.wish.cache, pulls.wish.drop_oldest);
    ++pulls.of_job;
    if (!ask.connection)
        last_unknown_ = tools.newest;
    if (ask.since)
        tell_what_is_undated(ask);
    if (ask.connection && slow_.passes_over(*ask.connection)) {
        most_unsent(now); // not if it takes something over
        if (slow_.passes_over(*ask.connection))
            port_.pass_over(*ask.connection); // of that, too
    }
    wish_.drop_oldest = ask.drop_oldest.value_or(wish_.drop_oldest);
    wish_ = together();
    wish_.kept = true;
    wish_.kept_but = before; // the library would give it to who pulls already, too, and it may be under way still
    if (ask.since == std::chrono::seconds(0))
        wish_.kept_but.add(asked); // the ends alone
    wish_.kept_for = ask.since ? Duration(*ask.since) : Duration::max();
    std::erase_if(ended_, [&](const auto &stream) { // it comes again
        return asked.has(stream.first, stream.second) && !before.has(stream.first, stream.second);
    });
    had_.add(asked);
    gate_->set_had(had_);
    gate_->note_read();
    log_.info("output of job {} is pulled{}", job_.id, ask.take_over ? ", and taken over" : "");
    tell_ends(ask, before); // of those that are known already; others come with what is wanted now
    std::vector<Delivery> deliveries;
    for (auto &piece : port_.forwarded_before(wish_))
        deliveries.push_back({std::move(piece), 0});
    deliver(now, std::move(deliveries));
    port_.want(wish_);
    wish_.kept = false; // once is enough: others who come and go have it said again what is wanted
    wish_.kept_but = {};
    look_later(now, tools.here);
}

// Of several that came on one connection libpmix does not say which it is, nor of which job; so what one of them had
// taken over is taken over no longer.
void ToolPulls::end_pull(const PullEndAsk &ask) {
    if (ask.by_tool == false)
        return; // what a process of the job pulls is of its children, and is not counted
    if (auto left = ask.connection ? left_.find(*ask.connection) : left_.end(); left != left_.end()) {
        if (--left->second == 0) // it may have been that one
            left_.erase(left);
        return;
    }
    auto found = pulls_.find(ask.connection);
    if (found == pulls_.end())
        return; // it went before its word was read
    const bool any_pulled = any();
    Pulls &pulls = found->second;
    if (pulls.of_children > 0) {
        --pulls.of_children;
    } else if (pulls.of_job > 0 && --pulls.of_job == 0) {
        pulls.wish = {};
        pulls.forget_behind();
    }
    pulls.wish.taken_over = {};
    if (pulls.of_job + pulls.of_children == 0)
        pulls_.erase(found);
    if (any_pulled && !any())
        end_pulls("it is over");
    else if (any_pulled)
        want_what_is_left();
}

// Of streams that others pull it is told what they were: nothing follows. It alone, where it is known who it is.
void ToolPulls::tell_ends(const PullAsk &ask, const OutputSelection &before) {
    if (!ask.connection || !port_.can_pass_over())
        return;
    const OutputSelection asked = ask.selection();
    std::vector<ToolOutput> words;
    for (const auto &[rank, channel] : ended_) {
        if (!asked.has(rank, channel) || !before.has(rank, channel))
            continue;
        ToolOutput word;
        word.rank = rank;
        word.channel = channel;
        word.end = true;
        words.push_back(std::move(word));
    }
    if (slow_.passes_over(*ask.connection)) {
        for (const auto &word : words)
            keep(pulls_[ask.connection], word);
    } else {
        give_one(*ask.connection, ask.number, std::move(words));
    }
}

void ToolPulls::give_one(const LibraryConnection &connection, std::optional<int> pull, std::vector<ToolOutput> words) {
    if (words.empty())
        return;
    ++words_under_way_;
    port_.give_one(connection, pull, std::move(words));
}

// An RM does not say when what it gives of before was written.
void ToolPulls::tell_what_is_undated(const PullAsk &ask) {
    if (!port_.may_be_undated(*ask.since))
        return;
    const OutputSelection asked = ask.selection();
    const auto &ranks = asked.whose().begin()->second;
    ToolOutput word;
    word.rank = ranks.empty() ? 0 : *ranks.begin();
    word.channel = asked.channels();
    word.undated = true;
    if (ask.connection && port_.can_pass_over())
        give_one(*ask.connection, ask.number, {std::move(word)});
    else
        port_.give_tools(std::move(word), 0);
}

// What is pulled of children goes on: it is for who spawned them.
void ToolPulls::end_pulls(const char *why) {
    for (auto &[connection, pulls] : pulls_) {
        pulls.forget_behind();
        if (connection && pulls.of_job > 0)
            left_[*connection] += pulls.of_job;
        pulls.of_job = 0;
        pulls.wish = {};
    }
    std::erase_if(pulls_, [](const auto &entry) { return entry.second.of_children == 0; });
    had_ = {};
    gate_->set_had(had_);
    wish_ = {};
    untold_.clear();
    port_.want(wish_);
    log_.info("output of job {} is no longer pulled: {}", job_.id, why);
    port_.give_nobody();
}

// A tool that took the output over and has gone is noticed before more is lost.
void ToolPulls::deliver(TimePoint now, std::vector<Delivery> deliveries) {
    if (!wish_.taken_over.none())
        look_at_tools_ = now;
    std::map<Rank, std::uint8_t> failed;
    for (auto &[piece, cost, is_too_much] : deliveries) {
        const Stream stream{piece.rank, piece.channel};
        if (is_too_much)
            piece.dropped += std::exchange(piece.bytes, {}).size();
        if (!any() || !wish_.pulled.has(piece.rank, piece.channel)) {
            port_.nobody_takes(cost);
            continue;
        }
        if (piece.dropped > 0) {
            missed_ += piece.dropped;
            untold_[stream] += piece.dropped;
            if (auto others = missed_lines_.admit(now))
                log_.warning("tools here were too slow for the output of rank {}: {} bytes of job {} are missing so "
                             "far (io.cache){}",
                             piece.rank, missed_, job_.id, not_logged(*others));
        }
        if (piece.failed && !ended_.contains(stream))
            failed[piece.rank] |= piece.channel;
        const bool known = piece.end && piece.bytes.empty() && ended_.contains(stream); // to who asked for it once more
        const bool says_something = (piece.end && !known) || piece.cut || (piece.dropped > 0 && !is_too_much);
        if (piece.bytes.empty() && !says_something) {
            port_.nobody_takes(cost);
            continue;
        }
        if (piece.end)
            ended_.insert(stream);
        ToolOutput output;
        output.rank = piece.rank;
        output.channel = piece.channel;
        output.bytes = std::move(piece.bytes);
        output.end = piece.end && !known;
        output.cut = piece.cut != 0;
        if (auto untold = untold_.extract(stream))
            output.missing = untold.mapped();
        give_all(std::move(output), cost);
    }
    tell_failures(failed, job_.nspace);
}

void ToolPulls::tell_missing() {
    for (const auto &[stream, bytes] : std::exchange(untold_, {})) {
        ToolOutput word;
        std::tie(word.rank, word.channel) = stream;
        word.missing = bytes;
        give_all(std::move(word), 0);
    }
}

void ToolPulls::give_all(ToolOutput output, std::uint32_t cost) {
    keep_for_others(output);
    if (anybody_takes({output.rank, output.channel}))
        port_.give_tools(std::move(output), cost);
    else // the library would keep it for whoever pulls next
        port_.nobody_takes(cost);
}

// --- who takes nothing ------------------------------------------------------------------------------

std::size_t ToolPulls::most_unsent(TimePoint now) {
    std::vector<SlowReaders::Reader> readers;
    const bool of_unknown = any_unknown();
    for (const auto &[connection, pulls] : pulls_) {
        if (pulls.of_job == 0)
            continue;
        if (!connection || !port_.is_here(*connection))
            continue;
        SlowReaders::Reader reader{*connection, port_.unsent(*connection)};
        // What one has taken over nobody else would have, but of what is forwarded, which is not taken over; and whose
        // pull nobody knows may be any of them.
        reader.may_be_passed_over =
            port_.can_pass_over() && !of_unknown && (gate_->comes_as_spawned || pulls.wish.taken_over.none());
        reader.is_behind = pulls.behind.own() > some_behind || (words_under_way_ > 0 && !pulls.behind.empty());
        // While others wait, what is forwarded is left out for all.
        reader.is_far_behind = !gate_->comes_as_spawned && pulls.behind.own() > pulls.wish.cache / 2;
        readers.push_back(reader);
    }
    for (const auto &[connection, count] : left_) {
        auto found = pulls_.find(connection);
        if (!of_unknown && !readers.empty() && (found == pulls_.end() || found->second.of_job == 0) &&
            port_.is_here(connection) && !shut_out_.contains(connection))
            readers.push_back({connection, port_.unsent(connection), port_.can_pass_over(), true});
    }
    const auto look = slow_.look(now, readers, rules_differ());
    for (const auto &connection : look.back)
        take_up(connection);
    for (const auto &connection : look.passed_over) {
        if (auto others = slow_lines_.admit(now))
            log_.info(
                "a tool here takes nothing of job {}'s output: until it does, it misses what others are given and "
                "cannot be kept for it{}",
                job_.id, not_logged(*others));
        port_.pass_over(connection);
    }
    if (words_under_way_ == 0) { // how much each has before it is known
        for (const auto &connection : look.takes)
            give_some_behind(connection);
    }
    return of_unknown ? std::max(look.most_unsent, port_.most_unsent()) : look.most_unsent;
}

bool ToolPulls::owes_words() const {
    return words_under_way_ > 0 ||
           std::any_of(pulls_.begin(), pulls_.end(), [](const auto &entry) { return !entry.second.behind.empty(); });
}

// Then nobody waits long for one that is slow, also where all are: by whose rule would it be dropped where it waits?
bool ToolPulls::rules_differ() const {
    const OutputWish *first = nullptr;
    for (const auto &[connection, pulls] : pulls_) {
        if (pulls.of_job == 0)
            continue;
        if (!first)
            first = &pulls.wish;
        else if (first->cache != pulls.wish.cache || first->drop_oldest != pulls.wish.drop_oldest)
            return true;
    }
    return false;
}

// Of those that pull it.
bool ToolPulls::anybody_takes(const Stream &stream) const {
    return std::any_of(pulls_.begin(), pulls_.end(), [&](const auto &entry) {
        const auto &[connection, pulls] = entry;
        return pulls.wish.pulled.has(stream.first, stream.second) && (!connection || !slow_.passes_over(*connection));
    });
}

void ToolPulls::keep(Pulls &pulls, const ToolOutput &output) {
    const bool is_new_end = output.end && pulls.kept_ends.emplace(output.rank, output.channel).second;
    if (output.bytes.empty() && output.missing == 0 && !is_new_end)
        return;
    wire::OutputPiece piece{output.rank, output.channel, output.end, output.missing, output.bytes};
    piece.cut = output.cut;
    std::ignore = pulls.behind.add_own(std::move(piece), false); // others have it, so nothing is given up
}

// For those that are passed over.
void ToolPulls::keep_for_others(const ToolOutput &output) {
    for (auto &[connection, pulls] : pulls_) {
        if (connection && slow_.passes_over(*connection) && pulls.wish.pulled.has(output.rank, output.channel))
            keep(pulls, output);
    }
}

void ToolPulls::give_behind(const LibraryConnection &connection, Pulls &pulls, std::uint32_t most) {
    std::vector<ToolOutput> outputs;
    for (auto &entry : pulls.behind.take(most).entries) {
        ToolOutput output;
        output.rank = entry.piece.rank;
        output.channel = entry.piece.channel;
        output.bytes = std::move(entry.piece.bytes);
        output.end = entry.piece.end != 0;
        if (output.end)
            pulls.kept_ends.erase({output.rank, output.channel});
        output.cut = entry.piece.cut != 0;
        output.missing = entry.piece.dropped;
        outputs.push_back(std::move(output));
    }
    give_one(connection, std::nullopt, std::move(outputs));
}

void ToolPulls::give_some_behind(const LibraryConnection &connection) {
    auto found = pulls_.find(connection);
    if (found == pulls_.end())
        return;
    port_.take_up(connection);
    give_behind(connection, found->second, some_behind);
    port_.pass_over(connection);
}

// What is left for it then comes at once: it is little (some_behind).
void ToolPulls::take_up(const LibraryConnection &connection) {
    port_.take_up(connection);
    auto found = pulls_.find(connection);
    while (found != pulls_.end() && !found->second.behind.empty())
        give_behind(connection, found->second, UINT32_MAX);
}

void ToolPulls::tell_failures(const std::map<Rank, std::uint8_t> &channels, const Bytes &nspace) {
    std::map<std::uint8_t, std::vector<Rank>> ranks;
    for (auto [rank, of_rank] : channels)
        ranks[of_rank].push_back(rank);
    for (const auto &[of_ranks, which] : ranks)
        port_.tell_failure(which, of_ranks, nspace);
}

void ToolPulls::tell_failure(const OutputSelection &of) {
    std::map<std::set<Rank>, std::uint8_t> channels;
    for (const auto &[channel, ranks] : of.whose())
        channels[ranks] |= channel;
    for (const auto &[ranks, of_ranks] : channels)
        port_.tell_failure({ranks.begin(), ranks.end()}, of_ranks, job_.nspace);
}

} // namespace pmixhost
