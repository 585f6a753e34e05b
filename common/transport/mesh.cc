// See mesh.h. Its two sides are in mesh_listening.cc and mesh_dialing.cc.
#include "common/base/random_bytes.h"
#include "common/transport/mesh_parts.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

using namespace std::chrono_literals;

static constexpr StrangerLimits::Bounds stranger_bounds{512, 256};
// Who has taken a contact message dials at once, unless it ended before it read it: then nobody is there the
// next time. The pause doubles.
static constexpr Duration first_invitation_pause = 1s;

Mesh::Mesh(EventLoop &loop, Log &log, const Settings &settings, std::string step_key, HostIndex self,
           HostIndex host_count, std::unique_ptr<Authenticator> authenticator, Callbacks callbacks)
    : loop_(loop), log_(log), settings_(settings), step_key_(std::move(step_key)), self_(self), host_count_(host_count),
      authenticator_(std::move(authenticator)), callbacks_(std::move(callbacks)), cookie_(random_bytes(16)),
      limits_(stranger_bounds) {}

Mesh::~Mesh() {
    *alive_ = false;
}

Result<std::unique_ptr<Mesh>> Mesh::create(EventLoop &loop, Log &log, const Settings &settings, std::string step_key,
                                           HostIndex self, HostIndex host_count,
                                           std::unique_ptr<Authenticator> authenticator, Callbacks callbacks,
                                           Listening listening) {
    std::unique_ptr<Mesh> mesh(new Mesh(loop, log, settings, std::move(step_key), self, host_count,
                                        std::move(authenticator), std::move(callbacks)));
    if (listening == Listening::no)
        return mesh;
    auto addresses = own_addresses(settings.transport_interfaces);
    if (!addresses)
        return addresses.failure();
    mesh->addresses_ = std::move(*addresses);
    auto listener =
        Listener::open(loop, settings.transport_ports,
                       [raw = mesh.get()](UniqueFd fd, const PeerAddress &from) { raw->accept(std::move(fd), from); });
    if (!listener)
        return listener.failure();
    mesh->listener_ = std::move(*listener);
    return mesh;
}

Mesh::Peer &Mesh::peer(HostIndex host) {
    auto &slot = peers_[host];
    if (!slot)
        slot = std::make_unique<Peer>();
    return *slot;
}

wire::Introduction Mesh::introduction(HostIndex dialer, HostIndex listener, Bytes cookie, Bytes nonce,
                                      bool reply) const {
    wire::Introduction introduction;
    introduction.step_key = step_key_;
    introduction.dialer = dialer;
    introduction.listener = listener;
    introduction.listener_cookie = std::move(cookie);
    introduction.dialer_nonce = std::move(nonce);
    introduction.reply = reply;
    introduction.secret = random_bytes(secret_size);
    introduction.wants_tags = settings_.transport_frame_tags == "on";
    return introduction;
}

// The handshake is over: what follows has tags, if one side wants them. This side's last frame of the
// handshake has been sent, the other's has been read.
void Mesh::set_keys(Link &link, HostIndex host, const wire::Introduction &hello, const wire::Introduction &welcome) {
    if (hello.wants_tags != welcome.wants_tags && !std::exchange(told_of_tags_, true))
        log_.warning("this host and host {} have different values of transport.frame_tags: frames between "
                     "them have tags",
                     host);
    if (!hello.wants_tags && !welcome.wants_tags)
        return;
    auto keys = frame_keys(wire::encode(hello), wire::encode(welcome));
    if (hello.dialer == self_)
        link.set_keys(keys.from_dialer, keys.from_listener);
    else
        link.set_keys(keys.from_listener, keys.from_dialer);
}

// --- wanting a connection -------------------------------------------------------------------------

// Whatever is wanted of a host without a connection, it is had or given up in time.
void Mesh::arm_deadline(HostIndex host) {
    Peer &p = peer(host);
    if (p.deadline || p.gone)
        return;
    p.deadline = loop_.after(settings_.transport_connect_timeout, [this, host] {
        Peer &p = peer(host);
        p.deadline.reset();
        if (std::exchange(p.early, false))
            forget_invitation(p);
        // There is one, or only the other side wanted it; who cannot invite was asked to dial.
        if (!p.links.empty() || (p.queue.empty() && !p.invited && listener_)) {
            if (p.dial && p.dial->introduced)
                p.dial->given_up = true;
            else
                p.dial.reset();
            return;
        }
        host_gone(host, Gone::lost,
                  error(ErrorKind::timeout, "no connection within {} s (transport.connect_timeout){}{}",
                        settings_.transport_connect_timeout.count() / 1000.0,
                        p.hindered.empty() ? "" : "; the last try to connect: ", p.hindered));
    });
}

void Mesh::invite_early(HostIndex host) {
    Peer &p = peer(host);
    p.early = !p.gone && !p.invited && p.links.empty() && !p.dial;
    invite(host);
}

