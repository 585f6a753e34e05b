// See step_ender.h.
#include "plugins/slurm/backend/step_ender.h"

#include <algorithm>
#include <utility>

namespace pmixhost::slurm {

void StepEnder::end(StepEnd end, std::function<void(Result<void>)> done) {
    askers_.push_back(std::move(done));
    if (!end_)
        end_ = std::move(end);
    if (runs_)
        return;
    repeats_ = true;
    pause_ = calls_.first_pause;
    attempt();
}

void StepEnder::attempt() {
    again_.reset();
    runs_ = true;
    worker_.run(
        [report = heard_ ? nullptr : calls_.report, kill = calls_.kill, end = *end_]() -> Result<Tried> {
            Tried tried;
            if (report) {
                if (auto told = report(end); !told)
                    tried.unheard =
                        fmt::format("srun does not hear why the step ends ({}): {}", told.failure().text, end.text);
            }
            tried.killed = kill();
            return tried;
        },
        [this](Result<Tried> tried) { on_tried(std::move(tried)); });
}

void StepEnder::on_tried(Result<Tried> tried) {
    runs_ = false;
    heard_ = heard_ || (tried && tried->unheard.empty());
    if (tried && !tried->unheard.empty() && !std::exchange(told_unheard_, true))
        log_.warning("{}", tried->unheard);
    Result<void> killed = tried ? tried->killed : Result<void>(tried.failure());
    if (killed && told_failure_ && !taken_)
        log_.warning("Slurm has taken the order to end the step");
    taken_ = taken_ || killed.ok();
    if (!taken_ && !std::exchange(told_failure_, true))
        log_.error("the step is not ended{}: {}",
                   killed.failure().kind == ErrorKind::denied ? "" : " yet, and Slurm is asked again",
                   killed.failure().text);
    // A host that is just starting its tasks may miss the first time that Slurm does it, however often it was asked
    // before. Where this daemon is one of the killed, that is srun's to find out.
    if (killed && std::exchange(repeats_, false)) {
        pause_ = calls_.first_pause;
        try_later();
    } else if (!killed && killed.failure().kind != ErrorKind::denied) {
        try_later();
    }
    for (const auto &answer : std::exchange(askers_, {}))
        answer(killed); // it may end this
}

void StepEnder::try_later() {
    if (leaves_)
        return;
    again_ = loop_.after(pause_, [this] { attempt(); });
    pause_ = std::min(2 * pause_, calls_.longest_pause);
}

bool StepEnder::finish(Duration limit) {
    leaves_ = true;
    again_.reset();
    return worker_.finish(limit);
}

} // namespace pmixhost::slurm
