// See store_directory.h.
#include "server-glue/daemon/store_directory.h"

#include "common/start/status_page.h"
#include "server-glue/library/library_version.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace pmixhost {

// Since then it has another one (mpi.remedies).
static constexpr int first_without_store = 5;

std::optional<StoreDirectory> StoreDirectory::create(const Settings &settings, const PrivateDirectory &beside) {
    if (settings.directory_store != "memory" || library_version().major >= first_without_store)
        return std::nullopt;
    std::string base(StatusPage::store_base);
    struct statfs found {};
    if (::statfs(base.c_str(), &found) != 0 || found.f_type != TMPFS_MAGIC ||
        found.f_bavail * static_cast<std::uint64_t>(found.f_bsize) < least_room + 2 * settings.modex_segment_bytes)
        return std::nullopt;
    auto made = PrivateDirectory::create(base + beside.path().substr(beside.path().rfind('/')));
    std::string link = beside.path() + "/store";
    if (!made || ::symlink(made->path().c_str(), link.c_str()) != 0)
        return std::nullopt;
    return StoreDirectory(std::move(*made), std::move(link));
}

} // namespace pmixhost
