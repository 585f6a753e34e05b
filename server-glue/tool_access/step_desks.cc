// See step_desks.h.
#include "server-glue/tool_access/step_desks.h"

#include "common/wire/relay_messages.h"
#include "server-glue/library/pmix_library.h"

#include <algorithm>
#include <climits>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using namespace std::chrono_literals;

// In the two meshes of a desk and a daemon.
constexpr HostIndex daemon_host = 0, desk_host = 1;
constexpr std::size_t shortest_key = 32;
constexpr Duration look_again = 20ms;
constexpr Duration asking_patience = 40s; // the desk's own is shorter
constexpr Duration last_word = 2s;        // to read why it is refused
// For answers that are under way when the step ends; the job's end waits for it.
constexpr Duration last_answers = 500ms;
// For a desk beside what its connections may have under way.
constexpr std::size_t small_change = 1u << 20;

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
    for (const auto &[id, desk] : desks_) {
        if (desk.key == message->key)
            return; // once more: it is being dialed
    }
    if (context_.ending || desks_.size() >= most)
        return refuse(fmt::format("{} desks are here already", desks_.size()));
    Id id = next_++;
    auto mesh = Mesh::create(
        context_.loop, context_.log, context_.settings, message->key, daemon_host, 2, context_.authenticator(),
        {[this, id](HostIndex, std::uint8_t type, Bytes payload) { on_message(id, type, payload); },
         [this, id](HostIndex, Mesh::Gone, const Error &why) { drop(id, why.text); }, nullptr},
        Mesh::Listening::no);
    if (!mesh)
        return refuse(mesh.failure().text);
    Desk &desk = desks_[id];
    desk.key = std::move(message->key);
    desk.deadline = context_.now() + asking_patience;
    desk.mesh = std::move(*mesh);
    desk.relay =
        std::make_unique<Relay>(context_.loop, [mesh = desk.mesh.get()](std::uint8_t type, SharedBytes payload) {
            if (mesh->connected(desk_host))
                mesh->send(desk_host, type, std::move(payload));
        });
    desk.mesh->on_contact(message->contact);
    if (!desk.mesh->wanted()) // no contact that makes sense, which the mesh has logged
        desks_.erase(id);
    next_look_ = std::min(next_look_, context_.now() + asking_patience);
}

// It is posted, because this may come from within the mesh.
void StepDesks::drop(Id id, const std::string &why) {
    context_.loop.post([this, id, why] {
        if (auto gone = desks_.find(id); gone != desks_.end()) {
            if (auto missed = refused_.admit(context_.now()))
                context_.log.info("the desk on {} is gone: {}{}", gone->second.tools.from, why, not_logged(*missed));
            desks_.erase(gone);
        }
    });
}

bool StepDesks::has_unsent() {
    if (!context_.ending || desks_.empty())
        return false;
    if (tools_.library_sends())
        return true;
    if (sends_until_ == TimePoint::max()) {
        sends_until_ = context_.now() + last_answers;
        next_look_ = std::min(next_look_, sends_until_); // so that the loop wakes then, and this is asked again
        context_.loop.post([] {});                       // and services are asked for that once more
    }
    return context_.now() < sends_until_ && std::any_of(desks_.begin(), desks_.end(), [](const auto &entry) {
               return entry.second.mesh->has_unsent() || entry.second.relay->has_unread();
           });
}

std::size_t StepDesks::relayed(bool of_others) const {
    std::size_t count = 0;
    for (const auto &[id, desk] : desks_)
        count += !of_others || is_for_others(desk) ? desk.relay->size() : 0;
    return count;
}

void StepDesks::on_message(Id id, std::uint8_t type, const Bytes &payload) {
    auto found = desks_.find(id);
    if (found == desks_.end() || found->second.state == Desk::State::refused)
        return;
    Desk &desk = found->second;
    bool reads =
        desk.mesh->unsent_bytes() <= context_.settings.tools_max_connections * wire::relay_window + small_change;
    if (reads && take(desk, type, payload))
        return;
    desk.state = Desk::State::refused; // it may send more before it is closed
    drop(id, reads ? fmt::format("its message of type {} makes no sense now", type) : "it does not read");
}

bool StepDesks::ask(Desk &desk, std::uint8_t type, const Bytes &payload) {
    // Where the connection has ended already, nobody can say where it led to.
    // A lobby's is on its own host, and calls it by a socket of their own.
    desk.tools.from = context_.step.is_lobby ? "127.0.0.1" : desk.mesh->address_of(desk_host);
    desk.state = Desk::State::asked;
    if (type == wire::DeskHelloFor::type) {
        auto hello = wire::decode<wire::DeskHelloFor>(payload);
        if (!hello)
            return false;
        if (hello->user != ::geteuid())
            desk.tools.asker = hello->user;
    } else if (type == wire::DeskHelloAsked::type) {
        auto hello = wire::decode<wire::DeskHelloAsked>(payload);
        if (!hello || hello->action >= std::size(policy::all_actions))
            return false;
        desk.asked_by.emplace(hello->user, policy::all_actions[hello->action]);
    } else if (type != wire::DeskHello::type) {
        return false;
    }
    return desk.tools.is_relayed();
}

