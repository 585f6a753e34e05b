// contrib/doc/wire-format.md is made from the messages' own field lists; this test fails when the
// committed one is not what they say. To make it anew: test/unit/wire_document --write FILE
#include "common/transport/contact.h"
#include "common/wire/all_messages.h"
#include "common/wire/frame.h"
#include "server-glue/core/signature.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::wire;

namespace {

template <typename T> std::string type_name() {
    if constexpr (std::is_enum_v<T>)
        return type_name<std::underlying_type_t<T>>();
    else if constexpr (std::is_same_v<T, std::uint8_t>)
        return "u8";
    else if constexpr (std::is_same_v<T, std::uint16_t>)
        return "u16";
    else if constexpr (std::is_same_v<T, std::uint32_t>)
        return "u32";
    else if constexpr (std::is_same_v<T, std::uint64_t>)
        return "u64";
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return "i32";
    else if constexpr (std::is_same_v<T, Bytes>)
        return "bytes";
    else if constexpr (Described<T>)
        return T::name;
    else
        return "list of " + type_name<typename T::value_type>();
}

template <typename Message> std::string fields_of() {
    std::string out = "\n| field | type | meaning |\n|---|---|---|\n";
    Message::fields([&]<typename Value>(Value Message::*, const char *name, const char *text) {
        out += fmt::format("| `{}` | {} | {} |\n", name, type_name<Value>(), text);
    });
    return out;
}

template <typename Message> std::string message() {
    return fmt::format("\n### {} ({})\n\n{}\n", Message::name, Message::type, Message::text) + fields_of<Message>();
}

template <typename... Messages> std::string all(std::tuple<Messages...> *) {
    return (message<Messages>() + ...);
}

// What messages are made of, each once.
struct Structures {
    std::map<std::string, std::string> texts; // by name

    template <typename T> void add(const std::string &about = "") {
        if constexpr (Described<T>) {
            if (texts.emplace(T::name, about + fields_of<T>()).second)
                add_fields_of<T>();
        } else if constexpr (!std::is_arithmetic_v<T> && !std::is_enum_v<T> && !std::is_same_v<T, Bytes>) {
            add<typename T::value_type>();
        }
    }
    template <typename... Messages> void add_parts_of(std::tuple<Messages...> *) { (add_fields_of<Messages>(), ...); }

  private:
    template <typename T> void add_fields_of() {
        T::fields([this]<typename Value>(Value T::*, const char *, const char *) { this->template add<Value>(); });
    }
};

std::string document() {
    std::string out = fmt::format(R"(# The wire format between daemons, version {}

Made from `common/wire/` by `test/unit/wire_document --write`; do not edit.

All numbers are big-endian. Each message is preceded by a frame header of {} bytes:

| offset | type | meaning |
|---|---|---|
| 0 | u16 | magic 0x{:04x} |
| 2 | u8 | version of the protocol, {} |
| 3 | u8 | type of the message |
| 4 | u32 | length of the message that follows; at most {} before the peer has proved who it is, {} afterwards |

Once a connection is open, each header is followed by 16 bytes, its tag, and each message that is not
empty by 16 bytes, its tag (`common/transport/frame_tag.h`), unless neither side wants tags. The header's
tag is checked before its length is believed.

`bytes` is a u32 length and that many bytes; `list of T` is a u32 count and that many T; a structure is
its fields one after the other. A message with bytes missing or left over is refused. How a
connection is opened: `common/transport/mesh.h`.

A daemon that speaks another version is refused at its first frame, as is one whose Hello has another
`wire_version`, a number made of all that follows: all daemons that speak to each other come from the same
pmixhost. Those of a step are compared before, when it starts (`plugins/slurm/base/task_map.h`).

## Messages
)",
                                  protocol_version, frame_header_size, frame_magic, protocol_version,
                                  unauthenticated_limit, frame_limit);
    out += all(static_cast<AllMessages *>(nullptr));
    out += "\n## Structures\n";
    out += "\n### Introduction\n\nWhat a proof vouches for; never sent bare.\n" + fields_of<Introduction>();
    Structures structures;
    structures.add_parts_of(static_cast<AllMessages *>(nullptr));
    structures.add<Signature>("\nThe content of the `signature` of a collective.\n");
    structures.add<GroupPart>("\nThe data of a contribution to the construction of a group.\n");
    for (const auto &[name, text] : structures.texts)
        out += fmt::format("\n### {}\n", name) + text;
    out += "\n### Contact\n\nThe contact message that the backend carries.\n" + fields_of<Contact>();
    return out;
}

void the_committed_document_is_this_one(void **) {
    std::ifstream file(PMIXHOST_TOP_SRCDIR "/contrib/doc/wire-format.md");
    std::stringstream text;
    text << file.rdbuf();
    if (text.str() != document())
        fail_msg("contrib/doc/wire-format.md is not what common/wire says; run "
                 "test/unit/wire_document --write contrib/doc/wire-format.md");
}

template <typename... Messages> std::vector<int> types(std::tuple<Messages...> *) {
    return {Messages::type...};
}

void no_type_is_used_twice(void **) {
    auto all_types = types(static_cast<AllMessages *>(nullptr));
    std::sort(all_types.begin(), all_types.end());
    assert_true(std::adjacent_find(all_types.begin(), all_types.end()) == all_types.end());
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 3 && !std::strcmp(argv[1], "--write")) {
        std::ofstream(argv[2]) << document();
        return 0;
    }
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_committed_document_is_this_one),
        cmocka_unit_test(no_type_is_used_twice),
    };
    return cmocka_run_group_tests_name("wire document", tests, nullptr, nullptr);
}
