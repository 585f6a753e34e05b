// PMIx_Get_credential and PMIx_Validate_credential, as a process asks for them.
#pragma once

#include "common/transport/credential.h"
#include "server-glue/core/one_shot.h"
#include "server-glue/core/signature.h"

#include <pmix_common.h>

#include <chrono>
#include <optional>

namespace pmixhost {

using CredentialReply = OneShot<pmix_status_t, Bytes>;
struct CredentialAsk {
    Process caller;
    std::optional<std::chrono::seconds> timeout;
    CredentialReply reply;
};
using ValidationReply = OneShot<pmix_status_t, Identity>;
struct ValidationAsk {
    Process caller;
    Bytes credential;
    std::optional<std::chrono::seconds> timeout;
    ValidationReply reply;
};

} // namespace pmixhost
