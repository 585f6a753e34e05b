// See event_lines.h.
#include "tools/view/event_lines.h"

#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "tools/view/connection_loss.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <pmix_tool.h>
#include <poll.h>
#include <semaphore.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// What PMIx_Error_string() calls them differs between versions of the library; these are the standard's names.
struct EventCode {
    pmix_status_t code;
    std::string_view name;
};
struct EventKind {
    std::string_view name;
    std::vector<EventCode> codes;
};
#define PMIXHOST_CODE(code)                                                                                            \
    { code, #code }

const std::vector<EventKind> &table_of_kinds() {
    constexpr pmix_status_t alloc_timeout_warning = -194; // only newer headers name it
    static const std::vector<EventKind> table = {
        {"ended", {PMIXHOST_CODE(PMIX_EVENT_PROC_TERMINATED)}},
        {"aborted",
         {PMIXHOST_CODE(PMIX_ERR_PROC_ABORTED), PMIXHOST_CODE(PMIX_ERR_EXIT_NONZERO_TERM),
          PMIXHOST_CODE(PMIX_ERR_PROC_REQUESTED_ABORT)}},
        {"host", {PMIXHOST_CODE(PMIX_EVENT_NODE_DOWN)}},
        {"time", {PMIXHOST_CODE(PMIX_JCTRL_PREEMPT_ALERT), {alloc_timeout_warning, "PMIX_ALLOC_TIMEOUT_WARNING"}}},
        {"job",
         {PMIXHOST_CODE(PMIX_EVENT_JOB_START), PMIXHOST_CODE(PMIX_EVENT_JOB_END), PMIXHOST_CODE(PMIX_LAUNCH_COMPLETE)}},
    };
    return table;
}
#undef PMIXHOST_CODE
constexpr std::string_view other_kinds = "other"; // what programs notify

std::optional<int> number_in(std::string_view text) {
    int value = 0;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value)
                                                                                      : std::nullopt;
}

std::string name_of_event(pmix_status_t code) {
    for (const auto &kind : table_of_kinds()) {
        for (const auto &one : kind.codes) {
            if (one.code == code)
                return std::string(one.name);
        }
    }
    const char *name = PMIx_Error_string(code);
    return name && std::string_view(name).starts_with("PMIX_") ? name : std::to_string(code);
}

std::string name_of(const pmix_proc_t &process) {
    std::string name = std::string(process.nspace, strnlen(process.nspace, PMIX_MAX_NSLEN)) + ':';
    if (process.rank == PMIX_RANK_WILDCARD)
        return name + '*';
    return process.rank <= PMIX_RANK_VALID ? name + std::to_string(process.rank) : name;
}

// What the callbacks and hear_events() share: they run in threads of libpmix.
struct Hearing {
    int to = -1;
    std::string server; // its namespace
    sem_t registered, lost;
    pmix_status_t refused = PMIX_SUCCESS;
};
Hearing &hearing() {
    static Hearing one; // of a process that does nothing else
    return one;
}

