// Everything that differs between Slurm versions, and everything that Slurm exports but does not
// declare in its public headers. Nothing else in this folder knows a version.
//
// Known: 20.11 to 26.05. The shim is built for exactly the version of the headers it is compiled
// against (Slurm refuses a plugin of any other version), so each difference is a compile-time one.
// Where the facts come from, for who adds a version:
//   hooks, order, constants   src/interfaces/mpi.c (`syms`), before 23.02 src/common/slurm_mpi.c
//   client and task info      src/interfaces/mpi.h, before 23.02 src/common/slurm_mpi.h
//   step layout, step id      slurm/slurm.h (public, compiled against)
//   stepd_connect & friends   src/common/stepd_api.h
//   what slurmstepd sends to readers of output   src/common/io_hdr.c
//   environment arrays        src/common/env.h
//   forward_data              src/common/slurm_protocol_api.h
//   a container's environment src/slurmd/slurmstepd/container.c
//   srun's options            src/srun/libsrun/opt.h, src/common/slurm_opt.h
//   MPIR_being_debugged       src/srun/libsrun/debugger.h, from 23.11 src/srun/debugger.h
//   auth_setuid_unlock        src/interfaces/auth.h, src/slurmd/slurmstepd/task.c
//   proctrack_g_add           src/interfaces/proctrack.h, before 23.02 src/slurmd/common/
//   container_g_join_external src/interfaces/job_container.h, before 23.02 src/slurmd/common/job_container_plugin.h
#pragma once

#include "config.h"

#include <getopt.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/socket.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(20, 11, 0) || SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 6, 0)
#error "this Slurm version is not known: check every fact in this file, then extend the range"
#endif

// The names of the hooks.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 0)
#define PMIXHOST_SLURM_HAS_PLUGIN_ID 1
#define PMIXHOST_SLURM_HAS_CONF_HOOKS 1
#define PMIXHOST_HOOK_PRELAUNCH mpi_p_client_prelaunch
#define PMIXHOST_HOOK_FINI mpi_p_client_fini
#define PMIXHOST_HOOK_PREFORK mpi_p_slurmstepd_prefork
#define PMIXHOST_HOOK_TASK mpi_p_slurmstepd_task
#else
#define PMIXHOST_SLURM_HAS_PLUGIN_ID 0
#define PMIXHOST_SLURM_HAS_CONF_HOOKS 0
#define PMIXHOST_HOOK_PRELAUNCH p_mpi_hook_client_prelaunch
#define PMIXHOST_HOOK_FINI p_mpi_hook_client_fini
#define PMIXHOST_HOOK_PREFORK p_mpi_hook_slurmstepd_prefork
#define PMIXHOST_HOOK_TASK p_mpi_hook_slurmstepd_task
#endif

namespace pmixhost::slurm {

// Names of Slurm's that plugins of ours must not collide with end at 108.
inline constexpr std::uint32_t plugin_id_value = 20'260;

// What prelaunch gets (mpi_plugin_client_info_t, from 23.02 mpi_step_info_t).
struct ClientInfo {
    std::uint32_t het_job_id;          // leader's job id, or NO_VAL
    std::uint32_t het_job_task_offset; // or NO_VAL
    slurm_step_id_t step_id;
    slurm_step_layout_t *step_layout;
};

// Of a heterogeneous step there is a call for each component.
inline bool is_het_component(const ClientInfo &info) {
    return info.het_job_id != 0 && info.het_job_id != NO_VAL;
}

// What the task hook gets (mpi_plugin_task_info_t, from 23.02 mpi_task_info_t).
struct TaskInfo {
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
    slurm_step_id_t step_id;
    std::uint32_t nnodes;
    std::uint32_t nodeid;
    std::uint32_t ntasks;
    std::uint32_t ltasks;
    std::uint32_t gtaskid;
    int ltaskid;
    void *self;
    void *client;
#else
    void *client;
    std::uint32_t gtaskid;
    int ltaskid;
    std::uint32_t ltasks;
    std::uint32_t nnodes;
    std::uint32_t nodeid;
    std::uint32_t ntasks;
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
    void *self;
#endif
    slurm_step_id_t step_id;
#endif
};

// Offsets as measured with each version's own header on a 64-bit machine.
#if defined(__x86_64__) || defined(__aarch64__)
static_assert(offsetof(ClientInfo, step_id) == 8);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
static_assert(sizeof(slurm_step_id_t) == 24 && offsetof(ClientInfo, step_layout) == 32);
#else
static_assert(sizeof(slurm_step_id_t) == 12 && offsetof(ClientInfo, step_layout) == 24);
#endif
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
static_assert(offsetof(TaskInfo, gtaskid) == 8 && offsetof(TaskInfo, step_id) == 32);
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 0)
static_assert(offsetof(TaskInfo, gtaskid) == 8 && offsetof(TaskInfo, step_id) == 40);
#else
static_assert(offsetof(TaskInfo, gtaskid) == 28 && offsetof(TaskInfo, ltaskid) == 32);
#endif
#endif

