// Conversions between the structures of libpmix and what the rest of the server works with: the one place for them.
// They work on the caller's memory alone, in any thread. What libpmix gives comes from processes, and is not trusted:
// names may lack their final NUL, and values may be of any type.
#pragma once

#include "common/base/result.h"
#include "server-glue/core/signature.h"

#include <pmix_common.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pmixhost {

// --- processes

// A namespace that is too long for a pmix_proc_t is cut.
pmix_proc_t proc_of(const Bytes &nspace, Rank rank);
pmix_proc_t proc_of(const Process &process);
std::vector<pmix_proc_t> procs_of(const Bytes &nspace, std::span<const Rank> ranks);
std::vector<pmix_proc_t> procs_of(std::span<const Process> processes);
Process process_of(const pmix_proc_t &proc);
std::vector<Process> processes_of(const pmix_proc_t *procs, std::size_t count); // `procs` may be null
// Adds the process or the array of processes that the value is; false when it is none.
bool read_processes(const pmix_value_t &value, std::vector<Process> &out);

// --- values of directives

std::string key_of(const pmix_info_t &info);
// A whole number, whatever integer type the caller gave it; nullopt when it is none.
std::optional<long long> number_of(const pmix_value_t &value);
// A directive that is there without a value means true (as PMIX_INFO_TRUE has it).
bool flag_of(const pmix_value_t &value);
// A timeout in seconds; 0 means without limit (standard, 3.4.29).
std::optional<std::chrono::seconds> seconds_of(const pmix_value_t &value);
// A PMIX_RANGE_...; nullopt when it is none.
std::optional<std::uint8_t> range_of(const pmix_value_t &value);

// --- what failed, as a status

// A failed system call, for which PMIx has no word, becomes UNREACH: what was to be asked was not. Code that means
// something else by one of the kinds says so itself.
pmix_status_t status_of(ErrorKind kind);
inline pmix_status_t status_of(const Error &failure) {
    return status_of(failure.kind);
}

// --- arrays

// Makes an array of zeroed elements, which the caller fills (array->array). The library frees it together with what
// it is put in. Throws std::bad_alloc.
pmix_data_array_t *make_array(pmix_data_type_t type, std::size_t count, std::size_t element_size);

} // namespace pmixhost
