// The last lines that were shown, for who wants to see them again (attach: "~v"). Pure.
#pragma once

#include <string>
#include <string_view>

namespace pmixhost {

class RecentLines {
  public:
    static constexpr std::size_t most_bytes = 1u << 20;

    void add(std::string_view text) {
        text_ += text;
        if (text_.size() > 2 * most_bytes) // so that not each newcomer has all moved
            text_.erase(0, text_.size() - most_bytes);
    }
    // Of the last `most_bytes` what is whole lines, but for the last one; a longer line is cut.
    std::string_view last() const {
        std::string_view text = text_;
        if (text.size() <= most_bytes)
            return text;
        text.remove_prefix(text.size() - most_bytes - 1); // with the byte before: a line may begin just here
        auto end = text.find('\n');
        return text.substr(end == text.npos || end + 1 == text.size() ? 1 : end + 1);
    }

  private:
    std::string text_;
};

} // namespace pmixhost
