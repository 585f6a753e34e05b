// Each upcall of the module, with arguments that no good program gives, as the versions of libpmix hand them on: it is
// answered exactly once, by its status or by its callback, and never in a way after which that version frees something
// twice (contrib/doc/decisions/libpmix.md, "How an upcall is answered").
//
// All versions have a process of their own each, since what runs is asked once (library/library_version.h).
#include "test/unit/upcall_fixture.h"

#include "server-glue/library/convert.h"
#include "server-glue/library/library_version.h"

#include <cstdlib>
#include <cstring>
#include <pmix.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

using namespace pmixhost;

// Stands in for libpmix, together with what the fixture has.
static const char *version = "";
extern "C" {
const char *PMIx_Get_version(void) {
    return version;
}
pmix_status_t PMIx_Data_pack(const pmix_proc_t *, pmix_data_buffer_t *buffer, void *, std::int32_t, pmix_data_type_t) {
    buffer->base_ptr = static_cast<char *>(std::calloc(1, 1));
    buffer->pack_ptr = buffer->base_ptr;
    buffer->bytes_allocated = buffer->bytes_used = 1;
    return PMIX_SUCCESS;
}
}

namespace {

pmix_server_module_t &module() {
    return *module_table();
}

// One request, as the library keeps it: an answer for each.
struct Request {
    pmix_status_t returned = PMIX_SUCCESS;
    int answers = 0;
    pmix_status_t status = PMIX_SUCCESS;
    const pmix_info_t *info = nullptr; // of the answer
    std::size_t count = 0;
    char room[4096] = {}; // for what is mended in the library's own object, which is larger
    pmix_status_t first() const { return answers ? status : returned; } // which there was
};
void note(void *data, pmix_status_t status) {
    auto *request = static_cast<Request *>(data);
    ++request->answers;
    request->status = status;
}
void on_status(pmix_status_t status, void *data) {
    note(data, status);
}
void on_data(pmix_status_t status, const char *, std::size_t, void *data, pmix_release_cbfunc_t release, void *object) {
    note(data, status);
    if (release)
        release(object);
}
void on_list(pmix_status_t status, pmix_info_t *, std::size_t, void *data, pmix_release_cbfunc_t release,
             void *object) {
    note(data, status);
    if (release)
        release(object);
}
void on_found(pmix_status_t status, pmix_pdata_t *, std::size_t, void *data) {
    note(data, status);
}
void on_spawned(pmix_status_t status, char *, void *data) {
    note(data, status);
}
void on_credential(pmix_status_t status, pmix_byte_object_t *, pmix_info_t *info, std::size_t count, void *data) {
    note(data, status);
    static_cast<Request *>(data)->info = info;
    static_cast<Request *>(data)->count = count;
}
void on_valid(pmix_status_t status, pmix_info_t *, std::size_t, void *data) {
    note(data, status);
}
void on_named(pmix_status_t status, pmix_proc_t *, void *data) {
    note(data, status);
}

pmix_proc_t process(const char *nspace = "job", pmix_rank_t rank = 0) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    return proc;
}

// --- whatever they are given --------------------------------------------------------------------

enum class Answered {
    by_either,   // another status than PMIX_SUCCESS is the answer
    by_callback, // the library frees twice what it gave to one that fails, or has no status
    by_status    // and after PMIX_SUCCESS it frees what the callback needs
};
struct Odd {
    pmix_proc_t *procs;
    std::size_t proc_count;
    pmix_info_t *infos;
    std::size_t info_count;
};
struct Upcall {
    const char *name;
    Answered answered;
    std::function<pmix_status_t(const Odd &, Request &)> call;
};

