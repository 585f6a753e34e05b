// The first message of a PMIx process: what is read of it, and what is let in.
#include "test/unit/hello.h"

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::test;

namespace {

constexpr ProcessOwner owner{1000, 100};

std::string refusal(const HelloText &text, uid_t peer = 1000, std::optional<ProcessOwner> registered = owner,
                    bool known = true) {
    auto hello = parse_hello(text.message());
    if (!hello)
        return hello.failure().text;
    auto verdict = admissible(*hello, peer, registered, known);
    return verdict ? "" : verdict.failure().text;
}
bool says(const std::string &text, const char *words) {
    return text.find(words) != std::string::npos;
}

void a_clients_is_read(void **) {
    HelloText text;
    text.rank = 0x01020304;
    std::string message = text.message();
    auto size = hello_size(message.substr(0, hello_header_size));
    assert_true(size.ok());
    assert_int_equal(*size, message.size());
    auto hello = parse_hello(message);
    assert_true(hello.ok());
    assert_string_equal(hello->psec.c_str(), "native");
    assert_string_equal(hello->nspace.c_str(), "slurm.1.0");
    assert_int_equal(hello->rank, 0x01020304);
    assert_string_equal(hello->version.c_str(), "4.2.2");
    assert_string_equal(hello->bfrops.c_str(), "v41");
    assert_string_equal(hello->gds.c_str(), "hash");
    assert_false(hello->uid.has_value());
}

void release_2_0_ends_with_its_version(void **) {
    HelloText text;
    text.version = "2.0.3";
    text.after = "";
    assert_true(parse_hello(text.message()).ok());
    text.version = "2.1.0";
    assert_false(parse_hello(text.message()).ok());
}

void every_kind_is_read_and_no_other(void **) {
    for (int kind = 0; kind < 256; ++kind) {
        HelloText text;
        text.kind = static_cast<std::uint8_t>(kind);
        text.blob = stated_count(1) + "what a tool tells the host";
        auto hello = parse_hello(text.message());
        assert_int_equal(hello.ok(), kind <= 10);
        if (hello && kind > 0)
            assert_int_equal(*hello->uid, 1000);
    }
}

void no_length_is_trusted(void **) {
    std::string rest = HelloText().rest();
    for (std::size_t cut = 0; cut < rest.size(); ++cut)
        assert_false(parse_hello(with_header(rest.substr(0, cut))).ok());
    std::string message = HelloText().message();
    assert_false(parse_hello(message + "x").ok());
    assert_false(parse_hello(message.substr(0, message.size() - 1)).ok());
    for (std::uint32_t length : {9u, 0x7fffffffu, 0xffffffffu}) {
        std::string lies = z("native") + be32(length) + native_credential(1000, 100) + '\0';
        assert_false(parse_hello(with_header(lies)).ok());
    }
    assert_false(
        hello_size(native_order(0xffffffffu) + native_order(0xffffffffu) + native_order(max_hello) + native_order(0))
            .ok());
    assert_false(hello_size("GET / HTTP/1.1\r\n").ok());
    assert_false(hello_size("").ok());
}

void versions_that_the_library_misreads_are_refused(void **) {
    for (const char *version : {"", "4", "4.", "4.2", "4.2.", "x.2.2", "4..2", "-1.2.2", "4.2.x", "99999.1.1"}) {
        HelloText text;
        text.version = version;
        assert_true(says(refusal(text), "no version"));
    }
    HelloText text;
    text.version = "5.0.7rc1";
    assert_string_equal(refusal(text).c_str(), "");
}

void a_registered_process_is_let_in(void **) {
    assert_string_equal(refusal(HelloText()).c_str(), "");
    for (std::uint8_t kind : {5, 8}) {
        HelloText text;
        text.kind = kind;
        assert_string_equal(refusal(text).c_str(), "");
    }
}

void a_process_that_is_none_is_not(void **) {
    for (std::uint8_t kind : {0, 5, 8}) {
        HelloText text;
        text.kind = kind;
        assert_true(says(refusal(text, 1000, std::nullopt), "no process of this host"));
        assert_true(says(refusal(text, 1000, std::nullopt, false), "no process of this host"));
    }
}

// What the library would find wrong only after it had begun to take the peer for the process.
void a_credential_must_be_right(void **) {
    HelloText text;
    text.credential = native_credential(0, 100);
    assert_true(says(refusal(text), "claims uid 0 and is of uid 1000"));
    text.credential = native_credential(1000, 0);
    assert_true(says(refusal(text), "its group is 0"));
    text.credential = native_credential(1000, 100) + "x";
    assert_true(says(refusal(text), "9 bytes"));
    text.credential = "";
    assert_true(says(refusal(text), "0 bytes"));
    text = {};
    assert_true(says(refusal(text, 1001), "is a process of uid 1000"));
    assert_true(says(refusal(text, 1001, ProcessOwner{1001, 100}), "claims uid 1000 and is of uid 1001"));
    assert_true(says(refusal(text, 1000, ProcessOwner{1001, 100}), "process of uid 1001"));
}

void a_client_uses_the_module_that_it_was_given(void **) {
    for (const char *psec : {"munge", "none", "", "native,munge", "dummy_handshake"}) {
        HelloText text;
        text.psec = psec;
        assert_true(says(refusal(text), "security module"));
    }
}

void a_tool_states_the_truth_and_takes_no_jobs_name(void **) {
    for (std::uint8_t kind : {1, 2}) { // without a name to the library, which takes that for everybody's
        HelloText text;
        text.kind = kind;
        assert_true(says(refusal(text, 1000, std::nullopt, false), "a PMIx library before 3.0"));
    }
    for (std::uint8_t kind : {4, 7, 9, 10}) {
        HelloText text;
        text.kind = kind;
        text.nspace = "";
        assert_true(says(refusal(text, 1000, std::nullopt, false), "which is no name"));
        text.nspace = "tool";
        text.rank = UINT32_MAX - 2; // a wildcard
        assert_true(says(refusal(text, 1000, std::nullopt, false), "which is no name"));
    }
    for (std::uint8_t kind : {3, 4, 6, 7, 9, 10}) {
        HelloText text;
        text.kind = kind;
        assert_string_equal(refusal(text, 1000, std::nullopt, false).c_str(), "");
        assert_true(says(refusal(text, 1001, std::nullopt, false), "claims uid 1000 and is of uid 1001"));
        assert_true(says(refusal(text, 1000, std::nullopt, true), "the name of a job"));
        text.psec = "munge";
        text.credential = "MUNGE:...:";
        assert_string_equal(refusal(text, 1000, std::nullopt, false).c_str(), "");
        text.psec = "none";
        assert_true(says(refusal(text, 1000, std::nullopt, false), "security module"));
        text.psec = "native";
        text.credential = native_credential(1000, 7);
        assert_true(says(refusal(text, 1000, std::nullopt, false), "its group is 7"));
    }
}

std::string hello_with(const char *bfrops, char buffer_type, const std::string &blob) {
    HelloText text;
    text.kind = 3;
    text.after = z(bfrops) + buffer_type + z("hash");
    text.blob = blob;
    return refusal(text, 1000, std::nullopt, false);
}

// A server of libpmix makes room for what is said, and 2^64 - 4 and the five of its own are one.
void a_tool_does_not_say_that_it_sends_more_than_is_there(void **) {
    const std::string count_of_many("\xfc\xff\xff\xff\xff\xff\xff\xff\xff", 9), rest(20, 'd');
    const std::string u16_int32("\0\x09", 2), u16_size("\0\x04", 2), u16_uint64("\0\x0f", 2);
    const std::string seven(std::string("\0\0\0\0\0\0\0", 7) + '\7'), many("\xff\xff\xff\xff\xff\xff\xff\xfc", 8);
    for (const char *bfrops : {"v4", "v41", "v5", "v61"}) {
        assert_string_equal(hello_with(bfrops, 1, "\2\7" + rest).c_str(), "");
        assert_string_equal(hello_with(bfrops, 2, "\x09\2\x04\7" + rest).c_str(), "");
        assert_string_equal(hello_with(bfrops, 1, "").c_str(), "");
        assert_true(says(hello_with(bfrops, 1, "\2\x7f" + rest), "127 directives, in 22 bytes"));
        assert_true(says(hello_with(bfrops, 1, "\2\xff\1" + rest), "255 directives, in 23 bytes"));
        assert_true(says(hello_with(bfrops, 1, "\2" + count_of_many + rest), "18446744073709551612 directives"));
        assert_true(
            says(hello_with(bfrops, 2, "\x09\2\x04" + count_of_many + rest), "18446744073709551612 directives"));
    }
    assert_string_equal(hello_with("v3", 1, be32(1) + u16_uint64 + seven + rest).c_str(), "");
    assert_string_equal(hello_with("v3", 2, u16_int32 + be32(1) + u16_size + u16_uint64 + seven + rest).c_str(), "");
    assert_true(says(hello_with("v3", 1, be32(1) + u16_uint64 + many + rest), "18446744073709551612 directives"));
    assert_true(says(hello_with("v3", 2, u16_int32 + be32(1) + u16_size + u16_uint64 + many), "18446744073709551612"));
    assert_true(says(hello_with("v3", 1, be32(1) + std::string("\0\x0e", 2) + be32(99) + rest), "99 directives"));
    // What libpmix takes as well, and no tool writes: other types, none and several values, half of it.
    for (char type = 0; type < 30; ++type) {
        if (type != 14 && type != 15)
            assert_true(says(hello_with("v3", 1, be32(1) + '\0' + type + seven + rest), "cannot be read"));
    }
    for (std::uint32_t values : {0u, 2u, 0xffffffffu})
        assert_true(says(hello_with("v3", 1, be32(values) + u16_uint64 + seven + rest), "cannot be read"));
    for (const char *values : {"\1", "\3", "\4", "\x82\1"})
        assert_true(says(hello_with("v41", 1, values + ("\7" + rest)), "cannot be read"));
    assert_true(says(hello_with("v41", 1, std::string("\0\7", 2) + rest), "cannot be read"));
    for (const char *part : {"\2", "\2\xff", "\x82"})
        assert_true(says(hello_with("v41", 1, part), "cannot be read"));
    assert_string_equal(hello_with("v41", 1, std::string(3, '\0')).c_str(), "");
    HelloText client;
    client.blob = std::string(1, '\0'); // as each real one
    assert_string_equal(refusal(client).c_str(), "");
    // libpmix 6.1 reads a client's, too.
    client.blob = "\2\x7f" + rest;
    assert_true(says(refusal(client), "127 directives, in 22 bytes"));
}

void a_tool_packs_in_one_way_that_is_served(void **) {
    for (const char *bfrops : {"v12", "v20", "v21"})
        assert_true(says(hello_with(bfrops, 1, ""), "a PMIx library before 3.0"));
    for (const char *bfrops : {"", "v", "v41,v20", "41", "x41", "v4\n"})
        assert_true(says(hello_with(bfrops, 1, ""), "no way in which PMIx packs data"));
    HelloText client;
    client.after = z("v20") + '\1' + z("hash");
    assert_string_equal(refusal(client).c_str(), "");
}

void what_was_found_out_takes_the_credentials_place(void **) {
    for (std::uint8_t kind = 1; kind <= 10; ++kind) {
        HelloText text;
        text.kind = kind;
        text.uid = 0x01020304;
        text.gid = 0x05060708;
        text.blob = stated_count(2) + std::string("what a tool\0tells the host", 26);
        text.psec = "munge";
        for (std::size_t size : {0, 1, 8, 200, 31000}) {
            text.credential = std::string(size, 'c');
            std::string found = with_native_identity(text.message(), 0x01020304, 0x05060708);
            HelloText native = text;
            native.psec = "native";
            native.credential = native_credential(0x01020304, 0x05060708);
            assert_true(found == native.message());
        }
        // It is what is found out that the library compares, whatever the text states.
        auto other = parse_hello(with_native_identity(text.message(), 7, 8));
        assert_true(other.ok() && other->credential == native_credential(7, 8) && *other->uid == 0x01020304);
    }
}

void what_is_shown_of_it_has_no_control_characters(void **) {
    HelloText text;
    text.nspace = "a\nb\033[2J";
    std::string why = refusal(text, 1000, std::nullopt);
    assert_true(says(why, "no process of this host"));
    assert_int_equal(why.find_first_of("\n\033"), std::string::npos);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_clients_is_read),
        cmocka_unit_test(release_2_0_ends_with_its_version),
        cmocka_unit_test(every_kind_is_read_and_no_other),
        cmocka_unit_test(no_length_is_trusted),
        cmocka_unit_test(versions_that_the_library_misreads_are_refused),
        cmocka_unit_test(a_registered_process_is_let_in),
        cmocka_unit_test(a_process_that_is_none_is_not),
        cmocka_unit_test(a_credential_must_be_right),
        cmocka_unit_test(a_client_uses_the_module_that_it_was_given),
        cmocka_unit_test(a_tool_states_the_truth_and_takes_no_jobs_name),
        cmocka_unit_test(a_tool_does_not_say_that_it_sends_more_than_is_there),
        cmocka_unit_test(a_tool_packs_in_one_way_that_is_served),
        cmocka_unit_test(what_was_found_out_takes_the_credentials_place),
        cmocka_unit_test(what_is_shown_of_it_has_no_control_characters),
    };
    return cmocka_run_group_tests_name("hello", tests, nullptr, nullptr);
}
