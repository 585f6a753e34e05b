// The one thread in which this program calls libpmix. Every such call can wait: for a lock of the
// library, for its progress thread (PMIX_WAIT_THREAD), or for the lock of its event base, which each
// PMIx_server_* function and each answer to an upcall takes. The event loop must never wait for any
// of them, so it hands the calls over here, and what they give is posted back to it.
//
// Jobs run one after the other, in the order of run() and answer(). A job that blocks for ever keeps all later ones
// from beginning, and nothing else: library_watch.h sees it.
//
// Answers may also be given by a thread that has a share in the work: it gives those for which the library thread would
// have to be woken, and that thread nothing while it does. So the order is the same, and each is given exactly once.
#pragma once

#include "common/loop/event_loop.h"

namespace pmixhost {

class LibraryThread {
    struct State;

  public:
    using Job = std::function<void()>;
    // Starts the thread, with all signals blocked. `on_exception` hears, in the thread in which that was, of what a
    // job threw; the next one is run as if nothing had been. Failure: limit (no thread to be had).
    static Result<std::unique_ptr<LibraryThread>> start(std::function<void(const std::string &what)> on_exception);
    // Does what end(5 s) does.
    ~LibraryThread();
    LibraryThread(const LibraryThread &) = delete;

    // Any thread; does not wait. `name` says what is called, for messages; it is a literal. While fewer than
    // `reserved` jobs wait, a job no larger than two pointers takes no memory. With no memory left for a job the
    // process ends, because neither the call nor its answer may be lost. False after end(): the job is dropped.
    static constexpr std::size_t reserved = 256;
    bool run(const char *name, Job job) noexcept;

    // As run(), for what may as well be done by whoever has the share: what needs no thread of ours, and waits for
    // nothing.
    bool answer(const char *name, Job job) noexcept;

    // A share in the answers. It may outlive the LibraryThread.
    class Share {
      public:
        // Whatever has not been given is the library thread's again. Not while give() runs.
        ~Share();
        Share(const Share &) = delete;
        // From now on there is somebody who gives answers. Any thread.
        void open();
        // Gives the answers that are there. In one thread, which never waits for the library thread.
        void give();

      private:
        friend class LibraryThread;
        explicit Share(std::shared_ptr<State> state) : state_(std::move(state)) {}
        std::shared_ptr<State> state_;
    };
    // `ring` is called when there is something to give, after there was nothing: in any thread, without a lock, perhaps
    // once more after the share has gone. It must not wait, nor throw. One at a time.
    std::unique_ptr<Share> share(std::function<void()> ring);

    // Any thread: the name of the job that runs; null: none.
    const char *running() const;

    // Runs what waits, then ends the thread. False when that takes longer than `patience`: the job
    // that runs is left behind, with all that waits; what they use must stay.
    bool end(Duration patience);

  private:
    explicit LibraryThread(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_; // the thread's too
};

} // namespace pmixhost
