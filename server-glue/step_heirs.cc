// StepServer's share in handing over what its processes had posted (posted_heirs.h).
#include "server-glue/step_server.h"

namespace pmixhost {

static constexpr auto handing_over_patience = std::chrono::seconds(5); // for the library and the heirs
// When the ancestors leave too, so does probably everybody; many hosts do not go on asking each other then.
static constexpr unsigned max_heirs_asked = 4;

// What the processes here have posted before a fence of the whole job that collects; from its end on every host
// has it. Asked before this host's part of the fence is out, so that nobody has gone on and posted more.
std::shared_ptr<const PostedDigests> StepServer::digest_posted() {
    auto digests = std::make_shared<PostedDigests>();
    auto here = step_.map.ranks_on(step_.self);
    if (library_ && heirs_.heir_of(step_.self) != no_host) {
        library_->posted_data_now(step_.nspace, {here.begin(), here.end()}, [digests](std::map<Rank, Bytes> posted) {
            for (const auto &[rank, data] : posted)
                digests->add(rank, data);
        });
    }
    return digests;
}

void StepServer::on_fence_of_all(std::shared_ptr<const PostedDigests> collected) {
    all_have_begun_ = true;
    if (collected)
        posted_everywhere_ = std::move(collected);
}

void StepServer::hand_over(std::function<void()> then) {
    if (handing_over_ || !library_ || library_stuck_ || heirs_.heir_of(step_.self) == no_host)
        return then();
    handing_over_ = true;
    stop_handing_over_ = [this, then = std::move(then)] {
        asked_heir_ = no_host;
        then();
    };
    handing_over_end_ = loop_.after(handing_over_patience, [this] { finish_handing_over(); });
    auto here = step_.map.ranks_on(step_.self);
    library_->posted_data_now(step_.nspace, {here.begin(), here.end()}, [this](std::map<Rank, Bytes> posted) {
        if (!stop_handing_over_)
            return; // too late
        Bytes all;
        auto add = [&all](Rank rank, const Bytes &data, std::size_t limit) {
            if (all.size() + data.size() <= limit)
                all += wire::encode(wire::PostedData{rank, {}, data});
        };
        for (const auto &[rank, data] : heirs_.all_kept())
            add(rank, data, PostedHeirs::max_bytes);
        for (const auto &[rank, data] : posted) {
            if (!posted_everywhere_ || !posted_everywhere_->is(rank, data))
                add(rank, data, settings_.fence_max_bytes);
        }
        if (all.empty())
            return finish_handing_over();
        last_will_ = share(wire::encode(wire::PostedByEnded{std::move(all)}));
        ask_heir();
    });
}

// One after the other, as they may leave at the same time.
void StepServer::ask_heir() {
    asked_heir_ = heirs_asked_++ < max_heirs_asked ? heirs_.heir_of(step_.self) : no_host;
    while (asked_heir_ != no_host && !mesh_->send(asked_heir_, wire::PostedByEnded::type, last_will_)) {
        heirs_.lost(asked_heir_);
        asked_heir_ = heirs_.heir_of(step_.self);
    }
    if (asked_heir_ == no_host)
        finish_handing_over();
}

void StepServer::finish_handing_over() {
    if (auto finish = std::exchange(stop_handing_over_, nullptr))
        loop_.post([this, finish = std::move(finish)] { // not from within the timer that goes
            handing_over_end_.reset();
            finish();
        });
}

void StepServer::on_posted_kept(HostIndex from, bool kept) {
    if (from != asked_heir_)
        return;
    if (!kept) {
        heirs_.left(from);
        return ask_heir();
    }
    finish_handing_over();
}

void StepServer::on_posted_by_ended(HostIndex from, const wire::PostedByEnded &message) {
    heirs_.left(from); // about to
    wire::PostedKept answer;
    answer.kept = !handing_over_ && !ending_;
    mesh_->send(from, wire::PostedKept::type, share(wire::encode(answer)));
    wire::Reader reader(message.posted);
    std::size_t dropped = 0;
    while (answer.kept && reader.ok() && !reader.at_end()) {
        wire::PostedData posted;
        reader.get(posted);
        if (!reader.ok())
            break;
        if (heirs_.keep(posted.rank, std::move(posted.data)))
            modex_.on_kept(step_.nspace, posted.rank);
        else
            ++dropped;
    }
    if (dropped > 0)
        log_.warning("what {} processes of {} had posted is not kept: it would be too much", dropped,
                     step_.map.hosts()[from]);
}

HostIndex StepServer::holder_of(const Bytes &nspace, Rank rank) {
    HostIndex home = host_of(nspace, rank);
    bool elsewhere = nspace == step_.nspace && home != no_host && home != step_.self;
    return elsewhere && heirs_.has_left(home) && !mesh_->connected(home) ? heirs_.heir_of(home) : home;
}

ModexPort::Kept StepServer::kept(const Bytes &nspace, Rank rank) {
    if (nspace != step_.nspace || step_.map.host_of(rank) == no_host)
        return {nullptr, false};
    return {heirs_.kept(rank), heirs_.may_still_come(step_.map.host_of(rank), [this](HostIndex host) {
                return mesh_->connected(host);
            })};
}

} // namespace pmixhost
