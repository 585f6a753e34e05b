// See exec_words.h.
#include "common/start/exec_words.h"

#include "common/process/descriptor_message.h"

#include <sys/socket.h>

namespace pmixhost {

bool ExecWords::take() {
    auto got = receive_descriptor(task.get(), MSG_DONTWAIT);
    if (!got)
        return true;
    if (!got->has_value())
        return false;
    if ((*got)->fd)
        armed = std::move((*got)->fd);
    if ((*got)->bytes.empty() || said.size() + (*got)->bytes.size() > longest)
        return true;
    said += (*got)->bytes;
    return false;
}

} // namespace pmixhost
