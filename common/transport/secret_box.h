// Statements that pass between processes with a common secret: who does not have it can neither read one, nor change or
// make one, nor give the same one twice. What it is for and what it cannot do: contrib/doc/decisions/step-secret.md.
//
// A sealed statement is
//     12 bytes nonce (random) | the statement, encrypted | 16 bytes tag
// with AES-256-GCM (NIST SP 800-38D) under a key that HKDF-SHA256 makes of the secret and of what the box is for, so
// that what was sealed for one purpose opens for no other. The key is that of all processes with the secret: nonces are
// random, and there are far fewer than the 2^32 that the standard allows them.
//
// Used by the shim too, so: nettle, and no other library.
#pragma once

#include "common/base/bytes.h"
#include "common/base/result.h"

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace pmixhost {

class SecretBox {
  public:
    static constexpr std::size_t nonce_size = 12, tag_size = 16;
    static constexpr std::size_t overhead = nonce_size + tag_size;
    // What a box remembers to refuse; only who has the secret can fill it, and a box that is full opens nothing more.
    static constexpr std::size_t max_opened = 1u << 20;

    // `purpose`: a text of the protocol. Nothing is sealed or opened with an empty secret.
    SecretBox(std::string_view secret, std::string_view purpose);
    ~SecretBox();
    SecretBox(const SecretBox &) = delete;

    // Fails (denied) without a secret.
    Result<Bytes> seal(std::string_view statement);
    // The statement. Fails (denied) on what was not sealed with this secret for this purpose, on what this box has
    // opened before, and on what it has sealed itself: that is its own word, played back.
    Result<Bytes> open(std::string_view sealed);

  private:
    using Nonce = std::array<std::uint8_t, nonce_size>;
    struct Key;
    std::unique_ptr<Key> key_; // null: no secret
    std::set<Nonce> used_;
};

// A word of 8 hex digits by which those with the secret find each other among others. It may be seen by everybody.
std::string public_name_of(std::string_view secret);

} // namespace pmixhost
