// See convert.h.
#include "server-glue/library/convert.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <pmix.h>

namespace pmixhost {

pmix_proc_t proc_of(const Bytes &nspace, Rank rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace.c_str(), rank);
    return proc;
}

pmix_proc_t proc_of(const Process &process) {
    return proc_of(process.nspace, process.wildcard ? PMIX_RANK_WILDCARD : process.rank);
}

std::vector<pmix_proc_t> procs_of(const Bytes &nspace, std::span<const Rank> ranks) {
    std::vector<pmix_proc_t> out;
    out.reserve(ranks.size());
    for (Rank rank : ranks)
        out.push_back(proc_of(nspace, rank));
    return out;
}

std::vector<pmix_proc_t> procs_of(std::span<const Process> processes) {
    std::vector<pmix_proc_t> out;
    out.reserve(processes.size());
    for (const Process &process : processes)
        out.push_back(proc_of(process));
    return out;
}

Process process_of(const pmix_proc_t &proc) {
    // The name may fill its array without a final NUL.
    return {Bytes(proc.nspace, strnlen(proc.nspace, PMIX_MAX_NSLEN)), proc.rank, proc.rank == PMIX_RANK_WILDCARD};
}

std::vector<Process> processes_of(const pmix_proc_t *procs, std::size_t count) {
    std::vector<Process> out;
    out.reserve(count);
    for (std::size_t i = 0; procs && i < count; ++i)
        out.push_back(process_of(procs[i]));
    return out;
}

bool read_processes(const pmix_value_t &value, std::vector<Process> &out) {
    if (value.type == PMIX_PROC && value.data.proc) {
        out.push_back(process_of(*value.data.proc));
        return true;
    }
    if (value.type != PMIX_DATA_ARRAY || !value.data.darray || value.data.darray->type != PMIX_PROC)
        return false;
    auto more = processes_of(static_cast<const pmix_proc_t *>(value.data.darray->array), value.data.darray->size);
    out.insert(out.end(), more.begin(), more.end());
    return true;
}

std::string key_of(const pmix_info_t &info) {
    return {info.key, strnlen(info.key, PMIX_MAX_KEYLEN)};
}

std::optional<long long> number_of(const pmix_value_t &value) {
    switch (value.type) {
    case PMIX_BYTE:
        return value.data.byte;
    case PMIX_INT8:
        return value.data.int8;
    case PMIX_UINT8:
        return value.data.uint8;
    case PMIX_INT16:
        return value.data.int16;
    case PMIX_UINT16:
        return value.data.uint16;
    case PMIX_INT:
        return value.data.integer;
    case PMIX_UINT:
        return value.data.uint;
    case PMIX_INT32:
        return value.data.int32;
    case PMIX_UINT32:
        return value.data.uint32;
    case PMIX_INT64:
        return value.data.int64;
    case PMIX_UINT64:
        return static_cast<long long>(std::min<std::uint64_t>(value.data.uint64, INT32_MAX));
    case PMIX_SIZE:
        return static_cast<long long>(std::min<std::size_t>(value.data.size, INT32_MAX));
    default:
        return std::nullopt;
    }
}

bool flag_of(const pmix_value_t &value) {
    return value.type == PMIX_UNDEF || (value.type == PMIX_BOOL && value.data.flag);
}

std::optional<std::chrono::seconds> seconds_of(const pmix_value_t &value) {
    auto seconds = number_of(value);
    if (!seconds)
        return std::nullopt;
    return std::chrono::seconds(std::clamp<long long>(*seconds, 0, INT32_MAX));
}

std::optional<std::uint8_t> range_of(const pmix_value_t &value) {
    if (value.type != PMIX_DATA_RANGE)
        return std::nullopt;
    return value.data.range;
}

pmix_status_t status_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::invalid:
        return PMIX_ERR_BAD_PARAM;
    case ErrorKind::not_found:
        return PMIX_ERR_NOT_FOUND;
    case ErrorKind::denied:
        return PMIX_ERR_NO_PERMISSIONS;
    case ErrorKind::limit:
        return PMIX_ERR_OUT_OF_RESOURCE;
    case ErrorKind::timeout:
        return PMIX_ERR_TIMEOUT;
    case ErrorKind::unreachable:
        return PMIX_ERR_UNREACH;
    case ErrorKind::exists:
        return PMIX_ERR_RESOURCE_BUSY;
    case ErrorKind::unsupported:
        return PMIX_ERR_NOT_SUPPORTED;
    case ErrorKind::system:
        break;
    }
    return PMIX_ERR_UNREACH;
}

pmix_data_array_t *make_array(pmix_data_type_t type, std::size_t count, std::size_t element_size) {
    auto *array = static_cast<pmix_data_array_t *>(std::malloc(sizeof(pmix_data_array_t)));
    void *elements = std::calloc(count + 1, element_size);
    if (!array || !elements) {
        std::free(array);
        std::free(elements);
        throw std::bad_alloc();
    }
    array->type = type;
    array->size = count;
    array->array = elements;
    return array;
}

} // namespace pmixhost
