// See credential_service.h.
#include "server-glue/security/credential_service.h"

#include "server-glue/library/convert.h"
#include "server-glue/library/upcall_handlers.h"

namespace pmixhost {

// Whoever has a credential is the job's user where it counts, as is a program that one may start here; to check one
// says no more than who has made it.
void CredentialService::take_asks(UpcallHandlers &handlers) {
    handlers.on<CredentialAsk>(policy::Action::spawn, [this](CredentialAsk ask) { get(std::move(ask)); });
    handlers.on<ValidationAsk>(policy::Action::observe, [this](ValidationAsk ask) { validate(std::move(ask)); });
}

Worker &CredentialService::worker() {
    if (!worker_)
        worker_.emplace(loop_);
    return *worker_;
}

pmix_status_t CredentialService::status_of(const Error &why) {
    log_.info("a request for a credential or its check failed: {}", why.text);
    switch (why.kind) {
    case ErrorKind::denied:
        return PMIX_ERR_INVALID_CRED;
    case ErrorKind::unsupported:
    case ErrorKind::limit:
        return pmixhost::status_of(why);
    default:
        return PMIX_ERROR;
    }
}

std::uint64_t CredentialService::admit(Waiting waiting, std::optional<std::chrono::seconds> timeout) {
    std::uint64_t id = next_id_++;
    bool full = waiting_.size() >= max_waiting;
    waiting_.emplace(id, std::move(waiting));
    if (full) {
        answer(id, PMIX_ERR_OUT_OF_RESOURCE, {}, {});
        return 0;
    }
    if (timeout && timeout->count() > 0)
        waiting_.at(id).timeout = loop_.after(*timeout, [this, id] { answer(id, PMIX_ERR_TIMEOUT, {}, {}); });
    return id;
}

void CredentialService::answer(std::uint64_t id, pmix_status_t status, Bytes credential, Identity identity) {
    auto node = waiting_.extract(id); // gone when its time was up
    if (!node)
        return;
    node.mapped().get(status, std::move(credential));
    node.mapped().validate(status, identity);
}

void CredentialService::get(CredentialAsk ask) {
    std::uint64_t id = admit({std::move(ask.reply), {}, {}}, ask.timeout);
    if (id == 0)
        return;
    worker().run([] { return make_credential(); },
                 [this, id](Result<Bytes> made) {
                     if (made)
                         answer(id, PMIX_SUCCESS, std::move(*made), {});
                     else
                         answer(id, status_of(made.failure()), {}, {});
                 });
}

void CredentialService::validate(ValidationAsk ask) {
    if (ask.credential.size() > max_size)
        return ask.reply(PMIX_ERR_INVALID_CRED, {});
    std::uint64_t id = admit({{}, std::move(ask.reply), {}}, ask.timeout);
    if (id == 0)
        return;
    worker().run([credential = std::move(ask.credential)] { return check_credential(credential); },
                 [this, id](Result<Identity> who) {
                     if (who)
                         answer(id, PMIX_SUCCESS, {}, *who);
                     else
                         answer(id, status_of(who.failure()), {}, {});
                 });
}

} // namespace pmixhost
