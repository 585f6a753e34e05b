// The file in which a topology is kept: what makes it stale, who is trusted to have written it, and that hwloc reads
// from it what it would find.
#include "common/process/topology_file.h"

#include "common/process/topology.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <hwloc.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "test/unit/check.h"

using namespace pmixhost;
namespace fs = std::filesystem;

// libpciaccess keeps what it has found when hwloc's plugin is done with it. It stays loaded, so that its name is known.
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions();
const char *__lsan_default_suppressions() {
    return "leak:libpciaccess\n";
}

namespace {

Result<void> write(const std::string &path, const std::string &state, std::string_view xml) {
    auto writer = TopologyFileWriter::begin(path);
    return writer ? writer->finish(state, xml) : Result<void>(writer.failure());
}

struct Directory {
    std::string path = "/tmp/pmixhost-topology.XXXXXX";
    Directory() { assert_non_null(::mkdtemp(path.data())); }
    ~Directory() { fs::remove_all(path); }
    std::string file() const { return path + "/topology"; }
    void write(const std::string &name, const std::string &text) const {
        fs::create_directories(fs::path(path + name).parent_path());
        std::ofstream(path + name) << text;
    }
    void link(const std::string &name, const std::string &target) const {
        fs::create_directories(fs::path(path + name).parent_path());
        fs::create_symlink(target, path + name);
    }
};

void it_is_read_in_the_state_in_which_it_was_written(void **) {
    Directory directory;
    assert_false(read_topology_file(directory.file(), "now\n").ok());
    assert_false(topology_file_is_current(directory.file(), "now\n"));
    assert_true(write(directory.file(), "now\n", "<topology/>").ok());
    assert_true(topology_file_is_current(directory.file(), "now\n"));
    assert_string_equal(read_topology_file(directory.file(), "now\n")->c_str(), "<topology/>");
    for (const char *other : {"", "now\nand more\n", "then\n"}) {
        assert_false(topology_file_is_current(directory.file(), other));
        auto read = read_topology_file(directory.file(), other);
        assert_true(!read && read.failure().kind == ErrorKind::not_found);
    }
    struct stat status {};
    assert_int_equal(::stat(directory.file().c_str(), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0644);
    // What is cut off is not used, and is written anew.
    fs::resize_file(directory.file(), fs::file_size(directory.file()) - 1);
    assert_false(topology_file_is_current(directory.file(), "now\n"));
    assert_false(read_topology_file(directory.file(), "now\n").ok());
    // That there is none is known, too.
    assert_true(write(directory.file(), "now\n", "").ok());
    assert_true(topology_file_is_current(directory.file(), "now\n"));
    auto none = read_topology_file(directory.file(), "now\n");
    assert_true(!none && none.failure().kind == ErrorKind::unsupported);
}

void others_must_not_have_written_it(void **) {
    Directory directory;
    assert_true(write(directory.file(), "now\n", "<topology/>").ok());
    for (mode_t mode : {0664, 0646}) {
        assert_int_equal(::chmod(directory.file().c_str(), mode), 0);
        auto read = read_topology_file(directory.file(), "now\n");
        assert_true(!read && read.failure().kind == ErrorKind::denied);
        assert_false(topology_file_is_current(directory.file(), "now\n"));
    }
    assert_int_equal(::chmod(directory.file().c_str(), 0644), 0);
    if (::geteuid() != 0)
        skip();
    assert_int_equal(::chown(directory.file().c_str(), 1234, 0), 0);
    assert_false(topology_file_is_current(directory.file(), "now\n"));
    // It is put right by whoever may.
    assert_true(write(directory.file(), "now\n", "<topology/>").ok());
    assert_true(topology_file_is_current(directory.file(), "now\n"));
}

void one_writes_at_a_time(void **) {
    Directory directory;
    directory.write("/topology.new", "what a writer that was killed has left, longer than what comes");
    assert_true(write(directory.file(), "", "a").ok());
    assert_string_equal(read_topology_file(directory.file(), "")->c_str(), "a");
    directory.write("/topology.new", "");
    int other = ::open((directory.file() + ".new").c_str(), O_RDWR | O_CLOEXEC);
    assert_int_equal(::flock(other, LOCK_EX), 0);
    auto written = write(directory.file(), "", "b");
    assert_true(!written && written.failure().kind == ErrorKind::limit);
    assert_string_equal(read_topology_file(directory.file(), "")->c_str(), "a");
    ::close(other);
    assert_true(write(directory.file(), "", "b").ok());
    assert_false(write("/nowhere/topology", "", "b").ok());
}

void a_change_of_the_host_is_seen(void **) {
    Directory host;
    host.write("/proc/sys/kernel/random/boot_id", "one\n");
    host.write("/sys/devices/system/cpu/online", "0-3\n");
    host.write("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x15b3\n");
    host.link("/sys/class/net/lo", "../../devices/virtual/net/lo");
    std::vector<std::string> states{machine_state(host.path)};
    auto changes = [&](const char *what) {
        states.push_back(machine_state(host.path));
        for (std::size_t i = 0; i + 1 < states.size(); ++i) {
            if (states[i] == states.back())
                fail_msg("%s", what);
        }
    };
    host.link("/sys/class/net/veth1", "../../devices/virtual/net/veth1");
    assert_string_equal(machine_state(host.path).c_str(), states[0].c_str()); // a container's
    host.write("/proc/sys/kernel/random/boot_id", "two\n");
    changes("a boot");
    host.write("/proc/meminfo", "MemTotal:       24684456 kB\nMemFree: 1 kB\n");
    changes("memory is known");
    host.write("/proc/meminfo", "MemTotal:       24684455 kB\nMemFree: 2 kB\n");
    assert_string_equal(machine_state(host.path).c_str(), states.back().c_str());
    host.write("/sys/devices/system/cpu/online", "0-2\n");
    changes("a processor is gone");
    host.link("/sys/bus/pci/devices/0000:01:00.0/driver", "../../../bus/pci/drivers/mlx5_core");
    changes("a driver has been loaded");
    host.link("/sys/class/infiniband/mlx5_0", "../../devices/pci0000:00/0000:01:00.0/infiniband/mlx5_0");
    changes("and has made its device");
    host.write("/sys/bus/pci/devices/0000:02:00.0/vendor", "0x10de\n");
    changes("a card has come");
    assert_true(machine_state() == machine_state()); // of this host
}

// As libpmix gives it to its clients, without what hwloc says of its own abilities.
std::string exported(void *topology) {
    char *text = nullptr;
    int size = 0;
    assert_int_equal(hwloc_topology_export_xmlbuffer(static_cast<hwloc_topology_t>(topology), &text, &size, 0), 0);
    std::string xml(text);
    hwloc_free_xmlbuffer(static_cast<hwloc_topology_t>(topology), text);
    for (std::size_t at; (at = xml.find("<support")) != std::string::npos;)
        xml.erase(xml.rfind('\n', at), xml.find('\n', at) - xml.rfind('\n', at));
    return xml;
}

void what_is_read_is_what_hwloc_finds(void **) {
    limit_hwloc();
    ::dlopen("libpciaccess.so.0", RTLD_NOW | RTLD_NODELETE);
    hwloc_topology_t found;
    assert_int_equal(hwloc_topology_init(&found), 0);
    hwloc_topology_set_io_types_filter(found, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    assert_int_equal(hwloc_topology_load(found), 0);
    auto xml = Topology::whole_machine_xml();
    assert_true(xml.ok());
    auto read = Topology::of_xml(*xml);
    assert_true(read.ok());
    auto topology = static_cast<hwloc_topology_t>(read->handle());
    assert_true(hwloc_topology_is_thissystem(topology));
    assert_true(
        hwloc_bitmap_isequal(hwloc_topology_get_topology_cpuset(topology), hwloc_topology_get_topology_cpuset(found)));
    assert_true(hwloc_bitmap_isequal(hwloc_topology_get_topology_nodeset(topology),
                                     hwloc_topology_get_topology_nodeset(found)));
    assert_string_equal(exported(topology).c_str(), exported(found).c_str());
    hwloc_topology_destroy(found);
    assert_false(Topology::of_xml("<topology").ok());
    assert_false(Topology::of_xml("").ok());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_is_read_in_the_state_in_which_it_was_written),
        cmocka_unit_test(others_must_not_have_written_it),
        cmocka_unit_test(one_writes_at_a_time),
        cmocka_unit_test(a_change_of_the_host_is_seen),
        cmocka_unit_test(what_is_read_is_what_hwloc_finds),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
