// See pmix_library.h.
#include "server-glue/library/pmix_library.h"

#include "common/rendezvous/own_keys.h"
#include "common/text/printable.h"
#include "server-glue/guard/assigned_base.h"
#include "server-glue/guard/closed_connections.h"
#include "server-glue/guard/connection_guard.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/direct_answers.h"
#include "server-glue/library/given_environment.h"
#include "server-glue/library/inner_client.h"
#include "server-glue/library/library_start.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/passed_over.h"
#include "server-glue/library/pending_writes.h"
#include "server-glue/library/posted_now.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <fmt/ranges.h>
#include <pmix.h>
#include <unistd.h>

namespace pmixhost {

namespace {

Error pmix_error(std::string_view what, pmix_status_t status) {
    return error(ErrorKind::system, "{}: {}", what, PMIx_Error_string(status));
}

// A completion on its way through libpmix, which calls back in its own thread.
struct Waiting {
    EventLoop &loop;
    PmixLibrary::Done done;
    // Kept until the library is through with them:
    std::shared_ptr<InfoList> info;
    pmix_proc_t source{}; // of an event
};
void on_done(pmix_status_t status, void *data) {
    std::shared_ptr<Waiting> waiting(static_cast<Waiting *>(data));
    EventLoop &loop = waiting->loop;
    // Moved: what `done` owns is the loop's, and must go there.
    loop.post([waiting = std::move(waiting), status] { waiting->done(status); });
}

struct WaitingData {
    EventLoop &loop;
    PmixLibrary::DataDone done;
};
void on_data(pmix_status_t status, char *bytes, std::size_t size, void *data) {
    std::shared_ptr<WaitingData> waiting(static_cast<WaitingData *>(data));
    auto copy = std::make_shared<Bytes>(bytes ? bytes : "", bytes ? size : 0);
    EventLoop &loop = waiting->loop;
    loop.post([waiting = std::move(waiting), copy, status] { waiting->done(status, std::move(*copy)); });
}

// The status of a call that calls back only on PMIX_SUCCESS.
template <typename W> void settle(pmix_status_t status, W *waiting) {
    if (status == PMIX_SUCCESS)
        return;
    std::shared_ptr<W> owner(waiting);
    pmix_status_t answer = status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
    EventLoop &loop = owner->loop;
    loop.post([owner = std::move(owner), answer] {
        if constexpr (std::is_same_v<W, Waiting>)
            owner->done(answer);
        else
            owner->done(answer, {});
    });
}

void free_chars(char *text) {
    std::free(text);
}

pmix_byte_object_t bytes_of(PmixLibrary::OutputText &text) {
    return {text.bytes.data(), text.bytes.size()};
}
void add_words(InfoList &info, const PmixLibrary::OutputText &text) {
    if (text.end)
        info.add(PMIX_IOF_COMPLETE, true);
    if (text.undated)
        info.add(own_key::output_undated, true);
    if (text.cut)
        info.add(own_key::output_cut, true);
    if (text.missing > 0)
        info.add(own_key::output_missing, text.missing);
}

} // namespace

Result<std::unique_ptr<PmixLibrary>> PmixLibrary::start(EventLoop &loop, LibraryThread &thread, const Options &options,
                                                        pmix_server_module_t *module,
                                                        std::unique_ptr<ListenerTakeover> listening) {
    auto started = start_library(options, module, std::move(listening));
    if (!started)
        return started.failure();
    auto guarded = started->stands_behind_guard;
    std::unique_ptr<PmixLibrary> library(new PmixLibrary(loop, thread, options.nspace, std::move(*started)));
    if (!guarded)
        return guarded.failure(); // the library is ended soon
    library->answer_directly();
    return library;
}

PmixLibrary::PmixLibrary(EventLoop &loop, LibraryThread &thread, std::string nspace, StartedLibrary started)
    : loop_(loop), thread_(thread), nspace_(std::move(nspace)), address_(std::move(started.address)),
      takeover_(std::move(started.takeover)), topology_(std::move(started.topology)),
      no_topology_(std::move(started.no_topology)), not_mended_(std::move(started.not_mended)),
      posted_(std::make_shared<PostedNow>()) {}

PmixLibrary::~PmixLibrary() {
    // A thread that has ended was not stuck: then it can be done here. The library uses the topology until then, and
    // its event base must still be there when the bell is taken down.
    struct Ends {
        std::shared_ptr<Topology> topology;
        std::shared_ptr<DirectAnswers> direct_answers;
        void operator()() {
            direct_answers.reset();
            PMIx_server_finalize();
        }
    };
    auto ends = std::make_shared<Ends>(Ends{topology_, std::move(direct_answers_)});
    if (!thread_.run("PMIx_server_finalize", [ends] { (*ends)(); }))
        (*ends)();
}

// In the library thread. What shifts an empty inventory to libpmix' thread names its base, and shows the thread.
void PmixLibrary::answer_directly() {
    auto direct = std::make_shared<DirectAnswers>();
    event_base *base = nullptr;
    {
        AssignedBase::Scope scope;
        in_progress_thread([direct] { direct->know_thread(); });
        base = scope.base();
    }
    base_ = base;
    auto begun = base ? direct->begin(base, thread_) : error(ErrorKind::unsupported, "its event base is not known");
    if (begun)
        direct_answers_ = std::move(direct);
    else
        not_direct_ = begun.failure().text;
}

Result<void> PmixLibrary::admit_clients(Log &log, Door door) {
    if (!not_mended_.empty())
        log.info("{}", not_mended_);
    if (topology_ || !no_topology_.empty())
        log.debug("the topology of this host {}", topology_ ? "was kept" : "is looked for: " + no_topology_);
    ConnectionGuard::Names names;
    names.owner_of = [this](const std::string &nspace, Rank rank) -> std::optional<ProcessOwner> {
        auto job = registered_.find(nspace);
        if (job == registered_.end())
            return std::nullopt;
        auto process = job->second.find(rank);
        return process == job->second.end() ? std::nullopt : std::optional(process->second);
    };
    // Also what begins like a job's name: that is how tools without a name are called.
    names.known = [this, may_be_called = std::move(door.tool_may_be_called)](const std::string &nspace) {
        if (nspace == nspace_ || registered_.contains(nspace) || told_of_.contains(nspace))
            return true;
        if (may_be_called && may_be_called(nspace))
            return false;
        return std::any_of(registered_.begin(), registered_.end(), [&](const auto &job) {
            return nspace.starts_with(job.first) && nspace[job.first.size()] == '.';
        });
    };
    names.let_in = std::move(door.let_in);
    names.turned_away = std::move(door.turned_away);
    names.tool_may_come = std::move(door.tool_may_come);
    names.tool_came = std::move(door.tool_came);
    GuardLimits limits;
    limits.tools = door.most_tools;
    auto guard = ConnectionGuard::open(loop_, log, std::move(takeover_), DescriptorRange::of_process(),
                                       std::move(names), std::move(door.on_broken), limits);
    if (!guard)
        return guard.failure();
    guard_ = std::move(*guard);
    log.debug("answers go to libpmix' thread {}; its closed connections are {}",
              not_direct_.empty() ? "directly" : "by way of one of ours: " + not_direct_,
              ClosedConnections::count() ? "counted" : "not counted, so each fence looks at its processes");
    return {};
}

void PmixLibrary::admit_relayed(UniqueFd connection, ToolOrigin origin, pid_t pid) {
    if (guard_)
        guard_->admit_relayed(std::move(connection), std::move(origin), pid);
}

std::size_t PmixLibrary::unsent_to(const std::string &nspace, Rank rank) const {
    return guard_ ? guard_->unsent_to(nspace, rank) : 0;
}

Result<PmixLibrary::CString> PmixLibrary::node_regex(const std::vector<std::string> &hosts) {
    char *regex = nullptr;
    pmix_status_t status = PMIx_generate_regex(fmt::format("{}", fmt::join(hosts, ",")).c_str(), &regex);
    if (status != PMIX_SUCCESS)
        return pmix_error("PMIx_generate_regex", status);
    return CString(regex, free_chars);
}

Result<PmixLibrary::CString> PmixLibrary::rank_regex(const std::vector<std::vector<Rank>> &ranks_by_host) {
    std::vector<std::string> parts;
    for (const auto &ranks : ranks_by_host)
        parts.push_back(fmt::format("{}", fmt::join(ranks, ",")));
    char *regex = nullptr;
    pmix_status_t status = PMIx_generate_ppn(fmt::format("{}", fmt::join(parts, ";")).c_str(), &regex);
    if (status != PMIX_SUCCESS)
        return pmix_error("PMIx_generate_ppn", status);
    return CString(regex, free_chars);
}

using Generate = pmix_status_t (*)(const pmix_cpuset_t *, char **);
static std::string generated(Generate generate, const CpuSet &cpus) {
    pmix_cpuset_t set;
    char source[] = "hwloc";
    set.source = source;
    set.bitmap = static_cast<decltype(set.bitmap)>(cpus.bitmap());
    char *text = nullptr;
    if (generate(&set, &text) != PMIX_SUCCESS || !text)
        return {};
    std::string out(text);
    std::free(text);
    return out;
}
std::string PmixLibrary::cpuset_string(const CpuSet &cpus) {
    return generated(PMIx_server_generate_cpuset_string, cpus);
}
std::string PmixLibrary::locality_string(const CpuSet &cpus) {
    // libpmix 4.2 leaves out the mark that its own PMIx_Get_relative_locality asks for.
    std::string text = generated(PMIx_server_generate_locality_string, cpus);
    if (!text.empty() && text.rfind("hwloc:", 0) != 0)
        text = "hwloc:" + text;
    return text;
}

void PmixLibrary::register_nspace(const std::string &nspace, int local_count,
                                  std::function<Result<InfoList>()> describe, std::function<void(Result<void>)> done) {
    told_of_.insert(nspace);
    auto shared = std::make_shared<std::function<void(Result<void>)>>(std::move(done));
    auto fail = [&loop = loop_, shared](Error why) { loop.post([shared, why] { (*shared)(why); }); };
    auto *waiting =
        new Waiting{loop_,
                    [shared, nspace](pmix_status_t status) {
                        if (status == PMIX_SUCCESS)
                            return (*shared)({});
                        (*shared)(pmix_error(
                            fmt::format("the PMIx library does not take the namespace {}", printable(nspace)), status));
                    },
                    {}};
    thread_.run("PMIx_server_register_nspace", [nspace, local_count, describe = std::move(describe), fail, waiting] {
        std::unique_ptr<Waiting> owner(waiting);
        try {
            auto info = describe();
            if (!info)
                return fail(info.failure());
            owner->info = std::make_shared<InfoList>(std::move(*info));
        } catch (const std::exception &e) {
            return fail(error(ErrorKind::system, "job information cannot be made: {}", e.what()));
        }
        pmix_nspace_t name;
        PMIX_LOAD_NSPACE(name, nspace.c_str());
        auto *given = owner.release();
        settle(PMIx_server_register_nspace(name, local_count, given->info->data(), given->info->size(), on_done, given),
               given);
    });
}

// All of a process at once, since each call waits for libpmix' thread: it takes the array apart (4.2.0 to 6.1).
void PmixLibrary::describe_processes(const std::string &nspace, std::function<std::vector<InfoList>()> describe,
                                     std::function<void(Result<void>)> done) {
    auto shared = std::make_shared<std::function<void(Result<void>)>>(std::move(done));
    thread_.run("PMIx_Store_internal", [&loop = loop_, nspace, describe = std::move(describe), shared] {
        Result<void> stored;
        try {
            for (InfoList &info : describe()) {
                pmix_proc_t process = proc_of(nspace, info.all().front().value.data.rank);
                InfoList all;
                all.add_array(PMIX_PROC_DATA, std::move(info));
                pmix_value_t value = all.all().front().value; // only lent
                if (auto status = PMIx_Store_internal(&process, PMIX_PROC_DATA, &value); status != PMIX_SUCCESS) {
                    stored = pmix_error(
                        fmt::format("the PMIx library does not take what is said of rank {}", process.rank), status);
                    break;
                }
            }
        } catch (const std::exception &e) {
            stored = error(ErrorKind::system, "job information cannot be made: {}", e.what());
        }
        loop.post([shared, stored] { (*shared)(stored); });
    });
}

// libpmix 4.2.2 removes what a client wanted to be removed when it has noticed that its connection has ended, or at its
// deregistration; not at that of its namespace, which may come first.
void PmixLibrary::end_nspace(const std::string &nspace, std::vector<Rank> clients, Done done) {
    auto *waiting = new Waiting{loop_, std::move(done), {}};
    thread_.run("PMIx_server_deregister_nspace", [nspace, clients = std::move(clients), waiting] {
        for (Rank rank : clients) {
            pmix_proc_t proc = proc_of(nspace, rank);
            PMIx_server_deregister_client(
                &proc, [](pmix_status_t, void *) {}, nullptr); // in order before the rest
        }
        pmix_nspace_t name;
        PMIX_LOAD_NSPACE(name, nspace.c_str());
        PMIx_server_deregister_nspace(name, on_done, waiting);
    });
}

void PmixLibrary::become_client(const std::string &nspace, Rank rank, std::function<void(Result<void>)> done) {
    static constexpr auto patience = std::chrono::seconds(10);
    static constexpr std::size_t most = 256; // of two descriptors each
    if (!InnerClient::possible() || !guard_ || inner_clients_.contains(nspace) || inner_clients_.size() >= most)
        return loop_.post([done = std::move(done)] {
            done(error(ErrorKind::unsupported, "not with this PMIx library, or not as often"));
        });
    inner_clients_[nspace]; // the place is taken
    auto registered = [this, nspace, rank, done = std::move(done)](pmix_status_t status) {
        if (status != PMIX_SUCCESS)
            return done(pmix_error("PMIx_server_register_client", status));
        auto client = InnerClient::start(
            loop_, nspace, rank, [this](UniqueFd fd) { return guard_->hand_over(std::move(fd)); }, patience, done);
        if (!client)
            return done(client.failure());
        inner_clients_[nspace] = std::move(*client);
    };
    // Nobody else is let in under that name: it is not among those that the guard knows.
    auto *waiting = new Waiting{loop_, std::move(registered), {}};
    thread_.run("PMIx_server_register_client", [nspace, rank, waiting] {
        pmix_proc_t proc = proc_of(nspace, rank);
        settle(PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, on_done, waiting), waiting);
    });
}

