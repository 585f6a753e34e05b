// What a tool must be allowed to do for each request, as the services of a step say it: every type of request that
// names its caller has said so, and one that has not is refused.
#include "test/unit/lone_step.h"

#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>
#include <set>

using namespace pmixhost;

namespace {

using policy::Action;

struct Request {
    std::string name; // of its type
    Action needs;
    // Asked by rank 0 of a namespace; what it is answered is noted, if it is at once.
    std::function<void(UpcallHandlers &, const char *nspace, std::vector<pmix_status_t> &answers)> ask;
};

template <typename... Rest> void note(OneShot<pmix_status_t, Rest...> &reply, std::vector<pmix_status_t> &answers) {
    reply = {[&answers](pmix_status_t status, Rest...) { answers.push_back(status); }, PMIX_ERROR, Rest()...};
}

template <NamesCaller Ask> Request request(const char *name, Action needs) {
    return {name, needs, [](UpcallHandlers &handlers, const char *nspace, std::vector<pmix_status_t> &answers) {
                Ask ask;
                ask.caller = {nspace, 0};
                note(ask.reply, answers);
                handlers.hand_on(std::move(ask));
            }};
}

const Request requests[] = {request<AbortAsk>("AbortAsk", Action::control),
                            request<AllocationAsk>("AllocationAsk", Action::control),
                            request<CredentialAsk>("CredentialAsk", Action::spawn),
                            request<JobControlAsk>("JobControlAsk", Action::control),
                            request<LogAsk>("LogAsk", Action::control),
                            request<LookupAsk>("LookupAsk", Action::observe),
                            request<PublishAsk>("PublishAsk", Action::control),
                            request<PushAsk>("PushAsk", Action::input),
                            request<SpawnAsk>("SpawnAsk", Action::spawn),
                            request<UnpublishAsk>("UnpublishAsk", Action::control),
                            request<ValidationAsk>("ValidationAsk", Action::observe)};

struct World : LoneStep<DeafRm> {
    explicit World(std::vector<PlacedText> rules = {}) {
        settings.tools_user_policy = "off";
        settings.tools_policy = std::move(rules);
        begin(*JobMap::create({"n1"}, {{0}}));
    }
};

void each_request_has_said_what_it_needs(void **) {
    World world;
    std::vector<Action> needed;
    world.handlers.set_gate([&](const Process &caller, Action needs) {
        assert_string_equal(caller.nspace.c_str(), "tool");
        needed.push_back(needs);
        return false;
    });
    for (const Request &each : requests) {
        needed.clear();
        std::vector<pmix_status_t> answers;
        each.ask(world.handlers, "tool", answers);
        if (needed != std::vector<Action>{each.needs})
            fail_msg("%s: asked for %zu actions, the first %s", each.name.c_str(), needed.size(),
                     needed.empty() ? "none" : std::string(policy::name_of(needed.front())).c_str());
        if (answers != std::vector<pmix_status_t>{PMIX_ERR_NO_PERMISSIONS})
            fail_msg("%s: %zu answers", each.name.c_str(), answers.size());
    }
}

// What these are the headers say: a new one is in the table above, or this fails.
void no_request_that_names_its_caller_is_left_out(void **) {
    std::set<std::string> in_headers, here;
    for (const auto &each : std::filesystem::recursive_directory_iterator(PMIXHOST_TOP_SRCDIR "/server-glue")) {
        if (each.path().extension() != ".h")
            continue;
        std::ifstream file(each.path());
        assert_true(file.good());
        std::string type;
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("struct "))
                type = line.substr(7, line.find_first_of(" ;:{", 7) - 7);
            else if (type.ends_with("Ask") && line.starts_with("    Process ") &&
                     line.find(" caller;") != std::string::npos)
                in_headers.insert(type);
        }
    }
    for (const Request &each : requests)
        here.insert(each.name);
    if (in_headers != here)
        fail_msg("in headers: %s; here: %s", fmt::format("{}", fmt::join(in_headers, " ")).c_str(),
                 fmt::format("{}", fmt::join(here, " ")).c_str());
}

// From the rules to the answer.
void what_the_rules_refuse_is_refused(void **) {
    for (Action refused : policy::all_actions) {
        World world({{fmt::format("deny {} by anyone to jobs of anyone from here", policy::name_of(refused)), "FILE:1"},
                     {"allow everything by anyone to jobs of anyone from here", "FILE:2"}});
        const Action other = refused == Action::observe ? Action::control : Action::observe;
        // The rules have been read.
        run_until(*world.loop, [&] { return world.services->tools.may({"tool", 0}, other); });
        for (const Request &each : requests) {
            if (each.needs != refused)
                continue;
            std::vector<pmix_status_t> answers;
            each.ask(world.handlers, "tool", answers);
            if (answers != std::vector<pmix_status_t>{PMIX_ERR_NO_PERMISSIONS})
                fail_msg("%s: %zu answers", each.name.c_str(), answers.size());
        }
    }
}

// It cannot be taken without a word on what it needs.
template <typename Ask>
concept TakenUnjudged = requires(UpcallHandlers &handlers, void (*take)(Ask)) {
    handlers.on_unjudged<Ask>(take);
};
static_assert(TakenUnjudged<FenceAsk> && TakenUnjudged<QueryAsk> && TakenUnjudged<NotifyAsk>);
static_assert(!TakenUnjudged<SpawnAsk> && !TakenUnjudged<LookupAsk> && !TakenUnjudged<ValidationAsk>);

// Also by a gate that would let it in.
void what_nobody_takes_is_refused(void **) {
    UpcallHandlers handlers;
    handlers.set_gate([](const Process &, Action) { return true; });
    for (const Request &each : requests) {
        for (const char *nspace : {"tool", "job"}) {
            std::vector<pmix_status_t> answers;
            each.ask(handlers, nspace, answers);
            if (answers != std::vector<pmix_status_t>{PMIX_ERR_NOT_SUPPORTED})
                fail_msg("%s of the %s: %zu answers", each.name.c_str(), nspace, answers.size());
        }
    }
}

void who_may_is_taken_with_what_was_asked(void **) {
    UpcallHandlers handlers;
    handlers.set_gate(
        [](const Process &caller, Action needs) { return needs == Action::control && caller.nspace == "tool"; });
    std::vector<std::string> taken;
    handlers.on<AbortAsk>(Action::control, [&](AbortAsk ask) {
        taken.push_back(ask.message);
        ask.reply(PMIX_SUCCESS);
    });
    auto abort = [&](const char *nspace) {
        std::vector<pmix_status_t> answers;
        AbortAsk ask;
        ask.caller = {nspace, 0};
        ask.message = nspace;
        note(ask.reply, answers);
        handlers.hand_on(std::move(ask));
        assert_int_equal(answers.size(), 1);
        return answers.front();
    };
    assert_int_equal(abort("tool"), PMIX_SUCCESS);
    assert_int_equal(abort("other"), PMIX_ERR_NO_PERMISSIONS);
    assert_true(taken == std::vector<std::string>{"tool"});
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(each_request_has_said_what_it_needs),
        cmocka_unit_test(no_request_that_names_its_caller_is_left_out),
        cmocka_unit_test(what_the_rules_refuse_is_refused),
        cmocka_unit_test(what_nobody_takes_is_refused),
        cmocka_unit_test(who_may_is_taken_with_what_was_asked),
    };
    return cmocka_run_group_tests_name("needs of tools", tests, nullptr, nullptr);
}
