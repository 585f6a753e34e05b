// See secret_box.h.
#include "common/transport/secret_box.h"

#include "common/base/random_bytes.h"

#include <algorithm>
#include <nettle/gcm.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>

namespace pmixhost {

namespace {

const std::uint8_t *box_octets(std::string_view bytes) {
    return reinterpret_cast<const std::uint8_t *>(bytes.data());
}

// nettle's generic functions want a hash of this type.
void box_authenticate(void *mac, std::size_t n, const std::uint8_t *bytes) {
    hmac_sha256_update(static_cast<hmac_sha256_ctx *>(mac), n, bytes);
}
void box_finish(void *mac, std::size_t n, std::uint8_t *to) {
    hmac_sha256_digest(static_cast<hmac_sha256_ctx *>(mac), n, to);
}

using BoxKey = std::array<std::uint8_t, AES256_KEY_SIZE>;

BoxKey derive_box_key(std::string_view secret, std::string_view purpose) {
    constexpr std::string_view salt = "pmixhost secret 1";
    hmac_sha256_ctx mac;
    std::uint8_t extracted[SHA256_DIGEST_SIZE];
    hmac_sha256_set_key(&mac, salt.size(), box_octets(salt));
    hkdf_extract(&mac, box_authenticate, box_finish, SHA256_DIGEST_SIZE, secret.size(), box_octets(secret), extracted);
    hmac_sha256_set_key(&mac, sizeof extracted, extracted);
    BoxKey key;
    hkdf_expand(&mac, box_authenticate, box_finish, SHA256_DIGEST_SIZE, purpose.size(), box_octets(purpose), key.size(),
                key.data());
    return key;
}

using BoxTag = std::array<std::uint8_t, SecretBox::tag_size>;

} // namespace

struct SecretBox::Key {
    gcm_aes256_ctx context;

    explicit Key(const BoxKey &key) { gcm_aes256_set_key(&context, key.data()); }
    BoxTag tag() {
        BoxTag tag;
        gcm_aes256_digest(&context, tag.size(), tag.data());
        return tag;
    }
};

SecretBox::SecretBox(std::string_view secret, std::string_view purpose)
    : key_(secret.empty() ? nullptr : std::make_unique<Key>(derive_box_key(secret, purpose))) {}

SecretBox::~SecretBox() = default;

Result<Bytes> SecretBox::seal(std::string_view statement) {
    if (!key_)
        return error(ErrorKind::denied, "there is no secret to prove anything with");
    Bytes sealed = random_bytes(nonce_size);
    Nonce nonce;
    std::copy_n(box_octets(sealed), nonce_size, nonce.begin());
    if (used_.size() < max_opened)
        used_.insert(nonce);
    gcm_aes256_set_iv(&key_->context, nonce.size(), nonce.data());
    sealed.resize(nonce_size + statement.size());
    gcm_aes256_encrypt(&key_->context, statement.size(), reinterpret_cast<std::uint8_t *>(sealed.data()) + nonce_size,
                       box_octets(statement));
    BoxTag tag = key_->tag();
    sealed.append(reinterpret_cast<const char *>(tag.data()), tag.size());
    return sealed;
}

Result<Bytes> SecretBox::open(std::string_view sealed) {
    auto denied = [] { return error(ErrorKind::denied, "the peer does not know the secret of this step or run"); };
    if (!key_ || sealed.size() < overhead)
        return denied();
    Nonce nonce;
    std::copy_n(box_octets(sealed), nonce_size, nonce.begin());
    sealed.remove_prefix(nonce_size);
    Bytes statement(sealed.size() - tag_size, '\0');
    gcm_aes256_set_iv(&key_->context, nonce.size(), nonce.data());
    gcm_aes256_decrypt(&key_->context, statement.size(), reinterpret_cast<std::uint8_t *>(statement.data()),
                       box_octets(sealed));
    BoxTag tag = key_->tag();
    if (!memeql_sec(tag.data(), sealed.data() + statement.size(), tag.size()))
        return denied();
    if (used_.size() >= max_opened)
        return error(ErrorKind::limit, "{} proofs with one secret; a new step or run has a new one", +max_opened);
    if (!used_.insert(nonce).second)
        return error(ErrorKind::denied, "a proof was given a second time, or to who had made it");
    return statement;
}

std::string public_name_of(std::string_view secret) {
    BoxKey key = derive_box_key(secret, "public name");
    return fmt::format("{:02x}{:02x}{:02x}{:02x}", key[0], key[1], key[2], key[3]);
}

} // namespace pmixhost
