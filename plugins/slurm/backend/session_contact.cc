// See session_contact.h.
#include "plugins/slurm/backend/session_contact.h"

#include "plugins/slurm/backend/contact_socket.h"
#include "plugins/slurm/backend/slurm_calls.h"
#include "plugins/slurm/backend/step_caller.h"

namespace pmixhost::slurm {

namespace {

class SessionContact final : public InvitationSource {
  public:
    SessionContact(std::unique_ptr<ContactSocket> socket, std::unique_ptr<StepCaller> caller)
        : socket_(std::move(socket)), caller_(std::move(caller)) {}
    void call_steps(const std::set<Bytes> &known, std::function<void(CalledSteps)> done) override {
        caller_->call(known, std::move(done));
    }

  private:
    std::unique_ptr<ContactSocket> socket_;
    std::unique_ptr<StepCaller> caller_;
};

} // namespace

Result<std::unique_ptr<InvitationSource>> session_invitations(BackendContext context,
                                                              std::function<void(std::string)> on_invitation) {
    auto job = context.document.number("slurm.job_id", UINT32_MAX);
    if (!job)
        return job.failure();
    auto said = context.document.text("slurm.contacts");
    const std::string &contacts = said ? *said : context.settings.directory_base;
    auto secret = context.document.text("secret");
    std::string family = family_of(secret ? *secret : std::string());
    auto path = session_path(contacts, geteuid(), static_cast<std::uint32_t>(*job), family);
    if (!path)
        return path.failure();
    auto socket = ContactSocket::open(context.loop, context.log, *path, std::move(on_invitation),
                                      ContactSocket::Sharing::first_only);
    if (!socket)
        return socket.failure();
    auto caller = std::make_unique<StepCaller>(context.loop, context.log, static_cast<std::uint32_t>(*job),
                                               StepCaller::Where{contacts, family},
                                               StepCaller::Slurm{running_steps, forward_to_node});
    return std::unique_ptr<InvitationSource>(std::make_unique<SessionContact>(std::move(*socket), std::move(caller)));
}

} // namespace pmixhost::slurm
