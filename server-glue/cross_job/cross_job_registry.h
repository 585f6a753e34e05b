// The namespaces of other steps that processes of this host may deal with: learned when they meet in
// a collective over several namespaces, and then known to the server library, so that its clients find
// their job information.
#pragma once

#include "common/wire/cross_job_messages.h"
#include "server-glue/library/info_list.h"
#include "server-glue/rm/rm_backend.h"

#include <map>

namespace pmixhost {

class PmixLibrary;

// What others may know of this step.
wire::NamespaceInfo describe(const StepInfo &step);
// The process sets that `info` describes; none where they make no sense.
std::vector<ProcessSet> sets_of(const wire::NamespaceInfo &info);

class CrossJobRegistry {
  public:
    // `host`: the name of this one. `details_up_to`: see describes_all().
    CrossJobRegistry(Log &log, std::uint32_t session_id, std::string host, Rank details_up_to)
        : log_(log), session_id_(session_id), host_(std::move(host)), details_up_to_(details_up_to) {}

    // Registers a namespace with the library. `done` is called when the library knows it, at once when it has been
    // known before. A description that makes no sense is logged, and `done` is called.
    void learn(PmixLibrary &library, const wire::NamespaceInfo &info, std::function<void()> done);
    // Says which CPUs those processes of a known namespace that are on this host are bound to, in hwloc's list form:
    // they and ours then find each other as local, with their locality. `done` is called when they do, or cannot.
    // Ranks that are on other hosts, or do not exist, are left out.
    void show(PmixLibrary &library, const Bytes &nspace, const std::map<Rank, std::string> &cpus,
              std::function<void()> done);
    // False when it is not known; else `then` is called as soon as the library knows it.
    bool when_known(const Bytes &nspace, std::function<void()> then);
    // Tells the library that there is no namespace of that name here, whatever the asker is answered: of the error of
    // a direct modex, libpmix 4.2.2 makes a namespace that is never complete, and a connect with it would hang,
    // should it exist one day.
    void mark_unknown(PmixLibrary &library, const Bytes &nspace, std::function<void()> done);
    // Is there room for this namespace, which nobody has asked for yet?
    bool room_for(const wire::NamespaceInfo &info) const;
    bool any() const { return !jobs_.empty(); }
    std::vector<Bytes> names() const;
    // Null when it is not known. It has no host of its own (StepInfo::self) and no programs. Valid until the next call.
    const StepInfo *find(const Bytes &nspace) const;
    // 0 when it is not known.
    Rank size_of(const Bytes &nspace) const;

  private:
    // Bounds of the namespaces that nobody has asked for.
    static constexpr std::size_t max_jobs = 1024;
    static constexpr std::size_t max_ranks = 100'000;

    Log &log_;
    std::uint32_t session_id_;
    std::string host_;
    Rank details_up_to_;
    struct Job {
        std::shared_ptr<const StepInfo> step;
        bool registered = false;
        std::vector<std::function<void()>> waiting; // until it is
        HostIndex here = no_host;                   // which of its hosts is this one
        enum class Shown { no, starting, yes, never } shown = Shown::no;
        std::vector<std::function<void()>> showing; // while it starts
    };
    void update(PmixLibrary &library, const Bytes &nspace, const std::map<Rank, std::string> &cpus,
                std::function<void()> done);

    std::map<Bytes, Job> jobs_;
    std::size_t ranks_ = 0; // of all of them
};

} // namespace pmixhost
