// See spawner_news.h.
#include "tools/run/spawner_news.h"

#include "common/start/spawn_channel.h"

#include <utility>

namespace pmixhost {

void SpawnerNews::created(std::string_view nspace, std::size_t processes, std::size_t hosts) {
    channel_ = take_spawn_channel();
    hosts_ = hosts;
    if (channel_)
        say_created(channel_.get(), nspace, processes);
}

void SpawnerNews::first_runs() {
    if (channel_ && !std::exchange(told_started_, true))
        say_started(channel_.get());
}

void SpawnerNews::launched(HostIndex host, int status, const std::string &text) {
    if (!channel_)
        return;
    if (status == 0)
        first_runs();
    launched_.insert(host);
    if (status == 0 && launched_.size() < hosts_)
        return;
    say_launched(channel_.get(), status, text);
    if (status != 0)
        channel_.reset(); // the first failure is the one
}

} // namespace pmixhost
