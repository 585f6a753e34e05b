// What is packed by libpmix: no more room is made than the bytes can fill, and no more is believed than the library has
// read. The library's functions are this program's own: a value is one byte.
#include "server-glue/library/pack.h"

#include "server-glue/library/convert.h"
#include "test/unit/check.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <pmix.h>

using namespace pmixhost;

static int calls = 0;         // of the library
static std::int32_t most = 9; // values that it reads at a time
extern "C" {
pmix_status_t PMIx_Data_pack(const pmix_proc_t *, pmix_data_buffer_t *buffer, void *values, std::int32_t count,
                             pmix_data_type_t type) {
    ++calls;
    if (type != PMIX_BYTE)
        return PMIX_ERR_UNKNOWN_DATA_TYPE;
    auto size = static_cast<std::size_t>(count);
    buffer->base_ptr = static_cast<char *>(std::realloc(buffer->base_ptr, buffer->bytes_used + size));
    std::memcpy(buffer->base_ptr + buffer->bytes_used, values, size);
    buffer->bytes_used += size;
    return PMIX_SUCCESS;
}
pmix_status_t PMIx_Data_embed(pmix_data_buffer_t *buffer, const pmix_byte_object_t *bytes) {
    ++calls;
    buffer->bytes_used = bytes->size;
    buffer->base_ptr = static_cast<char *>(std::malloc(bytes->size + 1));
    buffer->unpack_ptr = buffer->base_ptr;
    std::memcpy(buffer->base_ptr, bytes->bytes, bytes->size);
    return PMIX_SUCCESS;
}
pmix_status_t PMIx_Data_unpack(const pmix_proc_t *, pmix_data_buffer_t *buffer, void *values, std::int32_t *count,
                               pmix_data_type_t type) {
    ++calls;
    auto left = static_cast<std::int32_t>(buffer->base_ptr + buffer->bytes_used - buffer->unpack_ptr);
    *count = std::min({*count, left, most});
    if (type != PMIX_BYTE || *count == 0)
        return PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    std::memcpy(values, buffer->unpack_ptr, static_cast<std::size_t>(*count));
    buffer->unpack_ptr += *count;
    return PMIX_SUCCESS;
}
}

namespace {

struct Room {
    char bytes[16] = {};
    int asked = 0;
    std::function<void *()> give() {
        return [this] {
            ++asked;
            return bytes;
        };
    }
};

void what_is_packed_comes_back(void **) {
    auto packed = pack_values("abc", 3, PMIX_BYTE);
    assert_string_equal(packed->c_str(), "abc");
    Room room;
    assert_true(unpack_values(*packed, 3, PMIX_BYTE, room.give()).ok());
    assert_string_equal(room.bytes, "abc");
}

void one_behind_the_other(void **) {
    PackedBuffer out;
    assert_int_equal(out.add("ab", 2, PMIX_BYTE), PMIX_SUCCESS);
    assert_int_equal(out.add("c", 1, PMIX_BYTE), PMIX_SUCCESS);
    PackedBuffer in(out.bytes());
    std::string read;
    for (char one = 0; in.take(&one, 1, PMIX_BYTE) == PMIX_SUCCESS;)
        read += one;
    assert_string_equal(read.c_str(), "abc");
}

void of_none_there_are_no_bytes(void **) {
    calls = 0;
    assert_true(pack_infos(nullptr, 0)->empty());
    Room room;
    assert_true(unpack_values("rubbish", 0, PMIX_BYTE, room.give()).ok());
    assert_int_equal((*unpack_infos({}, 0))->size(), 0);
    assert_int_equal(room.asked, 0);
    assert_int_equal(calls, 0);
}

void for_more_than_can_be_there_no_room_is_made(void **) {
    calls = 0;
    Room room;
    for (std::size_t count : {std::size_t(4), std::size_t(1) << 40}) {
        auto unpacked = unpack_values("abc", count, PMIX_BYTE, room.give());
        assert_true(!unpacked && unpacked.failure().kind == ErrorKind::invalid);
        assert_false(unpack_infos("abc", count).ok());
    }
    assert_int_equal(room.asked, 0);
    assert_int_equal(calls, 0);
}

void fewer_than_were_said_are_none(void **) {
    Room room;
    most = 2;
    auto unpacked = unpack_values("abc", 3, PMIX_BYTE, room.give());
    assert_true(!unpacked && unpacked.failure().kind == ErrorKind::invalid);
    PackedBuffer buffer("abc");
    assert_int_equal(buffer.take(room.bytes, 3, PMIX_BYTE), PMIX_ERR_UNPACK_FAILURE);
    most = 9;
}

void what_the_library_says_is_told(void **) {
    char value = 0;
    assert_int_equal(PackedBuffer().add(&value, 1, PMIX_POINTER), PMIX_ERR_UNKNOWN_DATA_TYPE);
    auto packed = pack_values(&value, 1, PMIX_POINTER);
    assert_true(!packed && packed.failure().kind == ErrorKind::system);
    calls = 0;
    constexpr std::size_t too_many = std::size_t(INT32_MAX) + 1;
    assert_int_equal(PackedBuffer().add(&value, too_many, PMIX_BYTE), PMIX_ERR_OUT_OF_RESOURCE);
    packed = pack_values(&value, too_many, PMIX_BYTE);
    assert_true(!packed && packed.failure().kind == ErrorKind::limit);
    assert_int_equal(calls, 0);
}

void processes_have_one_form(void **) {
    std::vector<Process> processes{{"a", 3, false}, {"b", 0, true}};
    auto procs = procs_of(processes);
    assert_int_equal(procs.size(), 2);
    assert_string_equal(procs[0].nspace, "a");
    assert_int_equal(procs[0].rank, 3);
    assert_int_equal(procs[1].rank, PMIX_RANK_WILDCARD);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_back),     cmocka_unit_test(one_behind_the_other),
        cmocka_unit_test(of_none_there_are_no_bytes),    cmocka_unit_test(for_more_than_can_be_there_no_room_is_made),
        cmocka_unit_test(fewer_than_were_said_are_none), cmocka_unit_test(what_the_library_says_is_told),
        cmocka_unit_test(processes_have_one_form),
    };
    return cmocka_run_group_tests_name("pack", tests, nullptr, nullptr);
}
