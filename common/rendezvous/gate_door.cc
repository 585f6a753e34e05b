// See gate_door.h.
#include "common/rendezvous/gate_door.h"

#include "common/rendezvous/desk_word.h"
#include "common/text/printable.h"
#include "common/text/take_number.h"

#include <algorithm>
#include <charconv>

namespace pmixhost {

static constexpr std::string_view visits = "visit ", runs = "run ", ended = "ended ", refused = "refused ";

static bool is_within(std::string_view text, std::size_t longest, unsigned char first) {
    auto printable_from = [first](unsigned char c) { return c >= first && c < 0x7f; };
    return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), printable_from);
}

std::string visit_word(const Visit &visit) {
    std::string word = fmt::format("{}{} {}", visit.run ? runs : visits, visit.user, visit.job);
    if (!visit.run)
        return word;
    word += '\n' + visit.run->command;
    for (const auto &each : visit.run->words)
        word += '\n' + each;
    return word;
}

Result<Visit> parse_visit(std::string_view word) {
    auto fail = [word] { return error(ErrorKind::invalid, "'{}' is no wish of a visitor", printable(word)); };
    bool is_run = word.starts_with(runs);
    if (!is_run && !word.starts_with(visits))
        return fail();
    std::string_view rest = word.substr(is_run ? runs.size() : visits.size());
    Visit visit;
    auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), visit.user);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    // Behind the number, which is another one on the way to the desk.
    if (code != std::errc() || visit.user == static_cast<uid_t>(-1) || !rest.starts_with(' ') ||
        rest.size() > AskedRun::longest)
        return fail();
    rest.remove_prefix(1);
    std::string_view job = rest.substr(0, is_run ? rest.find('\n') : rest.npos);
    rest.remove_prefix(job.size());
    // No option, and no list: a command line's parser would take "[12,13]" for two.
    if (!is_within(job, longest_visited_job, 0x21) || job.front() == '-' || job.front() == '[' ||
        is_run != rest.starts_with('\n'))
        return fail();
    visit.job = job;
    if (!is_run)
        return visit;
    std::vector<std::string> words;
    while (!rest.empty()) {
        rest.remove_prefix(1);
        std::string_view each = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(each.size());
        if (!is_within(each, AskedRun::longest_word, 0x20) || words.size() > AskedRun::most_words)
            return fail();
        words.emplace_back(each);
    }
    visit.run.emplace();
    visit.run->command = std::move(words.front());
    visit.run->words.assign(std::make_move_iterator(words.begin() + 1), std::make_move_iterator(words.end()));
    return visit;
}

std::string run_ended(int code) {
    return fmt::format("{}{}", ended, code);
}

Result<int> parse_run_ended(std::string_view word) {
    if (word.starts_with(ended)) {
        unsigned char code = 0;
        word.remove_prefix(ended.size());
        auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), code);
        if (failed == std::errc() && end == word.data() + word.size())
            return code;
    }
    auto other = parse_desk_word(word);
    return other ? error(ErrorKind::system, "the desk says '{}'", printable(word)) : other.failure();
}

std::string refusals_word(const Refusals &refusals) {
    if (refusals.count == 0)
        return fmt::format("{}0", refused);
    return fmt::format("{}{} {} {} {}", refused, refusals.count, refusals.first.count(), refusals.last.count(),
                       refusals.why);
}

Result<Refusals> parse_refusals(std::string_view word) {
    constexpr std::uint64_t longest = 1u << 31; // seconds
    Refusals refusals;
    std::uint64_t first = 0, last = 0;
    std::string_view rest = word;
    if (rest.starts_with(refused)) {
        rest.remove_prefix(refused.size());
        if (rest == "0")
            return refusals;
        auto take = [&rest](std::uint64_t &number) {
            if (!take_number(rest, number) || !rest.starts_with(' '))
                return false;
            rest.remove_prefix(1);
            return true;
        };
        if (take(refusals.count) && take(first) && take(last) && refusals.count > 0 && last <= first &&
            first <= longest) {
            refusals.first = std::chrono::seconds(first);
            refusals.last = std::chrono::seconds(last);
            refusals.why = rest;
            return refusals;
        }
    }
    auto other = parse_desk_word(word);
    return other ? error(ErrorKind::system, "the gate says '{}'", printable(word)) : other.failure();
}

} // namespace pmixhost
