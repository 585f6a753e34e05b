// See place_wish.h.
#include "server-glue/spawn/place_wish.h"

#include "server-glue/spawn/spawn_request.h"

#include <algorithm>
#include <charconv>
#include <pmix.h>

namespace pmixhost {

namespace {

constexpr std::size_t max_text = 1024, max_host_list = 64 * 1024;

bool is(const wire::SpawnDirective &d, SpawnValue kind) {
    return d.kind == static_cast<std::uint8_t>(kind);
}

// It goes to the RM: one word or a list, nothing that a log or a terminal would take for more.
bool read_text(const wire::SpawnDirective &d, std::size_t longest, std::string &out) {
    if (!is(d, SpawnValue::text) || d.text.empty() || d.text.size() > longest ||
        std::any_of(d.text.begin(), d.text.end(), [](unsigned char c) { return c <= 0x20 || c == 0x7f; }))
        return false;
    out = d.text;
    return true;
}

template <typename Number> bool read_number(const wire::SpawnDirective &d, Number &out) {
    if (!is(d, SpawnValue::number) || d.number == 0 || d.number >= INT32_MAX)
        return false;
    out = static_cast<Number>(d.number);
    return true;
}

class Reader {
  public:
    // Nothing: it is no word about allocations. False: its value cannot be read.
    std::optional<bool> read(const wire::SpawnDirective &d) {
        if (d.key == PMIX_ALLOC_ID)
            return read_text(d, max_text, named_);
        if (d.key == PMIX_SESSION_ID)
            return read_number(d, session_);
        std::string *text = d.key == PMIX_ALLOC_REQ_ID      ? &new_.name
                            : d.key == PMIX_ALLOC_QUEUE     ? &new_.queue
                            : d.key == PMIX_ALLOC_NODE_LIST ? &new_.host_list
                                                            : nullptr;
        std::uint32_t *number = d.key == PMIX_ALLOC_NUM_NODES  ? &new_.hosts
                                : d.key == PMIX_ALLOC_NUM_CPUS ? &new_.cpus
                                : d.key == PMIX_ALLOC_TIME     ? &new_.seconds
                                                               : nullptr;
        bool is_memory = d.key == PMIX_ALLOC_MEM_SIZE;
        if (!text && !number && !is_memory)
            return std::nullopt;
        describes_ = true;
        required_ = required_ || d.required != 0;
        return text     ? read_text(d, text == &new_.host_list ? max_host_list : max_text, *text)
               : number ? read_number(d, *number)
                        : read_number(d, new_.megabytes);
    }

    std::variant<PlaceWish, SpawnRefusal> wish(const wire::SpawnRequest &request) {
        std::string session = session_ ? std::to_string(session_) : std::string();
        if (session_ && !named_.empty() && named_ != session)
            return refuse_spawn(PMIX_ERR_BAD_PARAM,
                                "PMIX_ALLOC_ID ({}) and PMIX_SESSION_ID ({}) name different allocations", named_,
                                session_);
        PlaceWish wish;
        wish.allocation = named_.empty() ? session : named_;
        if (!describes_)
            return wish;
        if (!wish.allocation.empty())
            return refuse_spawn(PMIX_ERR_BAD_PARAM,
                                "allocation {} is named, and a new one is described as well (PMIX_ALLOC_*): give one "
                                "of both",
                                wish.allocation);
        wish.is_required = required_;
        std::uint64_t processes = 0;
        for (const auto &app : request.apps)
            processes += static_cast<std::uint64_t>(std::max(app.count, 0));
        if (new_.cpus == 0)
            new_.cpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(processes, INT32_MAX));
        wish.new_one = std::move(new_);
        return wish;
    }

  private:
    std::string named_;
    std::uint32_t session_ = 0;
    RmAllocation new_;
    bool describes_ = false, required_ = false;
};

bool is_start_limit(const wire::SpawnDirective &d) {
    return (d.key == PMIX_TIMEOUT || d.key == PMIX_SPAWN_TIMEOUT) && is(d, SpawnValue::number);
}

} // namespace

std::variant<PlaceWish, SpawnRefusal> take_place_wish(wire::SpawnRequest &request) {
    Reader reader;
    SpawnRefusal refusal{PMIX_SUCCESS, {}};
    std::erase_if(request.directives, [&](const wire::SpawnDirective &d) {
        auto read = reader.read(d);
        if (read && !*read)
            refusal = refuse_spawn(PMIX_ERR_BAD_PARAM, "the value of {} cannot be read", d.key);
        return read.has_value();
    });
    if (refusal.status != PMIX_SUCCESS)
        return refusal;
    return reader.wish(request);
}

bool requires_place(const wire::SpawnRequest &request) {
    Reader reader;
    return std::any_of(request.directives.begin(), request.directives.end(),
                       [&](const wire::SpawnDirective &d) { return d.required != 0 && reader.read(d).has_value(); });
}

std::uint64_t start_limit_of(const wire::SpawnRequest &request) {
    auto found = std::find_if(request.directives.begin(), request.directives.end(), is_start_limit);
    constexpr std::uint64_t most = 366ull * 86'400;
    return found == request.directives.end() ? 0 : std::min(found->number, most);
}

void take_from_start_limit(wire::SpawnRequest &request, std::chrono::nanoseconds waited) {
    auto gone = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(waited).count(), 0);
    for (auto &directive : request.directives) {
        if (is_start_limit(directive) && directive.number > 0)
            directive.number -= std::min(directive.number - 1, static_cast<std::uint64_t>(gone));
    }
}

bool says_nohup(const wire::SpawnRequest &request) {
    auto in = [](const std::vector<wire::SpawnDirective> &directives) {
        return std::any_of(directives.begin(), directives.end(), [](const auto &directive) {
            return directive.key == PMIX_NOHUP && is(directive, SpawnValue::flag) && directive.number != 0;
        });
    };
    return in(request.directives) ||
           std::any_of(request.apps.begin(), request.apps.end(), [&](const auto &app) { return in(app.directives); });
}

} // namespace pmixhost
