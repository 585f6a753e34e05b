// How far each task of this host has come, as a process and as a client of the library. Pure: what has happened in,
// what follows from it out.
//
// A process is expected, has started, and has ended; it may be there so shortly that nobody sees it start. Its program
// runs from some moment in between, of which may be heard later than of its end. A client connects, and may finalize
// and connect again. What has ended without ever having connected, libpmix waits for: a proxy client connects in its
// name (proxy_client.h).
#pragma once

#include "common/job/job_map.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace pmixhost {

class TaskLives {
  public:
    // `expected`: how many tasks this host has.
    explicit TaskLives(std::size_t expected) : expected_(expected) {}

    // Each of these is of one task, and may come again.
    void has_started(Rank rank);
    void runs_program(Rank rank);
    // `cut_off`: by SIGPIPE.
    void has_ended(Rank rank, bool cut_off);
    void has_connected(Rank rank);
    void has_finalized(Rank rank);

    // Those that have ended since are counted.
    bool any_started() const { return started_ > 0; }
    bool all_started() const { return started_ >= expected_; }
    // How many programs were executed; likewise.
    std::size_t running() const { return running_; }
    bool all_running() const { return running_ == expected_; }
    bool gone(Rank rank) const { return of(rank).process == Process::gone; }
    // Has it ever?
    bool connected(Rank rank) const { return of(rank).client != Client::none; }
    // And has it not come again?
    bool finalized(Rank rank) const { return of(rank).client == Client::finalized; }
    bool any_finalized() const { return finalized_ > 0; }
    bool all_finalized() const { return finalized_ == expected_; }
    // Has a task that used PMIx ended without having finalized it? One that SIGPIPE ended does not count: it wrote to
    // a process that was gone, as those of Open MPI 4.1 do in MPI_Finalize.
    bool any_ended_badly() const;
    // Those that proxy clients are to be sent for now, because they have ended and never connected, while somebody is
    // connected who may wait for them. Each is told once.
    std::vector<Rank> take_absent();

  private:
    enum class Process : std::uint8_t { expected, started, gone };
    enum class Client : std::uint8_t { none, connected, finalized };
    struct State {
        Process process = Process::expected;
        Client client = Client::none;
        bool runs = false;
        bool cut_off = false;
        bool has_proxy = false;
    };
    const State &of(Rank rank) const;
    void set_client(Rank rank, Client client);

    const std::size_t expected_;
    std::map<Rank, State> states_; // of those of whom anything is known
    std::size_t started_ = 0, running_ = 0, finalized_ = 0;
};

} // namespace pmixhost
