// See command_shape.h.
#include "tools/cli/command_shape.h"

#include <CLI/CLI.hpp>

namespace pmixhost {

CommandShape shape_of(const CLI::App &parser) {
    CommandShape shape;
    shape.name = parser.get_name();
    shape.text = parser.get_description();
    for (const CLI::Option *option : parser.get_options()) {
        if (option->get_group().empty())
            continue;
        OptionShape one;
        for (const auto &name : option->get_snames())
            one.names.push_back("-" + name);
        for (const auto &name : option->get_lnames())
            one.names.push_back("--" + name);
        if (option->get_items_expected_max() > 0) {
            one.value = one.names.empty() ? option->get_name() : option->get_type_name();
            one.value.resize(std::min(one.value.find(':'), one.value.size())); // what CLI11 says of allowed values
        }
        one.many = option->get_items_expected_max() > 1;
        one.text = option->get_description();
        shape.options.push_back(std::move(one));
    }
    for (const CLI::App *subcommand : parser.get_subcommands([](const CLI::App *) { return true; }))
        shape.subcommands.push_back(shape_of(*subcommand));
    return shape;
}

} // namespace pmixhost
