// See exec_words.h.
#include "common/start/exec_words.h"

#include "common/process/descriptor_message.h"

#include <sys/socket.h>
#include <utility>

namespace pmixhost {

bool ExecWords::take_copy(UniqueFd fd) {
    if (!fd || copies.size() == most_copies)
        return false;
    (!next_.writers ? next_.writers : !next_.old_destination ? next_.old_destination : next_.file) = std::move(fd);
    if (next_.file)
        copies.push_back(std::exchange(next_, {}));
    return true;
}

bool ExecWords::take() {
    auto got = receive_descriptor(task.get(), MSG_DONTWAIT);
    if (!got)
        return true;
    if (!got->has_value())
        return false;
    // What was said before may come with it.
    if ((*got)->bytes.ends_with('c') && (*got)->fd) {
        (*got)->bytes.pop_back();
        if (!take_copy(std::move((*got)->fd)))
            return true;
        said += (*got)->bytes;
        return said.size() > longest;
    }
    if ((*got)->fd)
        armed = std::move((*got)->fd);
    if ((*got)->bytes.empty() || said.size() + (*got)->bytes.size() > longest)
        return true;
    said += (*got)->bytes;
    return false;
}

} // namespace pmixhost
