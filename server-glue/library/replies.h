// The answers that several capabilities give, each exactly once (core/one_shot.h). In the loop's thread. The first
// argument of any answer to libpmix is a PMIx status.
#pragma once

#include "common/base/bytes.h"
#include "server-glue/core/one_shot.h"

#include <pmix_common.h>

namespace pmixhost {

class InfoList;

using StatusReply = OneShot<pmix_status_t>;
using DataReply = OneShot<pmix_status_t, Bytes>;
using ListReply = OneShot<pmix_status_t, std::shared_ptr<InfoList>>; // null: nothing but the status

} // namespace pmixhost
