// Upcalls that run out of memory, at every single point where they take some: each request is answered
// exactly once, by the status of the upcall or by its callback, never by both and never by neither. And
// answers are given to libpmix in the library thread, never in the loop's.
//
// libpmix itself is not started; what the upcalls need of it stands here.
#include "test/unit/upcall_fixture.h"

#include "server-glue/events/monitors.h"
#include "server-glue/library/library_version.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <pmix.h>
#include <thread>

#include "test/unit/counted_memory.h"

using namespace pmixhost;
using namespace std::chrono_literals;

// Stands in for libpmix, as the fixture does: it is noted how a handler is registered.
static bool with_callback = false;
extern "C" {
pmix_status_t PMIx_Register_event_handler(pmix_status_t *, std::size_t, pmix_info_t *, std::size_t,
                                          pmix_notification_fn_t, pmix_hdlr_reg_cbfunc_t callback, void *data) {
    with_callback = callback != nullptr;
    if (callback)
        callback(PMIX_SUCCESS, 1, data);
    return PMIX_SUCCESS;
}
}

namespace {

// Drops whatever comes, which answers it.
struct Taker {
    template <typename... Asks> void take(UpcallHandlers &handlers) {
        (take_one<Asks>(handlers, [this](Asks) { ++seen; }), ...);
    }
    void take_all(UpcallHandlers &handlers) {
        take<ClientConnectedAsk, ClientFinalizedAsk, AbortAsk, ConnectAsk, GroupAsk, ModexAsk, PublishAsk, LookupAsk,
             UnpublishAsk, SpawnAsk, JobControlAsk, LogAsk, CredentialAsk, ValidationAsk, QueryAsk, AllocationAsk,
             NotifyAsk>(handlers);
        handlers.on_unjudged<FenceAsk>([this](FenceAsk ask) {
            ++seen;
            refused = ask.refused;
        });
    }
    int seen = 0;
    pmix_status_t refused = PMIX_SUCCESS;
};

struct World : UpcallFixture {
    Taker handler;
    int answers = 0; // what follows: the library thread's, until all_is_handled()
    bool in_the_loop = false;
    pmix_status_t status = PMIX_SUCCESS; // of the last answer that tells

    enum class Takes { all, nothing };
    explicit World(Takes takes = Takes::all) {
        if (takes == Takes::all)
            handler.take_all(upcalls->handlers);
    }
    void all_is_handled() {
        loop->stop();
        assert_true(loop->run().ok());
        OneTimeGate through;
        thread->run("end", [&] { through.open(); });
        through.wait();
    }
    void answered() {
        ++answers;
        in_the_loop = in_the_loop || std::this_thread::get_id() == main_thread;
    }
    std::thread::id main_thread = std::this_thread::get_id();
};

void on_status(pmix_status_t status, void *data) {
    static_cast<World *>(data)->status = status;
    static_cast<World *>(data)->answered();
}
void on_data(pmix_status_t, const char *, std::size_t, void *data, pmix_release_cbfunc_t release, void *object) {
    static_cast<World *>(data)->answered();
    if (release)
        release(object);
}
void on_list(pmix_status_t status, pmix_info_t *, std::size_t, void *data, pmix_release_cbfunc_t release,
             void *object) {
    static_cast<World *>(data)->status = status;
    static_cast<World *>(data)->answered();
    if (release)
        release(object);
}
void on_found(pmix_status_t, pmix_pdata_t *, std::size_t, void *data) {
    static_cast<World *>(data)->answered();
}
void on_spawned(pmix_status_t, char *, void *data) {
    static_cast<World *>(data)->answered();
}
void on_credential(pmix_status_t, pmix_byte_object_t *, pmix_info_t *, std::size_t, void *data) {
    static_cast<World *>(data)->answered();
}
void on_valid(pmix_status_t, pmix_info_t *, std::size_t, void *data) {
    static_cast<World *>(data)->answered();
}

constexpr const char *long_name = "a-namespace-that-is-longer-than-what-a-string-has-room-for";

pmix_proc_t process() {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, long_name, 0);
    return proc;
}

// What libpmix gives is made before memory runs out.
using Call = std::function<pmix_status_t(World &)>;
enum class Status {
    answers,      // another one than PMIX_SUCCESS is the answer
    means_nothing // always answered by the callback
};

