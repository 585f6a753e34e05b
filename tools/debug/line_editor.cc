// See line_editor.h.
#include "tools/debug/line_editor.h"

#include "config.h"

#include "tools/terminal/terminal.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cwchar>
#include <poll.h>
#include <unistd.h>
#include <utility>

#ifdef PMIXHOST_HAVE_LIBEDIT
#include <histedit.h>
#include <termios.h>
#endif

namespace pmixhost {

namespace {

// What all begin with.
std::string common_begin(const std::vector<std::string> &words) {
    std::string out = words.empty() ? std::string() : words[0];
    for (const auto &word : words)
        out.resize(static_cast<std::size_t>(std::mismatch(out.begin(), out.end(), word.begin(), word.end()).first -
                                            out.begin()));
    return out;
}

} // namespace

// Until there is something to read on standard input. False: it was interrupted, or is over.
bool LineEditor::await_input(const std::function<void()> &on_other) {
    using Clock = std::chrono::steady_clock;
    while (!callbacks_.interrupted() && !callbacks_.over()) {
        if (Clock::now() >= timed_ + callbacks_.time) {
            callbacks_.on_time();
            timed_ = Clock::now();
        }
        auto left = std::chrono::ceil<std::chrono::milliseconds>(timed_ + callbacks_.time - Clock::now());
        pollfd waits[3] = {{STDIN_FILENO, POLLIN, 0}, {callbacks_.other(), POLLIN, 0}, {callbacks_.wake, POLLIN, 0}};
        if (::poll(waits, 3, static_cast<int>(std::max<std::int64_t>(0, left.count()))) <= 0)
            continue;
        if (waits[1].fd >= 0 && waits[1].revents != 0)
            on_other();
        if (waits[0].revents != 0)
            return true;
    }
    return false;
}

#ifdef PMIXHOST_HAVE_LIBEDIT

// A terminal that gives whole lines makes of Ctrl-D a mark that nobody finds who reads letters later. Between two lines
// of the prompt, while an answer is on its way, this one gives letters as they are: what is typed then begins the next
// line, and Ctrl-D ends it. Signals go on as before.
class TypeAhead {
  public:
    TypeAhead() : known_(::tcgetattr(STDIN_FILENO, &before_) == 0) {}
    ~TypeAhead() { set(before_); }
    TypeAhead(const TypeAhead &) = delete;
    void begin() {
        termios letters = before_;
        letters.c_lflag &= ~static_cast<tcflag_t>(ICANON);
        letters.c_cc[VMIN] = 1;
        letters.c_cc[VTIME] = 0;
        letters.c_cc[VQUIT] = _POSIX_VDISABLE; // it would leave the terminal so
        set(letters);
    }

  private:
    void set(const termios &mode) {
        if (known_)
            ::tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
    }
    termios before_{};
    bool known_;
};

struct LineEditor::Terminal {
    explicit Terminal(LineEditor &of) : editor(of) {
        std::setlocale(LC_CTYPE, "");
        edit = ::el_init("pmixhost", stdin, stdout, stderr);
        past = ::history_init();
        HistEvent event;
        ::history(past, &event, H_SETSIZE, 1000);
        ::history(past, &event, H_SETUNIQUE, 1);
        ::el_set(edit, EL_CLIENTDATA, this);
        ::el_set(
            edit, EL_PROMPT, +[](EditLine *of_line) { return self(of_line).prompt.data(); });
        ::el_set(edit, EL_EDITOR, "emacs");
        ::el_set(edit, EL_HIST, ::history, past);
        ::el_set(edit, EL_SIGNAL, 0);
        ::el_set(
            edit, EL_GETCFN, +[](EditLine *of_line, wchar_t *letter) { return self(of_line).get(letter); });
        ::el_set(
            edit, EL_ADDFN, "pmixhost-complete", "what the word could be",
            +[](EditLine *of_line, int) -> unsigned char { return self(of_line).complete(); });
        ::el_set(edit, EL_BIND, "\t", "pmixhost-complete", nullptr);
        type_ahead.begin();
    }
    ~Terminal() {
        ::history_end(past);
        ::el_end(edit);
    }
    Terminal(const Terminal &) = delete;

