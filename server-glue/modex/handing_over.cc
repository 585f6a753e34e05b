// See handing_over.h.
#include "server-glue/modex/handing_over.h"

#include "server-glue/library/pmix_library.h"
#include "server-glue/step/step_messages.h"

namespace pmixhost {

static constexpr auto patience = std::chrono::seconds(5); // for the library and the heirs
// When the ancestors leave too, probably everybody does; then many hosts do not go on asking each other.
static constexpr unsigned max_heirs_asked = 4;

HandingOver::HandingOver(StepContext &context, Callbacks callbacks)
    : StepService(context.services), context_(context), callbacks_(std::move(callbacks)),
      heirs_(context.step.map, context.self(), context.settings.transport_radix) {}

void HandingOver::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::PostedByEnded>(
        Peer::host, [this](HostIndex from, const auto &message, const auto &) { on_posted(from, message); });
    messages.on<wire::PostedKept>(
        Peer::host, [this](HostIndex from, const auto &message, const auto &) { on_answer(from, message.kept != 0); });
}

std::shared_ptr<const PostedDigests> HandingOver::digest_posted() {
    if (digested_ && context_.now() - *digested_ < between_digests)
        return nullptr;
    digested_ = context_.now();
    auto digests = std::make_shared<PostedDigests>();
    auto here = context_.ranks_here();
    if (context_.library && heirs_.heir_of(context_.self()) != no_host) {
        context_.library->posted_data_now(context_.step.nspace, {here.begin(), here.end()},
                                          [digests](std::map<Rank, Bytes> posted) {
                                              for (const auto &[rank, data] : posted)
                                                  digests->add(rank, data);
                                          });
    }
    return digests;
}

void HandingOver::on_fence_of_all(std::shared_ptr<const PostedDigests> collected) {
    all_have_begun_ = true;
    if (collected)
        everywhere_ = std::move(collected);
}

void HandingOver::start(std::function<void()> then) {
    if (started_ || !context_.library || context_.library_stuck || heirs_.heir_of(context_.self()) == no_host)
        return then();
    started_ = true;
    then_ = std::move(then);
    end_ = context_.loop.after(patience, [this] { finish(); });
    auto here = context_.ranks_here();
    context_.library->posted_data_now(context_.step.nspace, {here.begin(), here.end()},
                                      [this](std::map<Rank, Bytes> posted) {
                                          if (!then_)
                                              return; // too late
                                          Bytes all;
                                          auto add = [&all](Rank rank, const Bytes &data, std::size_t limit) {
                                              if (all.size() + data.size() <= limit)
                                                  all += wire::encode(wire::PostedData{rank, {}, data});
                                          };
                                          for (const auto &[rank, data] : heirs_.all_kept())
                                              add(rank, data, PostedHeirs::max_bytes);
                                          for (const auto &[rank, data] : posted) {
                                              if (!everywhere_ || !everywhere_->is(rank, data))
                                                  add(rank, data, context_.settings.fence_max_bytes);
                                          }
                                          if (all.empty())
                                              return finish();
                                          last_will_ = share(wire::encode(wire::PostedByEnded{std::move(all)}));
                                          ask_heir();
                                      });
}

// The heirs are asked one after the other, as they may leave at the same time.
void HandingOver::ask_heir() {
    asked_heir_ = heirs_asked_++ < max_heirs_asked ? heirs_.heir_of(context_.self()) : no_host;
    while (asked_heir_ != no_host && !context_.send(asked_heir_, wire::PostedByEnded::type, last_will_)) {
        heirs_.lost(asked_heir_);
        asked_heir_ = heirs_.heir_of(context_.self());
    }
    if (asked_heir_ == no_host)
        finish();
}

void HandingOver::finish() {
    asked_heir_ = no_host;
    if (auto then = std::exchange(then_, nullptr))
        context_.loop.post([this, then = std::move(then)] { // not from within the timer that goes
            end_.reset();
            then();
        });
}

void HandingOver::on_answer(HostIndex from, bool kept) {
    if (from != asked_heir_)
        return;
    if (kept)
        return finish();
    heirs_.left(from);
    ask_heir();
}

void HandingOver::on_posted(HostIndex from, const wire::PostedByEnded &message) {
    heirs_.left(from); // about to
    wire::PostedKept answer;
    answer.kept = !started_ && !context_.ending;
    context_.send(from, answer);
    wire::Reader reader(message.posted);
    std::size_t dropped = 0;
    while (reader.ok() && !reader.at_end()) {
        wire::PostedData posted;
        reader.get(posted);
        if (!reader.ok())
            break;
        if (!answer.kept)
            refuse(posted.rank);
        else if (heirs_.keep(posted.rank, std::move(posted.data)))
            callbacks_.on_kept(posted.rank);
        else
            ++dropped;
    }
    if (dropped > 0)
        context_.log.warning("what {} processes of {} had posted is not kept: it would be too much", dropped,
                             context_.step.map.hosts()[from]);
}

void HandingOver::refuse(Rank rank) {
    HostIndex home = context_.step.map.host_of(rank);
    if (home == no_host || home == context_.self())
        return;
    refused_.insert(rank);
    callbacks_.on_refused(rank);
}

// What is known of others, which says who the heir is.

void HandingOver::on_host_gone(HostIndex host, bool left) {
    if (left)
        heirs_.left(host);
    else
        heirs_.lost(host);
    if (host == asked_heir_)
        ask_heir();
}

void HandingOver::on_normal_exits(const wire::NormalExits &ends) {
    for (const auto *ranges : {&ends.ranks, &ends.uncertain}) {
        for (const auto &range : *ranges)
            heirs_.ended_normally(range.first, range.last);
    }
}

} // namespace pmixhost
