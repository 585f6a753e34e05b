// Values of libpmix as bytes, in its own packing: what hosts, and the processes of pmixhost-indirect, hand each other
// of what only the libraries at both ends look into. Nothing else here packs and unpacks.
//
// Needs a library that is initialised, and works on the caller's memory alone, in any thread. The bytes come from
// others: how many values are in them is what somebody says.
#pragma once

#include "common/base/bytes.h"
#include "common/base/result.h"
#include "server-glue/library/info_list.h"

#include <pmix_common.h>

#include <functional>
#include <memory>

namespace pmixhost {

// A buffer of libpmix, which goes with this.
class PackedBuffer {
  public:
    PackedBuffer();                             // to add to
    explicit PackedBuffer(const Bytes &packed); // to take from; copied
    PackedBuffer(const PackedBuffer &) = delete;
    ~PackedBuffer();

    // What libpmix says; PMIX_ERR_OUT_OF_RESOURCE of more values than it counts.
    pmix_status_t add(const void *values, std::size_t count, pmix_data_type_t type);
    Bytes bytes() const;

    // The next `count` values, into zeroed memory. Of anything but PMIX_SUCCESS part of them may be there, which is the
    // caller's to free all the same; PMIX_ERR_UNPACK_FAILURE also where there are fewer.
    pmix_status_t take(void *values, std::size_t count, pmix_data_type_t type);

  private:
    pmix_data_buffer_t buffer_;
    pmix_status_t filled_ = PMIX_SUCCESS;
};

// Nothing of no values. Fails (limit, system) with what the library says.
Result<Bytes> pack_values(const void *values, std::size_t count, pmix_data_type_t type);
Result<Bytes> pack_infos(const pmix_info_t infos[], std::size_t count);

// Puts `count` values into what `room` gives, zeroed memory for as many, whose content is the caller's to free also of
// a failure. It is asked only where so many can be in the bytes. Fails (invalid) when they cannot, or are not.
Result<void> unpack_values(const Bytes &packed, std::size_t count, pmix_data_type_t type,
                           const std::function<void *()> &room);
// Never null. Fails as unpack_values() does.
Result<std::shared_ptr<InfoList>> unpack_infos(const Bytes &packed, std::size_t count);

} // namespace pmixhost
