// See step_publish.h.
#include "server-glue/publish/step_publish.h"

#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

StepPublish::StepPublish(StepContext &context, SessionLink &session, FindTool find_tool)
    : StepService(context.services), context_(context), session_(session), find_tool_(std::move(find_tool)),
      publish_(context, *this, context.host_name(),
               {context.settings.publish_timeout, context.settings.publish_wait, context.settings.publish_max_bytes}) {}

// Published data are the session's: without one there is nobody to ask.
void StepPublish::take_asks(UpcallHandlers &handlers) {
    handlers.shared<PublishLimits>()->bytes = context_.settings.publish_max_bytes;
    if (!context_.backend.roles())
        return;
    handlers.on<PublishAsk>(policy::Action::control,
                            [this](PublishAsk ask) { publish_.publish(context_.now(), std::move(ask)); });
    handlers.on<LookupAsk>(policy::Action::observe,
                           [this](LookupAsk ask) { publish_.lookup(context_.now(), std::move(ask)); });
    handlers.on<UnpublishAsk>(policy::Action::control,
                              [this](UnpublishAsk ask) { publish_.unpublish(context_.now(), std::move(ask)); });
}

void StepPublish::take_messages(StepMessages &messages) {
    messages.on<wire::DataReply>(StepMessages::Peer::session, [this](HostIndex, auto &&message, const auto &) {
        publish_.on_reply(std::move(message));
    });
}

// What it has published may have to go with it: then the session is told, whether or not it is there yet.
void StepPublish::on_process_gone(Rank rank, std::optional<int>) {
    publish_.on_process_ended(rank);
    if (!publish_.used())
        session_.tell_of(rank);
}

Owner StepPublish::owner_of(const Process &process) {
    Owner owner{::geteuid(), ::getegid()};
    if (process.nspace != context_.step.nspace)
        return owner;
    struct stat seen;
    pid_t pid = context_.tasks->watch().pid_of(process.rank);
    // A process that may not be looked at shows root instead of its own.
    if (pid > 0 && ::stat(fmt::format("/proc/{}", pid).c_str(), &seen) == 0 && seen.st_uid == owner.uid)
        owner.gid = seen.st_gid;
    return owner;
}

} // namespace pmixhost
