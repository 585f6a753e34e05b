// See recent_output.h.
#include "server-glue/iof/recent_output.h"

#include <algorithm>

namespace pmixhost {

void RecentOutput::add(TimePoint now, std::string_view bytes) {
    if (bytes.empty())
        return;
    bytes_ += bytes;
    if (!moments_.empty() && now - moments_.back().first <= moment) {
        moments_.back().last = now;
        moments_.back().size += bytes.size();
    } else {
        moments_.push_back({now, now, bytes.size()});
    }
    if (bytes_.size() > 2 * most_bytes_) // so that not each newcomer has all moved
        forget(bytes_.size() - most_bytes_);
    if (moments_.size() > most_moments)
        join([now](const Moment &one, const Moment &next) { return next.last - one.first <= (now - next.last) / 4; });
    if (moments_.size() > most_moments) // a clock that runs for years
        join([](const Moment &, const Moment &) { return true; });
}

// Makes one of neighbours that belong together.
template <typename Together> void RecentOutput::join(Together together) {
    std::vector<Moment> fewer;
    for (const auto &each : moments_) {
        if (!fewer.empty() && together(fewer.back(), each)) {
            fewer.back().last = each.last;
            fewer.back().size += each.size;
        } else {
            fewer.push_back(each);
        }
    }
    moments_ = std::move(fewer);
}

void RecentOutput::forget(std::size_t bytes) {
    bytes_.erase(0, bytes);
    auto first = moments_.begin();
    for (; first != moments_.end() && first->size <= bytes; ++first) {
        bytes -= first->size;
        forgotten_until_ = first->last;
    }
    if (first != moments_.end() && bytes > 0) {
        first->size -= bytes;
        forgotten_until_ = first->last;
    }
    moments_.erase(moments_.begin(), first);
}

RecentOutput::Left RecentOutput::left_out(TimePoint since) const {
    Left left;
    for (auto each = moments_.begin(); each != moments_.end() && each->last < since; ++each)
        left.older += each->size;
    left.too_many = bytes_.size() > most_bytes_ ? bytes_.size() - most_bytes_ : 0;
    return left;
}

std::string_view RecentOutput::last(TimePoint since) const {
    Left left = left_out(since);
    return std::string_view(bytes_).substr(std::max(left.older, left.too_many));
}

bool RecentOutput::is_cut(TimePoint since) const {
    Left left = left_out(since);
    bool was_forgotten = forgotten_until_ != TimePoint::min() && forgotten_until_ >= since;
    return left.too_many > left.older || (left.older == 0 && was_forgotten);
}

} // namespace pmixhost
