// See namespace_asks.h.
#include "server-glue/cross_job/namespace_asks.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

void NamespaceAsks::ask(const Bytes &nspace, TimePoint deadline, Answer answer) {
    if (waiting_ >= max_waiting)
        return answer(PMIX_ERR_OUT_OF_RESOURCE, nullptr);
    auto [question, fresh] = questions_.try_emplace(nspace);
    question->second.waiting.push_back({deadline, std::move(answer)});
    ++waiting_;
    if (!fresh)
        return;
    question->second.id = next_id_++;
    wire::NamespaceRequest message;
    message.id = question->second.id;
    message.nspace = nspace;
    if (!send_(wire::NamespaceRequest::type, share(wire::encode(message))))
        settle(questions_.find(nspace), PMIX_ERR_NOT_FOUND, nullptr);
}

void NamespaceAsks::settle(std::map<Bytes, Question>::iterator question, std::int32_t status,
                           const wire::NamespaceInfo *info) {
    if (question == questions_.end())
        return;
    auto node = questions_.extract(question);
    waiting_ -= node.mapped().waiting.size();
    for (auto &waiting : node.mapped().waiting)
        waiting.answer(status, info);
}

void NamespaceAsks::on_reply(const wire::NamespaceReply &message) {
    auto question = std::find_if(questions_.begin(), questions_.end(),
                                 [&](const auto &entry) { return entry.second.id == message.id; });
    if (question == questions_.end())
        return; // its time was up
    if (message.status != PMIX_SUCCESS)
        return settle(question, message.status, nullptr);
    // A reply about another namespace than was asked for is not believed.
    bool sound = message.info.nspace == question->first;
    settle(question, sound ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, sound ? &message.info : nullptr);
}

void NamespaceAsks::on_session_gone() {
    while (!questions_.empty())
        settle(questions_.begin(), PMIX_ERR_LOST_CONNECTION, nullptr);
}

TimePoint NamespaceAsks::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[nspace, question] : questions_) {
        for (const auto &waiting : question.waiting)
            next = std::min(next, waiting.deadline);
    }
    return next;
}

void NamespaceAsks::on_time(TimePoint now) {
    std::vector<Answer> late;
    for (auto next = questions_.begin(); next != questions_.end();) {
        auto question = next++;
        auto &waiting = question->second.waiting;
        auto first = std::stable_partition(waiting.begin(), waiting.end(),
                                           [&](const Waiting &each) { return each.deadline > now; });
        for (auto each = first; each != waiting.end(); ++each, --waiting_)
            late.push_back(std::move(each->answer));
        waiting.erase(first, waiting.end());
        if (waiting.empty())
            questions_.erase(question); // whoever asks next asks anew
    }
    for (auto &answer : late)
        answer(PMIX_ERR_TIMEOUT, nullptr);
}

} // namespace pmixhost
