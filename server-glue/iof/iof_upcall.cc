// Upcalls of output that is pulled and input that is pushed.
//
// A pull is answered here and now: after PMIX_SUCCESS libpmix frees what its callback needs (4.2.2 and 5.0.7,
// pmix_server_iofreg). It does not say who pulls, nor, at the end, which pull it is that ends (library/pull_asker.h).
#include "common/rendezvous/own_keys.h"
#include "common/text/time_back.h"
#include "server-glue/iof/held_output.h"
#include "server-glue/iof/iof_ask.h"
#include "server-glue/iof/pull_gate.h"
#include "server-glue/library/iof_deregistration.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/pull_asker.h"
#include "server-glue/library/refused_pull.h"
#include "server-glue/library/upcall_tools.h"

#include <algorithm>

namespace pmixhost {

namespace {

using namespace upcall;

// The library's own header has it only for itself.
constexpr const char *stop_pulling = "pmix.iof.stop"; // PMIX_IOF_STOP

constexpr std::chrono::seconds longest_held = std::chrono::hours(1);

// What the tool's library does with what it gets; of how it is to be shown, it follows what PMIx_tool_init was given,
// and nothing that is said with a pull (4.2.2 and 5.0.7).
bool is_for_the_tools_library(const pmix_info_t &info) {
    for (const char *key : {PMIX_IOF_OUTPUT_RAW, PMIX_IOF_LOCAL_OUTPUT, PMIX_IOF_PUSH_STDIN}) {
        if (PMIX_CHECK_KEY(&info, key))
            return true;
    }
    return false;
}

pmix_status_t read(const pmix_info_t &info, PullAsk &ask, bool &must_have_kept) {
    if (PMIX_CHECK_KEY(&info, PMIX_IOF_CACHE_SIZE)) {
        auto size = number_of(info.value);
        if (!size || *size < 0)
            return PMIX_ERR_BAD_PARAM;
        ask.cache = static_cast<std::uint64_t>(*size);
        ask.must_have_cache = PMIX_INFO_IS_REQUIRED(&info);
    } else if (PMIX_CHECK_KEY(&info, PMIX_IOF_DROP_OLDEST)) {
        ask.drop_oldest = flag_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_IOF_DROP_NEWEST)) {
        ask.drop_oldest = !flag_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_IOF_REDIRECT)) {
        ask.take_over = flag_of(info.value);
        ask.must_take_over = ask.take_over && PMIX_INFO_IS_REQUIRED(&info);
    } else if (PMIX_CHECK_KEY(&info, PMIX_IOF_BUFFERING_SIZE)) {
        auto size = number_of(info.value);
        if (!size || *size < 0)
            return PMIX_ERR_BAD_PARAM;
        if (*size > HeldOutput::most_bytes && PMIX_INFO_IS_REQUIRED(&info))
            return PMIX_ERR_NOT_SUPPORTED;
        ask.held = static_cast<std::uint32_t>(std::min<std::int64_t>(*size, HeldOutput::most_bytes));
        ask.must_be_held = *size > 0 && PMIX_INFO_IS_REQUIRED(&info);
    } else if (PMIX_CHECK_KEY(&info, PMIX_IOF_BUFFERING_TIME)) { // at most: less is right, too
        auto seconds = number_of(info.value);
        if (!seconds || *seconds < 0)
            return PMIX_ERR_BAD_PARAM;
        ask.held_for = std::chrono::seconds(std::min<std::int64_t>(*seconds, longest_held.count()));
    } else if (PMIX_CHECK_KEY(&info, own_key::output_since)) {
        auto seconds = number_of(info.value);
        if (!seconds || *seconds < 0 || *seconds > longest_time_back.count())
            return PMIX_ERR_BAD_PARAM;
        ask.since = std::chrono::seconds(*seconds);
        must_have_kept = *seconds > 0 && PMIX_INFO_IS_REQUIRED(&info);
    } else if (PMIX_CHECK_KEY(&info, PMIX_IOF_COPY) || is_for_the_tools_library(info)) {
        return PMIX_SUCCESS; // a copy is what there is without a word
    } else if (PMIX_INFO_IS_REQUIRED(&info)) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    return PMIX_SUCCESS;
}

// PMIx_IOF_deregister: the library puts its word behind the directives of the tool, and names no process. The pull is
// gone there already, whatever the directives are.
bool ends_a_pull(std::size_t count, const pmix_info_t directives[], std::size_t ndirs, pmix_iof_channel_t channels) {
    return count == 0 && channels == PMIX_FWD_NO_CHANNELS && directives && ndirs > 0 &&
           PMIX_CHECK_KEY(&directives[ndirs - 1], stop_pulling);
}

std::optional<bool> is_of_a_tool(const void *data) {
    const int known = library_is_of_headers() ? pmixhost_pull_is_of_a_tool(data) : -1;
    return known < 0 ? std::nullopt : std::optional(known == 1);
}

std::optional<LibraryConnection> connection_of(const void *data) {
    const int number = library_is_of_headers() ? pmixhost_pull_connection(data) : PMIXHOST_PULL_CONNECTION_UNKNOWN;
    return number == PMIXHOST_PULL_CONNECTION_UNKNOWN ? std::nullopt : std::optional(LibraryConnection::of(number));
}

std::optional<int> pull_number(const void *data) {
    const int number = library_is_of_headers() ? pmixhost_pull_number(data) : -1;
    return number < 0 ? std::nullopt : std::optional(number);
}