std::vector<Upcall> upcalls() {
    static pmix_proc_t caller = process();
    static char name[] = "friends", word[] = "word";
    static char *keys[] = {word, nullptr}, *no_keys[] = {nullptr};
    using enum Answered;
    return {
        {"client_connected2", by_either,
         [](const Odd &o, Request &r) {
             return module().client_connected2(&caller, nullptr, o.infos, o.info_count, on_status, &r);
         }},
        {"client_finalized", by_either,
         [](const Odd &, Request &r) { return module().client_finalized(&caller, nullptr, on_status, &r); }},
        {"abort", by_either,
         [](const Odd &o, Request &r) {
             return module().abort(&caller, nullptr, 1, nullptr, o.procs, o.proc_count, on_status, &r);
         }},
        {"fence_nb", by_either,
         [](const Odd &o, Request &r) {
             return module().fence_nb(o.procs, o.proc_count, o.infos, o.info_count, nullptr, 0, on_data, &r);
         }},
        {"direct_modex", by_either,
         [](const Odd &o, Request &r) {
             return module().direct_modex(o.procs ? o.procs : &caller, o.infos, o.info_count, on_data, &r);
         }},
        {"publish", by_either,
         [](const Odd &o, Request &r) { return module().publish(&caller, o.infos, o.info_count, on_status, &r); }},
        {"lookup", by_either,
         [](const Odd &o, Request &r) { return module().lookup(&caller, keys, o.infos, o.info_count, on_found, &r); }},
        {"lookup of nothing", by_either,
         [](const Odd &o, Request &r) {
             return module().lookup(&caller, no_keys, o.infos, o.info_count, on_found, &r);
         }},
        {"unpublish", by_either,
         [](const Odd &o, Request &r) {
             return module().unpublish(&caller, nullptr, o.infos, o.info_count, on_status, &r);
         }},
        {"spawn", by_callback,
         [](const Odd &o, Request &r) {
             static pmix_app_t app{};
             return module().spawn(&caller, o.infos, o.info_count, o.procs ? &app : nullptr, o.procs ? 1 : 0,
                                   on_spawned, &r);
         }},
        {"connect", by_either,
         [](const Odd &o, Request &r) {
             return module().connect(o.procs, o.proc_count, o.infos, o.info_count, on_status, &r);
         }},
        {"disconnect", by_either,
         [](const Odd &o, Request &r) {
             return module().disconnect(o.procs, o.proc_count, o.infos, o.info_count, on_status, &r);
         }},
        {"register_events", by_status,
         [](const Odd &o, Request &r) {
             return module().register_events(nullptr, 0, o.infos, o.info_count, on_status, &r);
         }},
        {"notify_event", by_status,
         [](const Odd &o, Request &r) {
             auto *source = o.procs ? o.procs : &caller;
             return module().notify_event(PMIX_ERR_PROC_ABORTED, source, PMIX_RANGE_CUSTOM, o.infos, o.info_count,
                                          on_status, &r);
         }},
        {"query", by_either,
         [](const Odd &o, Request &r) {
             pmix_query_t query{keys, o.infos, o.info_count};
             return module().query(&caller, &query, 1, on_list, &r);
         }},
        {"query without a key", by_either,
         [](const Odd &o, Request &r) {
             pmix_query_t query{no_keys, o.infos, o.info_count};
             return module().query(&caller, &query, 1, on_list, &r);
         }},
        {"tool_connected", by_callback,
         [](const Odd &o, Request &r) -> pmix_status_t {
             module().tool_connected(o.infos, o.info_count, on_named, &r);
             return PMIX_SUCCESS;
         }},
        {"log", by_callback,
         [](const Odd &o, Request &r) -> pmix_status_t {
             module().log(&caller, o.infos, o.info_count, o.infos, o.info_count, on_status, &r);
             return PMIX_SUCCESS;
         }},
        {"allocate", by_either,
         [](const Odd &o, Request &r) {
             return module().allocate(&caller, PMIX_ALLOC_NEW, o.infos, o.info_count, on_list, &r);
         }},
        {"job_control", by_either,
         [](const Odd &o, Request &r) {
             return module().job_control(&caller, o.procs, o.proc_count, o.infos, o.info_count, on_list, &r);
         }},
        {"get_credential", by_either,
         [](const Odd &o, Request &r) {
             return module().get_credential(&caller, o.infos, o.info_count, on_credential, &r);
         }},
        {"validate_credential", by_either,
         [](const Odd &o, Request &r) {
             pmix_byte_object_t credential{word, o.procs ? sizeof word : 0};
             return module().validate_credential(&caller, &credential, o.infos, o.info_count, on_valid, &r);
         }},
        {"iof_pull", by_status,
         [](const Odd &o, Request &r) {
             return module().iof_pull(o.procs, o.proc_count, o.infos, o.info_count, PMIX_FWD_ALL_CHANNELS, on_status,
                                      &r);
         }},
        {"push_stdin", by_either,
         [](const Odd &o, Request &r) {
             return module().push_stdin(&caller, o.procs, o.proc_count, o.infos, o.info_count, nullptr, on_status, &r);
         }},
        {"group", by_callback,
         [](const Odd &o, Request &r) {
             return module().group(PMIX_GROUP_CONSTRUCT, name, o.procs, o.proc_count, o.infos, o.info_count, on_list,
                                   &r);
         }},
        {"group without a name", by_callback,
         [](const Odd &o, Request &r) {
             return module().group(PMIX_GROUP_CONSTRUCT, nullptr, o.procs, o.proc_count, o.infos, o.info_count, on_list,
                                   &r);
         }},
        {"destruct a group", by_callback,
         [](const Odd &o, Request &r) {
             return module().group(PMIX_GROUP_DESTRUCT, name, o.procs, o.proc_count, o.infos, o.info_count, on_list,
                                   &r);
         }},
    };
}

