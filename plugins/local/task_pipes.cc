// See task_pipes.h.
#include "plugins/local/task_pipes.h"

#include "common/base/fd_pair.h"

#include <sys/stat.h>
#include <utility>

namespace pmixhost::local {

static bool is_pipe(const UniqueFd &fd) {
    struct stat what {};
    return ::fstat(fd.get(), &what) == 0 && S_ISFIFO(what.st_mode);
}

Result<TaskDescriptors> stand_between(TaskSpec &task) {
    auto in = make_pipe(), out = make_pipe(), err = make_pipe();
    for (const auto *made : {&in, &out, &err}) {
        if (!*made)
            return made->failure();
    }
    TaskDescriptors daemons;
    auto put = [](UniqueFd &of_task, UniqueFd in_its_place, UniqueFd ours, TaskDescriptors::Ends &ends) {
        if (!is_pipe(of_task))
            return;
        ends.rms = std::exchange(of_task, std::move(in_its_place));
        ends.ours = std::move(ours);
    };
    put(task.in, std::move(in->first), std::move(in->second), daemons.in);
    put(task.out, std::move(out->second), std::move(out->first), daemons.out);
    put(task.err, std::move(err->second), std::move(err->first), daemons.err);
    return daemons;
}

} // namespace pmixhost::local
