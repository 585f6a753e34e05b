// See dap_look.h.
#include "tools/dap/dap_look.h"

#include "tools/stacks/shown_text.h"

#include <algorithm>
#include <charconv>

namespace pmixhost {

using nlohmann::json;

namespace {

constexpr int most_frames_at_once = 200, most_levels = 1'000'000;
constexpr int most_children = 1000; // of a variable; an array's others are left out
constexpr std::size_t longest_value = 200;

int number_in_text(const std::string &text) {
    int out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

json frame_of(const json &frame, int id) {
    std::string name = gdb_word(frame, "func"), path = gdb_word(frame, "fullname");
    if (name.empty() || name == "??")
        name = gdb_word(frame, "addr");
    json out{{"id", id}, {"name", name}, {"line", number_in_text(gdb_word(frame, "line"))}, {"column", 0}};
    if (path.starts_with('/')) // as others are of no use to an editor
        out["source"] = {{"name", path.substr(path.rfind('/') + 1)}, {"path", path}};
    else if (std::string from = gdb_word(frame, "from"); !from.empty())
        out["source"] = {{"name", from.substr(from.rfind('/') + 1)}, {"presentationHint", "deemphasize"}};
    if (!path.starts_with('/'))
        out["presentationHint"] = "subtle"; // an editor goes to the innermost frame that it can show
    out["instructionPointerReference"] = gdb_word(frame, "addr");
    return out;
}

// Of which gdb shows the address alone. What it takes for text it shows.
bool is_pointer_to_values(std::string_view type) {
    return type.ends_with('*') && !type.ends_with("char *") && !type.ends_with("void *") && type.find('(') == type.npos;
}

// Of a variable object; one that a script of gdb's shows tells of its parts before it has any.
bool has_parts(const json &object) {
    return number_in_text(gdb_word(object, "numchild")) > 0 || gdb_word(object, "has_more") == "1";
}

// Of what has members or elements; such a value says nothing of them. For what a pretty printer shows, the object of
// gdb 15 and newer has the printer's first words.
bool is_abridged(const json &object) {
    std::string value = gdb_word(object, "value");
    return value == "{...}" || value.starts_with('[') || gdb_word(object, "dynamic") == "1";
}

// Would it matter that it is evaluated once more?
bool has_effects(std::string_view expression) {
    return expression.find_first_of("(=") != expression.npos || expression.find("++") != expression.npos ||
           expression.find("--") != expression.npos;
}

// `all`: the same variables with the values of those that have parts as well; they may be missing.
std::string value_in(const json &all, std::size_t place, const std::string &name) {
    if (!all.is_array() || place >= all.size() || gdb_word(all[place], "name") != name)
        return {};
    return shown_text(gdb_word(all[place], "value"), longest_value);
}

} // namespace

// Where gdb says no, or too much, it is refused with the reason, unless there is something to do `otherwise`.
void DapLook::ask(const DapRequest &request, Rank rank, const std::string &command, WithObject then,
                  std::function<void()> otherwise) {
    auto done = [request, rank, then = std::move(then),
                 otherwise = std::move(otherwise)](const DapRanks::Answers &answers) {
        auto found = answers.find(rank);
        if (otherwise && found != answers.end() && found->second.kind == GdbEvent::Kind::error)
            return otherwise();
        if (found == answers.end() || found->second.kind == GdbEvent::Kind::error)
            return request.refuse(found == answers.end() ? "it has ended" : found->second.text);
        json values = json::parse(found->second.text, nullptr, false);
        if (!values.is_object())
            return otherwise ? otherwise() : request.refuse("gdb says too much of it");
        then(values);
    };
    if (auto said = ranks_->ask({rank}, command, GdbLanguage::machine, std::move(done)); !said)
        request.refuse(said.failure().text);
}

void DapLook::add_to(DapHandlers &handlers) {
    handlers["stackTrace"] = [this](const DapRequest &request) { stack_trace(request); };
    handlers["variables"] = [this](const DapRequest &request) { variables(request); };
    handlers["scopes"] = [this](const DapRequest &request) {
        const auto *frame = references_->frame(request.number("frameId"));
        int id = frame ? references_->add(DapContainer{*frame, {}, {}}) : 0;
        if (id == 0)
            return request.refuse(frame ? "too many variables have been looked at; next: let the ranks run on"
                                        : "there is no such frame any more");
        request.answer({{"scopes",
                         {{{"name", "Locals"},
                           {"presentationHint", "locals"},
                           {"variablesReference", id},
                           {"expensive", false}}}}});
    };
}

void DapLook::stack_trace(const DapRequest &request) {
    auto thread = ranks_->thread_of(request.number("threadId"));
    if (!thread || !ranks_->is(thread->first, DapRanks::State::stopped))
        return request.refuse(thread ? fmt::format("rank {} has not stopped", thread->first)
                                     : "there is no such thread");
    int first = std::min(request.number("startFrame"), most_levels), levels = request.number("levels");
    levels = levels > 0 ? std::min(levels, most_frames_at_once) : most_frames_at_once;
    auto shown = [this, request, thread](const json &values) {
        json out = json::array();
        for (const auto &frame : gdb_list(values, "stack")) {
            auto level = static_cast<unsigned>(number_in_text(gdb_word(frame, "level")));
            out.push_back(frame_of(frame, references_->add(DapFrame{thread->first, thread->second, level})));
        }
        request.answer({{"stackFrames", out}});
    };
    auto none = [request] { request.answer({{"stackFrames", json::array()}}); }; // behind the last one
    ask(request, thread->first,
        fmt::format("-stack-list-frames --thread {} {} {}", thread->second, first, first + levels - 1), shown,
        first > 0 ? std::function<void()>(none) : nullptr);
}

void DapLook::variables(const DapRequest &request) {
    const auto *found = references_->container(request.number("variablesReference"));
    if (!found)
        return request.refuse("there are no such variables any more");
    DapContainer container = *found;
    if (!container.object.empty())
        return children(request, container.frame, container.object);
    if (container.expression.empty())
        return locals(request, container.frame);
    make_object(request, container.frame, container.expression, [this, request, container](const json &values) {
        if (!has_parts(values))
            return request.answer({{"variables", json::array()}}); // a struct of nothing
        children(request, container.frame, gdb_word(values, "name"));
    });
}

void DapLook::locals(const DapRequest &request, const DapFrame &frame) {
    std::string command = fmt::format("-stack-list-variables --thread {} --frame {}", frame.thread, frame.level);
    auto listed = [this, request, frame, command](const json &values) {
        auto variables = gdb_list(values, "variables");
        auto with_types = [this, request, frame, variables] { show_locals(request, frame, variables, {}); };
        if (std::none_of(variables.begin(), variables.end(), [](const json &one) { return !one.contains("value"); }))
            return with_types();
        // What has parts has no value there, and no type in the other list.
        auto shown = [this, request, frame, variables](const json &all) {
            show_locals(request, frame, variables, gdb_list(all, "variables"));
        };
        ask(request, frame.rank, command + " --all-values", shown, with_types);
    };
    ask(request, frame.rank, command + " --simple-values", listed);
}

void DapLook::show_locals(const DapRequest &request, const DapFrame &frame, const json &variables, const json &all) {
    json out = json::array();
    for (std::size_t i = 0; i < variables.size(); ++i) {
        const json &one = variables[i];
        std::string name = gdb_word(one, "name"), type = gdb_word(one, "type"), value = gdb_word(one, "value");
        bool compound = value.empty();
        int id = compound || is_pointer_to_values(type) ? references_->add(DapContainer{frame, name, {}}) : 0;
        if (compound)
            value = value_in(all, i, name);
        out.push_back({{"name", name},
                       {"value", value.empty() ? type : value},
                       {"type", type},
                       {"evaluateName", name},
                       {"variablesReference", id}});
    }
    request.answer({{"variables", out}});
}

void DapLook::make_object(const DapRequest &request, const DapFrame &frame, const std::string &expression,
                          WithObject then) {
    auto made = [this, rank = frame.rank, then = std::move(then)](const json &values) {
        // Of what has no parts there is nothing more to ask.
        if (!has_parts(values))
            (void)ranks_->ask({rank}, "-var-delete " + gdb_word(values, "name"), GdbLanguage::machine,
                              [](const auto &) {});
        else if (ranks_->is(rank, DapRanks::State::stopped))
            references_->hold(rank, gdb_word(values, "name"));
        then(values);
    };
    // Of an object that it cannot make, gdb does not say why.
    std::string where = fmt::format("--thread {} --frame {}", frame.thread, frame.level), what = gdb_quoted(expression);
    auto reason = [this, request, rank = frame.rank, where, what] {
        ask(request, rank, "-data-evaluate-expression " + where + " " + what,
            [request](const json &) { request.refuse("gdb cannot take it to pieces"); });
    };
    ask(request, frame.rank, "-var-create " + where + " - * " + what, made, reason);
}

void DapLook::children(const DapRequest &request, const DapFrame &frame, const std::string &object) {
    auto shown = [this, request, frame](const json &values) {
        json out = json::array();
        for (const auto &one : gdb_list(values, "children")) {
            std::string type = gdb_word(one, "type"), value = gdb_word(one, "value");
            int id = has_parts(one) ? references_->add(DapContainer{frame, {}, gdb_word(one, "name")}) : 0;
            out.push_back({{"name", gdb_word(one, "exp")},
                           {"value", value.empty() || value == "{...}" ? type : value},
                           {"type", type},
                           {"variablesReference", id}});
        }
        request.answer({{"variables", out}});
    };
    ask(request, frame.rank, fmt::format("-var-list-children --simple-values {} 0 {}", object, most_children), shown);
}

void DapLook::evaluate(const DapRequest &request) {
    DapFrame frame;
    if (const auto *found = references_->frame(request.number("frameId"))) {
        frame = *found;
    } else {
        auto stopped = ranks_->in(DapRanks::State::stopped);
        if (request.has("frameId") || stopped.empty())
            return request.refuse(stopped.empty() ? "no rank has stopped" : "there is no such frame any more");
        frame = {stopped[0], ranks_->stopped_thread(stopped[0]), 0};
    }
    std::string expression = request.text("expression");
    make_object(request, frame, expression, [this, request, frame, expression](const json &values) {
        int id = has_parts(values) ? references_->add(DapContainer{frame, {}, gdb_word(values, "name")}) : 0;
        auto answer = [request, id, type = gdb_word(values, "type")](const std::string &value) {
            request.answer({{"result", value}, {"type", type}, {"variablesReference", id}});
        };
        std::string value = gdb_word(values, "value");
        if (!is_abridged(values) || has_effects(expression))
            return answer(value);
        ask(
            request, frame.rank,
            fmt::format("-data-evaluate-expression --thread {} --frame {} {}", frame.thread, frame.level,
                        gdb_quoted(expression)),
            [answer](const json &text) { answer(shown_text(gdb_word(text, "value"), longest_value)); },
            [answer, value] { answer(value); });
    });
}

} // namespace pmixhost
