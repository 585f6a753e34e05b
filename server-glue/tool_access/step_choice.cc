// See step_choice.h.
#include "server-glue/tool_access/step_choice.h"

#include "common/rendezvous/unserved_step.h"

#include <algorithm>
#include <iterator>

namespace pmixhost {

static constexpr auto how_to_name_one = "next: `pmixhost with JOB[.STEP] -- TOOL`";

std::vector<std::string> StepChoice::serving() const {
    std::vector<std::string> names;
    for (const auto &[name, step] : steps_) {
        if (step.state == State::serving)
            names.push_back(name);
    }
    return names;
}

std::vector<std::string> StepChoice::on_list(const std::vector<std::string> &running, const std::set<std::string> &busy,
                                             TimePoint now) {
    std::vector<std::string> gone;
    too_many_ = running.size() > most;
    for (const auto &[name, step] : steps_) {
        if (!busy.contains(name) && (too_many_ || std::find(running.begin(), running.end(), name) == running.end()))
            gone.push_back(name);
    }
    for (const auto &name : gone)
        steps_.erase(name);
    for (const auto &name : too_many_ ? std::vector<std::string>() : running) {
        Step &step = steps_[name];
        if (step.state == State::failed && now >= step.next)
            step.state = State::listed;
    }
    return gone;
}

std::vector<std::string> StepChoice::to_call() {
    std::vector<std::string> called;
    if (too_many_ || serving().size() > 1)
        return called;
    auto under_way = static_cast<std::size_t>(std::count_if(
        steps_.begin(), steps_.end(), [](const auto &each) { return each.second.state == State::called; }));
    // Those that did not answer before are in no other's way.
    for (bool in_vain : {false, true}) {
        for (auto &[name, step] : steps_) {
            if (step.state != State::listed || step.in_vain != in_vain || under_way + called.size() >= at_once)
                continue;
            step.state = State::called;
            called.push_back(name);
        }
    }
    return called;
}

std::vector<std::string> StepChoice::surplus(const std::set<std::string> &busy) {
    std::vector<std::string> idle, all = serving();
    std::copy_if(all.begin(), all.end(), std::back_inserter(idle),
                 [&](const auto &name) { return !busy.contains(name); });
    std::size_t kept = all.size() - idle.size();
    idle.erase(idle.begin(),
               idle.begin() + static_cast<std::ptrdiff_t>(std::min(idle.size(), kept < 2 ? 2 - kept : 0)));
    for (const auto &name : idle)
        steps_.at(name).state = State::listed;
    return idle;
}

void StepChoice::on_late() {
    for (auto &[name, step] : steps_)
        step.in_vain = step.in_vain || step.state == State::called;
}

void StepChoice::on_serving(const std::string &step) {
    if (auto found = steps_.find(step); found != steps_.end())
        found->second = {State::serving};
}

void StepChoice::on_failure(const std::string &step, const Error &why, TimePoint now) {
    auto found = steps_.find(step);
    if (found == steps_.end())
        return;
    // What served nobody when it could be asked does not serve since it cannot.
    if (auto &before = found->second;
        before.unserved > 0 && (why.kind == ErrorKind::unreachable || why.kind == ErrorKind::timeout)) {
        before.state = State::failed;
        before.next = now + unserved_wait(before.unserved);
        return;
    }
    unsigned unserved = why.kind == ErrorKind::unsupported ? found->second.unserved + 1 : 0;
    found->second = {State::failed, why, why.kind != ErrorKind::denied, unserved,
                     unserved == 0 ? now : now + unserved_wait(unserved)};
}

std::optional<Result<std::string>> StepChoice::choice() const {
    auto none = [](ErrorKind kind, const std::string &why) {
        return Result<std::string>(error(kind, "{}; {}", why, how_to_name_one));
    };
    if (too_many_)
        return none(ErrorKind::limit, fmt::format("more than {} steps of the user run", +most));
    const auto serve = serving();
    const Error *why = nullptr;
    bool complete = true;
    for (const auto &[name, step] : steps_) {
        if (step.state == State::listed || step.state == State::called)
            complete = complete && step.in_vain && serve.size() == 1;
        else if (step.state == State::failed && step.why.kind != ErrorKind::unsupported &&
                 (!why || step.why.kind == ErrorKind::denied))
            why = &step.why;
    }
    if (serve.size() > 1)
        return none(ErrorKind::limit, fmt::format("the user has several steps that pmixhost serves ({}, {}{})",
                                                  serve[0], serve[1], serve.size() > 2 ? ", ..." : ""));
    if (!complete)
        return std::nullopt;
    if (serve.size() == 1)
        return Result<std::string>(serve[0]);
    if (why)
        return Result<std::string>(*why);
    return Result<std::string>(error(ErrorKind::not_found, "no step of the user runs that pmixhost serves"));
}

} // namespace pmixhost
