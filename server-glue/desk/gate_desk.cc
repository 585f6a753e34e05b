// See gate_desk.h.
#include "server-glue/desk/gate_desk.h"

#include "common/rendezvous/desk_word.h"
#include "common/text/printable.h"
#include "server-glue/gate/desk_channel.h"
#include "server-glue/guard/remote_hello.h"

#include <algorithm>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

using namespace std::chrono_literals;

// For the list of steps and for their answers. A tool's library waits for longer.
static constexpr Duration step_patience = 8s;
// A list serves the tools that come so soon after it, and the next one waits for that: each tool of a flood would ask
// the resource manager.
static constexpr Duration list_lasts = 1s;
static constexpr Duration say_again = 100ms; // what the channel had no room for

Result<std::unique_ptr<GateDesk>> GateDesk::open(Start start) {
    auto fail = [&start](Error why) {
        say(start.channel.get(), desk_failed(why));
        return why;
    };
    if (!start.module.own_steps || !start.module.call_step)
        return fail(error(ErrorKind::unsupported, "the backend {} does not tell which jobs run", start.module.name));
    auto owners = SocketOwners::open();
    if (!owners)
        return fail(owners.failure());
    return std::unique_ptr<GateDesk>(new GateDesk(std::move(start), std::move(*owners)));
}

GateDesk::GateDesk(Start start, SocketOwners owners)
    : start_(std::move(start)), owners_(std::move(owners)),
      visits_(start_.loop, start_.log, start_.settings, start_.module), runs_(start_.loop, start_.log, start_.pmixhost),
      lobbies_({start_.loop, start_.log, start_.settings, start_.module.name, start_.pmixhostd,
                [this](const std::string &why) { say(start_.channel.get(), "refused " + one_line(why)); },
                [this](const std::string &what) { tell(what); }}),
      remote_(start_.loop,
              {[this](RemoteTools::Tool tool) {
                   take_in({{std::move(tool.connection), std::move(tool.address), std::move(tool.first)}, {}});
               },
               [this](const std::string &why) { say(start_.channel.get(), "refused " + one_line(why)); },
               [](const std::string &message, const std::string &address) {
                   return identify_remote(message, address, Use::again);
               },
               [this](int connection, const std::string &address, uid_t user) {
                   return kernel_agrees(owners_, connection, address, user);
               }}),
      calls_(start_.loop, 4) {
    watch_ = start_.loop.watch(start_.channel.get(), EventLoop::readable, [this](unsigned) { on_gate(); });
    before_waiting_ = start_.loop.before_waiting([this] { before_waiting(); });
    say(start_.channel.get(), "ready");
}

void GateDesk::on_gate() {
    auto got = receive_descriptor(start_.channel.get(), MSG_DONTWAIT);
    if (got && !*got)
        return;
    if (!got || (*got)->bytes.empty()) {
        watch_.reset();
        return start_.on_end();
    }
    ++given_;
    if (!(*got)->fd)
        return;
    if ((*got)->bytes == tool_word)
        return take(std::move((*got)->fd));
    if ((*got)->bytes == remote_tool_word)
        return remote_.take(std::move((*got)->fd));
    auto wish = parse_visit((*got)->bytes);
    if (wish && wish->run)
        runs_.take(std::move((*got)->fd), std::move(*wish));
    else if (wish)
        visits_.take(std::move((*got)->fd), *wish);
}

void GateDesk::take(UniqueFd tool) {
    // The gate has asked the same, and is not believed.
    auto owner = owners_.peer_of(tool.get());
    if (!owner || owner->uid != ::geteuid())
        return;
    take_in({{std::move(tool)}, {}});
}

void GateDesk::take_in(Tool tool) {
    if (tools_.size() >= start_.settings.tools_max_connections) {
        say(start_.channel.get(), "refused too many tools wait (tools.max_connections)");
        return;
    }
    tool.deadline = start_.loop.now() + step_patience;
    tools_.push_back(std::move(tool));
    find_step();
}

void GateDesk::find_step() {
    if (tools_.empty() || listing_ || again_)
        return;
    if (Duration left = list_lasts - (start_.loop.now() - listed_); left > Duration::zero()) {
        if (auto choice = choice_.choice(); !choice || choice->ok())
            return settle();
        // The user may have started a job meanwhile.
        again_ = start_.loop.after(left, [this] {
            again_.reset();
            find_step();
        });
        return;
    }
    listing_ = true;
    calls_.run({}, start_.loop.now() + step_patience, start_.module.own_steps,
               [this](const Result<std::vector<std::string>> &steps) { on_steps(steps); });
}

void GateDesk::on_steps(const Result<std::vector<std::string>> &steps) {
    listing_ = false;
    listed_ = start_.loop.now(); // also where that has failed
    if (!steps) {
        if (!settle_without_list())
            refuse_all(steps.failure().text);
        return;
    }
    // One that ends keeps its tools until its daemon has gone.
    for (const auto &gone : choice_.on_list(*steps, busy_steps(), start_.loop.now()))
        servers_.erase(gone);
    call_steps();
    settle();
}

