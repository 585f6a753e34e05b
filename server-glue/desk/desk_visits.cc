// See desk_visits.h.
#include "server-glue/desk/desk_visits.h"

#include "common/rendezvous/desk_word.h"
#include "server-glue/gate/desk_channel.h"

#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

// Of the process that has connected to the gate's door.
static Result<uid_t> user_of(int connection) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer)
        return system_error("SO_PEERCRED", errno);
    return peer.uid;
}

void DeskVisits::take(StrangerFd connection, const pmixhost::Visit &wish) {
    auto user = user_of(connection.get());
    if (!user || *user != wish.user)
        return hang_up(connection.get());
    if (visits_.size() >= most || !begun_.admit(loop_.now())) {
        say(connection.get(), desk_failed(error(ErrorKind::limit, "the desk of this user has many visitors; next: "
                                                                  "once more, in a minute")));
        return;
    }
    Id id = next_++;
    int number = connection.get();
    visits_[id] = {std::move(connection),
                   // It says nothing more: it has gone.
                   loop_.watch(number, EventLoop::readable, [this, id](unsigned) { visits_.erase(id); }), nullptr};
    auto server = serve(id, *user, wish.job);
    if (server)
        visits_[id].server = std::move(*server);
    else
        end(id, server.failure());
}

void DeskVisits::end(Id id, const Error &why) {
    auto visit = visits_.find(id);
    if (visit == visits_.end())
        return; // the visitor has gone meanwhile
    say(visit->second.connection.get(), desk_failed(why));
    visits_.erase(visit);
}

Result<std::unique_ptr<DeskServer>> DeskVisits::serve(Id id, uid_t asker, const std::string &job) {
    int connection = visits_.at(id).connection.get(); // which outlives the server
    auto tell = [connection](const std::string &rendezvous) -> Result<void> {
        if (!say(connection, desk_serves(rendezvous)))
            return error(ErrorKind::unreachable, "the visitor does not listen");
        return {};
    };
    return DeskServer::open({loop_, log_, settings_, make_munge_authenticator(loop_, ::getuid()), tell, UniqueFd(),
                             [call = module_.call_step, settings = settings_, job](const std::string &message) {
                                 return call(settings, job, message);
                             },
                             [](const std::string &) {}, [this, id](const Error &why) { end(id, why); }, asker});
}

} // namespace pmixhost
