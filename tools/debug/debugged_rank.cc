// See debugged_rank.h.
#include "tools/debug/debugged_rank.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

constexpr std::size_t longest_from_gdb = 16u << 20;
constexpr std::string_view by_our_signal = "signal-received SIGSTOP"; // GdbEvent::reason

} // namespace

DebuggedRank::DebuggedRank(GdbProcess gdb, LookedAt process) : gdb_(std::move(gdb)), process_(std::move(process)) {
    to_write_ = dialogue_.begin(process_.pid());
}

void DebuggedRank::write() {
    ssize_t done = ::write(gdb_.input(), to_write_.data(), to_write_.size());
    if (done > 0)
        to_write_.erase(0, static_cast<std::size_t>(done));
}

void DebuggedRank::read(const std::function<void(GdbEvent)> &tell) {
    char bytes[65536];
    ssize_t got = ::read(gdb_.output(), bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0 || begun_.size() > longest_from_gdb) {
        lose();
        return tell({0, GdbEvent::Kind::gone, "its gdb has ended\n"});
    }
    begun_.append(bytes, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    bool to_stop_still = false;
    for (auto end = begun_.find('\n'); end != begun_.npos; end = begun_.find('\n', begin)) {
        std::string_view line = std::string_view(begun_).substr(begin, end - begin);
        for (auto &event : dialogue_.on_line(line, to_write_)) {
            if (event.kind == GdbEvent::Kind::stopped)
                to_stop_still = has_stopped(event.reason) || (to_stop_still && event.reason != by_our_signal);
            tell(std::move(event));
        }
        begin = end + 1;
    }
    begun_.erase(0, begin);
    look_at_inferiors();
    // A breakpoint's own commands have let it run on, before anybody could hear that it stood.
    if (to_stop_still && dialogue_.runs())
        stop();
    look_at_wish();
}

void DebuggedRank::lose() {
    lost_ = true;
    gdb_.close_input();
    if (!gdb_.has_ended(std::chrono::seconds(1))) // what is left of its hold would keep the others waiting
        return;
    process_.put_right();
    for (const auto &[pid, one] : followed_)
        one.put_right();
}

void DebuggedRank::ask(std::uint64_t id, const std::string &command, GdbLanguage language) {
    to_write_ += dialogue_.ask(id, command, language);
}

void DebuggedRank::want_stop() {
    act(wish_.wanted(dialogue_, StackClock::now()));
}

void DebuggedRank::look_at_wish() {
    act(wish_.look(dialogue_, StackClock::now()));
}

void DebuggedRank::act(StopWish::Act what) {
    if (what == StopWish::Act::stop_process)
        stop();
    else if (what == StopWish::Act::interrupt_gdb)
        gdb_.interrupt();
}

// Nothing: it has ended.
const LookedAt *DebuggedRank::of(pid_t pid) const {
    auto found = followed_.find(pid);
    return found != followed_.end() ? &found->second : pid == 0 || pid == process_.pid() ? &process_ : nullptr;
}

// The process that runs stops, once: what is left of two signals would stop it when it runs again.
void DebuggedRank::stop() {
    const auto *now = told_to_stop_ == 0 ? of(dialogue_.inferiors().now()) : nullptr;
    if (!now)
        return;
    now->interrupt();
    told_to_stop_ = now->pid();
}

// Where it has stopped by something else than the signal, it would stop once more when it runs again: the signal is
// taken back. True: that was so.
bool DebuggedRank::has_stopped(std::string_view reason) {
    const auto *told = told_to_stop_ != 0 ? of(told_to_stop_) : nullptr;
    bool by_another = told && reason != by_our_signal;
    if (by_another)
        told->take_stop_back();
    told_to_stop_ = 0;
    return by_another;
}

// Takes what gdb has hold of as it is now. What was to stop one that it has let go of is for its child.
void DebuggedRank::look_at_inferiors() {
    auto all = dialogue_.inferiors().all();
    if (std::exchange(held_, all) != all) {
        for (pid_t pid : all) {
            if (of(pid))
                continue;
            if (auto found = LookedAt::held(pid, [this](pid_t tracer) { return gdb_.is_it(tracer); }))
                followed_.emplace(pid, std::move(*found));
        }
    }
    bool told_another = told_to_stop_ != 0 && dialogue_.inferiors().now() != told_to_stop_;
    if (const auto *before = told_another && dialogue_.runs() ? of(told_to_stop_) : nullptr) {
        before->take_stop_back();
        told_to_stop_ = 0;
        stop();
    }
    if (!dialogue_.runs())
        told_to_stop_ = 0;
    std::erase_if(followed_,
                  [&all](const auto &one) { return std::find(all.begin(), all.end(), one.first) == all.end(); });
}

std::vector<pid_t> DebuggedRank::followed() const {
    std::vector<pid_t> out;
    for (const auto &[pid, one] : followed_)
        out.push_back(pid);
    return out;
}

void DebuggedRank::begin_end() {
    told_to_stop_ = 0; // what gdb says is not read any more; one signal too many is put right behind
    // What a command that is under way lets run, it has not said yet.
    bool may_run = dialogue_.runs() || dialogue_.last_open() > GdbDialogue::attach_id;
    if (may_run && !lost_)
        stop();
    gdb_.close_input();
}

std::vector<LookedAt> DebuggedRank::take_processes() {
    std::vector<LookedAt> out;
    out.push_back(std::move(process_));
    for (auto &[pid, one] : followed_)
        out.push_back(std::move(one));
    return out;
}

} // namespace pmixhost
