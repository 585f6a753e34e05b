// PMIx_Log, as a process asks for it.
#pragma once

#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"
#include "server-glue/log/mail.h"

#include <ctime>

namespace pmixhost {

struct LogAsk {
    static constexpr std::size_t max_text = 64 * 1024; // of one entry: what a pipe holds
    static constexpr std::size_t max_record = 1024;
    static constexpr std::size_t max_request = 1024 * 1024;
    static constexpr std::size_t max_entries = 1000;
    struct Entry {
        std::string channel; // the entry's key
        int fd = -1;         // 1 or 2: the caller's standard output or error
        std::string text;
        pmix_status_t status = PMIX_SUCCESS; // without a place to go to: how it went
        bool job_record = false;
        bool syslog = false; // where libpmix leaves it to its host
        std::shared_ptr<const Mail> mail = nullptr;
    };
    Process caller;
    std::vector<Entry> entries;
    bool once = false, tagged = false, timed = false;
    bool xml = false;     // the text as an element of XML, which names its process; always tagged
    std::time_t time = 0; // of the request; 0: not said
    int priority = 3;     // of what goes to syslog: LOG_ERR, as the standard has it
    pmix_status_t refused = PMIX_SUCCESS;
    StatusReply reply;
};

} // namespace pmixhost
