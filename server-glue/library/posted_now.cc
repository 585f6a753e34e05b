// See posted_now.h.
#include "server-glue/library/posted_now.h"

namespace pmixhost {

std::pair<std::shared_ptr<PostedNow::Look>, std::vector<Rank>>
PostedNow::begin(const std::string &nspace, const std::vector<Rank> &ranks, Done done) {
    auto look = std::make_shared<Look>(std::move(done));
    std::vector<Rank> unasked;
    for (Rank rank : ranks) {
        auto [place, fresh] = unanswered_.try_emplace({nspace, rank});
        std::erase_if(place->second, [](const auto &each) { return each.expired(); });
        place->second.push_back(look);
        if (fresh)
            unasked.push_back(rank);
    }
    return {std::move(look), std::move(unasked)};
}

void PostedNow::on_answer(const std::string &nspace, Rank rank, const Bytes *data) {
    auto node = unanswered_.extract({nspace, rank});
    if (!node || !data)
        return;
    for (const auto &each : node.mapped()) {
        if (auto look = each.lock(); look && look->done_)
            look->data_.emplace(rank, *data);
    }
}

void PostedNow::end(Look &look) {
    std::exchange(look.done_, nullptr)(std::move(look.data_));
}

} // namespace pmixhost
