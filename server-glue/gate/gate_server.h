// The gate: the standing service of a host where users have tools, to which tools come that ask for the system's
// server (PMIX_CONNECT_TO_SYSTEM). It listens on loopback, where the kernel says whose each connection is, asks the
// site's rules, and hands the connection to a desk of that user (desk_channel.h), which finds the user's job. It
// reads no byte of what these say, contains no libpmix, and runs as a user that owns nothing else.
//
// Tools of other hosts come by a door of their own (remote_door.h), where munge says whose each is.
//
// A tool that is refused cannot be told why, as libpmix has no way for it. Its user asks at the door of the others
// (below), by `pmixhost doctor` (refused_tools.h).
//
// Users to whom the rules give everything on jobs of others come by a door of their own (visit_door.h), and are
// handed to the desk of the job's user; likewise those to whom they give what a command takes that this desk is to run.
//
// Who decides what: tool_gate.h. All in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "common/peer/socket_owner.h"
#include "server-glue/gate/gate_rules.h"
#include "server-glue/gate/refused_tools.h"
#include "server-glue/gate/remote_door.h"
#include "server-glue/gate/tool_gate.h"
#include "server-glue/gate/visit_door.h"
#include "server-glue/gate/visit_limits.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace pmixhost {

class GateServer {
  public:
    struct Start {
        EventLoop &loop;
        Log &log;
        GateRules::Read rules;
        std::string config;
        UniqueFd listener;                     // of the loopback network
        std::vector<UniqueFd> for_other_hosts; // sockets that listen; none: their tools are not served
        UniqueFd starter;                      // starter.h
        std::function<void(Error)> on_end;
    };
    static Result<std::unique_ptr<GateServer>> open(Start start);
    GateServer(const GateServer &) = delete;
    // Reads the configuration again. Tools that are connected stay.
    void reload();

  private:
    struct Waiting { // a tool, or a visitor
        StrangerFd fd;
        std::string word;             // to the desk
        std::optional<uid_t> visitor; // who it is
        std::string from;             // of a tool on another host: its address
        bool by_rules = false;        // these refuse it, and the log has it
    };
    struct Desk {
        StrangerFd channel; // a user's, who may have sent descriptors along (common/base/hurry.h)
        EventLoop::Handle watch;
    };
    GateServer(Start start, SocketOwners owners);
    void open_door();
    void use(const Settings &settings);
    void watch_tools();
    void accept();
    void open_remote_door();
    void on_tool(Waiting tool, uid_t user, const policy::Location &from);
    struct Coming { // a visitor of whom the rules are asked
        ToolGate::Id id = 0;
        VisitDoor::Visitor visitor;
    };
    void on_visitor(VisitDoor::Visitor visitor);
    Result<void> hold(ToolGate::Id id, const VisitDoor::Visitor &visitor);
    void give_up(const std::vector<ToolGate::Id> &visits);
    void forget_those_who_have_gone(const std::vector<ToolGate::Id> &visits);
    void look_after_visits();
    void judge(Coming coming);
    void judge_next(uid_t asker);
    void turn_away(const Coming &coming, const Error &verdict);
    void take_visitor(Coming coming, GateRules::Given given);
    void start_desk(uid_t user);
    void end_desk(uid_t user);
    bool hand_over(ToolGate::Id id, uid_t user);
    void refuse(ToolGate::Id id, uid_t user, const std::string &why);
    void on_word(uid_t user);
    void throw_out(uid_t user, const std::string &why);
    void desk_gone(uid_t user, const std::string &why);

    Start start_;
    SocketOwners owners_;
    GateRules rules_;
    ToolGate gate_;
    std::map<ToolGate::Id, Waiting> waiting_;
    // Of a visitor for whom the rules are being asked, those of the same user that wait behind: one at a time, so that
    // nobody takes all threads in which accounts are looked up.
    std::map<uid_t, std::deque<Coming>> judged_;
    // Each visit's connection once more, to see who has asked go, whatever the desk says.
    std::map<ToolGate::Id, StrangerFd> held_;
    VisitLimits limits_;
    std::map<uid_t, Desk> desks_;
    ToolGate::Id next_id_ = 1;
    RefusedTools refused_tools_;
    UserLines refused_, said_, thrown_out_;
    UserLines visits_;          // of which each user may have as many as lines
    RateLimit roots_, nobodys_; // lines of the log
    EventLoop::Handle watch_, timer_, before_waiting_, starter_watch_, look_again_;
    std::unique_ptr<VisitDoor> door_;    // null: none could be made, or is wanted
    std::unique_ptr<RemoteDoor> remote_; // null: none is wanted
    TimePoint armed_ = TimePoint::max();
};

} // namespace pmixhost