static Result<std::vector<std::string>> environment_of(const std::string &nspace, Rank rank) {
    pmix_proc_t proc = proc_of(nspace, rank);
    char **entries = nullptr;
    pmix_status_t status = PMIx_server_setup_fork(&proc, &entries);
    std::vector<std::string> out;
    for (char **entry = entries; entry && *entry; ++entry) {
        out.emplace_back(*entry);
        std::free(*entry);
    }
    std::free(entries);
    if (status != PMIX_SUCCESS)
        return pmix_error("PMIx_server_setup_fork", status);
    return given_environment(std::move(out));
}

void PmixLibrary::environment(const std::string &nspace, Rank rank, EnvironmentDone done) {
    auto shared = std::make_shared<EnvironmentDone>(std::move(done));
    thread_.run("PMIx_server_setup_fork", [&loop = loop_, nspace, rank, shared = std::move(shared)]() mutable {
        auto entries = environment_of(nspace, rank);
        loop.post([shared = std::move(shared), entries] { (*shared)(entries); });
    });
}

namespace {

// Clients on their way through libpmix, which answers for each in its own thread. Whoever is last tells the loop.
struct Registration {
    struct Client {
        Registration &all;
        const PmixLibrary::Client client;
        Result<std::vector<std::string>> environment;
    };
    Registration(EventLoop &of_done, PmixLibrary::ClientsDone then, const std::vector<PmixLibrary::Client> &of)
        : loop(of_done), done(std::move(then)), missing(of.size() + 1) {
        for (const auto &client : of)
            clients.push_back({*this, client, std::vector<std::string>()});
    }
    EventLoop &loop;
    PmixLibrary::ClientsDone done;
    std::deque<Client> clients;
    std::atomic<std::size_t> missing;   // answers, and that all have been asked for
    std::shared_ptr<Registration> self; // until then

