// See assigned_base.h.
#include "server-glue/guard/assigned_base.h"

namespace pmixhost {

namespace {

// event_assign() has no argument that could lead to an object of ours.
thread_local bool notes_bases = false;
thread_local event_base *assigned_base = nullptr;

} // namespace

AssignedBase::Scope::Scope() {
    assigned_base = nullptr;
    notes_bases = true;
}

AssignedBase::Scope::~Scope() {
    notes_bases = false;
}

event_base *AssignedBase::Scope::base() const {
    return assigned_base;
}

void AssignedBase::note(event_base *base) noexcept {
    if (notes_bases)
        assigned_base = base;
}

} // namespace pmixhost