void runs_out_of_memory(const char *what, Status status_means, const Call &call) {
    for (long n = 0;; ++n) {
        World world;
        failed = false;
        fails_at = n;
        pmix_status_t status = call(world);
        fails_at = -1;
        bool was = failed;
        world.all_is_handled();
        bool by_status = status_means == Status::answers && status != PMIX_SUCCESS;
        if (world.answers + (by_status ? 1 : 0) != 1)
            fail_msg("%s, allocation %ld: status %d and %d answers", what, n, status, world.answers);
        assert_false(world.in_the_loop);
        if (by_status)
            assert_true(was && world.handler.seen == 0);
        if (!was) {
            assert_int_equal(world.handler.seen, 1);
            assert_true(n > 2); // or it has not been tried
            return;
        }
    }
}

pmix_server_module_t &module() {
    return *module_table();
}

void requests_are_answered_once(void **) {
    pmix_proc_t proc = process();
    std::vector<pmix_proc_t> procs(3, proc);
    std::string text(100, 'x');
    std::vector<char *> keys{text.data(), nullptr};
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, PMIX_JOB_CTRL_SIGNAL);
    info.value.type = PMIX_INT;
    info.value.data.integer = 10;
    pmix_query_t query{keys.data(), nullptr, 0};
    pmix_app_t app{};
    app.cmd = text.data();
    pmix_byte_object_t credential{text.data(), text.size()};
    (void)module(); // is made at the first call

    auto ask = [](const char *what, const Call &call) { runs_out_of_memory(what, Status::answers, call); };
    ask("client_connected2",
        [&](World &w) { return module().client_connected2(&proc, nullptr, nullptr, 0, on_status, &w); });
    ask("client_finalized", [&](World &w) { return module().client_finalized(&proc, nullptr, on_status, &w); });
    ask("abort", [&](World &w) {
        return module().abort(&proc, nullptr, 1, text.c_str(), procs.data(), procs.size(), on_status, &w);
    });
    ask("fence", [&](World &w) {
        auto *blob = static_cast<char *>(std::calloc(1, 100));
        return module().fence_nb(procs.data(), procs.size(), nullptr, 0, blob, 100, on_data, &w);
    });
    ask("direct_modex", [&](World &w) { return module().direct_modex(&proc, nullptr, 0, on_data, &w); });
    ask("connect", [&](World &w) { return module().connect(procs.data(), procs.size(), nullptr, 0, on_status, &w); });
    ask("lookup", [&](World &w) { return module().lookup(&proc, keys.data(), nullptr, 0, on_found, &w); });
    ask("unpublish", [&](World &w) { return module().unpublish(&proc, keys.data(), nullptr, 0, on_status, &w); });
    ask("query", [&](World &w) { return module().query(&proc, &query, 1, on_list, &w); });
    ask("allocate", [&](World &w) { return module().allocate(&proc, PMIX_ALLOC_NEW, &info, 1, on_list, &w); });
    ask("job_control",
        [&](World &w) { return module().job_control(&proc, procs.data(), procs.size(), &info, 1, on_list, &w); });
    ask("get_credential", [&](World &w) { return module().get_credential(&proc, nullptr, 0, on_credential, &w); });
    ask("validate_credential",
        [&](World &w) { return module().validate_credential(&proc, &credential, nullptr, 0, on_valid, &w); });
    // libpmix frees twice what it gave to a spawn whose upcall fails.
    runs_out_of_memory("spawn", Status::means_nothing, [&](World &w) {
        pmix_status_t status = module().spawn(&proc, nullptr, 0, &app, 1, on_spawned, &w);
        assert_int_equal(status, PMIX_SUCCESS);
        return status;
    });
    // So it does with a group's.
    runs_out_of_memory("group", Status::means_nothing, [&](World &w) {
        pmix_status_t status =
            module().group(PMIX_GROUP_CONSTRUCT, text.data(), procs.data(), procs.size(), nullptr, 0, on_list, &w);
        assert_int_equal(status, PMIX_SUCCESS);
        return status;
    });
    PMIX_LOAD_KEY(info.key, PMIX_LOG_STDERR);
    info.value.type = PMIX_STRING;
    info.value.data.string = text.data();
    // It returns nothing.
    runs_out_of_memory("log", Status::means_nothing, [&](World &w) {
        module().log(&proc, &info, 1, nullptr, 0, on_status, &w);
        return PMIX_SUCCESS;
    });
}

