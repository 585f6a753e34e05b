// The way of output from the processes of a step to the hosts whose tools want it. Pure: messages in, messages out.
//
// A host whose tools pull ("root") says so along the tree of the step's hosts (common/transport/tree.h), around hosts
// that have gone; output goes back the same way, so that nobody has more links than the tree gives it. Each link has a
// window for each root, from the host of the process that wrote it to the root: what a neighbour has been sent counts
// as taken when the root has given it to its tools. So what a host still has is what the tools have not got: it is sent
// again, another way, when a neighbour has gone (and taken once: pieces have numbers), and what was for them alone goes
// back to the RM when they want it no more; where tools of several hosts have taken it over, when the last of them do
// and none has it. What does not get away waits at the host of the process that wrote it, up to a bound, and is then
// dropped (output_queue.h): a tool never stops a job. What was for tools alone goes back to the RM then, too.
//
// Each root has a flow of its own: a slow one holds up no other.
#pragma once

#include "common/loop/event_loop.h"
#include "common/transport/tree.h"
#include "server-glue/core/host_port.h"
#include "server-glue/iof/held_output.h"
#include "server-glue/iof/output_queue.h"
#include "server-glue/iof/output_selection.h"

#include <set>
#include <utility>
#include <vector>

namespace pmixhost {

// What the tools of one host want.
struct OutputWish {
    OutputSelection pulled;
    OutputSelection taken_over; // of these: it goes nowhere else
    std::uint64_t cache = 0;    // bytes that a host holds back for them
    bool drop_oldest = false;
    bool kept = false;                   // with what was written before anybody asked
    OutputSelection kept_but;            // but of these, of which they have had it, only whether they have ended
    Duration kept_for = Duration::max(); // but not with what was written longer ago
    HeldOutput::Rule held;               // how long output is held for larger pieces, at the host of who writes
    bool whole = false; // nothing is dropped: beyond `cache` there is no room(), and whoever writes waits
    bool operator==(const OutputWish &) const = default;
    // Is what a process writes to it given to nobody else?
    bool takes_alone(Rank rank, std::uint8_t channel) const { return whole || taken_over.has(rank, channel); }
};

class OutputPort {
  public:
    virtual ~OutputPort() = default;
    // What the processes of this host had written lately, for a new wish; none if it is not kept.
    virtual std::vector<wire::OutputPiece> kept_output(const OutputWish &wish) = 0;
    // For the tools of this host; OutputFlow::taken() is told when they have it. Calls nothing here.
    virtual void deliver(std::vector<wire::OutputPiece> pieces) = 0;
    // Where there was no room for output there may be some now. Calls nothing here.
    virtual void on_room() = 0;
    // Of what went nowhere else: what the tools have not got, when that wish is over; and what cannot be kept for them,
    // from within output(), too. In order for each stream, but that what tools of another host may have had comes when
    // that is known. Calls nothing here that changes it.
    virtual void give_back(std::vector<wire::OutputPiece> pieces) = 0;
};

class OutputFlow {
  public:
    OutputFlow(HostPort &hosts, OutputPort &port, const JobMap &map, HostIndex self, std::uint32_t radix)
        : hosts_(hosts), port_(port), map_(map), self_(self), tree_(map.host_count(), radix) {}

    // At the begin, on every host: that host will want this with its first pull(), and what is written until then is
    // kept for it.
    void expect(HostIndex root, OutputWish wish);
    // What the tools of this host want from now on.
    void pull(TimePoint now, OutputWish wish);
    // Of what deliver() was given, as OutputQueue::cost().
    void taken(std::uint32_t cost);
    // Does anybody want it (then output() is told); and that it goes nowhere else?
    bool wanted(Rank rank, std::uint8_t channel) const;
    bool taken_over(Rank rank, std::uint8_t channel) const;
    void output(TimePoint now, Rank rank, std::uint8_t channel, std::string_view bytes, bool end);
    // What is held goes on now.
    void release_held();
    TimePoint next_time() const;
    void on_time(TimePoint now);
    // What follows of these cannot be had: who wants any of them hears it at once.
    void failed(const std::vector<std::pair<Rank, std::uint8_t>> &streams);
    // The same of other hosts' processes, and for this host's tools alone: behind what waits here for them.
    void failed_here(const std::vector<std::pair<Rank, std::uint8_t>> &streams);
    // May more of it come? Else OutputPort::on_room() says when.
    bool room(Rank rank, std::uint8_t channel) const;
    // Of a stream that has ended: may OutputPort::give_back() be told of it? on_room() says when to ask again.
    bool may_come_back(Rank rank, std::uint8_t channel) const;
    // This host leaves, and waits no longer: what it has not sent, of what goes nowhere else, is given back. What was
    // sent is on its way, and what others write still goes through here.
    void leave();
    // Bytes of a stream that are here and still to be delivered to this host's tools.
    std::uint64_t undelivered(Rank rank, std::uint8_t channel) const;
    // Is there output here that others, or this host's tools, have not got?
    bool anything_waits() const;
    // Bytes of this host's processes that were dropped, in all.
    std::uint64_t dropped() const;

