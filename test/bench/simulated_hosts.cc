// See simulated_hosts.h; and the event loop, links, listener and slow calls that daemons have there.
#include "test/bench/simulated_hosts.h"

#include "common/base/begin_connect.h"
#include "common/loop/slow_calls.h"
#include "server-glue/spawn/child_job.h"

#include <utility>

namespace pmixhost {

SimulatedHosts::SimulatedHosts(HostIndex size)
    : network(size, [](HostIndex, HostIndex, std::uint8_t, const SharedBytes &) {}), hosts(size) {}

void SimulatedHosts::make_slow(HostIndex host) {
    network.hosts[host].work_of_one = 100 * SimulatedNetwork::work;
    hosts[host].munge_one = 100 * munge_time;
}

void SimulatedHosts::ask_munge(HostIndex host, std::function<void()> done) {
    Host &one = hosts[host];
    ++one.munge_calls;
    one.munged_until = std::max(now(), one.munged_until) + one.munge_one;
    network.at(one.munged_until, std::move(done));
}

// --- proofs ---------------------------------------------------------------------------------------

namespace {

// As munge: a text that is longer than what it says, and takes munged's time.
class SimulatedMunge final : public Authenticator {
  public:
    SimulatedMunge(SimulatedHosts &hosts, HostIndex host) : hosts_(hosts), host_(host) {}
    void prove(Bytes statement, Done done) override {
        Bytes proof = fmt::format("{:6}", statement.size()) + statement;
        proof.resize(SimulatedHosts::credential_bytes(statement.size()), '=');
        hosts_.ask_munge(host_, [proof = std::move(proof), done] { done(proof); });
    }
    void verify(Bytes proof, Done done) override {
        Bytes statement = proof.substr(6, std::stoul(proof.substr(0, 6)));
        hosts_.ask_munge(host_, [statement = std::move(statement), done] { done(statement); });
    }

