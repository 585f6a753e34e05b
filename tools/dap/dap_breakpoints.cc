// See dap_breakpoints.h.
#include "tools/dap/dap_breakpoints.h"

#include <algorithm>
#include <charconv>
#include <memory>

namespace pmixhost {

using nlohmann::json;

namespace {

constexpr std::size_t most_breakpoints = 1000; // of one request
const char function_group[] = "/functions/";   // no file is called so

// What the client is told of one, from what the ranks' gdbs say: where any of them has it, it is there.
json told_of(int id, int line, const DapRanks::Answers &answers) {
    json out{{"id", id}, {"verified", false}};
    if (line > 0)
        out["line"] = line;
    for (const auto &[rank, event] : answers) {
        if (event.kind == GdbEvent::Kind::error) {
            out.emplace("message", event.text.substr(0, event.text.find('\n')));
            continue;
        }
        json values = json::parse(event.text, nullptr, false);
        json place = values.is_object() ? values.value("bkpt", json::object()) : json::object();
        if (gdb_word(place, "number").empty()) {
            out.emplace("message", "gdb says too much of it");
            continue;
        }
        if (gdb_word(place, "addr") == "<PENDING>") {
            out.emplace("message", "no file of the program that is loaded has it yet");
            continue;
        }
        std::string found = gdb_word(place, "line");
        int at = 0;
        std::from_chars(found.data(), found.data() + found.size(), at);
        if (at > 0)
            out["line"] = at;
        out["verified"] = true;
        out.erase("message");
        break;
    }
    return out;
}

// A breakpoint that would do something else than what was asked for is none.
std::string why_none(const json &breakpoint) {
    if (!dap_text(breakpoint, "logMessage").empty())
        return "messages of log points are not there; next: a breakpoint";
    if (!dap_text(breakpoint, "hitCondition").empty())
        return "hits are not counted; next: a condition";
    return {};
}

} // namespace

void DapBreakpoints::add_to(DapHandlers &handlers) {
    handlers["setBreakpoints"] = [this](const DapRequest &request) {
        std::string path = dap_text(request.arguments().value("source", json::object()), "path");
        if (path.empty())
            return request.refuse("breakpoints need a source with a path");
        std::vector<Wanted> wanted;
        for (const auto &one : gdb_list(request.arguments(), "breakpoints"))
            wanted.push_back({"--source " + gdb_quoted(path) + fmt::format(" --line {}", dap_number(one, "line")),
                              dap_text(one, "condition"), dap_number(one, "line"), why_none(one)});
        set(request, path, wanted);
    };
    handlers["setFunctionBreakpoints"] = [this](const DapRequest &request) {
        std::vector<Wanted> wanted;
        for (const auto &one : gdb_list(request.arguments(), "breakpoints"))
            wanted.push_back(
                {"--function " + gdb_quoted(dap_text(one, "name")), dap_text(one, "condition"), 0, why_none(one)});
        set(request, function_group, wanted);
    };
    // There are none to choose from; some clients ask all the same.
    handlers["setExceptionBreakpoints"] = [](const DapRequest &request) { request.answer(); };
}

void DapBreakpoints::remove(const std::map<Rank, std::string> &numbers) {
    std::map<std::string, std::vector<Rank>> by_number;
    for (const auto &[rank, number] : numbers)
        by_number[number].push_back(rank);
    for (const auto &[number, ranks] : by_number)
        (void)ranks_->ask(ranks, "-break-delete " + number, GdbLanguage::machine, [](const auto &) {});
}

void DapBreakpoints::clear(const std::string &group) {
    for (int id : groups_[group]) {
        remove(numbers_[id]);
        numbers_.erase(id);
        commands_.erase(id);
    }
    groups_.erase(group);
}

void DapBreakpoints::placed(int id, Rank rank, const GdbEvent &answer) {
    json values = json::parse(answer.text, nullptr, false);
    std::string number = values.is_object() ? gdb_word(values.value("bkpt", json::object()), "number") : "";
    if (number.empty() || number.find_first_not_of("0123456789") != number.npos)
        return;
    if (auto found = numbers_.find(id); found != numbers_.end())
        found->second[rank] = number;
    else
        remove({{rank, number}}); // it has been replaced meanwhile
}

void DapBreakpoints::set(const DapRequest &request, const std::string &group, const std::vector<Wanted> &wanted) {
    if (wanted.size() > most_breakpoints)
        return request.refuse(fmt::format("{} breakpoints; allowed: {}", wanted.size(), most_breakpoints));
    clear(group);
    struct Open {
        std::vector<json> told;
        std::size_t count;
    };
    auto open = std::make_shared<Open>(Open{std::vector<json>(wanted.size()), wanted.size()});
    if (wanted.empty())
        return request.answer({{"breakpoints", json::array()}});
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        int id = next_++;
        groups_[group].push_back(id);
        numbers_[id];
        auto done = [request, open, i, id, line = wanted[i].line](const DapRanks::Answers &answers) {
            open->told[i] = told_of(id, line, answers);
            if (--open->count == 0)
                request.answer({{"breakpoints", open->told}});
        };
        if (!wanted[i].refused.empty()) {
            done({{0, {0, GdbEvent::Kind::error, wanted[i].refused}}});
            continue;
        }
        // A rank that runs may be there before the others have answered.
        auto each = [this, id](Rank rank, const GdbEvent &answer) { placed(id, rank, answer); };
        // Also where no file that is loaded has it yet (-f).
        std::string command = "-break-insert -f";
        if (!wanted[i].condition.empty())
            command += " -c " + gdb_quoted(wanted[i].condition);
        command += " " + wanted[i].place;
        if (auto said = ranks_->ask(ranks_->alive(), command, GdbLanguage::machine, done, each); !said)
            done({{0, {0, GdbEvent::Kind::error, said.failure().text}}});
        else
            commands_[id] = command;
    }
}

void DapBreakpoints::give(Rank rank) {
    for (const auto &[id, command] : commands_)
        (void)ranks_->ask(
            {rank}, command, GdbLanguage::machine, [](const auto &) {},
            [this, id = id](Rank from, const GdbEvent &answer) { placed(id, from, answer); });
}

std::vector<int> DapBreakpoints::hit(Rank rank, const std::string &number) const {
    std::vector<int> out;
    for (const auto &[id, numbers] : numbers_) {
        auto found = numbers.find(rank);
        if (found != numbers.end() && found->second == number)
            out.push_back(id);
    }
    return out;
}

} // namespace pmixhost
