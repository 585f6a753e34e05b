// The connections of this daemon to the other daemons of its step, by host index. A connection is
// made when something is first sent to a host, or earlier by invite().
//
// Opening (dialer D, listener L):
//   L hands D a contact message through the backend (contact.h)         - that is invite()
//   D connects and sends   Hello{version, proof(Introduction{step, D, L, cookie of L, nonce of D, 0, ...})}
//   L answers              Welcome{proof(Introduction{step, D, L, cookie of L, nonce of D, 1, ...})}
// Each proof shows the same uid (authenticator.h); the cookie and the nonce bind it to this
// listener and this attempt. D has its proof before it connects, so that it speaks at once. Each Introduction also
// has a fresh secret and says whether its side wants tags (transport.frame_tags). If one does, all further
// frames have tags, under keys made of both Introductions (frame_tag.h): nobody on the wire can read the
// secrets or take the wish away, as far as proofs keep what they say to themselves. A stranger who
// connects gets no byte, and is closed at its first wrong frame or after a few seconds. At most 512 strangers
// are held at once, 256 of one address, and as many more as hosts are invited; who says nothing makes room
// (common/peer/stranger_limits.h), so that a flood keeps no dialer out.
//
// All in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "common/config/settings.h"
#include "common/peer/stranger_limits.h"
#include "common/transport/authenticator.h"
#include "common/transport/contact.h"
#include "common/transport/link.h"
#include "common/transport/link_faults.h"
#include "common/transport/listener.h"
#include "common/wire/connection_messages.h"

#include <map>

namespace pmixhost {

class Mesh {
  public:
    enum class Gone {
        left, // it said farewell first
        lost, // a connection with it broke, or the host could not be reached in time
    };
    struct Callbacks {
        std::function<void(HostIndex from, std::uint8_t type, Bytes payload)> on_message;
        // Once per host. What was queued for it is dropped.
        std::function<void(HostIndex host, Gone how, const Error &why)> on_gone;
        // Hands a contact message to the daemon of `host` (RmBackend::send_contact). not_found: it has left.
        std::function<void(HostIndex host, Bytes message, TimePoint deadline, std::function<void(Result<void>)> done)>
            send_contact;
        // There is a connection, and what was queued has been sent. From within, only sends.
        std::function<void(HostIndex host)> on_connected = {};
    };
    // `no`: this daemon only dials. It cannot invite, and sends only where there is a connection.
    enum class Listening { no, yes };
    static Result<std::unique_ptr<Mesh>> create(EventLoop &loop, Log &log, const Settings &settings,
                                                std::string step_key, HostIndex self, HostIndex host_count,
                                                std::unique_ptr<Authenticator> authenticator, Callbacks callbacks,
                                                Listening listening = Listening::yes);
    ~Mesh();