// As a capability that is not there yet: whatever its answer consists of.
void what_nobody_takes_is_refused_once(void **) {
    pmix_proc_t proc = process();
    std::string text(100, 'x');
    std::vector<char *> keys{text.data(), nullptr};
    pmix_query_t query{keys.data(), nullptr, 0};
    const std::pair<const char *, Call> calls[] = {
        {"abort", [&](World &w) { return module().abort(&proc, nullptr, 1, "", nullptr, 0, on_status, &w); }},
        {"group",
         [&](World &w) {
             return module().group(PMIX_GROUP_CONSTRUCT, text.data(), &proc, 1, nullptr, 0, on_list, &w);
         }},
        {"query", [&](World &w) { return module().query(&proc, &query, 1, on_list, &w); }},
        {"event", [&](World &w) {
             // Answered by the upcall itself.
             w.status = PMIX_ERR_NOT_SUPPORTED;
             w.answers = 1;
             pmix_status_t status = module().notify_event(PMIX_EVENT_PROC_TERMINATED, &proc, PMIX_RANGE_NAMESPACE,
                                                          nullptr, 0, on_status, &w);
             return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
         }}};
    for (const auto &[what, call] : calls) {
        World world(World::Takes::nothing);
        assert_int_equal(call(world), PMIX_SUCCESS);
        world.all_is_handled();
        if (world.answers != 1 || world.status != PMIX_ERR_NOT_SUPPORTED)
            fail_msg("%s: %d answers, status %d", what, world.answers, world.status);
    }
}

// Large memory is mapped, and counted.
void the_data_of_a_fence_is_freed(void **) {
    constexpr std::size_t size = 8u << 20;
    pmix_proc_t proc = process();
    (void)module();
    for (long n = -1; n < 3; ++n) {
        World world;
        auto before = mallinfo2().hblkhd;
        auto *blob = static_cast<char *>(std::malloc(size));
        std::memset(blob, 1, size);
        fails_at = n;
        module().fence_nb(&proc, 1, nullptr, 0, blob, size, on_data, &world);
        fails_at = -1;
        world.all_is_handled();
        assert_int_equal(mallinfo2().hblkhd, before);
    }
}

// They are looked for one by one while others wait.
void keys_are_so_many_and_so_long(void **) {
    pmix_proc_t proc = process();
    std::string longest(PMIX_MAX_KEYLEN, 'k'), longer = longest + "k";
    std::vector<char *> many(most_keys, longest.data());
    many.push_back(nullptr);
    auto status_of = [&](std::vector<char *> &keys) {
        World world;
        pmix_status_t looked_up = module().lookup(&proc, keys.data(), nullptr, 0, on_found, &world);
        assert_int_equal(module().unpublish(&proc, keys.data(), nullptr, 0, on_status, &world), looked_up);
        world.all_is_handled();
        assert_int_equal(world.handler.seen, looked_up == PMIX_SUCCESS ? 2 : 0);
        return looked_up;
    };
    assert_int_equal(status_of(many), PMIX_SUCCESS);
    many.insert(many.begin(), longest.data());
    assert_int_equal(status_of(many), PMIX_ERR_OUT_OF_RESOURCE);
    std::vector<char *> too_long{longer.data(), nullptr};
    assert_int_equal(status_of(too_long), PMIX_ERR_BAD_PARAM);
}

// The other hosts wait for this one: they must hear that it cannot.
void a_fence_whose_data_finds_no_memory_is_refused(void **) {
    pmix_proc_t proc = process();
    (void)module();
    bool refused = false;
    for (long n = 0; n < 20 && !refused; ++n) {
        World world;
        auto *blob = static_cast<char *>(std::calloc(1, 1000));
        fails_at = n;
        pmix_status_t status = module().fence_nb(&proc, 1, nullptr, 0, blob, 1000, on_data, &world);
        fails_at = -1;
        world.all_is_handled();
        refused = status == PMIX_SUCCESS && world.handler.refused == PMIX_ERR_OUT_OF_RESOURCE;
    }
    assert_true(refused);
}

