// See tool_rights.h.
#include "server-glue/tool_access/tool_rights.h"

#include <utility>

namespace pmixhost {

using namespace policy;

Request ToolRights::request_of(const Question &question) const {
    Location from = Location::here();
    if (!question.from.empty()) {
        auto address = parse_address(question.from);
        from = address ? Location::at(*address) : Location{};
    }
    return {rules_->user, question.pid, from, rules_->user, question.job, question.action};
}

std::optional<Decision> ToolRights::decide(const Question &question) {
    if (rules_)
        return rules_->policy.decide(request_of(question));
    if (std::exchange(reading_, true))
        return std::nullopt;
    worker_.emplace(loop_);
    worker_->run([settings = settings_] { return Result<OwnRules>(read_own_rules(settings)); },
                 [this](Result<OwnRules> read) {
                     rules_.emplace(); // nothing is allowed
                     if (!read)
                         return log_.error("the rules for tools cannot be read: {}", read.failure().text);
                     for (const auto &each : read->wrong)
                         log_.error("tools: {}", each);
                     rules_ = std::move(*read);
                 });
    return std::nullopt;
}

bool ToolRights::may(const Question &question) {
    auto found = decide(question);
    if (!found)
        return false;
    if (auto missed = lines_.admit(loop_.now())) {
        std::string line = log_line(request_of(question), *found) + not_logged(*missed);
        if (found->allowed)
            log_.info("{}", line);
        else
            log_.warning("{}", line);
    }
    return found->allowed;
}

} // namespace pmixhost
