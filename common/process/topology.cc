// See topology.h.
#include "common/process/topology.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <hwloc.h>
#include <link.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <type_traits>

namespace pmixhost {

void CpuSet::Free::operator()(void *bitmap) const {
    hwloc_bitmap_free(static_cast<hwloc_bitmap_t>(bitmap));
}

Result<CpuSet> CpuSet::of_process(pid_t pid) {
    // More CPUs than cpu_set_t holds make EINVAL; grow until the kernel's mask fits.
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
        std::unique_ptr<cpu_set_t, void (*)(cpu_set_t *)> mask(CPU_ALLOC(static_cast<std::size_t>(cpus)),
                                                               [](cpu_set_t *set) { CPU_FREE(set); });
        std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
        if (!mask)
            break;
        CPU_ZERO_S(size, mask.get());
        if (sched_getaffinity(pid, size, mask.get()) != 0) {
            if (errno == EINVAL)
                continue;
            return system_error("cannot read the CPU binding of a task", errno);
        }
        CpuSet set(hwloc_bitmap_alloc());
        if (!set.bitmap())
            break;
        for (int cpu = 0; cpu < cpus; ++cpu) {
            if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, mask.get()))
                hwloc_bitmap_set(static_cast<hwloc_bitmap_t>(set.bitmap()), static_cast<unsigned>(cpu));
        }
        return set;
    }
    return error(ErrorKind::system, "no memory for a CPU set");
}

Result<CpuSet> CpuSet::of_list(const std::string &list) {
    constexpr std::size_t max_list = 64u << 10;
    constexpr int max_cpu = 1 << 20;
    hwloc_bitmap_t bitmap = hwloc_bitmap_alloc();
    if (!bitmap)
        return system_error("hwloc_bitmap_alloc", ENOMEM);
    CpuSet set(bitmap);
    if (list.empty() || list.size() > max_list || hwloc_bitmap_list_sscanf(bitmap, list.c_str()) != 0 ||
        hwloc_bitmap_iszero(bitmap) || hwloc_bitmap_last(bitmap) < 0 || hwloc_bitmap_last(bitmap) > max_cpu)
        return error(ErrorKind::invalid, "'{}' is no list of CPUs", list.substr(0, 80));
    return set;
}

std::string CpuSet::list() const {
    char *text = nullptr;
    if (hwloc_bitmap_list_asprintf(&text, static_cast<hwloc_const_bitmap_t>(bitmap())) < 0)
        return {};
    std::string list(text);
    std::free(text);
    return list;
}

void Topology::Free::operator()(void *topology) const {
    hwloc_topology_destroy(static_cast<hwloc_topology_t>(topology));
}

std::string Topology::source() {
#ifdef HWLOC_VERSION
    return "hwloc:" HWLOC_VERSION;
#else
    return "hwloc";
#endif
}

// As libpmix looks for it.
static hwloc_topology_t begun_topology() {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0)
        return nullptr;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    return topology;
}

Result<Topology> Topology::of_xml(const std::string &xml) {
    Topology read(begun_topology());
    auto topology = static_cast<hwloc_topology_t>(read.handle());
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_THISSYSTEM_ALLOWED_RESOURCES;
    if (!topology || xml.size() >= INT_MAX ||
        hwloc_topology_set_xmlbuffer(topology, xml.c_str(), static_cast<int>(xml.size() + 1)) != 0 ||
        hwloc_topology_set_flags(topology, flags) != 0 || hwloc_topology_load(topology) != 0)
        return error(ErrorKind::invalid, "hwloc cannot read the topology that is kept");
    return read;
}

// Of vendors whose libraries hwloc has plugins for.
static bool has_their_devices(hwloc_topology_t topology) {
    constexpr unsigned display = 0x03, accelerator = 0x12, nvidia = 0x10de, amd = 0x1002, intel = 0x8086;
    for (hwloc_obj_t each = nullptr; (each = hwloc_get_next_pcidev(topology, each)) != nullptr;) {
        const auto &device = each->attr->pcidev;
        const unsigned kind = device.class_id >> 8, vendor = device.vendor_id;
        if ((kind == display || kind == accelerator) && (vendor == nvidia || vendor == amd || vendor == intel))
            return true;
    }
    return false;
}

// They are loaded by hwloc's plugins.
static bool vendors_libraries_are_loaded() {
    auto is_vendors = [](dl_phdr_info *object, std::size_t, void *) -> int {
        std::string_view path(object->dlpi_name ? object->dlpi_name : ""), name = path.substr(path.rfind('/') + 1);
        return name.starts_with("libnvidia-ml") || name.starts_with("libcudart") || name.starts_with("librocm_smi") ||
               name.starts_with("libze_loader") || name == "hwloc_cuda.so" || name == "hwloc_nvml.so" ||
               name == "hwloc_rsmi.so" || name == "hwloc_levelzero.so";
    };
    return ::dl_iterate_phdr(is_vendors, nullptr) != 0;
}

Result<std::string> Topology::whole_machine_xml() {
    Topology found(begun_topology());
    auto topology = static_cast<hwloc_topology_t>(found.handle());
    char *text = nullptr;
    int size = 0;
    if (!topology || hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        hwloc_topology_load(topology) != 0 || hwloc_topology_export_xmlbuffer(topology, &text, &size, 0) != 0)
        return system_error("hwloc cannot tell what this machine is", errno);
    if (has_their_devices(topology) && vendors_libraries_are_loaded())
        return error(ErrorKind::unsupported, "what vendors' libraries say depends on who asks");
    std::string xml(text); // `size` counts its NUL
    hwloc_free_xmlbuffer(topology, text);
    return xml;
}

void limit_hwloc() {
    ::setenv("HWLOC_COMPONENTS", "-gl,-opencl", 0);
    ::setenv("HWLOC_PLUGINS_BLACKLIST", "hwloc_gl.so,hwloc_opencl.so,hwloc_xml_libxml.so", 0);
}

Result<MachineShape> look_at_machine() {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0)
        return system_error("hwloc_topology_init", errno);
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)> owner(
        topology, &hwloc_topology_destroy);
    if (hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        hwloc_topology_load(topology) != 0)
        return system_error("hwloc cannot tell what this machine is", errno);
    auto count = [topology](hwloc_obj_type_t type) {
        return static_cast<unsigned>(std::max(0, hwloc_get_nbobjs_by_type(topology, type)));
    };
    MachineShape shape{count(HWLOC_OBJ_PACKAGE), count(HWLOC_OBJ_CORE), count(HWLOC_OBJ_PU), 0};
    auto own = CpuSet::of_process(0);
    if (!own)
        return own.failure();
    shape.own_cpus =
        static_cast<unsigned>(std::max(0, hwloc_bitmap_weight(static_cast<hwloc_const_bitmap_t>(own->bitmap()))));
    return shape;
}

std::uint64_t physical_memory() {
    struct sysinfo info {};
    if (sysinfo(&info) != 0)
        return 0;
    return static_cast<std::uint64_t>(info.totalram) * info.mem_unit;
}

} // namespace pmixhost
