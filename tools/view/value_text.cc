// See value_text.h.
#include "tools/view/value_text.h"

#include "common/text/printable.h"

#include <algorithm>
#include <fmt/format.h>
#include <pmix_tool.h>

namespace pmixhost {

namespace {

std::string bytes_text(const pmix_byte_object_t &object) {
    constexpr std::size_t most = 64;
    std::string out;
    for (std::size_t i = 0; object.bytes && i < std::min(object.size, most); ++i)
        out += fmt::format("{:02x}", static_cast<unsigned char>(object.bytes[i]));
    return object.size > most ? fmt::format("{}... ({} bytes)", out, object.size) : out;
}

std::string process_text(const pmix_proc_t &process) {
    std::string name = printable(std::string(process.nspace, strnlen(process.nspace, PMIX_MAX_NSLEN)));
    return process.rank == PMIX_RANK_WILDCARD ? name + ":*" : fmt::format("{}:{}", name, process.rank);
}

// Of the item of an array: the value that it would be by itself. Nothing for types that are not told.
bool item_of(const pmix_data_array_t &array, std::size_t at, pmix_value_t &value) {
    value.type = array.type;
    switch (array.type) {
    case PMIX_STRING:
        value.data.string = static_cast<char **>(array.array)[at];
        return true;
    case PMIX_UINT32:
        value.data.uint32 = static_cast<std::uint32_t *>(array.array)[at];
        return true;
    case PMIX_PROC_RANK:
        value.data.rank = static_cast<pmix_rank_t *>(array.array)[at];
        return true;
    case PMIX_PROC:
        value.data.proc = static_cast<pmix_proc_t *>(array.array) + at;
        return true;
    case PMIX_INFO:
        value = static_cast<pmix_info_t *>(array.array)[at].value;
        return true;
    default:
        return false;
    }
}

std::string array_text(const pmix_data_array_t &array) {
    constexpr std::size_t most = 4096;
    std::string out;
    for (std::size_t i = 0; array.array && i < std::min(array.size, most); ++i) {
        pmix_value_t item{};
        if (!item_of(array, i, item))
            return fmt::format("({} of type {})", array.size, PMIx_Data_type_string(array.type));
        std::string name =
            array.type == PMIX_INFO ? printable(static_cast<pmix_info_t *>(array.array)[i].key) + "=" : "";
        out += (out.empty() ? "" : ",") + name + value_text(item);
    }
    return array.size > most ? out + ",..." : out;
}

} // namespace

std::string key_of(const std::string &name) {
    const char *key = name.starts_with("PMIX_") ? PMIx_Get_attribute_string(name.c_str()) : nullptr;
    return key && *key ? key : name;
}

bool may_be_key(const std::string &name) {
    return !name.empty() && name.size() <= PMIX_MAX_KEYLEN;
}

std::string value_text(const pmix_value &value) {
    switch (value.type) {
    case PMIX_STRING:
        return one_line(value.data.string ? value.data.string : "", 1u << 20);
    case PMIX_BOOL:
        return value.data.flag ? "true" : "false";
    case PMIX_BYTE:
        return std::to_string(value.data.byte);
    case PMIX_SIZE:
        return std::to_string(value.data.size);
    case PMIX_PID:
        return std::to_string(value.data.pid);
    case PMIX_INT:
        return std::to_string(value.data.integer);
    case PMIX_INT8:
        return std::to_string(value.data.int8);
    case PMIX_INT16:
        return std::to_string(value.data.int16);
    case PMIX_INT32:
        return std::to_string(value.data.int32);
    case PMIX_INT64:
        return std::to_string(value.data.int64);
    case PMIX_UINT:
        return std::to_string(value.data.uint);
    case PMIX_UINT8:
        return std::to_string(value.data.uint8);
    case PMIX_UINT16:
        return std::to_string(value.data.uint16);
    case PMIX_UINT32:
        return std::to_string(value.data.uint32);
    case PMIX_UINT64:
        return std::to_string(value.data.uint64);
    case PMIX_FLOAT:
        return fmt::format("{}", value.data.fval);
    case PMIX_DOUBLE:
        return fmt::format("{}", value.data.dval);
    case PMIX_TIME:
        return std::to_string(value.data.time);
    case PMIX_STATUS:
        return PMIx_Error_string(value.data.status);
    case PMIX_PROC_RANK:
        return std::to_string(value.data.rank);
    case PMIX_PROC:
        return value.data.proc ? process_text(*value.data.proc) : std::string();
    case PMIX_PROC_STATE:
        return PMIx_Proc_state_string(value.data.state);
    case PMIX_BYTE_OBJECT:
        return bytes_text(value.data.bo);
    case PMIX_DATA_ARRAY:
        return value.data.darray ? array_text(*value.data.darray) : std::string();
    default:
        return fmt::format("(of type {})", PMIx_Data_type_string(value.type));
    }
}

} // namespace pmixhost
