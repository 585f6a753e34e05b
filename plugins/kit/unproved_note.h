// What a host of a step says to the starter that has nothing to prove its user with: its munged does not answer, while
// the starter's does, so the step was given no secret. It is the reason why the host ends the step, and the starter
// shows it as a note (starter_message.h). Standard error would be the only other way, and srun drops what it has not
// read of that when it hears that a task was killed.
//
// The bytes of its frame (starter_frame.h) are the text, sealed (common/transport/secret_box.h) with the cookie that
// the RM has brought to the hosts of the step. Who has read the RM's launch message can make one, and gains a line on
// the user's terminal: no exit code, no launch, no invitation.
#pragma once

#include "common/base/result.h"
#include "plugins/kit/starter_address.h"
#include "plugins/kit/starter_frame.h"

#include <string>
#include <string_view>

namespace pmixhost::kit {

// By its magic.
bool is_unproved_note(std::string_view frame); // whole
// Of `text`, one line of at most max_report_text. Fails (denied) when it cannot be sealed.
Result<std::string> seal_unproved_note(const Cookie &cookie, std::string_view text);
// The line. `frame` is a whole one. Fails (denied) when it is of another step.
Result<std::string> open_unproved_note(std::string_view frame, const Cookie &cookie);

} // namespace pmixhost::kit
