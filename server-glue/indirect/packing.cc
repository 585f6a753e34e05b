// See packing.h.
#include "server-glue/indirect/packing.h"

#include "server-glue/library/pack.h"

#include <pmix.h>

namespace pmixhost::indirect {

// By which a server of libpmix marks an event that it has had: another one would pass it on no further.
static constexpr const char *has_been_told = "pmix.srvr.internal.notify";

Result<Packed> pack(const void *values, std::size_t count, pmix_data_type_t type) {
    auto bytes = pack_values(values, count, type);
    if (!bytes)
        return bytes.failure();
    return Packed{std::move(*bytes), static_cast<std::uint32_t>(count)};
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
    auto room = [&] {
        values->resize(packed.count); // zeroed
        return values->data();
    };
    if (auto unpacked = unpack_values(packed.bytes, packed.count, type, room); !unpacked)
        return unpacked.failure();
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
