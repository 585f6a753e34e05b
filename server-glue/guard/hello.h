// The first message on a connection to libpmix' server, in which the peer says who it wants to be.
// Read here before the library sees it, because 4.2.2 and 5.0.7 read it with blocking calls, trust lengths
// in it, and leave their own state damaged when what it says does not hold
// (contrib/doc/decisions/libpmix.md, "Connections").
//
// Where the layout comes from: pmix_ptl_base_construct_message in OpenPMIx, read in 4.2.2 and 5.0.7:
//   header   i32 -1 | u32 0xffffffff | u32 length of the rest | u32 unused, in the host's byte order
//   rest     psec name \0 | u32be length | credential | u8 kind | by kind: u32be uid | u32be gid,
//            and namespace \0 | u32be rank | version \0 | bfrops name \0 | u8 buffer type |
//            gds name \0 | what a tool tells the host
// Release 2.0 ends with the version.
//
// Pure: bytes in, a value or the reason for a refusal out.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

// What the peer says it is; the numbers are the protocol's.
enum class HelloKind : std::uint8_t {
    client = 0,
    legacy_tool = 1,
    legacy_launcher = 2,
    tool_needs_name = 3,
    tool_with_name = 4,
    tool_of_server = 5, // started as a process of a job that the server knows
    launcher_needs_name = 6,
    launcher_with_name = 7,
    launcher_of_server = 8,
    singleton = 9,
    scheduler = 10,
};

struct Hello {
    std::string psec;       // the security module
    std::string credential; // what that module made
    HelloKind kind = HelloKind::client;
    std::optional<uid_t> uid; // stated, and so nothing to rely on
    std::optional<gid_t> gid;
    std::string nspace; // empty: it has no name yet
    Rank rank = 0;
    std::string version, bfrops, gds;
};

inline constexpr std::size_t hello_header_size = 16;
// Header and rest. A client's has some hundred bytes; a tool's has its command line as well. It has
// to fit into what a new connection's receive buffer offers, since it is looked at while it is there.
inline constexpr std::size_t max_hello = 32u << 10;

// The size of the whole message, of which the first hello_header_size bytes are there.
Result<std::size_t> hello_size(std::string_view header);
// A message that is there as a whole.
Result<Hello> parse_hello(std::string_view message);

// The same message with the identity that has been found out in place of the credential: as module "native" has it, of
// which the library asks nobody. Precondition: parse_hello() takes it. All that comes behind the credential stays.
std::string with_native_identity(std::string_view message, uid_t uid, gid_t gid);

// What the server has registered of a process.
struct ProcessOwner {
    uid_t uid;
    gid_t gid;
};
// May a peer whose uid the kernel gave say this, so that the library will not find it wrong?
// `registered`: of (nspace, rank), nullopt if it is no process of this server; `known_nspace`: whether
// `nspace` has processes here. A refusal names what is wrong (invalid or denied).
Result<void> admissible(const Hello &hello, uid_t peer, const std::optional<ProcessOwner> &registered,
                        bool known_nspace);

} // namespace pmixhost
