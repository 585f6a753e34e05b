// The namespaces of other steps that processes of this host may deal with: learned when they meet in
// a collective over several namespaces, and then known to the server library, so that its clients find
// their job information.
#pragma once

#include "common/wire/messages.h"
#include "server-glue/pmix_library.h"
#include "server-glue/rm_backend.h"

#include <map>

namespace pmixhost {

// What others may know of this step.
wire::NamespaceInfo describe(const StepInfo &step);
// None where they make no sense.
std::vector<ProcessSet> sets_of(const wire::NamespaceInfo &info);

class ForeignJobs {
  public:
    ForeignJobs(Log &log, std::uint32_t session_id) : log_(log), session_id_(session_id) {}

    // `done` when the library knows it; at once when it has been known before. What makes no sense is
    // logged, and done.
    void learn(PmixLibrary &library, const wire::NamespaceInfo &info, std::function<void()> done);
    bool any() const { return !jobs_.empty(); }
    std::vector<Bytes> names() const;
    // 0 when it is not known.
    Rank size_of(const Bytes &nspace) const;

  private:
    Log &log_;
    std::uint32_t session_id_;
    struct Job {
        std::shared_ptr<const StepInfo> step;
        bool registered = false;
        std::vector<std::function<void()>> waiting; // until it is
    };
    std::map<Bytes, Job> jobs_;
};

} // namespace pmixhost
