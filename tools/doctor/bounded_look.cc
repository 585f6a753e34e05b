// See bounded_look.h.
#include "tools/doctor/bounded_look.h"

#include "common/base/start_thread.h"

#include <condition_variable>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>

namespace pmixhost {

namespace {

struct Look {
    std::mutex mutex;
    std::condition_variable ended;
    std::optional<Findings> found;
};

} // namespace

Findings look_within(const std::string &what, std::chrono::milliseconds patience, std::function<Findings()> look,
                     bool &hung) {
    auto shared = std::make_shared<Look>();
    auto started = start_thread([shared, what, look = std::move(look)] {
        Findings found;
        try {
            found = look();
        } catch (const std::exception &failed) {
            found = {wrong(what, failed.what(), "this is a fault of pmixhost's")};
        }
        std::lock_guard lock(shared->mutex);
        shared->found = std::move(found);
        shared->ended.notify_one();
    });
    if (!started)
        return {wrong(what, started.failure().text, "see what is left of ulimit -u")};
    std::unique_lock lock(shared->mutex);
    if (shared->ended.wait_for(lock, patience, [&] { return shared->found.has_value(); }))
        return std::move(*shared->found);
    hung = true;
    return {wrong(what,
                  fmt::format("looking at it has not ended in {} s",
                              std::chrono::duration_cast<std::chrono::seconds>(patience).count()),
                  "see whether the user's home, the directories of pmixhost.conf and the directory service answer on "
                  "this host (getent passwd, df)")};
}

} // namespace pmixhost
