// What posix_spawn(3) is told, freed by itself. Header-only.
#pragma once

#include <csignal>
#include <spawn.h>

namespace pmixhost {

struct SpawnFiles {
    posix_spawn_file_actions_t actions;
    SpawnFiles() { posix_spawn_file_actions_init(&actions); }
    ~SpawnFiles() { posix_spawn_file_actions_destroy(&actions); }
    SpawnFiles(const SpawnFiles &) = delete;
};

// No signal is blocked or ignored in the program. `more`: further POSIX_SPAWN_ flags.
struct SpawnAttributes {
    posix_spawnattr_t attributes;
    explicit SpawnAttributes(int more = 0) {
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setflags(&attributes,
                                 static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | more));
    }
    ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
    SpawnAttributes(const SpawnAttributes &) = delete;
};

} // namespace pmixhost
