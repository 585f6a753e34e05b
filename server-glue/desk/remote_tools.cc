// See remote_tools.h.
#include "server-glue/desk/remote_tools.h"

#include "common/peer/peer_address.h"
#include "server-glue/guard/hello_peek.h"
#include "server-glue/guard/remote_hello.h"

#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

static constexpr Duration desks_munge_patience = std::chrono::seconds(8);

static Result<std::string> address_of_peer(int fd) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return system_error("getpeername", errno);
    if (address.ss_family != AF_INET && address.ss_family != AF_INET6)
        return error(ErrorKind::invalid, "its connection is none of TCP");
    return PeerAddress(address).numeric();
}

void RemoteTools::take(UniqueFd connection) {
    auto address = address_of_peer(connection.get());
    if (!address)
        return port_.refuse(address.failure().text);
    auto message = peek_hello(connection.get());
    if (!message || !*message)
        return port_.refuse("a tool of another host does not say who it is");
    if (asked_.size() >= most)
        return port_.refuse("too many tools of other hosts come at once");
    Id id = next_++;
    auto ask = [identify = port_.identify, message = **message, address = *address] {
        return identify(message, address);
    };
    asked_.emplace(id, Asked{std::move(connection), std::move(*address), std::move(**message)});
    calls_.run_alone(loop_.now() + desks_munge_patience, std::move(ask),
                     [this, id](const Result<Identity> &who) { on_answer(id, who); });
}

void RemoteTools::on_answer(Id id, const Result<Identity> &who) {
    Asked one = std::move(asked_.extract(id).mapped());
    if (!who)
        return port_.refuse(fmt::format("a tool of {}: {}", one.address, who.failure().text));
    if (who->uid != ::geteuid())
        return port_.refuse(fmt::format("a tool of {} is uid {}'s, says munge", one.address, who->uid));
    if (auto agreed = port_.agrees(one.connection.get(), one.address, who->uid); !agreed)
        return port_.refuse(fmt::format("a tool of {}: {}", one.address, agreed.failure().text));
    if (!seen_.insert(credential_of(one.message)))
        return port_.refuse(fmt::format("the credential of a tool of {} has been here before", one.address));
    // The same bytes that were looked at, as the socket has no other reader.
    std::string taken(one.message.size(), '\0');
    if (::recv(one.connection.get(), taken.data(), taken.size(), MSG_DONTWAIT) !=
            static_cast<ssize_t>(one.message.size()) ||
        taken != one.message)
        return port_.refuse(fmt::format("a tool of {} has gone", one.address));
    set_low_water(one.connection.get(), 1);
    port_.on_tool(
        {std::move(one.connection), std::move(one.address), with_native_identity(one.message, who->uid, who->gid)});
}

} // namespace pmixhost
