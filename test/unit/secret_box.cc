// What is sealed with a secret: nobody without it reads, changes, makes or repeats it.
#include "common/transport/secret_box.h"

#include "common/transport/authenticator.h"

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::string_view_literals;

namespace {

constexpr std::string_view statement = "I am host 1 of step 12.0, and my secret is 0123456789abcdef";

bool is_denied(const Result<Bytes> &opened) {
    return !opened && opened.failure().kind == ErrorKind::denied;
}

Bytes sealed_by(std::string_view secret, std::string_view what = statement, std::string_view purpose = "test") {
    SecretBox box(secret, purpose);
    auto sealed = box.seal(what);
    assert_true(sealed.ok());
    return *sealed;
}

void what_one_seals_another_opens(void **) {
    Bytes whole(100'003, 'x');
    for (std::size_t size : {0, 1, 15, 16, 17, 1000, 100'003}) {
        SecretBox box("secret", "test");
        auto opened = box.open(sealed_by("secret", std::string_view(whole).substr(0, size)));
        assert_true(opened.ok() && *opened == whole.substr(0, size));
    }
}

void it_shows_neither_the_statement_nor_the_secret(void **) {
    Bytes secret(32, 's'), one = sealed_by(secret), other = sealed_by(secret);
    assert_int_equal(one.size(), statement.size() + SecretBox::overhead);
    for (std::size_t at = 0; at + 4 <= statement.size(); ++at)
        assert_true(one.find(statement.substr(at, 4)) == Bytes::npos);
    assert_true(one.find("ssss") == Bytes::npos);
    assert_true(one.substr(0, SecretBox::nonce_size) != other.substr(0, SecretBox::nonce_size));
    assert_true(one.substr(SecretBox::nonce_size) != other.substr(SecretBox::nonce_size));
}

void with_another_secret_or_for_another_purpose_it_does_not_open(void **) {
    for (std::string_view secret : {"secreT"sv, "secret\0"sv, "s"sv, "secretsecret"sv}) {
        SecretBox box(secret, "test");
        assert_true(is_denied(box.open(sealed_by("secret"))));
    }
    SecretBox box("secret", "another");
    assert_true(is_denied(box.open(sealed_by("secret"))));
}

void nothing_is_sealed_or_opened_without_a_secret(void **) {
    SecretBox none("", "test");
    assert_true(is_denied(none.seal("x")));
    assert_true(is_denied(none.open(sealed_by("secret"))));
    assert_true(is_denied(none.open(Bytes(64, '\0'))));
}

void each_bit_counts(void **) {
    SecretBox box("secret", "test");
    Bytes sealed = sealed_by("secret");
    for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
        Bytes changed = sealed;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        assert_true(is_denied(box.open(changed)));
    }
    assert_true(box.open(sealed).ok());
}

void what_is_cut_or_longer_is_none(void **) {
    SecretBox box("secret", "test");
    Bytes sealed = sealed_by("secret");
    for (std::size_t size = 0; size < sealed.size(); ++size) {
        assert_true(is_denied(box.open(sealed.substr(0, size))));
        assert_true(is_denied(box.open(sealed.substr(sealed.size() - size))));
    }
    assert_true(is_denied(box.open(sealed + Bytes(1, '\0'))));
    assert_true(is_denied(box.open(sealed + sealed)));
}

void it_opens_once(void **) {
    SecretBox box("secret", "test"), other("secret", "test");
    Bytes sealed = sealed_by("secret");
    assert_true(box.open(sealed).ok());
    assert_true(is_denied(box.open(sealed)));
    assert_true(other.open(sealed).ok()); // who has not seen it: the statement must say for whom it is
}

void nobody_opens_what_he_has_sealed(void **) {
    SecretBox box("secret", "test");
    auto own = box.seal(statement);
    assert_true(own.ok() && is_denied(box.open(*own)));
}

void an_authenticator_takes_what_another_proves(void **) {
    auto prover = make_secret_authenticator("secret"), verifier = make_secret_authenticator("secret"),
         stranger = make_secret_authenticator("other"), nobody = make_secret_authenticator("");
    auto prove = [](Authenticator &who) {
        Result<Bytes> proof = Bytes();
        who.prove(Bytes(statement), [&](Result<Bytes> made) { proof = std::move(made); });
        return proof;
    };
    auto verify = [](Authenticator &who, const Bytes &proof) {
        Result<Bytes> said = Bytes();
        who.verify(proof, [&](Result<Bytes> verified) { said = std::move(verified); });
        return said;
    };
    auto proof = prove(*prover);
    assert_true(proof.ok() && proof->find("secret") == Bytes::npos);
    assert_true(is_denied(verify(*stranger, *proof)));
    assert_true(is_denied(verify(*nobody, *proof)));
    assert_true(is_denied(verify(*prover, *proof)));
    auto said = verify(*verifier, *proof);
    assert_true(said.ok() && *said == statement);
    assert_true(is_denied(verify(*verifier, *proof)));
    assert_true(is_denied(verify(*verifier, *prove(*stranger))));
    assert_true(is_denied(verify(*verifier, "secret" + Bytes(statement))));
    assert_true(is_denied(prove(*nobody)));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_one_seals_another_opens),
        cmocka_unit_test(it_shows_neither_the_statement_nor_the_secret),
        cmocka_unit_test(with_another_secret_or_for_another_purpose_it_does_not_open),
        cmocka_unit_test(nothing_is_sealed_or_opened_without_a_secret),
        cmocka_unit_test(each_bit_counts),
        cmocka_unit_test(what_is_cut_or_longer_is_none),
        cmocka_unit_test(it_opens_once),
        cmocka_unit_test(nobody_opens_what_he_has_sealed),
        cmocka_unit_test(an_authenticator_takes_what_another_proves),
    };
    return cmocka_run_group_tests_name("secret_box", tests, nullptr, nullptr);
}
