// See job_tables.h.
#include "server-glue/query/job_tables.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

void JobTables::ask(TimePoint now, const Bytes &nspace, const std::string &only_on, Duration timeout, Answer answer) {
    if (waiting_ >= max_waiting)
        return answer(PMIX_ERR_OUT_OF_RESOURCE, {});
    timeout = std::clamp<Duration>(timeout, std::chrono::milliseconds(1), longest);
    ++waiting_;
    Waiting waiting{now + timeout, std::move(answer)};
    for (auto &[id, question] : questions_) {
        if (question.nspace == nspace && question.only_on == only_on)
            return question.next.push_back(std::move(waiting));
    }
    Question question{nspace, only_on, {}, {}};
    question.waiting.push_back(std::move(waiting));
    put(now, std::move(question));
}

void JobTables::put(TimePoint now, Question question) {
    TimePoint until = now;
    for (const auto &waiting : question.waiting)
        until = std::max(until, waiting.deadline);
    wire::JobTableRequest message;
    message.id = next_id_++;
    message.nspace = question.nspace;
    message.only_on = question.only_on;
    message.timeout_ms =
        static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(until - now).count());
    questions_.emplace(message.id, std::move(question));
    if (!send_(wire::JobTableRequest::type, share(wire::encode(message))))
        settle(now, message.id, PMIX_ERR_NOT_FOUND, {});
}

void JobTables::settle(TimePoint now, std::uint64_t id, std::int32_t status,
                       const std::vector<wire::TableHost> &hosts) {
    auto node = questions_.extract(id);
    if (!node)
        return;
    Question question = std::move(node.mapped());
    auto answered = std::exchange(question.waiting, std::exchange(question.next, {}));
    waiting_ -= answered.size();
    if (!question.waiting.empty())
        put(now, std::move(question));
    for (auto &waiting : answered)
        waiting.answer(status, hosts);
}

void JobTables::on_reply(TimePoint now, const wire::JobTableReply &message) {
    if (message.status == PMIX_SUCCESS)
        settle(now, message.id, PMIX_SUCCESS, message.hosts);
    else
        settle(now, message.id, message.status, {});
}

void JobTables::on_session_gone() {
    std::vector<Answer> lost;
    for (auto &[id, question] : std::exchange(questions_, {})) {
        for (auto *list : {&question.waiting, &question.next}) {
            for (auto &waiting : *list)
                lost.push_back(std::move(waiting.answer));
        }
    }
    waiting_ = 0;
    for (auto &answer : lost)
        answer(PMIX_ERR_LOST_CONNECTION, {});
}

TimePoint JobTables::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, question] : questions_) {
        for (const auto *list : {&question.waiting, &question.next}) {
            for (const auto &waiting : *list)
                next = std::min(next, waiting.deadline);
        }
    }
    return next;
}

// A question that nobody waits for any more goes; its answer finds nobody.
void JobTables::on_time(TimePoint now) {
    std::vector<Answer> late;
    std::vector<std::uint64_t> unwanted;
    for (auto &[id, question] : questions_) {
        for (auto *list : {&question.waiting, &question.next}) {
            for (auto &each : *list) {
                if (each.deadline <= now)
                    late.push_back(std::move(each.answer));
            }
            waiting_ -= std::erase_if(*list, [now](const Waiting &each) { return each.deadline <= now; });
        }
        if (question.waiting.empty())
            unwanted.push_back(id);
    }
    for (std::uint64_t id : unwanted)
        settle(now, id, PMIX_ERR_TIMEOUT, {});
    for (auto &answer : late)
        answer(PMIX_ERR_TIMEOUT, {});
}

} // namespace pmixhost
