// What opens and closes a connection between daemons (transport/mesh.h tells the exchange).
#pragma once

#include "common/wire/codec.h"

namespace pmixhost::wire {

struct Hello {
    static constexpr std::uint8_t type = 1;
    static constexpr const char *name = "Hello";
    static constexpr const char *text = "the dialing daemon says and proves who it is";
    std::uint64_t wire_version = 0;
    Bytes proof;
    static constexpr void fields(auto &&field) {
        field(&Hello::wire_version, "wire_version", "what the dialing daemon speaks (wire/wire_version.h)");
        field(&Hello::proof, "proof", "a proof (transport/authenticator.h) of an Introduction");
    }
};
struct Welcome {
    static constexpr std::uint8_t type = 2;
    static constexpr const char *name = "Welcome";
    static constexpr const char *text = "the answer of the daemon that was dialed; the link is open";
    Bytes proof;
    static constexpr void fields(auto &&field) {
        field(&Welcome::proof, "proof", "a proof of the Introduction with `reply` set");
    }
};
// What a proof vouches for; never sent bare.
struct Introduction {
    static constexpr const char *name = "Introduction";
    Bytes step_key;
    std::uint32_t dialer = 0;
    std::uint32_t listener = 0;
    Bytes listener_cookie;
    Bytes dialer_nonce;
    std::uint8_t reply = 0;
    Bytes secret;
    std::uint8_t wants_tags = 0;
    static constexpr void fields(auto &&field) {
        field(&Introduction::step_key, "step_key", "cluster-wide name of the step");
        field(&Introduction::dialer, "dialer", "host of the daemon that dials");
        field(&Introduction::listener, "listener", "host of the daemon that is dialed");
        field(&Introduction::listener_cookie, "listener_cookie",
              "16 random bytes from the contact message of the dialed daemon");
        field(&Introduction::dialer_nonce, "dialer_nonce", "16 random bytes of this attempt");
        field(&Introduction::reply, "reply", "0 in a Hello, 1 in a Welcome");
        field(&Introduction::secret, "secret", "32 random bytes of who makes the proof, for the keys of the tags");
        field(&Introduction::wants_tags, "wants_tags",
              "1: the frames that follow have tags, whatever the other side wants");
    }
};
struct Farewell {
    static constexpr std::uint8_t type = 3;
    static constexpr const char *name = "Farewell";
    static constexpr const char *text =
        "every task of this host has finished with PMIx or ended: the close that follows is no loss";
    std::uint8_t reserved = 0;
    static constexpr void fields(auto &&field) { field(&Farewell::reserved, "reserved", "0"); }
};

} // namespace pmixhost::wire
