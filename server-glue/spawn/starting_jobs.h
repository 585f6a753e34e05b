// How many jobs are being started here: each counts from when it is admitted until its answer is given, whoever it
// waits for meanwhile (an allocation, the job that it shall debug, the one that starts before it, the launcher). Who
// limits jobs would else admit as many as ask in that time. In the loop's thread.
#pragma once

#include <cstddef>
#include <memory>

namespace pmixhost {

class StartingJobs {
  public:
    // The jobs of one request. Whoever holds it has them counted, and may outlive StartingJobs.
    class Held {
      public:
        Held(std::shared_ptr<std::size_t> count, std::size_t jobs) : count_(std::move(count)), jobs_(jobs) {
            *count_ += jobs_;
        }
        Held(const Held &) = delete;
        ~Held() { *count_ -= jobs_; }
        // One of them is answered, and others are not yet.
        void one_less() {
            --*count_;
            --jobs_;
        }

      private:
        std::shared_ptr<std::size_t> count_;
        std::size_t jobs_;
    };

    std::size_t count() const { return *count_; }
    std::shared_ptr<Held> add(std::size_t jobs) { return std::make_shared<Held>(count_, jobs); }

  private:
    std::shared_ptr<std::size_t> count_ = std::make_shared<std::size_t>(0);
};

} // namespace pmixhost
