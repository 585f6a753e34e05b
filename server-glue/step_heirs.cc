// StepServer's share in handing over what its processes had posted (posted_heirs.h).
#include "server-glue/step_server.h"

namespace pmixhost {

static constexpr auto handing_over_patience = std::chrono::seconds(5); // for the library and the heirs
// When the ancestors leave too, so does probably everybody; many hosts do not go on asking each other then.
static constexpr unsigned max_heirs_asked = 4;

void StepServer::on_fence_of_all(bool collected) {
    all_have_begun_ = true;
    posted_everywhere_ = posted_everywhere_ || collected;
}

void StepServer::hand_over(std::function<void()> then) {
    bool needed = !posted_everywhere_ || !heirs_.all_kept().empty();
    if (handing_over_ || !library_ || library_stuck_ || !needed || heirs_.heir_of(step_.self) == no_host)
        return then();
    handing_over_ = true;
    struct HandingOver {
        std::size_t missing;
        Bytes posted;
        std::function<void()> then;
        void add(Rank rank, Bytes data, std::size_t limit) {
            if (posted.size() + data.size() <= limit)
                posted += wire::encode(wire::PostedData{rank, {}, std::move(data)});
        }
    };
    auto ranks = step_.map.ranks_on(step_.self);
    auto work = std::make_shared<HandingOver>(HandingOver{ranks.size(), {}, std::move(then)});
    for (const auto &[rank, data] : heirs_.all_kept())
        work->add(rank, data, PostedHeirs::max_bytes);
    stop_handing_over_ = [this, work] {
        asked_heir_ = no_host;
        if (auto go_on = std::exchange(work->then, nullptr))
            go_on();
    };
    handing_over_end_ = loop_.after(handing_over_patience, [this] { finish_handing_over(); });
    for (Rank rank : ranks) {
        library_->posted_data_now(step_.nspace, rank, [this, work, rank](pmix_status_t status, Bytes data) {
            if (status == PMIX_SUCCESS)
                work->add(rank, std::move(data), settings_.fence_max_bytes);
            if (--work->missing > 0 || !stop_handing_over_)
                return;
            last_will_ = share(wire::encode(wire::PostedByEnded{std::move(work->posted)}));
            ask_heir();
        });
    }
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
