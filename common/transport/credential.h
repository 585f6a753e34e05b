// Credentials for others than the daemons: a process asks for one, hands it to whom it likes, and that
// one learns from its own daemon whose process it was. Made and checked by munge.
#pragma once

#include "common/base/bytes.h"
#include "common/base/result.h"

#include <optional>
#include <string>
#include <sys/types.h>

namespace pmixhost {

struct Identity {
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
};

// Both block while they ask munged: never in the loop's thread.
//
// A credential of this process' effective user and group, which anyone may check. It is text.
// Errors: unsupported (there is no munged), system.
Result<Bytes> make_credential();
// Who made it. Errors: denied (not made by make_credential under this cluster's key, expired, from
// the future, or checked on this host before), unsupported (there is no munged), system.
Result<Identity> check_credential(const Bytes &credential);

// What libpmix' module "munge" makes of its process: a credential that says nothing.
struct PlainCredential {
    Identity who;
    std::string host; // the address, in numbers, that the munged there calls its own; empty: none that leads to it
};
enum class Use {
    first, // it must not have been checked on this host before
    again  // it may have been, by a process that is not believed; whoever asks so remembers by himself what has come
};
// Who made it, and where. Blocks and fails as check_credential() does; denied is also one that says something: it was
// made for another purpose; and one in another form than munge writes, so that none has two.
Result<PlainCredential> check_plain_credential(const Bytes &credential, Use use);

} // namespace pmixhost