// Values that do not go with most keys.
std::vector<pmix_value_t> odd_values() {
    static char nothing[] = "", word[] = "word", half_a_list[] = ",,";
    static pmix_data_array_t empty{PMIX_PROC, 0, nullptr}, infos{PMIX_INFO, 0, nullptr};
    static pmix_proc_t undefined = process("", PMIX_RANK_UNDEF);
    std::vector<pmix_value_t> values;
    auto add = [&](pmix_data_type_t type) -> pmix_value_t & {
        values.emplace_back();
        std::memset(&values.back(), 0, sizeof(pmix_value_t));
        values.back().type = type;
        return values.back();
    };
    for (pmix_data_type_t type : {PMIX_UNDEF, PMIX_STRING, PMIX_DATA_ARRAY, PMIX_PROC, PMIX_BYTE_OBJECT, PMIX_POINTER,
                                  PMIX_BOOL, PMIX_DATA_RANGE, PMIX_PERSIST, PMIX_STATUS})
        add(type);
    add(PMIX_STRING).data.string = nothing;
    add(PMIX_STRING).data.string = word;
    add(PMIX_STRING).data.string = half_a_list;
    add(PMIX_INT).data.integer = -1;
    add(PMIX_INT).data.integer = INT32_MAX;
    add(PMIX_INT8).data.int8 = -1;
    add(PMIX_UINT64).data.uint64 = UINT64_MAX;
    add(PMIX_SIZE).data.size = SIZE_MAX;
    add(PMIX_FLOAT).data.fval = -1;
    add(PMIX_DATA_ARRAY).data.darray = &empty;
    add(PMIX_DATA_ARRAY).data.darray = &infos;
    add(PMIX_PROC).data.proc = &undefined;
    add(PMIX_PROC_RANK).data.rank = PMIX_RANK_UNDEF;
    add(PMIX_DATA_RANGE).data.range = 255;
    add(PMIX_PERSIST).data.persist = 255;
    return values;
}

constexpr const char *known_keys[] = {"no such key",
                                      "pmix.no.such.key",
                                      PMIX_TIMEOUT,
                                      PMIX_RANGE,
                                      PMIX_PERSISTENCE,
                                      PMIX_EVENT_CUSTOM_RANGE,
                                      PMIX_WAIT,
                                      PMIX_USERID,
                                      PMIX_GRPID,
                                      PMIX_COLLECT_DATA,
                                      PMIX_LOCAL_COLLECTIVE_STATUS,
                                      PMIX_REQUIRED_KEY,
                                      PMIX_GET_REFRESH_CACHE,
                                      PMIX_GROUP_ASSIGN_CONTEXT_ID,
                                      PMIX_GROUP_ENDPT_DATA,
                                      PMIX_GROUP_ADD_MEMBERS,
                                      PMIX_GROUP_LOCAL_ONLY,
                                      PMIX_GROUP_INFO,
                                      PMIX_PROC_DATA,
                                      PMIX_ALLOC_NUM_NODES,
                                      PMIX_ALLOC_MEM_SIZE,
                                      PMIX_ALLOC_NODE_LIST,
                                      PMIX_ALLOC_ID,
                                      PMIX_JOB_CTRL_KILL,
                                      PMIX_JOB_CTRL_SIGNAL,
                                      PMIX_JOB_CTRL_CHECKPOINT,
                                      PMIX_JOB_CTRL_CHECKPOINT_SIGNAL,
                                      PMIX_CRED_TYPE,
                                      PMIX_IOF_CACHE_SIZE,
                                      PMIX_IOF_BUFFERING_TIME,
                                      PMIX_IOF_COMPLETE,
                                      PMIX_IOF_REDIRECT,
                                      "pmix.iof.stop",
                                      PMIX_LOG_STDERR,
                                      PMIX_LOG_SYSLOG,
                                      PMIX_LOG_EMAIL,
                                      PMIX_LOG_SYSLOG_PRI,
                                      PMIX_LOG_JOB_RECORD,
                                      PMIX_LOG_ONCE,
                                      PMIX_NSPACE,
                                      PMIX_RANK,
                                      PMIX_PROCID,
                                      PMIX_HOSTNAME,
                                      PMIX_SESSION_ID,
                                      PMIX_HOST_ATTRIBUTES};

void check_answer(const Upcall &upcall, const Request &request, const char *with) {
    bool by_status = upcall.answered != Answered::by_callback && request.returned != PMIX_SUCCESS;
    bool later = request.returned == PMIX_OPERATION_IN_PROGRESS; // notify_event
    bool kept = request.returned == PMIX_SUCCESS && upcall.answered == Answered::by_status;
    bool returns_error = request.returned != PMIX_SUCCESS && upcall.answered == Answered::by_callback;
    if (kept || returns_error || request.answers + (by_status && !later ? 1 : 0) != 1)
        fail_msg("%s with %s: returned %d, %d answers", upcall.name, with, request.returned, request.answers);
}

