// What every file of upcalls needs: the way from libpmix' thread into the loop, and answers back.
// Inside server-glue only.
//
// Answers are given in the loop's thread and go to libpmix through the library thread: its callbacks
// shift to libpmix' own thread, which takes the lock of its event base. They are never called from within
// an upcall.
#pragma once

#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcalls.h"

#include <chrono>
#include <functional>
#include <memory>
#include <new>

namespace pmixhost::upcall {

// The one Upcalls object, or null outside its life.
Upcalls *current();

// The boundary: nothing that happens in an upcall goes up into libpmix but a status. A status other
// than PMIX_SUCCESS is the answer, so no reply may be given beside it: see post().
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
template <typename Request> void disarm(Request &request) {
    if constexpr (requires { request.reply; })
        request.reply.disarm();
    else if constexpr (requires { request.answer; })
        request.answer.disarm();
}

// Gives the request to the loop, and with it the duty to answer. Throws when it cannot; then the request
// is disarmed. The reply goes into the request last: what throws between the two would leave it armed.
// std::function wants something copyable; requests are not.
template <typename Request>
void post(Upcalls &upcalls, Request request, void (UpcallHandler::*method)(Request)) {
    std::shared_ptr<Request> shared;
    try {
        shared = std::make_shared<Request>(std::move(request));
        upcalls.loop.post([&upcalls, shared, method] { (upcalls.handler.*method)(std::move(*shared)); });
    } catch (...) {
        disarm(shared ? *shared : request);
        throw;
    }
}

// Gives `call` to the library thread, from the loop. With no memory left the process ends, or a client would
// wait for ever. Where the library has ended, and its clients with it, `call` is dropped.
template <typename Call> void in_library_thread(Call call) noexcept {
    if (Upcalls *upcalls = current())
        upcalls->library.run("the answer to a request", std::move(call));
}
// The same, and from there into libpmix' own thread (PmixLibrary::in_progress_thread).
template <typename Call> void in_progress_thread(Call call) noexcept {
    in_library_thread(
        [call = std::move(call)]() mutable { PmixLibrary::in_progress_thread(std::move(call)); });
}

Process process_of(const pmix_proc_t &proc);
std::vector<Process> processes_of(const pmix_proc_t *procs, std::size_t count);
// Adds the process or the array of processes that the value is; false when it is none.
bool read_processes(const pmix_value_t &value, std::vector<Process> &out);
StatusReply status_reply(pmix_op_cbfunc_t callback, void *data);
// The library frees nothing of what it is given.
QueryReply list_reply(pmix_info_cbfunc_t callback, void *data);
// A whole number, whatever integer type the caller gave it; nullopt when it is none.
std::optional<long long> number_of(const pmix_value_t &value);
// A directive that is there without a value means true (as PMIX_INFO_TRUE has it).
bool flag_of(const pmix_value_t &value);
// A timeout in seconds; 0 means without limit (standard, 3.4.29).
std::optional<std::chrono::seconds> seconds_of(const pmix_value_t &value);

// Each file of upcalls enters its own.
void add_allocation_upcall(pmix_server_module_t &module);
void add_connect_upcalls(pmix_server_module_t &module);
void add_control_upcalls(pmix_server_module_t &module);
void add_data_upcalls(pmix_server_module_t &module);
void add_group_upcall(pmix_server_module_t &module);
void add_log_upcall(pmix_server_module_t &module);
void add_query_upcall(pmix_server_module_t &module);
void add_security_upcalls(pmix_server_module_t &module);
void add_event_upcalls(pmix_server_module_t &module);
void add_spawn_upcall(pmix_server_module_t &module);

} // namespace pmixhost::upcall
