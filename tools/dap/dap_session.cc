// See dap_session.h.
#include "tools/dap/dap_session.h"

#include "common/start/starter_command.h"
#include "common/text/printable.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

using nlohmann::json;

namespace {

// The words of a list; false: it has something else in it.
bool take_words(const json &arguments, const char *name, std::vector<std::string> &out) {
    auto found = arguments.find(name);
    if (found == arguments.end() || found->is_null())
        return true;
    if (!found->is_array())
        return false;
    for (const auto &word : *found) {
        if (!word.is_string() || word.get<std::string>().find('\0') != std::string::npos)
            return false;
        out.push_back(word.get<std::string>());
    }
    return true;
}

} // namespace

DapSession::DapSession(Callbacks callbacks)
    : client_(std::move(callbacks.to_client)), ranks_(std::move(callbacks.to_hosts)), breakpoints_(ranks_),
      motion_(client_, ranks_, breakpoints_, references_), look_(ranks_, references_),
      console_(
          ranks_, motion_, look_, [this](bool kills) { quit(kills); }, std::move(callbacks.give)) {
    add_handlers();
}

void DapSession::add_handlers() {
    breakpoints_.add_to(handlers_);
    motion_.add_to(handlers_);
    look_.add_to(handlers_);
    console_.add_to(handlers_);
    handlers_["initialize"] = [this](const DapRequest &request) { initialize(request); };
    handlers_["attach"] = [this](const DapRequest &request) { attach(request); };
    handlers_["launch"] = [this](const DapRequest &request) { launch(request); };
    handlers_["configurationDone"] = [this](const DapRequest &request) {
        request.answer();
        if (!std::exchange(configured_, true))
            motion_.begin(entry_);
    };
    // Without the argument, what was launched for this ends with it, and what ran before goes on.
    handlers_["disconnect"] = [this](const DapRequest &request) {
        bool kills = request.has("terminateDebuggee") ? request.flag("terminateDebuggee") : launched_;
        if (leaving_)
            return request.answer();
        leaving_ = request;
        quit(kills);
    };
    handlers_["terminate"] = [this](const DapRequest &request) {
        request.answer();
        quit(true);
    };
}

void DapSession::on_message(const json &message) {
    if (dap_text(message, "type") != "request")
        return; // of ours nobody has asked the client anything
    DapRequest request(client_, message);
    auto handler = handlers_.find(request.command());
    if (handler == handlers_.end())
        return request.refuse(fmt::format("pmixhost debug has no request '{}'", printable(request.command())));
    static constexpr const char *before_it_runs[] = {"initialize", "attach", "launch", "disconnect", "terminate"};
    bool early =
        std::find(std::begin(before_it_runs), std::end(before_it_runs), request.command()) != std::end(before_it_runs);
    if (!early && (!started_ || attaching_))
        return request.refuse(fmt::format("'{}' comes before there are processes to debug", request.command()));
    handler->second(request);
}

void DapSession::initialize(const DapRequest &request) {
    if (request.has("linesStartAt1") && !request.flag("linesStartAt1"))
        return request.refuse("lines are counted from 1");
    if (request.has("pathFormat") && request.text("pathFormat") != "path")
        return request.refuse("files are named by their paths");
    console_.set_first_column(request.has("columnsStartAt1") && !request.flag("columnsStartAt1") ? 0 : 1);
    json out;
    for (const char *feature :
         {"supportsConfigurationDoneRequest", "supportsFunctionBreakpoints", "supportsConditionalBreakpoints",
          "supportsEvaluateForHovers", "supportsSingleThreadExecutionRequests", "supportsSteppingGranularity",
          "supportsTerminateRequest", "supportTerminateDebuggee", "supportsCompletionsRequest",
          "supportsDelayedStackTraceLoading", "supportsExceptionInfoRequest"})
        out[feature] = true;
    request.answer(std::move(out));
}

void DapSession::attach(const DapRequest &request) {
    DapStart start;
    start.job = request.text("job");
    if (start.job.empty())
        return request.refuse("attach needs the argument 'job': JOB[.STEP], as `pmixhost servers` lists them");
    begin(request, std::move(start));
}

void DapSession::launch(const DapRequest &request) {
    DapStart start;
    std::string program = request.text("program"), place = request.text("stop");
    const StarterCommand &starter = starter_commands().front();
    std::string name(starter.name);
    start.command = {name};
    start.command.insert(start.command.end(), starter.words.begin(), starter.words.end());
    if (program.empty() || program.find('\0') != program.npos)
        return request.refuse("launch needs the argument 'program'");
    if (!take_words(request.arguments(), name.c_str(), start.command))
        return request.refuse(fmt::format("'{}' is a list of words, such as [\"-n\", \"4\"]", name));
    start.command.push_back(program);
    if (!take_words(request.arguments(), "args", start.command))
        return request.refuse("'args' is a list of words");
    start.directory = request.text("cwd");
    json environment = request.arguments().value("env", json::object());
    for (const auto &[name, value] : environment.items()) {
        if (!(value.is_string() || value.is_null()) || name.empty() || name.find('=') != name.npos)
            return request.refuse("'env' is an object of texts, or null for what is to be unset");
        auto &variable = start.environment[name];
        if (value.is_string())
            variable = value.get<std::string>();
    }
    if (!place.empty())
        start.stop = place;
    start.takes_input = request.flag("input");
    begin(request, std::move(start));
}