    void has_one() {
        if (missing.fetch_sub(1) != 1)
            return;
        EventLoop &of_done = loop;
        of_done.post([all = std::move(self)] { // moved, as in on_done()
            std::vector<Result<std::vector<std::string>>> environments;
            for (auto &client : all->clients)
                environments.push_back(std::move(client.environment));
            all->done(std::move(environments));
        });
    }
    static void on_registered(pmix_status_t status, void *data) {
        auto &client = *static_cast<Client *>(data);
        if (status != PMIX_SUCCESS)
            client.environment = error(ErrorKind::system, "the PMIx library refuses rank {}: {}", client.client.rank,
                                       PMIx_Error_string(status));
        client.all.has_one();
    }
};

} // namespace

// PMIx_server_setup_fork asks for the namespace alone (4.2.2 to 6.1), and reads the library's tables in the calling
// thread. So all of that comes before libpmix' thread has something to do.
void PmixLibrary::register_clients(const std::string &nspace, uid_t uid, const std::vector<Client> &clients,
                                   ClientsDone done) {
    for (const Client &client : clients)
        registered_[nspace][client.rank] = {uid, client.gid};
    auto shared = std::make_shared<Registration>(loop_, std::move(done), clients);
    thread_.run("PMIx_server_register_client", [nspace, uid, shared = std::move(shared)]() mutable {
        Registration &all = *shared;
        all.self = std::move(shared);
        for (auto &each : all.clients) {
            try {
                if (each.client.needs_environment)
                    each.environment = environment_of(nspace, each.client.rank);
            } catch (const std::exception &e) {
                each.environment =
                    error(ErrorKind::system, "rank {} gets no environment: {}", each.client.rank, e.what());
            }
        }
        for (auto &each : all.clients) {
            pmix_proc_t proc = proc_of(nspace, each.client.rank);
            auto status =
                PMIx_server_register_client(&proc, uid, each.client.gid, nullptr, Registration::on_registered, &each);
            if (status != PMIX_SUCCESS)
                Registration::on_registered(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, &each);
        }
        all.has_one();
    });
}

