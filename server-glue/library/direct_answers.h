// Answers go to libpmix' own thread directly, where that can be done: the loop rings a bell there (answer_bell.h), and
// libpmix' thread takes what it is owed (LibraryThread::Share), instead of being woken by the library thread, which has
// been woken for that. One wake-up for each answer and not two; of answers that come close behind each other there is
// one for all.
//
// Where the bell cannot be hung, as in a program without timer_guard.cc, or is not heard in libpmix' own thread, the
// library thread gives all answers.
#pragma once

#include "server-glue/library/answer_bell.h"
#include "server-glue/library/library_thread.h"

#include <atomic>
#include <thread>

struct event_base;

namespace pmixhost {

class DirectAnswers {
  public:
    DirectAnswers() = default;
    // Says that the calling thread is libpmix' own. To be called there before the bell is first heard.
    void know_thread() { librarys_.store(std::this_thread::get_id()); }
    // Hangs the bell. Once, in the library thread. Failure: as AnswerBell::hang().
    Result<void> begin(event_base *base, LibraryThread &thread);
    // Before libpmix ends, in the library thread or when that has ended: from then on the library thread gives all.
    ~DirectAnswers() = default;
    DirectAnswers(const DirectAnswers &) = delete;

  private:
    void hear();
    std::unique_ptr<LibraryThread::Share> share_;
    std::atomic<std::thread::id> librarys_{};
    std::atomic<bool> hung_{false};    // the share is there
    bool open_ = false;                // the base's thread alone
    std::unique_ptr<AnswerBell> bell_; // goes first, so nobody is in hear() when the share goes
};

} // namespace pmixhost