    // For tests; before anything is sent.
    void set_faults(const std::vector<LinkFault> &faults) { faults_.emplace(loop_, faults); }
    // Ask `host` to dial this daemon, unless there is a connection; again while none comes.
    void invite(HostIndex host);
    // The same before anything is to be sent. The host is not lost if it does not come in time: its daemon may start
    // much later, behind a slow prolog of the RM, say. What is sent then has the whole time.
    void invite_early(HostIndex host);
    // A contact message arrived through the backend. A malformed one is logged and dropped; the last one counts.
    void on_contact(const Bytes &message);
    // The RM knows that the daemon of `host` has ended in order. Nothing while there is a connection.
    void left(HostIndex host);
    // Queues until there is a connection. False if the host is gone.
    bool send(HostIndex host, std::uint8_t type, SharedBytes payload);
    bool connected(HostIndex host) const;
    // Of the other end of that connection, numeric; empty where there is none.
    std::string address_of(HostIndex host) const;
    // Is a connection being made, by either side?
    bool connecting(HostIndex host) const;
    bool gone(HostIndex host) const;
    // Has there been a connection, now or before? A host that is gone without one may only have ended
    // before it was first wanted.
    bool was_connected(HostIndex host) const;
    // Of a host that could not be reached: does the network or a firewall look like the reason? No: this side could not
    // prove who it is, or the other one would not have it.
    bool hindered_on_the_way(HostIndex host) const;
    // As if nothing had ever been: for a peer that may come again. From within no callback.
    void forget(HostIndex host);
    // The same with a farewell, for another process that will be that host from now on. Whoever has a contact message
    // of this side that was not used yet gets in no more, and is sent a new one if it is wanted. From within no
    // callback.
    void leave(HostIndex host);
    // Is there any connection, or one being made?
    bool wanted() const;
    // How many connections are being made by this side.
    std::size_t dialing() const { return dialing_; }
    // And of how many of those the other side may hold already that they are there.
    std::size_t introduced() const;
    // And how many may be there soon: not those with a host that could be reached at none of its addresses, which are
    // tried again later.
    std::size_t dials_under_way() const;
    // Every host there is a connection to.
    std::vector<HostIndex> connected_hosts() const;
    // Tell all hosts that are connected, or will be, that this daemon's leaving is no loss.
    void farewell();
    // Queued and not yet sent by the kernel, over all connections.
    std::size_t unsent_bytes() const;
    // Are there any? As long as there are, the loop wakes when the last of a connection go (Link::has_unsent).
    bool has_unsent();
    // Queued here, and what waits for a connection.
    std::size_t queued_bytes() const;
    std::size_t queued_bytes(HostIndex host) const;
    std::uint16_t port() const { return listener_->port(); }

  private:
    struct Peer;
    struct Stranger;
    struct Dial;
    struct Awaited;
    Mesh(EventLoop &loop, Log &log, const Settings &settings, std::string step_key, HostIndex self,
         HostIndex host_count, std::unique_ptr<Authenticator> authenticator, Callbacks callbacks);

    Peer &peer(HostIndex host);
    void arm_deadline(HostIndex host);
    static void forget_invitation(Peer &p);
    void send_invitation(HostIndex host, TimePoint deadline, Duration pause);
    void accept(UniqueFd fd, const PeerAddress &from);
    void on_hello(std::uint64_t stranger, std::uint8_t type, const Bytes &payload);
    bool is_still_there(std::uint64_t stranger);
    void drop_stranger(std::uint64_t stranger, const Error &why);
    void refuse_stranger(std::uint64_t stranger, const Error &why);
    void dial_next(HostIndex host);
    void dial_address(HostIndex host);
    void dial_connected(HostIndex host);
    void dial_failed(HostIndex host, const Error &why);
    void dial_hindered(HostIndex host, const Error &why, bool on_the_way);
    void on_welcome(HostIndex host, std::uint8_t type, const Bytes &payload);
    void established(HostIndex host, std::unique_ptr<Link> link);
    void host_gone(HostIndex host, Gone how, const Error &why);
    void message_passed(HostIndex host);
    void cut(HostIndex host);
    wire::Introduction introduction(HostIndex dialer, HostIndex listener, Bytes cookie, Bytes nonce, bool reply) const;
    void set_keys(Link &link, HostIndex host, const wire::Introduction &hello, const wire::Introduction &welcome);
    Link::Callbacks link_callbacks(HostIndex host, std::uint64_t link_id);

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    std::string step_key_;
    HostIndex self_;
    HostIndex host_count_;
    std::unique_ptr<Authenticator> authenticator_;
    Callbacks callbacks_;
    std::optional<LinkFaults> faults_;
    std::unique_ptr<Listener> listener_;
    Bytes cookie_;
    std::vector<Bytes> addresses_;
    bool leaving_ = false;      // has said farewell
    bool told_of_tags_ = false; // that another host has another value of transport.frame_tags
    std::size_t dialing_ = 0;   // counted by each Dial
    std::size_t awaited_ = 0;   // invited and not here yet: counted by each Awaited
    std::map<HostIndex, std::unique_ptr<Peer>> peers_;
    std::map<std::uint64_t, std::unique_ptr<Stranger>> strangers_;
    StrangerLimits limits_; // of strangers_, by their addresses
    RateLimit refused_;
    std::uint64_t next_id_ = 1;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); // for answers that come late
};

} // namespace pmixhost
