// PMIx_Allocation_request: which requests make sense, who waits for what, and what they are told.
// Pure: the RM is behind the port.
//
// Statuses: SUCCESS; NOT_SUPPORTED (a directive or required attribute that is not offered, or an RM
// without allocations), BAD_PARAM (what the directive needs is missing or makes no sense),
// NOT_FOUND (no such allocation, queue or host), NO_PERMISSIONS, RESOURCE_BUSY (something runs on a host
// to be released), OUT_OF_RESOURCE (more than there is, or too many requests wait), TIMEOUT,
// UNREACH.
#pragma once

#include "server-glue/allocation/allocation_ask.h"
#include "server-glue/rm/allocations.h"

#include <map>

namespace pmixhost {

class AllocationPort {
  public:
    virtual ~AllocationPort() = default;
    // These do what RmAllocations::allocate() and abandon_allocation() say.
    virtual void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                          std::function<void(Result<RmAllocated>)> done) = 0;
    virtual void abandon_allocation(std::uint64_t id) = 0;
    // An allocation that a process asked for has begun (`request_id`: what it called it, perhaps nothing), and is its
    // for so many seconds (UINT32_MAX: without end), or one has been given back as a whole. Before the process has its
    // answer.
    virtual void session_began(const std::string &allocation, const std::string &request_id, std::uint32_t seconds) = 0;
    virtual void session_over(const std::string &allocation) = 0;
    // Notes a refusal in the log.
    virtual void refused(const Process &caller, pmix_status_t status, const std::string &why) = 0;
    // Notes in the log that an allocation that nobody wants any more cannot be given back.
    virtual void stays(const std::string &allocation, const Error &why) = 0;
};

class AllocationService {
  public:
    static constexpr std::size_t max_waiting = 16; // of a host

    // `patience`: how long a request without PMIX_TIMEOUT waits; zero is without limit.
    AllocationService(AllocationPort &port, Duration patience) : port_(port), patience_(patience) {}

    // Is the caller still connected? Null: it is a process whose end is told (on_process_ended).
    using IsHere = std::function<bool()>;
    void request(TimePoint now, AllocationAsk ask, IsHere is_here = nullptr);
    // A process has ended: what it still waits for is given up.
    void on_process_ended(const Bytes &nspace, Rank rank);

    // Nobody tells of the end of a tool: while one waits, it is looked whether it is there, and what one that has gone
    // still waits for is given up. What it gets in that moment is given back.
    static constexpr Duration look_again = std::chrono::seconds(1);
    TimePoint next_time() const;
    void on_time(TimePoint now);
    // What a tool that has gone was granted is not back yet.
    bool is_giving_back() const { return giving_back_ > 0; }

    // What the RM is to be asked for, or what is wrong with the request: invalid or unsupported.
    static Result<RmAllocation> understand(const AllocationAsk &ask);

  private:
    struct Pending {
        Process caller;
        RmAllocation::Kind kind;
        bool all_of_it; // of a release: no hosts are named
        std::string request_id;
        ListReply reply;
        IsHere is_here;
        bool has_gone() const { return is_here && !is_here(); }
    };
    void give_back(const std::string &allocation);
    void answer(std::uint64_t id, Result<RmAllocated> outcome);

    AllocationPort &port_;
    const Duration patience_;
    std::map<std::uint64_t, Pending> pending_;
    std::uint64_t next_id_ = 1;
    std::size_t giving_back_ = 0;
    TimePoint next_look_{};
};

} // namespace pmixhost