// The layout named the one host that ran all of a front-end machine's tasks, up to 24.11.
inline const char *front_end(const slurm_step_layout_t &layout) {
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0)
    return layout.front_end;
#else
    (void)layout;
    return nullptr;
#endif
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
using HostList = hostlist_t *;
#else
using HostList = hostlist_t;
#endif

// What slurmstepd says of a step that it has ended.
#if HAVE_DECL_ESLURMD_STEP_NOTRUNNING
inline constexpr int step_not_running = ESLURMD_STEP_NOTRUNNING;
#else
inline constexpr int step_not_running = ESLURMD_JOB_NOTRUNNING;
#endif

// Of what slurm_load_ctl_conf() gave.
inline void free_loaded_conf(slurm_conf_t *conf) {
#if HAVE_DECL_SLURM_FREE_CONF
    slurm_free_conf(conf);
#else
    slurm_free_ctl_conf(conf);
#endif
}

// Does the site give each job a mount namespace? This is a setting of the whole site, so all hosts come to the same
// answer.
inline bool jobs_have_namespaces(const slurm_conf_t &conf) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
    const char *plugin = conf.namespace_plugin;
#else
    const char *plugin = conf.job_container_plugin;
#endif
    std::string_view name = plugin ? plugin : "";
    return name.ends_with("tmpfs") || name.ends_with("linux");
}

// A job's number as an argument of Slurm's calls, and in its records and in what is asked of them: from 26.05 on it is
// a field of a slurm_step_id_t.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
inline slurm_step_id_t job_argument(std::uint32_t number) {
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
    id.job_id = number;
    return id;
}
template <typename Record> std::uint32_t &job_number(Record &record) {
    return record.step_id.job_id;
}
#else
inline std::uint32_t job_argument(std::uint32_t number) {
    return number;
}
template <typename Record> std::uint32_t &job_number(Record &record) {
    return record.job_id;
}
#endif

inline int kill_job_step(std::uint32_t job_id, std::uint32_t step_id, std::uint16_t signal) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
    slurm_step_id_t id{};
    id.job_id = job_id;
    id.step_het_comp = NO_VAL;
    id.step_id = step_id;
    return slurm_kill_job_step(&id, signal, 0);
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    return slurm_kill_job_step(job_id, step_id, signal, 0);
#else
    return slurm_kill_job_step(job_id, step_id, signal);
#endif
}

// Do the tasks of an OCI container (srun --container) have the environment that the task hook sets? Before 23.02
// slurmstepd writes the container's environment before it calls any hook, and takes one task on a host.
inline constexpr bool containers_have_tasks_environment = SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0);

// All steps of one job.
inline int get_job_steps(std::uint32_t job_id, job_step_info_response_msg_t **answer) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
    slurm_step_id_t id{};
    id.job_id = job_id;
    id.step_het_comp = NO_VAL;
    id.step_id = NO_VAL;
    return slurm_get_job_steps(&id, answer, SHOW_ALL);
#else
    return slurm_get_job_steps(0, job_id, NO_VAL, answer, SHOW_ALL);
#endif
}

} // namespace pmixhost::slurm

extern "C" {

// These are in every program of Slurm (libslurmfull). Environment arrays are Slurm's memory: they are changed only
// through these. The first returns 1 on success, 0 on failure.
int slurm_env_array_overwrite(char ***array, const char *name, const char *value);
void slurm_unsetenvp(char **array, const char *name);
// Writes to the program's own log.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
void slurm_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
#else
int slurm_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
void slurm_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

// These are in slurmstepd's process. They are weak, because the shim is loaded into srun and the daemons as well.
int stepd_connect(const char *directory, const char *nodename, slurm_step_id_t *step_id,
                  std::uint16_t *protocol_version) __attribute__((weak));
uid_t stepd_get_uid(int fd, std::uint16_t protocol_version) __attribute__((weak));
// Makes slurmstepd connect to `io` and send there what the tasks write, as to an sattach, with `key` in front.
// `response` has no address family: then slurmstepd sends its messages of ended tasks to nobody. `answer` is a
// structure of Slurm's that this fills.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 1)
int stepd_attach(int fd, std::uint16_t protocol_version, std::uint16_t reader_protocol_version, sockaddr_storage *io,
                 sockaddr_storage *response, char *certificate, char *key, uid_t uid, void *answer)
    __attribute__((weak));
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
int stepd_attach(int fd, std::uint16_t protocol_version, sockaddr_storage *io, sockaddr_storage *response,
                 char *certificate, char *key, uid_t uid, void *answer) __attribute__((weak));
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
int stepd_attach(int fd, std::uint16_t protocol_version, sockaddr_storage *io, sockaddr_storage *response, char *key,
                 uid_t uid, void *answer) __attribute__((weak));
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 0)
int stepd_attach(int fd, std::uint16_t protocol_version, sockaddr_storage *io, sockaddr_storage *response, void *key,
                 std::uint32_t key_length, uid_t uid, void *answer) __attribute__((weak));
