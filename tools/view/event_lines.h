// What happens to a job, as its PMIx server tells it: which events there are, and the lines in which the process that
// hears them passes them on. Pure, but for hear_events().
#pragma once

#include "common/base/result.h"

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

struct HeardEvent {
    std::int64_t time = 0; // seconds since 1970: when it happened, else when it was heard
    int code = 0;
    std::string name;   // "PMIX_ERR_PROC_ABORTED"; the number of one that has no name
    std::string source; // NAMESPACE:RANK; the rank is * for all, and empty for none
    std::vector<std::string> affected;
    std::string host;
    std::optional<std::int64_t> exit_code;
};

std::string event_line(const HeardEvent &event); // with its line's end
// Nothing: it is none.
std::optional<HeardEvent> parse_event_line(std::string_view line);
// For people, without a line's end.
std::string shown_event(const HeardEvent &event);

// The kinds of events that can be asked for, by name: "ended", "aborted", "host", "time", "job", "other".
std::string event_kinds(); // with commas between
// `kinds`: names, or numbers of events. Fails (invalid) at the first that is neither.
Result<void> check_event_kinds(const std::vector<std::string> &kinds);

// In a process that is a tool of the server with that namespace: registers for the events of these kinds (none: all),
// writes "ready" and then each as a line to `to`, until the connection is lost. What it returns is as as_tool()'s `ask`
// has it.
std::string hear_events(int to, const std::string &server, const std::vector<std::string> &kinds);

} // namespace pmixhost
