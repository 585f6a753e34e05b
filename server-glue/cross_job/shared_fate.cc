// See shared_fate.h.
#include "server-glue/cross_job/shared_fate.h"

#include "common/text/printable.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace pmixhost {

static constexpr int wrote_to_the_gone = 128 + SIGPIPE;

SharedFate::Members SharedFate::members_of(const Signature &signature, const SizeOf &size_of) {
    Members out;
    for (const auto &members : signature.members) {
        RankRanges ranks;
        if (members.all) {
            if (Rank size = size_of(members.nspace); size > 0)
                ranks.add(0, size - 1);
        }
        for (Rank rank : members.ranks)
            ranks.add(rank, rank);
        out.emplace(members.nspace, ranks.ranges());
    }
    return out;
}

void SharedFate::add_kin(const Bytes &nspace, const Bytes &job_id) {
    Kin &kin = kin_.try_emplace(nspace, Kin{job_id}).first->second;
    apart_.erase(std::exchange(kin.apart, 0));
}

void SharedFate::connected(const Signature &signature, const SizeOf &size_of) {
    Members all = members_of(signature, size_of);
    bool has_kin = false;
    for (const auto &[nspace, ranks] : all) {
        auto found = kin_.find(nspace);
        if (found == kin_.end())
            continue;
        has_kin = true;
        ++found->second.connections;
        apart_.erase(std::exchange(found->second.apart, 0));
    }
    if (has_kin)
        connections_.push_back(std::move(all));
}

void SharedFate::disconnected(const Signature &signature, const SizeOf &size_of) {
    if (connections_.empty() || signature.members.size() < 2)
        return;
    auto found = std::find(connections_.begin(), connections_.end(), members_of(signature, size_of));
    if (found == connections_.end())
        return;
    const Members members = std::move(*found);
    connections_.erase(found);
    part(members);
}

void SharedFate::part(const Members &members) {
    for (const auto &[nspace, ranks] : members) {
        auto found = kin_.find(nspace);
        if (found == kin_.end() || found->second.connections == 0 || --found->second.connections > 0)
            continue;
        found->second.apart = ++last_apart_;
        apart_.emplace(last_apart_, nspace);
    }
    while (apart_.size() > most_apart) {
        kin_.erase(apart_.begin()->second);
        apart_.erase(apart_.begin());
    }
}

bool SharedFate::connected_with(const Bytes &nspace) const {
    return std::any_of(connections_.begin(), connections_.end(),
                       [&](const Members &members) { return members.contains(nspace); });
}

bool SharedFate::is_member(const Bytes &nspace, Rank rank, Bytes &kin) const {
    for (const Members &members : connections_) {
        auto ranks = members.find(nspace);
        if (ranks == members.end())
            continue;
        auto range = ranks->second.upper_bound(rank);
        if (range == ranks->second.begin() || std::prev(range)->second < rank)
            continue;
        for (const auto &[other, its_ranks] : members) {
            if (is_kin(other))
                kin = other;
        }
        return true;
    }
    return false;
}

// What a job that is ended from outside does to its processes.
static bool may_be_a_consequence(const std::optional<int> &exit_code) {
    return !exit_code || *exit_code == 128 + SIGKILL || *exit_code == 128 + SIGTERM;
}

static std::string how(const std::optional<int> &exit_code) {
    if (!exit_code || *exit_code == 0)
        return "ended";
    return *exit_code > 128 ? fmt::format("was ended by signal {}", *exit_code - 128)
                            : fmt::format("ended with exit code {}", *exit_code);
}

bool SharedFate::is_end_of_all(const Bytes &nspace, Rank rank, std::optional<int> exit_code) const {
    Bytes kin;
    return exit_code != wrote_to_the_gone && is_member(nspace, rank, kin);
}

void SharedFate::on_bad_end(TimePoint now, const Bytes &nspace, Rank rank, std::optional<int> exit_code,
                            bool code_will_come) {
    Bytes kin;
    if (exit_code == wrote_to_the_gone)
        return;
    if (!is_member(nspace, rank, kin))
        return;
    Bytes other = nspace == nspace_ ? kin : nspace;
    auto known = kin_.find(other);
    Bytes job = printable(known == kin_.end() ? other : known->second.job_id);
    std::string text = nspace == nspace_
                           ? fmt::format("rank {} {} without MPI_Finalize while this job was connected with job {}",
                                         rank, how(exit_code), job)
                           : fmt::format("rank {} of job {}, with which this job is connected, {} without MPI_Finalize",
                                         rank, job, how(exit_code));
    TimePoint due = now;
    if (may_be_a_consequence(exit_code))
        due += code_will_come || nspace == nspace_ ? patience : longer_patience;
    condemn(due, exit_code.value_or(1), std::move(text));
}

void SharedFate::on_job_ended(TimePoint now, const Bytes &nspace, int exit_code) {
    auto known = kin_.find(nspace);
    if (known == kin_.end() || !connected_with(nspace) || exit_code == 0 || exit_code == wrote_to_the_gone)
        return;
    condemn(now, exit_code,
            fmt::format("job {}, with which this job is connected, ended with exit code {}",
                        printable(known->second.job_id), exit_code));
}

// The earliest counts: whatever is later may be its consequence.
void SharedFate::condemn(TimePoint due, int exit_status, std::string text) {
    if (given_ || (verdict_ && due_ <= due))
        return;
    exit_status &= 0xff;
    verdict_ = Verdict{exit_status == 0 ? 1 : exit_status, std::move(text)};
    due_ = due;
}

std::optional<SharedFate::Verdict> SharedFate::on_time(TimePoint now) {
    if (!verdict_ || now < due_)
        return std::nullopt;
    given_ = true;
    return std::exchange(verdict_, std::nullopt);
}

} // namespace pmixhost