    void on_demand(TimePoint now, HostIndex from, const wire::OutputDemand &message);
    void on_pieces(HostIndex from, wire::OutputPieces message);
    void on_taken(HostIndex from, const wire::OutputTaken &message);
    void on_host_gone(TimePoint now, HostIndex host, bool left);
    // That host is lost, which every host is told, also one that has no connection with it: its tools want nothing.
    void on_root_lost(TimePoint now, HostIndex root);

  private:
    using Asked = std::map<HostIndex, HostIndex>; // whom, and which neighbour in the tree each is behind
    struct Flow {
        OutputWish wish;
        std::uint64_t serial = 0;
        HostIndex upstream = no_host;                         // no_host: this host is the root, or upstream has gone
        std::uint32_t under_way = 0;                          // in cost: sent upstream, or delivered, and not taken
        std::deque<OutputQueue::Entry> not_sure;              // sent upstream, and not taken
        std::uint64_t credited = 0;                           // taken, less than the first of these costs
        std::map<OutputQueue::Stream, std::uint64_t> numbers; // the last one given, or seen
        HeldOutput held;
        OutputQueue queue; // behind it
        Asked asked;
    };
    using Flows = std::map<HostIndex, Flow>;
    // A wish that has ended. Who was told so may go without having passed it on: then those behind it are told. A host
    // that is lost later than `noticed_within` after it was told had taken it, and so had one that leaves in order
    // later than `passed_on_within`: what it has to send goes before it does.
    struct Over {
        std::uint64_t serial = 0;
        Asked told;
        TimePoint since{};
    };
    static constexpr Duration noticed_within = std::chrono::minutes(5), passed_on_within = std::chrono::seconds(5);
    bool neighbours(HostIndex a, HostIndex b) const;
    void set(TimePoint now, HostIndex root, std::uint64_t serial, HostIndex upstream, HostIndex behind,
             OutputWish wish);
    void end(TimePoint now, Flows::iterator flow);
    void spread(wire::OutputDemand &demand, Asked &asked, HostIndex at, HostIndex coming_from);
    void tell(wire::OutputDemand &demand, Asked &asked, HostIndex neighbour, HostIndex at);
    void pump(HostIndex root, Flow &flow);
    void pass_on(HostIndex root, Flow &flow, std::vector<wire::OutputPiece> pieces,
                 const std::shared_ptr<bool> &had = {});
    void deliver(Flow &flow, std::vector<OutputQueue::Entry> entries);
    void send_upstream(HostIndex root, Flow &flow, std::vector<OutputQueue::Entry> entries);
    static bool receive(Flow &flow, HostIndex from, wire::OutputPiece piece); // false: it has been taken
    void enqueue(Flow &flow, wire::OutputPiece piece, std::shared_ptr<bool> had = {});
    static void take_back(Flow &flow);                  // what has been sent, and perhaps not taken
    using Credits = std::map<HostIndex, std::uint32_t>; // costs, by neighbour
    void give_credit(HostIndex root, const Flow &flow, const Credits &credits);
    void note_taken(HostIndex root, Flow &flow, std::uint32_t cost);

    HostPort &hosts_;
    OutputPort &port_;
    const JobMap &map_;
    const HostIndex self_;
    Tree tree_;
    Flows flows_;                    // by root
    std::map<HostIndex, Over> over_; // by root: its last wish, where that has ended
    static constexpr std::uint64_t first_serial = 1;
    std::uint64_t next_serial_ = first_serial;
    std::uint64_t dropped_ = 0; // of flows that are over
};

} // namespace pmixhost
