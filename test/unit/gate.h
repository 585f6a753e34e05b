// What one thread waits for and another one opens, once. std::future does that too, but part of it is in the C++
// library, where the thread sanitizer does not look: it reports races that are none.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace pmixhost {

class OneTimeGate {
  public:
    void open() {
        std::lock_guard lock(mutex_);
        open_ = true;
        opened_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        opened_.wait(lock, [this] { return open_; });
    }
    // Opens it when the calling thread ends.
    static void open_at_thread_exit(std::shared_ptr<OneTimeGate> gate) {
        struct AtExit {
            std::shared_ptr<OneTimeGate> gate;
            ~AtExit() {
                if (gate)
                    gate->open();
            }
        };
        static thread_local AtExit at_exit;
        at_exit.gate = std::move(gate);
    }

    // Waits for that, and until the thread holds the gate no longer: the leak sanitizer does not look into a thread
    // that is ending.
    static void await_thread_exit(const std::shared_ptr<OneTimeGate> &gate) {
        gate->wait();
        while (gate.use_count() > 1)
            std::this_thread::yield();
    }

  private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool open_ = false;
};

} // namespace pmixhost