// Whoever sends something invites once more.
void Mesh::forget_invitation(Peer &p) {
    p.invited = false;
    p.invitation = 0;
    p.awaited.reset();
    p.repeat.reset();
}

void Mesh::invite(HostIndex host) {
    Peer &p = peer(host);
    if (p.gone || p.invited || !p.links.empty() || p.dial || !listener_)
        return;
    p.invited = true;
    p.awaited.emplace(awaited_);
    p.invitation = next_id_++;
    arm_deadline(host);
    send_invitation(host, loop_.now() + settings_.transport_connect_timeout, first_invitation_pause);
}

void Mesh::send_invitation(HostIndex host, TimePoint deadline, Duration pause) {
    Contact contact;
    contact.host = self_;
    contact.port = listener_->port();
    contact.cookie = cookie_;
    contact.addresses = addresses_;
    std::weak_ptr<bool> alive = alive_;
    callbacks_.send_contact(host, wire::encode(contact), deadline,
                            [this, alive, host, deadline, pause, invitation = peer(host).invitation,
                             was_early = peer(host).early](Result<void> sent) {
                                if (alive.expired())
                                    return;
                                Peer &p = peer(host);
                                // Not when the peer was forgotten and invited anew.
                                if (p.invitation != invitation || p.gone || !p.links.empty())
                                    return;
                                bool has_left = !sent && sent.failure().kind == ErrorKind::not_found;
                                if (p.dial && (!has_left || p.dial->introduced))
                                    return;
                                bool repeated = pause != first_invitation_pause; // it had been taken once
                                if (!sent && !repeated && !has_left && was_early) {
                                    p.early = false;
                                    forget_invitation(p);
                                    if (p.queue.empty())
                                        p.deadline.reset();
                                    else
                                        invite(host); // in what is left of the time of what is sent
                                    return;
                                }
                                if (!sent && (!repeated || has_left))
                                    return host_gone(host, has_left ? Gone::left : Gone::lost, sent.failure());
                                p.repeat = loop_.after(pause, [this, host, deadline, pause] {
                                    Peer &p = peer(host);
                                    p.repeat.reset();
                                    if (p.links.empty() && !p.dial && !p.gone)
                                        send_invitation(host, deadline, 2 * pause);
                                });
                            });
}

void Mesh::left(HostIndex host) {
    Peer &p = peer(host);
    // What it has said to a side that it holds for connected is read before.
    if (p.links.empty() && !(p.dial && p.dial->introduced))
        host_gone(host, Gone::left, error(ErrorKind::not_found, "its daemon has ended"));
}

bool Mesh::send(HostIndex host, std::uint8_t type, SharedBytes payload) {
    Peer &p = peer(host);
    if (p.gone)
        return false;
    if (!p.links.empty()) {
        p.links.begin()->second->send(type, std::move(payload));
        message_passed(host);
        return true;
    }
    p.queue_bytes += payload->size();
    p.queue.emplace_back(type, std::move(payload));
    if (std::exchange(p.early, false))
        p.deadline.reset();
    arm_deadline(host);
    invite(host);
    return true;
}

bool Mesh::connecting(HostIndex host) const {
    auto found = peers_.find(host);
    if (found == peers_.end() || found->second->gone)
        return false;
    const Peer &p = *found->second;
    return p.links.empty() && (p.awaited || p.dial || !p.queue.empty());
}

bool Mesh::connected(HostIndex host) const {
    auto found = peers_.find(host);
    return found != peers_.end() && !found->second->links.empty();
}

std::string Mesh::address_of(HostIndex host) const {
    auto found = peers_.find(host);
    return connected(host) ? found->second->links.begin()->second->peer_address() : std::string();
}

bool Mesh::gone(HostIndex host) const {
    auto found = peers_.find(host);
    return found != peers_.end() && found->second->gone;
}

bool Mesh::was_connected(HostIndex host) const {
    auto found = peers_.find(host);
    return found != peers_.end() && found->second->was_connected;
}

bool Mesh::hindered_on_the_way(HostIndex host) const {
    auto found = peers_.find(host);
    return found == peers_.end() || found->second->hindered_on_the_way;
}

void Mesh::forget(HostIndex host) {
    peers_.erase(host);
}

void Mesh::leave(HostIndex host) {
    if (auto found = peers_.find(host); found != peers_.end()) {
        for (auto &[id, link] : found->second->links)
            link->send(wire::Farewell::type, share(wire::encode(wire::Farewell{})));
    }
    forget(host);
    cookie_ = random_bytes(16);
}

std::size_t Mesh::introduced() const {
    return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), [](const auto &entry) {
        return entry.second->dial && entry.second->dial->introduced;
    }));
}

std::size_t Mesh::dials_under_way() const {
    return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), [](const auto &entry) {
        return entry.second->dial && !entry.second->dial->in_vain;
    }));
}

bool Mesh::wanted() const {
    return std::any_of(peers_.begin(), peers_.end(),
                       [](const auto &entry) { return !entry.second->links.empty() || entry.second->dial; });
}

