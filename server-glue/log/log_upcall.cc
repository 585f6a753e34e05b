// Upcall of log. libpmix calls it with all entries of a request, including those for syslog, which before 6.1 it has
// written by itself. It holds a lock over the call that the answer takes, so the answer must not come from within.
#include "server-glue/library/library_version.h"
#include "server-glue/library/upcall_tools.h"
#include "server-glue/log/log_ask.h"

#include <cstring>

namespace pmixhost {

namespace {

using namespace upcall;

// PMIX_LOG_EMAIL is an array of what the mail is made of.
pmix_status_t read_mail(const pmix_value_t &value, LogAsk::Entry &entry) {
    if (value.type != PMIX_DATA_ARRAY || !value.data.darray || value.data.darray->type != PMIX_INFO)
        return PMIX_ERR_BAD_PARAM;
    Mail mail;
    const auto *infos = static_cast<const pmix_info_t *>(value.data.darray->array);
    for (std::size_t i = 0; infos && i < value.data.darray->size; ++i) {
        const pmix_info_t &info = infos[i];
        bool text = PMIX_CHECK_KEY(&info, PMIX_LOG_EMAIL_MSG);
        std::string *place = text                                                ? &mail.text
                             : PMIX_CHECK_KEY(&info, PMIX_LOG_EMAIL_SUBJECT)     ? &mail.subject
                             : PMIX_CHECK_KEY(&info, PMIX_LOG_EMAIL_SENDER_ADDR) ? &mail.sender
                                                                                 : nullptr;
        bool to = PMIX_CHECK_KEY(&info, PMIX_LOG_EMAIL_ADDR);
        if (!place && !to) { // the server is the program's to know
            if (PMIX_INFO_IS_REQUIRED(&info))
                return PMIX_ERR_NOT_SUPPORTED;
            continue;
        }
        if (info.value.type != PMIX_STRING || !info.value.data.string)
            return PMIX_ERR_BAD_PARAM;
        std::size_t size = strnlen(info.value.data.string, LogAsk::max_text + 1);
        if (size > LogAsk::max_text)
            return PMIX_ERR_OUT_OF_RESOURCE;
        std::string said(info.value.data.string, size);
        if (to) {
            auto addresses = mail_addresses(said);
            if (!addresses)
                return status_of(addresses.failure());
            mail.recipients = std::move(*addresses);
        } else if (!text && !is_header_text(said)) {
            return PMIX_ERR_BAD_PARAM;
        } else {
            *place = std::move(said);
        }
    }
    if (mail.recipients.empty())
        return PMIX_ERR_BAD_PARAM;
    entry.mail = std::make_shared<const Mail>(std::move(mail));
    return PMIX_SUCCESS;
}

LogAsk::Entry entry_of(const pmix_info_t &info, bool once) {
    LogAsk::Entry entry;
    entry.channel = key_of(info);
    if (PMIX_CHECK_KEY(&info, PMIX_LOG_EMAIL)) {
        entry.status = read_mail(info.value, entry);
        return entry;
    }
    bool record = PMIX_CHECK_KEY(&info, PMIX_LOG_JOB_RECORD);
    bool syslog = PMIX_CHECK_KEY(&info, PMIX_LOG_SYSLOG) || PMIX_CHECK_KEY(&info, PMIX_LOG_LOCAL_SYSLOG);
    bool ours = record || syslog || PMIX_CHECK_KEY(&info, PMIX_LOG_STDOUT) || PMIX_CHECK_KEY(&info, PMIX_LOG_STDERR);
    std::size_t limit = record ? LogAsk::max_record : LogAsk::max_text;
    if (syslog && !library_leaves_syslog_to_its_host()) {
        // With PMIX_LOG_ONCE it tries the host before, and then not syslog.
        entry.status = once ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
    } else if (!ours) {
        entry.status = PMIX_ERR_NOT_SUPPORTED;
    } else if (info.value.type != PMIX_STRING || !info.value.data.string) {
        entry.status = PMIX_ERR_BAD_PARAM;
    } else {
        std::size_t size = strnlen(info.value.data.string, limit + 1);
        entry.status = PMIX_ERR_OUT_OF_RESOURCE;
        if (size <= limit) {
            entry.job_record = record;
            entry.syslog = syslog;
            if (!record && !syslog)
                entry.fd = PMIX_CHECK_KEY(&info, PMIX_LOG_STDOUT) ? 1 : 2;
            entry.text.assign(info.value.data.string, size);
        }
    }
    return entry;
}

void read_directive(const pmix_info_t &info, LogAsk &ask) {
    if (PMIX_CHECK_KEY(&info, PMIX_LOG_ONCE)) {
        ask.once = flag_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_LOG_TAG_OUTPUT)) {
        ask.tagged = flag_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_LOG_TIMESTAMP_OUTPUT)) {
        ask.timed = flag_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_LOG_XML_OUTPUT)) {
        ask.xml = flag_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_LOG_SYSLOG_PRI)) {
        auto priority = number_of(info.value);
        if (priority && *priority >= 0 && *priority < 8)
            ask.priority = static_cast<int>(*priority);
        else if (PMIX_INFO_IS_REQUIRED(&info) && library_leaves_syslog_to_its_host())
            ask.refused = PMIX_ERR_BAD_PARAM;
    } else if (PMIX_CHECK_KEY(&info, PMIX_LOG_TIMESTAMP)) {
        if (info.value.type == PMIX_TIME)
            ask.time = info.value.data.time;
    } else if (PMIX_INFO_IS_REQUIRED(&info)) {
        for (const char *key :
             {PMIX_LOG_SOURCE, PMIX_LOG_GENERATE_TIMESTAMP, PMIX_LOG_KEY, PMIX_LOG_VAL, PMIX_LOG_AGG}) {
            if (PMIX_CHECK_KEY(&info, key))
                return; // the library's
        }
        ask.refused = PMIX_ERR_NOT_SUPPORTED;
    }
}

void on_log(const pmix_proc_t *client, const pmix_info_t data[], std::size_t count, const pmix_info_t directives[],
            std::size_t ndirs, pmix_op_cbfunc_t callback, void *cbdata) {
    pmix_status_t status = guarded([&](Upcalls &upcalls) -> pmix_status_t {
        LogAsk ask;
        ask.caller = process_of(*client);
        for (std::size_t i = 0; directives && i < ndirs; ++i)
            read_directive(directives[i], ask);
        std::size_t bytes = 0;
        for (std::size_t i = 0; data && i < count; ++i) {
            ask.entries.push_back(entry_of(data[i], ask.once));
            bytes +=
                ask.entries.back().text.size() + (ask.entries.back().mail ? ask.entries.back().mail->text.size() : 0);
        }
        if (bytes > LogAsk::max_request || ask.entries.size() > LogAsk::max_entries) {
            ask.entries.clear();
            ask.refused = PMIX_ERR_OUT_OF_RESOURCE;
        }
        ask.reply = status_reply(callback, cbdata);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
    if (status == PMIX_SUCCESS || !callback)
        return;
    // There is no status to return, and perhaps no memory: this needs none.
    in_library_thread([callback, cbdata] { callback(PMIX_ERR_NOMEM, cbdata); });
}

} // namespace

namespace upcall {
void add_log_upcall(pmix_server_module_t &module) {
    module.log = on_log;
}
} // namespace upcall

} // namespace pmixhost
