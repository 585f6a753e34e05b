// See upcalls.h and upcall_tools.h.
#include "server-glue/library/upcall_tools.h"

#include <atomic>

namespace pmixhost {

namespace upcall {

// The one pointer that the module table without a user argument forces on us. Set before
// PMIx_server_init, cleared after PMIx_server_finalize.
static std::atomic<Upcalls *> the_upcalls{nullptr};

Upcalls *current() {
    return the_upcalls.load(std::memory_order_acquire);
}

StatusReply status_reply(pmix_op_cbfunc_t callback, void *data) {
    if (!callback)
        return {};
    return {[callback, data](pmix_status_t status) {
                in_answering_thread([callback, data, status] { callback(status, data); });
            },
            PMIX_ERROR};
}

ListReply list_reply(pmix_info_cbfunc_t callback, void *data) {
    auto answer = [callback, data](pmix_status_t status, std::shared_ptr<InfoList> found) {
        in_progress_thread([callback, data, status, found] {
            auto *kept = new std::shared_ptr<InfoList>(found);
            callback(
                status, found ? found->data() : nullptr, found ? found->size() : 0, data,
                [](void *object) { delete static_cast<std::shared_ptr<InfoList> *>(object); }, kept);
        });
    };
    return {answer, PMIX_ERROR, nullptr};
}

} // namespace upcall

Upcalls::Upcalls(EventLoop &l, LibraryThread &t) : loop(l), library(t) {
    upcall::the_upcalls.store(this, std::memory_order_release);
}
Upcalls::~Upcalls() {
    upcall::the_upcalls.store(nullptr, std::memory_order_release);
}

} // namespace pmixhost
