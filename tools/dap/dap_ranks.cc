// See dap_ranks.h.
#include "tools/dap/dap_ranks.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace pmixhost {

namespace {

constexpr int threads_of_a_rank = 10000; // numbers of threads that a rank has in the protocol

int number_of(const std::string &text) {
    int out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out > 0 && out < threads_of_a_rank ? out : 1;
}

} // namespace

void DapRanks::expect(const std::vector<Rank> &ranks) {
    for (Rank rank : ranks) {
        auto [place, made] = ranks_.try_emplace(rank);
        if (!made)
            continue;
        place->second.index = static_cast<int>(by_index_.size());
        by_index_.push_back(rank);
        ++counts_[static_cast<std::size_t>(State::starting)];
    }
}

void DapRanks::become(One &one, State state) {
    --counts_[static_cast<std::size_t>(std::exchange(one.state, state))];
    ++counts_[static_cast<std::size_t>(state)];
}

Result<void> DapRanks::ask(const std::vector<Rank> &ranks, const std::string &command, GdbLanguage language, Then then,
                           Each each) {
    if (command.size() > longest_debug_command)
        return error(ErrorKind::limit, "what gdb would be told is {} bytes long; allowed: {}", command.size(),
                     longest_debug_command);
    if (command.find('\n') != command.npos)
        return error(ErrorKind::invalid, "gdb is told one line at a time; next: one after the other");
    std::uint64_t id = next_id_++;
    std::vector<Rank> there, gone;
    for (Rank rank : ranks)
        (is(rank, State::stopped) || is(rank, State::running) ? there : gone).push_back(rank);
    if (!there.empty())
        say_(DebugCommand{id, there, command, language});
    questions_[id] = {{ranks.begin(), ranks.end()}, {}, std::move(then), std::move(each)};
    if (ranks.empty()) {
        Question over = std::move(questions_.extract(id).mapped());
        over.then({});
    }
    for (Rank rank : gone)
        answer(id, rank, {id, GdbEvent::Kind::error, "it has ended\n"});
    return {};
}

void DapRanks::answer(std::uint64_t id, Rank rank, GdbEvent event) {
    auto found = questions_.find(id);
    if (found == questions_.end() || found->second.open.erase(rank) == 0)
        return;
    if (found->second.each)
        found->second.each(rank, event);
    found->second.answers.emplace(rank, std::move(event));
    if (!found->second.open.empty())
        return;
    Question over = std::move(found->second);
    questions_.erase(found);
    over.then(over.answers); // may ask more
}

void DapRanks::owes_nothing(Rank rank) {
    std::vector<std::uint64_t> open;
    for (const auto &[id, question] : questions_) {
        if (question.open.contains(rank))
            open.push_back(id);
    }
    for (auto id : open)
        answer(id, rank, {id, GdbEvent::Kind::error, "it has ended\n"});
}

std::optional<RankEvent> DapRanks::on(const FromHost &said) {
    const auto *event = std::get_if<RankEvent>(&said);
    auto found = event ? ranks_.find(event->rank) : ranks_.end();
    if (!event || found == ranks_.end())
        return std::nullopt;
    One &one = found->second;
    bool by_itself = event->refused || event->event.id == 0;
    if (event->refused) {
        become(one, State::refused);
    } else if (event->event.kind == GdbEvent::Kind::stopped) {
        become(one, State::stopped);
        if (!event->event.thread.empty())
            one.stopped = event->event.thread;
    } else if (event->event.kind == GdbEvent::Kind::gone) {
        become(one, State::gone);
    } else if (event->event.kind == GdbEvent::Kind::runs) {
        become(one, State::running);
    }
    if (one.state == State::refused || one.state == State::gone)
        owes_nothing(event->rank);
    if (by_itself)
        return *event;
    answer(event->event.id, event->rank, event->event);
    return std::nullopt;
}

std::vector<Rank> DapRanks::lose(const std::string &why) {
    auto out = alive();
    auto starting = in(State::starting);
    out.insert(out.end(), starting.begin(), starting.end());
    for (Rank rank : out)
        (void)on(RankEvent{rank, {0, GdbEvent::Kind::gone, why}, false});
    return out;
}

std::vector<Rank> DapRanks::in(State state, const std::optional<std::vector<Rank>> &focus) const {
    std::vector<Rank> out;
    for (const auto &[rank, one] : ranks_) {
        if (one.state == state && is_among(focus, rank))
            out.push_back(rank);
    }
    return out;
}

std::vector<Rank> DapRanks::alive(const std::optional<std::vector<Rank>> &focus) const {
    std::vector<Rank> out;
    for (const auto &[rank, one] : ranks_) {
        if ((one.state == State::stopped || one.state == State::running) && is_among(focus, rank))
            out.push_back(rank);
    }
    return out;
}

bool DapRanks::is(Rank rank, State state) const {
    auto found = ranks_.find(rank);
    return found != ranks_.end() && found->second.state == state;
}

void DapRanks::set_threads(Rank rank, std::vector<Thread> threads) {
    if (auto found = ranks_.find(rank); found != ranks_.end())
        found->second.threads = std::move(threads);
}

std::vector<DapRanks::Thread> DapRanks::threads(Rank rank) const {
    auto found = ranks_.find(rank);
    if (found == ranks_.end() || found->second.threads.empty())
        return {{"1", {}}};
    return found->second.threads;
}

std::string DapRanks::stopped_thread(Rank rank) const {
    auto found = ranks_.find(rank);
    return found == ranks_.end() ? "1" : found->second.stopped;
}

int DapRanks::thread_id(Rank rank, const std::string &number) const {
    auto found = ranks_.find(rank);
    return found == ranks_.end() ? 0 : (found->second.index + 1) * threads_of_a_rank + number_of(number);
}

std::optional<std::pair<Rank, std::string>> DapRanks::thread_of(int id) const {
    auto index = static_cast<std::size_t>(id / threads_of_a_rank);
    if (id <= 0 || index == 0 || index > by_index_.size() || id % threads_of_a_rank == 0)
        return std::nullopt;
    return std::pair(by_index_[index - 1], std::to_string(id % threads_of_a_rank));
}

} // namespace pmixhost
