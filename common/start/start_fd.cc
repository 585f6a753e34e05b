// See start_fd.h.
#include "common/start/start_fd.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace pmixhost {

Result<UniqueFd> open_start_document(const StartDocument &document) {
    std::string all = document.encode();
    std::string_view text = all;
    if (text.size() > StartDocument::max_bytes)
        return error(ErrorKind::limit, "the job's description is over {} bytes (a very large environment?)",
                     StartDocument::max_bytes);
    UniqueFd fd(::memfd_create("pmixhost-start", MFD_CLOEXEC));
    if (!fd)
        return system_error("start document", errno);
    while (!text.empty()) {
        ssize_t n = ::write(fd.get(), text.data(), text.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return system_error("start document", errno);
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::lseek(fd.get(), 0, SEEK_SET) != 0)
        return system_error("start document", errno);
    return fd;
}

Result<StatusPage *> make_status_page(UniqueFd &fd) {
    fd.reset(::memfd_create("pmixhost-status", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ::ftruncate(fd.get(), StatusPage::size) != 0 ||
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return system_error("status page", errno);
    void *memory = ::mmap(nullptr, StatusPage::size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
        return system_error("status page", errno);
    return static_cast<StatusPage *>(memory);
}

} // namespace pmixhost