std::vector<HostIndex> Mesh::connected_hosts() const {
    std::vector<HostIndex> hosts;
    for (const auto &[host, p] : peers_) {
        if (!p->links.empty())
            hosts.push_back(host);
    }
    return hosts;
}

std::size_t Mesh::unsent_bytes() const {
    std::size_t bytes = 0;
    for (const auto &[host, p] : peers_) {
        for (const auto &[id, link] : p->links)
            bytes += link->unsent_bytes();
    }
    return bytes;
}

bool Mesh::has_unsent() {
    return std::any_of(peers_.begin(), peers_.end(), [](const auto &entry) {
        return std::any_of(entry.second->links.begin(), entry.second->links.end(),
                           [](const auto &link) { return link.second->has_unsent(); });
    });
}

std::size_t Mesh::queued_bytes() const {
    std::size_t bytes = 0;
    for (const auto &[host, p] : peers_) {
        bytes += p->queue_bytes;
        for (const auto &[id, link] : p->links)
            bytes += link->queued_bytes();
    }
    return bytes;
}

std::size_t Mesh::queued_bytes(HostIndex host) const {
    auto found = peers_.find(host);
    if (found == peers_.end())
        return 0;
    std::size_t bytes = found->second->queue_bytes;
    for (const auto &[id, link] : found->second->links)
        bytes += link->queued_bytes();
    return bytes;
}

void Mesh::farewell() {
    leaving_ = true;
    auto payload = share(wire::encode(wire::Farewell{}));
    for (auto &[host, p] : peers_) {
        for (auto &[id, link] : p->links)
            link->send(wire::Farewell::type, payload);
    }
}

// --- open links -----------------------------------------------------------------------------------

void Mesh::established(HostIndex host, std::unique_ptr<Link> link) {
    Peer &p = peer(host);
    if (p.gone)
        return;
    std::uint64_t id = next_id_++;
    log_.debug("connected to host {}", host);
    p.was_connected = true;
    p.awaited.reset();
    p.repeat.reset();
    link->set_limit(wire::frame_limit);
    link->set_callbacks(link_callbacks(host, id));
    Link &raw = *link;
    p.links.emplace(id, std::move(link));
    p.deadline.reset();
    if (p.dial && !p.dial->introduced)
        p.dial.reset(); // one is enough
    if (p.links.size() == 1) {
        for (auto &[type, payload] : p.queue)
            raw.send(type, std::move(payload));
        p.queue.clear();
        p.queue_bytes = 0;
    }
    if (leaving_)
        raw.send(wire::Farewell::type, share(wire::encode(wire::Farewell{})));
    if (callbacks_.on_connected && p.links.size() == 1)
        callbacks_.on_connected(host);
    if (faults_ && faults_->cuts_at_open(host))
        return cut(host);
    raw.release(); // last: what it hands over may change everything
}

Link::Callbacks Mesh::link_callbacks(HostIndex host, std::uint64_t id) {
    Link::Callbacks callbacks{[this, host](std::uint8_t type, Bytes payload) {
                                  if (peer(host).gone)
                                      return; // it comes late, on demand
                                  if (type == wire::Farewell::type)
                                      peer(host).said_farewell = true;
                                  else
                                      callbacks_.on_message(host, type, std::move(payload));
                                  message_passed(host);
                              },
                              [this, host, id](Error why) {
                                  Peer &p = peer(host);
                                  p.links.erase(id);
                                  if (why.kind == ErrorKind::denied) { // no end of it counts as orderly then
                                      log_.error("host {}: {}", host, why.text);
                                      return host_gone(host, Gone::lost, why);
                                  }
                                  if (p.links.empty())
                                      return host_gone(host, p.said_farewell ? Gone::left : Gone::lost, why);
                                  if (p.said_farewell)
                                      return;
                                  // What has come over the others, perhaps its farewell, is read first.
                                  std::weak_ptr<bool> alive = alive_;
                                  loop_.post([this, alive, host, why] {
                                      if (!alive.expired() && !peer(host).said_farewell)
                                          host_gone(host, Gone::lost, why);
                                  });
                              }};
    return faults_ ? faults_->delayed(host, std::move(callbacks)) : callbacks;
}

void Mesh::message_passed(HostIndex host) {
    if (faults_ && faults_->cuts_after_message(host))
        cut(host);
}

void Mesh::cut(HostIndex host) {
    host_gone(host, Gone::lost, error(ErrorKind::unreachable, "the link was cut on demand"));
}

void Mesh::host_gone(HostIndex host, Gone how, const Error &why) {
    Peer &p = peer(host);
    if (p.gone)
        return;
    p.gone = true;
    p.awaited.reset();
    p.repeat.reset();
    p.queue.clear();
    p.queue_bytes = 0;
    p.links.clear();
    p.dial.reset();
    p.deadline.reset();
    log_.debug("host {} {}: {}", host, how == Gone::left ? "left" : "is lost", why.text);
    callbacks_.on_gone(host, how, why);
}

} // namespace pmixhost
