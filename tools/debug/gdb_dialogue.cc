// See gdb_dialogue.h.
#include "tools/debug/gdb_dialogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pmixhost {

namespace {

constexpr std::uint64_t setting_id = 0; // nobody hears of these
constexpr std::string_view noise_begins[] = {"[Thread debugging using libthread_db", "Using host libthread_db",
                                             "[Thread 0x", "[New Thread 0x"};

// Where a process has stopped, if gdb has not said so for people.
std::string frame_text(const nlohmann::json &values) {
    auto frame = values.is_object() ? values.find("frame") : values.end();
    if (!values.is_object() || frame == values.end())
        return {};
    std::string function = gdb_word(*frame, "func"), file = gdb_word(*frame, "file");
    if (function.empty())
        function = gdb_word(*frame, "addr");
    if (file.empty())
        file = gdb_word(*frame, "from");
    std::string line = gdb_word(*frame, "line");
    return fmt::format("{} (){}{}{}{}", function, file.empty() ? "" : " at ", file, line.empty() ? "" : ":", line);
}

// Why it has stopped, where gdb's words for people do not say it.
std::string stop_text(const nlohmann::json &values, const std::string &said) {
    std::string signal = gdb_word(values, "signal-name");
    if (!signal.empty() && signal != "0" && signal != "SIGINT" && said.find(signal) == said.npos)
        return fmt::format("received signal {} ({})\n", signal, gdb_word(values, "signal-meaning"));
    return {};
}

// In lines that go through whatever shows text: ASCII without control characters.
std::string values_text(const nlohmann::json &values) {
    std::string out;
    for (char c : values.dump(0, ' ', true, nlohmann::json::error_handler_t::replace))
        out += c == '\x7f' ? std::string("\\u007f") : std::string(1, c);
    return out + "\n";
}

// The machine interface's word for why it has stopped, with what belongs to it.
std::string stop_reason(const nlohmann::json &values) {
    std::string out = gdb_word(values, "reason");
    for (const char *more : {"signal-name", "bkptno"}) {
        if (std::string word = gdb_word(values, more); !word.empty())
            out += " " + word;
    }
    return out;
}

// Without lines of which there is one for each thread, or that say nothing of the program.
std::string for_people(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
        text.remove_prefix(line.size());
        bool noise = std::any_of(std::begin(noise_begins), std::end(noise_begins),
                                 [line](std::string_view begin) { return line.starts_with(begin); });
        if (!noise)
            out += line;
    }
    return out;
}

bool is_result(const GdbRecord &record) {
    constexpr std::string_view words[] = {"done", "running", "connected", "error", "exit"};
    return std::find(std::begin(words), std::end(words), record.word) != std::end(words);
}

// The result at the end of a line that others have begun: gdb's Python, or a program that it runs, which write to gdb's
// output themselves and without a line break.
Result<GdbRecord> result_behind(std::string_view line) {
    constexpr std::string_view mark = "7^";
    for (auto at = line.find(mark); at != line.npos; at = line.find(mark, at + 1)) {
        auto record = parse_gdb_line(line.substr(at));
        if (record && is_result(*record))
            return record;
    }
    return error(ErrorKind::invalid, "it has none");
}

} // namespace

std::string GdbDialogue::begin(pid_t process) {
    for (const char *setting :
         {"-gdb-set mi-async on", "-gdb-set pagination off", "-gdb-set width 0", "-gdb-set height 0",
          "-gdb-set style enabled off", "-gdb-set print frame-arguments scalars",
          // Where ranks stop first their libraries are not there yet, and nobody is asked whether one may come.
          "-gdb-set breakpoint pending on",
          // What its scripts make of values is for editors as well; for people it is so anyway.
          "-enable-pretty-printing"})
        waiting_.push_back({setting_id, setting});
    waiting_.push_back({setting_id, "-interpreter-exec console \"handle SIGSTOP nopass\""});
    waiting_.push_back({setting_id, "-interpreter-exec console \"handle SIGCONT nostop noprint pass\""});
    waiting_.push_back({attach_id, fmt::format("-target-attach {}", process)});
    return next();
}

std::string GdbDialogue::ask(std::uint64_t id, std::string_view command, GdbLanguage language) {
    bool machine = language == GdbLanguage::machine;
    waiting_.push_back(
        {id, machine ? std::string(command) : "-interpreter-exec console " + gdb_quoted(command), machine});
    return next();
}

