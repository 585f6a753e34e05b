// The door of this host's gate (common/rendezvous/gate_door.h), as who wants something of it comes there.
#pragma once

#include "common/base/unique_fd.h"
#include "common/rendezvous/gate_door.h"

#include <chrono>
#include <string>

namespace pmixhost {

// Connects; blocks for `patience` at most, where many stand in line. `directory`: gate.door. Fails as connect(2) does;
// not_found or unreachable: no gate is there.
Result<UniqueFd> knock_at_gate(const std::string &directory, std::chrono::seconds patience);

// What this gate has refused of the caller's tools. Blocks, for `patience` once more. Fails likewise, and as
// parse_refusals() does.
Result<Refusals> ask_for_own_refusals(const std::string &directory, std::chrono::seconds patience);

} // namespace pmixhost