void PmixLibrary::posted_data(const std::string &nspace, Rank rank, DataDone done) {
    auto *waiting = new WaitingData{loop_, std::move(done)};
    thread_.run("PMIx_server_dmodex_request", [nspace, rank, waiting] {
        pmix_proc_t proc = proc_of(nspace, rank);
        settle(PMIx_server_dmodex_request(&proc, on_data, waiting), waiting);
    });
}

void PmixLibrary::posted_data_now(const std::string &nspace, const std::vector<Rank> &ranks, PostedDone done) {
    auto [look, unasked] = posted_->begin(nspace, ranks, std::move(done));
    std::vector<std::pair<Rank, WaitingData *>> requests;
    for (Rank rank : unasked) {
        auto answered = [posted = posted_, nspace, rank](pmix_status_t status, const Bytes &data) {
            posted->on_answer(nspace, rank, status == PMIX_SUCCESS ? &data : nullptr);
        };
        requests.emplace_back(rank, new WaitingData{loop_, std::move(answered)});
    }
    thread_.run("PMIx_server_dmodex_request", [nspace, requests = std::move(requests)] {
        for (auto [rank, waiting] : requests) {
            pmix_proc_t proc = proc_of(nspace, rank);
            settle(PMIx_server_dmodex_request(&proc, on_data, waiting), waiting);
        }
    });
    // What is handled behind the requests.
    ask(thread_, [&loop = loop_, look = look] { loop.post([look] { PostedNow::end(*look); }); });
}

