// The pids of this host's running tasks, in memory that the server shares with its supervisor, which must know, when
// its server was killed, whether there is still a step to end.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/mman.h>
#include <sys/types.h>

namespace pmixhost {

struct TaskTable {
    static constexpr std::uint32_t capacity = 8192;
    std::atomic<std::uint32_t> normal_exit;     // 1: the server ended because all was done
    std::atomic<std::int32_t> pid[capacity];    // by local rank; 0: not running
    std::atomic<std::uint64_t> began[capacity]; // when the process did, as began_at tells

    // Lives until the process ends. nullptr when there is no memory.
    static TaskTable *create() {
        void *memory = mmap(nullptr, sizeof(TaskTable), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? nullptr : static_cast<TaskTable *>(memory);
    }
    void set(std::uint32_t local_rank, pid_t value) {
        if (local_rank >= capacity)
            return;
        began[local_rank].store(value > 0 ? began_at(value) : 0, std::memory_order_relaxed);
        pid[local_rank].store(value, std::memory_order_release);
    }
    // When the process began. With the pid it names a process: another one of the same number began later. 0: there
    // is none.
    static std::uint64_t began_at(pid_t pid);
};

} // namespace pmixhost
