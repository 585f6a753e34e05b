// Makes first messages as a libpmix client does, for the tests and the fuzzer of what reads them.
#pragma once

#include "server-glue/guard/hello.h"

#include <string>

namespace pmixhost::test {

inline std::string be32(std::uint32_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(value >> shift);
    return out;
}
inline std::string native_order(std::uint32_t value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof value);
}
inline std::string native_credential(uid_t uid, gid_t gid) {
    return native_order(uid) + native_order(gid);
}
inline std::string z(std::string text) {
    return text + '\0';
}

// A whole message: the header, and `rest` behind it.
inline std::string with_header(const std::string &rest) {
    return native_order(0xffffffffu) + native_order(0xffffffffu) +
           native_order(static_cast<std::uint32_t>(rest.size())) + native_order(0) + rest;
}

// As libpmix from 4.0 on writes one number of up to seven bits, in a buffer that does not describe its contents.
inline std::string stated_count(int directives) {
    return {'\2', static_cast<char>(directives)};
}

struct HelloText {
    std::string psec = "native", credential = native_credential(1000, 100);
    std::uint8_t kind = 0;
    uid_t uid = 1000; // of tools
    gid_t gid = 100;
    std::string nspace = "slurm.1.0";
    std::uint32_t rank = 0;
    std::string version = "4.2.2", after = z("v41") + '\1' + z("hash"), blob;

    std::string rest() const {
        std::string out = z(psec) + be32(static_cast<std::uint32_t>(credential.size())) + credential;
        out += static_cast<char>(kind);
        if (kind != 0)
            out += be32(uid) + be32(gid);
        if (kind == 0 || kind == 4 || kind == 5 || kind >= 7)
            out += z(nspace) + be32(rank);
        return out + z(version) + after + blob;
    }
    std::string message() const { return with_header(rest()); }
};

} // namespace pmixhost::test
