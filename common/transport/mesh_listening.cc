// The listening side of a mesh: strangers become hosts when they have proved that they are.
#include "common/transport/mesh_parts.h"

#include <utility>

namespace pmixhost {

static constexpr auto stranger_patience = std::chrono::seconds(5);

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

// What munge has said may come too late for it.
bool Mesh::is_still_there(std::uint64_t stranger) {
    auto found = strangers_.find(stranger);
    if (found == strangers_.end())
        return false;
    if (!found->second->link)
        drop_stranger(stranger, error(ErrorKind::timeout, "munge was too slow"));
    return strangers_.contains(stranger);
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
    if (hello->wire_version != wire::wire_version())
        return refuse_stranger(id, error(ErrorKind::invalid,
                                         "it speaks another version of what is said between daemons; the same "
                                         "pmixhost must be on all hosts: wait until its installation is over"));
    found->second->verifying = true;
    // Also when it goes meanwhile, it is counted until munge has looked at what it said.
    found->second->link->hold();
    limits_.spare(id);
    // It goes then, and is still counted.
    found->second->timer = loop_.after(handshake_patience, [this, id] {
        Stranger &late = *strangers_.at(id);
        log_.debug("a connection from {} was closed: its proof could not be checked in time", late.from.text());
        late.link.reset();
    });
    std::weak_ptr<bool> alive = alive_;
    authenticator_->verify(std::move(hello->proof), [this, alive, id](Result<Bytes> statement) {
        if (alive.expired() || !is_still_there(id))
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
            if (alive.expired() || !is_still_there(id))
                return;
            if (!proof) {
                log_.error("cannot answer host {}: {}", dialer, proof.failure().text);
                return drop_stranger(id, proof.failure());
            }
            if (answer.listener_cookie != cookie_) // this side has left it meanwhile
                return drop_stranger(id, error(ErrorKind::denied, "its contact message is void"));
            auto link = std::move(strangers_.at(id)->link);
            strangers_.erase(id);
            limits_.remove(id);
            link->send(wire::Welcome::type, share(wire::encode(wire::Welcome{std::move(*proof)})));
            set_keys(*link, dialer, hello, answer);
            established(dialer, std::move(link));
        };
        authenticator_->prove(wire::encode(answer), std::move(proved));
    });
}

} // namespace pmixhost
