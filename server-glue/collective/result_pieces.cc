// See result_pieces.h.
#include "server-glue/collective/result_pieces.h"

#include "common/wire/frame.h"

#include <algorithm>

namespace pmixhost {

std::optional<ResultPieces> ResultPieces::expect(std::uint32_t count, std::uint32_t total) {
    if (count == 0 || count > most || total < count || total > wire::frame_limit)
        return std::nullopt;
    ResultPieces out(count, total);
    // As many pieces as that have no empty one among them.
    return out.each() * (count - 1) < total ? std::optional(std::move(out)) : std::nullopt;
}

ResultPieces ResultPieces::cut(const Bytes &key, std::uint64_t sequence, const Bytes &result, std::size_t each) {
    each = std::max(each, result.size() / most + 1);
    ResultPieces out(static_cast<std::uint32_t>((result.size() + each - 1) / each),
                     static_cast<std::uint32_t>(result.size()));
    // Who gets them knows their number and the size of all, not what was wished for.
    while (out.each() * (out.count() - 1) >= result.size())
        out.pieces_.pop_back();
    wire::CollectivePiece piece{key, sequence, 0, out.count(), out.total_, {}};
    for (; piece.index < out.count(); ++piece.index) {
        piece.bytes = result.substr(piece.index * out.each(), out.each());
        out.pieces_[piece.index] = share(wire::encode(piece));
    }
    out.here_ = out.pieces_.size();
    return out;
}

std::size_t ResultPieces::size_of(std::uint32_t index) const {
    return std::min(each(), total_ - each() * index);
}

bool ResultPieces::add(const wire::CollectivePiece &piece, SharedBytes encoded) {
    if (piece.count != count() || piece.total != total_ || piece.index >= count() || pieces_[piece.index] ||
        piece.bytes.size() != size_of(piece.index))
        return false;
    pieces_[piece.index] = std::move(encoded);
    ++here_;
    if (piece.index != next_) {
        early_.emplace(piece.index, piece.bytes);
        return true;
    }
    if (next_ == 0)
        result_.reserve(total_);
    result_ += piece.bytes;
    for (++next_; auto early = early_.extract(next_); ++next_)
        result_ += early.mapped();
    return true;
}

std::optional<wire::CollectiveDown> ResultPieces::take_result() {
    auto down = wire::decode<wire::CollectiveDown>(std::exchange(result_, {}));
    return down ? std::optional(std::move(*down)) : std::nullopt;
}

} // namespace pmixhost
