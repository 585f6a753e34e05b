// `pmixhost run`. See run.h for the work.
#include "common/config/config.h"
#include "tools/cli/command_shape.h"
#include "tools/cli/commands.h"
#include "tools/run/run.h"
#include "tools/run/run_options.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace pmixhost {

static int complain(const std::string &text, int code) {
    std::fprintf(stderr, "pmixhost: error: %s\n", text.c_str());
    return code;
}

int run_command(const Words &words) {
    if (is_to_be_described(words))
        look_at_run_options([](const CLI::App &parser) { throw DescribedCommand(shape_of(parser)); });
    const char *process_sets = std::getenv(process_sets_variable);
    auto command = parse_run(words, process_sets ? process_sets : "");
    if (!command)
        return complain(command.failure().text, exit_usage);
    if (!command->help.empty()) {
        std::fputs(command->help.c_str(), stdout);
        return exit_ok;
    }
    RunOptions &options = command->options;
    // Each daemon reads it for itself; but what is wrong with it is told once, and before anything
    // is started.
    auto loaded = load_config(options.config, config_environment(environ));
    if (!loaded)
        return complain(loaded.failure().text, exit_failure);
    options.tmpdir_for_tasks = !options.tmpdir.empty();
    if (options.tmpdir.empty())
        options.tmpdir = loaded->settings.directory_base;
    for (const auto &note : loaded->notes)
        options.notes.push_back("warning: " + note);

    int failures = 0;
    auto loop = EventLoop::create([&](const std::string &what) {
        ++failures;
        std::fprintf(stderr, "pmixhost: error: %s\n", what.c_str());
    });
    if (!loop)
        return complain(loop.failure().text, exit_failure);
    Run launcher(**loop, options);
    if (auto started = launcher.start(environ); !started)
        return complain(started.failure().text, exit_failure);
    if (auto ran = (*loop)->run(); !ran)
        return complain(ran.failure().text, exit_failure);
    int code = launcher.exit_code();
    return code == 0 && failures > 0 ? exit_failure : code;
}

} // namespace pmixhost