pmix_status_t answer_pull(const pmix_proc_t procs[], std::size_t count, const pmix_info_t directives[],
                          std::size_t ndirs, pmix_iof_channel_t channels, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        if (ends_a_pull(count, directives, ndirs, channels)) {
            post(upcalls, PullEndAsk{is_of_a_tool(data), connection_of(data)});
            if (library_answers_iof_deregistrations_astray() && library_is_of_headers())
                pmixhost_mend_iof_deregistration(data);
            return PMIX_OPERATION_SUCCEEDED;
        }
        PullAsk ask;
        ask.by_tool = is_of_a_tool(data);
        ask.connection = connection_of(data);
        ask.number = pull_number(data);
        bool must_have_kept = false;
        for (std::size_t i = 0; directives && i < ndirs; ++i) {
            if (auto status = read(directives[i], ask, must_have_kept); status != PMIX_SUCCESS)
                return status;
        }
        ask.channels = static_cast<std::uint8_t>(channels & (PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL));
        if (procs && count > 0 && ask.channels == 0 && (channels & PMIX_FWD_STDDIAG_CHANNEL) != 0)
            return PMIX_ERR_NOT_SUPPORTED; // no process has such a channel
        if (!procs || count == 0 || ask.channels == 0)
            return PMIX_ERR_BAD_PARAM;
        if (count > PullAsk::max_sources)
            return PMIX_ERR_OUT_OF_RESOURCE;
        auto gate = upcalls.handlers.shared<PullGate>();
        ask.sources = processes_of(procs, count);
        std::uint8_t forwarded = ask.channels;
        ask.of_child = std::all_of(ask.sources.begin(), ask.sources.end(), [&](const Process &source) {
            auto channels_of_it = source.nspace == gate->nspace ? std::nullopt : gate->channels_of_child(source.nspace);
            forwarded &= channels_of_it.value_or(0);
            return channels_of_it.has_value();
        });
        if (auto verdict = gate->may_be_pulled(ask.of_child, ask.by_tool, ask.connection); verdict != PMIX_SUCCESS)
            return verdict;
        // Of a child what is forwarded comes to whoever spawned it, however much is pulled.
        if (ask.of_child ? forwarded == 0 : (ask.channels & ~gate->channels) != 0)
            return PMIX_ERR_NOT_SUPPORTED;
        // PMIx_Spawn has said how its output comes.
        if (ask.of_child ? ask.must_be_held : gate->comes_as_spawned && (ask.must_be_held || ask.must_have_cache))
            return PMIX_ERR_NOT_SUPPORTED;
        if (!ask.of_child && ask.must_have_cache && *ask.cache > gate->most_cache)
            return PMIX_ERR_NOT_SUPPORTED;
        if (!ask.of_child && !gate->can_be_taken_over) {
            if (ask.must_take_over)
                return PMIX_ERR_NOT_SUPPORTED;
            ask.take_over = false;
        }
        for (const auto &source : ask.sources) {
            if (ask.of_child)
                break;
            if (source.nspace != gate->nspace && gate->has_unforwarded_child(source.nspace))
                return PMIX_ERR_NOT_SUPPORTED;
            if (source.nspace != gate->nspace || (source.rank >= gate->ranks && source.rank != PMIX_RANK_WILDCARD))
                return PMIX_ERR_NOT_FOUND;
        }
        if (!ask.of_child && (ask.channels & gate->there) == 0)
            return PMIX_ERR_NOT_SUPPORTED; // the processes have it for themselves
        if (!ask.of_child && !gate->note_pull(ask.selection(), must_have_kept))
            return PMIX_ERR_RESOURCE_BUSY;
        post(upcalls, std::move(ask));
        return PMIX_OPERATION_SUCCEEDED;
    });
}

pmix_status_t on_pull(const pmix_proc_t procs[], std::size_t count, const pmix_info_t directives[], std::size_t ndirs,
                      pmix_iof_channel_t channels, pmix_op_cbfunc_t, void *data) {
    pmix_status_t status = answer_pull(procs, count, directives, ndirs, channels, data);
    if (status == PMIX_OPERATION_SUCCEEDED || !library_keeps_refused_pulls() ||
        ends_a_pull(count, directives, ndirs, channels) ||
        (library_is_of_headers() && pmixhost_void_refused_pull(data, count, channels)))
        return status;
    guarded([](Upcalls &upcalls) -> pmix_status_t { // it gets what others are given, until the loop has heard of it
        if (!upcalls.handlers.shared<PullGate>()->keeps_refused.exchange(true))
            post(upcalls, KeptPullAsk{});
        return PMIX_SUCCESS;
    });
    return status;
}

pmix_status_t on_push(const pmix_proc_t *source, const pmix_proc_t targets[], std::size_t count,
                      const pmix_info_t directives[], std::size_t ndirs, const pmix_byte_object_t *bytes,
                      pmix_op_cbfunc_t callback, void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        PushAsk ask;
        if (count > PushAsk::max_targets)
            return PMIX_ERR_OUT_OF_RESOURCE;
        for (std::size_t i = 0; directives && i < ndirs; ++i) {
            if (PMIX_CHECK_KEY(&directives[i], PMIX_IOF_COMPLETE))
                ask.end = flag_of(directives[i].value);
            else if (PMIX_INFO_IS_REQUIRED(&directives[i]) && !is_for_the_tools_library(directives[i]))
                return PMIX_ERR_NOT_SUPPORTED;
        }
        ask.caller = process_of(*source);
        ask.targets = processes_of(targets, count);
        if (bytes && bytes->bytes)
            ask.bytes.assign(bytes->bytes, bytes->size);
        ask.end = ask.end || ask.bytes.empty(); // so tell libpmix' own tools that their input has ended
        ask.reply = status_reply(callback, data);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_iof_upcalls(pmix_server_module_t &module) {
    module.iof_pull = on_pull;
    module.push_stdin = on_push;
}
} // namespace upcall

} // namespace pmixhost
