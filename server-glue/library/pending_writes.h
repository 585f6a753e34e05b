// Whether libpmix has yet to write something to who is connected with it: a message that it has for a client or a tool
// is queued, and its thread waits for the connection to be writable, message by message. Neither a call nor a callback
// says when it has been written; its event base knows what it waits for.
#pragma once

struct event_base;

namespace pmixhost {

// Does anything that waits in that base wait for a descriptor to be writable? In the base's own thread.
bool has_pending_writes(event_base *base);

} // namespace pmixhost
