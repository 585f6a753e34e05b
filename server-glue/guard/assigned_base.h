// libpmix' event base, learned in the way that timer_guard.cc stands in already: libpmix has an event assigned to its
// base whenever it shifts something to its own thread, and pmixhostd has an event_assign() of its own. So nothing of
// the library's is looked into, and the base is one of the very libevent that this program calls.
#pragma once

struct event_base;

namespace pmixhost {

class AssignedBase {
  public:
    // While it lives, notes for which base this thread has events assigned. One at a time in a thread.
    class Scope {
      public:
        Scope();
        ~Scope();
        Scope(const Scope &) = delete;
        // Null: none was, or not through our event_assign(), as in a program without it.
        event_base *base() const;
    };

    // For timer_guard.cc alone.
    static void note(event_base *base) noexcept;
};

} // namespace pmixhost