std::set<std::string> GateDesk::busy_steps() const {
    std::set<std::string> busy;
    for (const auto &[step, server] : servers_) {
        if (server->tools() > 0)
            busy.insert(step);
    }
    return busy;
}

void GateDesk::call_steps() {
    for (auto called = choice_.to_call(); !called.empty(); called = choice_.to_call()) {
        for (const auto &step : called)
            open_step(step);
    }
}

void GateDesk::open_step(const std::string &step) {
    const auto id = next_server_++;
    auto desk = DeskServer::open(
        {start_.loop, start_.log, start_.settings,
         start_.authenticator ? start_.authenticator() : make_munge_authenticator(start_.loop, ::getuid()), nullptr,
         UniqueFd(),
         [call = start_.module.call_step, settings = start_.settings, step](const std::string &message) {
             return call(settings, step, message);
         },
         [this, step](const std::string &) {
             choice_.on_serving(step);
             settle();
         },
         [this, id](const Error &) { ending_.erase(id); }, std::nullopt, std::nullopt,
         [this, id, step](const Error &why) {
             auto server = servers_.find(step);
             if (server == servers_.end() || !server->second->is_ending())
                 return; // it is another one, or is not needed any more
             ending_[id] = std::move(server->second);
             servers_.erase(server);
             choice_.on_failure(step, why, start_.loop.now());
             call_steps();
             settle();
         }});
    if (desk)
        servers_[step] = std::move(*desk);
    else
        choice_.on_failure(step, desk.failure(), start_.loop.now());
}

void GateDesk::settle() {
    if (tools_.empty() || listing_ || again_)
        return;
    if (auto choice = choice_.choice())
        serve(*choice);
}

// The way to the only step that there was is open, and it ends with the step. Who has started another one since then is
// led to the first all the same: until the resource manager is there again, nobody finds that one.
bool GateDesk::settle_without_list() {
    auto choice = choice_.choice();
    bool is_open = choice && choice->ok() && servers_.contains(**choice);
    if (is_open)
        serve(*choice);
    return is_open;
}

void GateDesk::serve(const Result<std::string> &choice) {
    if (!choice && choice.failure().kind == ErrorKind::not_found && has_lobbies()) {
        for (Tool &tool : std::exchange(tools_, {}))
            lobbies_.take(std::move(tool.connection));
        return;
    }
    if (!choice)
        return refuse_all(choice.failure().text);
    auto server = servers_.find(*choice);
    while (!tools_.empty()) {
        DeskTool &tool = tools_.front().connection;
        bool taken = server != servers_.end() &&
                     (tool.address.empty()
                          ? server->second->take_tool(std::move(tool.fd))
                          : server->second->take_remote_tool(std::move(tool.fd), tool.address, std::move(tool.first)));
        if (!taken)
            say(start_.channel.get(), "refused too many tools are connected (tools.max_connections)");
        tools_.pop_front();
    }
}

bool GateDesk::has_lobbies() const {
    return start_.settings.gate_spawn == "on" && start_.module.create_lobby;
}

void GateDesk::refuse_all(const std::string &why) {
    if (!tools_.empty())
        say(start_.channel.get(), "refused " + one_line(why));
    tools_.clear();
}

// The gate takes what says more for no desk of its own.
void GateDesk::tell(const std::string &what) {
    if (auto missed = lines_.admit(start_.loop.now()))
        say(start_.channel.get(), fmt::format("tells {}{}", one_line(what), not_logged(*missed)));
}

void GateDesk::before_waiting() {
    for (const auto &step : choice_.surplus(busy_steps()))
        servers_.erase(step);
    lobbies_.tidy();
    while (!tools_.empty() && start_.loop.now() >= tools_.front().deadline) {
        choice_.on_late();
        if (listing_)
            settle_without_list();
        else
            settle();
        if (tools_.empty())
            break;
        say(start_.channel.get(), "refused the steps of the user have not answered in time");
        tools_.pop_front();
    }
    // What is not told makes the gate take this process for one that hangs, or that is busy.
    if (taken_told_ != given_ && say(start_.channel.get(), fmt::format("took {}", given_)))
        taken_told_ = given_;
    std::size_t relayed = visits_.size() + runs_.size() + remote_.size() + lobbies_.size();
    for (const auto &[step, server] : servers_)
        relayed += server->tools();
    for (const auto &[id, server] : ending_)
        relayed += server->tools();
    bool quiet = tools_.empty() && relayed == 0;
    if (quiet && quiet_told_ != given_ && say(start_.channel.get(), fmt::format("quiet {}", given_)))
        quiet_told_ = given_;
    timer_.reset();
    if (taken_told_ != given_ || (quiet && quiet_told_ != given_))
        timer_ = start_.loop.after(say_again, [] {});
    else if (!tools_.empty())
        timer_ = start_.loop.after(std::max(tools_.front().deadline - start_.loop.now(), Duration(1ms)), [] {});
}

} // namespace pmixhost