    static Terminal &self(EditLine *of_line) {
        void *data = nullptr;
        ::el_get(of_line, EL_CLIENTDATA, &data);
        return *static_cast<Terminal *>(data);
    }

    // A letter, as libedit asks for it: 1, 0 at the end, -1 with errno.
    int get(wchar_t *letter) {
        std::mbstate_t state{};
        for (;;) {
            auto on_other = [this] {
                std::fputs("\r\x1b[K", stdout);
                editor.callbacks_.on_other();
                ::el_set(edit, EL_REFRESH);
            };
            if (!editor.await_input(on_other)) {
                editor.cut_ = true;
                errno = EINTR;
                return -1;
            }
            char byte = 0;
            ssize_t got = ::read(STDIN_FILENO, &byte, 1);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return 0;
            std::size_t made = std::mbrtowc(letter, &byte, 1, &state);
            if (made == static_cast<std::size_t>(-1)) {
                *letter = L'?';
                return 1;
            }
            if (made != static_cast<std::size_t>(-2))
                return 1;
        }
    }

    unsigned char complete() {
        const LineInfo *info = ::el_line(edit);
        std::string line(info->buffer, static_cast<std::size_t>(info->cursor - info->buffer));
        auto words = editor.callbacks_.complete(line);
        std::string last = line.substr(line.find_last_of(' ') + 1), begin = common_begin(words);
        if (begin.size() > last.size()) {
            std::string more = begin.substr(last.size()) + (words.size() == 1 ? " " : "");
            return ::el_insertstr(edit, more.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
        }
        if (words.size() < 2)
            return CC_ERROR;
        std::fputc('\n', stdout);
        for (std::size_t i = 0; i < words.size() && i < 100; ++i)
            std::fprintf(stdout, "%s%s", i > 0 ? "  " : "", words[i].c_str());
        std::fputs(words.size() > 100 ? "  ...\n" : "\n", stdout);
        return CC_REDISPLAY;
    }

    std::optional<std::string> read(const std::string &with_prompt) {
        prompt = with_prompt;
        int count = 0;
        const char *line = ::el_gets(edit, &count);
        type_ahead.begin();
        if (editor.cut_) {
            ::el_reset(edit);
            std::fputs(editor.callbacks_.over() ? "\n" : "^C\n", stdout);
            return std::string();
        }
        if (!line || count <= 0)
            return std::nullopt;
        std::string out(line, static_cast<std::size_t>(count));
        HistEvent event;
        if (out.find_first_not_of(" \n") != out.npos)
            ::history(past, &event, H_ENTER, out.c_str());
        while (!out.empty() && (out.back() == '\n' || out.back() == '\r'))
            out.pop_back();
        return out;
    }

    LineEditor &editor;
    TypeAhead type_ahead; // before libedit looks
    EditLine *edit;
    History *past;
    std::string prompt;
};

#else

struct LineEditor::Terminal {
    std::optional<std::string> read(const std::string &) { return std::nullopt; }
};

#endif

LineEditor::LineEditor(Callbacks callbacks) : callbacks_(std::move(callbacks)) {
#ifdef PMIXHOST_HAVE_LIBEDIT
    if (is_terminal(stdin) && is_terminal(stdout))
        terminal_ = std::make_unique<Terminal>(*this);
#endif
}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::read(const std::string &prompt) {
    std::fflush(stdout);
    cut_ = false;
    return terminal_ ? terminal_->read(prompt) : read_plain(prompt);
}

std::optional<std::string> LineEditor::read_plain(const std::string &prompt) {
    bool asks = ::isatty(STDIN_FILENO) == 1;
    if (asks)
        std::fputs(prompt.c_str(), stdout);
    std::fflush(stdout);
    for (;;) {
        if (auto end = begun_.find('\n'); end != begun_.npos) {
            std::string line = begun_.substr(0, end);
            begun_.erase(0, end + 1);
            return line;
        }
        if (ended_)
            return begun_.empty() ? std::nullopt : std::optional(std::exchange(begun_, {}));
        if (!await_input(callbacks_.on_other)) {
            cut_ = true;
            return std::string();
        }
        char bytes[4096];
        ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            ended_ = true;
        else
            begun_.append(bytes, static_cast<std::size_t>(got));
    }
}

} // namespace pmixhost
