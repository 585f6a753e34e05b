// See launcher_start.h.
#include "plugins/kit/launcher_start.h"

#include "common/base/fd_pair.h"
#include "common/start/start_fd.h"
#include "plugins/kit/clean_spawn.h"

#include <algorithm>
#include <string_view>
#include <unistd.h>

namespace pmixhost::kit {

namespace {

constexpr int document_fd = 3, channel_fd = 4, listener_fd = 5; // as spawn_clean() numbers them

Result<UniqueFd> make_document(StartDocument document, const LauncherStart &start) {
    bool listens = start.listener >= 0;
    auto role = document.add("role", start.role);
    auto channel = document.add(listens ? "desk.fd" : "invitations_fd", std::to_string(channel_fd));
    auto listener = listens ? document.add("desk.listener_fd", std::to_string(listener_fd)) : Result<void>();
    if (!role || !channel || !listener)
        return !role ? role.failure() : !channel ? channel.failure() : listener.failure();
    auto file = open_start_document(document);
    if (!file)
        return file.failure();
    return moved_up(file->get());
}

} // namespace

Result<LauncherProcess> start_launcher(LauncherStart start) {
    auto document = make_document(std::move(start.document), start);
    if (!document)
        return document.failure();
    auto channel = make_socket_pair();
    if (!channel)
        return channel.failure();
    auto other = moved_up(channel->second.get());
    auto listener = start.listener < 0 ? Result<UniqueFd>(UniqueFd()) : moved_up(start.listener);
    if (!other || !listener)
        return !other ? other.failure() : listener.failure();
    std::vector<char *> environment;
    for (char **entry = environ; entry && *entry; ++entry) {
        if (std::none_of(start.withheld.begin(), start.withheld.end(),
                         [entry](const std::string &name) { return std::string_view(*entry).starts_with(name); }))
            environment.push_back(*entry);
    }
    environment.push_back(nullptr);
    CleanSpawn spawn{"the " + start.role,
                     {start.daemon, "--start-fd", std::to_string(document_fd)},
                     {document->get(), other->get()},
                     environment.data()};
    spawn.words.insert(spawn.words.end(), start.arguments.begin(), start.arguments.end());
    if (*listener)
        spawn.descriptors.push_back(listener->get());
    auto pid = spawn_clean(spawn);
    if (!pid)
        return pid.failure();
    return LauncherProcess{*pid, std::move(channel->first)};
}

} // namespace pmixhost::kit
