// See desk_server.h.
#include "server-glue/desk/desk_server.h"

#include "common/base/no_room.h"
#include "common/base/random_bytes.h"
#include "common/rendezvous/desk_word.h"
#include "common/rendezvous/rendezvous_files.h"
#include "common/text/printable.h"
#include "common/wire/relay_messages.h"
#include "server-glue/core/central_roles.h"

#include <cerrno>
#include <ctime>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using namespace std::chrono_literals;

// In the two meshes of a desk and a daemon.
constexpr HostIndex daemon_host = 0, desk_host = 1;
// For the daemon to come and say that tools may come.
constexpr Duration greeting_patience = 30s;
// For the daemon to say its last, once its job has ended; what came is handed on behind that.
constexpr Duration farewell_patience = 3s;
constexpr int backlog = 64;
constexpr int accepts_at_once = 16;
constexpr Duration look_again = 100ms; // without a free descriptor

struct OnLoopback {
    UniqueFd fd;
    std::uint16_t port = 0;
};
Result<OnLoopback> listen_on_loopback() {
    OnLoopback out{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    if (!out.fd || ::bind(out.fd.get(), generic, length) != 0 || ::listen(out.fd.get(), backlog) != 0 ||
        ::getsockname(out.fd.get(), generic, &length) != 0)
        return system_error("a socket for tools", errno);
    out.port = ntohs(address.sin_port);
    return out;
}

} // namespace

Result<std::unique_ptr<DeskServer>> DeskServer::open(Start start) {
    auto owners = SocketOwners::open();
    if (!owners)
        return owners.failure();
    std::unique_ptr<DeskServer> desk(new DeskServer(std::move(start), std::move(*owners)));
    desk->key_ = random_bytes(32);
    auto mesh = Mesh::create(
        desk->start_.loop, desk->start_.log, desk->start_.settings, desk->key_, desk_host, 2,
        std::move(desk->start_.authenticator),
        {[raw = desk.get()](HostIndex, std::uint8_t type, Bytes payload) { raw->on_message(type, payload); },
         [raw = desk.get()](HostIndex, Mesh::Gone, const Error &why) {
             raw->end(raw->serves_
                          ? error(ErrorKind::unreachable, "the job has ended, or its host is lost: {}", why.text)
                          : why);
         },
         [raw = desk.get()](HostIndex, Bytes contact, TimePoint deadline, std::function<void(Result<void>)> done) {
             raw->call(std::move(contact), deadline, std::move(done));
         }});
    if (!mesh)
        return mesh.failure();
    desk->mesh_ = std::move(*mesh);
    desk->relay_ =
        std::make_unique<Relay>(desk->start_.loop, [mesh = desk->mesh_.get()](std::uint8_t type, SharedBytes payload) {
            if (mesh->connected(daemon_host))
                mesh->send(daemon_host, type, std::move(payload));
        });
    if (auto asker = desk->start_.asker)
        desk->mesh_->send(daemon_host, wire::DeskHelloFor::type, share(wire::encode(wire::DeskHelloFor{*asker})));
    else if (auto by = desk->start_.asked_by)
        desk->mesh_->send(daemon_host, wire::DeskHelloAsked::type,
                          share(wire::encode(wire::DeskHelloAsked{by->user, static_cast<std::uint8_t>(by->action)})));
    else
        desk->mesh_->send(daemon_host, wire::DeskHello::type, share(wire::encode(wire::DeskHello())));
    return desk;
}

void DeskServer::call(Bytes contact, TimePoint deadline, std::function<void(Result<void>)> done) {
    std::string message = std::string(desk_call) + wire::encode(wire::DeskCall{key_, std::move(contact)});
    calls_.run(
        {}, deadline, [call = start_.call_step, message = std::move(message)] { return call(message); },
        [this, done = std::move(done)](Result<void> called) {
            done(called);
            if (std::exchange(called_, called_ || called.ok()) || serves_)
                return; // of several calls one is enough
            if (called)
                await_greeting();
            else
                end(called.failure());
        });
}

void DeskServer::await_greeting() {
    patience_ = start_.loop.after(greeting_patience, [this] {
        end(error(ErrorKind::timeout,
                  "the job's daemon was called and has not come within {} s. Is there a firewall between its host and "
                  "this one? It must let the ports of transport.ports (pmixhost.conf) through",
                  std::chrono::duration_cast<std::chrono::seconds>(greeting_patience).count()));
    });
}

void DeskServer::on_message(std::uint8_t type, const Bytes &payload) {
    auto with = [&]<typename Message>(Message, auto body) {
        if (auto message = wire::decode<Message>(payload))
            body(std::move(*message));
        else
            start_.log.warning("{}", message.failure().text);
    };
    switch (type) {
    case wire::DeskGreeting::type:
        with(wire::DeskGreeting(), [&](const auto &greeting) {
            patience_.reset();
            if (auto serving = serve(greeting); !serving)
                end(serving.failure());
        });
        break;
    case wire::RelayBytes::type:
        with(wire::RelayBytes(), [&](auto message) { relay_->on_bytes(std::move(message)); });
        break;
    case wire::RelayTaken::type:
        with(wire::RelayTaken(), [&](const auto &message) { relay_->on_taken(message); });
        break;
    case wire::RelayEnd::type:
        with(wire::RelayEnd(), [&](const auto &message) { relay_->on_end(message); });
        break;
    default:
        start_.log.warning("the job's daemon sent a message of unknown type {}", type);
    }
}