  private:
    SimulatedHosts &hosts_;
    const HostIndex host_;
};

} // namespace

std::unique_ptr<Authenticator> SimulatedHosts::authenticator(HostIndex host) {
    return std::make_unique<SimulatedMunge>(*this, host);
}

// --- Slurm's calls --------------------------------------------------------------------------------

Result<void> SimulatedHosts::forward(HostIndex from, HostIndex to, std::string message) {
    call_ = [this, from, to, message = std::move(message)](std::function<void(Result<void>)> done) {
        ++hosts[from].forwards;
        auto answer = [this, from, to, done](Result<void> result) {
            ask_munge(to, [this, from, to, done, result] {
                network.send_bytes(to, from, call_bytes,
                                   [this, from, done, result] { ask_munge(from, [done, result] { done(result); }); });
            });
        };
        auto arrives = [this, to, message, answer] {
            ask_munge(to, [this, to, message, answer] {
                network.at(now() + slurmd_time, [this, to, message, answer] {
                    if (!hosts[to].on_contact)
                        return answer(error(ErrorKind::not_found, "nobody listens on host {}", to));
                    hosts[to].on_contact(message);
                    answer({});
                });
            });
        };
        ask_munge(from, [this, from, to, bytes = message.size() + call_bytes, arrives] {
            network.send_bytes(from, to, bytes, arrives);
        });
    };
    return {};
}

std::optional<std::function<void(std::function<void(Result<void>)>)>> SimulatedHosts::take_call() {
    return std::exchange(call_, std::nullopt);
}

// --- connections ----------------------------------------------------------------------------------

// The dialer's descriptor names the listener's port, and the listener's the dialer.
SimulatedHosts::Place SimulatedHosts::other(Place one) {
    constexpr int accepted = first_simulated_fd + (1 << 16);
    auto [host, fd] = one;
    if (fd < accepted)
        return {static_cast<HostIndex>(fd - first_simulated_fd - first_port), accepted + static_cast<int>(host)};
    return {static_cast<HostIndex>(fd - accepted), first_simulated_fd + first_port + static_cast<int>(host)};
}

void SimulatedHosts::connect(HostIndex host, int fd, std::function<void()> then) {
    network.at(now() + 2 * SimulatedNetwork::latency, [this, host, fd, then = std::move(then)] {
        auto [to, accepted] = other({host, fd});
        ends_[{host, fd}] = {};
        ends_[{to, accepted}] = {};
        if (hosts[to].listener) {
            ++hosts[host].connections;
            ++hosts[to].connections;
            hosts[to].listener->on_accept()(UniqueFd(accepted), PeerAddress());
        } else {
            ends_[{to, accepted}].closed = true;
        }
        then();
    });
}

void SimulatedHosts::add_link(HostIndex host, int fd, Link *link) {
    End &one = ends_[{host, fd}];
    one.link = link;
    for (auto &[type, payload] : std::exchange(one.early, {}))
        link->take(type, *payload);
    if (ends_[other({host, fd})].closed)
        network.at(now(), [this, host, fd] {
            if (Link *there = ends_[{host, fd}].link)
                there->closed();
        });
}

void SimulatedHosts::remove_link(HostIndex host, int fd) {
    End &one = ends_[{host, fd}];
    one.link = nullptr;
    one.closed = true;
    network.at(now() + SimulatedNetwork::latency, [this, host, fd] {
        if (Link *link = ends_[other({host, fd})].link)
            link->closed();
    });
}

void SimulatedHosts::send(HostIndex host, int fd, std::uint8_t type, SharedBytes payload) {
    Place to = other({host, fd});
    network.send_bytes(host, to.first, payload->size() + SimulatedNetwork::frame_bytes, [this, to, type, payload] {
        End &one = ends_[to];
        if (one.link)
            one.link->take(type, *payload);
        else if (!one.closed)
            one.early.emplace_back(type, payload);
    });
}

// --- what daemons use -----------------------------------------------------------------------------

TimePoint EventLoop::now() const {
    return hosts.now();
}

void EventLoop::post(Callback callback) {
    hosts.network.at(now(), std::move(callback));
}

static void call_once(const std::shared_ptr<EventLoop::Callback> &what) {
    if (auto callback = std::exchange(*what, nullptr))
        callback();
}

EventLoop::Handle EventLoop::after(Duration delay, Callback callback) {
    auto what = std::make_shared<Callback>(std::move(callback));
    hosts.network.at(now() + delay, [what] { call_once(what); });
    return Handle(what);
}

EventLoop::Handle EventLoop::watch(int fd, unsigned interest, FdCallback callback) {
    auto what = std::make_shared<Callback>([callback = std::move(callback), interest] { callback(interest); });
    hosts.connect(self, fd, [what] { call_once(what); });
    return Handle(what);
}

bool SlowCalls::take_call(TimePoint deadline, std::function<void(Result<void>)> done) {
    auto call = loop_.hosts.take_call();
    if (!call)
        return false;
    auto once = std::make_shared<std::function<void(Result<void>)>>(std::move(done));
    auto answer = [once](Result<void> result) {
        if (auto callback = std::exchange(*once, nullptr))
            callback(std::move(result));
    };
    (*call)(answer);
    loop_.hosts.network.at(deadline, [answer] { answer(error(ErrorKind::timeout, "it has not ended in time")); });
    return true;
}

Result<std::unique_ptr<Listener>> Listener::open(EventLoop &loop, PortRange, OnAccept on_accept) {
    auto port = static_cast<std::uint16_t>(SimulatedHosts::first_port + loop.self);
    std::unique_ptr<Listener> listener(new Listener(loop, port, std::move(on_accept)));
    loop.hosts.hosts[loop.self].listener = listener.get();
    return listener;
}

Listener::~Listener() {
    loop_.hosts.hosts[loop_.self].listener = nullptr;
}

Result<std::unique_ptr<ChildJob>> ChildJob::start(EventLoop &loop, const JobCommand &, Input, Callbacks callbacks) {
    std::unique_ptr<ChildJob> job(new ChildJob(loop, callbacks));
    loop.hosts.start_child(callbacks.on_event);
    return job;
}

void ChildJob::signal(int number) {
    loop_.post([on_end = callbacks_.on_end, number] { on_end(number, "ended"); });
}

Link::Link(EventLoop &loop, UniqueFd fd, Duration, Callbacks callbacks)
    : loop_(loop), fd_(std::move(fd)), callbacks_(std::move(callbacks)) {
    loop_.hosts.add_link(loop_.self, fd_.get(), this);
}

Link::~Link() {
    *alive_ = false;
    loop_.hosts.remove_link(loop_.self, fd_.get());
}

void Link::send(std::uint8_t type, SharedBytes payload) {
    loop_.hosts.send(loop_.self, fd_.get(), type, std::move(payload));
}

void Link::take(std::uint8_t type, Bytes payload) {
    if (held_)
        waiting_.emplace_back(type, std::move(payload));
    else
        callbacks_.on_message(type, std::move(payload));
}

// The mesh calls it when both sides have proved who they are.
void Link::release() {
    held_ = false;
    loop_.hosts.opened(loop_.self);
    auto alive = alive_;
    while (*alive && !held_ && !waiting_.empty()) {
        auto [type, payload] = std::move(waiting_.front());
        waiting_.pop_front();
        auto on_message = callbacks_.on_message;
        on_message(type, std::move(payload));
    }
    if (*alive && ended_)
        closed();
}

void Link::closed() {
    ended_ = true;
    if (held_)
        return;
    auto on_closed = std::exchange(callbacks_.on_closed, nullptr);
    if (on_closed)
        on_closed(error(ErrorKind::unreachable, "the other side has closed the connection"));
}

} // namespace pmixhost