void DapSession::begin(const DapRequest &request, DapStart start) {
    if (std::exchange(asked_, true))
        return request.refuse("a session debugs one job");
    launched_ = start.job.empty();
    start.ranks = request.text("ranks");
    if (int patience = request.number("timeout"); patience > 0)
        start.patience = static_cast<unsigned>(std::min(patience, 3600));
    entry_ = request.flag("stopOnEntry");
    start_ = std::move(start);
    attaching_ = request;
}

void DapSession::on_not_started(const std::string &why) {
    if (attaching_)
        attaching_->refuse(why);
    attaching_.reset();
    terminated();
}

void DapSession::on_host(const FromHost &said) {
    const auto *heard = std::get_if<RankEvent>(&said);
    bool was_given_up = heard && ranks_.is(heard->rank, DapRanks::State::refused);
    auto event = ranks_.on(said);
    if (!event)
        return ready_or_not();
    if (event->event.kind == GdbEvent::Kind::stopped && !event->refused && was_given_up) {
        // It has none of what the others were told.
        said_.push_back({event->rank, "its debugger has come late\n"});
        breakpoints_.give(event->rank);
        motion_.join(event->rank);
    } else if (event->event.kind == GdbEvent::Kind::stopped && !event->refused)
        motion_.on_stop(*event);
    else
        said_.push_back({event->rank, event->event.text});
    if (event->event.kind == GdbEvent::Kind::gone && !event->refused)
        tell_end(event->rank);
    else if (event->event.kind == GdbEvent::Kind::runs && !event->refused)
        motion_.on_run(event->rank);
    ready_or_not();
}

// A client keeps a thread until it hears that it is gone.
void DapSession::tell_end(Rank rank) {
    for (const auto &thread : ranks_.threads(rank))
        client_.event("thread", {{"reason", "exited"}, {"threadId", ranks_.thread_id(rank, thread.number)}});
}

// As soon as the debuggers of all ranks have said whether they have them.
void DapSession::ready_or_not() {
    if (!started_ || ranks_.count(DapRanks::State::starting) > 0)
        return;
    bool alive = ranks_.any_alive();
    if (attaching_ && !alive) {
        std::string why = shown_texts(merged_texts(std::exchange(said_, {})));
        return on_not_started("no process is debugged" + (why.empty() ? why : ": " + why));
    }
    if (auto request = std::exchange(attaching_, std::nullopt)) {
        request->answer();
        client_.event("initialized"); // breakpoints can be set now
    }
    if (!alive && !launched_) { // else it ends with what was launched
        settle();
        terminated();
    }
}

void DapSession::give_up_starting(const std::string &why) {
    for (Rank rank : ranks_.in(DapRanks::State::starting))
        on_host(RankEvent{rank, {0, GdbEvent::Kind::error, why + "\n"}, true});
}

void DapSession::settle() {
    if (attaching_ || said_.empty())
        return;
    client_.output("console", shown_texts(merged_texts(std::exchange(said_, {}))));
}

void DapSession::on_hosts_gone(const std::string &why) {
    auto alive = ranks_.alive(), lost = ranks_.lose(why);
    for (Rank rank : alive)
        tell_end(rank);
    for (Rank rank : lost)
        said_.push_back({rank, why + "\n"});
    started_ = true;
    ready_or_not();
}

void DapSession::on_launch_end(int exit_code) {
    if (attaching_) {
        std::string why = shown_texts(merged_texts(std::exchange(said_, {})));
        return on_not_started(fmt::format("{} has ended ({}), and nothing could be debugged{}{}",
                                          starter_commands().front().name, exit_code, why.empty() ? "" : ": ", why));
    }
    settle();
    client_.event("exited", {{"exitCode", exit_code}});
    terminated();
}

void DapSession::quit(bool kills) {
    if (end_ != End::none)
        return;
    end_ = kills ? End::kill : End::let_go;
    if (kills)
        (void)ranks_.ask(ranks_.alive(), "kill", GdbLanguage::console, [](const auto &) {});
}

// Not before: a client may end this process then.
void DapSession::on_all_over() {
    if (leaving_)
        leaving_->answer();
    terminated();
}

void DapSession::terminated() {
    if (!std::exchange(said_terminated_, true))
        client_.event("terminated");
}

} // namespace pmixhost