void PmixLibrary::notify(pmix_status_t code, const pmix_proc_t &source, std::uint8_t range,
                         std::shared_ptr<InfoList> info, Done done) {
    auto *waiting = new Waiting{loop_, std::move(done), std::move(info), source};
    thread_.run("PMIx_Notify_event", [code, range, waiting] {
        settle(PMIx_Notify_event(code, &waiting->source, range, waiting->info->data(), waiting->info->size(), on_done,
                                 waiting),
               waiting);
    });
}

void PmixLibrary::deliver_output(OutputText output, Done done) {
    struct Delivery {
        Waiting waiting;
        OutputText text;
        pmix_byte_object_t bytes{};
        InfoList info;
    };
    auto *delivery = new Delivery{{loop_, std::move(done), nullptr}, std::move(output), {}, {}};
    delivery->bytes = bytes_of(delivery->text);
    add_words(delivery->info, delivery->text);
    auto on_queued = [](pmix_status_t status, void *data) {
        std::shared_ptr<Delivery> delivery(static_cast<Delivery *>(data));
        EventLoop &loop = delivery->waiting.loop;
        loop.post([delivery = std::move(delivery), status] { delivery->waiting.done(status); });
    };
    thread_.run("PMIx_server_IOF_deliver", [delivery, on_queued] {
        const OutputText &text = delivery->text;
        auto status = PMIx_server_IOF_deliver(&text.source, text.channel, &delivery->bytes, delivery->info.data(),
                                              delivery->info.size(), on_queued, delivery);
        if (status != PMIX_SUCCESS)
            on_queued(status, delivery);
    });
}

