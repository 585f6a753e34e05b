// How a message's fields become bytes. Each message lists its fields once (see modex_messages.h, say); the
// encoder, the bounded decoder and the document of the format (contrib/doc/wire-format.md, made by
// test/unit/wire_document) all come from that list.
//
//   u8 u16 u32 u64 i32   big-endian, fixed size
//   bytes, text          u32 length | that many bytes
//   list of T            u32 count  | that many T
//
// Decoding trusts nothing: a length or count beyond what is left of the message fails before
// anything is allocated, and so do bytes that are left over.
#pragma once

#include "common/base/bytes.h"
#include "common/base/result.h"

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pmixhost::wire {

// A struct that lists its fields, each with its name and what it is for in the document:
//     static constexpr void fields(auto &&field) {
//         field(&Hello::proof, "proof", "a proof of an Introduction");
//     }
template <typename T>
concept Described = requires {
    T::fields([](auto, const char *, const char *) {});
};

// The bytes that it takes.
template <typename T> std::size_t encoded_size(const T &value) {
    if constexpr (std::is_enum_v<T> || std::integral<T>) {
        return sizeof(T);
    } else if constexpr (std::is_same_v<T, Bytes>) {
        return sizeof(std::uint32_t) + value.size();
    } else if constexpr (Described<T>) {
        std::size_t size = 0;
        T::fields([&](auto member, const char *, const char *) { size += encoded_size(value.*member); });
        return size;
    } else {
        std::size_t size = sizeof(std::uint32_t);
        if constexpr (std::integral<typename T::value_type>)
            return size + value.size() * sizeof(typename T::value_type);
        for (const auto &element : value)
            size += encoded_size(element);
        return size;
    }
}

class Writer {
  public:
    explicit Writer(Bytes &out) : out_(out) {}
    template <typename T> void put(const T &value) {
        if constexpr (std::is_enum_v<T>) {
            put(static_cast<std::underlying_type_t<T>>(value));
        } else if constexpr (std::integral<T>) {
            auto bits = static_cast<std::make_unsigned_t<T>>(value);
            for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8)
                out_.push_back(static_cast<char>(bits >> shift));
        } else if constexpr (std::is_same_v<T, Bytes>) {
            put(static_cast<std::uint32_t>(value.size()));
            out_.append(value);
        } else if constexpr (Described<T>) {
            T::fields([&](auto member, const char *, const char *) { put(value.*member); });
        } else {
            put(static_cast<std::uint32_t>(value.size()));
            for (const auto &element : value)
                put(element);
        }
    }

  private:
    Bytes &out_;
};

class Reader {
  public:
    explicit Reader(std::string_view in) : left_(in) {}
    bool ok() const { return ok_; }
    bool at_end() const { return left_.empty(); }

    template <typename T> void get(T &value) {
        if constexpr (std::is_enum_v<T>) {
            std::underlying_type_t<T> number{};
            get(number);
            value = static_cast<T>(number);
        } else if constexpr (std::integral<T>) {
            if (!take(sizeof(T)))
                return;
            std::make_unsigned_t<T> bits = 0;
            for (std::size_t i = 0; i < sizeof(T); ++i)
                bits = static_cast<std::make_unsigned_t<T>>((static_cast<std::uint64_t>(bits) << 8) |
                                                            static_cast<unsigned char>(taken_[i]));
            value = static_cast<T>(bits);
        } else if constexpr (std::is_same_v<T, Bytes>) {
            std::uint32_t length = 0;
            get(length);
            if (take(length))
                value.assign(taken_);
        } else if constexpr (Described<T>) {
            T::fields([&](auto member, const char *, const char *) { get(value.*member); });
        } else {
            std::uint32_t count = 0;
            get(count);
            // Every element has at least one byte, and a number all of its own, so a larger count is a lie.
            using Element = typename T::value_type;
            constexpr std::size_t least = std::integral<Element> ? sizeof(Element) : 1;
            if (!ok_ || count > left_.size() / least) {
                ok_ = false;
                return;
            }
            value.clear();
            if constexpr (std::integral<Element>)
                value.reserve(count);
            for (std::uint32_t i = 0; i < count && ok_; ++i)
                get(value.emplace_back());
        }
    }

  private:
    bool take(std::size_t n) {
        if (!ok_ || n > left_.size()) {
            ok_ = false;
            return false;
        }
        taken_ = left_.substr(0, n);
        left_.remove_prefix(n);
        return true;
    }
    std::string_view left_;
    std::string_view taken_;
    bool ok_ = true;
};

template <Described Message> Bytes encode(const Message &message) {
    Bytes out;
    out.reserve(encoded_size(message)); // it may be megabytes
    Writer(out).put(message);
    return out;
}

template <Described Message> Result<Message> decode(std::string_view bytes) {
    Message message;
    Reader reader(bytes);
    reader.get(message);
    if (!reader.ok())
        return error(ErrorKind::invalid, "{} message of {} bytes is cut off", Message::name, bytes.size());
    if (!reader.at_end())
        return error(ErrorKind::invalid, "{} message of {} bytes has bytes left over", Message::name, bytes.size());
    return message;
}

} // namespace pmixhost::wire
