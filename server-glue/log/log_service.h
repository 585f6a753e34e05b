// PMIx_Log: which entry of a request goes where, and what its caller is told. PMIx has one status for all entries. In
// the loop's thread.
#pragma once

#include "server-glue/log/log_ask.h"
#include "server-glue/log/task_texts.h"

#include <functional>

namespace pmixhost {

struct LogPlaces {
    // Writes to the caller's standard output and error (TaskTexts::write).
    std::function<void(std::vector<TaskText> texts, bool until_one_goes, TaskTexts::Done done)> write;
    // Appends to the record of the job, which may take the RM a while. `done` comes once, with a status.
    std::function<void(const std::string &text, std::function<void(pmix_status_t)> done)> record;
    // Sends by e-mail, in the same manner.
    std::function<void(std::shared_ptr<const Mail> mail, std::function<void(pmix_status_t)> done)> mail;
    // Writes to this host's syslog, in the same manner.
    std::function<void(const std::string &text, std::function<void(pmix_status_t)> done)> syslog;
};

// Takes the entries to their places, one after the other, and sets every entry's status: SUCCESS, OUT_OF_RESOURCE
// when `write` says that it has not gone or an element of XML is longer than LogAsk::max_text, what `record`, `mail` or
// `syslog` said, or what it was before. With `once`, stops at the first that succeeds.
//
// `done` gets SUCCESS when all succeeded (with `once`: one), PARTIAL_SUCCESS when some did, else the status of the
// first; it also gets the request. It is called from within when nothing had to be waited for.
void log_entries(std::shared_ptr<LogAsk> ask, LogPlaces places, std::function<void(pmix_status_t, LogAsk &)> done);

// One line for a record that others write to as well: who says it, and no control characters.
std::string record_line(const LogAsk &ask, const std::string &text);

} // namespace pmixhost