bool PmixLibrary::can_pass_over() {
    return library_is_of_headers() && pmixhost_can_pass_over();
}

void PmixLibrary::pass_over(const LibraryConnection &connection, const std::string &nspace) {
    if (!can_pass_over())
        return;
    thread_.run("PMIx_server_deliver_inventory", [connection, nspace] {
        in_progress_thread([connection, nspace] {
            if (connection.is_here())
                pmixhost_pass_over(connection.number, nspace.c_str());
        });
    });
}

void PmixLibrary::take_up(const LibraryConnection &connection, const std::string &nspace) {
    if (!can_pass_over())
        return;
    thread_.run("PMIx_server_deliver_inventory", [connection, nspace] {
        in_progress_thread([connection, nspace] {
            if (connection.is_here())
                pmixhost_take_up(connection.number, nspace.c_str());
        });
    });
}

void PmixLibrary::deliver_to(const LibraryConnection &connection, std::optional<int> pull,
                             std::vector<OutputText> texts, std::function<void()> done) {
    if (!can_pass_over())
        return loop_.post(std::move(done));
    auto owned = std::make_shared<std::vector<OutputText>>(std::move(texts));
    auto shared = std::make_shared<std::function<void()>>(std::move(done));
    thread_.run("PMIx_server_deliver_inventory", [&loop = loop_, connection, pull, owned, shared] {
        in_progress_thread(
            [&loop, connection, pull, owned, shared] {
                for (auto &text : *owned) {
                    if (!connection.is_here())
                        break;
                    const auto bytes = bytes_of(text);
                    InfoList info;
                    add_words(info, text);
                    pmixhost_deliver_to(connection.number, pull.value_or(-1), &text.source, text.channel, &bytes,
                                        info.data(), info.size());
                }
                loop.post([shared] { (*shared)(); });
            },
            true);
    });
}

