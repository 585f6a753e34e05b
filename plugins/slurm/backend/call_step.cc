// See call_step.h.
#include "plugins/slurm/backend/call_step.h"

#include "common/text/printable.h"
#include "plugins/slurm/backend/contact_socket.h"
#include "plugins/slurm/base/task_map.h"
#include "plugins/slurm/steps/session_step.h"

#include <charconv>

namespace pmixhost::slurm {

static bool read_number(std::string_view text, std::uint32_t &number) {
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    return code == std::errc() && end == text.data() + text.size();
}

// A task of an array, or a part of a heterogeneous job, as squeue shows it.
static bool is_part_of_job(std::string_view job) {
    return job.find_first_of("_+") != job.npos && job.find_first_not_of("0123456789_+") == job.npos &&
           job.find_first_of("_+") != 0;
}

Result<StepWish> parse_step_wish(std::string_view text) {
    std::string_view rest = text;
    bool whole = rest.starts_with(namespace_prefix);
    if (whole)
        rest.remove_prefix(namespace_prefix.size());
    auto dot = rest.find('.');
    StepWish wish;
    std::uint32_t step = 0;
    if (!read_number(rest.substr(0, dot), wish.job) || (whole && dot == rest.npos) ||
        (dot != rest.npos && !read_number(rest.substr(dot + 1), step))) {
        const std::string name = printable(std::string(text));
        if (!whole && is_part_of_job(rest.substr(0, dot)))
            return error(ErrorKind::invalid, "'{}' has a number of its own; next: squeue -h -j {} -o %A tells it", name,
                         printable(std::string(rest.substr(0, dot))));
        return error(ErrorKind::invalid,
                     "'{}' is no job; allowed: JOB, JOB.STEP or a namespace, such as 12, 12.0 or {}", name,
                     namespace_of(12, 0));
    }
    if (dot != rest.npos)
        wish.step = step;
    return wish;
}

Result<void> call_step(const std::string &step, const std::vector<std::string> &bases, const StepCaller::Slurm &slurm,
                       const std::string &message) {
    auto wish = parse_step_wish(step);
    if (!wish)
        return wish.failure();
    auto steps = slurm.steps(wish->job);
    if (!steps)
        return steps.failure();
    std::erase_if(*steps, [&](const RunningStep &one) {
        return one.name == session_step_name || (wish->step && one.step != *wish->step);
    });
    if (steps->empty())
        return error(ErrorKind::not_found, "no step of job {} runs", printable(step));
    if (steps->size() > 1) {
        std::string names;
        for (const auto &one : *steps)
            names += fmt::format("{}{}.{}", names.empty() ? "" : ", ", wish->job, one.step);
        return error(ErrorKind::limit, "job {} has several steps; name one of {}", wish->job, names);
    }
    Result<void> reached;
    for (const auto &base : bases) {
        reached = reach_step(wish->job, steps->front(), {base, {}}, slurm.forward, message);
        if (reached || reached.failure().kind != ErrorKind::not_found)
            return reached;
    }
    if (reached.failure().kind == ErrorKind::not_found)
        return error(ErrorKind::unsupported,
                     "no pmixhost of yours serves step {}.{}: it is another user's, it was not started with "
                     "--mpi=pmixhost, it has no munge, or directory.base is another one there",
                     wish->job, steps->front().step);
    return reached;
}

} // namespace pmixhost::slurm