#endif
// Of the answer, which is Slurm's memory.
void slurm_free_reattach_tasks_response_msg(void *answer) __attribute__((weak));
// Puts a process into the step's container; `step` is the opaque record that prefork got.
int proctrack_g_add(void *step, pid_t pid) __attribute__((weak));
// A descriptor of the job's mount namespace, which stays Slurm's; 0 or less: there is none.
int container_g_join_external(std::uint32_t job_id) __attribute__((weak));
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
// A lock of Slurm's authentication, which slurmstepd holds for as long as it has a user's ids: in a task from
// _pre_task_child_privileged (slurmstepd/mgr.c) to its exec, but for the hooks of SPANK. Each of Slurm's calls to a
// daemon takes it, and so ends the process that holds it.
void auth_setuid_unlock() __attribute__((weak));
#endif
// The process's view of slurm.conf; its type is public.
extern slurm_conf_t slurm_conf __attribute__((weak));

// These are in srun itself: the options of its step, those that only srun has, and for a het step the list of the
// components' options. Their layout is another in every version, so they are only handed on.
extern char srun_options __asm__("opt") __attribute__((weak));
extern char srun_only_options __asm__("sropt") __attribute__((weak));
extern decltype(slurm_list_create(nullptr)) srun_option_list __asm__("opt_list") __attribute__((weak));
// This is in srun too: 1 in one whose launch a debugger of the older kind (MPIR) follows, which sets it. Then
// slurmstepd stops the tasks itself, traced, at their programs' first instruction (LAUNCH_PARALLEL_DEBUG;
// slurmstepd/pdebug.c).
extern int MPIR_being_debugged __attribute__((weak));
// These are in libslurmfull. The table is getopt_long's, with the options of SPANK plugins; `*letters`, its string of
// letters, and what _get gives are Slurm's memory.
option *slurm_option_table_create(void *options, char **letters) __attribute__((weak));
void slurm_option_table_destroy(option *table) __attribute__((weak));
bool slurm_option_isset(void *options, const char *name) __attribute__((weak));
char *slurm_option_get(void *options, const char *name) __attribute__((weak));
extern decltype(slurm_list_iterator_create) slurm_list_iterator_create __attribute__((weak));
extern decltype(slurm_list_iterator_destroy) slurm_list_iterator_destroy __attribute__((weak));
extern decltype(slurm_list_next) slurm_list_next __attribute__((weak));

// This is in libslurm. `*nodelist` must be Slurm's memory (slurm_xcalloc); on failure it becomes the list of nodes
// that failed.
int slurm_forward_data(char **nodelist, char *address, std::uint32_t length, const char *data);
// `item` is the address of the pointer, which becomes null.
void slurm_xfree(void **item) __attribute__((weak));
void *slurm_xcalloc(std::size_t count, std::size_t size, bool clear, bool try_only, const char *file, int line,
                    const char *function) __attribute__((weak));
}

namespace pmixhost::slurm {

// In a task, before the first of Slurm's calls to a daemon; nothing may follow but such calls and the task's end.
inline void leave_setuid_lock() {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
    if (auth_setuid_unlock)
        auth_setuid_unlock();
#endif
}

inline bool is_under_mpir_debugger() {
    return &MPIR_being_debugged && *const_cast<volatile int *>(&MPIR_being_debugged) != 0; // another process writes it
}

// Can this slurmstepd be asked for what its tasks write? Not where Slurm speaks TLS, which the reader would have to
// speak within the call that asks. And the asking, as stepd_attach: Slurm's error code.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 0)
inline bool has_stepd_attach() {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
    if (!&slurm_conf || (slurm_conf.tls_type && !std::string_view(slurm_conf.tls_type).ends_with("none")))
        return false;
#endif
    return stepd_attach && slurm_xcalloc && slurm_free_reattach_tasks_response_msg;
}

inline int attach_to_step(int fd, std::uint16_t protocol, sockaddr_storage &io, std::string key, uid_t uid) {
    constexpr std::size_t enough = 256; // six words in all versions
    sockaddr_storage nobody{};
    void *answer = slurm_xcalloc(1, enough, true, false, __FILE__, __LINE__, __func__);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 1)
    int code = stepd_attach(fd, protocol, protocol, &io, &nobody, nullptr, key.data(), uid, answer);
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
    int code = stepd_attach(fd, protocol, &io, &nobody, nullptr, key.data(), uid, answer);
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
    int code = stepd_attach(fd, protocol, &io, &nobody, key.data(), uid, answer);
#else
    int code =
        stepd_attach(fd, protocol, &io, &nobody, key.data(), static_cast<std::uint32_t>(key.size() + 1), uid, answer);
#endif
    slurm_free_reattach_tasks_response_msg(answer);
    return code;
}
#else
inline bool has_stepd_attach() {
    return false;
}
inline int attach_to_step(int, std::uint16_t, sockaddr_storage &, std::string, uid_t) {
    return SLURM_ERROR;
}
#endif

} // namespace pmixhost::slurm
