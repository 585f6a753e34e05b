// See evidence_file.h.
#include "server-glue/evidence/evidence_file.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace pmixhost {

static constexpr std::string_view cut = "\nThe rest would not fit into this file.\n";

// For a part of a file's name.
static std::string plain(std::string_view text) {
    std::string out(text.substr(0, 64));
    for (char &c : out) {
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
        if (!fine)
            c = '_';
    }
    return out.empty() ? "x" : out;
}

Result<EvidenceFile> EvidenceFile::create(const std::vector<std::string> &directories, const std::string &host,
                                          const std::string &step, pid_t pid) {
    char stamp[40] = "";
    std::time_t now = std::time(nullptr);
    tm calendar{};
    gmtime_r(&now, &calendar);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &calendar);
    std::string prefix = fmt::format("pmixhost-evidence-{}-{}-", ::getuid(), plain(host));
    Error why = error(ErrorKind::invalid, "no directory for it is known");
    for (const auto &directory : directories) {
        std::string path = fmt::format("{}/{}{}-{}-{}.txt", directory, prefix, plain(step), stamp, pid);
        UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (fd)
            return EvidenceFile(std::move(fd), std::move(path), std::move(prefix));
        why = system_error(path, errno);
    }
    return why;
}

void EvidenceFile::write(std::string_view text) {
    if (full_)
        return;
    if (written_ + text.size() > max_bytes - cut.size()) {
        full_ = true;
        text = cut;
    }
    while (!text.empty()) {
        ssize_t n = ::write(fd_.get(), text.data(), text.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; // a full disk keeps what it has
        written_ += static_cast<std::size_t>(n);
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

void EvidenceFile::remove_older() const {
    std::string directory = path_.substr(0, path_.rfind('/'));
    std::unique_ptr<DIR, int (*)(DIR *)> entries(::opendir(directory.c_str()), ::closedir);
    if (!entries)
        return;
    int at = ::dirfd(entries.get());
    std::vector<std::tuple<time_t, long, std::string>> found;
    constexpr int max_entries = 1 << 20; // whoever fills /tmp does not keep us
    for (int i = 0; i < max_entries; ++i) {
        dirent *entry = ::readdir(entries.get());
        if (!entry)
            break;
        std::string_view name = entry->d_name;
        struct stat status {};
        if (name.starts_with(prefix_) && name.ends_with(".txt") &&
            ::fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
            status.st_uid == ::getuid())
            found.emplace_back(status.st_mtim.tv_sec, status.st_mtim.tv_nsec, name);
    }
    std::sort(found.begin(), found.end());
    for (std::size_t i = 0; i + kept < found.size(); ++i)
        ::unlinkat(at, std::get<2>(found[i]).c_str(), 0);
}

} // namespace pmixhost
