// See dap_motion.h.
#include "tools/dap/dap_motion.h"

#include "common/text/take_until.h"

#include <algorithm>
#include <memory>

namespace pmixhost {

using nlohmann::json;

namespace {

// Why a rank has stopped, in the protocol's words. `stepped`: it was told to make a step; gdb gives no reason where
// that ends in a function without debugging information.
json stop_body(const RankEvent &event, const DapBreakpoints &breakpoints, bool stepped) {
    std::string_view rest = event.event.reason, reason = take_until(rest, ' ');
    json out{{"reason", "pause"}, {"allThreadsStopped", false}};
    if (reason == "breakpoint-hit") {
        out["reason"] = "breakpoint";
        if (auto ids = breakpoints.hit(event.rank, std::string(rest)); !ids.empty())
            out["hitBreakpointIds"] = ids;
    } else if (reason == "end-stepping-range" || reason == "function-finished" || reason == "location-reached" ||
               (reason.empty() && stepped)) {
        out["reason"] = "step";
    } else if (reason == "signal-received" && rest != "SIGINT" && rest != "SIGSTOP" && rest != "0") {
        out["reason"] = "exception";
        out["description"] = std::string(rest);
        std::string_view text = event.event.text;
        text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
        out["text"] = std::string(take_until(text, '\n'));
    }
    return out;
}

std::vector<DapRanks::Thread> threads_in(const GdbEvent &answer) {
    std::vector<DapRanks::Thread> out;
    if (answer.kind != GdbEvent::Kind::error) {
        for (auto &thread : threads_of_gdb(json::parse(answer.text, nullptr, false)))
            out.push_back({std::move(thread.gdb_id), std::move(thread.name)});
    }
    return out;
}

} // namespace

void DapMotion::add_to(DapHandlers &handlers) {
    struct Way {
        const char *request, *command;
        bool with_thread;
    };
    for (Way way : {Way{"continue", "-exec-continue", false}, Way{"next", "-exec-next", true},
                    Way{"stepIn", "-exec-step", true}, Way{"stepOut", "-exec-finish", true}})
        handlers[way.request] = [this, way](const DapRequest &request) { go(request, way.command, way.with_thread); };
    handlers["pause"] = [this](const DapRequest &request) {
        auto thread = ranks_->thread_of(request.number("threadId"));
        bool single = request.flag("singleThread") && thread;
        if (thread)
            leader_ = thread->first;
        interrupt(single ? std::optional(std::vector<Rank>{thread->first}) : focus_);
        request.answer();
    };
    handlers["exceptionInfo"] = [this](const DapRequest &request) {
        auto thread = ranks_->thread_of(request.number("threadId"));
        auto found = thread ? exceptions_.find(thread->first) : exceptions_.end();
        if (found == exceptions_.end())
            return request.refuse("no signal has stopped it");
        std::string_view rest = found->second, signal = take_until(rest, '\n');
        request.answer(
            {{"exceptionId", std::string(signal)}, {"description", std::string(rest)}, {"breakMode", "always"}});
    };
    handlers["threads"] = [this](const DapRequest &request) {
        json out = json::array();
        for (Rank rank : ranks_->alive()) {
            bool first = true;
            for (const auto &thread : ranks_->threads(rank)) {
                std::string name = fmt::format("rank {}", rank);
                if (!first)
                    name += fmt::format(", thread {}", thread.number);
                if (!thread.name.empty())
                    name += ": " + thread.name;
                out.push_back({{"id", ranks_->thread_id(rank, thread.number)}, {"name", name}});
                first = false;
            }
        }
        request.answer({{"threads", out}});
    };
}

void DapMotion::interrupt(const std::optional<std::vector<Rank>> &ranks) {
    for (Rank rank : said_to_) {
        if (is_among(ranks, rank))
            to_be_stopped_.insert(rank);
    }
    if (auto running = ranks_->in(DapRanks::State::running, ranks); !running.empty())
        ranks_->interrupt(running);
}

// One request to go on: what its ranks have answered so far.
struct DapMotion::Going {
    DapRequest request;
    std::optional<Rank> own; // the rank that the client named, if it is told to go on
    bool single = false;
    std::size_t open = 0; // ranks that have not answered
    bool some_run = false;
    std::string why;
};

void DapMotion::go(const DapRequest &request, const char *command, bool with_thread) {
    auto thread = ranks_->thread_of(request.number("threadId"));
    if (!thread)
        return request.refuse("there is no such thread");
    bool single = request.flag("singleThread");
    auto stopped = ranks_->in(DapRanks::State::stopped, single ? std::vector<Rank>{thread->first} : focus_);
    if (stopped.empty())
        return request.refuse("none of these ranks has stopped");
    std::string word = command;
    bool finish = word == "-exec-finish";
    leader_ = thread->first;
    if (request.text("granularity") == "instruction" && with_thread && !finish)
        word += "-instruction";
    auto going = std::make_shared<Going>(Going{request, {}, single, stopped.size(), false, {}});
    // Each rank goes on with the thread that has stopped; the client's rank with the one that it names.
    std::map<std::string, std::vector<Rank>> by_command;
    for (Rank rank : stopped) {
        if (rank == thread->first)
            going->own = rank;
        std::string number = rank == thread->first ? thread->second : ranks_->stopped_thread(rank);
        by_command[with_thread ? fmt::format("{} --thread {}{}", word, number, finish ? " --frame 0" : "") : word]
            .push_back(rank);
    }
    for (const auto &[say, ranks] : by_command) {
        for (Rank rank : ranks) {
            if (with_thread)
                steps_.insert(rank);
            else
                steps_.erase(rank);
        }
        on_said(ranks);
        (void)ranks_->ask(
            ranks, say, GdbLanguage::machine, [](const auto &) {},
            [this, going](Rank rank, const GdbEvent &answer) { went(*going, rank, answer); });
    }
}

// The client has its answer as soon as its own rank has given one: others may be slow.
void DapMotion::went(Going &going, Rank rank, const GdbEvent &answer) {
    bool runs = answer.kind == GdbEvent::Kind::runs, own = going.own == rank, last = --going.open == 0;
    going.some_run = going.some_run || runs;
    std::string why = fmt::format("rank {}: {}", rank, answer.text);
    if (!runs && going.why.empty())
        going.why = why;
    if (own && !runs)
        going.request.refuse(why);
    else if ((runs && (own || !going.own)) || (last && going.some_run))
        going.request.answer({{"allThreadsContinued", !going.single && !focus_}});
    else if (last)
        going.request.refuse(going.why);
    if (!runs && !own && going.request.answered())
        client_->output("stderr", why);
    on_answer(rank, answer);
}

void DapMotion::on_answer(Rank rank, const GdbEvent &answer) {
    said_to_.erase(rank);
    bool stops = to_be_stopped_.erase(rank) > 0;
    if (answer.kind != GdbEvent::Kind::runs)
        return;
    exceptions_.erase(rank);
    for (const auto &object : references_->forget(rank))
        (void)ranks_->ask({rank}, "-var-delete " + object, GdbLanguage::machine, [](const auto &) {});
    if (stops)
        ranks_->interrupt({rank});
    if (!begun_)
        return;
    for (const auto &thread : ranks_->threads(rank))
        client_->event("continued",
                       {{"threadId", ranks_->thread_id(rank, thread.number)}, {"allThreadsContinued", false}});
}

// A client goes to each thread that stops, unless it is told to stay. When all ranks make a step, it is to stay with
// the one that its user has stepped with.
bool DapMotion::leaves_focus(Rank rank, const json &how) const {
    return how["reason"] != "exception" && leader_ && leader_ != rank &&
           (how["reason"] == "step" || ranks_->is(*leader_, DapRanks::State::stopped));
}

// Of the thread that did, and then of the rank's others, which stand as well.
void DapMotion::tell_stop(Rank rank, const json &how, const std::string &thread) {
    json body = how;
    body["threadId"] = ranks_->thread_id(rank, thread);
    if (leader_ && !ranks_->is(*leader_, DapRanks::State::stopped) && !ranks_->is(*leader_, DapRanks::State::running))
        leader_.reset(); // nobody can be shown it any more
    if (leaves_focus(rank, how))
        body["preserveFocusHint"] = true;
    else if (!leader_)
        leader_ = rank;
    client_->event("stopped", body);
    for (const auto &other : ranks_->threads(rank)) {
        if (other.number != thread)
            client_->event("stopped", {{"reason", "pause"},
                                       {"threadId", ranks_->thread_id(rank, other.number)},
                                       {"preserveFocusHint", true},
                                       {"allThreadsStopped", false}});
    }
}

void DapMotion::learn_threads(const DapRanks::Answers &answers) {
    for (const auto &[rank, event] : answers)
        ranks_->set_threads(rank, threads_in(event));
}

// Before the client wants to hear of stops, there is nothing to tell of one.
void DapMotion::on_stop(const RankEvent &event) {
    if (!begun_)
        return;
    json how = stop_body(event, *breakpoints_, steps_.erase(event.rank) > 0);
    if (how["reason"] == "exception")
        exceptions_[event.rank] = how["description"].get<std::string>() + "\n" + how["text"].get<std::string>();
    auto known = [this, rank = event.rank, how](const DapRanks::Answers &answers) {
        learn_threads(answers);
        // A short stop may be over by now.
        if (ranks_->is(rank, DapRanks::State::stopped))
            tell_stop(rank, how, ranks_->stopped_thread(rank));
    };
    (void)ranks_->ask({event.rank}, "-thread-info", GdbLanguage::machine, known);
}

void DapMotion::begin(bool entry) {
    entry_ = entry;
    begun_ = true;
    begin_with(ranks_->in(DapRanks::State::stopped));
}

void DapMotion::join(Rank rank) {
    if (!begun_)
        return; // it begins with the others
    client_->event("thread",
                   {{"reason", "started"}, {"threadId", ranks_->thread_id(rank, ranks_->stopped_thread(rank))}});
    begin_with({rank});
}

void DapMotion::begin_with(const std::vector<Rank> &stopped) {
    auto known = [this](const DapRanks::Answers &answers) {
        learn_threads(answers);
        for (const auto &[rank, event] : answers) {
            if (ranks_->is(rank, DapRanks::State::stopped))
                tell_stop(rank, {{"reason", "entry"}, {"allThreadsStopped", false}}, ranks_->stopped_thread(rank));
        }
    };
    if (entry_) {
        (void)ranks_->ask(stopped, "-thread-info", GdbLanguage::machine, known);
        return;
    }
    on_said(stopped);
    auto each = [this](Rank rank, const GdbEvent &answer) {
        on_answer(rank, answer);
        if (answer.kind == GdbEvent::Kind::error)
            client_->output("stderr", fmt::format("[{}] {}", rank, answer.text));
    };
    (void)ranks_->ask(
        stopped, "-exec-continue", GdbLanguage::machine, [](const auto &) {}, each);
}

} // namespace pmixhost
