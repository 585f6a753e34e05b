// The pids of this host's running tasks, in memory that the server shares with its supervisor: a
// supervisor whose server was killed must know whether there is still a step to end.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/mman.h>
#include <sys/types.h>

namespace pmixhost {

struct TaskTable {
    static constexpr std::uint32_t capacity = 8192;
    std::atomic<std::uint32_t> orderly_end; // 1: the server ended because all was done
    std::atomic<std::int32_t> pid[capacity]; // by local rank; 0: not running

    // Lives until the process ends. nullptr when there is no memory.
    static TaskTable *create() {
        void *memory = mmap(nullptr, sizeof(TaskTable), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? nullptr : static_cast<TaskTable *>(memory);
    }
    void set(std::uint32_t local_rank, pid_t value) {
        if (local_rank < capacity)
            pid[local_rank].store(value, std::memory_order_release);
    }
};

} // namespace pmixhost
