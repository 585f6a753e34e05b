// Errors as values. Result<T> holds a T or an Error whose text tells a user what went wrong and
// what to do. Exceptions never cross a function that returns a Result.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>

namespace pmixhost {

// What kind of failure it was, for the code that handles it; the text is for people.
enum class ErrorKind {
    invalid,     // the input is wrong; asking again with the same input fails again
    not_found,   // the thing named is not there
    denied,      // this identity may not do that
    limit,       // a size, a count or a resource limit was reached
    timeout,     // a deadline passed
    unreachable, // the peer, host or service is gone or cannot be contacted
    exists,      // somebody else has made it already
    unsupported, // known, but not offered here
    system,      // a system call failed
};

struct Error {
    ErrorKind kind = ErrorKind::invalid;
    std::string text; // one line, without a final newline
};

template <typename... Args> Error error(ErrorKind kind, fmt::format_string<Args...> format, Args &&...args) {
    return Error{kind, fmt::format(format, std::forward<Args>(args)...)};
}

// An Error from errno: "<what>: <strerror>". Its kind is not_found for ENOENT, denied for EACCES and EPERM, else
// system.
Error system_error(std::string_view what, int error_number);

template <typename T> class [[nodiscard]] Result {
  public:
    Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return content_.index() == 0; }
    bool ok() const { return content_.index() == 0; }

    // Precondition of value(): ok(); of failure(): !ok(). A breach throws std::bad_variant_access,
    // which ends at the boundary that called us.
    T &value() & { return std::get<0>(content_); }
    const T &value() const & { return std::get<0>(content_); }
    T &&value() && { return std::get<0>(std::move(content_)); }
    T *operator->() { return &std::get<0>(content_); }
    const T *operator->() const { return &std::get<0>(content_); }
    T &operator*() & { return std::get<0>(content_); }
    const T &operator*() const & { return std::get<0>(content_); }
    const Error &failure() const { return std::get<1>(content_); }

  private:
    std::variant<T, Error> content_;
};

struct Nothing {};

// The result of something that has no value.
template <> class [[nodiscard]] Result<void> : public Result<Nothing> {
  public:
    Result() : Result<Nothing>(Nothing{}) {}
    Result(Error error) : Result<Nothing>(std::move(error)) {}
};

} // namespace pmixhost
