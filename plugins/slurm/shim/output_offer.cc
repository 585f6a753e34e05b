// See output_offer.h.
#include "plugins/slurm/shim/output_offer.h"

#include "common/base/fd_pair.h"
#include "common/process/descriptor_message.h"
#include "plugins/slurm/base/output_channel.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost::slurm {

static constexpr std::size_t stack_bytes = 256u << 10;

std::unique_ptr<OutputOffer> OutputOffer::make(std::unique_ptr<OutputSource> source, UniqueFd &daemons_end,
                                               Patience patience) {
    auto ends = make_socket_pair(SOCK_SEQPACKET);
    if (!ends)
        return nullptr;
    std::unique_ptr<OutputOffer> offer(new OutputOffer(std::move(source), std::move(ends->first), patience));
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return nullptr;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    // slurmstepd's own threads handle its signals.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool created = pthread_create(&offer->thread_, &attributes, thread_main, offer.get()) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (!created)
        return nullptr;
    offer->thread_of_ = ::getpid();
    daemons_end = std::move(ends->second);
    return offer;
}

OutputOffer::~OutputOffer() {
    if (thread_of_ != ::getpid())
        return;
    source_->cancel();
    ::shutdown(channel_.get(), SHUT_RDWR); // wakes the thread
    pthread_join(thread_, nullptr);
}

void *OutputOffer::thread_main(void *self) noexcept {
    try {
        static_cast<OutputOffer *>(self)->serve();
    } catch (...) {
        // Out of memory: the daemon hears it by the end of the channel.
        ::shutdown(static_cast<OutputOffer *>(self)->channel_.get(), SHUT_RDWR);
    }
    return nullptr;
}

// False: none has come. The end of the channel is a message of no bytes.
bool OutputOffer::await_message(std::chrono::milliseconds limit) {
    pollfd one{channel_.get(), POLLIN, 0};
    int ready;
    do {
        ready = ::poll(&one, 1, static_cast<int>(limit.count()));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

void OutputOffer::serve() {
    char wish;
    if (!await_message(std::chrono::milliseconds(-1)) || ::recv(channel_.get(), &wish, sizeof wish, 0) <= 0)
        return;
    for (auto pause = patience_.pause;; pause = std::min(2 * pause, patience_.longest)) {
        auto stream = source_->attach();
        if (stream)
            return grant(std::move(*stream));
        if (stream.failure().kind == ErrorKind::unsupported || stream.failure().kind == ErrorKind::limit) {
            const std::string &why = stream.failure().text;
            ::send(channel_.get(), why.data(), std::min(why.size(), longest_with_descriptor),
                   MSG_NOSIGNAL | MSG_DONTWAIT);
            return;
        }
        if (await_message(pause))
            return; // the step ends, or the daemon has; it says nothing else
    }
}

void OutputOffer::grant(UniqueFd stream) {
    ::shutdown(stream.get(), SHUT_WR); // slurmstepd would take input from there
    char taken;
    bool has_it = send_descriptor(channel_.get(), std::string(output_granted), stream.get()).ok() &&
                  await_message(patience_.taking) && ::recv(channel_.get(), &taken, sizeof taken, MSG_DONTWAIT) > 0;
    if (!has_it)
        ::shutdown(stream.get(), SHUT_RDWR);
}

} // namespace pmixhost::slurm
