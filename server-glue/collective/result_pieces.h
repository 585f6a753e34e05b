// A large result of a collective, an encoded wire::CollectiveDown, on its way down in pieces. Pure.
//
// Each piece is a wire::CollectivePiece and is sent on as it came. What it carries is copied once, to where it belongs
// in the result, as it comes.
#pragma once

#include "common/base/bytes.h"
#include "common/wire/collective_messages.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace pmixhost {

class ResultPieces {
  public:
    // Nobody cuts a result into more of them.
    static constexpr std::uint32_t most = 32'768;

    // Of a result of `total` bytes, of which nothing is here yet. Nothing where there is no such result.
    static std::optional<ResultPieces> expect(std::uint32_t count, std::uint32_t total);
    // All of a result, about `each` bytes in each piece.
    static ResultPieces cut(const Bytes &key, std::uint64_t sequence, const Bytes &result, std::size_t each);

    std::uint32_t count() const { return static_cast<std::uint32_t>(pieces_.size()); }
    std::uint32_t total() const { return total_; }
    bool whole() const { return here_ == pieces_.size(); }
    // `encoded` is that message. False where it is here already, or is none of this result.
    bool add(const wire::CollectivePiece &piece, SharedBytes encoded);
    // Null where one is not here.
    const std::vector<SharedBytes> &all() const { return pieces_; }
    // The result, once. Precondition: whole(), by add(). Nothing where that is no such message.
    std::optional<wire::CollectiveDown> take_result();

  private:
    ResultPieces(std::uint32_t count, std::uint32_t total) : total_(total), pieces_(count) {}
    std::size_t each() const { return (std::size_t{total_} + pieces_.size() - 1) / pieces_.size(); }
    std::size_t size_of(std::uint32_t index) const;

    std::uint32_t total_;
    std::vector<SharedBytes> pieces_;
    std::size_t here_ = 0;
    Bytes result_;                         // from its beginning on, as far as all of it is here
    std::uint32_t next_ = 0;               // the first piece that is not in it
    std::map<std::uint32_t, Bytes> early_; // what is behind it
};

} // namespace pmixhost
