// See gate_server.h.
#include "server-glue/gate/gate_server.h"

#include "common/base/fd_pair.h"
#include "common/base/no_room.h"
#include "common/rendezvous/desk_word.h"
#include "common/text/printable.h"
#include "server-glue/gate/desk_channel.h"
#include "server-glue/gate/starter.h"
#include "server-glue/guard/remote_hello.h"

#include <algorithm>
#include <fcntl.h>
#include <poll.h>

namespace pmixhost {

namespace {

using namespace std::chrono_literals;

constexpr int tools_in_a_turn = 16;
constexpr Duration look_again_in = 100ms; // without a free descriptor
constexpr Duration look_after_in = 10s;   // visits that are over are no one's in the way for so long

// Also after shutdown(2): then its desk takes it for gone as well.
bool has_gone(int connection) {
    pollfd looked{connection, POLLRDHUP, 0};
    return ::poll(&looked, 1, 0) > 0 && (looked.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

ToolGate::Limits limits_of(const Settings &settings) {
    ToolGate::Limits limits;
    limits.desks = settings.gate_max_desks;
    limits.waiting = settings.gate_max_waiting;
    limits.idle = settings.gate_idle;
    return limits;
}

} // namespace

Result<std::unique_ptr<GateServer>> GateServer::open(Start start) {
    auto owners = SocketOwners::open();
    if (!owners)
        return owners.failure();
    return std::unique_ptr<GateServer>(new GateServer(std::move(start), std::move(*owners)));
}

GateServer::GateServer(Start start, SocketOwners owners)
    : start_(std::move(start)), owners_(std::move(owners)),
      rules_(start_.loop, start_.log, start_.rules, start_.config, [this](const Settings &settings) { use(settings); }),
      gate_(limits_of(start_.rules.settings),
            {[this](uid_t user) { start_desk(user); }, [this](uid_t user) { end_desk(user); },
             [this](ToolGate::Id id, uid_t user) { return hand_over(id, user); },
             [this](ToolGate::Id id, uid_t user, const std::string &why) { refuse(id, user, why); }}),
      limits_(start_.rules.settings.gate_max_desks) {
    watch_tools();
    open_door();
    open_remote_door();
    before_waiting_ = start_.loop.before_waiting([this] {
        TimePoint next = gate_.next_time();
        if (next == armed_)
            return;
        armed_ = next;
        timer_.reset();
        if (next != TimePoint::max())
            timer_ = start_.loop.after(std::max(next - start_.loop.now(), Duration(1ms)), [this] {
                armed_ = TimePoint::max();
                gate_.on_time(start_.loop.now());
            });
    });
    starter_watch_ = start_.loop.watch(start_.starter.get(), EventLoop::readable, [this](unsigned) {
        starter_watch_.reset();
        start_.on_end(error(ErrorKind::system, "the process that starts desks has ended"));
    });
}

void GateServer::open_door() {
    const std::string &directory = start_.rules.settings.gate_door;
    if (directory.empty())
        return;
    auto door = VisitDoor::open(
        start_.loop, directory, [this](VisitDoor::Visitor visitor) { on_visitor(std::move(visitor)); },
        [this](uid_t user) { return refused_tools_.of(user, start_.loop.now()); });
    if (door)
        door_ = std::move(*door);
    else
        start_.log.warning("who may do something with jobs of others is not served (gate.door): {}",
                           door.failure().text);
}

void GateServer::on_visitor(VisitDoor::Visitor visitor) {
    if (!visits_.admit(visitor.asker, start_.loop.now())) {
        say(visitor.connection.get(),
            desk_failed(error(ErrorKind::limit, "you come too often; next: once more, in a minute")));
        return;
    }
    // The desk looks at the words itself; but nothing starts for such as no desk takes.
    if (auto checked = visitor.wish.run ? check_run(*visitor.wish.run) : Result<void>(); !checked) {
        say(visitor.connection.get(), desk_failed(checked.failure()));
        return;
    }
    Coming coming{next_id_++, std::move(visitor)};
    uid_t asker = coming.visitor.asker;
    if (auto may = hold(coming.id, coming.visitor); !may) {
        say(coming.visitor.connection.get(), desk_failed(may.failure()));
        start_.log.warning("tools: refused: uid {}, pid {}, for a job of uid {}: {}", asker, coming.visitor.pid,
                           coming.visitor.wish.user, may.failure().text); // a few a minute: visits_
        return;
    }
    auto [behind, is_first] = judged_.try_emplace(asker);
    if (is_first)
        judge(std::move(coming));
    else
        behind->second.push_back(std::move(coming));
}

Result<void> GateServer::hold(ToolGate::Id id, const VisitDoor::Visitor &visitor) {
    forget_those_who_have_gone(limits_.of(visitor.asker));
    UniqueFd copy(::fcntl(visitor.connection.get(), F_DUPFD_CLOEXEC, 3));
    if (!copy)
        return error(ErrorKind::limit, "the gate of this host has no descriptor left; next: once more, later");
    if (auto may = limits_.come(id, visitor.asker, visitor.wish.user); !may)
        return may;
    held_[id] = std::move(copy);
    if (!look_again_)
        look_after_visits();
    return {};
}

void GateServer::give_up(const std::vector<ToolGate::Id> &visits) {
    for (ToolGate::Id id : visits) {
        limits_.gone(id);
        held_.erase(id);
    }
}

void GateServer::forget_those_who_have_gone(const std::vector<ToolGate::Id> &visits) {
    for (ToolGate::Id id : visits) {
        if (auto held = held_.find(id); held != held_.end() && has_gone(held->second.get()))
            give_up({id});
    }
}

void GateServer::look_after_visits() {
    look_again_ = start_.loop.after(look_after_in, [this] {
        look_again_.reset();
        std::vector<ToolGate::Id> all;
        for (const auto &[id, connection] : held_)
            all.push_back(id);
        forget_those_who_have_gone(all);
        if (!held_.empty())
            look_after_visits();
    });
}

void GateServer::judge(Coming coming) {
    const auto &visitor = coming.visitor;
    uid_t asker = visitor.asker;
    GateRules::Question question{asker, visitor.wish.user, visitor.pid, visitor.wish.job};
    if (visitor.wish.run)
        question.action = *action_of(*visitor.wish.run); // which has been looked at
    auto kept = std::make_shared<Coming>(std::move(coming));
    rules_.judge(question, [this, kept, asker](const Result<GateRules::Given> &verdict) {
        if (verdict)
            take_visitor(std::move(*kept), *verdict);
        else
            turn_away(*kept, verdict.failure());
        judge_next(asker);
    });
}

void GateServer::judge_next(uid_t asker) {
    auto behind = judged_.find(asker);
    if (behind->second.empty()) {
        judged_.erase(behind);
        return;
    }
    Coming next = std::move(behind->second.front());
    behind->second.pop_front();
    judge(std::move(next));
}

void GateServer::turn_away(const Coming &coming, const Error &verdict) {
    const auto &visitor = coming.visitor;
    std::string why;
    uid_t owner = visitor.wish.user;
    bool by_rules = verdict.kind == ErrorKind::denied;
    if (by_rules && visitor.wish.run) {
        auto action = policy::name_of(*action_of(*visitor.wish.run));
        why =
            fmt::format("the site's rules (tools.policy) do not give uid {} {}, which {} takes, on jobs of uid {} from "
                        "this host; next: pmixhost policy explain --user {} --owner {} --action {}",
                        visitor.asker, action, visitor.wish.run->command, owner, visitor.asker, owner, action);
    } else if (by_rules) {
        why = fmt::format("the site's rules (tools.policy) do not give uid {} everything on jobs of uid {} from this "
                          "host; next: pmixhost policy explain --user {} --owner {} --action spawn",
                          visitor.asker, owner, visitor.asker, owner);
    }
    if (!by_rules) // a few a minute of each user: visits_
        start_.log.warning("tools: refused: uid {}, who wants to come to jobs of uid {}: {}", visitor.asker, owner,
                           one_line(verdict.text));
    say(visitor.connection.get(), desk_failed(by_rules ? error(ErrorKind::denied, "{}", why) : verdict));
    give_up({coming.id});
}

void GateServer::take_visitor(Coming coming, GateRules::Given given) {
    ToolGate::Id id = coming.id;
    auto visitor = std::move(coming.visitor);
    uid_t owner = visitor.wish.user;
    Visit judged{visitor.asker, visitor.wish.job};
    if (given == GateRules::Given::action)
        judged.run = std::move(visitor.wish.run);
    if (judged.run) // a few a minute of each user: visits_
        start_.log.warning("for uid {}, pid {}, the desk of uid {} is to run: {}", visitor.asker, visitor.pid, owner,
                           text_of(*judged.run, judged.job));
    waiting_[id] = {std::move(visitor.connection), visit_word(judged), visitor.asker, "", false};
    if (gate_.arrived(id, owner, start_.loop.now()))
        gate_.judged(id, owner, {}, start_.loop.now());
}

void GateServer::reload() {
    rules_.reload();
}

void GateServer::use(const Settings &settings) {
    gate_.set_limits(limits_of(settings));
    limits_.set_desks(settings.gate_max_desks);
    if (auto level = parse_log_level(settings.log_level))
        start_.log.set_level(*level);
}

void GateServer::watch_tools() {
    watch_ = start_.loop.watch(start_.listener.get(), EventLoop::readable, [this](unsigned) { accept(); });
}

void GateServer::accept() {
    for (int i = 0; i < tools_in_a_turn; ++i) {
        UniqueFd fd(::accept4(start_.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) {
            if (is_no_room(errno))
                watch_ = start_.loop.after(look_again_in, [this] { watch_tools(); });
            return;
        }
        auto owner = owners_.peer_of(fd.get());
        if (!owner || owner->uid == 0) {
            std::string why = owner ? "root's tools have no desk; next: run the tool as the job's user"
                                    : "whose it is, the kernel does not say: " + owner.failure().text;
            if (owner)
                refused_tools_.note(0, why, start_.loop.now());
            if (auto missed = (owner ? roots_ : nobodys_).admit(start_.loop.now()))
                start_.log.warning("tools: refused: {}{}", why, not_logged(*missed));
            continue;
        }
        on_tool({std::move(fd), tool_word, std::nullopt, "", false}, owner->uid, policy::Location::here());
    }
}

void GateServer::on_tool(Waiting tool, uid_t user, const policy::Location &from) {
    ToolGate::Id id = next_id_++;
    waiting_[id] = std::move(tool);
    if (!gate_.arrived(id, user, start_.loop.now()))
        return;
    GateRules::Question question{user, user};
    question.from = from;
    rules_.judge(question, [this, id, user](const Result<GateRules::Given> &verdict) {
        if (auto waits = waiting_.find(id); waits != waiting_.end() && !verdict)
            waits->second.by_rules = verdict.failure().kind == ErrorKind::denied;
        gate_.judged(id, user, verdict ? Result<void>() : verdict.failure(), start_.loop.now());
    });
}

void GateServer::open_remote_door() {
    if (start_.for_other_hosts.empty())
        return;
    auto location_of = [](const std::string &address) {
        auto parsed = policy::parse_address(address);
        return parsed ? policy::Location::at(*parsed) : policy::Location();
    };
    remote_ = std::make_unique<RemoteDoor>(
        start_.loop, start_.log, std::move(start_.for_other_hosts),
        RemoteDoor::Port{
            [this, location_of](const std::string &address) { return rules_.may_anybody_come(location_of(address)); },
            [this, location_of](RemoteDoor::Tool tool) {
                auto from = location_of(tool.address);
                on_tool({std::move(tool.connection), remote_tool_word, std::nullopt, std::move(tool.address), false},
                        tool.user, from);
            },
            [](const std::string &message, const std::string &address) {
                return identify_remote(message, address, Use::first);
            },
            [this](int connection, const std::string &address, uid_t user) {
                return kernel_agrees(owners_, connection, address, user);
            }});
}

void GateServer::refuse(ToolGate::Id id, uid_t user, const std::string &why) {
    auto refused = waiting_.extract(id);
    std::string from = refused && !refused.mapped().from.empty() ? refused.mapped().from : "this host";
    if (refused && refused.mapped().visitor) {
        say(refused.mapped().fd.get(), desk_failed(error(ErrorKind::limit, "of uid {}: {}", user, why)));
        user = *refused.mapped().visitor;
    } else if (refused) {
        refused_tools_.note(user, fmt::format("from {}: {}", from, why), start_.loop.now());
    }
    give_up({id});
    if (refused && refused.mapped().by_rules)
        return; // which have said so
    if (auto missed = refused_.admit(user, start_.loop.now()))
        start_.log.warning("tools: refused: uid {}, from {}: {}{}", user, from, one_line(why), not_logged(*missed));
}

bool GateServer::hand_over(ToolGate::Id id, uid_t user) {
    auto desk = desks_.find(user);
    auto tool = waiting_.find(id);
    if (desk == desks_.end() || tool == waiting_.end() ||
        !send_descriptor(desk->second.channel.get(), tool->second.word, tool->second.fd.get()))
        return false;
    limits_.handed_over(id);
    waiting_.erase(tool);
    return true;
}

void GateServer::start_desk(uid_t user) {
    auto fail = [this, user](const Error &why) { start_.loop.post([this, user, why] { desk_gone(user, why.text); }); };
    auto ends = make_socket_pair(SOCK_SEQPACKET);
    if (!ends)
        return fail(ends.failure());
    if (auto asked = ask_for_desk(start_.starter.get(), user, ends->second.get()); !asked)
        return fail(asked.failure());
    start_.log.info("a desk of uid {} starts", user);
    int fd = ends->first.get();
    desks_[user] = {std::move(ends->first),
                    start_.loop.watch(fd, EventLoop::readable, [this, user](unsigned) { on_word(user); })};
}

void GateServer::end_desk(uid_t user) {
    start_.log.info("the desk of uid {} is told to leave", user);
    desks_.erase(user);
    give_up(limits_.at_desk_of(user));
}

void GateServer::on_word(uid_t user) {
    auto got = receive_word(desks_.at(user).channel.get());
    if (got && !*got)
        return;
    if (!got || (*got)->empty())
        return desk_gone(user, "it has ended without a word");
    auto word = parse_gate_word(**got);
    TimePoint now = start_.loop.now();
    if (!word && (*got)->starts_with("failed ")) // it ends by itself, and says why
        return desk_gone(user, one_line(word.failure().text));
    if (!word)
        return throw_out(user, one_line(word.failure().text));
    auto *line = std::get_if<DeskTells>(&*word);
    bool makes_sense = line ? gate_.counts_line(user, now) : gate_.counts_word(user);
    if (std::holds_alternative<DeskReady>(*word)) {
        makes_sense = makes_sense && gate_.on_ready(user, now);
    } else if (auto *took = std::get_if<DeskTook>(&*word)) {
        makes_sense = makes_sense && gate_.on_taken(user, took->given, now);
    } else if (auto *quiet = std::get_if<DeskQuiet>(&*word)) {
        auto missed = start_.log.enabled(LogLevel::info) ? said_.admit(user, now) : std::nullopt;
        if (missed) // what is not written uses up no lines
            start_.log.info("the desk of uid {} has no tools{}", user, not_logged(*missed));
        makes_sense = makes_sense && gate_.on_quiet(user, quiet->given, now);
    } else {
        if (auto *refused = std::get_if<DeskRefused>(&*word))
            refused_tools_.note(user, "by your desk: " + refused->why, now);
        if (auto missed = said_.admit(user, now))
            start_.log.warning("tools: {}uid {}, by the user's desk: {}{}", line ? "" : "refused: ", user,
                               one_line(line ? line->what : std::get<DeskRefused>(*word).why), not_logged(*missed));
    }
    if (!makes_sense)
        throw_out(user, "it says what no desk has to say, or too much: " + one_line(**got));
}

// All of the user's tools go with it, so the log has that at any level.
void GateServer::throw_out(uid_t user, const std::string &why) {
    if (auto missed = thrown_out_.admit(user, start_.loop.now()))
        start_.log.warning("the desk of uid {} is given up, and its tools with it: {}{}", user, why,
                           not_logged(*missed));
    desk_gone(user, why);
}

void GateServer::desk_gone(uid_t user, const std::string &why) {
    desks_.erase(user);
    give_up(limits_.at_desk_of(user));
    start_.log.info("the desk of uid {} is gone: {}", user, why);
    gate_.on_desk_gone(user, why, start_.loop.now());
}

} // namespace pmixhost