// What it ends is gone in the library before the host is asked: no pull stays there that was refused.
void the_end_of_a_pull_that_finds_no_memory_leaves_no_pull(void **) {
    (void)module();
    pmix_info_t stop;
    PMIX_INFO_LOAD(&stop, "pmix.iof.stop", nullptr, PMIX_BOOL);
    long n = 0;
    do {
        World world;
        alignas(std::max_align_t) char request[4096] = {}; // the library's object, which is mended
        auto gate = world.upcalls->handlers.shared<PullGate>();
        failed = false;
        fails_at = n++;
        pmix_status_t status = module().iof_pull(nullptr, 0, &stop, 1, PMIX_FWD_NO_CHANNELS, on_status, request);
        fails_at = -1;
        world.all_is_handled();
        assert_int_equal(status, failed ? PMIX_ERR_NOMEM : PMIX_OPERATION_SUCCEEDED);
        assert_false(gate->keeps_refused);
    } while (failed);
    assert_true(n > 1);
}

void on_named(pmix_status_t, pmix_proc_t *, void *data) {
    static_cast<World *>(data)->answered();
}

// What libpmix adds to what a tool has sent, with that many places left over at the end.
std::optional<Process> name_in(std::vector<std::pair<const char *, const char *>> sent, bool stated,
                               std::size_t left_over) {
    for (auto key : {PMIX_VERSION_INFO, PMIX_USERID, PMIX_GRPID})
        sent.emplace_back(key, "");
    if (stated)
        sent.insert(sent.end(), {{PMIX_NSPACE, "stated"}, {PMIX_RANK, nullptr}});
    std::vector<pmix_info_t> infos(sent.size() + left_over);
    for (std::size_t i = 0; i < sent.size(); ++i) {
        PMIX_LOAD_KEY(infos[i].key, sent[i].first);
        infos[i].value.type = sent[i].second ? PMIX_STRING : PMIX_PROC_RANK;
        if (sent[i].second)
            infos[i].value.data.string = const_cast<char *>(sent[i].second);
        else
            infos[i].value.data.rank = 3;
    }
    World world;
    std::optional<Process> name;
    world.upcalls->handlers.on_unjudged<ToolConnectedAsk>([&](ToolConnectedAsk ask) { name = ask.name; });
    module().tool_connected(infos.data(), infos.size(), on_named, &world);
    world.all_is_handled();
    assert_int_equal(world.answers, 1);
    return name;
}

void a_tool_has_the_name_that_it_has_stated(void **) {
    if (library_mixes_names_of_tools())
        skip();
    auto is_stated = [](const std::optional<Process> &name) {
        return name && name->nspace == "stated" && name->rank == 3;
    };
    assert_true(is_stated(name_in({}, true, 0)));
    assert_false(name_in({}, false, 0).has_value());
    // Which of them the library has made cannot be moved by what the tool says that it sends.
    for (std::size_t left_over : {0, 1, 3}) {
        assert_true(is_stated(name_in({{PMIX_NSPACE, "sent"}, {PMIX_RANK, nullptr}}, true, left_over)));
        auto sent = name_in({{PMIX_GRPID, ""}, {PMIX_NSPACE, "sent"}, {PMIX_RANK, nullptr}}, false, left_over);
        assert_false(sent.has_value());
    }
}

void monitors_are_listened_to_without_waiting(void **) {
    pmix_status_t told = PMIX_ERROR;
    listen_to_monitors([&](pmix_status_t status) { told = status; });
    assert_true(with_callback);
    assert_int_equal(told, PMIX_SUCCESS);
}

void an_answer_is_given_once(void **) {
    int answers = 0;
    {
        OneShot<int> once([&](int) { ++answers; }, 1);
        once(2);
        once(3);
        OneShot<int> forgotten([&](int) { ++answers; }, 1);
        OneShot<int> disarmed([&](int) { ++answers; }, 1);
        disarmed.disarm();
        assert_false(disarmed.pending());
    }
    assert_int_equal(answers, 2);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_given_once),
        cmocka_unit_test(a_tool_has_the_name_that_it_has_stated),
        cmocka_unit_test(requests_are_answered_once),
        cmocka_unit_test(what_nobody_takes_is_refused_once),
        cmocka_unit_test(the_data_of_a_fence_is_freed),
        cmocka_unit_test(a_fence_whose_data_finds_no_memory_is_refused),
        cmocka_unit_test(keys_are_so_many_and_so_long),
        cmocka_unit_test(monitors_are_listened_to_without_waiting),
        cmocka_unit_test(the_end_of_a_pull_that_finds_no_memory_leaves_no_pull),
    };
    return cmocka_run_group_tests_name("upcalls", tests, nullptr, nullptr);
}
