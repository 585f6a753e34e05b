// The hosts of a step with output and input on the way between them, and tools that read or not, for tests of
// OutputFlow and InputFlow. A test writes, pushes, lets messages arrive one by one, and has hosts go.
#pragma once

#include "server-glue/iof/input_flow.h"
#include "server-glue/iof/output_flow.h"

#include "test/unit/fake_hosts.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <string>

namespace pmixhost {

struct IofWorld : FakeNetwork {
    static constexpr Rank per_host = 2; // processes
    struct Host : OutputPort, InputPort {
        IofWorld &world;
        NetworkHosts others;
        OutputFlow output;
        InputFlow input;
        std::map<std::pair<Rank, int>, std::string> read; // by its tools
        std::map<Rank, std::uint64_t> missing;
        std::set<Rank> ended, failed;
        std::string kept;
        Duration asked_for{};
        std::string given_back;
        std::size_t pieces_read = 0;
        int rooms = 0;             // how often there may be some
        std::uint32_t untaken = 0; // in cost
        bool reads = true;         // its tools do
        Host(IofWorld &w, HostIndex self, std::uint32_t radix)
            : world(w), others(w, self), output(others, *this, w.map, self, radix),
              input(others, *this, w.map, self, radix) {}
        std::vector<wire::OutputPiece> kept_output(const OutputWish &wish) override {
            asked_for = wish.kept_for;
            Rank first = others.self * per_host;
            if (kept.empty() || !wish.pulled.has(first, wire::stdout_channel) ||
                wish.kept_but.has(first, wire::stdout_channel))
                return {};
            return {{first, wire::stdout_channel, 0, 0, kept}};
        }
        void deliver(std::vector<wire::OutputPiece> pieces) override {
            for (auto &piece : pieces) {
                untaken += OutputQueue::cost(piece);
                read[{piece.rank, piece.channel}] += piece.bytes;
                pieces_read += !piece.bytes.empty();
                missing[piece.rank] += piece.dropped;
                if (piece.end)
                    ended.insert(piece.rank);
                if (piece.failed)
                    failed.insert(piece.rank);
            }
        }
        void on_room() override { ++rooms; }
        void give_back(std::vector<wire::OutputPiece> pieces) override {
            for (const auto &piece : pieces)
                given_back += piece.bytes;
        }
        void give(Rank rank, const SharedBytes &bytes, bool end, StatusReply reply) override {
            if (world.closed.contains(rank))
                return reply(PMIX_ERR_IOF_COMPLETE);
            if (world.slow.contains(rank)) {
                world.waiting.push_back(std::move(reply));
                return;
            }
            world.got[rank] += *bytes + (end ? "." : "");
            reply(PMIX_SUCCESS);
        }
    };
    JobMap map;
    std::map<Rank, std::string> got; // as input
    std::set<Rank> closed, slow;
    std::vector<StatusReply> waiting;
    std::vector<std::unique_ptr<Host>> hosts;
    std::size_t delivered = 0;
    TimePoint now{std::chrono::hours(1)};

    explicit IofWorld(HostIndex count, std::uint32_t radix = 2) {
        map = even_map(count, per_host);
        for (HostIndex h = 0; h < count; ++h)
            hosts.push_back(std::make_unique<Host>(*this, h, radix));
    }
    template <typename Message> static std::optional<Message> as(const FakeNetwork::Message &message) {
        if (message.type != Message::type)
            return std::nullopt;
        return *wire::decode<Message>(*message.payload);
    }
    bool step() {
        auto message = take();
        if (!message)
            return false;
        ++delivered;
        if (gone.contains(message->to))
            return true;
        Host &host = *hosts[message->to];
        if (auto demand = as<wire::OutputDemand>(*message))
            host.output.on_demand(now, message->from, *demand);
        else if (auto pieces = as<wire::OutputPieces>(*message))
            host.output.on_pieces(message->from, std::move(*pieces));
        else if (auto taken = as<wire::OutputTaken>(*message))
            host.output.on_taken(message->from, *taken);
        else if (auto push = as<wire::InputPush>(*message))
            host.input.on_push(message->from, std::move(*push));
        else
            host.input.on_taken(message->from, *as<wire::InputTaken>(*message));
        return true;
    }
    // Until nothing is under way; tools that read take what there is.
    void run() {
        for (bool more = true; more;) {
            while (step()) {
            }
            more = false;
            for (auto &host : hosts) {
                if (host->reads && host->untaken > 0) {
                    host->output.taken(std::exchange(host->untaken, 0));
                    more = true;
                }
            }
        }
    }
    // Takes what that host has sent away, once it has sent something to the other.
    std::deque<FakeNetwork::Message> hold_back(HostIndex from, HostIndex to) {
        auto is_there = [&] {
            return std::any_of(wire.begin(), wire.end(),
                               [&](const auto &message) { return message.from == from && message.to == to; });
        };
        while (!is_there() && step()) {
        }
        std::deque<FakeNetwork::Message> held, rest;
        for (auto &message : wire)
            (message.from == from ? held : rest).push_back(std::move(message));
        wire = std::move(rest);
        return held;
    }
    // Is no output of the hosts that are here wanted?
    bool unwanted() const {
        return std::none_of(hosts.begin(), hosts.end(), [&](const auto &host) {
            const HostIndex self = host->others.self;
            return !gone.contains(self) && host->output.wanted(self * per_host, wire::stdout_channel);
        });
    }
    void leave(HostIndex host, bool left = false) {
        gone.insert(host);
        tell_gone(host, left);
    }
    void tell_gone(HostIndex host, bool left = false) {
        for (auto &other : hosts) {
            if (gone.contains(other->others.self))
                continue;
            other->output.on_host_gone(now, host, left);
            other->input.on_host_gone(host, left);
        }
    }
    void write(Rank rank, std::string_view bytes, bool end = false, std::uint8_t channel = wire::stdout_channel) {
        hosts[rank / per_host]->output.output(now, rank, channel, bytes, end);
    }
    std::string &read_at(HostIndex host, Rank rank, std::uint8_t channel = wire::stdout_channel) {
        return hosts[host]->read[{rank, channel}];
    }
    std::optional<pmix_status_t> status;
    void push(HostIndex from, std::vector<Rank> ranks, std::string bytes, bool end = false, Rank pusher = 0) {
        status.reset();
        hosts[from]->input.push({"tool", pusher}, std::move(ranks), std::move(bytes), end,
                                StatusReply([this](pmix_status_t s) { status = s; }, PMIX_ERROR));
        run();
    }
};

// All output, copied.
inline OutputWish all_output(std::uint64_t cache = 1u << 20) {
    OutputWish wish;
    wish.pulled = wire::stdout_channel | wire::stderr_channel;
    wish.cache = cache;
    return wish;
}

} // namespace pmixhost
