// A large result of a collective on its way down, in pieces: each an encoded wire::CollectivePiece, which is sent on as
// it came. Pure.
#pragma once

#include "common/base/bytes.h"
#include "common/wire/collective_messages.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace pmixhost {

class ResultPieces {
  public:
    // A result of as many bytes as fit into a frame has no more of them.
    static constexpr std::uint32_t most = 32'768;

    // Of which none is here yet. Precondition: 0 < count <= most.
    explicit ResultPieces(std::uint32_t count) : pieces_(count) {}
    // All of a result, an encoded wire::CollectiveDown, `each` bytes in each piece.
    static ResultPieces cut(const Bytes &key, std::uint64_t sequence, const Bytes &result, std::size_t each);

    std::uint32_t count() const { return static_cast<std::uint32_t>(pieces_.size()); }
    bool whole() const { return here_ == pieces_.size(); }
    // False where it is here already. Precondition: index < count().
    bool add(std::uint32_t index, SharedBytes piece);
    // Null where it is not here.
    const std::vector<SharedBytes> &all() const { return pieces_; }
    // Precondition: whole(). Nothing where they are not of one such message.
    std::optional<wire::CollectiveDown> result() const;

  private:
    std::vector<SharedBytes> pieces_;
    std::size_t here_ = 0;
};

} // namespace pmixhost
