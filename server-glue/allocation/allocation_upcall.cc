// Upcall of allocate.
#include "server-glue/allocation/allocation_ask.h"
#include "server-glue/library/upcall_tools.h"

#include <cmath>
#include <cstring>

namespace pmixhost {

namespace {

using namespace upcall;

// What goes to the RM is one word or a list: nothing that a log or a terminal would take for more.
bool read_text(const pmix_value_t &value, std::size_t longest, std::string &out) {
    if (value.type != PMIX_STRING || !value.data.string)
        return false;
    std::size_t size = strnlen(value.data.string, longest + 1);
    if (size == 0 || size > longest)
        return false;
    out.assign(value.data.string, size);
    for (unsigned char c : out) {
        if (c <= 0x20 || c == 0x7f)
            return false;
    }
    return true;
}

bool read_number(const pmix_value_t &value, std::uint64_t &out) {
    auto number = number_of(value);
    if (!number || *number <= 0 || *number >= INT32_MAX)
        return false;
    out = static_cast<std::uint64_t>(*number);
    return true;
}

// The standard says float; whole numbers are taken as well.
bool read_megabytes(const pmix_value_t &value, std::uint64_t &out) {
    constexpr double most = 1e12;
    double size = value.type == PMIX_FLOAT    ? static_cast<double>(value.data.fval)
                  : value.type == PMIX_DOUBLE ? value.data.dval
                                              : static_cast<double>(number_of(value).value_or(0));
    if (!(size > 0 && size <= most))
        return false;
    out = static_cast<std::uint64_t>(std::ceil(size));
    return true;
}

bool read(const pmix_info_t &info, AllocationAsk &ask) {
    const pmix_value_t &value = info.value;
    const std::pair<const char *, std::string *> texts[] = {{PMIX_ALLOC_REQ_ID, &ask.request_id},
                                                            {PMIX_ALLOC_ID, &ask.allocation},
                                                            {PMIX_ALLOC_NODE_LIST, &ask.host_list},
                                                            {PMIX_ALLOC_QUEUE, &ask.queue}};
    for (const auto &[key, text] : texts) {
        if (PMIX_CHECK_KEY(&info, key))
            return read_text(value, text == &ask.host_list ? AllocationAsk::max_host_list : AllocationAsk::max_text,
                             *text);
    }
    const std::pair<const char *, std::uint64_t *> numbers[] = {
        {PMIX_ALLOC_NUM_NODES, &ask.hosts}, {PMIX_ALLOC_NUM_CPUS, &ask.cpus}, {PMIX_ALLOC_TIME, &ask.seconds}};
    for (const auto &[key, number] : numbers) {
        if (PMIX_CHECK_KEY(&info, key))
            return read_number(value, *number);
    }
    if (PMIX_CHECK_KEY(&info, PMIX_ALLOC_MEM_SIZE))
        return read_megabytes(value, ask.megabytes);
    if (PMIX_CHECK_KEY(&info, PMIX_TIMEOUT)) {
        ask.timeout = seconds_of(value);
    } else {
        ask.unsupported.push_back(key_of(info));
        if (PMIX_INFO_IS_REQUIRED(&info))
            ask.refused = PMIX_ERR_NOT_SUPPORTED;
    }
    return true;
}

pmix_status_t on_allocate(const pmix_proc_t *client, pmix_alloc_directive_t directive, const pmix_info_t data[],
                          std::size_t count, pmix_info_cbfunc_t callback, void *cbdata) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        AllocationAsk ask;
        ask.caller = process_of(*client);
        ask.directive = directive;
        for (std::size_t i = 0; data && i < count; ++i) {
            if (!read(data[i], ask))
                return PMIX_ERR_BAD_PARAM;
        }
        ask.reply = list_reply(callback, cbdata);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_allocation_upcall(pmix_server_module_t &module) {
    module.allocate = on_allocate;
}
} // namespace upcall

} // namespace pmixhost
