// See tool_gate.h.
#include "server-glue/gate/tool_gate.h"

#include <algorithm>

namespace pmixhost {

using namespace std::chrono_literals;

// A desk that does not start is not tried for each tool of a flood.
static constexpr Duration between_desks = 2s;
static constexpr Duration counted_in = 1s;
// Of a desk, at most: that it is ready; and of each connection that it has come, why it was refused, that it is quiet.
static constexpr std::uint64_t words_at_start = 1, words_of_connection = 3;

std::size_t ToolGate::desks() const {
    return static_cast<std::size_t>(
        std::count_if(users_.begin(), users_.end(), [](const auto &each) { return each.second.desk != Desk::none; }));
}

std::size_t ToolGate::waiting() const {
    std::size_t count = 0;
    for (const auto &[user, of] : users_)
        count += of.waiting.size();
    return count;
}

bool ToolGate::arrived(Id id, uid_t user, TimePoint now) {
    User &of = users_[user];
    if (now - of.second >= counted_in) {
        of.second = now;
        of.this_second = 0;
    }
    std::string why;
    if (++of.this_second > limits_.a_second)
        why = fmt::format("more than {} connections in a second", limits_.a_second);
    else if (of.waiting.size() >= limits_.waiting)
        why = fmt::format("{} connections wait already (gate.max_waiting)", of.waiting.size());
    else if (waiting() >= limits_.waiting * limits_.desks)
        why = "too many users' connections wait already";
    if (why.empty())
        of.waiting.emplace(id, Waiting{now + limits_.patience});
    else
        port_.refuse(id, user, why);
    return why.empty();
}

void ToolGate::judged(Id id, uid_t user, const Result<void> &verdict, TimePoint now) {
    auto found = users_.find(user);
    if (found == users_.end() || !found->second.waiting.contains(id))
        return;
    User &of = found->second;
    if (!verdict)
        return refuse(user, of, id, verdict.failure().text);
    of.waiting.at(id).allowed = true;
    if (of.desk == Desk::ready)
        hand_over(user, of, now);
    else if (of.desk == Desk::none)
        need_desk(user, of, now);
}

void ToolGate::need_desk(uid_t user, User &of, TimePoint now) {
    if (now < of.no_desk_before)
        return refuse_allowed(user, of, of.why_no_desk);
    if (desks() >= limits_.desks && !make_room())
        return refuse_allowed(user, of, fmt::format("{} desks serve other users (gate.max_desks)", desks()));
    of.desk = Desk::starting;
    of.deadline = now + limits_.patience;
    of.given = of.taken = of.words = 0;
    of.lines = RateLimit(most_lines);
    of.idle_since = TimePoint::max();
    port_.start_desk(user);
}

// The desk that has served nobody for the longest time leaves.
bool ToolGate::make_room() {
    auto idlest = std::min_element(users_.begin(), users_.end(), [](const auto &a, const auto &b) {
        return a.second.idle_since < b.second.idle_since;
    });
    if (idlest == users_.end() || idlest->second.idle_since == TimePoint::max())
        return false;
    idlest->second.desk = Desk::none;
    idlest->second.idle_since = TimePoint::max();
    port_.end_desk(idlest->first);
    return true;
}

void ToolGate::hand_over(uid_t user, User &of, TimePoint now) {
    for (auto each = of.waiting.begin(); each != of.waiting.end();) {
        if (!each->second.allowed) {
            ++each;
            continue;
        }
        Id id = each->first;
        each = of.waiting.erase(each);
        if (port_.hand_over(id, user)) {
            if (of.given++ == of.taken)
                of.deadline = now + limits_.patience;
            of.idle_since = TimePoint::max();
        } else {
            port_.refuse(id, user, "the desk has more connections than it takes at once");
        }
    }
    if (of.given == 0)
        of.idle_since = now;
}

bool ToolGate::on_ready(uid_t user, TimePoint now) {
    auto found = users_.find(user);
    if (found == users_.end() || found->second.desk != Desk::starting)
        return false;
    found->second.desk = Desk::ready;
    found->second.ready_since = now;
    found->second.deadline = TimePoint::max();
    hand_over(user, found->second, now);
    return true;
}

bool ToolGate::on_taken(uid_t user, std::uint64_t given, TimePoint now) {
    auto found = users_.find(user);
    if (found == users_.end() || found->second.desk != Desk::ready || given <= found->second.taken ||
        given > found->second.given)
        return false;
    User &of = found->second;
    of.taken = given;
    of.deadline = of.taken == of.given ? TimePoint::max() : now + limits_.patience;
    return true;
}

bool ToolGate::on_quiet(uid_t user, std::uint64_t given, TimePoint now) {
    auto found = users_.find(user);
    if (found == users_.end() || found->second.desk != Desk::ready || given > found->second.given)
        return false;
    // One that is under way to it makes it busy again.
    if (found->second.given == given)
        found->second.idle_since = std::min(found->second.idle_since, now);
    return true;
}

bool ToolGate::counts_word(uid_t user) {
    auto found = users_.find(user);
    return found != users_.end() && ++found->second.words <= words_at_start + words_of_connection * found->second.given;
}

bool ToolGate::counts_line(uid_t user, TimePoint now) {
    auto found = users_.find(user);
    return found != users_.end() && found->second.lines.admit(now);
}

void ToolGate::on_desk_gone(uid_t user, const std::string &why, TimePoint now) {
    auto found = users_.find(user);
    if (found == users_.end() || found->second.desk == Desk::none)
        return;
    User &of = found->second;
    bool started = std::exchange(of.desk, Desk::none) == Desk::ready;
    of.deadline = of.idle_since = TimePoint::max();
    if (started && now - of.ready_since >= between_desks)
        return;
    no_desk_for_now(user, of, (started ? "the desk ended at once: " : "no desk could be started: ") + why, now);
}

void ToolGate::no_desk_for_now(uid_t user, User &of, const std::string &why, TimePoint now) {
    of.no_desk_before = now + between_desks;
    of.why_no_desk = why;
    refuse_allowed(user, of, why);
}

void ToolGate::refuse(uid_t user, User &of, Id id, const std::string &why) {
    of.waiting.erase(id);
    port_.refuse(id, user, why);
}

void ToolGate::refuse_allowed(uid_t user, User &of, const std::string &why) {
    std::vector<Id> refused;
    for (const auto &[id, each] : of.waiting) {
        if (each.allowed)
            refused.push_back(id);
    }
    for (Id id : refused)
        refuse(user, of, id, why);
}

TimePoint ToolGate::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[user, of] : users_) {
        for (const auto &[id, each] : of.waiting)
            next = std::min(next, each.deadline);
        next = std::min(next, of.deadline);
        if (of.idle_since != TimePoint::max())
            next = std::min(next, of.idle_since + limits_.idle);
        if (of.waiting.empty() && of.desk == Desk::none) // to be forgotten
            next = std::min(next, std::max(of.second + counted_in, of.no_desk_before));
    }
    return next;
}

void ToolGate::on_time(TimePoint now) {
    for (auto &[user, of] : users_) {
        std::vector<Id> late;
        for (const auto &[id, each] : of.waiting) {
            if (now >= each.deadline)
                late.push_back(id);
        }
        for (Id id : late)
            refuse(user, of, id,
                   of.waiting.at(id).allowed ? "its desk did not start in time" : "the rules took too long");
        bool is_late = now >= of.deadline;
        bool is_idle = of.idle_since != TimePoint::max() && now - of.idle_since >= limits_.idle;
        if (is_late || is_idle) {
            bool started = std::exchange(of.desk, Desk::none) == Desk::ready;
            of.deadline = of.idle_since = TimePoint::max();
            port_.end_desk(user);
            if (!started)
                no_desk_for_now(user, of, "its desk did not start in time", now);
        }
    }
    forget_idle_users(now);
}

void ToolGate::forget_idle_users(TimePoint now) {
    std::erase_if(users_, [now](const auto &each) {
        const User &of = each.second;
        return of.waiting.empty() && of.desk == Desk::none && now >= of.second + counted_in && now >= of.no_desk_before;
    });
}

} // namespace pmixhost
