// See remote_hello.h.
#include "server-glue/library/remote_hello.h"

#include "common/text/printable.h"

#include <arpa/inet.h>

namespace pmixhost {

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
    Bytes credential = std::move(hello->credential);
    if (!credential.empty() && credential.back() == '\0') // as the library sends it
        credential.pop_back();
    auto made = check_plain_credential(credential, use);
    if (!made)
        return made.failure();
    if (made->who.uid != *hello->uid || made->who.gid != *hello->gid)
        return error(ErrorKind::denied, "it claims uid {} and gid {}, and munge says uid {} and gid {}", *hello->uid,
                     *hello->gid, made->who.uid, made->who.gid);
    in_addr four;
    bool comparable = !made->host.empty() && ::inet_pton(AF_INET, address.c_str(), &four) == 1;
    if (comparable && made->host != address)
        return error(ErrorKind::denied,
                     "its credential was made on {}, says munge, and it comes from {}: somebody else's, or a host with "
                     "several addresses, whose munged is to be told (--origin) by which it comes here",
                     made->host, address);
    return made->who;
}

Bytes credential_of(std::string_view message) {
    auto hello = parse_hello(message);
    return hello ? std::move(hello->credential) : Bytes();
}

} // namespace pmixhost