std::string GdbDialogue::next() {
    if (asked_ || waiting_.empty())
        return {};
    asked_ = true;
    ran_before_ = runs_;
    answer_.clear();
    complaints_.clear();
    return fmt::format("7{}\n", waiting_.front().command);
}

std::vector<GdbEvent> GdbDialogue::on_line(std::string_view line, std::string &write) {
    std::vector<GdbEvent> out;
    auto record = parse_gdb_line(line);
    if (!record && asked_)
        record = result_behind(line);
    if (!record)
        return out; // a warning, or what a program could make it say
    inferiors_.on_record(*record);
    switch (record->kind) {
    case '~': {
        // What it says while a command is under way answers that, unless the command has let the process run.
        std::string &text = asked_ ? answer_ : by_itself_;
        if (text.size() < most_text)
            text += record->word;
        break;
    }
    case '&':
        // Complaints; where the command fails its message says the same once more.
        if (asked_ && complaints_.size() < most_text)
            complaints_ += record->word;
        break;
    case '^':
        // Digits that somebody else has written before it are none of the token's.
        if (asked_ && record->token.ends_with('7') && is_result(*record))
            on_result(*record, out);
        break;
    case '*':
        if (record->word == "running") {
            // By a command of a breakpoint's, say.
            if (!std::exchange(runs_, true) && !asked_)
                out.push_back({0, GdbEvent::Kind::runs, for_people(std::exchange(by_itself_, {}))});
        } else if (record->word == "stopped") {
            on_stop(*record, out);
        }
        break;
    case '=':
        on_group(*record, out);
        break;
    default:
        break;
    }
    write += next();
    return out;
}

// What has ended by itself is said to be so right after this, in words for people; of what a command has ended or let
// go there is no more to come. Of a program that becomes another one gdb lets go before it has it as a new inferior.
void GdbDialogue::on_group(const GdbRecord &record, std::vector<GdbEvent> &out) {
    if (record.word == "thread-group-started" || record.word == "thread-created")
        gone_ = added_ = false;
    else if (record.word == "thread-group-added")
        added_ = true;
    if (record.word == "thread-group-exited" && !gone_ && inferiors_.none() && asked_) {
        ended_ = !gdb_word(record.values, "exit-code").empty();
        left_ = true;
        if (!added_)
            tell_end(out);
    }
}

void GdbDialogue::tell_end(std::vector<GdbEvent> &out) {
    if (!std::exchange(left_, false) || !inferiors_.none())
        return;
    runs_ = false;
    gone_ = true;
    out.push_back({0, GdbEvent::Kind::gone, ended_ ? "it has ended\n" : "it was killed, or gdb has let go of it\n"});
}

void GdbDialogue::on_result(const GdbRecord &record, std::vector<GdbEvent> &out) {
    Question question = std::move(waiting_.front());
    waiting_.pop_front();
    asked_ = false;
    GdbEvent event{question.id, GdbEvent::Kind::done, std::exchange(answer_, {})};
    if (question.wants_values)
        event.text.clear();
    std::string complaints = std::exchange(complaints_, {});
    if (record.word == "error") {
        event.kind = GdbEvent::Kind::error;
        event.text += gdb_word(record.values, "msg") + "\n";
    } else if (record.word == "running" || (runs_ && !ran_before_ && question.id != attach_id)) {
        event.kind = GdbEvent::Kind::runs;
        runs_ = true;
    }
    if (event.kind != GdbEvent::Kind::error)
        event.text += question.wants_values ? values_text(record.values) : complaints;
    if (question.id != setting_id)
        out.push_back(std::move(event));
    tell_end(out);
}

void GdbDialogue::on_stop(const GdbRecord &record, std::vector<GdbEvent> &out) {
    std::string reason = gdb_word(record.values, "reason"), text = for_people(std::exchange(by_itself_, {}));
    if (reason.starts_with("exited") && inferiors_.none()) {
        left_ = false;
        if (!gone_)
            out.push_back({0, GdbEvent::Kind::gone, std::move(text)});
        runs_ = false;
        gone_ = true;
        return;
    }
    runs_ = false;
    std::string why = stop_text(record.values, text);
    if (text.empty())
        text = frame_text(record.values) + "\n";
    out.push_back(
        {0, GdbEvent::Kind::stopped, why + text, stop_reason(record.values), gdb_word(record.values, "thread-id")});
}

} // namespace pmixhost
