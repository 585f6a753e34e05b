// What pmixhostd is told at its start: a small text of "key value" lines, written by the program
// that starts it (an RM's plugin, `pmixhost run`) into a descriptor, and read once.
//
//   * One line per pair: KEY SP VALUE LF. A key is [a-z0-9_.-]+; a value may hold any byte but LF
//     and NUL; a key may repeat (an ordered list).
//   * Bounded: 16 MiB in all, 1,000,000 lines.
//
// The keys are listed in contrib/doc/start-document.md. The shim uses this, so it needs no libevent, no libpmix and
// no other library.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pmixhost {

class StartDocument {
  public:
    static constexpr std::size_t max_bytes = 16u << 20;
    static constexpr std::size_t max_lines = 1'000'000;

    // Fails (invalid) on a key or value that the format cannot hold, and (limit) on too many lines.
    Result<void> add(std::string_view key, std::string_view value);
    std::string encode() const;

    // Fails (invalid, limit) on a text that is none.
    static Result<StartDocument> decode(std::string_view text);
    // Reads to end of file, at most max_bytes. Blocking: used before the event loop runs. Fails as decode() and
    // read(2) do.
    static Result<StartDocument> read_from(int fd);

    // The first value, or an Error (not_found; invalid for what is no number up to `max`) that names the key.
    Result<std::string> text(std::string_view key) const;
    Result<std::uint64_t> number(std::string_view key, std::uint64_t max) const;
    std::vector<std::string> all(std::string_view key) const;
    bool has(std::string_view key) const;
    // All, in order.
    const std::vector<std::pair<std::string, std::string>> &pairs() const { return pairs_; }

  private:
    std::vector<std::pair<std::string, std::string>> pairs_;
};

// Writes one line by line; the first that it cannot have is its failure.
class StartDocumentWriter {
  public:
    void add(std::string_view key, std::string_view value) {
        if (added_)
            added_ = document_.add(key, value);
    }
    // Once, the last.
    Result<StartDocument> finish() {
        if (!added_)
            return added_.failure();
        return std::move(document_);
    }

  private:
    StartDocument document_;
    Result<void> added_;
};

} // namespace pmixhost