Result<void> DeskServer::serve(const wire::DeskGreeting &greeting) {
    if (!greeting.refusal.empty())
        return error(ErrorKind::denied, "job {}{}{}", printable(greeting.nspace), lets_no_tools_in,
                     one_line(greeting.refusal));
    if (serves_ || leaves_)
        return {};
    if (start_.listener || !start_.tell)
        return take_tools(std::move(start_.listener), greeting.nspace);
    auto listening = listen_on_loopback();
    if (!listening)
        return listening.failure();
    RendezvousServer server{greeting.server_nspace,
                            greeting.server_rank,
                            fmt::format("tcp4://127.0.0.1:{}", listening->port),
                            greeting.version,
                            ::getpid(),
                            ::geteuid(),
                            ::getegid(),
                            std::time(nullptr)};
    // What the daemon says gets into a file of lines.
    for (const auto *text : {&greeting.nspace, &greeting.server_nspace, &greeting.version}) {
        if (text->empty() || text->find_first_of(std::string_view("/\n\0;", 4)) != text->npos)
            return error(ErrorKind::invalid, "the job's daemon says that its name is '{}'", printable(*text));
    }
    if (auto told = start_.tell(rendezvous_text(server)); !told)
        return told;
    return take_tools(std::move(listening->fd), greeting.nspace);
}

Result<void> DeskServer::take_tools(UniqueFd listener, const std::string &nspace) {
    serves_ = true;
    listener_ = std::move(listener);
    if (listener_)
        watch_tools();
    start_.on_serving(nspace);
    return {};
}

uid_t DeskServer::tools_user() const {
    return start_.asker.value_or(::geteuid());
}

void DeskServer::watch_tools() {
    watch_ = start_.loop.watch(listener_.get(), EventLoop::readable, [this](unsigned) { accept(); });
}

void DeskServer::accept() {
    for (int i = 0; i < accepts_at_once; ++i) {
        UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) {
            if (is_no_room(errno))
                watch_ = start_.loop.after(look_again, [this] { watch_tools(); });
            return;
        }
        auto owner = owners_.peer_of(fd.get());
        std::string refusal;
        if (!owner)
            refusal = owner.failure().text;
        else if (owner->uid != tools_user())
            refusal = fmt::format("a process of uid {}; only uid {} may connect here", owner->uid, tools_user());
        else if (is_full())
            refusal = fmt::format("{} tools are connected already", relay_->size());
        if (!refusal.empty()) {
            if (auto missed = refused_.admit(start_.loop.now()))
                start_.log.warning("a tool was refused: {}{}", refusal, not_logged(*missed));
            continue;
        }
        take_tool(std::move(fd));
    }
}

bool DeskServer::take_tool(UniqueFd fd) {
    if (!serves_ || is_full())
        return false;
    std::uint64_t id = next_id_++;
    auto owner = owners_.peer_of(fd.get());
    pid_t pid = owner ? holder_of(*owner).value_or(0) : 0;
    mesh_->send(daemon_host, wire::RelayOpen::type,
                share(wire::encode(wire::RelayOpen{id, static_cast<std::uint32_t>(pid)})));
    relay_->add(id, std::move(fd));
    return true;
}

bool DeskServer::take_remote_tool(UniqueFd fd, const std::string &address, Bytes ahead) {
    if (!serves_ || is_full())
        return false;
    std::uint64_t id = next_id_++;
    mesh_->send(daemon_host, wire::RelayOpenFrom::type, share(wire::encode(wire::RelayOpenFrom{id, address})));
    relay_->add(id, std::move(fd), std::move(ahead));
    return true;
}

void DeskServer::admit_nobody() {
    watch_.reset();
    listener_.reset();
    serves_ = false;
    leaves_ = true;
}

void DeskServer::leave() {
    if (is_ending_)
        return;
    admit_nobody();
    auto over = [this] { end(error(ErrorKind::unreachable, "who started the desk has gone")); };
    relay_->when_empty(over);
    if (relay_->size() > 0)
        patience_ = start_.loop.after(farewell_patience, over);
}

// It is posted, because this may come from within the mesh. The last that the daemon has said is for the tools.
void DeskServer::end(Error why) {
    patience_.reset();
    admit_nobody();
    if (std::exchange(is_ending_, true))
        return;
    if (start_.on_ending)
        start_.loop.post([on_ending = std::move(start_.on_ending), why] { on_ending(why); });
    relay_->finish([on_end = std::move(start_.on_end), why = std::move(why)] {
        if (on_end)
            on_end(why);
    });
}

} // namespace pmixhost
