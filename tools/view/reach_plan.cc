// See reach_plan.h.
#include "tools/view/reach_plan.h"

#include "common/rendezvous/desk_word.h"
#include "common/rendezvous/unserved_step.h"
#include "common/text/printable.h"

#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

namespace pmixhost {

static std::string some_of(std::vector<std::string> steps) {
    constexpr std::size_t most = 20;
    std::size_t left = steps.size() - std::min(steps.size(), most);
    steps.resize(steps.size() - left);
    return fmt::format("{}{}", fmt::join(steps, ", "), left == 0 ? "" : fmt::format(" and {} more", left));
}

bool ReachPlan::ByNumbers::operator()(const std::string &one, const std::string &other) const {
    return ::strverscmp(one.c_str(), other.c_str()) < 0;
}

std::vector<std::string> ReachPlan::due(const std::vector<std::string> &steps, Time now) {
    std::erase_if(failures_,
                  [&](const auto &entry) { return std::find(steps.begin(), steps.end(), entry.first) == steps.end(); });
    std::vector<std::string> out;
    for (const auto &step : steps) {
        auto known = failures_.find(step);
        if (known == failures_.end() || known->second.next <= now)
            out.push_back(step);
    }
    return out;
}

void ReachPlan::failed(const std::string &step, const Error &why, Time now) {
    auto [place, is_new] = failures_.try_emplace(step);
    Failure &failure = place->second;
    failure.times = is_new || failure.why.kind != why.kind ? 1 : failure.times + 1;
    failure.why = why;
    switch (why.kind) {
    case ErrorKind::not_found: // it has ended meanwhile
        failure.next = now;
        break;
    case ErrorKind::denied:
        failure.next = Time::max();
        break;
    case ErrorKind::unsupported:
        failure.next = now + unserved_wait(failure.times);
        break;
    default:
        failure.next = now + next_wait;
    }
}

std::vector<std::string> ReachPlan::complaints() const {
    std::map<std::string, std::vector<std::string>> causes;
    for (const auto &[step, failure] : failures_) {
        if (failure.why.kind == ErrorKind::not_found || failure.why.kind == ErrorKind::unsupported)
            continue;
        const std::string &text = failure.why.text;
        auto refusal = text.find(lets_no_tools_in);
        causes[refusal == text.npos
                   ? "not on this host, and not reached elsewhere: " + text
                   : "tools of this host are not let in: " + text.substr(refusal + lets_no_tools_in.size())]
            .push_back(step);
    }
    std::vector<std::string> out;
    for (const auto &[cause, steps] : causes)
        out.push_back(fmt::format("{} {}: {}", steps.size() == 1 ? "job" : "jobs", some_of(steps), one_line(cause)));
    return out;
}

std::string ReachPlan::unserved() const {
    std::vector<std::string> steps;
    for (const auto &[step, failure] : failures_) {
        if (failure.why.kind == ErrorKind::unsupported)
            steps.push_back(step);
    }
    if (steps.empty())
        return "";
    return fmt::format("{} of yours {} not served by pmixhost: {}",
                       steps.size() == 1 ? "1 step" : fmt::format("{} steps", steps.size()),
                       steps.size() == 1 ? "is" : "are", some_of(steps));
}

} // namespace pmixhost
