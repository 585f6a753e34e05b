// Upcalls of get_credential and validate_credential. Munge knows from the kernel whose the daemon is, and with it the
// job: what the request says of that (PMIX_USERID, PMIX_GRPID) is not looked at. Which process asks, libpmix says.
#include "server-glue/library/info_list.h"
#include "server-glue/library/upcall_tools.h"
#include "server-glue/security/credential_asks.h"

#include <string_view>

namespace pmixhost {

namespace {

using namespace upcall;

constexpr const char *credential_type = "munge";

// What comes with a credential. libpmix from 6.1 on reads it when its callback has returned (_cred_cbfunc of
// pmix_server.c), and frees nothing of it: it is there as long as the process.
pmix_info_t *kind_of_credential() {
    static auto *const kind = [] {
        auto *list = new InfoList;
        list->add(PMIX_CRED_TYPE, credential_type);
        return list;
    }();
    return kind->data();
}

// A list such as "munge,sss".
bool names_our_type(const pmix_value_t &value) {
    if (value.type != PMIX_STRING || !value.data.string)
        return false;
    std::string_view rest = value.data.string;
    while (true) {
        std::size_t comma = rest.find(',');
        if (rest.substr(0, comma) == credential_type)
            return true;
        if (comma == std::string_view::npos)
            return false;
        rest.remove_prefix(comma + 1);
    }
}

// Only one type is offered: other wishes cannot be met, whether the directive is required or not.
pmix_status_t read(const pmix_info_t info[], std::size_t count, std::optional<std::chrono::seconds> &timeout) {
    for (std::size_t i = 0; info && i < count; ++i) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_CRED_TYPE)) {
            if (!names_our_type(info[i].value))
                return PMIX_ERR_NOT_SUPPORTED;
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT)) {
            timeout = seconds_of(info[i].value);
        } else if (!PMIX_CHECK_KEY(&info[i], PMIX_USERID) && !PMIX_CHECK_KEY(&info[i], PMIX_GRPID) &&
                   PMIX_INFO_IS_REQUIRED(&info[i])) {
            return PMIX_ERR_NOT_SUPPORTED;
        }
    }
    return PMIX_SUCCESS;
}

pmix_status_t on_get_credential(const pmix_proc_t *proc, const pmix_info_t info[], std::size_t count,
                                pmix_credential_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        CredentialAsk ask;
        ask.caller = process_of(*proc);
        if (pmix_status_t status = read(info, count, ask.timeout); status != PMIX_SUCCESS)
            return status;
        ask.reply = {[callback, data](pmix_status_t status, Bytes credential) {
                         in_progress_thread([callback, data, status, credential]() mutable {
                             pmix_byte_object_t object{credential.data(), credential.size()};
                             callback(status, &object, kind_of_credential(), 1, data);
                         });
                     },
                     PMIX_ERROR, Bytes()};
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

pmix_status_t on_validate_credential(const pmix_proc_t *proc, const pmix_byte_object_t *credential,
                                     const pmix_info_t info[], std::size_t count, pmix_validation_cbfunc_t callback,
                                     void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        ValidationAsk ask;
        ask.caller = process_of(*proc);
        if (!credential || !credential->bytes || credential->size == 0)
            return PMIX_ERR_BAD_PARAM;
        if (pmix_status_t status = read(info, count, ask.timeout); status != PMIX_SUCCESS)
            return status;
        ask.credential.assign(credential->bytes, credential->size);
        ask.reply = {[callback, data](pmix_status_t status, Identity identity) {
                         in_progress_thread([callback, data, status, identity] {
                             InfoList results;
                             if (status == PMIX_SUCCESS) {
                                 results.add(PMIX_USERID, static_cast<std::uint32_t>(identity.uid));
                                 results.add(PMIX_GRPID, static_cast<std::uint32_t>(identity.gid));
                                 results.add(PMIX_CRED_TYPE, credential_type);
                             }
                             callback(status, results.data(), results.size(), data);
                         });
                     },
                     PMIX_ERROR, Identity()};
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_credential_upcalls(pmix_server_module_t &module) {
    module.get_credential = on_get_credential;
    module.validate_credential = on_validate_credential;
}
} // namespace upcall

} // namespace pmixhost
