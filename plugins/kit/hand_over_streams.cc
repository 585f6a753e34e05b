// See hand_over_streams.h.
#include "plugins/kit/hand_over_streams.h"

#include "common/base/unique_fd.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost::kit {

namespace {

constexpr int streams = 3;

// A terminal would not be one any more for the program, and what writes a file is not to be stopped by a daemon's disk.
// /dev/null is read to its end at once, and what is written to it can be had.
bool can_be_taken(int fd) {
    struct stat what {};
    if (fstat(fd, &what) != 0)
        return false;
    return S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode) || (S_ISCHR(what.st_mode) && fd != 0 && !isatty(fd));
}

} // namespace

Result<void> hand_over_streams(int socket, const std::function<Result<char>()> &await_answer) {
    char letters[streams] = {'k', 'k', 'k'};
    int sent[2 * streams];
    std::size_t count = 0;
    UniqueFd mine[streams], theirs[streams];
    for (int fd = 0; fd < streams; ++fd) {
        if (!can_be_taken(fd))
            continue;
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            continue; // the task keeps it
        mine[fd].reset(ends[fd == 0 ? 0 : 1]);
        theirs[fd].reset(ends[fd == 0 ? 1 : 0]);
        letters[fd] = 't';
        sent[count++] = fd;
        sent[count++] = theirs[fd].get();
    }
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof sent)] = {};
    iovec text{letters, sizeof letters};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    if (count > 0) {
        message.msg_control = space;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr *part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(count * sizeof(int));
        std::memcpy(CMSG_DATA(part), sent, count * sizeof(int));
    }
    // A socket on which all that was sent before has been read has room for this.
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) != sizeof letters)
        return system_error("task door", errno);
    auto answer = await_answer();
    if (!answer)
        return answer.failure();
    if (*answer != '1')
        return {};
    for (int fd = 0; fd < streams; ++fd) {
        if (mine[fd] && dup2(mine[fd].get(), fd) < 0)
            return system_error("dup2", errno);
    }
    return {};
}

} // namespace pmixhost::kit
