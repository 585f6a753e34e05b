// See mesh.h.
#include "common/transport/mesh.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <utility>

namespace pmixhost {

using namespace std::chrono_literals;

static constexpr StrangerLimits::Bounds stranger_bounds{512, 256};
static constexpr auto stranger_patience = 5s;
static constexpr auto address_patience = 3s;
// Munge is asked four times for a connection, one question after the other on each host.
static constexpr auto handshake_patience = 20s;
static constexpr auto redial_pause = 500ms;
// Who has taken a contact message dials at once, unless it ended before it read it: then nobody is there the
// next time. The pause doubles.
static constexpr Duration first_invitation_pause = 1s;
static constexpr std::size_t secret_size = 32;

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
};

struct Mesh::Peer {
    // More than one when both sides dialed at once; the first one is used for sending. What the other
    // side sends may come over any, so the host is lost with the first that breaks.
    std::map<std::uint64_t, std::unique_ptr<Link>> links;
    std::deque<std::pair<std::uint8_t, SharedBytes>> queue;
    std::unique_ptr<Dial> dial;
    bool invited = false;
    std::optional<Awaited> awaited; // since then
    std::uint64_t invitation = 0;   // the last one
    EventLoop::Handle repeat;       // it brought no connection yet
    bool said_farewell = false;
    bool gone = false;
    bool was_connected = false;
    std::size_t queue_bytes = 0;
    EventLoop::Handle deadline; // to have a connection, once one is wanted
};

