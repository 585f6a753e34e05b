// See attach_output.h.
#include "plugins/slurm/shim/attach_output.h"

#include "common/start/step_secret.h"
#include "plugins/slurm/shim/slurm_abi.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace pmixhost::slurm {

namespace {

using SteadyClock = std::chrono::steady_clock;

// The greeting (io_init_msg_pack in Slurm's src/common/io_hdr.c): its length, version, node, two counts of streams, the
// key's length, the key, which a NUL may end.
constexpr std::size_t length_bytes = 4, before_key = 2 + 4 + 4 + 4 + 4;
// All of slurmstepd's is there when it is heard of; the rest is for a kernel that is slow.
constexpr std::chrono::milliseconds greeting_patience{2000}, one_greeting_patience{20};
constexpr unsigned most_lost = 10;

bool readable(int fd, SteadyClock::time_point deadline) {
    for (;;) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
        pollfd one{fd, POLLIN, 0};
        int ready = ::poll(&one, 1, static_cast<int>(std::max<long long>(left.count(), 0)));
        if (ready >= 0 || errno != EINTR)
            return ready > 0;
    }
}

bool read_all(int fd, char *bytes, std::size_t size, SteadyClock::time_point deadline) {
    while (size > 0) {
        if (!readable(fd, deadline))
            return false;
        ssize_t got = ::recv(fd, bytes, size, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

std::size_t number_at(const char *bytes) {
    std::uint32_t number;
    std::memcpy(&number, bytes, sizeof number);
    return ntohl(number);
}

bool greets(int fd, std::string_view key, SteadyClock::time_point deadline) {
    char greeting[length_bytes + before_key + 256];
    if (!read_all(fd, greeting, length_bytes, deadline))
        return false;
    std::size_t length = number_at(greeting);
    char *body = greeting + length_bytes;
    if (length < before_key + key.size() || length > sizeof greeting - length_bytes ||
        !read_all(fd, body, length, deadline))
        return false;
    std::size_t key_length = number_at(body + before_key - length_bytes);
    if (before_key + key_length != length)
        return false;
    std::string_view said(body + before_key, key_length);
    if (said.ends_with('\0'))
        said.remove_suffix(1);
    return said == key;
}

class OutputOfSlurmstepd final : public OutputSource {
  public:
    explicit OutputOfSlurmstepd(OwnStep step) : step_(std::move(step)) {}

    Result<UniqueFd> attach() override {
        sockaddr_storage where{};
        auto listener = open_listener(where);
        auto stepd = connect_to_own_step(step_);
        if (!listener || !stepd)
            return listener ? stepd.failure() : listener.failure();
        Held held(*this, listener->get(), stepd->get());
        if (!held.ok())
            return error(ErrorKind::unreachable, "the step has ended");
        const std::string key = new_step_secret().substr(0, 32);
        if (int code = attach_to_step(stepd->get(), step_.protocol, where, key, step_.uid); code != SLURM_SUCCESS)
            return error(ErrorKind::unreachable, "slurmstepd gives its tasks' output to no other reader ({})", code);
        auto stream = accept_greeting(listener->get(), key, greeting_patience);
        if (!stream && ++lost_ >= most_lost)
            return error(ErrorKind::limit, "{}, {} times", stream.failure().text, lost_);
        return stream;
    }

    void cancel() override {
        std::lock_guard guard(lock_);
        cancelled_ = true;
        for (int fd : {listener_, stepd_}) {
            if (fd >= 0)
                ::shutdown(fd, SHUT_RDWR);
        }
    }

  private:
    // What attach() waits at, for cancel() to shut down.
    class Held {
      public:
        Held(OutputOfSlurmstepd &owner, int listener, int stepd) : owner_(owner) {
            std::lock_guard guard(owner_.lock_);
            owner_.listener_ = listener;
            owner_.stepd_ = stepd;
            ok_ = !owner_.cancelled_;
        }
        ~Held() {
            std::lock_guard guard(owner_.lock_);
            owner_.listener_ = owner_.stepd_ = -1;
        }
        Held(const Held &) = delete;
        bool ok() const { return ok_; }

      private:
        OutputOfSlurmstepd &owner_;
        bool ok_;
    };

    static Result<UniqueFd> open_listener(sockaddr_storage &where) {
        UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        auto &loopback = reinterpret_cast<sockaddr_in &>(where);
        loopback.sin_family = AF_INET;
        loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto *address = reinterpret_cast<sockaddr *>(&where);
        socklen_t length = sizeof loopback;
        // Strangers who say nothing are not even heard of.
        int seconds = std::chrono::ceil<std::chrono::seconds>(greeting_patience).count();
        if (!listener || ::bind(listener.get(), address, length) != 0 ||
            ::setsockopt(listener.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds) != 0 ||
            ::listen(listener.get(), SOMAXCONN) != 0 || ::getsockname(listener.get(), address, &length) != 0)
            return error(ErrorKind::unreachable, "a socket of 127.0.0.1 for the output: {}", std::strerror(errno));
        return listener;
    }

    const OwnStep step_;
    unsigned lost_ = 0; // of attach() alone
    std::mutex lock_;
    bool cancelled_ = false;
    int listener_ = -1, stepd_ = -1;
};

} // namespace

Result<UniqueFd> accept_greeting(int listener, std::string_view key, std::chrono::milliseconds patience) {
    const SteadyClock::time_point deadline = SteadyClock::now() + patience;
    while (readable(listener, deadline)) {
        UniqueFd visitor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        if (!visitor && errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
            break;
        if (visitor && greets(visitor.get(), key, std::min(deadline, SteadyClock::now() + one_greeting_patience)))
            return visitor;
    }
    return error(ErrorKind::unreachable, "slurmstepd did not connect to who reads its tasks' output");
}

std::unique_ptr<OutputSource> output_of_slurmstepd(const OwnStep &step) {
    return has_stepd_attach() && !step.socket.empty() ? std::make_unique<OutputOfSlurmstepd>(step) : nullptr;
}

} // namespace pmixhost::slurm
