// See daemon_start.h.
#include "plugins/kit/daemon_start.h"

#include "common/start/start_fd.h"
#include "plugins/kit/daemon_channels.h"

#include <sys/mman.h>

namespace pmixhost::kit {

Result<StartedDaemon> start_daemon(StartDocument document, const std::string &host, DaemonLaunch launch) {
    StartedDaemon daemon;
    UniqueFd page_fd;
    auto door = make_task_door(daemon.door);
    auto page = make_status_page(page_fd);
    if (!door || !page)
        return door ? page.failure() : door.failure();
    daemon.page = *page;
    // Takes the page back unless the daemon runs.
    struct Unmap {
        StatusPage *page;
        ~Unmap() {
            if (page)
                ::munmap(page, StatusPage::size);
        }
    } unmap{*page};
    for (const auto &[key, value] : {std::pair("host", host), std::pair("door_fd", std::to_string(door->get())),
                                     std::pair("status_fd", std::to_string(page_fd.get()))}) {
        if (auto added = document.add(key, value); !added)
            return added.failure();
    }
    auto file = open_start_document(document);
    if (!file)
        return file.failure();
    launch.arguments.insert(launch.arguments.begin(), {"--start-fd", std::to_string(file->get())});
    launch.descriptors.insert(launch.descriptors.end(), {door->get(), page_fd.get(), file->get()});
    launch.door = door->get();
    launch.host = host;
    launch.page = daemon.page;
    auto pid = launch_daemon(launch);
    if (!pid)
        return pid.failure();
    daemon.pid = *pid;
    unmap.page = nullptr;
    return daemon;
}

} // namespace pmixhost::kit
