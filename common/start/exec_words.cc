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

// All that is there, since the end of a task is heard elsewhere.
bool ExecWords::take() {
    while (true) {
        auto got = receive_descriptor(task.get(), MSG_DONTWAIT);
        if (!got)
            return true;
        if (!got->has_value())
            return false;
        std::string bytes = std::move((*got)->bytes);
        UniqueFd fd = std::move((*got)->fd);
        bool is_end = bytes.empty();
        // What was said before may come with a descriptor's letter.
        if (fd && bytes.ends_with('c')) {
            bytes.pop_back();
            if (!take_copy(std::move(fd)))
                return true;
        } else if (fd && bytes.ends_with('d')) {
            bytes.pop_back();
            description = std::move(fd);
        } else if (fd) {
            armed = std::move(fd);
        }
        if (is_end || said.size() + bytes.size() > longest)
            return true;
        said += bytes;
    }
}

} // namespace pmixhost
