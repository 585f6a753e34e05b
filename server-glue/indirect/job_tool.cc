// See job_tool.h.
#include "server-glue/indirect/job_tool.h"

#include "server-glue/indirect/packing.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/default_output.h"
#include "server-glue/library/info_list.h"
#include "server-glue/library/library_version.h"

#include <pmix_tool.h>

#include <atomic>

namespace pmixhost::indirect {

// What libpmix' handlers of events, which have no argument of ours, call.
static std::atomic<JobTool *> the_tool = nullptr;

// The way from libpmix' thread to the loop.
struct ToolCalled {
    template <typename Body> static void post(Body body) noexcept {
        JobTool *tool = the_tool;
        try {
            if (tool)
                tool->loop_.post([tool, body = std::move(body)] { body(*tool); });
        } catch (...) {
            // without memory an event is lost
        }
    }
    static JobTool::Events &events(JobTool &tool) { return tool.events_; }
    static void answer(std::uint64_t id, pmix_status_t status, Bytes nspace = {}, Packed info = {}) {
        post([answer = Answer{id, status, std::move(nspace), std::move(info)}](JobTool &tool) {
            tool.events_.on_answer(answer);
        });
    }
};

namespace {

// libpmix reads what it was asked until it answers.
struct Asked {
    std::uint64_t id;
    std::shared_ptr<void> first = {}, second = {};
    Bytes text = {}; // what is pushed, which 6.1 packs later
    pmix_byte_object_t object = {};
};

void spawned(pmix_status_t status, pmix_nspace_t nspace, void *data) {
    std::unique_ptr<Asked> asked(static_cast<Asked *>(data));
    ToolCalled::answer(asked->id, status, status == PMIX_SUCCESS && nspace ? Bytes(nspace) : Bytes());
}

void listed(pmix_status_t status, pmix_info_t *info, std::size_t count, void *data, pmix_release_cbfunc_t release,
            void *release_data) {
    std::unique_ptr<Asked> asked(static_cast<Asked *>(data));
    auto packed = pack_info(info, info ? count : 0);
    ToolCalled::answer(asked->id, packed ? status : PMIX_ERR_PACK_FAILURE, {}, packed ? std::move(*packed) : Packed());
    if (release)
        release(release_data);
}

void heard(std::size_t, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[], std::size_t count,
           pmix_info_t[], std::size_t, pmix_event_notification_cbfunc_fn_t done, void *data) {
    if (code == PMIX_ERR_LOST_CONNECTION) {
        ToolCalled::post([](JobTool &tool) { ToolCalled::events(tool).on_lost(); });
    } else if (auto packed = pack_info(info, count); packed && source) {
        Process from = process_of(*source);
        ToolCalled::post(
            [event = Heard{code, from.nspace, from.wildcard ? PMIX_RANK_WILDCARD : from.rank, std::move(*packed)}](
                JobTool &tool) { ToolCalled::events(tool).on_heard(event); });
    }
    if (done) // else the handler for all others would hear it, too
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

void wrote(std::size_t, pmix_iof_channel_t channel, pmix_proc_t *source, pmix_byte_object_t *bytes, pmix_info_t info[],
           std::size_t count) {
    auto packed = pack_info(info, info ? count : 0);
    if (!source || !packed)
        return;
    Process from = process_of(*source);
    ToolCalled::post(
        [output = Output{from.nspace, from.wildcard ? PMIX_RANK_WILDCARD : from.rank, channel,
                         bytes && bytes->bytes ? Bytes(bytes->bytes, bytes->size) : Bytes(),
                         std::move(*packed)}](JobTool &tool) { ToolCalled::events(tool).on_output(output); });
}

// In libpmix' thread, which says so when the first handler is registered; else the library prints what comes.
void take_output(pmix_status_t, std::size_t, void *) {
    if (library_is_of_headers())
        pmixhost_take_default_output(wrote);
}

void register_for(std::vector<pmix_status_t> codes) {
    PMIx_Register_event_handler(
        codes.empty() ? nullptr : codes.data(), codes.size(), nullptr, 0, heard,
        [](pmix_status_t, std::size_t, void *) {}, nullptr);
}

void spawn(const Call &call, Asked *asked) {
    auto info = unpack_info(call.first);
    auto apps = unpack_apps(call.second);
    pmix_status_t status = PMIX_ERR_UNPACK_FAILURE;
    if (info && apps) {
        asked->first = *info;
        asked->second = *apps;
        // libpmix 5.0.7 refuses a tool's request without a directive.
        if ((*info)->empty()) {
            (*info)->emplace_back();
            bool no = false;
            PMIX_INFO_LOAD(&(*info)->back(), PMIX_SPAWN_TOOL, &no, PMIX_BOOL);
        }
        status = PMIx_Spawn_nb((*info)->data(), (*info)->size(), (*apps)->data(), (*apps)->size(), spawned, asked);
    }
    if (status != PMIX_SUCCESS)
        spawned(status, nullptr, asked);
}

void query(const Call &call, Asked *asked) {
    auto queries = unpack_queries(call.first);
    pmix_status_t status = PMIX_ERR_UNPACK_FAILURE;
    if (queries) {
        asked->first = *queries;
        status = PMIx_Query_info_nb((*queries)->data(), (*queries)->size(), listed, asked);
    }
    if (status != PMIX_SUCCESS)
        listed(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, nullptr, 0, asked, nullptr, nullptr);
}

void control(const Call &call, Asked *asked) {
    auto targets = unpack_processes(call.first);
    auto directives = unpack_info(call.second);
    pmix_status_t status = PMIX_ERR_UNPACK_FAILURE;
    if (targets && directives) {
        asked->first = *targets;
        asked->second = *directives;
        status = PMIx_Job_control_nb((*targets)->empty() ? nullptr : (*targets)->data(), (*targets)->size(),
                                     (*directives)->data(), (*directives)->size(), listed, asked);
    }
    if (status != PMIX_SUCCESS)
        listed(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, nullptr, 0, asked, nullptr, nullptr);
}

void pushed(pmix_status_t status, void *data) {
    listed(status, nullptr, 0, data, nullptr, nullptr);
}

void push(const Call &call, Asked *asked) {
    auto targets = unpack_processes(call.first);
    auto directives = unpack_info(call.second);
    pmix_status_t status = PMIX_ERR_UNPACK_FAILURE;
    if (targets && directives) {
        asked->first = *targets;
        asked->second = *directives;
        asked->text = call.bytes;
        asked->object = {asked->text.data(), asked->text.size()};
        status = PMIx_IOF_push((*targets)->data(), (*targets)->size(), &asked->object, (*directives)->data(),
                               (*directives)->size(), pushed, asked);
    }
    if (status != PMIX_SUCCESS)
        pushed(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, asked);
}

} // namespace

Result<std::unique_ptr<JobTool>> JobTool::create(EventLoop &loop, Events events) {
    std::unique_ptr<JobTool> tool(new JobTool(loop, std::move(events)));
    auto calls = LibraryThread::start(
        [](const std::string &what) { fmt::print(stderr, "pmixhost-indirect: internal error: {}\n", what); });
    if (!calls)
        return calls.failure();
    tool->calls_ = std::move(*calls);
    the_tool = tool.get();
    return tool;
}

JobTool::~JobTool() {
    the_tool = nullptr;
}

void JobTool::connect(std::string uri) {
    calls_->run("PMIx_tool_init", [this, uri = std::move(uri)] {
        InfoList info;
        info.add(PMIX_SERVER_URI, uri);
        pmix_status_t status = PMIx_tool_init(&self_, info.data(), info.size());
        if (status == PMIX_SUCCESS) {
            pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
            PMIx_Register_event_handler(&lost, 1, nullptr, 0, heard, take_output, nullptr);
        }
        ToolCalled::post([status](JobTool &tool) { tool.connected(status); });
    });
}

void JobTool::connected(pmix_status_t status) {
    if (status != PMIX_SUCCESS)
        return events_.on_connected(error(ErrorKind::unreachable, "PMIx_tool_init: {}", PMIx_Error_string(status)));
    connected_ = true;
    for (auto &[name, call] : std::exchange(waiting_, {}))
        calls_->run(name, std::move(call));
    events_.on_connected({});
}

void JobTool::run(const char *name, std::function<void()> call) {
    if (connected_)
        calls_->run(name, std::move(call));
    else
        waiting_.emplace_back(name, std::move(call));
}

void JobTool::call(Call call) {
    run("a call for the debugger", [call = std::move(call)] {
        auto asked = std::make_unique<Asked>(Asked{call.id});
        switch (call.kind) {
        case CallKind::spawn:
            return spawn(call, asked.release());
        case CallKind::query:
            return query(call, asked.release());
        case CallKind::control:
            return control(call, asked.release());
        case CallKind::input:
            return push(call, asked.release());
        }
        ToolCalled::answer(call.id, PMIX_ERR_NOT_SUPPORTED);
    });
}

void JobTool::notify(Notify event) {
    run("PMIx_Notify_event", [this, event = std::move(event)] {
        if (auto info = unpack_info(event.info))
            PMIx_Notify_event(event.code, &self_, event.range, (*info)->data(), (*info)->size(), nullptr, nullptr);
    });
}

void JobTool::listen(const Listen &listen) {
    std::vector<pmix_status_t> codes;
    for (auto code : listen.codes)
        if (code != PMIX_ERR_LOST_CONNECTION && listens_.insert(code).second)
            codes.push_back(code);
    if (codes.empty() && (!listen.codes.empty() || std::exchange(listens_to_all_, true)))
        return;
    run("PMIx_Register_event_handler", [codes] { register_for(codes); });
}

} // namespace pmixhost::indirect
