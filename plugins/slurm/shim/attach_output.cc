// See attach_output.h.
#include "plugins/slurm/shim/attach_output.h"

#include "common/start/step_secret.h"
#include "plugins/slurm/base/slurm_abi.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace pmixhost::slurm {

namespace {

// The greeting (io_init_msg_pack in Slurm's src/common/io_hdr.c): its length, version, node, two counts of streams, the
// key's length, the key, which a NUL may end.
constexpr std::size_t length_bytes = 4, before_key = 2 + 4 + 4 + 4 + 4;
constexpr std::size_t longest_greeting = 512;
constexpr std::chrono::milliseconds greeting_patience{2000};
constexpr std::size_t most_visitors = 64; // that have not said enough; of more the oldest goes
constexpr unsigned most_lost = 10;

std::size_t number_at(const char *bytes) {
    std::uint32_t number;
    std::memcpy(&number, bytes, sizeof number);
    return ntohl(number);
}

// Somebody who has connected. The greeting alone is read, since what follows is the daemon's.
struct Visitor {
    UniqueFd fd;
    std::string said;
    std::size_t wanted = length_bytes;

    enum class Is { slurmstepd, stranger, unknown };
    Is look(std::string_view key) {
        for (;;) {
            char bytes[longest_greeting];
            ssize_t got = ::recv(fd.get(), bytes, wanted - said.size(), MSG_DONTWAIT);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return got < 0 && errno == EAGAIN ? Is::unknown : Is::stranger;
            said.append(bytes, static_cast<std::size_t>(got));
            if (said.size() < wanted)
                continue;
            if (wanted > length_bytes)
                return greets(key) ? Is::slurmstepd : Is::stranger;
            std::size_t length = number_at(said.data());
            if (length < before_key + key.size() || length > longest_greeting - length_bytes)
                return Is::stranger;
            wanted += length;
        }
    }
    bool greets(std::string_view key) const {
        std::string_view its_key = std::string_view(said).substr(length_bytes + before_key);
        if (number_at(said.data() + before_key) != its_key.size())
            return false;
        if (its_key.ends_with('\0'))
            its_key.remove_suffix(1);
        return its_key == key;
    }
};

class OutputOfSlurmstepd final : public OutputSource {
  public:
    explicit OutputOfSlurmstepd(OwnStep step) : step_(std::move(step)) {}

    Result<UniqueFd> attach() override {
        sockaddr_storage where{};
        auto listener = open_listener(where);
        if (!listener)
            return listener.failure();
        const std::string key = new_step_secret().substr(0, 32);
        if (auto asked = ask(*listener, where, key); !asked)
            return asked.failure();
        Held held(*this, listener->get(), -1);
        if (!held.ok())
            return the_end();
        auto stream = accept_greeting(listener->get(), key, greeting_patience);
        return stream ? std::move(stream) : lose(stream.failure());
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
    static Error the_end() { return error(ErrorKind::unreachable, "the step has ended"); }
    // What cost slurmstepd something and came to nothing.
    Error lose(Error why) {
        if (++lost_ >= most_lost)
            return error(ErrorKind::limit, "{}, {} times", why.text, lost_);
        return why;
    }

    // slurmstepd has connected to the listener when this is done.
    Result<void> ask(const UniqueFd &listener, sockaddr_storage &where, const std::string &key) {
        UniqueFd stepd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!stepd)
            return error(ErrorKind::unreachable, "a socket: {}", std::strerror(errno));
        Held held(*this, listener.get(), stepd.get());
        if (!held.ok())
            return the_end();
        if (auto connected = connect_to_own_step(step_, stepd); !connected)
            return connected;
        int code = attach_to_step(stepd.get(), step_.protocol, where, key, step_.uid);
        if (code == SLURM_SUCCESS)
            return {};
        Error why = error(ErrorKind::unreachable, "slurmstepd gives its tasks' output to no other reader ({})", code);
        return code == step_not_running ? why : lose(std::move(why));
    }

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
    using SteadyClock = std::chrono::steady_clock;
    const SteadyClock::time_point deadline = SteadyClock::now() + patience;
    std::deque<Visitor> visitors;
    bool listens = true;
    while (listens) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
        std::vector<pollfd> polls{{listener, POLLIN, 0}};
        for (const auto &visitor : visitors)
            polls.push_back({visitor.fd.get(), POLLIN, 0});
        int ready = ::poll(polls.data(), polls.size(), static_cast<int>(std::max<long long>(left.count(), 0)));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            break;
        while (listens && visitors.size() < 2 * most_visitors) {
            UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
            if (fd)
                visitors.push_back({std::move(fd), {}});
            else if (errno == EAGAIN)
                break;
            else
                listens = errno == EINTR || errno == ECONNABORTED;
        }
        for (auto visitor = visitors.begin(); visitor != visitors.end();) {
            auto is = visitor->look(key);
            if (is == Visitor::Is::slurmstepd)
                return std::move(visitor->fd);
            visitor = is == Visitor::Is::stranger ? visitors.erase(visitor) : std::next(visitor);
        }
        while (visitors.size() > most_visitors)
            visitors.pop_front();
    }
    return error(ErrorKind::unreachable, "slurmstepd did not connect to who reads its tasks' output");
}

std::unique_ptr<OutputSource> output_of_slurmstepd(const OwnStep &step) {
    return has_stepd_attach() && !step.socket.empty() ? std::make_unique<OutputOfSlurmstepd>(step) : nullptr;
}

} // namespace pmixhost::slurm
