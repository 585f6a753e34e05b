// See frame_tag.h.
#include "common/transport/frame_tag.h"

#include "common/wire/codec.h"

#include <algorithm>
#include <nettle/aes.h>
#include <nettle/gcm.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>

namespace pmixhost {

namespace {

const std::uint8_t *octets(std::string_view bytes) {
    return reinterpret_cast<const std::uint8_t *>(bytes.data());
}

// nettle's generic functions want a cipher of this type.
void encrypt(const void *cipher, std::size_t n, std::uint8_t *to, const std::uint8_t *from) {
    aes256_encrypt(static_cast<const aes256_ctx *>(cipher), n, to, from);
}
void authenticate(void *mac, std::size_t n, const std::uint8_t *bytes) {
    hmac_sha256_update(static_cast<hmac_sha256_ctx *>(mac), n, bytes);
}
void finish(void *mac, std::size_t n, std::uint8_t *to) {
    hmac_sha256_digest(static_cast<hmac_sha256_ctx *>(mac), n, to);
}

FrameKey expand(hmac_sha256_ctx &extracted, std::string_view purpose) {
    FrameKey key;
    hkdf_expand(&extracted, authenticate, finish, SHA256_DIGEST_SIZE, purpose.size(), octets(purpose), key.size(),
                key.data());
    return key;
}

} // namespace

FrameKeys frame_keys(const Bytes &hello, const Bytes &welcome) {
    Bytes both; // each with its length before it: no other pair gives the same bytes
    wire::Writer writer(both);
    writer.put(hello);
    writer.put(welcome);

    constexpr std::string_view salt = "pmixhost frame tags 1";
    hmac_sha256_ctx mac;
    hmac_sha256_set_key(&mac, salt.size(), octets(salt));
    std::uint8_t extracted[SHA256_DIGEST_SIZE];
    hkdf_extract(&mac, authenticate, finish, SHA256_DIGEST_SIZE, both.size(), octets(both), extracted);
    hmac_sha256_set_key(&mac, sizeof extracted, extracted);
    return {expand(mac, "from the dialer"), expand(mac, "from the listener")};
}

struct FrameTags::State {
    aes256_ctx cipher;
    gcm_key key;
    gcm_ctx payload; // of the frame that has begun
    std::uint64_t frames = 0;
    // GCM takes whole blocks until the last: the begin of one that is not whole yet.
    std::uint8_t block[GCM_BLOCK_SIZE];
    std::size_t in_block = 0;

    void begin(gcm_ctx &context, std::uint8_t part) {
        std::uint8_t nonce[GCM_IV_SIZE] = {0, 0, 0, part};
        for (int i = 0; i < 8; ++i)
            nonce[4 + i] = static_cast<std::uint8_t>((frames - 1) >> (56 - 8 * i));
        gcm_set_iv(&context, &key, sizeof nonce, nonce);
    }
    Tag end(gcm_ctx &context) {
        Tag tag;
        gcm_digest(&context, &key, &cipher, encrypt, tag.size(), reinterpret_cast<std::uint8_t *>(tag.data()));
        return tag;
    }
};

FrameTags::FrameTags(const FrameKey &key) : state_(std::make_unique<State>()) {
    aes256_set_encrypt_key(&state_->cipher, key.data());
    gcm_set_key(&state_->key, &state_->cipher, encrypt);
}

FrameTags::~FrameTags() = default;

std::uint64_t FrameTags::frames() const {
    return state_->frames;
}

FrameTags::Tag FrameTags::of_header(std::string_view header) {
    ++state_->frames;
    gcm_ctx context;
    state_->begin(context, 0);
    gcm_update(&context, &state_->key, header.size(), octets(header));
    state_->begin(state_->payload, 1);
    state_->in_block = 0;
    return state_->end(context);
}

void FrameTags::add(std::string_view piece) {
    State &s = *state_;
    if (s.in_block > 0) {
        std::size_t n = std::min(piece.size(), sizeof s.block - s.in_block);
        std::copy_n(piece.begin(), n, s.block + s.in_block);
        s.in_block += n;
        piece.remove_prefix(n);
        if (s.in_block < sizeof s.block)
            return;
        gcm_update(&s.payload, &s.key, sizeof s.block, s.block);
    }
    std::size_t left = piece.size() % sizeof s.block;
    gcm_update(&s.payload, &s.key, piece.size() - left, octets(piece));
    std::copy_n(piece.end() - left, left, s.block);
    s.in_block = left;
}

FrameTags::Tag FrameTags::of_payload() {
    State &s = *state_;
    gcm_update(&s.payload, &s.key, s.in_block, s.block);
    s.in_block = 0;
    return s.end(s.payload);
}

bool FrameTags::same(const Tag &tag, const char *bytes) {
    return memeql_sec(tag.data(), bytes, tag.size());
}

} // namespace pmixhost
