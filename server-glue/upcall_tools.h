// What every file of upcalls needs: the way from libpmix' thread into the loop, and answers back.
// Inside server-glue only.
//
// Answers are posted back by the library itself: its callbacks may be called from any thread, and
// shift to its own (but for those that in_library_thread() is for). They are never called from within an upcall, because the handler runs in
// the loop's thread.
#pragma once

#include "server-glue/upcalls.h"

#include <chrono>
#include <functional>
#include <memory>
#include <new>

namespace pmixhost::upcall {

// The one Upcalls object, or null outside its life.
Upcalls *current();

// The boundary: nothing that happens in an upcall goes up into libpmix but a status.
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

// std::function wants something copyable; requests are not.
template <typename Request>
void post(Upcalls &upcalls, Request request, void (UpcallHandler::*method)(Request)) {
    auto shared = std::make_shared<Request>(std::move(request));
    upcalls.loop.post([&upcalls, shared, method] { (upcalls.handler.*method)(std::move(*shared)); });
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

// Runs `what` in libpmix' own thread, soon. For the few answers that 4.2.2 handles in the thread that
// gives them although they touch its queues (contrib/doc/decisions/libpmix.md): delivering an empty
// inventory does nothing but call back from there.
void in_library_thread(std::function<void()> what);

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
