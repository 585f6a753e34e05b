// See invitation.h.
#include "common/transport/invitation.h"

namespace pmixhost {

static constexpr std::size_t max_name = 255;
static constexpr std::uint32_t max_hosts = 1u << 20;

Result<Invitation> Invitation::decode(std::string_view bytes) {
    if (bytes.size() > max_bytes)
        return error(ErrorKind::limit, "an invitation of {} bytes", bytes.size());
    auto invitation = wire::decode<Invitation>(bytes);
    if (!invitation)
        return invitation.failure();
    if (invitation->version != current_version)
        return error(ErrorKind::unsupported,
                     "an invitation of version {}; this pmixhostd knows version {}: the same pmixhost must "
                     "be installed on all hosts",
                     invitation->version, current_version);
    if (invitation->host_count == 0 || invitation->host_count > max_hosts || invitation->nspace.empty() ||
        invitation->nspace.size() > max_name || invitation->step_key.empty() ||
        invitation->step_key.size() > 4 * max_name)
        return error(ErrorKind::invalid, "an invitation with impossible values");
    return invitation;
}

} // namespace pmixhost