// The callbacks count, so that one that comes twice is seen; of what is freed too early the sanitizers tell.
void all_are_answered_once(void **) {
    UpcallFixture f;
    progress_thread.waits = true; // it is this thread, and between two upcalls nothing else happens there
    std::size_t taken = 0;
    f.take_all([&taken](auto &) { ++taken; });
    pmix_proc_t procs[] = {process("job", PMIX_RANK_UNDEF), process("", PMIX_RANK_LOCAL_PEERS), process("other", 3)};
    std::vector<pmix_info_t> infos;
    for (const char *key : known_keys) {
        for (const pmix_value_t &value : odd_values()) {
            for (bool required : {false, true}) {
                pmix_info_t &info = infos.emplace_back();
                PMIX_INFO_CONSTRUCT(&info);
                PMIX_LOAD_KEY(info.key, key);
                info.value = value;
                if (required)
                    PMIX_INFO_REQUIRED(&info);
            }
        }
    }
    for (const Upcall &upcall : upcalls()) {
        std::vector<Request> requests(2 * (infos.size() + 2));
        std::size_t next = 0;
        auto call = [&](const Odd &odd) {
            Request &request = requests[next++];
            request.returned = upcall.call(odd, request);
        };
        for (bool named : {false, true}) {
            auto odd = [&](pmix_info_t *first, std::size_t count) {
                return Odd{named ? procs : nullptr, named ? std::size(procs) : 0, first, count};
            };
            call(odd(nullptr, 0));
            call(odd(infos.data(), infos.size()));
            for (auto &info : infos)
                call(odd(&info, 1));
        }
        f.through();
        progress_thread.goes_on();
        for (std::size_t i = 0; i < next; ++i) {
            std::size_t place = i % (infos.size() + 2);
            check_answer(upcall, requests[i], place < 2 ? "none or all" : infos[place - 2].key);
        }
    }
    progress_thread.waits = false;
    assert_true(taken > 1000);
}

// --- what each says ---------------------------------------------------------------------------------

// A refusal by the upcall's status frees the caller's object twice, and the others of its host wait for ever.
void a_group_is_refused_by_the_callback(void **) {
    UpcallFixture f;
    std::vector<pmix_status_t> refused;
    f.take<GroupAsk>([&](GroupAsk &ask) { refused.push_back(ask.refused); });
    pmix_proc_t member = process();
    char empty[] = "", name[] = "friends";
    Request requests[3];
    auto ask = [&](Request &request, pmix_group_operation_t operation, char *group, std::size_t count) {
        request.returned = module().group(operation, group, &member, count, nullptr, 0, on_list, &request);
        assert_int_equal(request.returned, PMIX_SUCCESS);
    };
    ask(requests[0], PMIX_GROUP_CONSTRUCT, empty, 1);
    ask(requests[1], PMIX_GROUP_CONSTRUCT, nullptr, 1);
    ask(requests[2], PMIX_GROUP_CONSTRUCT, name, 0);
    f.through();
    // Of the first two other hosts hear, whose members wait.
    assert_int_equal(refused.size(), 2);
    assert_int_equal(refused[0], PMIX_ERR_BAD_PARAM);
    assert_int_equal(refused[1], PMIX_ERR_BAD_PARAM);
    assert_int_equal(requests[2].status, PMIX_ERR_NOT_SUPPORTED);
}

// The second of two calls for one answer, where the first one is refused at once.
void a_refused_destruction_is_answered_once(void **) {
    UpcallFixture f;
    pmix_info_t local;
    PMIX_INFO_LOAD(&local, PMIX_GROUP_LOCAL_ONLY, nullptr, PMIX_BOOL);
    char name[] = "friends";
    Request request;
    progress_thread.waits = true;
    int calls = library_destructs_local_groups_twice() ? 2 : 1;
    for (int i = 0; i < calls; ++i)
        assert_int_equal(module().group(PMIX_GROUP_DESTRUCT, name, nullptr, 0, &local, 1, on_list, &request),
                         PMIX_SUCCESS);
    f.through();
    progress_thread.goes_on();
    progress_thread.waits = false;
    assert_int_equal(request.answers, 1);
    assert_int_equal(request.status, PMIX_ERR_NOT_SUPPORTED);
}

void what_no_host_adds_is_refused(void **) {
    UpcallFixture f;
    std::vector<pmix_status_t> refused;
    f.take<GroupAsk>([&](GroupAsk &ask) { refused.push_back(ask.refused); });
    pmix_proc_t member = process();
    char name[] = "friends";
    std::size_t leaders = 2;
    pmix_info_t bootstrap;
    PMIX_INFO_LOAD(&bootstrap, "pmix.grp.boot", &leaders, PMIX_SIZE);
    Request request;
    module().group(PMIX_GROUP_CONSTRUCT, name, &member, 1, &bootstrap, 1, on_list, &request);
    f.through();
    bool known = library_gives_data_of_each_member();
    assert_int_equal(refused.at(0), known ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS);
}

