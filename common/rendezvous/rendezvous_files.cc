// See rendezvous_files.h.
#include "common/rendezvous/rendezvous_files.h"

#include "common/base/random_bytes.h"
#include "common/base/unique_fd.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

static constexpr std::size_t max_nspace = 255; // PMIX_MAX_NSLEN

std::string rendezvous_uri(const RendezvousServer &server) {
    return fmt::format("{}.{};{}", server.nspace, server.rank, server.address);
}

std::string rendezvous_text(const RendezvousServer &server) {
    tm time{};
    char line[64] = "";
    if (gmtime_r(&server.started, &time))
        strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ", &time);
    return fmt::format("{}\n{}\n{}\n{}:{}\n{}\n", rendezvous_uri(server), server.version, server.pid, server.uid,
                       server.gid, line);
}

namespace {

std::string_view line_of(std::string_view &rest) {
    return take_until(rest, '\n');
}

template <typename Number> bool read_number(std::string_view text, Number &value) {
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size();
}

bool is_plain(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

} // namespace

Result<RendezvousServer> parse_rendezvous(std::string_view text) {
    RendezvousServer server{};
    std::string_view uri = line_of(text), version = line_of(text), pid = line_of(text), owner = line_of(text);
    std::size_t address = uri.find(';'), rank = uri.substr(0, address).rfind('.'), colon = owner.find(':');
    if (!is_plain(uri) || address == uri.npos || rank == uri.npos || rank == 0 || rank > max_nspace ||
        !read_number(uri.substr(rank + 1, address - rank - 1), server.rank))
        return error(ErrorKind::invalid,
                     "its first line is no URI of a server, such as NAMESPACE.0;tcp4://127.0.0.1:1");
    if (version.starts_with('v'))
        version.remove_prefix(1);
    if (!is_plain(version) || !read_number(pid, server.pid) || server.pid <= 0 || colon == owner.npos ||
        !read_number(owner.substr(0, colon), server.uid) || !read_number(owner.substr(colon + 1), server.gid))
        return error(ErrorKind::invalid, "it lacks the server's version, process or user");
    server.nspace = uri.substr(0, rank);
    server.address = uri.substr(address + 1);
    server.version = version;
    tm time{};
    const std::string line(line_of(text));
    if (const char *end = strptime(line.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time); end && *end == '\0')
        server.started = timegm(&time);
    return server;
}

std::vector<std::string> rendezvous_names(const std::string &host, const RendezvousServer &server,
                                          const std::string &job_nspace) {
    std::vector<std::string> names;
    auto add = [&names](std::string name) {
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(std::move(name));
    };
    for (const std::string &form : std::set<std::string>{host, host.substr(0, host.find('.'))}) {
        std::string any = fmt::format("pmix.{}.tool", form);
        add(any);
        add(fmt::format("{}.{}", any, server.pid));
        add(fmt::format("{}.{}", any, server.nspace));
        add(fmt::format("{}.{}", any, job_nspace));
    }
    return names;
}

static Result<void> write_file(const std::string &path, const std::string &text) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd)
        return system_error(fmt::format("cannot make the file {}", path), errno);
    ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size()))
        return system_error(fmt::format("cannot write the file {}", path), written < 0 ? errno : ENOSPC);
    return {};
}

Result<void> write_rendezvous_files(const std::string &directory, const std::vector<std::string> &names,
                                    const std::string &text) {
    std::string whole = directory + "/rendezvous";
    if (auto written = write_file(whole, text); !written) {
        ::unlink(whole.c_str());
        return written;
    }
    for (const std::string &name : names) {
        std::string path = fmt::format("{}/{}", directory, name);
        if (::link(whole.c_str(), path.c_str()) != 0)
            return system_error(fmt::format("cannot make the file {}", path), errno);
    }
    return {};
}

Result<SystemFiles::Written> SystemFiles::write_one(const std::string &path, const std::string &text) {
    struct stat there {};
    if (::lstat(path.c_str(), &there) == 0 && there.st_uid != ::geteuid())
        return error(ErrorKind::exists, "{} is a file of uid {}; next: look whose server that is, and remove the file",
                     path, there.st_uid);
    // No name appears before the text is whole, and a link of somebody else's is followed nowhere. Nobody can have
    // taken a name that nobody can guess.
    std::string whole = path.substr(0, path.rfind('/')) + "/.pmixhost.";
    for (auto byte : random_bytes(16))
        whole += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    auto made = write_file(whole, text);
    struct stat status {};
    if (!made || ::chmod(whole.c_str(), 0644) != 0 || ::lstat(whole.c_str(), &status) != 0 ||
        ::rename(whole.c_str(), path.c_str()) != 0) {
        int failed = errno;
        ::unlink(whole.c_str());
        return made ? system_error(fmt::format("cannot make the file {}", path), failed) : made.failure();
    }
    return Written{path, status.st_dev, status.st_ino};
}

Result<SystemFiles> SystemFiles::write(const std::string &directory, const std::string &host, const std::string &text) {
    SystemFiles files;
    files.text_ = text;
    for (const std::string &form : std::set<std::string>{host, host.substr(0, host.find('.'))}) {
        auto written = write_one(fmt::format("{}/pmix.sys.{}", directory, form), text);
        if (!written)
            return written.failure();
        files.written_.push_back(std::move(*written));
    }
    return {std::move(files)};
}

Result<void> SystemFiles::renew() {
    Result<void> result;
    for (auto &each : written_) {
        struct stat there {};
        bool is_there = ::lstat(each.path.c_str(), &there) == 0;
        if (is_there && (there.st_dev != each.device || there.st_ino != each.inode)) {
            result = error(ErrorKind::exists,
                           "{} is another file by now, of uid {}: tools do not come here; next: look whose server that "
                           "is, remove the file, and restart this one",
                           each.path, there.st_uid);
        } else if (is_there) {
            ::utimensat(AT_FDCWD, each.path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
        } else if (auto written = write_one(each.path, text_)) {
            each = std::move(*written);
        } else {
            result = written.failure();
        }
    }
    return result;
}

SystemFiles::~SystemFiles() {
    for (const auto &each : written_) {
        struct stat there {};
        if (::lstat(each.path.c_str(), &there) == 0 && there.st_dev == each.device && there.st_ino == each.inode)
            ::unlink(each.path.c_str());
    }
}

} // namespace pmixhost
