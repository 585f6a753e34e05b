// Tools of other hosts on their way through a desk of the gate (gate_desk.h). The gate has asked munge whose each is,
// and is not believed: the desk asks again. As munge calls a credential good that the gate has shown it before, the
// desk remembers those that it has seen, and takes none twice. So a gate that was taken over could hand over what this
// user's tools have sent to it, and nothing else.
//
// Then the first message is taken, and made one that states what was found out (with_native_identity() of hello.h): the
// job's libpmix need not ask munge, which counts a credential once on a host, and could not on the gate's own.
//
// All in the loop's thread; munged is asked in others.
#pragma once

#include "common/base/unique_fd.h"
#include "common/loop/slow_calls.h"
#include "common/transport/credential.h"
#include "server-glue/core/recent_names.h"

#include <functional>
#include <map>
#include <string>

namespace pmixhost {

class RemoteTools {
  public:
    struct Tool {
        UniqueFd connection;
        std::string address; // where it is, in numbers
        Bytes first;         // the message that was taken, as the job's libpmix is to read it
    };
    struct Port {
        std::function<void(Tool)> on_tool;
        std::function<void(const std::string &why)> refuse; // it is closed
        // These two as the gate's (gate/remote_door.h).
        std::function<Result<Identity>(const std::string &message, const std::string &address)> identify;
        std::function<Result<void>(int connection, const std::string &address, uid_t user)> agrees;
    };
    static constexpr std::size_t most = 64;               // whose user is asked for at a time
    static constexpr std::size_t most_remembered = 16384; // credentials: more tools than a user has while one is good
    RemoteTools(EventLoop &loop, Port port) : loop_(loop), port_(std::move(port)), calls_(loop, most, {2, 2}) {}
    RemoteTools(const RemoteTools &) = delete;

    // What the gate has sent with remote_tool_word: its first message must be there as a whole.
    void take(UniqueFd connection);
    std::size_t size() const { return asked_.size(); } // of which munge is asked

  private:
    using Id = std::uint64_t;
    struct Asked {
        UniqueFd connection;
        std::string address, message;
    };
    void on_answer(Id id, const Result<Identity> &who);

    EventLoop &loop_;
    Port port_;
    RecentNames seen_{most_remembered};
    std::map<Id, Asked> asked_;
    Id next_ = 1;
    SlowCalls calls_;
};

} // namespace pmixhost
