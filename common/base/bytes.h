// Blobs. A blob that several links send at once is shared, never copied per peer.
#pragma once

#include <memory>
#include <string>

namespace pmixhost {

using Bytes = std::string;
using SharedBytes = std::shared_ptr<const std::string>;

inline SharedBytes share(Bytes bytes) {
    return std::make_shared<const Bytes>(std::move(bytes));
}

} // namespace pmixhost
