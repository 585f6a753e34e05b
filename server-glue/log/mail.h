// E-mail for PMIx_Log, by a program that takes a message as sendmail(8) does. It is off unless the site names one
// (log.mail).
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"

#include <string>
#include <vector>

namespace pmixhost {

struct Mail {
    static constexpr std::size_t max_header = 1000; // bytes of an address, or of the subject
    static constexpr std::size_t max_recipients = 50;
    std::vector<std::string> recipients;
    std::string sender, subject, text; // both may be empty
};

// Splits "a@b, c" into addresses. Fails (invalid, limit) where one is empty, could be taken for an option, or has
// what no address has: spaces and control characters would make headers.
Result<std::vector<std::string>> mail_addresses(const std::string &list);
// May this text stand in one line of a header?
bool is_header_text(const std::string &text);

// What the program reads: headers, an empty line, the text.
std::string mail_message(const Mail &mail);

// Runs `program -i -- RECIPIENT ...`, gives it the message and waits for it. Blocks, `patience` at most; then
// the program is killed. Fails where it cannot be run or does not exit with 0.
Result<void> send_mail(const std::string &program, const Mail &mail, Duration patience);

} // namespace pmixhost
