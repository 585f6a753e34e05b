// What members give each other at the construction of a group, as libpmix has it from version 6 on. Before, the library
// puts all of a host's together (PMIX_GROUP_ENDPT_DATA) and takes the same from all hosts apart; since then its host
// gets an array for each member, which begins with the process: PMIX_PROC_DATA, what it has posted, and
// PMIX_GROUP_INFO, what it has said with the call. Here they become bytes that hosts exchange, one after the other, and
// what the library wants to have back.
//
// The bytes come from daemons of the same user, and from libpmix' own packing, of one version in a step. What is no
// array of a process is passed over (libpmix 6.1 answers nobody when it finds such a one), and so are one of a process
// that is no member, and in each what libpmix cannot copy.
//
// 6.0 takes what was posted alone.
#pragma once

#include "common/base/bytes.h"
#include "server-glue/library/info_list.h"

namespace pmixhost::member_data {

// Is it such an array, of a process? Nothing else is packed (pack.h). Any thread.
bool is_one(const pmix_info_t &info);

// In the library thread, before the results are given; `packed` has one behind the other. What was posted goes into the
// library's store, for who asks for it there; what was said is added to the results, where the group has a context id:
// by that alone it is found, and libpmix 6.1 answers nobody where there is none.
void hand_over(const Bytes &packed, const std::vector<pmix_proc_t> &members, bool has_context_id, InfoList &results);

} // namespace pmixhost::member_data
