// See prompt_words.h.
#include "tools/debug/prompt_words.h"

#include "tools/debug/debug_lines.h"
#include "tools/debug/gdb_words.h"
#include "tools/terminal/rank_list.h"

#include <algorithm>
#include <cctype>

namespace pmixhost {

const char prompt_help[] =
    "focus RANKS        commands go to these ranks from now on, such as: focus 0-3,7\n"
    "all, focus all     to all ranks again\n"
    "ranks              who runs, who has stopped, who has ended\n"
    "interrupt          stop the ranks of the focus (so does Ctrl-C while they run)\n"
    "wait               until all ranks of the focus have stopped or ended\n"
    "input TEXT         a line for the standard input of a job that was started for this\n"
    "eof                ends that input\n"
    "quit               let all go: the job runs on, and one that was started for this is waited for\n"
    "quit kill          end the job\n"
    "Everything else is said to the gdb of each rank of the focus: break, continue, next, print, bt, info threads, "
    "...\n"
    "(help gdb: gdb's own help). Answers that are the same are shown once, with their ranks. With & at its end, as in\n"
    "\"continue &\", a command does not wait until the ranks stop.\n";

namespace {

constexpr const char *words_of_ours[] = {"focus", "all", "ranks", "interrupt", "wait", "input", "eof", "quit", "help"};

// gdb would read more lines, which it does not get, or it would need a terminal, or leave its process.
constexpr LongWord not_here[] = {
    {"commands", 4},
    {"define", 3},
    {"define-prefix", 7},
    {"document", 3},
    {"if"},
    {"while", 3},
    {"python-interactive", 7},
    {"pi"},
    {"guile-repl", 6},
    {"gr"},
    {"edit", 2},
    {"tui", 2},
    {"layout", 2},
    {"shell", 3},
    {"make", 3},
    {"compile", 5},
    {"attach", 2},
    {"add-inferior", 5},
    {"interpreter-exec", 6},
    {"new-ui", 3},
    {"target", 3},
};

bool needs_more_lines(std::string_view word, std::string_view rest) {
    if (is_one_of(not_here, word) || word[0] == '!')
        return true;
    constexpr LongWord interpreters[] = {{"python", 2}, {"guile", 2}};
    return rest.empty() && is_one_of(interpreters, word);
}

// What a command of the shell writes comes between gdb's own words, which say where an answer ends.
bool is_for_the_shell(std::string_view word) {
    constexpr LongWord pipe[] = {{"pipe", 3}};
    return word[0] == '|' || is_one_of(pipe, word);
}

// Behind the prompt's back: each would let go of its rank, or kill it.
bool ends_gdb(std::string_view word) {
    constexpr LongWord words[] = {{"quit", 3}, {"exit", 3}};
    return word == "q" || is_one_of(words, word);
}

// It would kill the rank, and begin a process that is none.
bool starts_anew(std::string_view word) {
    constexpr std::string_view words[] = {"r", "ru", "run", "start", "starti"};
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

// The first word of gdb's, which ends before anything else: "if(x)", "attach/1". Of what begins with none, up to a
// blank.
std::string_view gdb_word_of(std::string_view line) {
    std::string_view word = line.substr(0, line.find_first_of(" \t"));
    auto plain = std::find_if_not(word.begin(), word.end(),
                                  [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
    return plain == word.begin() ? word : word.substr(0, static_cast<std::size_t>(plain - word.begin()));
}

// Of `thread apply ID ... -FLAG ... COMMAND` and its like, the command: behind numbers, lists of them, and flags, which
// may have a word that says whether they are meant ("-past-main off").
std::string_view behind_what_it_is_for(std::string_view rest) {
    constexpr std::string_view words[] = {"all", "level"};
    constexpr LongWord yes_or_no[] = {{"on"}, {"off", 2}, {"yes", 1}, {"no", 1}, {"enable", 1}, {"disable", 1}};
    bool is_behind_flag = false; // 1 and 0 are numbers
    for (rest = trimmed(rest); !rest.empty();) {
        std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
        bool is_for = std::isdigit(static_cast<unsigned char>(word[0])) ||
                      std::string_view("-$*").find(word[0]) != std::string_view::npos ||
                      std::find(std::begin(words), std::end(words), word) != std::end(words) ||
                      (is_behind_flag && is_one_of(yes_or_no, word));
        if (!is_for)
            break;
        is_behind_flag = word[0] == '-';
        rest = trimmed(rest.substr(word.size()));
    }
    return rest;
}

// The command that this one has gdb run: `with SETTING -- COMMAND`, `thread apply all COMMAND`. Empty: it is none of
// these. It is shorter than `line`.
std::string_view inner_command(std::string_view line) {
    constexpr LongWord with[] = {{"with", 1}}, of_many[] = {{"thread", 1}, {"frame", 1}},
                       for_all[] = {{"taas", 3}, {"tfaas", 2}, {"faas", 2}}, apply[] = {{"apply", 1}};
    std::string_view word = gdb_word_of(line), rest = trimmed(line.substr(word.size()));
    if (is_one_of(with, word)) {
        auto mark = rest.find("--");
        return mark == rest.npos ? std::string_view() : trimmed(rest.substr(mark + 2));
    }
    if (is_one_of(for_all, word))
        return behind_what_it_is_for(rest);
    std::string_view second = gdb_word_of(rest);
    return is_one_of(of_many, word) && is_one_of(apply, second) ? behind_what_it_is_for(rest.substr(second.size()))
                                                                : std::string_view();
}

// Why a command of gdb's is not for here.
std::optional<std::string> reason_against(std::string_view line) {
    std::string_view word = gdb_word_of(line), rest = trimmed(line.substr(word.size()));
    if (ends_gdb(word))
        return "quit, or quit kill";
    if (starts_anew(word))
        return "the job runs already: it is not started again; next: continue";
    if (is_for_the_shell(word))
        return "what comes from the hosts cannot go through a command of the shell; next: the command of gdb alone, or "
               "a pipe behind pmixhost debug --execute";
    if (needs_more_lines(word, rest))
        return "'" + printable(word, 40) + "' is not for many ranks at once, or needs more than a line; " +
               "next: write it into a file that all hosts see, and say: source FILE";
    return std::nullopt;
}

PromptWord focus_of(std::string_view words) {
    if (words.empty())
        return PromptRefused{"focus needs ranks, such as: focus 0-3,7; or: focus all"};
    if (words == "all" || words == "*")
        return PromptFocus{};
    auto ranks = ranks_in_words(std::string(words), "focus");
    if (!ranks)
        return PromptRefused{ranks.failure().text};
    return PromptFocus{std::move(*ranks)};
}

// `line`: as it was typed; blanks of the text are the program's.
PromptWord input_of(std::string_view line) {
    constexpr std::string_view word = "input";
    line.remove_prefix(line.find(word) + word.size());
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    if (!line.empty())
        line.remove_prefix(1);
    if (line.size() > longest_debug_command)
        return PromptRefused{"a line of input is at most 2000 bytes long"};
    return PromptInput{std::string(line) + "\n", false};
}

} // namespace

PromptWord parse_prompt(std::string_view line) {
    std::string_view typed = line;
    line = trimmed(line);
    if (line.empty() || line[0] == '#')
        return PromptNothing();
    auto end = line.find_first_of(" \t");
    std::string_view word = line.substr(0, end), rest = end == line.npos ? "" : trimmed(line.substr(end));
    if (word == "focus")
        return focus_of(rest);
    if (word == "all" && rest.empty())
        return PromptFocus{};
    if (word == "ranks" && rest.empty())
        return PromptRanks();
    if (word == "interrupt" && rest.empty())
        return PromptInterrupt();
    if (word == "wait" && rest.empty())
        return PromptWait();
    if (word == "help" && rest.empty())
        return PromptHelp();
    if (word == "eof" && rest.empty())
        return PromptInput{{}, true};
    if (word == "input")
        return input_of(typed);
    if (word == "help" && rest == "gdb")
        return PromptSay{"help", false};
    if (ends_gdb(word)) {
        if (rest == "kill")
            return PromptQuit{true};
        return rest.empty() ? PromptWord(PromptQuit{}) : PromptRefused{"quit, or quit kill"};
    }
    for (std::string_view command = line; !command.empty(); command = inner_command(command)) {
        if (auto why = reason_against(command))
            return PromptRefused{std::move(*why)};
    }
    if (line.size() > longest_debug_command)
        return PromptRefused{"a command is at most 2000 bytes long"};
    bool background = line.back() == '&';
    return PromptSay{std::string(line), background};
}

std::string once_more(std::string_view line) {
    constexpr LongWord steps[] = {{"next", 1}, {"step", 1}, {"ni"}, {"nexti"}, {"si"}, {"stepi"}, {"up"}, {"down", 3}};
    constexpr LongWord lists[] = {{"list", 1}, {"x"}}; // without an argument gdb goes on where it was
    line = trimmed(line);
    std::string_view word = line.empty() ? line : gdb_word_of(line);
    if (is_one_of(steps, word))
        return std::string(line);
    return is_one_of(lists, word) ? std::string(word) : std::string();
}

std::vector<std::string> own_words(std::string_view begin) {
    std::vector<std::string> out;
    for (const char *word : words_of_ours) {
        if (std::string_view(word).starts_with(begin))
            out.emplace_back(word);
    }
    return out;
}

} // namespace pmixhost
