// The part of StepServer that starts libpmix and hears when it is stuck.
#include "server-glue/step_server.h"

#include <pmix.h>

namespace pmixhost {

void StepServer::start_library() {
    PmixLibrary::Options options{step_.nspace + ".server", step_.self, directory_.path(),
                                 step_.map.hosts()[step_.self]};
    library_thread_->run("PMIx_server_init", [this, options] {
        auto library = std::make_shared<Result<std::unique_ptr<PmixLibrary>>>(
            PmixLibrary::start(loop_, *library_thread_, options, Upcalls::module()));
        loop_.post([this, library] { on_library(std::move(*library)); });
    });
    // From now on: what takes too long may be the start itself.
    library_watch_.emplace(loop_, *library_thread_, settings_.daemon_library_timeout, PmixLibrary::ask,
                           [this](const std::string &why) { on_library_stuck(why); });
}

void StepServer::on_library(Result<std::unique_ptr<PmixLibrary>> library) {
    if (!library)
        return end(library.failure());
    library_ = std::move(*library);
    if (auto guarded = library_->admit_clients(log_, [this](Error why) { end(why); }); !guarded)
        return end(guarded.failure());
    library_thread_->run("PMIx_Register_event_handler", [this] {
        Upcalls::listen_to_monitors([this](pmix_status_t status) {
            if (status != PMIX_SUCCESS)
                log_.error("what libpmix' monitors find is not told to other hosts: {}",
                           PMIx_Error_string(status));
        });
    });
    tasks_.set_library(*library_);
    sets_.define(step_.nspace, step_.process_sets);
    for (auto &ask : std::exchange(early_asks_, {}))
        ask_library(ask.token, ask.nspace, ask.rank, ask.wait);
    for (auto &event : std::exchange(early_events_, {}))
        event();
    tell_of_terminated();
    if (step_.self == 0) {
        time_warning_.start();
        arm_timer();
    }
    if (step_.parent && !backend_.capabilities().calls_steps)
        come_to_session();
}

// The clients of this host would wait for ever, and nothing can be asked of libpmix any more. The loop
// goes round, so the step can be ended in an orderly way.
void StepServer::on_library_stuck(const std::string &why) {
    library_stuck_ = true;
    finish_handing_over();
    if (auto stop = std::exchange(stop_cleaning_, nullptr)) {
        log_.error("{}", why);
        return stop();
    }
    if (ending_)
        return log_.error("{}", why);
    evidence_.capture(why, [this, why](const std::string &where) {
        end(error(ErrorKind::timeout, "{}{}", why, where));
    });
}

} // namespace pmixhost
