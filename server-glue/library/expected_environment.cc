// See expected_environment.h.
#include "server-glue/library/expected_environment.h"

#include "common/text/printable.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/settings_file.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <pmix.h>
#include <string_view>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr std::string_view store_variable = "PMIX_MCA_gds";
// These the daemon sets itself (library_start.h, the remedies of tasks), and they change nothing of what
// processes are given.
constexpr std::string_view harmless[] = {"PMIX_MCA_pmix_max_iof_cache", "PMIX_MCA_pmix_max_events",
                                         "PMIX_MCA_pmix_event_eviction_time", "PMIX_MCA_ptl_base_max_msg_size"};

std::string_view name_of(std::string_view entry) {
    return entry.substr(0, entry.find('='));
}

// What stands for a mark is not looked through for marks again.
std::string filled_in(std::string_view text, const std::vector<std::pair<std::string_view, std::string>> &marks) {
    std::string out;
    while (!text.empty()) {
        auto mark =
            std::find_if(marks.begin(), marks.end(), [&](const auto &each) { return text.starts_with(each.first); });
        if (mark != marks.end()) {
            out += mark->second;
            text.remove_prefix(mark->first.size());
        } else {
            out += text.front();
            text.remove_prefix(1);
        }
    }
    return out;
}

} // namespace

LibrarySettings own_library_settings() {
    LibrarySettings out;
    out.version = PMIx_Get_version();
    for (char **entry = environ; entry && *entry; ++entry)
        out.environment.emplace_back(*entry);
    out.read = settings_in_file;
    return out;
}

Result<ExpectedEnvironment> ExpectedEnvironment::create(const SeenEnvironment &seen, const LibrarySettings &settings,
                                                        ExpectedServer server) {
    auto unknown = [](std::string why) { return error(ErrorKind::unsupported, "{}", why); };
    if (seen.library.empty() || seen.library != settings.version)
        return unknown("pmixhost was not built with this PMIx library");
    std::string home, store;
    for (const auto &entry : settings.environment) {
        std::string_view name = name_of(entry);
        if (name == "HOME")
            home = entry.substr(std::min(name.size() + 1, entry.size()));
        else if (name == store_variable)
            store = entry.substr(std::min(name.size() + 1, entry.size()));
        else if (name.starts_with("PMIX_") &&
                 std::find(std::begin(harmless), std::end(harmless), name) == std::end(harmless))
            return unknown(fmt::format("{} is set for the PMIx library", printable(name)));
    }
    if (!store.empty() && store != "hash")
        return unknown(fmt::format("{}={} is set for the PMIx library", store_variable, printable(store)));
    const auto &entries = store.empty() ? seen.by_default : seen.with_hash;
    if (entries.empty())
        return unknown("what this PMIx library gives to processes is not the same each time");
    for (const auto &[name, content] : seen.files) {
        std::string file = filled_in(name, {{"@home@", home}});
        if (settings.read(file) != content)
            return unknown(fmt::format("the PMIx library has other settings in {} than when pmixhost was built", file));
    }
    if (server.store.empty())
        server.store = server.directory;
    return ExpectedEnvironment(entries, std::move(server));
}

std::vector<std::string> ExpectedEnvironment::of(const std::string &nspace, Rank rank) const {
    const std::vector<std::pair<std::string_view, std::string>> marks{
        {"@nspace@", nspace},
        {"@rank@", std::to_string(rank)},
        {"@server@", fmt::format("{}.{}", server_.nspace, server_.rank)},
        {"@address@", server_.address},
        {"@directory@", server_.directory},
        {"@store@", server_.store},
        {"@host@", server_.hostname},
        {"@pid@", std::to_string(server_.pid)}};
    std::vector<std::string> out;
    for (const auto &entry : entries_)
        out.push_back(filled_in(entry, marks));
    return out;
}

bool clients_open_store_first() {
    const char *store = std::getenv(std::string(store_variable).c_str());
    return library_version() < LibraryVersion{5, 0, 0} && (!store || std::string_view(store) != "hash");
}

Result<void> is_as_expected(const std::vector<std::string> &expected, const std::vector<std::string> &given) {
    for (const auto &entry : expected) {
        if (std::find(given.begin(), given.end(), entry) != given.end())
            continue;
        auto other =
            std::find_if(given.begin(), given.end(), [&](const auto &each) { return name_of(each) == name_of(entry); });
        return error(ErrorKind::unsupported,
                     "the PMIx library gives processes {}, and pmixhost, which has let them go before the library was "
                     "started, had expected {}. Next: set daemon.library to \"early\" in pmixhost.conf, or "
                     "PMIXHOST_DAEMON_LIBRARY=early for this job",
                     other == given.end() ? "no " + std::string(name_of(entry)) : printable(*other), printable(entry));
    }
    return {};
}

std::vector<std::string> names_beyond(const std::vector<std::string> &expected, const std::vector<std::string> &given) {
    std::vector<std::string> names;
    for (const auto &entry : given) {
        if (std::none_of(expected.begin(), expected.end(),
                         [&](const auto &each) { return name_of(each) == name_of(entry); }))
            names.push_back(printable(name_of(entry)));
    }
    return names;
}

} // namespace pmixhost
