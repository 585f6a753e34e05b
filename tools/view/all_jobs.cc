// See all_jobs.h.
#include "tools/view/all_jobs.h"

#include "common/process/captured_command.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "tools/run/daemon_process.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <system_error>

namespace pmixhost {

// As the resource manager tells them; its libraries are pmixhostd's.
static Result<std::vector<std::string>> running_steps(std::chrono::seconds patience, const StopAsking &stop) {
    CaptureBounds bounds;
    bounds.patience = patience;
    bounds.stop = stop;
    auto said = capture_what_comes({pmixhostd_path(), "--steps"}, bounds);
    if (!said)
        return said.failure();
    if (said->cut)
        return *said->cut;
    if (said->code != 0)
        return error(ErrorKind::unreachable, "{}", one_line(said->err));
    std::vector<std::string> steps;
    for (std::string_view rest = said->out; !rest.empty();) {
        if (auto line = take_until(rest, '\n'); !line.empty())
            steps.emplace_back(line);
    }
    return steps;
}

AllJobs::Seen AllJobs::look(const std::vector<ListedServer> &here, std::chrono::seconds patience,
                            const StopAsking &stop) {
    Seen seen;
    seen.servers = here;
    std::erase_if(desks_, [](const auto &entry) { return !entry.second.serves(); });
    if (auto steps = running_steps(patience, stop)) {
        std::erase_if(desks_, [&](const auto &entry) {
            return std::find(steps->begin(), steps->end(), entry.first) == steps->end();
        });
        std::erase_if(
            *steps, [&](const std::string &step) { return desks_.contains(step) || !servers_of(here, step).empty(); });
        open(plan_.due(*steps, std::chrono::steady_clock::now()), patience, stop);
    } else {
        seen.complaints.push_back("which jobs run on other hosts is not known: " + steps.failure().text);
    }
    for (const auto &entry : desks_)
        seen.servers.push_back(entry.second.server());
    for (auto &line : plan_.complaints())
        seen.complaints.push_back(std::move(line));
    seen.unserved = plan_.unserved();
    return seen;
}

void AllJobs::open(const std::vector<std::string> &steps, std::chrono::seconds patience, const StopAsking &stop) {
    std::vector<std::optional<Result<Desk>>> opened(steps.size());
    std::atomic<std::size_t> next = 0;
    auto work = [&] {
        for (std::size_t i; (i = next++) < steps.size();)
            opened[i].emplace(Desk::open(steps[i], patience, stop));
    };
    {
        std::vector<std::future<void>> others; // waited for where this block ends
        for (std::size_t i = 1; i < std::min(steps.size(), most_at_once); ++i) {
            try {
                others.push_back(std::async(std::launch::async, work));
            } catch (const std::system_error &) { // no thread: those that there are do all of it
                break;
            }
        }
        work();
    }
    auto now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        auto &desk = *opened[i];
        if (desk) {
            plan_.reached(steps[i]);
            desks_.emplace(steps[i], std::move(*desk));
        } else {
            plan_.failed(steps[i], desk.failure(), now);
        }
    }
}

bool AllJobs::has_ended(const ListedServer &server) const {
    return std::any_of(desks_.begin(), desks_.end(), [&](const auto &entry) {
        return entry.second.server().file == server.file && !entry.second.serves();
    });
}

} // namespace pmixhost
