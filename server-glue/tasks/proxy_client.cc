// See proxy_client.h.
#include "server-glue/tasks/proxy_client.h"

#include <cerrno>
#include <csignal>
#include <pmix.h>
#include <spawn.h>
#include <unistd.h>

namespace pmixhost {

Result<void> send_proxy_client(const std::vector<std::string> &environment) {
    std::vector<char *> entries;
    for (const auto &entry : environment)
        entries.push_back(const_cast<char *>(entry.c_str()));
    entries.push_back(nullptr);
    std::string name = "pmixhostd", option = "--proxy-client";
    char *arguments[] = {name.data(), option.data(), nullptr};

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    int code = posix_spawn(&pid, "/proc/self/exe", nullptr, &attributes, arguments, entries.data());
    posix_spawnattr_destroy(&attributes);
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
