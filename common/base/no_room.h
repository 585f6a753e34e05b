// When accept(2) fails for want of descriptors or memory the connection stays where it is, and the socket readable: who
// waits for it has to look again later, rather than be woken for ever.
#pragma once

#include <cerrno>

namespace pmixhost {

// `number`: errno of accept(2).
inline bool is_no_room(int number) {
    return number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOBUFS;
}

// Would another descriptor do, such as one of somebody who is of less use?
inline bool is_no_descriptor(int number) {
    return number == EMFILE || number == ENFILE;
}

} // namespace pmixhost
