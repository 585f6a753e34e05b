// See cross_job_posted.h.
#include "server-glue/cross_job/cross_job_posted.h"

namespace pmixhost {

void CrossJobPosted::keep(const Bytes &nspace, Rank rank, Bytes data) {
    Key key{nspace, rank};
    if (auto old = kept_.find(key); old != kept_.end())
        forget(old);
    if (data.size() > max_bytes)
        return;
    bytes_ += data.size();
    by_age_.emplace(next_order_, key);
    kept_.emplace(std::move(key), Kept{std::move(data), next_order_++});
    while (bytes_ > max_bytes || kept_.size() > max_processes)
        forget(kept_.find(by_age_.begin()->second));
}

std::optional<Bytes> CrossJobPosted::take(const Bytes &nspace, Rank rank) {
    auto found = kept_.find({nspace, rank});
    if (found == kept_.end())
        return std::nullopt;
    Bytes data = std::move(found->second.data);
    found->second.data.clear();
    bytes_ -= data.size();
    forget(found);
    return data;
}

void CrossJobPosted::forget(const Bytes &nspace) {
    for (auto next = kept_.lower_bound({nspace, 0}); next != kept_.end() && next->first.first == nspace;)
        forget(next++);
}

void CrossJobPosted::forget(std::map<Key, Kept>::iterator place) {
    bytes_ -= place->second.data.size();
    by_age_.erase(place->second.order);
    kept_.erase(place);
}

} // namespace pmixhost
