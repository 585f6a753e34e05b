// See wire_version.h.
#include "common/wire/wire_version.h"

#include "common/wire/all_messages.h"
#include "common/wire/frame.h"

namespace pmixhost::wire {

namespace {

// FNV-1a: nobody gains by two that are equal.
class VersionHash {
  public:
    constexpr void add(std::string_view text) {
        for (char c : text)
            add_byte(static_cast<unsigned char>(c));
        add_byte(0);
    }
    constexpr void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3; }
    constexpr std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

template <Described T> constexpr void add_fields(VersionHash &hash);

template <typename T> constexpr void add_type(VersionHash &hash) {
    if constexpr (std::is_enum_v<T>) {
        add_type<std::underlying_type_t<T>>(hash);
    } else if constexpr (std::integral<T>) {
        hash.add(std::is_signed_v<T> ? "i" : "u");
        hash.add_byte(sizeof(T));
    } else if constexpr (std::is_same_v<T, Bytes>) {
        hash.add("bytes");
    } else if constexpr (Described<T>) {
        add_fields<T>(hash);
    } else {
        hash.add("list");
        add_type<typename T::value_type>(hash);
    }
}

template <Described T> constexpr void add_fields(VersionHash &hash) {
    hash.add(T::name);
    T::fields([&]<typename Value>(Value T::*, const char *name, const char *) {
        hash.add(name);
        add_type<Value>(hash);
    });
    hash.add("end");
}

template <typename... Messages> constexpr std::uint64_t version_of(std::tuple<Messages...> *) {
    VersionHash hash;
    hash.add_byte(protocol_version);
    ((hash.add_byte(Messages::type), add_fields<Messages>(hash)), ...);
    // What is inside of fields that are bytes to those above.
    add_fields<Introduction>(hash);
    add_fields<Signature>(hash);
    add_fields<GroupPart>(hash);
    return hash.value();
}

} // namespace

std::uint64_t wire_version() {
    static constexpr std::uint64_t version = version_of(static_cast<AllMessages *>(nullptr));
    return version;
}

} // namespace pmixhost::wire
