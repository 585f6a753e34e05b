// Whose tool a connection from another host is. There the kernel cannot be asked, so it is what munge says: the tool's
// library has a credential in its first message (hello.h) that the munged of its host has made for it. Of the message
// nothing else is believed, and what it states must agree.
//
// munge counts a credential once on each host, so two ask it about each: the gate (gate/remote_door.h), which must be
// the first one, and the desk of the user (desk/remote_tools.h), which does not believe the gate.
#pragma once

#include "common/peer/socket_owner.h"
#include "common/transport/credential.h"
#include "server-glue/guard/hello.h"

namespace pmixhost {

// A message that is there as a whole, whose connection comes from `address` (in numbers). Blocks while munged is asked:
// not in the loop's thread. A refusal (denied, invalid) says what is wrong; fails as check_plain_credential() as well.
Result<Identity> identify_remote(std::string_view message, const std::string &address, Use use);

// Of that one's parts: is it of the host from which it comes? Nothing is said where its munged names no address.
Result<void> made_where_it_comes_from(const PlainCredential &credential, const std::string &address);

// Who has somebody's credential that was not used yet passes for that one, if he is on the host where it was made. On
// this host the kernel knows better: there its word must be munge's. Fails (denied) with what is wrong. Any thread;
// does not wait.
Result<void> kernel_agrees(SocketOwners &owners, int connection, const std::string &address, uid_t user);

// The credential in it as munge has written it, for who remembers which have come; empty where there is none.
Bytes credential_of(std::string_view message);

} // namespace pmixhost
