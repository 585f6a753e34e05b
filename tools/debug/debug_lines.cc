// See debug_lines.h.
#include "tools/debug/debug_lines.h"

#include "common/job/process_set.h"
#include "common/text/take_until.h"
#include "tools/stacks/shown_text.h"
#include "tools/stacks/stack_tree.h"
#include "tools/terminal/rank_list.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace pmixhost {

namespace {

using DebugJson = nlohmann::json;

constexpr std::size_t piece_bytes = 400; // quotes and backslashes take two bytes each
constexpr std::size_t ranks_of_a_line = 80;
constexpr std::size_t most_assembled = 4u << 20;
constexpr const char *kind_names[] = {"done", "error", "runs", "stopped", "gone"};

std::string in_line(const DebugJson &json) {
    return json.dump(-1, ' ', false, DebugJson::error_handler_t::replace) + "\n";
}

RankRanges ranges_of(const std::vector<Rank> &ranks) {
    RankRanges out;
    for (Rank rank : ranks)
        out.add(rank, rank);
    return out;
}

void add_ranks(DebugJson &json, const std::optional<std::vector<Rank>> &ranks) {
    if (ranks)
        json["ranks"] = ranks_text(ranges_of(*ranks));
}

Result<std::optional<std::vector<Rank>>> ranks_in(const DebugJson &json) {
    auto found = json.find("ranks");
    if (found == json.end())
        return std::optional<std::vector<Rank>>();
    if (!found->is_string())
        return error(ErrorKind::invalid, "ranks are no text");
    auto ranks = ranks_in_words(found->get<std::string>());
    if (!ranks)
        return ranks.failure();
    return std::optional(std::move(*ranks));
}

std::uint64_t json_number(const DebugJson &json, const char *key) {
    auto found = json.find(key);
    return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string json_string(const DebugJson &json, const char *key) {
    auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// gdb's tables have tabs.
std::string without_tabs(std::string_view text) {
    std::string out;
    for (char c : text)
        out += c == '\t' ? std::string(8 - out.size() % 8, ' ') : std::string(1, c);
    return out;
}

// A line for a terminal, in pieces of whole characters.
void add_pieces(std::string &out, Rank rank, std::uint64_t id, std::string_view text) {
    std::string shown = shown_text(without_tabs(text), 16000);
    std::string_view rest = shown;
    do {
        std::size_t size = std::min(piece_bytes, rest.size());
        while (size < rest.size() && size > 0 && (static_cast<unsigned char>(rest[size]) & 0xc0) == 0x80)
            --size;
        bool last = size == rest.size();
        out += in_line({{"rank", rank}, {"id", id}, {"text", rest.substr(0, size)}, {"end_of_line", last}});
        rest.remove_prefix(size);
    } while (!rest.empty());
}

} // namespace

std::string line_of(const ToHost &message) {
    DebugJson json = DebugJson::object();
    if (const auto *command = std::get_if<DebugCommand>(&message)) {
        json["id"] = command->id;
        json["say"] = command->text;
        if (command->language == GdbLanguage::machine)
            json["machine"] = true;
        add_ranks(json, command->ranks);
    } else if (const auto *interrupt = std::get_if<DebugInterrupt>(&message)) {
        json["interrupt"] = true;
        add_ranks(json, interrupt->ranks);
    } else if (std::holds_alternative<DebugLeave>(message)) {
        json["leave"] = true;
    } else {
        json["alive"] = true;
    }
    return in_line(json);
}

Result<ToHost> parse_to_host(std::string_view line) {
    auto json = DebugJson::parse(line, nullptr, false);
    if (!json.is_object())
        return error(ErrorKind::invalid, "not a line of pmixhost debug");
    auto ranks = ranks_in(json);
    if (!ranks)
        return ranks.failure();
    if (json.contains("say")) {
        DebugCommand command{json_number(json, "id"), std::move(*ranks), json_string(json, "say"),
                             json.contains("machine") ? GdbLanguage::machine : GdbLanguage::console};
        if (command.id <= GdbDialogue::attach_id || command.text.size() > longest_debug_command ||
            command.text.find('\n') != command.text.npos)
            return error(ErrorKind::invalid, "not a command of pmixhost debug");
        return ToHost(std::move(command));
    }
    if (json.contains("interrupt"))
        return ToHost(DebugInterrupt{std::move(*ranks)});
    if (json.contains("leave"))
        return ToHost(DebugLeave());
    return ToHost(DebugAlive());
}

std::string lines_of(const RankEvent &event) {
    std::string out;
    for (std::string_view rest = event.event.text; !rest.empty();)
        add_pieces(out, event.rank, event.event.id, take_until(rest, '\n'));
    const char *kind = event.refused ? "refused" : kind_names[static_cast<std::size_t>(event.event.kind)];
    DebugJson end{{"rank", event.rank}, {"id", event.event.id}, {"end", kind}};
    if (!event.event.reason.empty())
        end["reason"] = shown_text(event.event.reason, 100);
    if (!event.event.thread.empty())
        end["thread"] = shown_text(event.event.thread, 20);
    return out + in_line(end);
}

std::string hello_line(const std::string &host, const std::vector<Rank> &ranks) {
    std::string out, name = shown_text(host, 200);
    for (std::size_t i = 0; i < ranks.size(); i += ranks_of_a_line) {
        std::size_t end = std::min(i + ranks_of_a_line, ranks.size());
        out += in_line({{"host", name}, {"has", std::vector<Rank>(ranks.begin() + i, ranks.begin() + end)}});
    }
    return out + in_line({{"host", name}, {"ready", true}});
}

std::optional<FromHost> DebugAssembly::add(std::string_view line) {
    auto json = line.size() < 4096 ? DebugJson::parse(line, nullptr, false) : DebugJson();
    if (json.is_object() && json.contains("host")) {
        std::string host = json_string(json, "host");
        auto &ranks = greetings_[host];
        if (auto has = json.find("has"); has != json.end() && has->is_array()) {
            for (const auto &rank : *has) {
                if (rank.is_number_unsigned() && rank.get<std::uint64_t>() <= UINT32_MAX)
                    ranks.push_back(rank.get<Rank>());
            }
            return std::nullopt;
        }
        HostHello hello{host, std::move(ranks)};
        greetings_.erase(host);
        return FromHost(std::move(hello));
    }
    if (!json.is_object() || !json.contains("rank") || !json["rank"].is_number_unsigned() ||
        json_number(json, "rank") > UINT32_MAX) {
        ++strange_;
        return std::nullopt;
    }
    auto rank = static_cast<Rank>(json_number(json, "rank"));
    std::uint64_t id = json_number(json, "id");
    auto &text = begun_[{rank, id}];
    if (!json.contains("end")) {
        if (text.size() < most_assembled) {
            text += shown_text(json_string(json, "text"), 16000);
            auto end = json.find("end_of_line");
            if (end != json.end() && *end == true)
                text += '\n';
        }
        return std::nullopt;
    }
    RankEvent out{rank,
                  {id, GdbEvent::Kind::done, std::move(text), shown_text(json_string(json, "reason"), 200),
                   shown_text(json_string(json, "thread"), 40)},
                  false};
    begun_.erase({rank, id});
    std::string kind = json_string(json, "end");
    auto found = std::find(std::begin(kind_names), std::end(kind_names), kind);
    out.refused = found == std::end(kind_names);
    if (!out.refused)
        out.event.kind = static_cast<GdbEvent::Kind>(found - std::begin(kind_names));
    return FromHost(std::move(out));
}

} // namespace pmixhost
