// What is typed at `pmixhost attach`, on its way to the processes, which may take it slowly or never: so it is bounded,
// and a terminal is still heard when it is full, for the words by which somebody leaves. Pure.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pmixhost {

class TypedInput {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;
    static constexpr std::size_t most = 64u << 10;   // wait for the processes, and the rest of a line
    static constexpr std::size_t most_at_once = 512; // of a terminal's: next()
    static constexpr auto patience = std::chrono::seconds(3);
    static constexpr char detaches = '\x1d'; // Ctrl-]
    enum class Word { none, leave, page };

    // `terminal`: it gives a line at a time, or what ends with `detaches`, and has words that are not the processes'.
    explicit TypedInput(bool terminal) : terminal_(terminal) {}

    // Is more to be read now? When it is full it is not, so that what comes by a pipe, or is pasted, waits for
    // processes that are slow. Of a terminal it is, once they have taken nothing for `patience`; and from then on,
    // until they have taken all that waits.
    bool reads(TimePoint now) const {
        return !is_full() || leaves_out_ || (terminal_ && now - full_since_ >= patience);
    }
    // What was read. `leave`: "~." in a line of its own, or `detaches`; `page`: "~v" in a line of its own. What is
    // neither has a place while it is not full. Otherwise it is left out, and so is all that comes before nothing waits
    // any more: one gap is found, and mended, where lines that are missing here and there are not. notice() tells it.
    Word add(std::string_view text, TimePoint now) {
        if (terminal_ && text == "~.\n")
            return Word::leave;
        if (terminal_ && text == "~v\n")
            return Word::page;
        auto leaves = terminal_ ? text.find(detaches) : text.npos;
        keep(text.substr(0, leaves), now);
        return leaves == text.npos ? Word::none : Word::leave;
    }
    bool empty() const { return waiting_.empty(); }
    std::size_t size() const { return waiting_.size(); }
    // At most so many bytes; valid until the next call. Of a terminal they are few, for what is taken is all that tells
    // processes that are slow from those that do not read.
    std::string_view next(std::size_t bytes) const {
        return std::string_view(waiting_).substr(0, terminal_ ? std::min(bytes, most_at_once) : bytes);
    }
    // These have been taken.
    void taken(std::size_t bytes, TimePoint now) {
        waiting_.erase(0, bytes);
        full_since_ = now;
        leaves_out_ = leaves_out_ && !waiting_.empty();
    }
    // Nothing more is taken: only the words count.
    void close() {
        waiting_.clear();
        closed_ = true;
    }
    // What whoever types has to know now, if there is anything; once.
    std::optional<std::string> notice() {
        if (leaves_out_ && !told_) {
            told_ = true;
            return "what is typed now does not come to the job, which does not read it; ~. or Ctrl-] detaches";
        }
        if (left_out_ == 0 || leaves_out_ || closed_)
            return std::nullopt;
        told_ = false;
        return fmt::format("the job reads again; {} bytes that were typed are left out here",
                           std::exchange(left_out_, 0));
    }

  private:
    bool is_full() const { return waiting_.size() >= most; }
    void keep(std::string_view text, TimePoint now) {
        if (closed_)
            return;
        if (is_full() || leaves_out_) {
            leaves_out_ = true;
            left_out_ += text.size();
            return;
        }
        waiting_ += text;
        full_since_ = now;
    }

    const bool terminal_;
    std::string waiting_;
    TimePoint full_since_{}; // if it is: the last time that something was taken or has come
    bool leaves_out_ = false;
    std::size_t left_out_ = 0; // bytes
    bool told_ = false, closed_ = false;
};

} // namespace pmixhost
