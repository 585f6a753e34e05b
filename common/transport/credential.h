// Credentials for others than the daemons: a process asks for one, hands it to whom it likes, and that
// one learns from its own daemon whose process it was. Made and checked by munge.
#pragma once

#include "common/base/bytes.h"
#include "common/base/result.h"

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

} // namespace pmixhost
