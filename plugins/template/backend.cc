// The template of a backend: what the smallest one has to do, for whoever writes one for another RM
// (contrib/doc/new-backend.md). Its "RM" is starter.cc, a command that starts daemons and tasks on this machine.
// Not installed; the tests run jobs through it.
#include "common/local/local_text.h"
#include "plugins/kit/contact_sender.h"
#include "plugins/kit/step_document.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace pmixhost::sample {
namespace {

sockaddr_un socket_name(const std::string &path) {
    sockaddr_un name{AF_UNIX, {}};
    std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
    return name;
}

// Takes a contact message to another host: by a socket in the job's directory, which only the user may enter. An RM
// has a way of its own. Blocks, so it is called in a thread.
Result<void> forward(const std::string &host, const std::string &path, const std::string &message) {
    sockaddr_un to = socket_name(path);
    UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (::sendto(fd.get(), message.data(), message.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof to) < 0)
        return error(ErrorKind::not_found, "there is no daemon on {}", host);
    return {};
}

class TemplateBackend final : public RmBackend {
  public:
    TemplateBackend(BackendContext context, StepInfo step, std::string directory, int starter)
        : loop_(context.loop), step_(std::move(step)), directory_(std::move(directory)), starter_(starter),
          sender_(std::in_place, context.loop, context.log, step_.map.host_count(), forward) {}

    const StepInfo &step() const override { return step_; }

    Result<void> start(BackendListener &listener) override {
        sockaddr_un here = socket_name(contact_of(step_.self));
        contacts_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!contacts_ || ::bind(contacts_.get(), reinterpret_cast<sockaddr *>(&here), sizeof here) != 0)
            return system_error("contact socket", errno);
        contacts_watch_ = loop_.watch(contacts_.get(), EventLoop::readable, [this, &listener](unsigned) {
            char message[4096];
            ssize_t n = ::recv(contacts_.get(), message, sizeof message, 0);
            if (n > 0)
                listener.on_contact(std::string(message, static_cast<std::size_t>(n)));
        });
        // Nothing but its end comes from there.
        starter_watch_ = loop_.watch(starter_.get(), EventLoop::readable, [this, &listener](unsigned) {
            starter_watch_.reset();
            listener.on_rm_gone("the command that started the job has ended");
        });
        return {};
    }

    void send_contact(HostIndex host, std::string message, bool has_begun, TimePoint deadline,
                      std::function<void(Result<void>)> done) override {
        sender_->send({step_.map.hosts()[host], contact_of(host), std::move(message), deadline, has_begun},
                      std::move(done));
    }

    void end_step(StepEnd end, std::function<void(Result<void>)> done) override {
        std::string line = fmt::format("{} {}\n", end.exit_status, local::escape_line(end.text));
        bool sent = ::send(starter_.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
        loop_.post([sent, done] { done(sent ? Result<void>() : system_error("the starter", EPIPE)); });
    }

    void stop() override { sender_.reset(); }

  private:
    std::string contact_of(HostIndex host) const { return fmt::format("{}/{}", directory_, host); }

    EventLoop &loop_;
    StepInfo step_;
    std::string directory_;
    UniqueFd starter_, contacts_;
    EventLoop::Handle contacts_watch_, starter_watch_;
    std::optional<kit::ContactSender> sender_;
};

Result<std::unique_ptr<RmBackend>> create(BackendContext context) {
    auto step = kit::read_step(context.document, "template");
    auto directory = context.document.text("template.directory");
    auto starter = context.document.number("template.starter_fd", INT32_MAX);
    if (!step || !directory || !starter)
        return !step ? step.failure() : !directory ? directory.failure() : starter.failure();
    int fd = static_cast<int>(*starter);
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return system_error("start document: template.starter_fd", errno);
    return std::unique_ptr<RmBackend>(
        std::make_unique<TemplateBackend>(context, std::move(*step), std::move(*directory), fd));
}

} // namespace
} // namespace pmixhost::sample

extern "C" __attribute__((visibility("default")))
const pmixhost::BackendModule pmixhost_backend = {pmixhost::BackendModule::current_abi,
                                                  "template",
                                                  pmixhost::facets(),
                                                  pmixhost::sample::create,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr};