// libpmix 6.1 reads what comes with a credential when its callback has returned.
void what_comes_with_a_credential_stays(void **) {
    UpcallFixture f;
    f.take<CredentialAsk>([](CredentialAsk &ask) { ask.reply(PMIX_SUCCESS, "secret"); });
    pmix_proc_t caller = process();
    Request request;
    assert_int_equal(module().get_credential(&caller, nullptr, 0, on_credential, &request), PMIX_SUCCESS);
    f.through();
    assert_int_equal(request.answers, 1);
    assert_int_equal(request.count, 1);
    assert_true(PMIX_CHECK_KEY(request.info, PMIX_CRED_TYPE));
    assert_int_equal(request.info->value.type, PMIX_STRING);
    assert_string_equal(request.info->value.data.string, "munge");
}

// Or tools would have them without being asked for their rights (UpcallHandlers::on).
void who_asks_for_a_credential_is_named(void **) {
    UpcallFixture f;
    std::vector<std::string> callers;
    f.take<CredentialAsk, ValidationAsk>(
        [&](auto &ask) { callers.push_back(fmt::format("{}:{}", ask.caller.nspace, ask.caller.rank)); });
    pmix_proc_t tool = process("tool", 3);
    char made[] = "made";
    pmix_byte_object_t credential{made, sizeof made};
    Request got, checked;
    assert_int_equal(module().get_credential(&tool, nullptr, 0, on_credential, &got), PMIX_SUCCESS);
    assert_int_equal(module().validate_credential(&tool, &credential, nullptr, 0, on_valid, &checked), PMIX_SUCCESS);
    f.through();
    assert_true((callers == std::vector<std::string>{"tool:3", "tool:3"}));
}

// It comes from this host: who is to hear of it has been told. Nor is it refused where events come too fast, after
// which 4.2 would be given what it has freed.
void an_event_of_ones_own_server_goes_no_further(void **) {
    UpcallFixture f;
    std::vector<Bytes> sources;
    f.take<NotifyAsk>([&](NotifyAsk &ask) { sources.push_back(ask.source.nspace); });
    auto gate = f.upcalls->handlers.shared<EventGate>();
    gate->server_nspace = "job.server";
    for (std::uint64_t most : {std::uint64_t{1} << 20, std::uint64_t{0}}) {
        gate->most = most;
        pmix_proc_t own = process("job.server", 2);
        Request request;
        pmix_status_t status = module().notify_event(PMIX_GROUP_MEMBERSHIP_UPDATE, &own, PMIX_RANGE_SESSION, nullptr, 0,
                                                     on_status, &request);
        assert_int_equal(status, PMIX_OPERATION_SUCCEEDED);
        f.through();
        assert_int_equal(request.answers, 0);
    }
    assert_true(sources.empty());
    gate->most = 1u << 20;
    pmix_proc_t other = process("job", 2);
    Request request;
    assert_int_equal(module().notify_event(PMIX_GROUP_MEMBERSHIP_UPDATE, &other, PMIX_RANGE_SESSION, nullptr, 0,
                                           on_status, &request),
                     PMIX_OPERATION_SUCCEEDED);
    f.through();
    assert_int_equal(sources.size(), 1);
}

