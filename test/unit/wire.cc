// The wire codec: what is encoded comes back, and no cut, lie or garbage gets through.
#include "common/transport/contact.h"
#include "common/transport/tree.h"
#include "common/wire/collective_messages.h"
#include "common/wire/frame.h"

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::wire;

static CollectiveUp sample() {
    CollectiveUp message;
    message.signature = Bytes("sig\0nature", 10);
    message.sequence = 0x0102030405060708;
    message.status = -25;
    message.contributions = {{1, "one"}, {7, Bytes(1000, 'x')}, {0xffffffff, ""}};
    return message;
}

static void round_trip(void **) {
    auto bytes = encode(sample());
    auto back = decode<CollectiveUp>(bytes);
    assert_true(back.ok());
    assert_true(back->signature == sample().signature);
    assert_true(back->sequence == sample().sequence);
    assert_int_equal(back->status, -25);
    assert_int_equal(back->contributions.size(), 3);
    assert_true(back->contributions[1].data == Bytes(1000, 'x'));
    assert_true(encode(*back) == bytes);
}

// What is large is not copied while it grows.
static void the_size_is_known_before(void **) {
    CollectiveUp large = sample();
    large.contributions.assign(3, {7, Bytes(100'000, 'x')});
    for (const auto &message : {sample(), large, CollectiveUp()}) {
        auto bytes = encode(message);
        assert_int_equal(encoded_size(message), bytes.size());
        assert_true(bytes.capacity() < bytes.size() + 64);
    }
    Signature signature{CollectiveKind::fence, {{"a", 1, {}}, {"job", 0, {0, 1, 7}}}};
    assert_int_equal(encoded_size(signature), encode(signature).size());
}

static void every_cut_is_refused(void **) {
    auto bytes = encode(sample());
    for (std::size_t n = 0; n < bytes.size(); ++n)
        assert_false(decode<CollectiveUp>(std::string_view(bytes).substr(0, n)).ok());
    assert_false(decode<CollectiveUp>(bytes + "x").ok());
}

static void lying_lengths_allocate_nothing(void **) {
    Bytes bytes;
    Writer writer(bytes);
    writer.put(std::uint32_t{0xffffffff}); // a signature of 4 GiB
    assert_false(decode<CollectiveUp>(bytes).ok());
    bytes.clear();
    writer.put(Bytes("s"));
    writer.put(std::uint64_t{0});
    writer.put(std::int32_t{0});
    writer.put(std::uint32_t{0xfffffff0}); // contributions
    assert_false(decode<CollectiveUp>(bytes).ok());
}

static void frames(void **) {
    auto header = encode_header({.type = 17, .length = 99});
    auto back = decode_header(header.data(), 100);
    assert_true(back.ok());
    assert_int_equal(back->type, 17);
    assert_int_equal(back->length, 99);
    assert_true(decode_header(header.data(), 98).failure().kind == ErrorKind::limit);
    header[0] = 'X';
    assert_true(decode_header(header.data(), 100).failure().kind == ErrorKind::invalid);
    header = encode_header({.type = 1, .length = 1});
    header[2] = 9;
    assert_true(decode_header(header.data(), 100).failure().text.find("version 9") != std::string::npos);
}

static void contacts(void **) {
    Contact contact;
    contact.host = 3;
    contact.port = 4000;
    contact.cookie = Bytes(16, 'c');
    contact.addresses = {"10.0.0.1", "fd00::1"};
    auto good = encode(contact);
    assert_true(Contact::decode(good).ok());
    contact.cookie = "short";
    assert_false(Contact::decode(encode(contact)).ok());
    contact.cookie = Bytes(16, 'c');
    contact.addresses.assign(17, "::1");
    assert_false(Contact::decode(encode(contact)).ok());
    contact.addresses.clear();
    assert_false(Contact::decode(encode(contact)).ok());
    assert_false(Contact::decode(Bytes(5000, 'x')).ok());
}

static void tree_shapes(void **) {
    for (std::uint32_t radix : {2u, 3u, 32u}) {
        for (HostIndex size : {1u, 2u, 7u, 33u, 1000u}) {
            Tree tree(size, radix);
            std::vector<int> children(size, 0);
            for (HostIndex h = 1; h < size; ++h) {
                HostIndex p = tree.parent(h);
                assert_true(p < h && tree.is_child(p, h));
                assert_int_equal(h - tree.first_child(p), children[p]);
                ++children[p];
                assert_int_equal(tree.branch(0, h) == h, p == 0);
            }
            for (HostIndex h = 0; h < size; ++h)
                assert_int_equal(children[h], tree.child_count(h));
            assert_int_equal(tree.branch(0, 0), 0);
        }
    }
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(the_size_is_known_before),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(lying_lengths_allocate_nothing),
        cmocka_unit_test(frames),
        cmocka_unit_test(contacts),
        cmocka_unit_test(tree_shapes),
    };
    return cmocka_run_group_tests_name("wire", tests, nullptr, nullptr);
}
