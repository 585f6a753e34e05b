// See pack.h.
#include "server-glue/library/pack.h"

#include <cstdint>
#include <pmix.h>

namespace pmixhost {

PackedBuffer::PackedBuffer() {
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer_);
}

PackedBuffer::PackedBuffer(const Bytes &packed) : PackedBuffer() {
    pmix_byte_object_t object{const_cast<char *>(packed.data()), packed.size()};
    filled_ = PMIx_Data_embed(&buffer_, &object);
}

PackedBuffer::~PackedBuffer() {
    PMIX_DATA_BUFFER_DESTRUCT(&buffer_);
}

pmix_status_t PackedBuffer::add(const void *values, std::size_t count, pmix_data_type_t type) {
    if (count > INT32_MAX)
        return PMIX_ERR_OUT_OF_RESOURCE;
    return PMIx_Data_pack(nullptr, &buffer_, const_cast<void *>(values), static_cast<std::int32_t>(count), type);
}

Bytes PackedBuffer::bytes() const {
    return Bytes(buffer_.base_ptr, buffer_.bytes_used);
}

pmix_status_t PackedBuffer::take(void *values, std::size_t count, pmix_data_type_t type) {
    if (filled_ != PMIX_SUCCESS || count > INT32_MAX)
        return filled_ != PMIX_SUCCESS ? filled_ : PMIX_ERR_UNPACK_FAILURE;
    auto got = static_cast<std::int32_t>(count);
    pmix_status_t status = PMIx_Data_unpack(nullptr, &buffer_, values, &got, type);
    bool is_short = status == PMIX_SUCCESS && got != static_cast<std::int32_t>(count);
    return is_short ? PMIX_ERR_UNPACK_FAILURE : status;
}

Result<Bytes> pack_values(const void *values, std::size_t count, pmix_data_type_t type) {
    if (count == 0)
        return Bytes();
    if (count > INT32_MAX)
        return error(ErrorKind::limit, "{} values are too many", count);
    PackedBuffer buffer;
    if (pmix_status_t status = buffer.add(values, count, type); status != PMIX_SUCCESS)
        return error(ErrorKind::system, "PMIx_Data_pack: {}", PMIx_Error_string(status));
    return buffer.bytes();
}

Result<Bytes> pack_infos(const pmix_info_t infos[], std::size_t count) {
    return pack_values(infos, count, PMIX_INFO);
}

Result<void> unpack_values(const Bytes &packed, std::size_t count, pmix_data_type_t type,
                           const std::function<void *()> &room) {
    if (count == 0)
        return {};
    if (count > packed.size()) // each takes a byte at least
        return error(ErrorKind::invalid, "{} values in {} bytes", count, packed.size());
    PackedBuffer buffer(packed);
    if (buffer.take(room(), count, type) != PMIX_SUCCESS)
        return error(ErrorKind::invalid, "{} packed values cannot be read", count);
    return {};
}

Result<std::shared_ptr<InfoList>> unpack_infos(const Bytes &packed, std::size_t count) {
    auto list = std::make_shared<InfoList>();
    auto unpacked = unpack_values(packed, count, PMIX_INFO, [&] { return list->add_empty(count); });
    if (!unpacked)
        return unpacked.failure();
    return list;
}

} // namespace pmixhost
