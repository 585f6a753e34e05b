// See children_ends.h.
#include "server-glue/spawn/children_ends.h"

#include "common/job/rank_ranges.h"
#include "common/text/printable.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/rm/user_notes.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <pmix_common.h>

namespace pmixhost {

namespace {

// "0-3,7"; not more than fits in a line.
std::string shown_ranks(const std::vector<wire::RankRange> &ranges) {
    constexpr std::size_t most = 20;
    std::string out;
    for (std::size_t i = 0; i < ranges.size() && i < most; ++i) {
        out += i > 0 ? "," : "";
        out += ranges[i].first == ranges[i].last ? fmt::format("{}", ranges[i].first)
                                                 : fmt::format("{}-{}", ranges[i].first, ranges[i].last);
    }
    return ranges.size() > most ? out + ",..." : out;
}

std::string how_it_ended(const wire::EndedProcess &ended) {
    if (ended.exit_code < 0)
        return "has ended; nobody knows how";
    if (ended.exit_code > 128 && ended.exit_code < 128 + NSIG)
        return fmt::format("was ended by signal {} ({})", ended.exit_code - 128, ::strsignal(ended.exit_code - 128));
    return fmt::format("has ended with exit code {}{}", ended.exit_code,
                       ended.exit_code == 0 ? ", and had not finalized PMIx" : "");
}

} // namespace

void ChildrenEnds::take_messages(StepMessages &messages) {
    messages.on<wire::ChildEnds>(StepMessages::Peer::session, [this](HostIndex, const auto &ends, const auto &) {
        context_.send_to_session(wire::ChildEndsTaken{ends.id, PMIX_SUCCESS});
        on_ends(ends);
    });
}

// A quick job's may come before the answer that names the job.
void ChildrenEnds::on_ends(const wire::ChildEnds &ends) {
    auto failed = std::find_if(ends.bad.begin(), ends.bad.end(), [](const auto &one) { return one.exit_code != 0; });
    bool over = children_.ended.contains(ends.source) && !first_.waits(ends.source);
    if (failed != ends.bad.end() && !over)
        first_.note(context_.now(), ends.source, ends.time, {failed->rank, failed->exit_code});
    if (ends.logs != 0)
        log(ends);
}

void ChildrenEnds::log(const wire::ChildEnds &ends) {
    constexpr std::size_t most_lines = 100; // of one message
    auto say = [this, &ends](const std::string &what) {
        if (lines_left_ == 0)
            return;
        --lines_left_;
        std::string line = fmt::format("{}: {}", printable(ends.source), what);
        context_.log.info("{}", line);
        if (auto *notes = context_.backend.user_notes())
            notes->tell_user({std::move(line)}, [](Result<void>) {});
    };
    for (std::size_t i = 0; i < ends.bad.size() && i < most_lines; ++i)
        say(fmt::format("rank {} {}", ends.bad[i].rank, how_it_ended(ends.bad[i])));
    if (ends.bad.size() > most_lines)
        say(fmt::format("{} more ranks have ended badly", ends.bad.size() - most_lines));
    if (!ends.well.empty()) {
        bool one = ends.well.size() == 1 && ends.well[0].first == ends.well[0].last;
        say(fmt::format("{} {} {} ended with exit code 0", one ? "rank" : "ranks", shown_ranks(ends.well),
                        one ? "has" : "have"));
    }
}

} // namespace pmixhost