void write_all(int to, std::string_view text) {
    while (!text.empty()) {
        ssize_t written = ::write(to, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return;
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
}

void read_info(const pmix_info_t &info, HeardEvent &event) {
    const pmix_value_t &value = info.value;
    if (PMIX_CHECK_KEY(&info, PMIX_EVENT_AFFECTED_PROC) && value.type == PMIX_PROC) {
        event.affected.push_back(name_of(*value.data.proc));
    } else if ((PMIX_CHECK_KEY(&info, PMIX_EVENT_AFFECTED_PROCS) || PMIX_CHECK_KEY(&info, PMIX_DEBUG_TARGET)) &&
               value.type == PMIX_DATA_ARRAY && value.data.darray && value.data.darray->type == PMIX_PROC) {
        auto *processes = static_cast<const pmix_proc_t *>(value.data.darray->array);
        for (std::size_t i = 0; i < value.data.darray->size; ++i)
            event.affected.push_back(name_of(processes[i]));
    } else if (PMIX_CHECK_KEY(&info, PMIX_HOSTNAME) && value.type == PMIX_STRING && value.data.string) {
        event.host = value.data.string;
    } else if (PMIX_CHECK_KEY(&info, PMIX_EXIT_CODE) && value.type == PMIX_INT) {
        event.exit_code = value.data.integer;
    } else if (PMIX_CHECK_KEY(&info, PMIX_EVENT_TIMESTAMP) && value.type == PMIX_TIME) {
        event.time = value.data.time;
    }
}

void on_event(std::size_t, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[], std::size_t count,
              pmix_info_t[], std::size_t, pmix_event_notification_cbfunc_fn_t done, void *data) {
    if (is_loss_of(hearing().server, code, source)) {
        sem_post(&hearing().lost);
    } else {
        HeardEvent event;
        event.time = std::time(nullptr);
        event.code = code;
        event.name = name_of_event(code);
        event.source = source ? name_of(*source) : "";
        for (std::size_t i = 0; i < count; ++i)
            read_info(info[i], event);
        write_all(hearing().to, event_line(event));
    }
    if (done) // no other handler is to hear it as well
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

void on_registered(pmix_status_t status, std::size_t, void *) {
    if (status != PMIX_SUCCESS)
        hearing().refused = status;
    sem_post(&hearing().registered);
}

void wait_for(sem_t &what) {
    while (sem_wait(&what) != 0 && errno == EINTR)
        ;
}

} // namespace

std::string event_kinds() {
    std::string names;
    for (const auto &kind : table_of_kinds())
        names += std::string(kind.name) + ", ";
    return names + std::string(other_kinds);
}

Result<void> check_event_kinds(const std::vector<std::string> &kinds) {
    for (const auto &kind : kinds) {
        const auto &table = table_of_kinds();
        if (kind != other_kinds && !number_in(kind) &&
            std::none_of(table.begin(), table.end(), [&](const auto &row) { return row.name == kind; }))
            return error(ErrorKind::invalid, "--kind is '{}'; allowed: {}, or the number of an event", printable(kind),
                         event_kinds());
    }
    return {};
}

std::string event_line(const HeardEvent &event) {
    std::string affected;
    for (const auto &one : event.affected)
        affected += (affected.empty() ? "" : " ") + one_line(one);
    return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", event.time, event.code, one_line(event.name),
                       one_line(event.source), affected, one_line(event.host),
                       event.exit_code ? std::to_string(*event.exit_code) : "");
}

std::optional<HeardEvent> parse_event_line(std::string_view line) {
    std::string_view fields[7];
    for (auto &field : fields) {
        std::size_t end = line.find('\t');
        if ((end == line.npos) != (&field == &fields[6]))
            return std::nullopt;
        field = line.substr(0, end);
        line.remove_prefix(end == line.npos ? line.size() : end + 1);
    }
    HeardEvent event;
    auto code = number_in(fields[1]);
    auto [end, failed] = std::from_chars(fields[0].data(), fields[0].data() + fields[0].size(), event.time);
    if (!code || failed != std::errc() || end != fields[0].data() + fields[0].size() || fields[0].empty())
        return std::nullopt;
    event.code = *code;
    event.name = fields[2];
    event.source = fields[3];
    for (auto rest = fields[4]; !rest.empty();)
        event.affected.emplace_back(take_until(rest, ' '));
    event.host = fields[5];
    if (auto exit_code = number_in(fields[6]))
        event.exit_code = *exit_code;
    return event;
}

std::string shown_event(const HeardEvent &event) {
    std::time_t time = event.time;
    tm parts{};
    char when[64] = "-";
    if (localtime_r(&time, &parts))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &parts);
    std::string out = fmt::format("{}  {}  from {}", when, event.name, event.source);
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < std::min(event.affected.size(), most); ++i)
        out += (i == 0 ? "  of " : ", ") + event.affected[i];
    if (event.affected.size() > most)
        out += fmt::format(" and {} more", event.affected.size() - most);
    if (!event.host.empty())
        out += "  on " + event.host;
    if (event.exit_code)
        out += fmt::format("  exit code {}", *event.exit_code);
    return out;
}

std::string hear_events(int to, const std::string &server, const std::vector<std::string> &kinds) {
    Hearing &all = hearing();
    all.to = to;
    all.server = server;
    sem_init(&all.registered, 0, 0);
    sem_init(&all.lost, 0, 0);
    auto chosen = [&kinds](std::string_view name) {
        return kinds.empty() || std::find(kinds.begin(), kinds.end(), name) != kinds.end();
    };
    std::vector<pmix_status_t> codes{PMIX_ERR_LOST_CONNECTION};
    for (const auto &kind : table_of_kinds()) {
        for (const auto &one : kind.codes) {
            if (chosen(kind.name))
                codes.push_back(one.code);
        }
    }
    for (const auto &kind : kinds) {
        if (auto number = number_in(kind))
            codes.push_back(*number);
    }
    PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0, on_event, on_registered, nullptr);
    wait_for(all.registered);
    if (chosen(other_kinds)) {
        PMIx_Register_event_handler(nullptr, 0, nullptr, 0, on_event, on_registered, nullptr);
        wait_for(all.registered);
    }
    if (all.refused != PMIX_SUCCESS)
        return fmt::format("!PMIx_Register_event_handler: {}", PMIx_Error_string(all.refused));
    write_all(to, "ready\n");
    wait_for(all.lost);
    return {};
}

} // namespace pmixhost
