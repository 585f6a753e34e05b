// Tools on other hosts, of this step's user, or of another one to whom the site gives everything on this job; or of
// this step's user, who does something for another one (desk/desk_runs.h). A
// desk (desk/desk_server.h) takes their connections on its host and relays them over a link of its own to this
// daemon, which hands them to libpmix as those of this host are: so tools have here what they have there, and
// libpmix' server hears nothing of other hosts.
//
// The desk has the RM bring its call; this daemon dials, and both prove to be of the same user, as the daemons of a
// step do. A desk that the rules refuse, that does not keep to the form or does not read what it is sent is closed. Of
// the connections that tools.max_connections allows, all desks together have half. Which tools may come that way, and
// what they may do, is the rules' business: they are asked with the address that the connection leads to. Of a tool
// that has come to its desk from a third host, by the gate there, they are asked with that address as well, which only
// the desk knows: it has what both are given, so that a desk that lies gains nothing.
#pragma once

#include "server-glue/step/step_context.h"
#include "server-glue/tool_access/relay.h"
#include "server-glue/tool_access/step_tools.h"

#include <map>

namespace pmixhost {

class StepDesks final : public StepService {
  public:
    static constexpr std::size_t most = 16;          // desks at once
    static constexpr std::size_t most_of_others = 4; // of them for other users
    StepDesks(StepContext &context, StepTools &tools)
        : StepService(context.services), context_(context), tools_(tools) {}

    // An encoded wire::DeskCall. One that is malformed, or one too many, is logged and dropped.
    void called(std::string_view call);

    TimePoint next_time() const override { return next_look_; }
    void on_time(TimePoint now) override;
    // What libpmix has answered goes out, unless its tool is slow to read: who ended the job is told that it did.
    bool has_unsent() override;

  private:
    struct Desk {
        std::unique_ptr<Mesh> mesh;
        std::unique_ptr<Relay> relay;
        ToolOrigin tools;                                         // of its tools, once it has asked
        std::optional<std::pair<uid_t, policy::Action>> asked_by; // who has asked its tools, of this user, for what
        Bytes key;
        enum class State { called, asked, welcome, refused } state = State::called;
        TimePoint deadline; // until it must be welcome, or have gone
    };
    using Id = std::uint64_t;
    bool take(Desk &desk, std::uint8_t type, const Bytes &payload);
    void on_message(Id id, std::uint8_t type, const Bytes &payload);
    void drop(Id id, const std::string &why);
    std::size_t relayed(bool of_others) const;
    void on_gone(Id id);
    bool ask(Desk &desk, std::uint8_t type, const Bytes &payload);
    std::optional<Result<void>> may_come(const Desk &desk);
    void greet(Desk &desk);
    bool open(Desk &desk, std::uint64_t connection, ToolOrigin tool, pid_t pid);
    bool open_from(Desk &desk, const wire::RelayOpenFrom &message);
    static bool is_for_others(const Desk &desk) { return desk.tools.asker || desk.asked_by; }

    StepContext &context_;
    StepTools &tools_;
    std::map<Id, Desk> desks_;
    Id next_ = 1;
    TimePoint next_look_ = TimePoint::max(); // whether those that have asked can be answered
    RateLimit refused_;
    TimePoint sends_until_ = TimePoint::max(); // at the end
};

} // namespace pmixhost
