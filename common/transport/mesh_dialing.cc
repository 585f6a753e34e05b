// The dialing side of a mesh: a contact message came, and the host that sent it is connected to.
#include "common/base/begin_connect.h"
#include "common/base/random_bytes.h"
#include "common/text/printable.h"
#include "common/transport/mesh_parts.h"

#include <sys/socket.h>
#include <utility>

namespace pmixhost {

using namespace std::chrono_literals;

static constexpr auto address_patience = 3s;
static constexpr auto redial_pause = 500ms;
// Longer than the other side waits for munge: else that could take the link for open when this side has given it up.
static constexpr auto welcome_patience = 2 * handshake_patience;

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
    if (p.gone || !p.links.empty() || (p.dial && p.dial->contact.cookie == contact->cookie))
        return;
    // One with another cookie is void (Mesh::leave), or its process has gone.
    p.dial = std::make_unique<Dial>(dialing_);
    p.dial->contact = std::move(*contact);
    dial_next(host);
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
    // One is asked for, however long it takes: more of them would wait for each other.
    dial.timer = loop_.after(handshake_patience, [this, host] {
        arm_deadline(host);
        dial_hindered(host, error(ErrorKind::timeout, "munge has not answered within {} s", handshake_patience.count()),
                      false);
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
            dial_hindered(host, proof.failure(), false);
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
        UniqueFd fd = begin_connect(text, dial.contact.port);
        if (!fd) {
            int why = errno;
            dial_hindered(host, system_error("cannot connect to " + printable(text), why), true);
            continue;
        }
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
    dial.in_vain = true;
    arm_deadline(host);
    dial.timer = loop_.after(redial_pause, [this, host] { dial_next(host); });
}

// What is said of it when the time is over; that nobody answers says no more than that it is.
void Mesh::dial_hindered(HostIndex host, const Error &why, bool on_the_way) {
    log_.debug("dialing host {}: {}", host, why.text);
    Peer &p = peer(host);
    p.hindered_on_the_way = on_the_way;
    p.hindered = on_the_way && why.kind == ErrorKind::timeout ? std::string() : why.text;
}

void Mesh::dial_failed(HostIndex host, const Error &why) {
    Peer &p = peer(host);
    if (!p.dial)
        return;
    dial_hindered(host, why, !p.dial->introduced);
    if (p.dial->given_up && p.queue.empty()) // else something is wanted of it since
        return p.dial.reset();
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
    dial.timer = loop_.after(welcome_patience, [this, host] {
        dial_failed(host, error(ErrorKind::timeout, "no Welcome within {} s", welcome_patience.count()));
    });
    dial.introduced = true;
    dial.in_vain = false;
    dial.link->send(wire::Hello::type,
                    share(wire::encode(wire::Hello{wire::wire_version(), std::exchange(dial.proof, Bytes())})));
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
    dial.timer = loop_.after(welcome_patience, [this, host] {
        dial_failed(host, error(ErrorKind::timeout, "its proof could not be checked in time"));
    });
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

} // namespace pmixhost