static Bytes random_bytes(std::size_t n) {
    Bytes bytes(n, '\0');
    for (std::size_t have = 0; have < n;) {
        ssize_t got = getrandom(bytes.data() + have, n - have, 0);
        if (got > 0)
            have += static_cast<std::size_t>(got);
        else if (errno != EINTR)
            throw std::runtime_error("getrandom failed");
    }
    return bytes;
}

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
        // There is one, or only the other side wanted it; who cannot invite was asked to dial.
        if (!p.links.empty() || (p.queue.empty() && !p.invited && listener_))
            return p.dial.reset();
        host_gone(host, Gone::lost,
                  error(ErrorKind::timeout, "no connection within {} s (transport.connect_timeout)",
                        settings_.transport_connect_timeout.count() / 1000.0));
    });
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
    callbacks_.send_contact(
        host, wire::encode(contact), deadline,
        [this, alive, host, deadline, pause, invitation = peer(host).invitation](Result<void> sent) {
            if (alive.expired())
                return;
            Peer &p = peer(host);
            // Not when the peer was forgotten and invited anew.
            if (p.invitation != invitation || p.gone || !p.links.empty() || p.dial)
                return;
            bool repeated = pause != first_invitation_pause; // it had been taken once
            if (!sent && (!repeated || sent.failure().kind == ErrorKind::not_found))
                return host_gone(host, sent.failure().kind == ErrorKind::not_found ? Gone::left : Gone::lost,
                                 sent.failure());
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
    if (p.links.empty() && !p.dial)
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

bool Mesh::gone(HostIndex host) const {
    auto found = peers_.find(host);
    return found != peers_.end() && found->second->gone;
}

bool Mesh::was_connected(HostIndex host) const {
    auto found = peers_.find(host);
    return found != peers_.end() && found->second->was_connected;
}

void Mesh::forget(HostIndex host) {
    peers_.erase(host);
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
            bytes += link->queued_bytes();
    }
    return bytes;
}

std::size_t Mesh::queued_bytes() const {
    std::size_t bytes = unsent_bytes();
    for (const auto &[host, p] : peers_)
        bytes += p->queue_bytes;
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

// --- the listening side ---------------------------------------------------------------------------

void Mesh::accept(UniqueFd fd, const PeerAddress &from) {
    std::uint64_t id = next_id_++;
    // Those that were invited come as strangers too, and must not push each other out.
    if (auto gone = limits_.add(id, from.source(), awaited_)) {
        if (*gone == id)
            return log_.debug("a connection from {} was closed: too many are being looked at", from.text());
        strangers_.erase(*gone);
    }
    auto stranger = std::make_unique<Stranger>();
    stranger->from = from;
    stranger->link = std::make_unique<Link>(
        loop_, std::move(fd), settings_.transport_dead_after,
        Link::Callbacks{[this, id](std::uint8_t type, Bytes payload) { on_hello(id, type, payload); },
                        [this, id](Error why) { drop_stranger(id, why); }});
    stranger->timer = loop_.after(
        stranger_patience, [this, id] { drop_stranger(id, error(ErrorKind::timeout, "it did not introduce itself")); });
    strangers_.emplace(id, std::move(stranger));
}

void Mesh::drop_stranger(std::uint64_t id, const Error &why) {
    auto found = strangers_.find(id);
    if (found == strangers_.end())
        return;
    log_.debug("a connection from {} was closed: {}", found->second->from.text(), why.text);
    strangers_.erase(found);
    limits_.remove(id);
}

void Mesh::refuse_stranger(std::uint64_t id, const Error &why) {
    if (auto missed = refused_.admit(loop_.now()))
        log_.warning("a connection from {} was refused: {}{}", strangers_.at(id)->from.text(), why.text,
                     not_logged(*missed));
    drop_stranger(id, why);
}

void Mesh::on_hello(std::uint64_t id, std::uint8_t type, const Bytes &payload) {
    auto found = strangers_.find(id);
    if (found == strangers_.end())
        return;
    if (type != wire::Hello::type || found->second->verifying)
        return drop_stranger(id, error(ErrorKind::invalid, "its first frame is no Hello"));
    auto hello = wire::decode<wire::Hello>(payload);
    if (!hello)
        return drop_stranger(id, hello.failure());
    found->second->verifying = true;
    limits_.spare(id);
    found->second->timer = loop_.after(handshake_patience, [this, id] {
        drop_stranger(id, error(ErrorKind::timeout, "its proof could not be checked in time"));
    });
    std::weak_ptr<bool> alive = alive_;
    authenticator_->verify(std::move(hello->proof), [this, alive, id](Result<Bytes> statement) {
        if (alive.expired() || !strangers_.contains(id))
            return;
        if (!statement)
            return refuse_stranger(id, statement.failure());
        auto intro = wire::decode<wire::Introduction>(*statement);
        if (!intro || intro->step_key != step_key_ || intro->listener != self_ || intro->dialer >= host_count_ ||
            intro->dialer == self_ || intro->listener_cookie != cookie_ || intro->reply != 0 ||
            intro->secret.size() != secret_size)
            return drop_stranger(id, error(ErrorKind::denied, "its proof is for something else"));
        HostIndex dialer = intro->dialer;
        auto answer = introduction(dialer, self_, cookie_, intro->dialer_nonce, true);
        auto proved = [this, alive, id, dialer, hello = *intro, answer](Result<Bytes> proof) {
            if (alive.expired())
                return;
            auto found = strangers_.find(id);
            if (found == strangers_.end())
                return;
            if (!proof) {
                log_.error("cannot answer host {}: {}", dialer, proof.failure().text);
                return drop_stranger(id, proof.failure());
            }
            auto link = std::move(found->second->link);
            strangers_.erase(found);
            limits_.remove(id);
            link->send(wire::Welcome::type, share(wire::encode(wire::Welcome{std::move(*proof)})));
            set_keys(*link, dialer, hello, answer);
            established(dialer, std::move(link));
        };
        authenticator_->prove(wire::encode(answer), std::move(proved));
    });
}

// --- the dialing side -----------------------------------------------------------------------------

void Mesh::on_contact(const Bytes &message) {
    auto contact = Contact::decode(message);
    if (!contact) {
        log_.warning("{}", contact.failure().text);
        return;
    }
    HostIndex host = contact->host;
    if (host >= host_count_ || host == self_) {
        log_.warning("contact message: host {} is not one of the {} hosts", host, host_count_);
        return;
    }
    Peer &p = peer(host);
    if (p.gone || !p.links.empty() || p.dial)
        return;
    p.dial = std::make_unique<Dial>(dialing_);
    p.dial->contact = std::move(*contact);
    dial_next(host);
}

static bool socket_address(const Bytes &text, std::uint16_t port, sockaddr_storage &out, socklen_t &length) {
    out = {};
    auto *v4 = reinterpret_cast<sockaddr_in *>(&out);
    auto *v6 = reinterpret_cast<sockaddr_in6 *>(&out);
    if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        length = sizeof *v4;
        return true;
    }
    if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        length = sizeof *v6;
        return true;
    }
    return false;
}

void Mesh::dial_next(HostIndex host) {
    Peer &p = peer(host);
    Dial &dial = *p.dial;
    dial.link.reset();
    dial.watch.reset();
    dial.fd.reset();
    dial.introduced = false;
    dial.attempt = next_id_++;
    if (!dial.proof.empty())
        return dial_address(host);
    // Before the connection is made: the other side lets go first of who says nothing.
    dial.hello = introduction(self_, host, dial.contact.cookie, random_bytes(16), false);
    dial.timer = loop_.after(handshake_patience, [this, host] {
        arm_deadline(host);
        dial_failed(host, error(ErrorKind::timeout, "no proof within {} s", handshake_patience.count()));
    });
    std::weak_ptr<bool> alive = alive_;
    auto statement = wire::encode(dial.hello);
    authenticator_->prove(statement, [this, alive, host, attempt = dial.attempt](Result<Bytes> proof) {
        if (alive.expired())
            return;
        Peer &p = peer(host);
        if (!p.dial || p.dial->attempt != attempt)
            return;
        if (!proof) {
            log_.error("cannot introduce myself to host {}: {}", host, proof.failure().text);
            arm_deadline(host);
            p.dial->timer = loop_.after(redial_pause, [this, host] { dial_next(host); });
            return;
        }
        p.dial->proof = std::move(*proof);
        dial_address(host);
    });
}

