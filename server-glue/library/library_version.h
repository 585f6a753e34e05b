// Which libpmix this process runs with, and what that one does otherwise than others. It is asked at run time, since
// a distribution may replace the library without pmixhost. Each fact has a name, and its versions stand in
// library_version.cc alone. Any thread.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace pmixhost {

struct LibraryVersion {
    unsigned major = 0, minor = 0, release = 0;
    auto operator<=>(const LibraryVersion &) const = default;
};

// Reads the text that PMIx_Get_version gives, such as "OpenPMIx 5.0.7, repo rev: ..."; 0.0.0 where it has no number.
LibraryVersion parse_library_version(std::string_view text);
std::string text_of(const LibraryVersion &version); // "5.0.7"
const LibraryVersion &library_version();
// Are the headers that this was compiled with of that very library? Then it is known what its inner tables look like.
bool library_is_of_headers();

// A fence or connect that fails is an error for the first local process and a success for the others
// (server-glue/library/failed_collective.h).
bool library_hides_failed_collectives();
// What processes of this host have posted has to come back with the result of their fence, or they ask for what they
// have of each other. Before 5 the server has it from their commits.
bool library_wants_own_part_of_fences();
// The destruction of a group of this host alone is handed to the host environment twice, for one answer; so is that of
// a group whose members are named by a wildcard, of however many hosts.
bool library_destructs_local_groups_twice();
// The server answers a question for attributes to what is not the asker (query_interposition.cc).
bool library_answers_attributes_astray();
// PMIx_IOF_deregister is answered with whatever stands in some memory (server-glue/library/iof_deregistration.h).
bool library_answers_iof_deregistrations_astray();
// A PMIx_IOF_pull that the host refuses is served all the same (server-glue/library/refused_pull.h).
bool library_keeps_refused_pulls();
// What is for syslog is handed to the host alone; before, the library writes it and hands it on all the same.
bool library_leaves_syslog_to_its_host();
// A query that the host refuses is never answered in a server that is connected to one (connected_server.h).
bool library_drops_refusals_of_connected_servers();
// What a host answers to notify_event, other than that it goes on, is a success for who notifies
// (pmix_prm_base_notify).
bool library_hides_refused_events();
// PMIx_Initialized() is false, and no answer goes out, as long as PMIx_server_init waits for a debugger's release.
bool library_works_after_release();
// A message of more than 32 MiB ends the connection that it came on.
bool library_limits_messages();
// What comes to a tool from processes that it has spawned is printed, whatever callback it has (default_output.h).
bool library_prints_output_for_tools();
// The server, too, marks what goes to a tool as the tool's spawn said (tag, time, XML), by the tool's name and often by
// the other channel.
bool library_marks_forwarded_output_twice();
// At the construction of a group what each member gives comes to the host by itself (member_data.h).
bool library_gives_data_of_each_member();
// The name that a tool has stated stands among what it sent itself, in no place of its own (tool_origins.h).
bool library_mixes_names_of_tools();
// No tool may come with a name of its own in a namespace whose first tool has gone.
bool library_keeps_names_of_tools();
// A client that has heard of a group's members by a wildcard crashes when it looks for one by its rank in the group.
bool library_needs_each_member_of_groups();
// Clients hear of a group's members only together with PMIX_SUCCESS.
bool library_drops_members_of_partial_groups();

// In how a server and its clients write what belongs to PMIx_Group_construct and _destruct to each other, versions are
// of kinds: within one they understand each other, one of another kind fails, or takes a number for another.
struct GroupWriting {
    int kind = 0;
    std::string_view versions; // for people: "4.2.4 to 5"
};
GroupWriting group_writing(const LibraryVersion &version);

} // namespace pmixhost
