// The other hosts and the session, for tests of pure state machines: what is sent is kept for the test to
// look at, and the test says who is gone, connected or slow. And several hosts with what is under way
// between them, for tests that let it arrive.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/codec.h"
#include "server-glue/core/host_port.h"

#include <deque>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "test/unit/check.h"

namespace pmixhost {

// Hosts n0, n1, ... with as many ranks each, block by block.
inline JobMap even_map(HostIndex hosts, Rank per_host) {
    std::vector<std::string> names;
    std::vector<std::vector<Rank>> ranks(hosts);
    for (HostIndex h = 0; h < hosts; ++h) {
        names.push_back(fmt::format("n{}", h));
        for (Rank r = 0; r < per_host; ++r)
            ranks[h].push_back(per_host * h + r);
    }
    return *JobMap::create(names, ranks);
}

// What one host sees of the others.
struct FakeHosts : HostPort {
    struct Sent {
        HostIndex to;
        std::uint8_t type;
        Bytes bytes;
    };
    std::vector<Sent> sent;
    std::deque<std::pair<std::uint8_t, Bytes>> to_session; // type and bytes
    std::set<HostIndex> gone;                              // nothing goes to them
    std::set<HostIndex> prepared;                          // for
    std::set<HostIndex> unconnected;                       // they are there, without a connection
    std::map<HostIndex, std::size_t> queued;
    bool session_reachable = true;
    bool session_connected = true;

    // What was sent as the n-th (from 0), which must be a message of that type.
    template <typename Message> Message sent_as(std::size_t place) const {
        const Sent &one = sent.at(place);
        assert_int_equal(one.type, Message::type);
        return *wire::decode<Message>(one.bytes);
    }
    // All messages of that type, in their order.
    template <typename Message> std::vector<Message> all() const {
        std::vector<Message> out;
        for (std::size_t place = 0; place < sent.size(); ++place) {
            if (sent[place].type == Message::type)
                out.push_back(sent_as<Message>(place));
        }
        return out;
    }
    // The last message to that host, which must be one of that type.
    template <typename Message> Message last_to(HostIndex host) const {
        std::size_t place = sent.size();
        while (place > 0 && sent[place - 1].to != host)
            --place;
        return sent_as<Message>(place - 1);
    }

    void prepare(HostIndex to) override { prepared.insert(to); }
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override {
        if (gone.contains(to))
            return false;
        sent.push_back({to, type, *payload});
        return true;
    }
    bool host_gone(HostIndex host) override { return gone.contains(host); }
    bool connected(HostIndex host) override { return !gone.contains(host) && !unconnected.contains(host); }
    std::size_t queued_bytes(HostIndex to) override { return queued[to]; }
    bool send_to_session(std::uint8_t type, SharedBytes payload) override {
        if (session_reachable)
            to_session.emplace_back(type, *payload);
        return session_reachable;
    }
    bool session_is_there() override { return session_connected; }
};

// Several hosts, and what is under way between them in the order in which it was sent.
struct FakeNetwork {
    struct Message {
        HostIndex from, to;
        std::uint8_t type;
        SharedBytes payload;
    };
    std::deque<Message> wire;
    std::set<HostIndex> gone;  // as everyone knows
    std::set<HostIndex> stuck; // they take nothing: what is sent to them stays queued
    bool apart = false;        // no connection is there yet
    std::map<std::pair<HostIndex, HostIndex>, std::size_t> queued; // bytes, from one to the other

    // Takes what arrives next, even at a host that is gone; nullopt when nothing is under way.
    std::optional<Message> take() {
        if (wire.empty())
            return std::nullopt;
        Message message = std::move(wire.front());
        wire.pop_front();
        queued[{message.from, message.to}] -= message.payload->size();
        return message;
    }
};

// What one host of the network sees of the others.
struct NetworkHosts final : FakeHosts {
    FakeNetwork &net;
    HostIndex self;
    std::size_t messages = 0; // that it has sent
    NetworkHosts(FakeNetwork &all, HostIndex host) : net(all), self(host) {}
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override {
        if (net.gone.contains(to))
            return false;
        ++messages;
        net.queued[{self, to}] += payload->size();
        if (!net.stuck.contains(to))
            net.wire.push_back({self, to, type, std::move(payload)});
        return true;
    }
    bool host_gone(HostIndex host) override { return net.gone.contains(host); }
    bool connected(HostIndex host) override { return !net.gone.contains(host) && !net.apart; }
    std::size_t queued_bytes(HostIndex to) override { return net.queued[{self, to}]; }
};

} // namespace pmixhost
