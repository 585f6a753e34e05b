// The steps that a session's services believe to be connected with (session/session_peers.h), and what is sent to them.
#pragma once

#include "server-glue/session/session_service.h"

#include "test/unit/check.h"

namespace pmixhost {

struct FakeSession : SessionPeers {
    struct Sent {
        StepId step;
        HostIndex host;
        std::uint8_t type;
        SharedBytes payload;
    };
    struct Step {
        Bytes nspace;
        std::vector<HostIndex> hosts;
    };
    std::map<StepId, Step> connected;
    std::set<std::pair<StepId, HostIndex>> broken; // nothing can be sent there
    std::map<StepId, std::size_t> waiting;
    std::vector<std::pair<std::set<Bytes>, std::function<void(TimePoint, CalledSteps)>>> calls;
    std::vector<Sent> sent;
    TimePoint now = TimePoint() + std::chrono::seconds(1000);
    Log log{2, LogLevel::error, "test"};
    SessionMessages messages{log};

    std::map<Bytes, StepId> steps() const override {
        std::map<Bytes, StepId> all;
        for (const auto &[id, step] : connected)
            all.emplace(step.nspace, id);
        return all;
    }
    StepId step_of(const Bytes &nspace) const override {
        auto all = steps();
        auto found = all.find(nspace);
        return found == all.end() ? 0 : found->second;
    }
    std::vector<HostIndex> hosts_of(StepId step) const override {
        auto found = connected.find(step);
        return found == connected.end() ? std::vector<HostIndex>() : found->second.hosts;
    }
    Bytes nspace_of(StepId step) const override {
        auto found = connected.find(step);
        return found == connected.end() ? Bytes() : found->second.nspace;
    }
    using SessionPeers::send;
    bool send(StepId step, HostIndex host, std::uint8_t type, SharedBytes payload) override {
        if (broken.contains({step, host}))
            return false;
        sent.push_back({step, host, type, std::move(payload)});
        return true;
    }
    std::size_t waiting_bytes(StepId step, HostIndex) const override {
        auto found = waiting.find(step);
        return found == waiting.end() ? 0 : found->second;
    }
    void call_steps(const std::set<Bytes> &known, std::function<void(TimePoint, CalledSteps)> done) override {
        calls.emplace_back(known, std::move(done));
    }

    SessionMember member(StepId step, HostIndex host = 0) const { return {step, host, nspace_of(step)}; }
    // A host of that step sends a message, which the service hears of and takes.
    template <typename Message>
    void says(SessionService &service, StepId step, HostIndex host, const Message &message) {
        service.heard(now, member(step, host));
        messages.hand_on(now, member(step, host), "a step", Message::type, wire::encode(message));
    }
    // The last that was sent, which must be such a message.
    template <typename Message> Message last() const {
        assert_false(sent.empty());
        assert_int_equal(sent.back().type, Message::type);
        return *wire::decode<Message>(*sent.back().payload);
    }
    void host_goes(SessionService &service, StepId step, HostIndex host) {
        SessionMember gone = member(step, host);
        std::erase(connected.at(step).hosts, host);
        service.on_host_gone(now, gone, true);
        if (!connected.at(step).hosts.empty())
            return;
        service.on_step_gone(now, step, gone.nspace);
        connected.erase(step);
    }
    void pass(SessionService &service, Duration time) { // as a timer does
        TimePoint end = now + time;
        while (service.next_time() <= end) {
            now = std::max(now, service.next_time());
            service.on_time(now);
        }
        now = end;
    }
};

} // namespace pmixhost
