// See job_tables.h.
#include "server-glue/query/job_tables.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

void JobTables::ask(TimePoint now, const Bytes &nspace, const std::string &only_on, Duration timeout, Answer answer) {
    static constexpr Duration longest = std::chrono::hours(24);
    if (waiting_.size() >= max_waiting)
        return answer(PMIX_ERR_OUT_OF_RESOURCE, {});
    timeout = std::clamp<Duration>(timeout, std::chrono::milliseconds(1), longest);
    wire::JobTableRequest message;
    message.id = next_id_++;
    message.nspace = nspace;
    message.only_on = only_on;
    message.timeout_ms =
        static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
    waiting_.emplace(message.id, Waiting{now + timeout, std::move(answer)});
    if (!send_(wire::JobTableRequest::type, share(wire::encode(message))))
        settle(message.id, PMIX_ERR_NOT_FOUND, {});
}

void JobTables::settle(std::uint64_t id, std::int32_t status, const std::vector<wire::TableHost> &hosts) {
    if (auto node = waiting_.extract(id))
        node.mapped().answer(status, hosts);
}

void JobTables::on_reply(const wire::JobTableReply &message) {
    if (message.status == PMIX_SUCCESS)
        settle(message.id, PMIX_SUCCESS, message.hosts);
    else
        settle(message.id, message.status, {});
}

void JobTables::on_session_gone() {
    while (!waiting_.empty())
        settle(waiting_.begin()->first, PMIX_ERR_LOST_CONNECTION, {});
}

TimePoint JobTables::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, waiting] : waiting_)
        next = std::min(next, waiting.deadline);
    return next;
}

void JobTables::on_time(TimePoint now) {
    for (auto next = waiting_.begin(); next != waiting_.end();) {
        auto waiting = next++;
        if (waiting->second.deadline <= now)
            settle(waiting->first, PMIX_ERR_TIMEOUT, {});
    }
}

} // namespace pmixhost
