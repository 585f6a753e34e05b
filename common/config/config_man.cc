// See config_man.h.
#include "common/config/config_man.h"

#include "common/config/option_values.h"
#include "common/text/roff.h"

namespace pmixhost {

std::string config_man_section() {
    const Settings defaults;
    std::string out = ".SH OPTIONS\n";
    std::string_view section;
    for (const auto &option : config_options()) {
        auto dot = option.key.find('.');
        if (option.key.substr(0, dot) != section) {
            section = option.key.substr(0, dot);
            out += fmt::format(".SS [{}]\n", section);
        }
        out += fmt::format(".TP\n\\fB{}\\fR = {}\n", roff_escaped(option.key.substr(dot + 1)),
                           roff_escaped(show_option(option, defaults)));
        out += roff_filled(option.text);
        out += ".br\n" + roff_filled("Allowed: " + allowed_values(option) + ".");
        if (option.user || option.user_if_free)
            out += fmt::format(".br\nEnvironment: \\fB{}\\fR{}\n", environment_name(option),
                               option.user ? "" : ", where this file does not say it");
    }
    return out;
}

} // namespace pmixhost
