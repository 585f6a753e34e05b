// See step_desks.h.
#include "server-glue/tool_access/step_desks.h"

#include "common/wire/relay_messages.h"
#include "server-glue/library/pmix_library.h"

#include <cerrno>
#include <sys/socket.h>

namespace pmixhost {

namespace {

// In the two meshes of a desk and a daemon.
constexpr HostIndex daemon_host = 0, desk_host = 1;
constexpr std::size_t shortest_key = 32;
constexpr auto look_again = std::chrono::milliseconds(20);

} // namespace

void StepDesks::called(std::string_view call) {
    auto refuse = [this](const std::string &why) {
        if (auto missed = refused_.admit(context_.now()))
            context_.log.warning("a desk has called: {}{}", why, not_logged(*missed));
    };
    auto message = wire::decode<wire::DeskCall>(Bytes(call));
    if (!message)
        return refuse(message.failure().text);
    if (message->key.size() < shortest_key)
        return refuse("its key is too short");
    if (context_.ending || desks_.size() >= most)
        return refuse(fmt::format("{} desks are here already", desks_.size()));
    Id id = next_++;
    auto mesh = Mesh::create(
        context_.loop, context_.log, context_.settings, message->key, daemon_host, 2, context_.authenticator(),
        {[this, id](HostIndex, std::uint8_t type, Bytes payload) { on_message(id, type, payload); },
         [this, id](HostIndex, Mesh::Gone, const Error &) { context_.loop.post([this, id] { on_gone(id); }); },
         nullptr},
        Mesh::Listening::no);
    if (!mesh)
        return refuse(mesh.failure().text);
    Desk &desk = desks_[id];
    desk.mesh = std::move(*mesh);
    desk.relay =
        std::make_unique<Relay>(context_.loop, [mesh = desk.mesh.get()](std::uint8_t type, SharedBytes payload) {
            if (mesh->connected(desk_host))
                mesh->send(desk_host, type, std::move(payload));
        });
    desk.mesh->on_contact(message->contact);
    if (!desk.mesh->wanted()) // no contact that makes sense, which the mesh has logged
        desks_.erase(id);
}

void StepDesks::on_gone(Id id) {
    if (auto gone = desks_.find(id); gone != desks_.end()) {
        context_.log.info("the desk on {} is gone", gone->second.from);
        desks_.erase(gone);
    }
}

void StepDesks::on_message(Id id, std::uint8_t type, const Bytes &payload) {
    auto found = desks_.find(id);
    if (found == desks_.end())
        return;
    Desk &desk = found->second;
    auto with = [&]<typename Message>(Message, auto body) {
        if (auto message = wire::decode<Message>(payload))
            body(std::move(*message));
        else
            context_.log.warning("{}", message.failure().text);
    };
    switch (type) {
    case wire::DeskHello::type:
        desk.asked = true;
        desk.from = desk.mesh->address_of(desk_host);
        next_look_ = context_.now();
        break;
    case wire::RelayOpen::type:
        with(wire::RelayOpen(), [&](const auto &message) { open(desk, message.id); });
        break;
    case wire::RelayBytes::type:
        with(wire::RelayBytes(), [&](auto message) { desk.relay->on_bytes(std::move(message)); });
        break;
    case wire::RelayTaken::type:
        with(wire::RelayTaken(), [&](const auto &message) { desk.relay->on_taken(message); });
        break;
    case wire::RelayEnd::type:
        with(wire::RelayEnd(), [&](const auto &message) { desk.relay->on_end(message); });
        break;
    default:
        context_.log.warning("the desk on {} sent a message of unknown type {}", desk.from, type);
    }
}

// The rules may still be read, and the library may still start.
void StepDesks::on_time(TimePoint now) {
    if (now < next_look_)
        return;
    next_look_ = TimePoint::max();
    for (auto &[id, desk] : desks_) {
        if (desk.asked)
            greet(desk);
        if (desk.asked)
            next_look_ = now + look_again;
    }
}

void StepDesks::greet(Desk &desk) {
    auto may = tools_.may_come_from(desk.from);
    if (!may || (*may && !context_.library))
        return;
    desk.asked = false;
    desk.welcome = may->ok();
    wire::DeskGreeting greeting;
    if (!*may)
        greeting.refusal = may->failure().text;
    greeting.nspace = context_.step.nspace;
    greeting.server_nspace = context_.step.server_nspace();
    greeting.server_rank = context_.self();
    greeting.version = text_of(library_version());
    desk.mesh->send(desk_host, wire::DeskGreeting::type, share(wire::encode(greeting)));
    context_.log.info("the desk on {} {}", desk.from, may->ok() ? "relays tools" : "is refused: " + greeting.refusal);
}

void StepDesks::open(Desk &desk, std::uint64_t connection) {
    int ends[2];
    if (desk.welcome && !desk.relay->has(connection) && desk.relay->size() < context_.settings.tools_max_connections &&
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0) {
        desk.relay->add(connection, UniqueFd(ends[0]));
        return context_.library->admit_relayed(UniqueFd(ends[1]), desk.from);
    }
    desk.mesh->send(desk_host, wire::RelayEnd::type, share(wire::encode(wire::RelayEnd{connection})));
}

} // namespace pmixhost
