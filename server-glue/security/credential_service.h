// PMIx_Get_credential and PMIx_Validate_credential, answered by munge in a thread of its own. The thread is started
// with the first request, because most jobs never ask. The rest is in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/loop/worker.h"
#include "server-glue/security/credential_asks.h"
#include "server-glue/step/step_context.h"

#include <map>
#include <optional>

namespace pmixhost {

class CredentialService final : public StepService {
  public:
    static constexpr std::size_t max_waiting = 1000;   // requests, so that a loop of them cannot grow us
    static constexpr std::size_t max_size = 64 * 1024; // of a credential to be checked

    explicit CredentialService(StepContext &context)
        : StepService(context.services), loop_(context.loop), log_(context.log) {}

    // Statuses: NOT_SUPPORTED (no munged), TIMEOUT, OUT_OF_RESOURCE; validate() also gives INVALID_CRED, whatever is
    // wrong with the credential.
    void get(CredentialAsk ask);
    void validate(ValidationAsk ask);

    void take_asks(UpcallHandlers &handlers) override;

  private:
    struct Waiting {
        CredentialReply get;
        ValidationReply validate;
        EventLoop::Handle timeout;
    };
    // The number under which it waits; 0 (and answered) when there are too many.
    std::uint64_t admit(Waiting waiting, std::optional<std::chrono::seconds> timeout);
    void answer(std::uint64_t id, pmix_status_t status, Bytes credential, Identity identity);
    pmix_status_t status_of(const Error &why);
    Worker &worker();

    EventLoop &loop_;
    Log &log_;
    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t next_id_ = 1;
    std::optional<Worker> worker_; // last, so that it ends first
};

} // namespace pmixhost
