// What every *_upcall.cc needs: the way from libpmix' thread into the loop, and answers back.
// Inside server-glue only.
//
// Answers are given in the loop's thread and go to libpmix through the library thread, or directly to libpmix' own: its
// callbacks shift to that thread, which takes the lock of its event base. They are never called from within
// an upcall.
#pragma once

#include "server-glue/library/convert.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/replies.h"
#include "server-glue/library/upcalls.h"

#include <functional>
#include <memory>
#include <new>

namespace pmixhost::upcall {

// The one Upcalls object, or null outside its life.
Upcalls *current();

// The boundary: nothing but a status goes from an upcall up into libpmix. A status other than PMIX_SUCCESS is the
// answer, so no reply may be given beside it: see post().
template <typename Body> pmix_status_t guarded(Body body) {
    Upcalls *upcalls = current();
    if (!upcalls)
        return PMIX_ERR_NOT_AVAILABLE;
    try {
        return body(*upcalls);
    } catch (const std::bad_alloc &) {
        return PMIX_ERR_NOMEM;
    } catch (...) {
        return PMIX_ERROR;
    }
}

// A request that cannot be posted is answered by the status of its upcall alone.
template <typename Ask> void disarm(Ask &ask) {
    if constexpr (requires { ask.reply; })
        ask.reply.disarm();
}

// Gives the request to the loop, and with it the duty to answer. Throws when it cannot; then the request
// is disarmed. The reply goes into the request last: what throws between the two would leave it armed.
// std::function wants something copyable; requests are not.
template <typename Ask, auto Way = &EventLoop::post> void post(Upcalls &upcalls, Ask ask) {
    std::shared_ptr<Ask> shared;
    try {
        shared = std::make_shared<Ask>(std::move(ask));
        (upcalls.loop.*Way)([&upcalls, shared] { upcalls.handlers.hand_on(std::move(*shared)); });
    } catch (...) {
        disarm(shared ? *shared : ask);
        throw;
    }
}
// The same, but where the loop waits the request is handed on at once, in libpmix' thread (EventLoop::run_or_post): of
// what a job's processes wait for together, that saves a change of threads for each. Who takes it starts no process.
template <typename Ask> void post_at_once(Upcalls &upcalls, Ask ask) {
    post<Ask, &EventLoop::run_or_post>(upcalls, std::move(ask));
}

// Gives `call` to the library thread, from the loop. With no memory left the process ends, or a client would
// wait for ever. Where the library has ended, and its clients with it, `call` is dropped.
template <typename Call> void in_library_thread(Call call) noexcept {
    if (Upcalls *upcalls = current())
        upcalls->library.run("the answer to a request", std::move(call));
}
// The same for an answer that may as well be given in libpmix' own thread, directly (library/direct_answers.h): a
// callback that shifts to that thread, or queues a message there, and calls nothing else of libpmix.
template <typename Call> void in_answering_thread(Call call) noexcept {
    if (Upcalls *upcalls = current())
        upcalls->library.answer("the answer to a request", std::move(call));
}
// Gives it to the library thread and from there to libpmix' own thread (PmixLibrary::in_progress_thread).
template <typename Call> void in_progress_thread(Call call) noexcept {
    in_library_thread([call = std::move(call)]() mutable { PmixLibrary::in_progress_thread(std::move(call)); });
}

StatusReply status_reply(pmix_op_cbfunc_t callback, void *data);
// The library frees nothing of what it is given.
ListReply list_reply(pmix_info_cbfunc_t callback, void *data);

} // namespace pmixhost::upcall
