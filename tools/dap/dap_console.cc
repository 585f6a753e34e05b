// See dap_console.h.
#include "tools/dap/dap_console.h"

#include "common/text/take_until.h"
#include "tools/debug/gdb_words.h"
#include "tools/debug/rank_answers.h"

#include <algorithm>

namespace pmixhost {

using nlohmann::json;

namespace {

void show(const DapRequest &request, const std::string &text) {
    request.answer({{"result", text.substr(0, text.find_last_not_of('\n') + 1)}, {"variablesReference", 0}});
}

// gdb reads nothing while a process runs that one of its console's commands has let run, unless it is said with "&": a
// breakpoint that the editor sets meanwhile would have to wait until the process stops.
bool lets_run(std::string_view command) {
    constexpr LongWord words[] = {{"advance", 3}, {"continue", 1}, {"fg"}, {"finish", 3},
                                  {"jump", 1},    {"nexti", 1},    {"ni"}, {"reverse-continue", 9},
                                  {"signal", 3},  {"stepi", 1},    {"si"}, {"until", 1}};
    return is_one_of(words, command.substr(0, command.find_first_of(" \t")));
}

} // namespace

void DapConsole::add_to(DapHandlers &handlers) {
    handlers["evaluate"] = [this](const DapRequest &request) {
        if (request.text("context") == "repl")
            return obey(request);
        look_->evaluate(request);
    };
    handlers["completions"] = [this](const DapRequest &request) { complete(request); };
}

std::string DapConsole::states() const {
    struct Named {
        DapRanks::State state;
        const char *name;
    };
    std::vector<RankText> out;
    for (Named one :
         {Named{DapRanks::State::stopped, "stopped"}, Named{DapRanks::State::running, "running"},
          Named{DapRanks::State::gone, "ended, or let go"}, Named{DapRanks::State::refused, "not debugged"}})
        for (Rank rank : ranks_->in(one.state))
            out.push_back({rank, one.name});
    return shown_texts(merged_texts(out));
}

void DapConsole::obey(const DapRequest &request) {
    auto word = parse_prompt(request.text("expression"));
    if (auto *quit = std::get_if<PromptQuit>(&word)) {
        show(request, "");
        quit_(quit->kills);
    } else if (auto *focus = std::get_if<PromptFocus>(&word)) {
        if (ranks_->alive(focus->ranks).empty())
            return request.refuse("no debugged rank that runs or has stopped is among these");
        motion_->set_focus(std::move(focus->ranks));
        show(request, motion_->focus() ? "all that is said from now on is for these ranks; others: focus all"
                                       : "all that is said from now on is for all ranks");
    } else if (auto *refused = std::get_if<PromptRefused>(&word)) {
        request.refuse(refused->why);
    } else if (auto *input = std::get_if<PromptInput>(&word)) {
        if (auto given = give_(*input); !given)
            return request.refuse(given.failure().text);
        show(request, "");
    } else if (std::holds_alternative<PromptHelp>(word)) {
        show(request, prompt_help);
    } else if (std::holds_alternative<PromptRanks>(word)) {
        show(request, states());
    } else if (std::holds_alternative<PromptInterrupt>(word)) {
        motion_->interrupt(motion_->focus());
        show(request, "");
    } else if (auto *command = std::get_if<PromptSay>(&word)) {
        say(request, lets_run(command->text) && !command->background ? command->text + " &" : command->text);
    } else {
        show(request, ""); // an editor waits for nothing
    }
}

void DapConsole::say(const DapRequest &request, const std::string &command) {
    auto ranks = ranks_->alive(motion_->focus());
    if (ranks.empty())
        return request.refuse("no debugged rank of the focus runs or has stopped; next: ranks, or all");
    auto done = [request](const DapRanks::Answers &answers) {
        std::vector<RankText> texts;
        for (const auto &[rank, event] : answers)
            texts.push_back({rank, event.text});
        show(request, shown_texts(merged_texts(texts)));
    };
    auto each = [this](Rank rank, const GdbEvent &answer) { motion_->on_answer(rank, answer); };
    if (auto said = ranks_->ask(ranks, command, GdbLanguage::console, done, each); !said)
        request.refuse(said.failure().text);
    else
        motion_->on_said(ranks);
}

// Of what stands before the column, what could stand in the place of its last word.
void DapConsole::complete(const DapRequest &request) {
    std::string line = request.text("text");
    if (int column = request.number("column"); column >= first_column_)
        line.resize(std::min(line.size(), static_cast<std::size_t>(column - first_column_)));
    auto begin = line.find_last_of(' ');
    std::string before = begin == line.npos ? std::string() : line.substr(0, begin + 1);
    // Without these what is chosen would come behind what is typed already.
    auto target = [start = static_cast<int>(before.size()) + first_column_,
                   length = line.size() - before.size()](std::string_view word) {
        return json{{"label", std::string(word)}, {"start", start}, {"length", length}};
    };
    json targets = json::array();
    if (before.empty()) {
        for (const auto &word : own_words(line))
            targets.push_back(target(word));
    }
    auto stopped = ranks_->in(DapRanks::State::stopped, motion_->focus());
    if (stopped.empty())
        return request.answer({{"targets", targets}});
    auto done = [request, before, target, targets](const DapRanks::Answers &answers) mutable {
        for (const auto &[rank, event] : answers) {
            if (event.kind == GdbEvent::Kind::error)
                continue;
            for (std::string_view rest = event.text; !rest.empty();) {
                auto found = take_until(rest, '\n');
                if (found.starts_with(before) && found.size() > before.size() && found.find("***") == found.npos)
                    targets.push_back(target(found.substr(before.size())));
            }
        }
        request.answer({{"targets", targets}});
    };
    if (auto said = ranks_->ask({stopped[0]}, "complete " + line, GdbLanguage::console, done); !said)
        request.answer({{"targets", targets}});
}

} // namespace pmixhost
