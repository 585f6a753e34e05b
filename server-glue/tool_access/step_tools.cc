// See step_tools.h.
#include "server-glue/tool_access/step_tools.h"

#include "common/rendezvous/rendezvous_files.h"
#include "common/rendezvous/tool_offer.h"
#include "common/text/printable.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <unistd.h>

namespace pmixhost {

static constexpr std::size_t most_unsure = 64; // tools whose connection nobody knows are rare
// How long the end of a job waits for a tool that does not read.
static constexpr auto unread_patience = std::chrono::milliseconds(500);
static constexpr int most_prolonged = 3; // by as much again, where tools do read

StepTools::StepTools(StepContext &context)
    : StepService(context.services), context_(context), rights_(context.loop, context.log, context.settings),
      origins_(!library_mixes_names_of_tools()), names_(context.step.nspace, context.self()) {}

void StepTools::take_asks(UpcallHandlers &handlers) {
    handlers.on_unjudged<ToolConnectedAsk>([this](ToolConnectedAsk ask) { connected(std::move(ask)); });
    handlers.set_gate([this](const Process &caller, policy::Action needs) { return may(caller, needs); });
}

std::optional<Result<void>> StepTools::may_come(const ToolVisitor &visitor) {
    switch (origins_.may_come(context_.now(), {visitor.nspace, visitor.rank, visitor.origin})) {
    case ToolOrigins::Verdict::may:
        break;
    case ToolOrigins::Verdict::later:
        return std::nullopt;
    case ToolOrigins::Verdict::too_many:
        return error(ErrorKind::limit, "too many tools of other hosts have been here lately");
    }
    // One of elsewhere that has that name from here; the guard knows those that were stated. A tool itself may come
    // again before libpmix has noticed that it has gone.
    const Process name{visitor.nspace, visitor.rank};
    if (auto other = connection_of(name); other && other() && origins_.of(name) != visitor.origin)
        return std::nullopt;
    auto may = may_observe(visitor.origin, visitor.pid);
    if (may && *may && !name_is_free(visitor.nspace))
        return std::nullopt;
    return may;
}

bool StepTools::is_here(const std::string &nspace) const {
    return std::any_of(named_.begin(), named_.end(),
                       [&](const auto &tool) { return tool.first.first == nspace && tool.second(); });
}

// Where libpmix takes no tool of a namespace whose first one has gone, until it is told to forget it.
bool StepTools::name_is_free(const std::string &nspace) {
    if (leaving_.contains(nspace))
        return false;
    if (is_here(nspace) || !context_.library || !used_.contains(nspace))
        return true;
    forget(nspace);
    return false;
}

void StepTools::forget(const std::string &nspace) {
    used_.erase(nspace);
    leaving_.insert(nspace);
    context_.library->end_nspace(nspace, {}, [this, nspace](pmix_status_t) { leaving_.erase(nspace); });
}

void StepTools::note_used(const std::string &nspace) {
    if (!library_keeps_names_of_tools() || !context_.library || context_.library->has_told_of(nspace))
        return;
    used_.insert(nspace);
    if (used_.size() <= ToolOrigins::most)
        return;
    auto gone = std::find_if(used_.begin(), used_.end(), [this](const auto &each) { return !is_here(each); });
    if (gone != used_.end())
        forget(std::string(*gone));
}

std::optional<Result<void>> StepTools::may_come_from(const ToolOrigin &origin) {
    auto may = may_observe(origin, [] { return 0; });
    if (!may || !*may || !origin.asker)
        return may;
    for (auto action : policy::all_actions) {
        policy::Action needed = action;
        if (!rights_.may({needed, origin, 0, context_.step.job_id}))
            return error(ErrorKind::denied,
                         "the rules for tools do not give uid {} everything ({} is missing), and libpmix does much for "
                         "a tool that no rule is asked for",
                         *origin.asker, policy::name_of(needed));
    }
    return may;
}

std::optional<Result<void>> StepTools::may_come_for(const ToolOrigin &origin, uid_t who_asked, policy::Action action) {
    ToolRights::Question question{action, {origin.from, who_asked}, 0, context_.step.job_id};
    auto decision = rights_.decide(question);
    if (!decision)
        return std::nullopt;
    auto may = may_observe(origin, [] { return 0; });
    if (!may || !*may)
        return may;
    if (rights_.may(question))
        return may;
    return error(ErrorKind::denied, "the rules for tools do not give uid {} {}: {} \"{}\"", who_asked,
                 policy::name_of(action), decision->by.place, decision->by.text);
}

std::optional<Result<void>> StepTools::may_observe(const ToolOrigin &origin, const std::function<pid_t()> &pid) {
    if (rights_.switched_off())
        return error(ErrorKind::denied, "tools are switched off here (tools.enabled)");
    // Who may look may come: of a query libpmix does not say whose it is.
    auto decision = rights_.decide({policy::Action::observe, origin});
    if (!decision)
        return std::nullopt;
    if (rights_.may({policy::Action::observe, origin, pid(), context_.step.job_id}))
        return Result<void>();
    std::string cure;
    if (origin.is_relayed())
        cure = fmt::format("; what may come from {} a rule of the site's tools.policy says, such as \"allow {} by {} "
                           "to jobs of {} from {}\"",
                           origin.from, origin.asker ? "everything" : "observe",
                           origin.asker ? std::to_string(*origin.asker) : "anyone",
                           origin.asker ? std::to_string(::geteuid()) : "themselves", origin.from);
    return error(ErrorKind::denied, "the rules for tools refuse it: {} \"{}\"{}", decision->by.place, decision->by.text,
                 cure);
}

bool StepTools::may(const Process &process, policy::Action action) {
    return !is_tool(process) ||
           rights_.may({action, origins_.of(process), origins_.pid_of(process), context_.step.job_id});
}

void StepTools::came(const ToolVisitor &visitor, const ToolConnection &connection) {
    const pid_t pid = visitor.pid();
    origins_.came(context_.now(), {visitor.nspace, visitor.rank, visitor.origin, pid}, connection.is_here);
    std::erase_if(named_, [](const auto &tool) { return !tool.second(); });
    if (!visitor.nspace.empty()) {
        named_[{visitor.nspace, visitor.rank}] = connection.is_here;
        note_used(visitor.nspace);
    }
    how_many();
    present_.push_back({visitor.origin, connection, ++came_, pid});
    if (on_coming_)
        on_coming_();
}

ToolOrigins::IsHere StepTools::connection_of(const Process &tool) const {
    auto named = named_.find({tool.nspace, tool.rank});
    return named == named_.end() ? nullptr : named->second;
}

std::vector<Process> StepTools::names() const {
    std::vector<Process> names(unsure_.begin(), unsure_.end());
    for (const auto &[name, is_here] : named_) {
        if (is_here())
            names.push_back({name.first, name.second});
    }
    return names;
}

std::optional<ToolPlace> StepTools::place_of(const Process &process) {
    if (!is_tool(process))
        return std::nullopt;
    ToolOrigin origin = origins_.of(process);
    auto is_here = connection_of(process);
    return ToolPlace{origin.is_relayed() ? origin.from : context_.host_name(),
                     is_here ? is_here : [this] { return how_many() > 0; }, origin.asker};
}

std::size_t StepTools::how_many() {
    gone_ += present_.remove_if([](const Present &tool) { return !tool.connection.is_here(); });
    return present_.size();
}

// A rule is asked for once of all that come from one place.
bool StepTools::may_now(Known &known, const Present &tool, policy::Action action) {
    auto [answer, is_new] = known.try_emplace(tool.origin, false);
    if (is_new) {
        auto decision = rights_.decide({action, tool.origin, 0, context_.step.job_id});
        answer->second = decision && decision->allowed;
    }
    return answer->second;
}

std::uint64_t StepTools::first_without(policy::Action action) {
    Known known;
    for (const auto &tool : present_) {
        if (!may_now(known, tool, action))
            return tool.number;
    }
    return 0;
}

std::pair<std::set<LibraryConnection>, std::set<LibraryConnection>> StepTools::connections_with(policy::Action action) {
    std::set<LibraryConnection> with, without;
    Known known;
    for (const auto &tool : present_)
        (may_now(known, tool, action) ? with : without).insert(tool.connection.connection);
    return {std::move(with), std::move(without)};
}

void StepTools::log_output_decisions(bool changed) {
    for (auto &tool : present_) {
        if (tool.told_output && !changed)
            continue;
        ToolRights::Question question{policy::Action::output, tool.origin, tool.pid, context_.step.job_id};
        auto decision = rights_.decide(question);
        if (decision && tool.told_output != decision->allowed)
            tool.told_output = rights_.may(question);
    }
}

std::size_t StepTools::most_unsent() {
    std::size_t most = 0;
    for (const auto &tool : present_)
        most = std::max(most, tool.connection.unsent());
    return most;
}

bool StepTools::library_sends() {
    if (!sends_) {
        sends_ = std::make_shared<bool>(context_.library && !context_.library_stuck);
        sends_until_ = context_.now() + unread_patience;
        if (*sends_)
            context_.library->after_sending([sends = sends_] { *sends = false; });
    }
    return *sends_;
}

// Where all of them have read what there was, it is this host that is slow; or a process that is no tool does not read.
void StepTools::on_time(TimePoint now) {
    if (now < next_time())
        return;
    *sends_ = prolonged_++ < most_prolonged && how_many() > 0 && most_unsent() == 0 && !context_.library_stuck;
    sends_until_ = now + unread_patience;
}

void StepTools::connected(ToolConnectedAsk ask) {
    bool has_one = ask.name && origins_.has_stated(*ask.name);
    Process name = has_one ? *ask.name : names_.next();
    if (auto is_here = has_one ? nullptr : origins_.got_name(name)) {
        named_[{name.nspace, name.rank}] = std::move(is_here);
        note_used(name.nspace);
    } else if (!connection_of(name)) {
        unsure_.push_back(name);
        if (unsure_.size() > most_unsure)
            unsure_.pop_front();
    }
    context_.log.info("a tool has connected: {}, rank {}", printable(name.nspace), name.rank);
    ask.answer(std::move(name));
}

// Where the step's hosts prove with a secret, a desk could not.
void StepTools::offer_to_launcher(const RendezvousServer &server) {
    auto *notes = context_.backend.user_notes();
    bool searched_for = context_.settings.tools_launchers == "on";
    if ((!searched_for && !context_.step.launcher_file) || !notes || !context_.step.shared_secret.empty())
        return;
    ToolOffer offer{server.nspace, server.rank, server.version, context_.step.nspace,
                    searched_for ? context_.settings.directory_base : std::string()};
    notes->offer_tools(offer.text(), [&log = context_.log](Result<void> offered) {
        if (!offered)
            log.warning("tools of the launcher's host do not find this step: {}", offered.failure().text);
    });
}

// The job goes on without tools.
void StepTools::on_address() {
    if (context_.step.is_lobby)
        return; // for the one tool whose connection it is given
    char host[HOST_NAME_MAX + 1] = "";
    if (rights_.switched_off() || context_.directory.empty() || ::gethostname(host, sizeof host - 1) != 0)
        return;
    RendezvousServer server{context_.step.server_nspace(),
                            context_.self(),
                            context_.library_address,
                            text_of(library_version()),
                            ::getpid(),
                            ::geteuid(),
                            ::getegid(),
                            std::time(nullptr)};
    if (server.address.empty())
        return;
    if (context_.self() == 0)
        offer_to_launcher(server);
    auto written = write_rendezvous_files(context_.directory, rendezvous_names(host, server, context_.step.nspace),
                                          rendezvous_text(server));
    if (!written)
        context_.log.warning("tools do not find this step: {}", written.failure().text);
}

} // namespace pmixhost