// The next one that there is, with the proof.
void Mesh::dial_address(HostIndex host) {
    Dial &dial = *peer(host).dial;
    while (dial.next_address < dial.contact.addresses.size()) {
        const Bytes &text = dial.contact.addresses[dial.next_address++];
        sockaddr_storage address;
        socklen_t length = 0;
        if (!socket_address(text, dial.contact.port, address, length))
            continue;
        UniqueFd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!fd)
            continue;
        if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 && errno != EINPROGRESS)
            continue;
        dial.fd = std::move(fd);
        dial.timer = loop_.after(address_patience, [this, host] {
            dial_failed(host, error(ErrorKind::timeout, "no answer within {} s", address_patience.count()));
        });
        dial.watch = loop_.watch(dial.fd.get(), EventLoop::writable, [this, host](unsigned) { dial_connected(host); });
        return;
    }
    log_.debug("host {} cannot be reached at any of the {} addresses it gave; once more", host,
               dial.contact.addresses.size());
    // Once more, until the deadline: the refusal may pass, and no second contact message comes.
    dial.next_address = 0;
    arm_deadline(host);
    dial.timer = loop_.after(redial_pause, [this, host] { dial_next(host); });
}

void Mesh::dial_failed(HostIndex host, const Error &why) {
    Peer &p = peer(host);
    if (!p.dial)
        return;
    log_.debug("dialing host {}: {}", host, why.text);
    dial_next(host);
}

void Mesh::dial_connected(HostIndex host) {
    Dial &dial = *peer(host).dial;
    int failure = 0;
    socklen_t length = sizeof failure;
    getsockopt(dial.fd.get(), SOL_SOCKET, SO_ERROR, &failure, &length);
    if (failure != 0)
        return dial_failed(host, system_error("connect", failure));
    dial.watch.reset();
    dial.link = std::make_unique<Link>(
        loop_, std::move(dial.fd), settings_.transport_dead_after,
        Link::Callbacks{[this, host](std::uint8_t type, Bytes payload) { on_welcome(host, type, payload); },
                        [this, host](Error why) { dial_failed(host, why); }});
    dial.timer = loop_.after(handshake_patience, [this, host] {
        dial_failed(host, error(ErrorKind::timeout, "no Welcome within {} s", handshake_patience.count()));
    });
    dial.introduced = true;
    dial.link->send(wire::Hello::type, share(wire::encode(wire::Hello{std::exchange(dial.proof, Bytes())})));
}

void Mesh::on_welcome(HostIndex host, std::uint8_t type, const Bytes &payload) {
    Dial &dial = *peer(host).dial;
    if (type != wire::Welcome::type)
        return dial_failed(host, error(ErrorKind::invalid, "its first frame is no Welcome"));
    auto welcome = wire::decode<wire::Welcome>(payload);
    if (!welcome)
        return dial_failed(host, welcome.failure());
    // The listener takes the link for open and may send at once; that waits for the verdict.
    dial.link->hold();
    dial.timer.reset();
    std::uint64_t attempt = dial.attempt;
    std::weak_ptr<bool> alive = alive_;
    authenticator_->verify(std::move(welcome->proof), [this, alive, host, attempt](Result<Bytes> statement) {
        if (alive.expired())
            return;
        Peer &p = peer(host);
        if (!p.dial || p.dial->attempt != attempt || !p.dial->link)
            return;
        auto intro = statement ? wire::decode<wire::Introduction>(*statement) : statement.failure();
        auto wanted = p.dial->hello; // but for what the other side adds
        wanted.reply = 1;
        if (intro) {
            wanted.secret = intro->secret;
            wanted.wants_tags = intro->wants_tags;
        }
        if (!intro || intro->secret.size() != secret_size || *statement != wire::encode(wanted)) {
            log_.warning("host {} did not prove that it belongs to this step", host);
            return dial_failed(host, error(ErrorKind::denied, "no valid proof"));
        }
        auto link = std::move(p.dial->link);
        set_keys(*link, host, p.dial->hello, wanted);
        p.dial.reset();
        established(host, std::move(link));
    });
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
