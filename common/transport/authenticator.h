// How two daemons of a step prove to each other that they belong to the same user. A proof carries
// a statement; whoever can verify the proof knows that a process of the same uid made it. What the
// statement must say (same step, same two hosts, this very attempt) is the link's business.
#pragma once

#include "common/base/bytes.h"
#include "common/loop/event_loop.h"

#include <sys/types.h>

namespace pmixhost {

class Authenticator {
  public:
    using Done = std::function<void(Result<Bytes>)>;
    virtual ~Authenticator() = default;
    // Both answer in the loop's thread, later or at once, exactly once.
    virtual void prove(Bytes statement, Done done) = 0; // gives the proof
    virtual void verify(Bytes proof, Done done) = 0;    // gives the statement
};

// Credentials of munge, encrypted, that only `uid` can decode; a credential is accepted once (munge
// keeps the replay cache) and only from `uid`. munged is asked in up to two threads of their own, about a
// proof for some seconds where it does not run. Answers come in any order.
std::unique_ptr<Authenticator> make_munge_authenticator(EventLoop &loop, uid_t uid);

// Where the daemons got a common secret at their start: a proof is the statement, encrypted and authenticated with a
// key of the secret (secret_box.h), which is in no message. It is accepted once by each authenticator, and never by the
// one that made it; which one it is for, the statement says. Whoever has the secret is taken for the user.
// With an empty secret nothing is proved and nothing is accepted.
std::unique_ptr<Authenticator> make_secret_authenticator(const Bytes &secret);

} // namespace pmixhost
