// What the size of a job costs each host at its start, with the real code and the libpmix that is here: the task map in
// srun's environment and in the start document, the list of hosts, and what libpmix is told of the namespace. One
// process does what the daemon of the first host of such a job would.
//
// usage: bench_start [HOSTS [RANKS]]      the largest job; 1000 hosts and 128 ranks on each. Smaller ones come first
// Times are CPU time of the process, in ms; memory is what its resident set has grown by. "all": each process is
// described to libpmix, "own": those of this host (daemon.details_up_to).
#include "plugins/slurm/backend/backend_step.h"
#include "plugins/slurm/base/task_map.h"
#include "server-glue/library/convert.h"
#include "server-glue/tasks/job_info.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <memory>
#include <pmix.h>
#include <pmix_server.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pmixhost;

namespace {

[[noreturn]] void give_up(const std::string &what) {
    std::fprintf(stderr, "bench_start: %s\n", what.c_str());
    std::exit(2);
}

template <typename T> T must(Result<T> result) {
    if (!result)
        give_up(result.failure().text);
    return std::move(*result);
}

double worked() { // ms, of all threads
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

double resident() { // MiB
    long pages = 0;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    if (!file || std::fscanf(file, "%*s %ld", &pages) != 1)
        give_up("/proc/self/statm cannot be read");
    std::fclose(file);
    return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

class Lap {
  public:
    double ms() const { return worked() - begin_; }
    double mib() const { return resident() - grown_; }

  private:
    double begin_ = worked(), grown_ = resident();
};

void register_nspace(const InfoList &info, int local, const char *name) {
    std::atomic<int> status{1};
    pmix_nspace_t nspace;
    PMIX_LOAD_NSPACE(nspace, name);
    auto done = [](pmix_status_t code, void *data) { static_cast<std::atomic<int> *>(data)->store(code); };
    int begun =
        PMIx_server_register_nspace(nspace, local, const_cast<pmix_info_t *>(info.data()), info.size(), done, &status);
    while (begun == PMIX_SUCCESS && status.load() == 1)
        ::usleep(100); // the bench is not what is measured
    if (begun != PMIX_SUCCESS || status.load() != PMIX_SUCCESS)
        give_up(fmt::format("PMIx_server_register_nspace: {} {}", begun, status.load()));
}

void store(const StepInfo &step, const std::vector<LocalTask> &tasks) {
    for (InfoList &info : own_process_infos(step, tasks)) {
        pmix_proc_t process = proc_of(step.nspace, info.all().front().value.data.rank);
        InfoList all;
        all.add_array(PMIX_PROC_DATA, std::move(info));
        pmix_value_t value = all.all().front().value; // only lent
        if (PMIx_Store_internal(&process, PMIX_PROC_DATA, &value) != PMIX_SUCCESS)
            give_up("PMIx_Store_internal");
    }
}

void measure(HostIndex hosts, Rank per_host, bool all) {
    slurm::TaskMap map;
    map.job_id = 1000 + hosts;
    map.start_key = "bench";
    map.host_list = fmt::format("n[1-{}]", hosts);
    map.allocated_hosts = map.host_list;
    for (HostIndex host = 0; host < hosts; ++host) {
        auto &ranks = map.ranks_by_host.emplace_back();
        for (Rank rank = 0; rank < per_host; ++rank)
            ranks.push_back(host * per_host + rank);
    }
    Lap encoding;
    std::string text = must(slurm::encode_task_map(map));
    double encoded = encoding.ms();

    Lap reading;
    auto decoded = must(slurm::decode_task_map(text));
    auto names = must(slurm::expand_host_list(decoded.host_list, slurm::TaskMap::max_hosts));
    double read = reading.ms();
    Lap mapping;
    StepInfo step;
    step.nspace = fmt::format("bench.{}", hosts);
    step.map = must(JobMap::create(names, std::move(decoded.ranks_by_host)));
    step.self = 0;
    step.apps.resize(1);
    double mapped = mapping.ms();
    double map_mib = reading.mib();

    std::vector<LocalTask> tasks(per_host);
    for (Rank rank = 0; rank < per_host; ++rank)
        tasks[rank].rank = rank;
    step.nspace = "bench";
    Lap describing;
    auto info = std::make_unique<InfoList>(must(job_info(step, {}, tasks, {}, all)));
    double described = describing.ms(), described_mib = describing.mib();
    Lap registering;
    register_nspace(*info, static_cast<int>(per_host), step.nspace.c_str());
    if (!all)
        store(step, tasks);
    double registered = registering.ms(), registered_mib = registering.mib();
    std::printf("| %u x %u | %zu | %.1f | %.1f | %.1f | %.0f | %s | %.0f | %.0f | %.0f | %.0f | %.1f |\n", hosts,
                per_host, text.size(), encoded, read, mapped, map_mib, all ? "all" : "own", described, described_mib,
                registered, registered_mib,
                (described_mib + registered_mib) * 1024 / (static_cast<double>(hosts) * per_host));
    std::fflush(stdout);
}

// In a process of its own: what libpmix has once used it would use again.
void measure_apart(const char *self, HostIndex hosts, Rank per_host) {
    for (const char *described : {"all", "own"}) {
        std::string size = std::to_string(hosts), ranks = std::to_string(per_host);
        const char *arguments[] = {self, size.c_str(), ranks.c_str(), described, nullptr};
        pid_t pid = 0;
        int status = 0;
        if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, const_cast<char **>(arguments), environ) != 0 ||
            ::waitpid(pid, &status, 0) != pid || status != 0)
            give_up(fmt::format("{} x {} was not measured", hosts, per_host));
    }
}

} // namespace

int main(int argc, char **argv) {
    HostIndex hosts = argc > 1 ? static_cast<HostIndex>(std::strtoul(argv[1], nullptr, 10)) : 1000;
    Rank ranks = argc > 2 ? static_cast<Rank>(std::strtoul(argv[2], nullptr, 10)) : 128;
    if (hosts == 0 || ranks == 0)
        give_up("usage: bench_start [HOSTS [RANKS]]");
    if (argc > 3) {
        pmix_server_module_t nothing{};
        if (PMIx_server_init(&nothing, nullptr, 0) != PMIX_SUCCESS)
            give_up("PMIx_server_init");
        measure(hosts, ranks, argv[3] == std::string("all"));
        std::_Exit(0); // what libpmix would free is not what is measured
    }
    std::puts(
        "| hosts x ranks | map, bytes | encode, ms | decode, hosts | job map | MiB | described | describe, ms | MiB | "
        "register, ms | MiB | KiB a rank |\n|---|---|---|---|---|---|---|---|---|---|---|---|");
    std::fflush(stdout);
    for (HostIndex size = 10; size < hosts; size *= 10)
        measure_apart(argv[0], size, ranks);
    measure_apart(argv[0], hosts, ranks);
    return 0;
}
