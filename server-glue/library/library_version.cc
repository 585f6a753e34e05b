// See library_version.h.
#include "server-glue/library/library_version.h"

#include <charconv>
#include <fmt/format.h>
#include <pmix.h>
#include <pmix_version.h>

namespace pmixhost {

LibraryVersion parse_library_version(std::string_view text) {
    LibraryVersion version;
    auto digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos)
        return version;
    const char *at = text.data() + digit, *end = text.data() + text.size();
    for (unsigned *part : {&version.major, &version.minor, &version.release}) {
        auto [stop, code] = std::from_chars(at, end, *part);
        if (code != std::errc() || stop == end || *stop != '.')
            break;
        at = stop + 1;
    }
    return version;
}

const LibraryVersion &library_version() {
    static const LibraryVersion version = parse_library_version(PMIx_Get_version());
    return version;
}

std::string text_of(const LibraryVersion &version) {
    return fmt::format("{}.{}.{}", version.major, version.minor, version.release);
}

bool library_is_of_headers() {
    return library_version() == LibraryVersion{PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR, PMIX_VERSION_RELEASE};
}

static bool is_in(LibraryVersion first, LibraryVersion beyond) {
    return library_version() >= first && library_version() < beyond;
}

// _mdxcbfunc of src/server/pmix_server.c
bool library_hides_failed_collectives() {
    return is_in({4, 2, 3}, {6, 2, 0});
}

// pmix_server_commit of src/server/pmix_server_ops.c, and _dstor_store_modex_cb of src/mca/common/dstore/dstore_base.c
bool library_wants_own_part_of_fences() {
    return library_version() >= LibraryVersion{5};
}

// iofdereg of src/server/pmix_server.c
bool library_answers_iof_deregistrations_astray() {
    return library_version() < LibraryVersion{6, 1, 0};
}

// pmix_server_iofreg of src/server/pmix_server_ops.c: in 4.2.2 and 5.0.7, and no release is known that does not
bool library_keeps_refused_pulls() {
    return true;
}

// pmix_server_log of src/server/pmix_server_ops.c
bool library_leaves_syslog_to_its_host() {
    return library_version() >= LibraryVersion{6, 1, 0};
}

// finalstep of src/common/pmix_query.c
bool library_drops_refusals_of_connected_servers() {
    return library_version() < LibraryVersion{5, 0, 7};
}

// pmix_server_grpdestruct of src/server/pmix_server_ops.c; written anew in 6.0
bool library_destructs_local_groups_twice() {
    return is_in({4, 2, 3}, {6, 0, 0});
}

// pmix_attrs_query_support of src/common/pmix_attributes.c
bool library_answers_attributes_astray() {
    return library_version() < LibraryVersion{4, 2, 5};
}

bool library_hides_refused_events() {
    return library_version() >= LibraryVersion{4, 2, 0} && library_version() < LibraryVersion{5, 0, 0};
}

// PMIx_server_init of src/server/pmix_server.c sets `initialized` behind the wait
bool library_works_after_release() {
    return library_version() >= LibraryVersion{6, 1, 0};
}

// max_msg_size of src/mca/ptl/base/ptl_base_frame.c
bool library_limits_messages() {
    return library_version() >= LibraryVersion{6, 1, 0};
}

// tool_iof_handler of src/tool/pmix_tool.c: in 4.2.2 and 5.0.7, and nothing says that another one does not
bool library_prints_output_for_tools() {
    return true;
}

// pmix_iof_process_iof of src/common/pmix_iof.c
bool library_marks_forwarded_output_twice() {
    return is_in({5, 0, 4}, {5, 0, 11}) || is_in({6, 0, 0}, {6, 1, 0});
}

// get_endpts of src/client/pmix_client_group.c, aggregate_info of src/server/pmix_server_group.c
bool library_gives_data_of_each_member() {
    return library_version() >= LibraryVersion{6};
}

// process_tool_request of src/mca/ptl/base/ptl_base_connection_hdlr.c
bool library_mixes_names_of_tools() {
    return is_in({5, 0, 9}, {6, 0, 0}) || library_version() >= LibraryVersion{6, 1, 0};
}

bool library_keeps_names_of_tools() {
    return library_mixes_names_of_tools(); // as above; read in 5.0.10 and 6.1.0
}

// _grpcbfunc, there
bool library_drops_members_of_partial_groups() {
    return library_version() >= LibraryVersion{4, 2, 4};
}

// pmix_client_convert_group_procs of src/client/pmix_client_convert.c, whose result is empty then; before 4.2.4 clients
// hear of no members
bool library_needs_each_member_of_groups() {
    return is_in({4, 2, 4}, {6, 0, 0});
}

// _grpcbfunc and pmix_server_grpdestruct there, construct_cbfunc of src/client/pmix_client_group.c: from 4.2.4 on the
// number of members and the members stand before the context id, and the members in the request to destruct; from 6.0
// on a flag stands before the context id.
GroupWriting group_writing(const LibraryVersion &version) {
    if (version < LibraryVersion{4, 2, 4})
        return {0, "older than 4.2.4"};
    if (version < LibraryVersion{6, 0, 0})
        return {1, "from 4.2.4 to 5"};
    return {2, "of 6 or newer"};
}

} // namespace pmixhost
