// See remedies.h.
#include "server-glue/tasks/remedies.h"

#include "common/config/remedies.h"
#include "server-glue/library/library_version.h"

#include <algorithm>
#include <cstdlib>
#include <ifaddrs.h>
#include <netinet/in.h>

namespace pmixhost {

namespace {

bool is_wanted(const Settings &settings, const Remedy &remedy) {
    const auto &wanted = settings.mpi_remedies;
    return std::find(wanted.begin(), wanted.end(), remedy.name) != wanted.end();
}

// Link-local addresses and that of the loopback interface are not what Open MPI uses.
bool has_ipv6_address() {
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0)
        return true;
    bool found = false;
    for (const ifaddrs *each = list; each && !found; each = each->ifa_next) {
        if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET6)
            continue;
        const in6_addr &address = reinterpret_cast<const sockaddr_in6 *>(each->ifa_addr)->sin6_addr;
        found = !IN6_IS_ADDR_LINKLOCAL(&address) && !IN6_IS_ADDR_LOOPBACK(&address);
    }
    freeifaddrs(list);
    return found;
}

bool needs_reachable(const Settings &settings) {
    return is_wanted(settings, remedy_openmpi_reachable) && has_ipv6_address();
}

bool needs_store(const Settings &settings) {
    if (settings.modex_store != "auto")
        return settings.modex_store == "own";
    return is_wanted(settings, remedy_pmix_store) && library_version() >= LibraryVersion{5, 0, 0};
}

bool needs_large_messages(const Settings &settings) {
    return is_wanted(settings, remedy_pmix_messages) && library_limits_messages();
}

// Sets NAME=VALUE, unless there is a NAME.
void set_variable(const Remedy &remedy) {
    std::string variable(remedy.variable);
    auto equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 0);
}

// A job that fills its allocation has no room for children, so it keeps what is faster for one job. Where the RM knows
// no such limit there is room.
bool needs_no_han(const Settings &settings, const StepInfo &step) {
    bool has_room = step.universe_size == 0 || step.universe_size > step.map.rank_count();
    return is_wanted(settings, remedy_openmpi_han) && (step.parent || has_room);
}

} // namespace

std::vector<std::string> remedies_of_tasks(const Settings &settings, const StepInfo &step) {
    std::vector<std::string> entries;
    if (needs_no_han(settings, step))
        entries.push_back("?" + std::string(remedy_openmpi_han.variable));
    if (needs_reachable(settings))
        entries.push_back("?" + std::string(remedy_openmpi_reachable.variable));
    if (needs_large_messages(settings))
        entries.push_back("?" + std::string(remedy_pmix_messages.variable));
    if (needs_store(settings))
        entries.push_back("?" + std::string(remedy_pmix_store.variable));
    return entries;
}

void set_remedies_of_daemon(const Settings &settings) {
    if (needs_large_messages(settings))
        set_variable(remedy_pmix_messages);
    if (needs_store(settings))
        set_variable(remedy_pmix_store);
}

} // namespace pmixhost