// What is asked for comes to the loop as it was asked.
void a_pull_is_what_was_asked_for(void **) {
    UpcallFixture f;
    std::optional<PullAsk> got;
    f.take<PullAsk>([&](PullAsk &ask) { got = std::move(ask); });
    auto gate = f.upcalls->handlers.shared<PullGate>();
    gate->verdict = PMIX_SUCCESS;
    gate->nspace = "job";
    gate->ranks = 4;
    gate->note_child("child", PMIX_FWD_STDOUT_CHANNEL);
    Request request;
    auto pull = [&](const char *nspace, std::vector<pmix_info_t> infos, pmix_iof_channel_t channels) {
        pmix_proc_t all = process(nspace, PMIX_RANK_WILDCARD);
        got.reset();
        auto status = module().iof_pull(&all, 1, infos.data(), infos.size(), channels, on_status, &request);
        f.through();
        return status;
    };
    auto info = [](const char *key, auto value, pmix_data_type_t type, bool required = false) {
        pmix_info_t out;
        PMIX_INFO_LOAD(&out, key, &value, type);
        if (required)
            PMIX_INFO_REQUIRED(&out);
        return out;
    };
    assert_int_equal(pull("job",
                          {info(PMIX_IOF_DROP_OLDEST, true, PMIX_BOOL), info(PMIX_IOF_CACHE_SIZE, 4096u, PMIX_UINT32),
                           info(PMIX_IOF_COPY, true, PMIX_BOOL, true)},
                          PMIX_FWD_STDERR_CHANNEL),
                     PMIX_OPERATION_SUCCEEDED);
    assert_true(got && got->drop_oldest == true && got->cache == 4096u && !got->must_have_cache && !got->take_over);
    assert_int_equal(got->channels, PMIX_FWD_STDERR_CHANNEL);
    assert_int_equal(
        pull("job",
             {info(PMIX_IOF_DROP_NEWEST, true, PMIX_BOOL), info(PMIX_IOF_REDIRECT, true, PMIX_BOOL, true),
              info(PMIX_IOF_BUFFERING_SIZE, 512u, PMIX_UINT32, true), info(PMIX_IOF_BUFFERING_TIME, 3u, PMIX_UINT32)},
             PMIX_FWD_STDOUT_CHANNEL),
        PMIX_OPERATION_SUCCEEDED);
    assert_true(got && got->drop_oldest == false && got->take_over && got->must_take_over && got->held == 512u);
    assert_true(got->held_for == std::chrono::seconds(3));
    // At the lowest host of a job whose output is forwarded it comes as the spawn has said.
    gate->comes_as_spawned = true;
    assert_int_equal(pull("job", {info(PMIX_IOF_BUFFERING_SIZE, 512u, PMIX_UINT32)}, PMIX_FWD_STDOUT_CHANNEL),
                     PMIX_OPERATION_SUCCEEDED);
    for (const char *key : {PMIX_IOF_BUFFERING_SIZE, PMIX_IOF_CACHE_SIZE})
        assert_int_equal(pull("job", {info(key, 512u, PMIX_UINT32, true)}, PMIX_FWD_STDOUT_CHANNEL),
                         PMIX_ERR_NOT_SUPPORTED);
    // Of a spawned job what is forwarded, as PMIx_Spawn has said.
    assert_int_equal(pull("child", {}, PMIX_FWD_STDOUT_CHANNEL), PMIX_OPERATION_SUCCEEDED);
    assert_true(got && got->of_child);
    assert_int_equal(pull("child", {}, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL), PMIX_OPERATION_SUCCEEDED);
    assert_int_equal(pull("child", {}, PMIX_FWD_STDERR_CHANNEL), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(pull("child", {info(PMIX_IOF_BUFFERING_SIZE, 512u, PMIX_UINT32, true)}, PMIX_FWD_STDOUT_CHANNEL),
                     PMIX_ERR_NOT_SUPPORTED);
    assert_false(got.has_value());
}

// The library has forgotten the pull when it asks, whatever else the tool says. And only the library ends one.
void a_pull_ends_whatever_is_said_with_it(void **) {
    UpcallFixture f;
    int ends = 0, pulls = 0;
    f.take<PullEndAsk>([&](PullEndAsk &) { ++ends; });
    f.take<PullAsk>([&](PullAsk &) { ++pulls; });
    auto gate = f.upcalls->handlers.shared<PullGate>();
    gate->verdict = PMIX_SUCCESS;
    gate->nspace = "job";
    gate->ranks = 4;
    pmix_info_t infos[2];
    PMIX_INFO_LOAD(&infos[0], "no such key", nullptr, PMIX_BOOL);
    PMIX_INFO_REQUIRED(&infos[0]);
    PMIX_INFO_LOAD(&infos[1], "pmix.iof.stop", nullptr, PMIX_BOOL);
    Request request;
    assert_int_equal(module().iof_pull(nullptr, 0, infos, 2, PMIX_FWD_NO_CHANNELS, on_status, &request),
                     PMIX_OPERATION_SUCCEEDED);
    f.through();
    assert_int_equal(ends, 1);
    pmix_proc_t all = process("job", PMIX_RANK_WILDCARD);
    assert_int_equal(module().iof_pull(&all, 1, &infos[1], 1, PMIX_FWD_STDOUT_CHANNEL, on_status, &request),
                     PMIX_OPERATION_SUCCEEDED);
    assert_int_equal(module().iof_pull(nullptr, 0, &infos[1], 1, PMIX_FWD_STDOUT_CHANNEL, on_status, &request),
                     PMIX_ERR_BAD_PARAM);
    assert_int_equal(module().iof_pull(&all, 1, &infos[1], 1, PMIX_FWD_STDDIAG_CHANNEL, on_status, &request),
                     PMIX_ERR_NOT_SUPPORTED); // no process has one
    f.through();
    assert_int_equal(ends, 1);
    assert_int_equal(pulls, 1);
    assert_int_equal(request.answers, 0);
}

// Whoever asked is given what others pull; so the loop hears of it without waiting for its next look, and once.
void a_refused_pull_that_stays_is_told_of(void **) {
    UpcallFixture f;
    int told = 0;
    f.take<KeptPullAsk>([&](KeptPullAsk &) { ++told; });
    auto gate = f.upcalls->handlers.shared<PullGate>();
    gate->verdict = PMIX_ERR_NO_PERMISSIONS;
    gate->nspace = "job";
    gate->ranks = 4;
    pmix_proc_t all = process("job", PMIX_RANK_WILDCARD);
    Request request; // there is none in the library's table that could be made void
    auto pull = [&] {
        assert_int_equal(module().iof_pull(&all, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, on_status, &request),
                         PMIX_ERR_NO_PERMISSIONS);
        f.through();
    };
    const int once = library_keeps_refused_pulls() ? 1 : 0;
    pull();
    assert_true(told == once && gate->keeps_refused == library_keeps_refused_pulls());
    pull();
    assert_int_equal(told, once);
    gate->keeps_refused = false; // as the loop says
    pull();
    assert_int_equal(told, 2 * once);
}

// What libpmix has done by itself is not refused because it is required, and what nobody does is.
void what_is_required_of_a_get(void **) {
    UpcallFixture f;
    std::vector<bool> anew;
    f.take<ModexAsk>([&](ModexAsk &ask) { anew.push_back(ask.anew); });
    pmix_proc_t target = process("job", 1);
    auto ask = [&](const char *key, bool value) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, key, &value, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&info);
        auto request = std::make_unique<Request>();
        request->returned = module().direct_modex(&target, &info, 1, on_data, request.get());
        f.through();
        assert_int_equal(request->answers, request->returned == PMIX_SUCCESS ? 1 : 0);
        return request->returned;
    };
    assert_int_equal(ask(PMIX_GET_REFRESH_CACHE, true), PMIX_SUCCESS);
    assert_true(anew.back());
    assert_int_equal(ask(PMIX_IMMEDIATE, false), PMIX_SUCCESS);
    assert_false(anew.back());
    for (const char *key : {PMIX_OPTIONAL, PMIX_DATA_SCOPE, PMIX_GET_STATIC_VALUES, PMIX_NODE_INFO, PMIX_NODEID})
        assert_int_equal(ask(key, true), PMIX_SUCCESS);
    std::size_t before = anew.size();
    assert_int_equal(ask("no such key", true), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(anew.size(), before);
}