// False where it does not keep to the form.
bool StepDesks::take(Desk &desk, std::uint8_t type, const Bytes &payload) {
    auto with = [&]<typename Message>(Message, auto body) {
        auto message = wire::decode<Message>(payload);
        return message && body(std::move(*message));
    };
    if (desk.state == Desk::State::called) {
        next_look_ = context_.now();
        return ask(desk, type, payload);
    }
    if (desk.state != Desk::State::welcome)
        return false;
    switch (type) {
    case wire::RelayOpen::type:
        return with(wire::RelayOpen(), [&](const auto &message) {
            return open(desk, message.id, desk.tools, message.pid <= INT_MAX ? static_cast<pid_t>(message.pid) : 0);
        });
    case wire::RelayOpenFrom::type:
        return with(wire::RelayOpenFrom(), [&](const auto &message) { return open_from(desk, message); });
    case wire::RelayBytes::type:
        return with(wire::RelayBytes(), [&](auto message) {
            desk.relay->on_bytes(std::move(message));
            return true;
        });
    case wire::RelayTaken::type:
        return with(wire::RelayTaken(), [&](const auto &message) {
            desk.relay->on_taken(message);
            return true;
        });
    case wire::RelayEnd::type:
        return with(wire::RelayEnd(), [&](const auto &message) {
            desk.relay->on_end(message);
            return true;
        });
    default:
        return false;
    }
}

// The rules may still be read, and the library may still start.
void StepDesks::on_time(TimePoint now) {
    if (now < next_look_)
        return;
    next_look_ = now < sends_until_ ? sends_until_ : TimePoint::max();
    for (auto &[id, desk] : desks_) {
        if (desk.state == Desk::State::asked)
            greet(desk);
        if (desk.state == Desk::State::welcome)
            continue;
        if (now >= desk.deadline) {
            drop(id, "it has had its time");
            continue;
        }
        bool asked = desk.state == Desk::State::asked;
        next_look_ = std::min(next_look_, asked ? std::min(desk.deadline, now + look_again) : desk.deadline);
    }
}

// Nothing: it is not known yet.
std::optional<Result<void>> StepDesks::may_come(const Desk &desk) {
    auto is_there = [](const auto &entry) {
        return entry.second.state == Desk::State::welcome && is_for_others(entry.second);
    };
    if (is_for_others(desk) &&
        std::count_if(desks_.begin(), desks_.end(), is_there) >= static_cast<std::ptrdiff_t>(most_of_others))
        return Result<void>(error(ErrorKind::limit,
                                  "tools of {} other users are at this job already; next: once more, when one has gone",
                                  most_of_others));
    return desk.asked_by ? tools_.may_come_for(desk.tools, desk.asked_by->first, desk.asked_by->second)
                         : tools_.may_come_from(desk.tools);
}

void StepDesks::greet(Desk &desk) {
    auto may = may_come(desk);
    bool is_there = context_.library && context_.library->admits();
    if (may && *may && !is_there)
        context_.need_library();
    if (!may || (*may && !is_there))
        return;
    desk.state = may->ok() ? Desk::State::welcome : Desk::State::refused;
    wire::DeskGreeting greeting;
    if (!*may) {
        greeting.refusal = may->failure().text;
        desk.deadline = context_.now() + last_word;
    }
    greeting.nspace = context_.step.nspace;
    greeting.server_nspace = context_.step.server_nspace();
    greeting.server_rank = context_.self();
    greeting.version = text_of(library_version());
    desk.mesh->send(desk_host, wire::DeskGreeting::type, share(wire::encode(greeting)));
    if (auto missed = refused_.admit(context_.now()))
        context_.log.info("the desk on {}{} {}{}", desk.tools.from,
                          is_for_others(desk)
                              ? fmt::format(", for uid {},", desk.asked_by ? desk.asked_by->first : *desk.tools.asker)
                              : std::string(),
                          may->ok() ? "relays tools" : "is refused: " + greeting.refusal, not_logged(*missed));
}

bool StepDesks::open_from(Desk &desk, const wire::RelayOpenFrom &message) {
    auto address = policy::parse_address(message.from);
    if (!address || is_for_others(desk))
        return false;
    ToolOrigin tool = desk.tools;
    tool.by = std::exchange(tool.from, address->text());
    return open(desk, message.id, std::move(tool), 0);
}

bool StepDesks::open(Desk &desk, std::uint64_t connection, ToolOrigin tool, pid_t pid) {
    if (desk.relay->has(connection))
        return false;
    std::size_t most_relayed = std::max<std::size_t>(1, context_.settings.tools_max_connections / 2);
    bool has_room = relayed(false) < most_relayed && (!is_for_others(desk) || relayed(true) < (most_relayed + 1) / 2);
    int ends[2];
    if (has_room && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0) {
        desk.relay->add(connection, UniqueFd(ends[0]));
        context_.library->admit_relayed(UniqueFd(ends[1]), std::move(tool), pid);
    } else {
        desk.mesh->send(desk_host, wire::RelayEnd::type, share(wire::encode(wire::RelayEnd{connection})));
    }
    return true;
}

} // namespace pmixhost
