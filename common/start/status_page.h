// The status page: 4096 bytes of memory shared by whoever starts pmixhostd (an RM's plugin,
// `pmixhost run`), pmixhostd and the tasks' hooks. pmixhostd writes why it cannot serve; a task that
// finds the door shut reads it and tells the user; a supervisor sees whether the server lives. Plain
// memory, so that it outlives the writer and works between fork and exec.
//
// The user's own processes can write it at any time, and root reads it: whatever is read is copied once,
// and only the copy is looked at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

struct StatusPage {
    static constexpr std::size_t size = 4096;
    static constexpr std::string_view store_base = "/dev/shm"; // server-glue/daemon/store_directory.h
    enum State : std::uint32_t { starting = 0, serving = 1, failed = 2, ended = 3 };

    std::atomic<std::uint32_t> state;
    std::atomic<std::uint32_t> length;     // of text; set before state becomes `failed`
    char text[size - 8 - 4 - 4 - 4 - 128]; // not terminated
    // Not 0: a task of this host has told why it cannot run, and ends the step.
    std::atomic<std::uint32_t> reported;
    // Not 0: the server's event loop has ended, and with it the heartbeat; what is left to do has a
    // deadline of its own (supervisor.h).
    std::atomic<std::uint32_t> leaving;
    // Counted up by the server's event loop, for its supervisor: one that stands still hangs.
    std::atomic<std::uint32_t> heartbeat;
    // The daemon's private directory, for its supervisor or whoever started it to remove should the daemon be killed,
    // or end while libpmix makes files in it; with the one of its name in store_base, if there is one. A daemon that
    // has removed it has struck it out.
    char directory[128]; // terminated

    // Written once, by the first failure; later ones are dropped.
    void fail(std::string_view why) {
        if (state.load(std::memory_order_acquire) == failed)
            return;
        std::size_t n = why.size() < sizeof text ? why.size() : sizeof text;
        why.copy(text, n);
        length.store(static_cast<std::uint32_t>(n), std::memory_order_relaxed);
        state.store(failed, std::memory_order_release);
    }
    // True for the first who asks.
    bool claim_report() { return reported.exchange(1, std::memory_order_acq_rel) == 0; }
    // Longer paths are not noted, and so not removed.
    void note_directory(std::string_view path) {
        if (path.size() >= sizeof directory)
            return;
        path.copy(directory, path.size());
        directory[path.size()] = '\0';
    }
    // Empty when none was noted.
    std::string noted_directory() const {
        std::string path(directory, sizeof directory);
        path.resize(std::strlen(path.c_str()));
        return path;
    }
    // The noted directory, if its name is one of a daemon of this user's.
    std::string directory_left(uid_t uid) const {
        std::string path = noted_directory();
        bool ours = path.starts_with('/') && path.find("/..") == std::string::npos &&
                    path.substr(path.rfind('/') + 1).starts_with("pmixhost-" + std::to_string(uid) + ".");
        return ours ? path : std::string();
    }
    // Empty unless failed. Bounded here, and control characters become spaces.
    std::string failure() const {
        if (state.load(std::memory_order_acquire) != failed)
            return {};
        std::size_t n = length.load(std::memory_order_relaxed);
        std::string why(text, n < sizeof text ? n : sizeof text);
        for (char &c : why) {
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                c = ' ';
        }
        return why;
    }
};
static_assert(sizeof(StatusPage) == StatusPage::size);
// Shims of an older installation read these two.
static_assert(offsetof(StatusPage, text) == 8);
static_assert(offsetof(StatusPage, directory) == StatusPage::size - 128);

} // namespace pmixhost
