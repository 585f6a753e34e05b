// The hosts of one job and the table of processes that each of them gathers (server-glue/query/process_table.h), in one
// process and without a clock: for its test and for the measurement of large jobs (test/bench/bench_table.cc).
#pragma once

#include "server-glue/query/process_table.h"

#include <memory>
#include <pmix_common.h>

#include "test/unit/fake_hosts.h"

namespace pmixhost {

// As many hosts as one likes, each with as many ranks, and messages between them that arrive in turn.
struct TableHosts : FakeNetwork {
    static constexpr TimePoint start{};
    struct Host final : ProcessTablePort {
        TableHosts &world;
        NetworkHosts others;
        ProcessTable table;
        Host(TableHosts &w, HostIndex s, std::uint32_t radix)
            : world(w), others(w, s), table(others, *this, w.map, s, radix) {}
        std::vector<ProcessEntry> local_processes() override {
            std::vector<ProcessEntry> out;
            for (Rank rank : world.map.ranks_on(others.self)) {
                bool ended = world.ended.contains(rank);
                out.push_back(
                    {rank, 0, ended ? 0 : static_cast<pid_t>(1000 + rank), 0,
                     static_cast<std::uint8_t>(ended ? PMIX_PROC_STATE_TERMINATED : PMIX_PROC_STATE_CONNECTED),
                     ended ? "" : "/bin/app", ended ? 0u : 100u + rank});
            }
            return out;
        }
        std::uint64_t daemon_memory() override { return 5000 + others.self; }
    };
    JobMap map;
    std::vector<std::unique_ptr<Host>> hosts;
    std::set<HostIndex> silent;
    std::set<Rank> ended;
    std::size_t delivered = 0;
    int answers = 0;
    std::int32_t status = 0;
    std::vector<ProcessEntry> entries;
    std::map<HostIndex, std::uint64_t> daemons;

    explicit TableHosts(HostIndex count, std::uint32_t radix = 2, Rank per_host = 2) {
        map = even_map(count, per_host);
        for (HostIndex h = 0; h < count; ++h)
            hosts.push_back(std::make_unique<Host>(*this, h, radix));
    }
    void ask(HostIndex from, Duration timeout = std::chrono::seconds(10)) {
        answers = 0;
        ask_beside(from, timeout);
    }
    void ask_beside(HostIndex from, Duration timeout = std::chrono::seconds(10)) {
        hosts[from]->table.request(start, timeout, [this](std::int32_t s, const JobTable &table) {
            ++answers;
            status = s;
            entries = table.processes;
            daemons = table.daemons;
        });
    }
    bool step() {
        auto message = take();
        if (!message)
            return false;
        ++delivered;
        if (gone.contains(message->to) || silent.contains(message->to))
            return true;
        auto &table = hosts[message->to]->table;
        if (message->type == wire::TableRequest::type)
            table.on_request(start, message->from, *wire::decode<wire::TableRequest>(*message->payload));
        else
            table.on_reply(start, message->from, *wire::decode<wire::TableReply>(*message->payload));
        return true;
    }
    void run() {
        while (step()) {
        }
    }
    void leave(HostIndex host) {
        gone.insert(host);
        for (auto &other : hosts)
            other->table.on_host_gone(start, host);
    }
};

} // namespace pmixhost
