// See proxy_client.h.
#include "server-glue/tasks/proxy_client.h"

#include "common/process/posix_spawn.h"

#include <cerrno>
#include <pmix.h>
#include <unistd.h>

namespace pmixhost {

Result<void> send_proxy_client(const std::vector<std::string> &environment) {
    std::vector<char *> entries;
    for (const auto &entry : environment)
        entries.push_back(const_cast<char *>(entry.c_str()));
    entries.push_back(nullptr);
    std::string name = "pmixhostd", option = "--proxy-client";
    char *arguments[] = {name.data(), option.data(), nullptr};

    SpawnAttributes how;
    pid_t pid = 0;
    int code = posix_spawn(&pid, "/proc/self/exe", nullptr, &how.attributes, arguments, entries.data());
    if (code != 0)
        return system_error("cannot start it", code);
    return {};
}

int proxy_client_main() {
    alarm(30); // should the server not answer
    pmix_proc_t self;
    pmix_status_t status = PMIx_Init(&self, nullptr, 0);
    _exit(status == PMIX_SUCCESS ? 0 : 1);
}

} // namespace pmixhost
