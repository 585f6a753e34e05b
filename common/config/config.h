// The configuration: pmixhost.conf, which is the administrator's, and a few environment variables,
// with which a user may change what concerns nobody else (log level, timeouts, what the user's own programs are started
// with; never paths of the daemons, ports or anything that gives a right).
//
// What can be set is listed once, in the table of config_options.h. Files are read with blocking calls, at the start
// of a program before its event loop runs. No thread, no state.
#pragma once

#include "common/base/result.h"
#include "common/config/settings.h"

#include <span>
#include <string>
#include <vector>

namespace pmixhost {

// Where the value of one option comes from.
struct Origin {
    enum class Source { builtin, file, environment };
    std::string key; // "transport.radix"
    Source source = Source::builtin;
    std::string where; // "default", "/etc/pmixhost/pmixhost.conf:12", "environment PMIXHOST_X"
};

struct Loaded {
    Settings settings;
    std::vector<Origin> origins;    // one per option, in the table's order
    std::vector<std::string> notes; // worth a warning: one line each
};

// Everything that is wrong at once, for `pmixhost config --check`. Where there are errors, `loaded`
// has what was right.
struct Checked {
    Loaded loaded;
    std::vector<Error> errors; // each text begins with "FILE:LINE: " or "environment NAME: "
};

inline constexpr std::size_t max_config_bytes = 1u << 20;

// PMIXHOST_SYSCONFDIR/pmixhost.conf
std::string default_config_path();

// `path` empty: the default file, which may be missing. Otherwise a missing file is an error. So is
// a file that everybody may write, is no regular file or is over max_config_bytes.
// `environment` holds NAME=VALUE; names that do not begin with PMIXHOST_ are ignored.
Checked check_config(const std::string &path, std::span<const std::string> environment);

// The same, failing with the first error (the text says how many more there are).
Result<Loaded> load_config(const std::string &path, std::span<const std::string> environment);

// The part of the environment (`environ`) that load_config() wants, as NAME=VALUE.
std::vector<std::string> config_environment(char *const *environment);

} // namespace pmixhost
