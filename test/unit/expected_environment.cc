// What processes are told of the PMIx library before it is started, and that the real one then gives just that. Linked
// with the interposition that pmixhostd has.
#include "server-glue/library/expected_environment.h"

#include "server-glue/guard/listener_takeover.h"
#include "server-glue/library/given_environment.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/settings_file.h"

#include <cstdlib>
#include <filesystem>
#include <pmix.h>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;

// What the library itself forgets between its start and its end is not looked for here.
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions();
const char *__lsan_default_suppressions() {
    return "leak:libpmix\n";
}

namespace {

SeenEnvironment seen() {
    SeenEnvironment out;
    out.library = "OpenPMIx 9.8.7";
    out.by_default = {"PMIX_NAMESPACE=@nspace@",
                      "PMIX_RANK=@rank@",
                      "PMIX_SERVER_URI4=@server@;@address@",
                      "PMIX_STORE=@store@/of_@pid@",
                      "PMIX_SERVER_TMPDIR=@directory@",
                      "PMIX_HOSTNAME=@host@"};
    out.with_hash = {"PMIX_GDS_MODULE=hash"};
    out.files = {{"/etc/params", "gds = hash\n"}, {"@home@/params", ""}};
    return out;
}
LibrarySettings settings(std::vector<std::string> environment = {}) {
    environment.push_back("HOME=/home/u");
    return {"OpenPMIx 9.8.7", std::move(environment),
            [](const std::string &path) { return path == "/etc/params" ? "gds = hash\n" : ""; }};
}
const ExpectedServer server{"job.server", 3, "tcp4://127.0.0.1:77", "/dir", "", "a-host", 42};

void marks_are_filled_in_once(void **) {
    ExpectedServer strange = server;
    strange.hostname = "@pid@";
    auto expected = ExpectedEnvironment::create(seen(), settings(), strange);
    assert_true(expected.ok());
    auto entries = expected->of("@rank@", 5);
    const std::vector<std::string> wanted{"PMIX_NAMESPACE=@rank@",
                                          "PMIX_RANK=5",
                                          "PMIX_SERVER_URI4=job.server.3;tcp4://127.0.0.1:77",
                                          "PMIX_STORE=/dir/of_42",
                                          "PMIX_SERVER_TMPDIR=/dir",
                                          "PMIX_HOSTNAME=@pid@"};
    assert_true(entries == wanted);
    strange.store = "/shm";
    assert_string_equal(ExpectedEnvironment::create(seen(), settings(), strange)->of("job", 0)[3].c_str(),
                        "PMIX_STORE=/shm/of_42");
}

void another_store_has_entries_of_its_own(void **) {
    auto expected = ExpectedEnvironment::create(seen(), settings({"PMIX_MCA_gds=hash"}), server);
    assert_true(expected.ok());
    assert_true(expected->of("job", 0) == std::vector<std::string>{"PMIX_GDS_MODULE=hash"});
}

void it_is_unknown(const SeenEnvironment &seen, const LibrarySettings &settings, const char *why) {
    auto expected = ExpectedEnvironment::create(seen, settings, server);
    assert_false(expected.ok());
    assert_string_equal(expected.failure().text.c_str(), why);
}

void what_was_not_seen_is_not_guessed(void **) {
    auto other = settings();
    other.version = "OpenPMIx 9.8.8";
    it_is_unknown(seen(), other, "pmixhost was not built with this PMIx library");
    it_is_unknown({}, {"", {}, other.read}, "pmixhost was not built with this PMIx library");
    it_is_unknown(seen(), settings({"PMIX_MCA_gds=ds12"}), "PMIX_MCA_gds=ds12 is set for the PMIx library");
    it_is_unknown(seen(), settings({"PMIX_MCA_ptl_base_if_include=eth0"}),
                  "PMIX_MCA_ptl_base_if_include is set for the PMIx library");
    it_is_unknown(seen(), settings({"PMIX_DEBUG"}), "PMIX_DEBUG is set for the PMIx library");
    auto changing = seen();
    changing.by_default.clear();
    it_is_unknown(changing, settings(), "what this PMIx library gives to processes is not the same each time");
    auto users = settings();
    users.read = [](const std::string &path) {
        return path == "/etc/params" ? "gds = hash\n" : path == "/home/u/params" ? "psec = none\n" : "";
    };
    it_is_unknown(seen(), users, "the PMIx library has other settings in /home/u/params than when pmixhost was built");
    auto none = settings();
    none.read = [](const std::string &) { return std::string(); };
    it_is_unknown(seen(), none, "the PMIx library has other settings in /etc/params than when pmixhost was built");
    // Such the daemon sets itself.
    assert_true(ExpectedEnvironment::create(seen(), settings({"PMIX_MCA_pmix_max_events=8"}), server).ok());
}

void settings_are_what_is_not_a_comment(void **) {
    assert_string_equal(settings_in("# a\n\n  b = c \r\n\t# d\ne=f").c_str(), "b = c\ne=f\n");
    assert_string_equal(settings_in("").c_str(), "");
    assert_string_equal(settings_in("\n\n").c_str(), "");
    assert_string_equal(settings_in_file("/nowhere/at/all").c_str(), "");
}

void what_differs_is_named(void **) {
    assert_true(is_as_expected({"A=1", "B=2"}, {"C=3", "B=2", "A=1"}).ok());
    auto other = is_as_expected({"A=1", "B=2"}, {"B=3", "A=1"});
    assert_false(other.ok());
    assert_non_null(strstr(other.failure().text.c_str(), "gives processes B=3, and"));
    assert_non_null(strstr(other.failure().text.c_str(), "had expected B=2"));
    auto none = is_as_expected({"A=1"}, {"AB=1"});
    assert_non_null(strstr(none.failure().text.c_str(), "gives processes no A, and"));
    assert_true(names_beyond({"A=1", "B=2"}, {"B=3", "A=1"}).empty());
    assert_true(names_beyond({"A=1"}, {"C=3", "A=1", "D"}) == (std::vector<std::string>{"C", "D"}));
}

// Else pmixhost is never late, which nobody would notice.
void the_build_has_seen_something(void **) {
    assert_string_equal(seen_environment().library.c_str(), PMIx_Get_version());
    assert_false(seen_environment().by_default.empty() && seen_environment().with_hash.empty());
}

void the_library_gives_what_was_expected(void **) {
#ifdef PMIXHOST_SANITIZES_THREADS // libpmix' own threads race when it ends
    skip();
#endif
    if (seen_environment().by_default.empty())
        skip();
    char name[] = "/tmp/pmixhost-expected.XXXXXX";
    const std::string directory = mkdtemp(name);
    auto loop = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    auto listening = ListenerTakeover::create_listening();
    assert_true(listening.ok());
    const std::string address = (*listening)->address();
    setenv("HOME", "/nonexistent", 1);
    auto expected = ExpectedEnvironment::create(
        seen_environment(), own_library_settings(),
        {"test.server", 8, address, directory, directory + "/store", "some-host", ::getpid()});
    if (!expected)
        fail_msg("%s", expected.failure().text.c_str());
    std::filesystem::create_directory(directory + "/store");
    auto thread = LibraryThread::start([](const std::string &what) { fail_msg("%s", what.c_str()); });
    static pmix_server_module_t module;
    PmixLibrary::Options options{"test.server", 8, directory, "some-host", directory + "/store"};
    auto library = PmixLibrary::start(**loop, **thread, options, &module, std::move(*listening));
    if (!library)
        fail_msg("%s", library.failure().text.c_str());
    assert_string_equal((*library)->address().c_str(), address.c_str());
    std::vector<std::string> given;
    (*library)->register_nspace(
        "test", 2, [] { return Result<InfoList>(InfoList()); },
        [&](Result<void> registered) {
            assert_true(registered.ok());
            (*library)->register_clients("test", getuid(), {{7, getgid()}, {8, getgid(), false}}, [&](auto answers) {
                assert_int_equal(answers.size(), 2);
                assert_true(answers[1].ok() && answers[1]->empty());
                given = *answers[0];
            });
        });
    run_until(**loop, [&] { return !given.empty(); });
    auto agrees = is_as_expected(given_environment(expected->of("test", 7)), given);
    if (!agrees)
        fail_msg("%s", agrees.failure().text.c_str());
    assert_int_equal(given.size(), given_environment(expected->of("test", 7)).size());
    library->reset();
    assert_true((*thread)->end(std::chrono::seconds(30)));
    std::filesystem::remove_all(directory);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_filled_in_once),
        cmocka_unit_test(another_store_has_entries_of_its_own),
        cmocka_unit_test(what_was_not_seen_is_not_guessed),
        cmocka_unit_test(settings_are_what_is_not_a_comment),
        cmocka_unit_test(what_differs_is_named),
        cmocka_unit_test(the_build_has_seen_something),
        cmocka_unit_test(the_library_gives_what_was_expected),
    };
    return cmocka_run_group_tests_name("expected_environment", tests, nullptr, nullptr);
}
