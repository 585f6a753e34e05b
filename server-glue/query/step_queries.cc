// See step_queries.h.
#include "server-glue/query/step_queries.h"

#include "common/text/printable.h"
#include "server-glue/events/process_ends.h"
#include "server-glue/iof/step_iof.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/query/table_answers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <climits>
#include <pmix.h>
#include <unistd.h>

namespace pmixhost {

StepQueries::StepQueries(StepContext &context, const ProcessSets &sets, const GroupRegistry &groups,
                         CrossJobs &cross_jobs)
    : StepService(context.services), context_(context), sets_(sets), groups_(groups), cross_jobs_(cross_jobs),
      table_(context, *this, context.step.map, context.self(), context.settings.transport_radix),
      job_tables_([&context](std::uint8_t type, SharedBytes payload) {
          return context.send_to_session(type, std::move(payload));
      }),
      rights_(context.loop, context.log, context.settings) {}

void StepQueries::take_asks(UpcallHandlers &handlers) {
    handlers.on_unjudged<QueryAsk>([this](QueryAsk ask) { queries_.query(context_.now(), std::move(ask)); });
}

void StepQueries::take_messages(StepMessages &messages) {
    using enum StepMessages::Peer;
    messages.on<wire::TableRequest>(host, [this](HostIndex from, const auto &message, const auto &) {
        table_.on_request(context_.now(), from, message);
    });
    messages.on<wire::TableReply>(host, [this](HostIndex from, auto &&message, const auto &) {
        table_.on_reply(context_.now(), from, std::move(message));
    });
    messages.on<wire::JobTableRequest>(
        session, [this](HostIndex, const auto &message, const auto &) { describe_this(message); });
    messages.on<wire::JobTableReply>(session, [this](HostIndex, const auto &message, const auto &) {
        job_tables_.on_reply(context_.now(), message);
    });
}

void StepQueries::on_time(TimePoint now) {
    if (!rights_asked_.empty() && ask_again_ <= now) {
        for (auto &done : std::exchange(rights_asked_, {}))
            ask_rights(std::move(done));
    }
    table_.on_time(now);
    job_tables_.on_time(now);
    queries_.on_time(now);
}

// The ends of this host's processes are noted at once; the other hosts are told a little later.
void StepQueries::on_process_gone(Rank rank, std::optional<int> wait_status) {
    if (auto ended = bad_end_of(context_, rank, wait_status))
        table_.note_ended(*ended);
}

void StepQueries::on_bad_ends(const wire::HostReport &report) {
    if (report.lost != 0)
        table_.note_lost(report.host);
    for (const auto &ended : report.processes)
        table_.note_ended(ended);
}

HostAbilities StepQueries::abilities() {
    return {facets_of(context_.backend), StepIof::can_be_read(context_), StepIof::captures(context_),
            !library_marks_forwarded_output_twice()};
}

static std::string executable_of(pid_t pid) {
    char path[PATH_MAX];
    ssize_t length = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::vector<ProcessEntry> StepQueries::local_processes() {
    std::vector<ProcessEntry> out;
    for (Rank rank : context_.ranks_here()) {
        ProcessEntry &entry = out.emplace_back();
        entry.rank = rank;
        entry.pid = context_.tasks->watch().pid_of(rank);
        if (context_.tasks->gone(rank)) {
            entry.state = PMIX_PROC_STATE_TERMINATED;
        } else if (entry.pid == 0) {
            entry.state = PMIX_PROC_STATE_PREPPED;
        } else {
            entry.state = context_.tasks->connected(rank) && !context_.tasks->finalized(rank)
                              ? PMIX_PROC_STATE_CONNECTED
                              : PMIX_PROC_STATE_RUNNING;
            entry.executable = executable_of(entry.pid);
            entry.memory_kib = resident_kib(entry.pid);
        }
    }
    return out;
}

// --- the tables of other jobs -----------------------------------------------------------------------

void StepQueries::gather_table_of(const StepInfo &job, HostIndex host, Duration timeout, ProcessTable::Done done) {
    std::string only_on = host == no_host ? "" : job.map.hosts()[host];
    job_tables_.ask(context_.now(), job.nspace, only_on, timeout,
                    [this, nspace = job.nspace, done = std::move(done)](std::int32_t status, const auto &hosts) {
                        const StepInfo *known = status == PMIX_SUCCESS ? this->job(nspace) : nullptr;
                        JobTable table = known ? table_of(hosts, known->map) : JobTable();
                        in_order_of_ranks(table);
                        done(status, table);
                    });
}

// What another job asks for, of this one.
void StepQueries::describe_this(const wire::JobTableRequest &message) {
    auto reply = [this, id = message.id](std::int32_t status, const JobTable &table) {
        wire::JobTableReply answer;
        answer.id = id;
        answer.status = status;
        if (status == PMIX_SUCCESS)
            answer.hosts = table_hosts(table);
        Bytes bytes = wire::encode(answer);
        if (bytes.size() > wire::frame_limit) {
            answer.hosts.clear();
            answer.status = PMIX_ERR_OUT_OF_RESOURCE;
            bytes = wire::encode(answer);
        }
        context_.send_to_session(wire::JobTableReply::type, share(std::move(bytes)));
    };
    const auto &names = context_.step.map.hosts();
    auto named = std::find(names.begin(), names.end(), message.only_on);
    if (message.nspace != context_.step.nspace || (!message.only_on.empty() && named == names.end()))
        return reply(PMIX_ERR_NOT_FOUND, {});
    HostIndex only = message.only_on.empty() ? no_host : static_cast<HostIndex>(named - names.begin());
    // Many may wait for one table, each for its own host's part.
    auto part = [this, only](const JobTable &table) {
        JobTable out;
        if (only == no_host)
            out.daemons = table.daemons;
        else if (auto daemon = table.daemons.find(only); daemon != table.daemons.end())
            out.daemons.insert(*daemon);
        std::optional<ProgramNames> programs; // made when it is needed
        auto take = [&](const ProcessEntry &entry) {
            ProcessEntry &taken = out.processes.emplace_back(entry);
            if (!taken.executable.empty())
                return;
            if (!programs)
                programs.emplace(context_.step);
            taken.executable = programs->of(taken.rank); // the asker knows of none
        };
        if (only == no_host || only == context_.self()) {
            std::for_each(table.processes.begin(), table.processes.end(), take);
        } else {
            for (Rank rank : context_.step.map.ranks_on(only))
                take(table.processes[rank]);
        }
        return out;
    };
    if (only == context_.self())
        return reply(PMIX_SUCCESS, part(table_.local()));
    table_.request(context_.now(), std::chrono::milliseconds(message.timeout_ms) * 4 / 5,
                   [reply, part](std::int32_t status, const JobTable &table) {
                       reply(status, status == PMIX_SUCCESS ? part(table) : JobTable());
                   });
}

// A thread reads the rules, and says nothing when it has.
void StepQueries::ask_rights(std::function<void(const ToolActions &)> done) {
    ToolActions actions;
    for (std::size_t i = 0; i < std::size(policy::action_names); ++i) {
        auto decision = rights_.decide({static_cast<policy::Action>(i), {}});
        if (!decision && !rights_.switched_off()) {
            ask_again_ = context_.now() + std::chrono::milliseconds(5);
            rights_asked_.push_back(std::move(done));
            return;
        }
        actions.emplace_back(policy::action_names[i], !rights_.switched_off() && decision->allowed);
    }
    done(actions);
}

void StepQueries::unanswered(const std::string &key, pmix_status_t status, const std::string &why) {
    context_.log.info("a query for {} has no answer: {}{}{}", printable(key), PMIx_Error_string(status),
                      why.empty() ? "" : ": ", why);
}

} // namespace pmixhost
