// Upcalls of publish, lookup and unpublish. A value travels as PMIx_Data_pack makes it: only the
// libraries at both ends look inside.
#include "server-glue/library/pack.h"
#include "server-glue/library/upcall_tools.h"
#include "server-glue/publish/publish_asks.h"

#include <algorithm>
#include <cstring>
#include <grp.h>
#include <pmix.h>
#include <set>
#include <unistd.h>

namespace pmixhost {

namespace {

using namespace upcall;

// What info says beside the data.
struct Directives {
    std::uint8_t range, persistence = PMIX_PERSIST_SESSION;
    std::vector<wire::ProcessName> custom;
    std::int32_t wait = -1;
    std::optional<std::chrono::seconds> timeout;
    std::uint32_t gid = wire::any_group;
    std::optional<std::uint32_t> other_user = std::nullopt;
    pmix_status_t refused = PMIX_SUCCESS;
};

bool is_key(const pmix_info_t &info, const char *key) {
    return strncmp(info.key, key, PMIX_MAX_KEYLEN) == 0;
}

void read_custom(const pmix_value_t &value, Directives &out) {
    std::vector<Process> processes;
    if (!read_processes(value, processes))
        out.refused = PMIX_ERR_BAD_PARAM;
    for (const Process &process : processes)
        out.custom.push_back({process.nspace, process.rank});
}

// True when this info is a directive; what else there is, is data (publish) or unknown.
bool read_directive(const pmix_info_t &info, Directives &out) {
    if (is_key(info, PMIX_RANGE)) {
        auto range = range_of(info.value);
        if (!range || range == PMIX_RANGE_INVALID)
            out.refused = PMIX_ERR_BAD_PARAM;
        else if (range != PMIX_RANGE_UNDEF)
            out.range = *range;
    } else if (is_key(info, PMIX_PERSISTENCE)) {
        if (info.value.type != PMIX_PERSIST || info.value.data.persist > PMIX_PERSIST_SESSION)
            out.refused = PMIX_ERR_BAD_PARAM;
        else
            out.persistence = info.value.data.persist;
    } else if (is_key(info, PMIX_EVENT_CUSTOM_RANGE)) {
        read_custom(info.value, out);
    } else if (is_key(info, PMIX_WAIT)) {
        auto count = number_of(info.value);
        // A flag alone means: for all.
        out.wait = count ? static_cast<std::int32_t>(std::clamp<long long>(*count, 0, INT32_MAX)) : 0;
    } else if (is_key(info, PMIX_TIMEOUT)) {
        out.timeout = seconds_of(info.value);
    } else if (is_key(info, PMIX_USERID)) {
        // The library adds one that is the client's word; all data here is of this daemon's user.
        auto uid = number_of(info.value);
        if (!uid || *uid < 0 || *uid > UINT32_MAX)
            out.refused = PMIX_ERR_BAD_PARAM;
        else if (*uid != static_cast<long long>(::geteuid()) && !out.other_user)
            out.other_user = static_cast<std::uint32_t>(*uid);
    } else if (is_key(info, PMIX_GRPID)) {
        auto gid = number_of(info.value);
        if (!gid || *gid < 0 || *gid >= wire::any_group)
            out.refused = PMIX_ERR_BAD_PARAM;
        else
            out.gid = static_cast<std::uint32_t>(*gid);
    } else {
        return false;
    }
    return true;
}

// Behind what the client gave, the library adds the client's user, and from version 7 on its group: nobody asked for
// data of that group alone.
std::size_t without_added_group(const pmix_info_t info[], std::size_t count) {
    bool added = info && count >= 2 && is_key(info[count - 2], PMIX_USERID) && is_key(info[count - 1], PMIX_GRPID);
    return added ? count - 1 : count;
}

Directives directives_of(const pmix_info_t info[], std::size_t count, std::uint8_t default_range) {
    Directives out{.range = default_range, .custom = {}, .timeout = {}};
    count = without_added_group(info, count);
    for (std::size_t i = 0; info && i < count; ++i) {
        if (!read_directive(info[i], out) && PMIX_INFO_IS_REQUIRED(&info[i]))
            out.refused = PMIX_ERR_NOT_SUPPORTED;
    }
    if (out.range == PMIX_RANGE_CUSTOM && out.custom.empty() && out.refused == PMIX_SUCCESS)
        out.refused = PMIX_ERR_BAD_PARAM;
    return out;
}

// Is the user a member?
bool own_group(std::uint32_t gid) {
    if (gid == ::getegid() || gid == ::getgid())
        return true;
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
    int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
    return count > 0 && std::find(groups.begin(), groups.begin() + count, gid) != groups.begin() + count;
}

// Nothing is copied beyond what is looked for in one call.
pmix_status_t read_keys(char **keys, std::vector<Bytes> &out) {
    for (; keys && *keys; ++keys) {
        if (out.size() == most_keys)
            return PMIX_ERR_OUT_OF_RESOURCE;
        std::size_t length = strnlen(*keys, PMIX_MAX_KEYLEN + 1);
        if (length > PMIX_MAX_KEYLEN)
            return PMIX_ERR_BAD_PARAM;
        out.emplace_back(*keys, length);
    }
    return PMIX_SUCCESS;
}

// A caller that asks for these keys gets the owner of what was found, once for each process.
struct OwnerWanted {
    bool uid = false, gid = false;
};

void load_owner(pmix_pdata_t &datum, const wire::Found &of, const char *key, std::uint32_t number) {
    datum.proc = proc_of(of.nspace, of.rank);
    PMIX_LOAD_KEY(datum.key, key);
    PMIX_VALUE_LOAD(&datum.value, &number, PMIX_UINT32);
}

void answer_lookup(pmix_lookup_cbfunc_t callback, void *data, pmix_status_t status,
                   const std::vector<wire::Found> &found, OwnerWanted owner) {
    pmix_pdata_t *out = nullptr;
    std::size_t count = 0, room = 3 * found.size();
    if (!found.empty())
        PMIX_PDATA_CREATE(out, room);
    std::set<std::tuple<Bytes, std::uint32_t, std::uint32_t>> told; // publishers, with the data's group
    for (const auto &one : found) {
        pmix_pdata_t &datum = out[count];
        datum.proc = proc_of(one.nspace, one.rank);
        PMIX_LOAD_KEY(datum.key, one.key.c_str());
        if (PackedBuffer(one.value).take(&datum.value, 1, PMIX_VALUE) == PMIX_SUCCESS)
            ++count;
        else
            status = PMIX_ERR_UNPACK_FAILURE;
        if (!told.emplace(one.nspace, one.rank, one.gid).second)
            continue;
        if (owner.uid)
            load_owner(out[count++], one, PMIX_USERID, one.uid);
        if (owner.gid)
            load_owner(out[count++], one, PMIX_GRPID, one.gid);
    }
    callback(status, out, count, data); // which has packed them when it returns
    if (out)
        PMIX_PDATA_FREE(out, room);
}

LookupReply lookup_reply(pmix_lookup_cbfunc_t callback, void *data, OwnerWanted owner) {
    if (!callback)
        return {};
    return {[callback, data, owner](pmix_status_t status, std::vector<wire::Found> found) {
                in_progress_thread([callback, data, owner, status, found = std::move(found)] {
                    answer_lookup(callback, data, status, found, owner);
                });
            },
            PMIX_ERROR, std::vector<wire::Found>()};
}

pmix_status_t on_publish(const pmix_proc_t *proc, const pmix_info_t info[], std::size_t count,
                         pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        PublishAsk ask;
        Directives directives{.range = PMIX_RANGE_SESSION, .custom = {}, .timeout = {}};
        std::uint64_t bytes = 0;
        const std::uint64_t most_bytes = upcalls.handlers.shared<PublishLimits>()->bytes;
        count = without_added_group(info, count);
        for (std::size_t i = 0; info && i < count; ++i) {
            if (read_directive(info[i], directives))
                continue;
            // An attribute, and none that publishing knows.
            if (strncmp(info[i].key, "pmix.", 5) == 0) {
                if (PMIX_INFO_IS_REQUIRED(&info[i]))
                    directives.refused = PMIX_ERR_NOT_SUPPORTED;
                continue;
            }
            wire::Datum datum{key_of(info[i]), {}};
            PackedBuffer packed;
            if (pmix_status_t status = packed.add(&info[i].value, 1, PMIX_VALUE); status != PMIX_SUCCESS)
                return status;
            datum.value = packed.bytes();
            bytes += datum.key.size() + datum.value.size();
            if (bytes > most_bytes)
                return PMIX_ERR_OUT_OF_RESOURCE;
            ask.data.push_back(std::move(datum));
        }
        if (directives.range == PMIX_RANGE_CUSTOM && directives.custom.empty())
            directives.refused = PMIX_ERR_BAD_PARAM;
        if (directives.gid != wire::any_group && !own_group(directives.gid))
            directives.refused = PMIX_ERR_NO_PERMISSIONS;
        if (ask.data.empty() && directives.refused == PMIX_SUCCESS)
            directives.refused = PMIX_ERR_BAD_PARAM;
        if (directives.refused != PMIX_SUCCESS)
            return directives.refused;
        ask.caller = process_of(*proc);
        ask.gid = directives.gid;
        ask.range = directives.range;
        ask.persistence = directives.persistence;
        ask.custom = std::move(directives.custom);
        ask.timeout = directives.timeout;
        ask.other_user = directives.other_user;
        ask.reply = status_reply(callback, data);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

pmix_status_t on_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[], std::size_t count,
                        pmix_lookup_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        auto directives = directives_of(info, count, PMIX_RANGE_SESSION);
        if (directives.refused != PMIX_SUCCESS)
            return directives.refused;
        LookupAsk ask;
        if (pmix_status_t status = read_keys(keys, ask.keys); status != PMIX_SUCCESS)
            return status;
        OwnerWanted owner{std::erase(ask.keys, Bytes(PMIX_USERID)) > 0, std::erase(ask.keys, Bytes(PMIX_GRPID)) > 0};
        if (ask.keys.empty())
            return PMIX_ERR_BAD_PARAM;
        ask.caller = process_of(*proc);
        ask.gid = directives.gid;
        ask.range = directives.range;
        ask.custom = std::move(directives.custom);
        ask.wait = directives.wait;
        ask.timeout = directives.timeout;
        ask.other_user = directives.other_user;
        ask.reply = lookup_reply(callback, data, owner);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

pmix_status_t on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[], std::size_t count,
                           pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        auto directives = directives_of(info, count, PMIX_RANGE_UNDEF);
        if (directives.refused != PMIX_SUCCESS)
            return directives.refused;
        UnpublishAsk ask;
        if (pmix_status_t status = read_keys(keys, ask.keys); status != PMIX_SUCCESS)
            return status;
        ask.caller = process_of(*proc);
        ask.range = directives.range;
        ask.timeout = directives.timeout;
        ask.other_user = directives.other_user;
        ask.reply = status_reply(callback, data);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_publish_upcalls(pmix_server_module_t &module) {
    module.publish = on_publish;
    module.lookup = on_lookup;
    module.unpublish = on_unpublish;
}
} // namespace upcall

} // namespace pmixhost
