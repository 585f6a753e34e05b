// See module_table.h.
#include "server-glue/daemon/module_table.h"

namespace pmixhost {

// Each stands in its capability's *_upcall.cc and enters the upcalls of that file; it has no other contract.
namespace upcall {
void add_abort_upcall(pmix_server_module_t &module);
void add_allocation_upcall(pmix_server_module_t &module);
void add_client_upcalls(pmix_server_module_t &module);
void add_connect_upcalls(pmix_server_module_t &module);
void add_credential_upcalls(pmix_server_module_t &module);
void add_event_upcalls(pmix_server_module_t &module);
void add_fence_upcall(pmix_server_module_t &module);
void add_group_upcall(pmix_server_module_t &module);
void add_iof_upcalls(pmix_server_module_t &module);
void add_job_control_upcall(pmix_server_module_t &module);
void add_log_upcall(pmix_server_module_t &module);
void add_modex_upcall(pmix_server_module_t &module);
void add_publish_upcalls(pmix_server_module_t &module);
void add_query_upcall(pmix_server_module_t &module);
void add_spawn_upcall(pmix_server_module_t &module);
void add_tool_upcall(pmix_server_module_t &module);
} // namespace upcall

static pmix_server_module_t make_module() {
    using namespace upcall;
    pmix_server_module_t module{};
    add_abort_upcall(module);
    add_allocation_upcall(module);
    add_client_upcalls(module);
    add_connect_upcalls(module);
    add_credential_upcalls(module);
    add_event_upcalls(module);
    add_fence_upcall(module);
    add_group_upcall(module);
    add_iof_upcalls(module);
    add_job_control_upcall(module);
    add_log_upcall(module);
    add_modex_upcall(module);
    add_publish_upcalls(module);
    add_query_upcall(module);
    add_spawn_upcall(module);
    add_tool_upcall(module);
    return module;
}

pmix_server_module_t *module_table() {
    static pmix_server_module_t module = make_module();
    return &module;
}

} // namespace pmixhost
