// See packing.h.
#include "server-glue/indirect/packing.h"

#include <pmix.h>

namespace pmixhost::indirect {

// By which a server of libpmix marks an event that it has had: another one would pass it on no further.
static constexpr const char *has_been_told = "pmix.srvr.internal.notify";

Result<Packed> pack(const void *values, std::size_t count, pmix_data_type_t type) {
    Packed out;
    if (count == 0)
        return out;
    if (count > INT32_MAX)
        return error(ErrorKind::limit, "{} values are too many", count);
    pmix_data_buffer_t buffer;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    pmix_status_t status =
        PMIx_Data_pack(nullptr, &buffer, const_cast<void *>(values), static_cast<std::int32_t>(count), type);
    if (status == PMIX_SUCCESS) {
        out.bytes.assign(buffer.base_ptr, buffer.bytes_used);
        out.count = static_cast<std::uint32_t>(count);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    if (status != PMIX_SUCCESS)
        return error(ErrorKind::system, "PMIx_Data_pack: {}", PMIx_Error_string(status));
    return out;
}

Result<Packed> pack_info(const pmix_info_t *info, std::size_t count) {
    std::vector<pmix_info_t> some;
    for (std::size_t i = 0; info && i < count; ++i)
        if (info[i].value.type != PMIX_POINTER && !PMIX_CHECK_KEY(&info[i], has_been_told))
            some.push_back(info[i]); // what it holds stays the caller's
    return pack(some.data(), some.size(), PMIX_INFO);
}

namespace {

template <typename Value> void destruct(Value &) {}
template <> void destruct(pmix_info_t &info) {
    PMIX_INFO_DESTRUCT(&info);
}
template <> void destruct(pmix_query_t &query) {
    PMIX_QUERY_DESTRUCT(&query);
}
template <> void destruct(pmix_app_t &app) {
    PMIX_APP_DESTRUCT(&app);
}

template <typename Value> Result<Unpacked<Value>> unpack(const Packed &packed, pmix_data_type_t type) {
    Unpacked<Value> values(new std::vector<Value>(), [](std::vector<Value> *all) {
        for (auto &value : *all)
            destruct(value);
        delete all;
    });
    if (packed.count == 0)
        return values;
    if (packed.count > packed.bytes.size()) // each takes a byte at least
        return error(ErrorKind::invalid, "{} values in {} bytes", packed.count, packed.bytes.size());
    values->resize(packed.count); // zeroed
    pmix_data_buffer_t buffer;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    pmix_byte_object_t object{const_cast<char *>(packed.bytes.data()), packed.bytes.size()};
    auto got = static_cast<std::int32_t>(packed.count);
    pmix_status_t status = PMIx_Data_embed(&buffer, &object);
    if (status == PMIX_SUCCESS)
        status = PMIx_Data_unpack(nullptr, &buffer, values->data(), &got, type);
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    if (status != PMIX_SUCCESS || got != static_cast<std::int32_t>(packed.count))
        return error(ErrorKind::invalid, "{} packed values cannot be read", packed.count);
    return values;
}

} // namespace

Result<Unpacked<pmix_info_t>> unpack_info(const Packed &packed) {
    return unpack<pmix_info_t>(packed, PMIX_INFO);
}
Result<Unpacked<pmix_proc_t>> unpack_processes(const Packed &packed) {
    return unpack<pmix_proc_t>(packed, PMIX_PROC);
}
Result<Unpacked<pmix_query_t>> unpack_queries(const Packed &packed) {
    return unpack<pmix_query_t>(packed, PMIX_QUERY);
}
Result<Unpacked<pmix_app_t>> unpack_apps(const Packed &packed) {
    return unpack<pmix_app_t>(packed, PMIX_APP);
}

} // namespace pmixhost::indirect
