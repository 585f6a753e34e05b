// Which job a command means, where it can be one only.
#pragma once

#include "common/text/printable.h"
#include "tools/view/server_list.h"

#include <algorithm>

namespace pmixhost {

// `name`: JOB[.STEP] or a namespace; empty: the only one there is on this host. Fails (not_found, invalid) with what to
// do next.
inline Result<ListedServer> one_job(const std::string &name) {
    auto all = servers_below(rendezvous_root());
    auto meant = name.empty() ? all : servers_of(all, name);
    if (meant.empty())
        return error(ErrorKind::not_found, "{} is on this host; next: run this on a host of the job",
                     name.empty() ? std::string("no job of yours") : "none of job " + printable(name));
    auto other = std::find_if(meant.begin(), meant.end(), [&](const auto &one) { return one.job != meant[0].job; });
    if (other == meant.end())
        return meant[0];
    std::string choice = fmt::format("{}, {}, ...", printable(meant[0].job), printable(other->job));
    return name.empty() ? error(ErrorKind::invalid, "there are several jobs here; next: name one of {}", choice)
                        : error(ErrorKind::invalid, "job {} has several steps here; next: name one of {}",
                                printable(name), choice);
}

} // namespace pmixhost
