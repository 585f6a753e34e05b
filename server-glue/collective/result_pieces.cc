// See result_pieces.h.
#include "server-glue/collective/result_pieces.h"

#include <algorithm>

namespace pmixhost {

ResultPieces ResultPieces::cut(const Bytes &key, std::uint64_t sequence, const Bytes &result, std::size_t each) {
    each = std::max(each, result.size() / most + 1);
    ResultPieces out(static_cast<std::uint32_t>((result.size() + each - 1) / each));
    wire::CollectivePiece piece{key, sequence, 0, out.count(), {}};
    for (; piece.index < out.count(); ++piece.index) {
        piece.bytes = result.substr(piece.index * each, each);
        out.add(piece.index, share(wire::encode(piece)));
    }
    return out;
}

bool ResultPieces::add(std::uint32_t index, SharedBytes piece) {
    if (pieces_[index])
        return false;
    pieces_[index] = std::move(piece);
    ++here_;
    return true;
}

std::optional<wire::CollectiveDown> ResultPieces::result() const {
    Bytes bytes;
    for (const auto &piece : pieces_) {
        auto one = wire::decode<wire::CollectivePiece>(*piece);
        if (!one)
            return std::nullopt;
        bytes += one->bytes;
    }
    auto down = wire::decode<wire::CollectiveDown>(bytes);
    return down ? std::optional(std::move(*down)) : std::nullopt;
}

} // namespace pmixhost
