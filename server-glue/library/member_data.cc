// See member_data.h.
#include "server-glue/library/member_data.h"

#include "server-glue/library/pack.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <pmix.h>
#include <pmix_server.h>

#ifndef PMIX_GROUP_INFO_ARRAY // before libpmix 6
#define PMIX_GROUP_INFO_ARRAY "pmix.grp.infoarray"
#endif

namespace pmixhost::member_data {

namespace {

// Null: this is no array of a process.
const pmix_data_array_t *array_of(const pmix_info_t &info) {
    if (info.value.type != PMIX_DATA_ARRAY || !info.value.data.darray)
        return nullptr;
    const auto *array = info.value.data.darray;
    const auto *elements = static_cast<const pmix_info_t *>(array->array);
    bool begins_with_process = array->type == PMIX_INFO && array->size > 0 && elements &&
                               PMIX_CHECK_KEY(&elements[0], PMIX_PROCID) && elements[0].value.type == PMIX_PROC &&
                               elements[0].value.data.proc;
    return begins_with_process ? array : nullptr;
}

const pmix_proc_t &process_of(const pmix_data_array_t &array) {
    return *static_cast<const pmix_info_t *>(array.array)->value.data.proc;
}

// libpmix packs more types than it copies. Where it cannot copy one into its store it answers nobody (6.1).
bool can_be_copied(const pmix_value_t &value) {
    pmix_value_t copy;
    PMIX_VALUE_CONSTRUCT(&copy);
    if (PMIx_Value_xfer(&copy, const_cast<pmix_value_t *>(&value)) != PMIX_SUCCESS)
        return false; // of that type, and with nothing in it
    PMIX_VALUE_DESTRUCT(&copy);
    return true;
}

void copy_to(InfoList &list, const pmix_info_t &info) {
    if (can_be_copied(info.value))
        PMIX_INFO_XFER(list.add_empty(1), const_cast<pmix_info_t *>(&info));
}

// As PMIx_server_register_nspace takes it of a namespace that is there: its rank, and what it has posted.
void add_posted(InfoList &of_nspace, const pmix_data_array_t &array) {
    const auto *elements = static_cast<const pmix_info_t *>(array.array);
    InfoList one;
    one.add_rank(PMIX_RANK, process_of(array).rank);
    for (std::size_t i = 1; i < array.size; ++i) {
        if (!PMIX_CHECK_KEY(&elements[i], PMIX_DATA_SCOPE))
            copy_to(one, elements[i]);
    }
    of_nspace.add_array(PMIX_PROC_DATA, std::move(one));
}

void add_said(InfoList &of_all, const pmix_data_array_t &array) {
    InfoList one;
    for (std::size_t i = 0; i < array.size; ++i)
        copy_to(one, static_cast<const pmix_info_t *>(array.array)[i]);
    of_all.add_array(PMIX_GROUP_INFO, std::move(one));
}

// Each is kept until the library has called back. What comes behind it, as the answer does, is handled after it.
void store(const std::string &nspace, InfoList infos) {
    auto kept = std::make_unique<InfoList>(std::move(infos));
    auto done = [](pmix_status_t, void *object) { delete static_cast<InfoList *>(object); };
    if (PMIx_server_register_nspace(nspace.c_str(), -1, kept->data(), kept->size(), done, kept.get()) == PMIX_SUCCESS)
        kept.release();
}

} // namespace

bool is_one(const pmix_info_t &info) {
    return (PMIX_CHECK_KEY(&info, PMIX_PROC_DATA) || PMIX_CHECK_KEY(&info, PMIX_GROUP_INFO)) && array_of(info);
}

void hand_over(const Bytes &packed, const std::vector<pmix_proc_t> &members, bool has_context_id, InfoList &results) {
    PackedBuffer buffer(packed);
    std::map<std::string, InfoList> posted;
    InfoList said;
    for (;;) {
        InfoList one;
        if (buffer.take(one.add_empty(1), 1, PMIX_INFO) != PMIX_SUCCESS)
            break;
        const pmix_info_t &info = one.all().front();
        if (!is_one(info))
            continue;
        const auto &array = *array_of(info);
        const auto &process = process_of(array);
        bool is_member = std::any_of(members.begin(), members.end(),
                                     [&](const pmix_proc_t &each) { return PMIX_CHECK_PROCID(&each, &process); });
        if (!is_member)
            continue;
        if (PMIX_CHECK_KEY(&info, PMIX_PROC_DATA))
            add_posted(posted[process.nspace], array);
        else
            add_said(said, array);
    }
    for (auto &[nspace, infos] : posted)
        store(nspace, std::move(infos));
    if (has_context_id && said.size() > 0)
        results.add_array(PMIX_GROUP_INFO_ARRAY, std::move(said));
}

} // namespace pmixhost::member_data
