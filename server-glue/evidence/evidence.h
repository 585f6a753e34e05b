// Evidence: before a daemon that stands still is ended, where it stood is written to a file and, in
// short, to the log (contrib/doc/decisions/evidence.md). The work is done by pmixhost-evidence, a process
// of its own, because what it reads may block for ever; here it is started, listened to, and killed when
// it takes too long. Nothing here waits longer than its caller says.
//
// The supervisor looks at its child with capture_evidence(). A daemon has itself looked at with EvidenceCapture,
// which an event loop can watch.
#pragma once

#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/config/settings.h"
#include "server-glue/evidence/evidence_report.h"

#include <chrono>
#include <string>
#include <vector>

namespace pmixhost {

// Where evidence on the daemon of this host and step goes.
struct EvidencePlace {
    std::string program;                  // pmixhost-evidence
    std::vector<std::string> directories; // the first that takes the file
    std::string host, step;
};
// `log_file`: the path that the log is written to; may be empty.
EvidencePlace evidence_place(const Settings &settings, const std::string &log_file, std::string host, std::string step);

// How long a capture may take. It takes some 300 ms where nothing blocks and no thread runs.
inline constexpr auto evidence_patience = std::chrono::milliseconds(5000);
// How long a daemon may write its core before it is killed.
inline constexpr auto core_patience = std::chrono::milliseconds(3000);

class EvidenceCapture {
  public:
    // suspect.host and .step are taken from `place`. The suspect may be the calling process itself, which
    // may have any number of threads. `log` gets a line for each of its threads, and must outlive this.
    static Result<EvidenceCapture> start(const EvidencePlace &place, Suspect suspect, const Log &log);
    EvidenceCapture(EvidenceCapture &&other) noexcept;
    EvidenceCapture &operator=(EvidenceCapture &&) = delete;
    // Kills what is still under way.
    ~EvidenceCapture();

    // Readable when on_readable() has something to do.
    int fd() const { return output_.get(); }
    // Does not wait. True when the capture has ended.
    bool on_readable();
    // The path of the file; empty: there is none (the log says why). It is known early, also when the capture does
    // not get to its end.
    const std::string &file() const { return file_; }

  private:
    EvidenceCapture(pid_t pid, UniqueFd output, const Log &log);
    void take_line(std::string_view line);
    pid_t pid_;
    UniqueFd process_, output_;
    const Log *log_;
    std::string rest_, file_;
    std::size_t lines_ = 0;
    bool done_ = false;
};

// Makes a capture from start to end; blocks, at most for `patience`. Returns the path of the file, or an empty text.
std::string capture_evidence(const EvidencePlace &place, Suspect suspect, const Log &log,
                             std::chrono::milliseconds patience = evidence_patience);

// Ends a child that has not been waited for: by SIGABRT, for its core, and by SIGKILL when it is still there after
// `patience`. `process` is its pidfd. Waits for its end, but not for ever: it may be in a state that not even SIGKILL
// ends.
void end_with_core(pid_t child, int process, std::chrono::milliseconds patience = core_patience);

// Lets the parent of the calling process, and what the parent starts, trace the calling process where Yama forbids it
// (ptrace_scope 1). A server calls it once, early: when it hangs it cannot any more.
void let_parent_trace();

} // namespace pmixhost
