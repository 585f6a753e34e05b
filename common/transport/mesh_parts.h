// What the mesh keeps of each connection that it makes, awaits or has; private to the files of Mesh.
#pragma once

#include "common/transport/mesh.h"
#include "common/wire/wire_version.h"

#include <deque>

namespace pmixhost {

// Munge is asked four times for a connection, two questions at a time on each host.
inline constexpr auto handshake_patience = std::chrono::seconds(20);
inline constexpr std::size_t secret_size = 32;

// An accepted connection that has not yet proved anything.
struct Mesh::Stranger {
    std::unique_ptr<Link> link;
    PeerAddress from;
    EventLoop::Handle timer;
    bool verifying = false;
};

struct Mesh::Awaited {
    explicit Awaited(std::size_t &count) : count(count) { ++count; }
    ~Awaited() { --count; }
    Awaited(const Awaited &) = delete;
    std::size_t &count;
};

// An attempt to connect to a host whose contact message came.
struct Mesh::Dial {
    explicit Dial(std::size_t &count) : count(count) { ++count; }
    ~Dial() { --count; }
    Dial(const Dial &) = delete;
    std::size_t &count;
    Contact contact;
    std::size_t next_address = 0;
    UniqueFd fd; // while connecting
    EventLoop::Handle watch;
    EventLoop::Handle timer;
    std::unique_ptr<Link> link; // while the handshake goes on
    wire::Introduction hello;
    Bytes proof; // of that statement, until Hello is out; empty: there is none
    std::uint64_t attempt = 0;
    bool introduced = false; // Hello is out: the other side may take the link for open
    bool in_vain = false;    // nobody could be reached at any address, since the last time that somebody was
    bool given_up = false;   // the time is over, and nobody here wants the host: this try is the last one
};

struct Mesh::Peer {
    // More than one when both sides dialed at once; the first one is used for sending. What the other
    // side sends may come over any, so the host is lost with the first that breaks.
    std::map<std::uint64_t, std::unique_ptr<Link>> links;
    std::deque<std::pair<std::uint8_t, SharedBytes>> queue;
    std::unique_ptr<Dial> dial;
    bool invited = false;
    bool early = false;             // and nothing has been queued since
    std::optional<Awaited> awaited; // since then
    std::uint64_t invitation = 0;   // the last one
    EventLoop::Handle repeat;       // it brought no connection yet
    bool said_farewell = false;
    bool gone = false;
    bool was_connected = false;
    std::size_t queue_bytes = 0;
    std::string hindered; // what the last try to dial it ended with, but for silence
    bool hindered_on_the_way = true;
    EventLoop::Handle deadline; // to have a connection, once one is wanted
};

} // namespace pmixhost
