// What a step's daemon sends to a central role (server-glue/core/central_roles.h) to be dialed by it. Carried by the
// RM's own ways, which may be weak: nothing is done with it before the dialed daemon has proved that it is
// of this user and knows the step's key (transport/mesh.h). Which namespace it speaks for is its own
// word: what a user's processes say of each other harms that user alone.
#pragma once

#include "common/transport/contact.h"
#include "common/wire/codec.h"

namespace pmixhost {

struct Invitation {
    static constexpr const char *name = "Invitation";
    static constexpr std::size_t max_bytes = 4096;
    static constexpr std::uint8_t current_version = 1;
    std::uint8_t version = current_version;
    Bytes contact; // encoded Contact
    Bytes step_key;
    std::uint32_t host_count = 0;
    Bytes nspace;
    Bytes secret; // only where the RM's way is private and daemons prove with a shared secret
    static constexpr void fields(auto &&field) {
        field(&Invitation::version, "version", "1");
        field(&Invitation::contact, "contact", "a Contact: where the daemon listens");
        field(&Invitation::step_key, "step_key", "cluster-wide name of its step");
        field(&Invitation::host_count, "host_count", "hosts of the step");
        field(&Invitation::nspace, "nspace", "namespace of the step");
        field(&Invitation::secret, "secret", "the step's shared secret (local backend), else empty");
    }
    // Fails (invalid, limit) where it is none, or says what cannot be.
    static Result<Invitation> decode(std::string_view bytes);
};

} // namespace pmixhost