void whose_is_asked_in_a_query(void **) {
    UpcallFixture f;
    std::vector<QueryAsk::Query> queries;
    f.take<QueryAsk>([&](QueryAsk &ask) { queries.push_back(ask.queries.at(0)); });
    pmix_proc_t caller = process();
    char key[] = PMIX_QUERY_PROC_TABLE;
    char *keys[] = {key, nullptr};
    auto ask = [&](pmix_info_t info) {
        pmix_query_t query{keys, &info, 1};
        Request request;
        assert_int_equal(module().query(&caller, &query, 1, on_list, &request), PMIX_SUCCESS);
        f.through();
        return queries.back();
    };
    pmix_info_t info;
    // PMIx_Resolve_peers of all namespaces, in both ways of saying so.
    PMIX_INFO_LOAD(&info, PMIX_NSPACE, "", PMIX_STRING);
    auto empty = ask(info);
    PMIX_INFO_DESTRUCT(&info);
    assert_true(empty.malformed.empty() && empty.nspace.empty());
    PMIX_INFO_LOAD(&info, PMIX_NSPACE, nullptr, PMIX_STRING);
    auto none = ask(info);
    assert_true(none.malformed.empty() && none.nspace.empty());
    // An undefined rank says nothing of any process.
    pmix_proc_t of_job = process("other", PMIX_RANK_UNDEF), one = process("other", 3);
    PMIX_INFO_LOAD(&info, PMIX_PROCID, &of_job, PMIX_PROC);
    auto job = ask(info);
    PMIX_INFO_DESTRUCT(&info);
    assert_true(job.nspace == "other" && job.processes.empty());
    PMIX_INFO_LOAD(&info, PMIX_PROCID, &one, PMIX_PROC);
    auto process_of_it = ask(info);
    PMIX_INFO_DESTRUCT(&info);
    assert_true(process_of_it.nspace == "other" && process_of_it.processes.size() == 1);
}

// Such a rank is nobody's, also in a namespace of which this host does not know how large it is.
void ranks_with_a_meaning_are_no_processes(void **) {
    auto unknown = [](const Bytes &) { return size_unknown; };
    for (pmix_rank_t rank : {PMIX_RANK_UNDEF, PMIX_RANK_LOCAL_NODE, PMIX_RANK_INVALID, PMIX_RANK_LOCAL_PEERS})
        assert_false(canonical(CollectiveKind::connect, {process_of(process("other", rank))}, unknown).ok());
    assert_true(canonical(CollectiveKind::connect, {process_of(process("other", PMIX_RANK_VALID))}, unknown).ok());
    assert_true(canonical(CollectiveKind::connect, {process_of(process("other", PMIX_RANK_WILDCARD))}, unknown).ok());
    assert_int_equal(highest_rank, PMIX_RANK_VALID);
}

