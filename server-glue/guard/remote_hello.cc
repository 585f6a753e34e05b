// See remote_hello.h.
#include "server-glue/guard/remote_hello.h"

#include "common/policy/accounts.h"
#include "common/text/printable.h"

#include <algorithm>

namespace pmixhost {

// The library sends it with a NUL behind it, which munge's text has not; so with or without that it is the same one.
static Bytes credential_in(Hello hello) {
    if (!hello.credential.empty() && hello.credential.back() == '\0')
        hello.credential.pop_back();
    return std::move(hello.credential);
}

Result<Identity> identify_remote(std::string_view message, const std::string &address, Use use) {
    auto hello = parse_hello(message);
    if (!hello)
        return hello.failure();
    if (!hello->uid || !hello->gid)
        return error(ErrorKind::denied, "it says that it is a process of a job, and is on another host");
    if (hello->psec != "munge")
        return error(ErrorKind::denied,
                     "it uses the security module '{}'; from another host munge has to say whose a tool is. Is there a "
                     "munged on its host, and PMIX_MCA_psec or PMIX_SECURITY_MODE not set?",
                     printable(hello->psec));
    auto made = check_plain_credential(credential_in(*hello), use);
    if (!made)
        return made.failure();
    if (made->who.uid != *hello->uid || made->who.gid != *hello->gid)
        return error(ErrorKind::denied, "it claims uid {} and gid {}, and munge says uid {} and gid {}", *hello->uid,
                     *hello->gid, made->who.uid, made->who.gid);
    if (auto there = made_where_it_comes_from(*made, address); !there)
        return there.failure();
    return made->who;
}

// munge has addresses of IPv4 alone, so none of IPv6 is the one.
Result<void> made_where_it_comes_from(const PlainCredential &credential, const std::string &address) {
    if (credential.host.empty() || credential.host == address)
        return {};
    return error(ErrorKind::denied,
                 "its credential was made on {}, says munge, and it comes from {}: somebody else's, or a host with "
                 "several addresses, whose munged is to be told (--origin) by which it comes here, one of IPv4",
                 credential.host, address);
}

// Where this host's addresses cannot be had, any may be one of them.
static bool may_be_of_this_host(const std::string &address) {
    auto from = policy::parse_address(address);
    auto own = policy::addresses_of_host();
    return !from || from->is_loopback() || own.empty() || std::find(own.begin(), own.end(), *from) != own.end();
}

Result<void> kernel_agrees(SocketOwners &owners, int connection, const std::string &address, uid_t user) {
    auto owner = owners.peer_of(connection);
    if (owner && owner->uid != user)
        return error(ErrorKind::denied, "it is of uid {}, says the kernel, and its credential of uid {}", owner->uid,
                     user);
    // The kernel knows no more whose it is when its maker has said all, and has shut down that end.
    if (!owner && may_be_of_this_host(address))
        return error(ErrorKind::denied, "it is of this host, and the kernel does not say whose: {}",
                     owner.failure().text);
    return {};
}

Bytes credential_of(std::string_view message) {
    auto hello = parse_hello(message);
    return hello ? credential_in(std::move(*hello)) : Bytes();
}

} // namespace pmixhost
