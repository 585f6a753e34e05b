// What of the libpmix that this process runs with is wrong, and would be mended here if pmixhost had been compiled for
// it: its own tables and objects are touched only with the headers of that very version (failed_collective.h,
// iof_deregistration.h, refused_pull.h, connected_server.h, default_output.h). For `pmixhost doctor`.
#pragma once

#include <string>
#include <vector>

namespace pmixhost {

struct LibraryHeaders {
    bool of_this_library = false; // those that pmixhost was compiled with are of the version that runs
    bool store_table = false;     // the library's own ones were there too: src/mca/gds/gds.h
    bool objects = false;         // and src/server/pmix_server_ops.h
    static LibraryHeaders here();
};

// A sentence for each, with the reason; none where all is well. Whether the tables of a library that runs look as they
// should is not seen, as no server is started: the daemon's log tells of that.
std::vector<std::string> unmended_faults(const LibraryHeaders &headers);

} // namespace pmixhost
