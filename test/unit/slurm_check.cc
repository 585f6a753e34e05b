// What `pmixhost doctor` makes of Slurm's configuration and of the plugin's file.
#include "common/base/small_file.h"
#include "common/process/captured_command.h"
#include "common/process/topology_file.h"
#include "plugins/slurm/check/controller_config.h"
#include "plugins/slurm/check/plugin_file.h"
#include "plugins/slurm/check/topology_check.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <slurm/slurm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::slurm;

namespace {

constexpr char check_slurm[] = PMIXHOST_TOP_BUILDDIR "/plugins/slurm/pmixhost-check-slurm";
constexpr char plugin[] = PMIXHOST_TOP_BUILDDIR "/plugins/slurm/.libs/mpi_pmixhost.so";
using Level = Finding::Level;

constexpr char text[] = "Configuration data as of 2026-11-23T11:40:01\n"
                        "AccountingStorageBackupHost = (null)\n"
                        "AuthInfo                = (null)\n"
                        "PluginDir               = /opt/a::/usr/lib/slurm-wlm\n"
                        "ProctrackType           = proctrack/linuxproc\n"
                        "SLURM_VERSION           = 22.05.8\n"
                        "SrunPortRange           = 0-0\n"
                        "TaskPlugin              = task/none\n"
                        "\n"
                        "Slurmctld(primary) at head is UP\n";

const Finding &of(const Findings &findings, const std::string &check) {
    for (const auto &one : findings) {
        if (one.check == check)
            return one;
    }
    fail_msg("nothing of %s", check.c_str());
    abort();
}

void the_configuration_is_read(void **) {
    auto config = parse_controller_config(text);
    assert_int_equal(config.as_of, 1795434001);
    assert_string_equal(config["SLURM_VERSION"].c_str(), "22.05.8");
    assert_true(config["AuthInfo"].empty() && config["NoSuch"].empty());
    auto directories = plugin_directories(config);
    assert_int_equal(directories.size(), 2);
    assert_string_equal(directories[0].c_str(), "/opt/a");
    assert_string_equal(directories[1].c_str(), "/usr/lib/slurm-wlm");
    assert_int_equal(parse_controller_config("Configuration data as of soon\n=\n= \nx").as_of, 0);
    assert_true(plugin_directories(parse_controller_config("")).empty());
}

void settings_are_judged(void **) {
    Settings settings;
    auto config = parse_controller_config(text);
    for (const auto &one : findings_of_settings(config, settings))
        assert_true(one.level == Level::ok && one.cure.empty());
    assert_non_null(std::strstr(of(findings_of_settings(config, settings), "task plugins").text.c_str(), "not bound"));
    config.values["ProctrackType"] = "proctrack/pgid";
    config.values["SrunPortRange"] = "60001-60100";
    config.values["AuthInfo"] = "socket=/run/munge/other";
    auto all = findings_of_settings(config, settings);
    for (const char *check : {"proctrack", "firewall", "munge socket"})
        assert_true(of(all, check).level == Level::warning && !of(all, check).cure.empty());
    settings.transport_ports = {6000, 6100};
    for (const auto &one : findings_of_settings(config, settings))
        assert_true(one.check != "firewall");
}

void clocks_are_compared(void **) {
    assert_true(finding_of_clock(1000000, 1000002).level == Level::ok);
    auto ahead = finding_of_clock(1000000, 1000060);
    assert_true(ahead.level == Level::warning);
    assert_non_null(std::strstr(ahead.text.c_str(), "60 s ahead of"));
    auto behind = finding_of_clock(1000000, 999000);
    assert_true(behind.level == Level::problem);
    assert_non_null(std::strstr(behind.text.c_str(), "1000 s behind"));
    assert_true(finding_of_clock(0, 1000000).level == Level::warning);
}

void versions_are_compared_as_numbers(void **) {
    assert_string_equal(plain_version(0x160508).c_str(), "22.5.8");
    assert_string_equal(plain_version("slurm-wlm 22.05.8").c_str(), "22.5.8");
    assert_string_equal(plain_version("slurm 24.11.5-1\n").c_str(), "24.11.5");
    assert_string_equal(plain_version("slurm 25.05.0-0rc1").c_str(), "25.5.0");
    for (const char *none : {"", "slurm", "slurm 24", "24.11", "24.11."})
        assert_string_equal(plain_version(std::string_view(none)).c_str(), "");
}

void the_plugins_version_is_in_its_file(void **) {
    auto version = version_of_plugin(plugin);
    assert_true(version.ok());
    assert_int_equal(*version, SLURM_VERSION_NUMBER);
    assert_true(version_of_plugin("/nonexistent/x.so").failure().kind == ErrorKind::not_found);
    assert_true(version_of_plugin("/dev/null").failure().kind == ErrorKind::invalid);
}

// A file that somebody has cut or scribbled on is an error, never more.
void a_damaged_file_is_an_error_at_most(void **) {
    struct stat status {};
    auto fd = open_regular_file(plugin, status);
    auto whole = read_all(fd->get(), plugin, 64u << 20);
    assert_true(whole.ok());
    std::string path = (std::filesystem::temp_directory_path() / "pmixhost-check-XXXXXX").string();
    int file = ::mkstemp(path.data());
    assert_true(file >= 0);
    ::close(file);
    auto with = [&path](const std::string &content) {
        std::ofstream(path, std::ios::trunc | std::ios::binary) << content;
        return version_of_plugin(path).ok();
    };
    for (std::size_t size : {0u, 4u, 16u, 63u, 64u, 200u, 1000u})
        assert_false(with(whole->substr(0, size)));
    assert_false(with(whole->substr(0, whole->size() / 2)));
    std::srand(7);
    for (int i = 0; i < 60; ++i) {
        std::string damaged = *whole;
        for (int b = 0; b < 200; ++b)
            damaged[static_cast<std::size_t>(std::rand()) % (b < 100 ? 64 : damaged.size())] =
                static_cast<char>(std::rand());
        damaged.replace(0, 5, whole->substr(0, 5));
        with(damaged);
    }
    ::unlink(path.c_str());
}

void the_kept_topology_is_looked_at(void **) {
    auto config = parse_controller_config("SlurmdSpoolDir = /spool/%n/%h/%n\n");
    assert_string_equal(topology_path(config, "node7", "box").c_str(), "/spool/node7/box/node7/pmixhost_topology");
    assert_string_equal(topology_path(parse_controller_config(""), "n", "h").c_str(), "");

    char directory[] = "/tmp/pmixhost-check-XXXXXX";
    assert_non_null(mkdtemp(directory));
    std::string file = std::string(directory) + "/pmixhost_topology";
    Settings settings;
    auto finds = [&](Level level, const std::string &text, const std::string &state = "state\n",
                     const std::string &program = "/usr/bin/env") {
        auto finding = finding_of_topology_file(file, state, program, settings);
        if (finding.level != level || finding.text.find(text) == text.npos ||
            finding.cure.empty() != (level == Level::ok))
            fail_msg("%s: %s (%s)", text.c_str(), finding.text.c_str(), finding.cure.c_str());
    };
    finds(Level::ok, "is not there: the next step makes it");
    finds(Level::warning, "as others than root may write /tmp", "state\n", "/tmp/pmixhost-topology");
    auto write = [&](std::string_view xml) {
        auto writer = TopologyFileWriter::begin(file);
        assert_true(writer.ok() && writer->finish("state\n", xml).ok());
    };
    write(std::string(3000, 'x'));
    finds(Level::ok, file + ", 3 KiB");
    finds(Level::ok, "is of before a change of the host: the next step makes it", "another\n");
    ::chmod(file.c_str(), 0664);
    finds(Level::warning, "others than root may have written it; so each daemon");
    if (::geteuid() != 0) { // root reads anything
        ::chmod(file.c_str(), 0);
        finds(Level::warning, "Permission denied");
    }
    ::chmod(file.c_str(), 0644);
    write("");
    finds(Level::ok, "each job sees its own");
    settings.daemon_topology = "look";
    finds(Level::ok, "not used (daemon.topology = \"look\")");
    std::filesystem::remove_all(directory);
}

// With commands of Slurm that do what they are told here.
void a_look_at_hosts_is_begun_or_says_why_not(void **) {
    char directory[] = "/tmp/pmixhost-check-XXXXXX";
    assert_non_null(mkdtemp(directory));
    std::string place = directory;
    auto run = [&](const std::string &squeue) {
        std::ofstream(place + "/squeue") << "#!/bin/sh\n" << squeue << "\n";
        std::ofstream(place + "/srun") << "#!/bin/bash\necho \"srun $*\"; env; read -t 0 || echo silent\n";
        for (const char *name : {"/squeue", "/srun"})
            std::filesystem::permissions(place + name, std::filesystem::perms::owner_all);
        return run_captured({check_slurm, "--run-on", "slurm.77.0", "true"}, std::chrono::seconds(60),
                            std::vector<std::string>{"PATH=" + place + ":/usr/bin:/bin", "SLURM_LABELIO=1",
                                                     "SLURM_STDOUTMODE=/x", "SLURM_STDERRMODE=/x",
                                                     "SLURM_KILL_BAD_EXIT=1", "SLURM_WAIT=30", "SRUN_OUTPUT=/x",
                                                     "SRUN_ERROR=/x", "SRUN_CONTAINER=/x", "SLURM_CONTAINER=/x",
                                                     "SLURM_EXPORT_ENV=NONE", "SLURM_CONF=/c"});
    };
    auto said = run("echo 2");
    assert_true(said.ok() && said->code == 0);
    assert_true(said->out.starts_with("{\"hosts\": 2}\n"));
    assert_true(said->out.find("--jobid=77") != said->out.npos && said->out.find("--nodes=2") != said->out.npos);
    assert_true(said->out.find("SLURM_CONF=/c") != said->out.npos);
    // The end of its input would cost output.
    assert_true(said->out.find("--input") == said->out.npos && said->out.ends_with("\nsilent\n"));
    // slurm.conf may say that the end of one host's look ends the others'.
    assert_true(said->out.find(" --kill-on-bad-exit=0 ") != said->out.npos);
    assert_true(said->out.find(" --wait=0 ") != said->out.npos);
    for (const char *name : {"LABELIO", "STDOUTMODE", "STDERRMODE", "KILL_BAD_EXIT", "WAIT", "CONTAINER", "EXPORT_ENV"})
        assert_true(said->out.find(std::string("SLURM_") + name) == said->out.npos);
    assert_true(said->out.find("SRUN_") == said->out.npos);
    assert_int_equal(run("exit 0")->code, 3); // it knows of none that runs
    assert_int_equal(run("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")->code, 3);
    said = run("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
    assert_true(said.ok() && said->code == 1);
    assert_true(said->err.find("squeue does not answer: slurm_load_jobs error: Unable") != said->err.npos);
    std::filesystem::remove_all(place);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_look_at_hosts_is_begun_or_says_why_not),
        cmocka_unit_test(the_configuration_is_read),
        cmocka_unit_test(settings_are_judged),
        cmocka_unit_test(the_kept_topology_is_looked_at),
        cmocka_unit_test(clocks_are_compared),
        cmocka_unit_test(versions_are_compared_as_numbers),
        cmocka_unit_test(the_plugins_version_is_in_its_file),
        cmocka_unit_test(a_damaged_file_is_an_error_at_most),
    };
    return cmocka_run_group_tests_name("slurm_check", tests, nullptr, nullptr);
}
