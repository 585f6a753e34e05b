// `pmixhost spawn`: starts a program in a running allocation, as PMIx_Spawn of one of its processes does.
#include "tools/cli/parse.h"
#include "tools/terminal/terminal.h"
#include "tools/view/desk.h"
#include "tools/view/tool_process.h"

#include <pmix_tool.h>

#include <cstdio>
#include <filesystem>

namespace pmixhost {

namespace {

struct Wish {
    Words program; // with its arguments
    int processes = 1;
    std::string directory;
    std::string output; // a file's name, or empty
    bool says_patience = false;
    int patience = 150; // seconds until they run
};

bool is_pattern(const std::string &file) {
    return file.find("%r") != std::string::npos || file.find("%n") != std::string::npos;
}

std::string spawn(Wish wish) {
    std::vector<char *> argv;
    for (auto &word : wish.program)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = argv[0];
    app.argv = argv.data();
    app.cwd = wish.directory.data();
    app.maxprocs = wish.processes;
    pmix_nspace_t nspace = "";
    pmix_info_t directives[5];
    std::size_t count = 0;
    if (wish.says_patience) // else spawn.timeout counts
        PMIX_INFO_LOAD(&directives[count++], PMIX_TIMEOUT, &wish.patience, PMIX_INT);
    const std::size_t optional = count + 1;
    auto yes = [&](const char *key) { PMIX_INFO_LOAD(&directives[count++], key, nullptr, PMIX_BOOL); };
    yes(PMIX_NOHUP); // it goes on without this tool
    if (!wish.output.empty()) {
        PMIX_INFO_LOAD(&directives[count++], PMIX_IOF_OUTPUT_TO_FILE, wish.output.data(), PMIX_STRING);
        yes(PMIX_IOF_FILE_ONLY);
        if (is_pattern(wish.output))
            yes(PMIX_IOF_FILE_PATTERN);
    }
    for (std::size_t i = optional; i < count; ++i)
        PMIX_INFO_REQUIRED(&directives[i]); // a daemon that is older refuses them then, instead of doing without
    pmix_status_t status = PMIx_Spawn(directives, count, &app, 1, nspace);
    for (std::size_t i = 0; i < count; ++i)
        PMIX_INFO_DESTRUCT(&directives[i]);
    if (status != PMIX_SUCCESS)
        return fmt::format("!PMIx_Spawn: {}{}", PMIx_Error_string(status),
                           status == PMIX_ERR_NO_PERMISSIONS ? "; next: pmixhost policy explain --action spawn"
                                                             : "; next: what it was is on the job's own terminal");
    return nspace;
}

int refuse_spawn(int code, const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s%s\n", text.c_str(),
                 code == exit_usage ? " (see pmixhost spawn --help)" : "");
    return code;
}

} // namespace

int spawn_command(const Words &words) {
    CLI::App parser("pmixhost spawn [OPTIONS] JOB -- PROGRAM [ARGUMENTS]: starts a program in the allocation of a "
                    "running job, as a job of its own, and writes its namespace.",
                    "pmixhost spawn");
    Wish wish;
    std::string job;
    parser.add_option("JOB", job, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them")->required();
    parser.add_option("-n,--ntasks", wish.processes, "How many processes [1]")->check(CLI::Range(1, 1 << 20));
    parser.add_option("--wdir", wish.directory, "Where they begin [the directory that this is run in]")
        ->type_name("DIR");
    parser
        .add_option("-o,--output", wish.output,
                    "What they write goes to FILE.NAMESPACE.RANK.stdout and .stderr, or where FILE has %n for the "
                    "namespace or %r for the rank, to FILE.stdout and .stderr [where the job's output goes]")
        ->type_name("FILE");
    parser.add_option("--timeout", wish.patience, "Seconds to wait until they run [150]")->check(CLI::Range(1, 3600));
    auto dashes = std::find(words.begin(), words.end(), "--");
    if (auto over = parse(parser, Words(words.begin(), dashes), true))
        return *over;
    if (dashes == words.end() || dashes + 1 == words.end())
        return refuse_spawn(exit_usage, "which program? It stands behind --");
    wish.program.assign(dashes + 1, words.end());
    if (wish.processes > 1 && is_pattern(wish.output) && wish.output.find("%r") == std::string::npos)
        return refuse_spawn(exit_usage,
                            fmt::format("--output {}: several processes cannot write to one file; %r in its "
                                        "name becomes the rank",
                                        printable(wish.output)));
    wish.says_patience = parser.count("--timeout") > 0;
    std::error_code failed;
    wish.directory = wish.directory.empty() ? std::filesystem::current_path(failed)
                                            : std::filesystem::absolute(wish.directory, failed);
    std::optional<ProgressLine> progress("waiting until the programs run");
    const std::chrono::seconds patience(wish.patience);
    auto found = find_server(job, patience);
    if (!found) {
        progress.reset();
        return refuse_spawn(exit_failure, found.failure().text);
    }
    const ListedServer *server = &found->server;
    // The daemon's answer, by the same limit, comes first.
    auto done = as_tool(*server, patience + std::chrono::seconds(5), [&wish] { return spawn(wish); });
    progress.reset();
    if (!done)
        return refuse_spawn(exit_failure,
                            fmt::format("job {}: {}", printable(server->job), printable(done.failure().text, 300)));
    fmt::print("{}\n", printable(*done, 300));
    return exit_ok;
}

} // namespace pmixhost
