// How many directives a tool says that it sends with its first message. libpmix' server makes room for so many before
// it reads the first (contrib/doc/decisions/libpmix.md, "Connections").
//
// Where the layout comes from: pmix_bfrops_base_pack in OpenPMIx 4.2.2 and 5.0.7, for one value of type PMIX_SIZE, by
// the name of the packing module (bfrops) that the peer states:
//   v3      [u16 type] i32 number of values | [u16 type] u16 type of a size_t | u64 or u32; in network order
//   later   [type] number of values | [type] the value; each in seven bits to a byte, the lowest first
// What is in brackets is there in a buffer that describes all of its contents (the peer states that as well).
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pmixhost {

// `bfrops`: none of a library before 3.0. `blob`: what stands behind the names in the first message, and not nothing.
// nullopt: that is not one number in that writing. The library takes others than tools write, and none at all for one.
std::optional<std::uint64_t> stated_directives(std::string_view bfrops, std::uint8_t buffer_type,
                                               std::string_view blob);

} // namespace pmixhost