void PmixLibrary::define_process_set(const std::string &name, const std::string &nspace, const std::vector<Rank> &ranks,
                                     Done done) {
    auto *waiting = new Waiting{loop_, std::move(done), {}};
    thread_.run("PMIx_server_define_process_set", [name, nspace, ranks, waiting] {
        auto members = procs_of(nspace, ranks);
        pmix_status_t status = PMIx_server_define_process_set(members.data(), members.size(), name.c_str());
        on_done(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, waiting);
    });
}

void PmixLibrary::delete_process_set(const std::string &name) {
    thread_.run("PMIx_server_delete_process_set", [name = name]() mutable {
        PMIx_server_delete_process_set(name.data()); // against its signature, it does not change it
    });
}

bool PmixLibrary::in_progress_thread(std::function<void()> what, bool anyway) {
    auto owned = std::make_unique<std::function<void()>>(std::move(what));
    auto run = [](pmix_status_t, void *data) {
        std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()> *>(data));
        (*body)();
    };
    if (PMIx_server_deliver_inventory(nullptr, 0, nullptr, 0, run, owned.get()) == PMIX_SUCCESS) {
        owned.release();
        return true;
    }
    if (anyway) // the library has not started or has ended, and its clients with it
        (*owned)();
    return false;
}

void PmixLibrary::ask(LibraryThread &thread, std::function<void()> answered) {
    thread.run("PMIx_server_deliver_inventory",
               [answered = std::move(answered)] { in_progress_thread(answered, true); });
}

// One of the library's sendings_ until it is over.
struct PmixLibrary::Sending {
    std::function<void()> done;
    int turns = 0;
    EventLoop::Handle again = {};
};

void PmixLibrary::after_sending(std::function<void()> done) {
    look_at(sendings_.emplace_back(std::make_shared<Sending>(Sending{std::move(done)})));
}

// Where the base is not known: in the first turn a message is queued, in the second one its connection is found to be
// writable, perhaps behind this, and before the third it is written.
void PmixLibrary::look_at(const std::shared_ptr<Sending> &sending) {
    static constexpr int enough_turns = 3;
    const bool is_last = ++sending->turns == enough_turns;
    const Duration wait = sending->turns < enough_turns ? Duration::zero() : std::chrono::milliseconds(1);
    auto tell = [this, wait, weak = std::weak_ptr(sending)](bool waits) {
        auto self = weak.lock();
        if (!self)
            return; // the library has gone
        if (waits) {
            self->again = loop_.after(wait, [this, weak] { look_at(weak.lock()); });
        } else {
            sendings_.remove(self);
            self->done();
        }
    };
    thread_.run("PMIx_server_deliver_inventory", [&loop = loop_, base = base_, is_last, tell] {
        auto look = [&loop, base, is_last, tell] {
            const bool waits = base ? has_pending_writes(base) : !is_last;
            loop.post([tell, waits] { tell(waits); });
        };
        if (!in_progress_thread(look))
            loop.post([tell] { tell(false); });
    });
}

void PmixLibrary::register_handler(std::vector<pmix_status_t> codes, pmix_notification_fn_t handler, Done done) {
    auto *owned = new Done(std::move(done));
    auto registered = [](pmix_status_t status, std::size_t, void *data) {
        std::unique_ptr<Done> told(static_cast<Done *>(data));
        (*told)(status);
    };
    // Without a callback the library would register it in the calling thread.
    pmix_status_t status =
        PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0, handler, registered, owned);
    if (status != PMIX_SUCCESS)
        registered(status, 0, owned);
}

} // namespace pmixhost
