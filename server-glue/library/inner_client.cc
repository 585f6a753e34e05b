// See inner_client.h.
#include "server-glue/library/inner_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <pmix_common.h>
#include <pmix_version.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// The status and the client's number.
constexpr std::size_t answer_size = 8;

std::string as_it_is(std::uint32_t value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof value);
}
std::string big_endian(std::uint32_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(value >> shift);
    return out;
}
std::string name(std::string text) {
    return text + '\0';
}

// The hello of a client that reads the shared memory, with the credential of the module that clients of this host
// use.
std::string hello(const std::string &nspace, Rank rank) {
    std::string credential = as_it_is(::geteuid()) + as_it_is(::getegid());
    std::string rest = name("native") + big_endian(static_cast<std::uint32_t>(credential.size())) + credential;
    rest += '\0'; // a simple client
    rest += name(nspace) + big_endian(rank);
    rest += name(fmt::format("{}.{}.{}", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR, PMIX_VERSION_RELEASE));
    rest += name("v41") + '\1' + name("ds21,ds12,hash"); // buffers without types
    return as_it_is(UINT32_MAX) + as_it_is(UINT32_MAX) + as_it_is(static_cast<std::uint32_t>(rest.size())) +
           as_it_is(0) + rest;
}

} // namespace

bool InnerClient::possible() {
    return PMIX_VERSION_MAJOR == 4 && PMIX_VERSION_MINOR == 2;
}

Result<std::unique_ptr<InnerClient>> InnerClient::start(EventLoop &loop, const std::string &nspace, Rank rank,
                                                        const std::function<Result<void>(UniqueFd)> &hand_over,
                                                        Duration patience, std::function<void(Result<void>)> done) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return system_error("socketpair", errno);
    UniqueFd own(ends[0]), librarys(ends[1]);
    std::string message = hello(nspace, rank);
    if (::send(own.get(), message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size()))
        return system_error("send", errno);
    if (auto handed = hand_over(std::move(librarys)); !handed)
        return handed.failure();
    std::unique_ptr<InnerClient> client(new InnerClient(std::move(own), std::move(done)));
    InnerClient *raw = client.get();
    raw->watch_ = loop.watch(raw->fd_.get(), EventLoop::readable, [raw](unsigned) { raw->read(); });
    raw->timer_ = loop.after(patience, [raw] {
        raw->finish(error(ErrorKind::timeout, "the PMIx library has not answered its own daemon"));
    });
    return client;
}

void InnerClient::read() {
    char bytes[4096];
    ssize_t there = ::recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (there < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (there <= 0) {
        watch_.reset();
        return finish(error(ErrorKind::denied, "the PMIx library does not take its own daemon for a client"));
    }
    if (!done_)
        return;
    answer_.append(bytes, std::min<std::size_t>(static_cast<std::size_t>(there), answer_size - answer_.size()));
    if (answer_.size() < answer_size)
        return;
    bool taken = answer_.compare(0, 4, std::string(4, '\0')) == 0;
    finish(taken ? Result<void>() : error(ErrorKind::denied, "the PMIx library refuses its own daemon"));
}

void InnerClient::finish(Result<void> result) {
    timer_.reset();
    if (auto done = std::exchange(done_, nullptr))
        done(std::move(result));
}

} // namespace pmixhost