// Before 6.1 the library has written it when it asks.
void who_writes_to_syslog(void **) {
    UpcallFixture f;
    std::vector<std::pair<LogAsk::Entry, int>> entries;
    std::vector<pmix_status_t> refused;
    f.take<LogAsk>([&](LogAsk &ask) {
        entries.emplace_back(ask.entries.at(0), ask.priority);
        refused.push_back(ask.refused);
    });
    pmix_proc_t caller = process();
    bool ours = library_leaves_syslog_to_its_host();
    pmix_info_t line, directives[2];
    PMIX_INFO_LOAD(&line, PMIX_LOG_SYSLOG, "a word", PMIX_STRING);
    int priority = LOG_INFO;
    bool once = true;
    PMIX_INFO_LOAD(&directives[0], PMIX_LOG_SYSLOG_PRI, &priority, PMIX_INT);
    PMIX_INFO_REQUIRED(&directives[0]);
    PMIX_INFO_LOAD(&directives[1], PMIX_LOG_ONCE, &once, PMIX_BOOL);
    Request requests[3];
    module().log(&caller, &line, 1, nullptr, 0, on_status, &requests[0]);
    module().log(&caller, &line, 1, directives, 2, on_status, &requests[1]);
    pmix_info_t number;
    PMIX_INFO_LOAD(&number, PMIX_LOG_LOCAL_SYSLOG, &priority, PMIX_INT);
    module().log(&caller, &number, 1, nullptr, 0, on_status, &requests[2]);
    f.through();
    PMIX_INFO_DESTRUCT(&line);
    for (pmix_status_t status : refused)
        assert_int_equal(status, PMIX_SUCCESS);
    assert_int_equal(entries.size(), 3);
    assert_int_equal(entries[0].first.syslog, ours);
    assert_int_equal(entries[1].first.syslog, ours);
    assert_int_equal(entries[0].first.fd, -1);
    assert_int_equal(entries[0].second, LOG_ERR);
    assert_string_equal(entries[0].first.text.c_str(), ours ? "a word" : "");
    assert_int_equal(entries[1].second, LOG_INFO);
    if (ours)
        return assert_int_equal(entries[2].first.status, PMIX_ERR_BAD_PARAM);
    assert_int_equal(entries[0].first.status, PMIX_SUCCESS);
    assert_int_equal(entries[1].first.status, PMIX_ERR_NOT_SUPPORTED); // it asks its host first
}

void a_number_may_be_of_any_type(void **) {
    auto number = [](pmix_data_type_t type, auto set) {
        pmix_value_t value;
        std::memset(&value, 0, sizeof value);
        value.type = type;
        set(value.data);
        return number_of(value).value_or(-1);
    };
    assert_int_equal(number(PMIX_INT8, [](auto &data) { data.int8 = 7; }), 7);
    assert_int_equal(number(PMIX_UINT8, [](auto &data) { data.uint8 = 200; }), 200);
    assert_int_equal(number(PMIX_BYTE, [](auto &data) { data.byte = 200; }), 200);
    assert_int_equal(number(PMIX_INT16, [](auto &data) { data.int16 = 700; }), 700);
    assert_int_equal(number(PMIX_UINT16, [](auto &data) { data.uint16 = 60000; }), 60000);
    assert_int_equal(number(PMIX_STRING, [](auto &) {}), -1);
}

// --- in each version --------------------------------------------------------------------------------

void all_of(const char *runs) {
    pid_t child = fork(); // no thread has been started yet
    if (child == 0) {
        version = runs;
        dup2(STDERR_FILENO, STDOUT_FILENO); // which is for the report on the versions
        const CMUnitTest tests[] = {
            cmocka_unit_test(all_are_answered_once),
            cmocka_unit_test(a_group_is_refused_by_the_callback),
            cmocka_unit_test(a_refused_destruction_is_answered_once),
            cmocka_unit_test(what_no_host_adds_is_refused),
            cmocka_unit_test(what_comes_with_a_credential_stays),
            cmocka_unit_test(who_asks_for_a_credential_is_named),
            cmocka_unit_test(an_event_of_ones_own_server_goes_no_further),
            cmocka_unit_test(a_pull_is_what_was_asked_for),
            cmocka_unit_test(a_pull_ends_whatever_is_said_with_it),
            cmocka_unit_test(a_refused_pull_that_stays_is_told_of),
            cmocka_unit_test(what_is_required_of_a_get),
            cmocka_unit_test(whose_is_asked_in_a_query),
            cmocka_unit_test(ranks_with_a_meaning_are_no_processes),
            cmocka_unit_test(who_writes_to_syslog),
            cmocka_unit_test(a_number_may_be_of_any_type),
        };
        std::exit(cmocka_run_group_tests_name(runs, tests, nullptr, nullptr) == 0 ? 0 : 1);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void answers_for_4_2_2(void **) {
    all_of("OpenPMIx 4.2.2, repo rev: v4.2.2");
}
void answers_for_5_0_7(void **) {
    all_of("OpenPMIx 5.0.7, repo rev: v5.0.7");
}
void answers_for_5_0_10(void **) {
    all_of("OpenPMIx 5.0.10, repo rev: v5.0.10");
}
void answers_for_6_1_0(void **) {
    all_of("OpenPMIx 6.1.0, repo rev: v6.1.0");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(answers_for_4_2_2),
        cmocka_unit_test(answers_for_5_0_7),
        cmocka_unit_test(answers_for_5_0_10),
        cmocka_unit_test(answers_for_6_1_0),
    };
    return cmocka_run_group_tests_name("upcall_answers", tests, nullptr, nullptr);
}
