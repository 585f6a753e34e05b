// How long it takes to gather the table of all processes of a large job, and to make of it the array that a tool gets
// (PMIX_QUERY_PROC_TABLE): as many hosts as one likes in one process, with a network that takes no time. So it is the
// work of all hosts together, which they do at the same time. It is CPU time, so that what else runs counts little.
//
// usage: bench_table [TIMES]
// Prints medians of jobs that are gathered in turn, and two ratios: to a tenth of the processes on a tenth of the
// hosts, and to as many on four times the hosts. Exit code 1 where one process of a large job takes more than twice the
// time that one of a small job takes.
#include "server-glue/query/table_answers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "test/unit/table_hosts.h"

using namespace pmixhost;

namespace {

struct Job {
    HostIndex hosts;
    Rank per_host;
    TableHosts world;
    StepInfo step;
    std::vector<double> took{}; // ms
    Job(HostIndex count, Rank ranks) : hosts(count), per_host(ranks), world(count, 32, ranks) {
        step.nspace = "bench.1.0";
        step.map = world.map;
    }
    Rank processes() const { return hosts * per_host; }
    double median() {
        std::sort(took.begin(), took.end());
        return took[took.size() / 2];
    }
};

[[noreturn]] void give_up(const char *what) {
    std::fprintf(stderr, "bench_table: %s\n", what);
    std::exit(2);
}

double worked() { // ms
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

void gather(Job &job) {
    job.world.delivered = 0;
    double begin = worked();
    job.world.ask(0);
    job.world.run();
    InfoList answer;
    JobTable table{std::move(job.world.entries), std::move(job.world.daemons)};
    auto status = process_table_answer(job.step, {}, table, PMIX_QUERY_PROC_TABLE, answer);
    job.took.push_back(worked() - begin);
    if (job.world.status != PMIX_SUCCESS || status != PMIX_SUCCESS || table.processes.size() != job.processes())
        give_up("the table is not whole");
    if (job.world.delivered != 2 * (job.hosts - 1))
        give_up("there were more messages than a question and an answer for each other host");
}

} // namespace

int main(int argc, char **argv) {
    int times = argc > 1 ? std::atoi(argv[1]) : 15;
    if (times < 1)
        give_up("TIMES is 1 or more");
    Job small(32, 32), large(313, 32), wide(1252, 8);
    Job *jobs[] = {&small, &large, &wide};
    for (int i = 0; i < times + 1; ++i) {
        for (auto *job : jobs)
            gather(*job);
        if (i == 0) {
            for (auto *job : jobs)
                job->took.clear(); // it was the first time for the allocator, too
        }
    }
    std::printf("processes  hosts  messages       ms  us for a process\n");
    for (auto *job : jobs)
        std::printf("%9u  %5u  %8zu  %7.2f  %16.2f\n", job->processes(), job->hosts, job->world.delivered,
                    job->median(), 1e3 * job->median() / job->processes());
    double factor = static_cast<double>(large.processes()) / small.processes();
    double longer = large.median() / small.median();
    bool met = longer <= 2 * factor;
    std::printf("%.1f times the processes: %.1f times the time, aim <=%.1f: %s\n", factor, longer, 2 * factor,
                met ? "met" : "MISSED");
    std::printf("%.1f times the messages for as many processes: %.1f times the time\n",
                static_cast<double>(wide.world.delivered) / static_cast<double>(large.world.delivered),
                wide.median() / large.median());
    return met ? 0 : 1;
}
