// See config_options.h.
#include "common/config/config_options.h"

#include "common/config/remedies.h"
#include "common/text/nearest_name.h"

#include <iterator>

namespace pmixhost {

namespace {

constexpr std::uint64_t second = 1000, minute = 60 * second, hour = 60 * minute;
constexpr std::uint64_t kib = 1u << 10, gib = 1u << 30;
constexpr std::string_view job_records[] = {"comment", "off"};
constexpr std::string_view on_off[] = {"on", "off"};
constexpr std::string_view user_policies[] = {"off", "tighten", "loosen"};
constexpr std::string_view stores[] = {"memory", "base"};
constexpr std::string_view modex_stores[] = {"auto", "shared", "own"};
constexpr std::string_view topologies[] = {"kept", "look"};
constexpr std::string_view library_starts[] = {"late", "early"};
constexpr std::string_view log_levels[] = {"error", "warning", "info", "debug"};

// clang-format off
constexpr Option own_options[] = {
    {.key = "transport.ports", .member = &Settings::transport_ports,
     .text = "The TCP ports on which the daemons of a step listen for each other: one port or a "
             "range. Each daemon of a step on a host needs a port of its own, so a range must be "
             "as wide as the number of steps that may run on a host at once (and of commands and tools there that "
             "look at jobs elsewhere), and lie outside of the "
             "ports from which the kernel takes those of connections (net.ipv4.ip_local_port_range): one that a "
             "connection has, or had a minute ago, is not free. 0 lets the kernel "
             "choose any free port; give a range where a firewall stands between the hosts."},
    {.key = "transport.interfaces", .member = &Settings::transport_interfaces,
     .text = "The network interfaces the daemons use, best first. When the list is empty, all "
             "interfaces that are up are used, the loopback interface last."},
    {.key = "transport.radix", .member = &Settings::transport_radix, .min = 2, .max = 256,
     .text = "How many children a daemon has in the tree in which the daemons of a step find each "
             "other and combine what they contribute to a fence. All hosts of a step must have "
             "the same value."},
    {.key = "transport.connect_timeout", .member = &Settings::transport_connect_timeout,
     .min = 100, .max = 1 * hour,
     .text = "How long a daemon tries to reach its neighbour in the tree, from the start of the "
             "step, before the step is ended with a message."},
    {.key = "transport.dead_after", .member = &Settings::transport_dead_after,
     .min = 100, .max = 1 * hour,
     .text = "A host that is silent for this long is taken for dead, and every operation that "
             "waits for it ends with an error."},
    {.key = "transport.frame_tags", .member = &Settings::transport_frame_tags, .words = on_off,
     .text = "Whether everything that one daemon sends to another has a tag by which the other sees "
             "that nobody on the network between them has changed, added, repeated or removed anything; "
             "a connection on which that is not so is cut, and the host is taken for lost. Where two "
             "hosts have different values, tags are on between them. What is sent is not encrypted."},
    {.key = "fence.timeout", .member = &Settings::fence_timeout, .user = true,
     .min = 100, .max = 30 * 24 * hour, .zero = true,
     .text = "How long a fence may take when the program set no PMIX_TIMEOUT. MPI_Init and "
             "MPI_Finalize are fences: the time must cover the difference between the first and "
             "the last task to get there. 0 means no limit."},
    {.key = "fence.max_bytes", .member = &Settings::fence_max_bytes, .min = 4 * kib, .max = 4 * gib,
     .text = "How many bytes one host may contribute to a fence. A fence that is larger fails."},
    {.key = "modex.timeout", .member = &Settings::modex_timeout, .user = true,
     .min = 100, .max = 30 * 24 * hour, .zero = true,
     .text = "How long a task's request for a key of a task on another host may take when the "
             "program set no PMIX_TIMEOUT. 0 means no limit."},
    {.key = "modex.key_wait", .member = &Settings::modex_key_wait, .user = true,
     .max = 30 * 24 * hour, .zero = true,
     .text = "How long, of that, it waits for the key when the task has posted others, but not this one "
             "(yet). Then it is answered that the task has not posted it, as it is at once with 0. With "
             "PMIX_TIMEOUT it waits as long as that says."},
    {.key = "modex.segment_bytes", .member = &Settings::modex_segment_bytes, .user = true,
     .min = 1024 * kib, .max = 1 * gib, .zero = true,
     .text = "The size of the shared-memory segments in which the PMIx library keeps posted data. What "
             "one task posts must fit into one segment, or the library ends the daemon and the step "
             "with it. Memory (directory.store) or the file system of directory.base must have room for it on each host. 0 "
             "means the library's own size, 4 MiB."},
    {.key = "modex.store", .member = &Settings::modex_store, .user = true, .words = modex_stores,
     .text = "Where a task looks up what the PMIx library knows of its job and what others have posted. shared: in memory that "
             "the daemon shares with the tasks of its host. own: each task has its job's information to itself, 2 KiB and more for "
             "each process of the job, and asks the daemon for what others have posted, once for each of them (PMIX_MCA_gds=hash). "
             "auto: shared, but own with libpmix 5 and newer, where mpi.remedies has pmix-store; shared overrides that remedy, and the "
             "fault that it is for is there again."},
    {.key = "mpi.remedies", .member = &Settings::mpi_remedies, .user = true, .words = remedy_names,
     .text = "Which faults of other libraries are kept away from tasks, where the host and the PMIx library have "
             "them, by a variable that a task gets unless it has it already. (A site that sets the same parameter in "
             "openmpi-mca-params.conf or pmix-mca-params.conf leaves out the remedy here: these files count less than a "
             "variable.) openmpi-han: in jobs that were spawned, or leave room in their allocation for others, "
             "OMPI_MCA_coll_han_priority=-1, since that component of "
             "Open MPI 5 hangs or is wrong in communicators merged of jobs. openmpi-reachable: where there are "
             "IPv6 addresses, OMPI_MCA_reachable=weighted, since MPI_Comm_spawn and MPI_Comm_connect of Open MPI 5 "
             "take a host's own addresses for unreachable. pmix-messages: with PMIx library 6.1 and newer, "
             "PMIX_MCA_ptl_base_max_msg_size=4096, for the daemon too, since they end a task that posts 16 MiB, or gets "
             "32, by SIGPIPE; fence.max_bytes is the limit then. pmix-store: with PMIx library 5 and newer, "
             "PMIX_MCA_gds=hash, for the daemon too, since their store in shared memory gives wrong data of the "
             "second application of a job, and does not work where tasks have a /tmp of their own; data of "
             "other processes is then asked of the daemon."},
    {.key = "publish.max_bytes", .member = &Settings::publish_max_bytes, .min = 4 * kib, .max = 4 * gib,
     .text = "How many bytes of published data (PMIx_Publish, MPI_Publish_name), with the lists of "
             "whom it is for, the session of an allocation keeps in all, and how many bytes of requests "
             "a daemon keeps until the session is there; and as many again for the keys of lookups that wait (PMIX_WAIT). "
             "More fails."},
    {.key = "publish.timeout", .member = &Settings::publish_timeout, .user = true,
     .min = 1 * second, .max = 1 * hour,
     .text = "How long publishing, or looking up what is there, may take when the program set no "
             "PMIX_TIMEOUT. The first call of an allocation starts the session's daemon."},
    {.key = "publish.wait", .member = &Settings::publish_wait, .user = true,
     .min = 1 * second, .max = 30 * 24 * hour, .zero = true,
     .text = "How long a lookup that waits for data (PMIX_WAIT; MPI_Comm_accept does it) may take when "
             "the program set no PMIX_TIMEOUT. 0 means no limit."},
    {.key = "session.idle", .member = &Settings::session_idle, .min = 1 * second, .max = 24 * hour,
     .text = "The session's daemon of an allocation ends when it has had no connection and no "
             "data for this long."},
    {.key = "events.keep", .member = &Settings::events_keep, .user = true, .min = 1, .max = 65536,
     .text = "How many events are kept for processes that register a handler for them later, on each "
             "host by the PMIx library and in the session of an allocation for steps that start later. "
             "The oldest goes first. Events of other hosts that are larger than 32 MiB / keep (and than "
             "1 KiB) are not kept."},
    {.key = "events.keep_time", .member = &Settings::events_keep_time, .user = true,
     .min = 1 * second, .max = 24 * hour,
     .text = "How long an event is kept for them."},
    {.key = "events.time_warning", .member = &Settings::events_time_warning, .user = true,
     .min = 1 * second, .max = 24 * hour, .zero = true,
     .text = "How long before the end of its allocation's time a job is told of it, by the events "
             "PMIX_ALLOC_TIMEOUT_WARNING and PMIX_JCTRL_PREEMPT_ALERT with PMIX_TIME_REMAINING. 0 means never."},
    {.key = "spawn.timeout", .member = &Settings::spawn_timeout, .user = true,
     .min = 1 * second, .max = 24 * hour, .zero = true,
     .text = "How long PMIx_Spawn (MPI_Comm_spawn) may take, until all programs run, when the program "
             "set no PMIX_TIMEOUT. What has not started by then is ended. 0 means no limit."},
    {.key = "allocation.timeout", .member = &Settings::allocation_timeout, .user = true,
     .min = 1 * second, .max = 30 * 24 * hour, .zero = true,
     .text = "How long PMIx_Allocation_request may wait for an allocation when the program set no "
             "PMIX_TIMEOUT. What the resource manager has not granted by then is taken back. 0 means no "
             "limit."},
    {.key = "daemon.hang_timeout", .member = &Settings::daemon_hang_timeout, .user = true,
     .min = 1 * second, .max = 1 * hour, .zero = true,
     .text = "A daemon that does nothing at all for this long, not even what it does by the clock, is "
             "killed by the process that watches it, and the step is ended with a message. Time in "
             "which both are stopped, as in a job that is suspended, does not count. 0 means never; set that "
             "before you look at a daemon with a debugger. Where it stood is written to a file first; see "
             "daemon.evidence_directory. Under the local backend nothing watches."},
    {.key = "daemon.evidence_directory", .member = &Settings::daemon_evidence_directory,
     .path = Option::Path::directory_or_empty,
     .text = "The directory on each host for the files that say where a daemon that hung stood: each of "
             "its threads, what it waits for, and its calls. They are written as the job's user, who alone "
             "can read them, are at most 256 KiB long, and outlive the step; of each user the last 8 of a "
             "host are kept. Empty: the directory of log.file if that is set, else directory.base."},
    {.key = "daemon.library_timeout", .member = &Settings::daemon_library_timeout, .user = true,
     .min = 1 * second, .max = 1 * hour, .zero = true,
     .text = "A daemon whose PMIx library (libpmix) does not answer for this long ends the step with a "
             "message: the tasks of its host would wait for ever. The library removes the files that a task "
             "has registered for it (PMIX_REGISTER_CLEANUP) and answers nothing meanwhile: the time must "
             "cover that. Time in which the daemon is stopped does not count. 0 means never."},
    {.key = "daemon.library", .member = &Settings::daemon_library, .user = true, .words = library_starts,
     .text = "When a daemon starts the PMIx library. late: for programs that do not look as if they would use it, "
             "when one of them does, or after they have run for 20 ms, those that cannot come to it for a second; so "
             "a program without PMIx costs less. A program does look so that is linked with libpmix or MPI, or a "
             "script that names mpi4py; with libpmix 4.2 and modex.store other than own, also each that may execute "
             "or load others, as all scripts may. For these, for spawned programs, with a debugger, and where it "
             "cannot be known what the library will give to a program (settings of libpmix, another library than "
             "pmixhost was built with), it is started at once. early: always at once."},
    {.key = "daemon.topology", .member = &Settings::daemon_topology, .user = true, .words = topologies,
     .text = "Whence a daemon knows what processors, memory and devices its host has, for the PMIx library and "
             "its clients. kept: from a file that was made once, and that is root's, which spares each step what hwloc needs to "
             "look for it, 10 to some 100 ms; the resource manager's plugin says where, and has it "
             "made anew after a boot and when processors, PCI devices or their drivers have changed. Where there is none, and "
             "with look, hwloc looks each time. What processors a job may use is asked of the kernel in any case."},
    {.key = "daemon.details_up_to", .member = &Settings::daemon_details_up_to, .user = true, .max = UINT32_MAX,
     .text = "Up to how many processes a job's are all described to each of them. Of one with more, processes of other hosts "
             "have what follows from where they are (PMIX_HOSTNAME, PMIX_NODEID, PMIX_LOCAL_RANK, PMIX_NODE_RANK), and not "
             "PMIX_APPNUM, PMIX_APP_RANK, PMIX_APPLDR, PMIX_GLOBAL_RANK and PMIX_PROCID, which say nothing new of a job of one "
             "program; a job of several programs, or with process sets, is described in any case. Each process that is described "
             "costs each host of the job about 9 KiB and 15 microseconds at the start; one that is not, 2 KiB and 5 microseconds."},
    {.key = "debug.stop", .member = &Settings::debug_stop, .user = true, .path = Option::Path::debug_stops,
     .text = "Where the tasks of a job stop, for a debugger: exec, at their program's first instruction, where SIGCONT or "
             "`pmixhost resume` lets them go on; init, in PMIx_Init, or app, where the program itself waits for a "
             "debugger, until a tool releases them (PMIX_DEBUGGER_RELEASE). Meant for the environment of one srun; "
             "`pmixhost debug srun ...` sets it. Tasks of srun do not get that variable, and jobs that tasks spawn do not stop. "
             "In an srun that a debugger follows by srun's own interface (MPIR) the variable is refused, and a file's value does "
             "not hold: the tasks are stopped for that debugger."},
    {.key = "io.capture", .member = &Settings::io_capture, .user = true, .words = on_off,
     .text = "Whether the daemon stands between the standard streams of a task and the resource manager, so that tools "
             "can follow what the tasks of a running job write, take it over, and write to their standard input "
             "(PMIx_IOF_pull, PMIx_IOF_push, `pmixhost output`). Everything goes on to the resource manager all the "
             "same. Streams that are a terminal (--pty, -u) or a file that the resource manager has opened itself "
             "(--output=FILE%t) stay the task's own."},
    {.key = "io.copy", .member = &Settings::io_copy, .user = true, .words = on_off,
     .text = "Whether tools can follow what the tasks of a job without io.capture write, from a copy that the resource manager "
             "gives of it as it does to its own tools. A job that no tool follows pays next to nothing; one that is "
             "followed once is copied until it ends. Such output cannot be taken over, such input not written, and output "
             "comes as the resource manager passes it on: srun by whole lines, unless it has -u."},
    {.key = "io.cache", .member = &Settings::io_cache, .min = 64 * kib, .max = gib,
     .text = "How many bytes of output a daemon holds back for tools that read more slowly than tasks write. What "
             "is beyond that the tools miss; the job does not wait for them. A tool that does not read while others of "
             "its host do costs as much once more in the daemon of that host, for itself."},
    {.key = "io.kept", .member = &Settings::io_kept, .min = 0, .max = 64 * 1024 * kib,
     .text = "How many bytes of what each standard output and standard error has brought a daemon keeps for tools that "
             "come late (`pmixhost output`, its --since), in up to twice as much memory; each task of a host has two of "
             "them. 0: a tool gets what is written from then on."},
    {.key = "tools.enabled", .member = &Settings::tools_enabled, .words = on_off,
     .text = "Whether tools (debuggers, monitors, commands that ask a job or steer it) may connect to jobs at "
             "all. off: every tool is refused, whatever the rules say. Jobs run in either case."},
    {.key = "tools.policy", .member = &Settings::tools_policy,
     .text = "Which users may do what to whose jobs, and from where: a list of rules, one text each, of which "
             "the first that matches decides. What no rule matches is allowed to a user on the host itself for "
             "the user's own jobs, and refused otherwise. TOOLS, below, has the form of a rule. With a rule that is "
             "wrong, or that names a user or group that there is not, every tool is refused; jobs run on."},
    {.key = "tools.user_policy", .member = &Settings::tools_user_policy, .words = user_policies,
     .text = "What users may say of their own jobs, in a file of theirs, ~/.config/pmixhost/tools.policy. "
             "tighten: they may refuse what would be allowed. loosen: they may also allow what no rule of tools.policy "
             "matches. off: the file is not read."},
    {.key = "tools.launchers", .member = &Settings::tools_launchers, .words = on_off,
     .text = "Whether tools find a job also on the host from which it was started, by the process of its launcher (srun) "
             "or by the job's name. What they may do there, tools.policy has to say."},
    {.key = "tools.max_connections", .member = &Settings::tools_max_connections, .min = 1, .max = 4096,
     .text = "How many tools may be connected to a daemon at a time."},
    {.key = "gate.directory", .member = &Settings::gate_directory, .path = Option::Path::directory,
     .text = "Where the gate, the system's server for tools of a host (pmixhost-gate), writes the file by which they "
             "find it, pmix.sys.HOST. Tools look in PMIX_SYSTEM_TMPDIR, or TMPDIR, or /tmp. Read when it starts."},
    {.key = "gate.door", .member = &Settings::gate_door, .path = Option::Path::directory_or_empty,
     .text = "The directory in which the gate makes the socket where users come who may do something with jobs of others "
             "(tools.policy says who), and where the pmixhost command looks for it. It has to be there when the gate "
             "starts, and nobody but root and the gate's user should be able to write in it. Empty: nobody is served "
             "that way."},
    {.key = "gate.max_desks", .member = &Settings::gate_max_desks, .min = 1, .max = 4096,
     .text = "Of how many users the gate serves tools at a time; for each there is a process, the user's desk. Who comes to "
             "jobs of others may do so a quarter as many times at once (at least twice), all of them together four "
             "times as many."},
    {.key = "gate.max_waiting", .member = &Settings::gate_max_waiting, .min = 1, .max = 1024,
     .text = "How many tools of one user may wait for their desk to start. More are refused at once."},
    {.key = "gate.idle", .member = &Settings::gate_idle, .min = 1 * second, .max = 24 * hour,
     .text = "How long a desk stays that has no tools."},
    {.key = "gate.spawn", .member = &Settings::gate_spawn, .words = on_off,
     .text = "Whether a tool whose user has no job is let in all the same, so that it can start jobs in allocations that it "
             "names or asks for (PMIX_ALLOC_*). What it may do, tools.policy has to say. With off it is refused."},
    {.key = "directory.base", .member = &Settings::directory_base, .path = Option::Path::directory,
     .text = "The directory in which each step's private directory is made (mode 0700, removed at "
             "the step's end). Must be on a local file system."},
    {.key = "directory.store", .member = &Settings::directory_store, .words = stores,
     .text = "Where the PMIx library, before version 5, keeps posted data and what it tells of jobs, in files that tasks "
             "map. memory: in /dev/shm, if that is a file system in memory with 1 GiB free beside two segments "
             "(modex.segment_bytes), and not under the local backend; otherwise, and with base, in directory.base, where "
             "on a disk each PMIx_Init takes longer. In memory each step takes 4 MiB on each host, and segments as they "
             "fill. Tasks in a container that has the host's /tmp and a /dev/shm of its own need base, or go on with "
             "messages; so do hosts where systemd-logind removes what users who log out have in /dev/shm (RemoveIPC)."},
    {.key = "log.level", .member = &Settings::log_level, .user = true, .words = log_levels,
     .text = "How much the daemon says."},
    {.key = "log.mail", .member = &Settings::log_mail, .path = Option::Path::program,
     .text = "The program that sends what PMIx_Log is asked to mail (PMIX_LOG_EMAIL), called as "
             "sendmail(8) is: PROGRAM -i -- RECIPIENT ..., with the message as its standard input, as the "
             "job's user and on the host of the process. Empty: such a request is refused."},
    {.key = "log.job_record", .member = &Settings::log_job_record, .words = job_records,
     .text = "Where PMIx_Log writes what a program wants to have in the record of its job "
             "(PMIX_LOG_JOB_RECORD): behind the job's comment, as the commands of the resource "
             "manager show it, up to 1 KiB in all; or nowhere, then such a request is refused."},
    {.key = "log.file", .member = &Settings::log_file, .user_if_free = true, .path = Option::Path::log_pattern,
     .text = "Where the daemon writes its log; empty means to the standard error of what started it, "
             "which for the daemons of a resource manager's step is nowhere. In the name, %j stands for the job, %s for "
             "the step, %n for the host, %u for the user and %% for a percent sign. The file is written "
             "as the job's user, who alone may read it (mode 0600), so that jobs of several users need several names. What the rules for tools decide is written there whatever log.level says; without "
             "a file what they allow is, at log.level \"info\"."},
};
// clang-format on

} // namespace

std::span<const Option> config_options() {
    static const std::vector<Option> all = [] {
        std::vector<Option> list(std::begin(own_options), std::end(own_options));
        auto more = plugin_options();
        list.insert(list.end(), more.begin(), more.end());
        return list;
    }();
    return all;
}

std::string environment_name(const Option &option) {
    std::string name = "PMIXHOST_";
    for (char c : option.key)
        name += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return name;
}

std::string nearest_option(std::string_view text) {
    // The right name in the wrong section, or in none.
    auto last = text.substr(text.rfind('.') + 1);
    for (const auto &option : config_options()) {
        if (last == option.key.substr(option.key.rfind('.') + 1) && last != "timeout")
            return std::string(option.key);
    }
    std::vector<std::string> keys;
    for (const auto &option : config_options())
        keys.emplace_back(option.key);
    return nearest_name(text, keys);
}

} // namespace pmixhost
