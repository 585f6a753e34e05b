// The table of the subcommands: `pmixhost --help`, dispatch and completion are made from it.
#include "tools/cli/commands.h"

namespace pmixhost {

std::span<const Command> commands() {
    // clang-format off
    static constexpr Command table[] = {
        {"run", run_command, "run a program on virtual hosts of this machine"},
        {"ps", ps_command, "list the processes of your jobs on this host"},
        {"stacks", stacks_command, "show where the processes of a job are, all in one tree"},
        {"debug", debug_command, "debug the processes of a job with gdb, all from one prompt"},
        {"events", events_command, "show what happens to your jobs, as it happens"},
        {"output", output_command, "show what the processes of a running job write"},
        {"attach", attach_command, "show what they write, and give them what is typed"},
        {"signal", signal_command, "send a signal to processes of a job"},
        {"kill", kill_command, "kill processes of a job, or all of it"},
        {"pause", pause_command, "stop processes of a job"},
        {"resume", resume_command, "let stopped processes of a job go on"},
        {"spawn", spawn_command, "start a program in a running allocation"},
        {"launcher", launcher_command, "be the launcher by which a debugger spawns"},
        {"get", get_command, "show what a process of a job has posted"},
        {"lookup", lookup_command, "show what has been published"},
        {"publish", publish_command, "publish a text for the processes of a job"},
        {"unpublish", unpublish_command, "take it back"},
        {"servers", servers_command, "list the PMIx servers on this host that your tools can reach"},
        {"with", with_command, "run a PMIx tool so that it finds a certain job"},
        {"doctor", doctor_command, "look for what is wrong with this host, or a job's hosts, and say how it is cured"},
        {"config", config_command, "show the configuration and where each value comes from, or check a file"},
        {"policy", policy_command, "show the rules for tools, and what they decide"},
        {"version", version_command, "show the version and what it was built with"},
        {"completion", completion_command, "write the completion of command lines for a shell"},
    };
    // clang-format on
    return table;
}

} // namespace pmixhost
