// The files by which tools find a server: their names, their text, and whose they are.
#include "common/rendezvous/rendezvous_files.h"

#include "common/base/small_file.h"
#include "common/rendezvous/tool_offer.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

const RendezvousServer server{"slurm.1.0.server", 3, "tcp4://127.0.0.1:4711", "4.2.2", 77, 1000, 100, 86400};

struct Directory {
    std::string path = "/tmp/pmixhost-test.XXXXXX";
    Directory() { assert_non_null(mkdtemp(path.data())); }
    ~Directory() { std::filesystem::remove_all(path); }
};

void five_lines(void **) {
    assert_string_equal(rendezvous_text(server).c_str(), "slurm.1.0.server.3;tcp4://127.0.0.1:4711\n"
                                                         "4.2.2\n77\n1000:100\n1970-01-02T00:00:00Z\n");
}

void what_is_written_is_read(void **) {
    auto read = parse_rendezvous(rendezvous_text(server));
    assert_true(read.ok());
    assert_string_equal(rendezvous_text(*read).c_str(), rendezvous_text(server).c_str());
    // As libpmix writes it.
    auto other = parse_rendezvous("prterun-host-12@0.0;tcp4://127.0.0.1:99\n5.0.7\n12\n1000:100\n"
                                  "Mon Nov 23 07:00:00 2026\n\n");
    assert_true(other.ok());
    assert_string_equal(other->nspace.c_str(), "prterun-host-12@0");
    assert_int_equal(other->pid, 12);
    assert_int_equal(other->started, 0);
}

void what_makes_no_sense_is_no_server(void **) {
    const std::string uri = "a.0;tcp4://127.0.0.1:1\n", rest = "4.2.2\n77\n1000:100\n";
    for (const std::string &bad :
         {std::string(), std::string("\n\n\n\n\n"), uri, uri + "4.2.2\n", uri + "4.2.2\n77\n", "a;tcp4://1:1\n" + rest,
          ".0;tcp4://1:1\n" + rest, "a.x;tcp4://1:1\n" + rest, "a.0\n" + rest, "a b.0;tcp4://1:1\n" + rest,
          std::string(300, 'a') + ".0;tcp4://1:1\n" + rest, uri + "4.2.2\n-7\n1:1\n", uri + "4.2.2\n0\n1:1\n",
          uri + "4.2.2\n77\n1000\n", uri + "4.2.2\n7x\n1:1\n", uri + "\n77\n1:1\n", std::string(100, '\0') + rest,
          "\x1b[2J.0;tcp4://1:1\n" + rest})
        assert_false(parse_rendezvous(bad).ok());
}

void names_with_and_without_the_domain(void **) {
    using Names = std::vector<std::string>;
    assert_true(rendezvous_names("n1", server, "slurm.1.0") ==
                (Names{"pmix.n1.tool", "pmix.n1.tool.77", "pmix.n1.tool.slurm.1.0.server", "pmix.n1.tool.slurm.1.0"}));
    auto both = rendezvous_names("n1.site.org", server, "slurm.1.0");
    assert_int_equal(both.size(), 8);
    assert_string_equal(both[0].c_str(), "pmix.n1.tool");
    assert_string_equal(both[4].c_str(), "pmix.n1.site.org.tool");
    assert_int_equal(rendezvous_names("n1", server, server.nspace).size(), 3); // of a server of somebody else's
}

void one_file_of_many_names_for_its_user_alone(void **) {
    Directory directory;
    mode_t before = umask(0);
    auto written = write_rendezvous_files(directory.path, {"one", "other"}, "text");
    umask(before);
    assert_true(written.ok());
    for (const char *name : {"one", "other"}) {
        std::string path = directory.path + "/" + name;
        struct stat file {};
        assert_int_equal(lstat(path.c_str(), &file), 0);
        assert_int_equal(file.st_mode, S_IFREG | 0600);
        assert_string_equal(read_small_file(path)->c_str(), "text");
    }
}

void nothing_of_others_is_written_to(void **) {
    Directory directory;
    std::string there = directory.path + "/one";
    std::ofstream(there) << "before";
    auto written = write_rendezvous_files(directory.path, {"one"}, "text");
    assert_false(written.ok());
    assert_non_null(strstr(written.failure().text.c_str(), there.c_str()));
    assert_string_equal(read_small_file(there)->c_str(), "before");
    Directory other;
    assert_int_equal(symlink(there.c_str(), (other.path + "/rendezvous").c_str()), 0);
    assert_false(write_rendezvous_files(other.path, {"two"}, "text").ok());
    assert_string_equal(read_small_file(there)->c_str(), "before");
    assert_false(write_rendezvous_files(directory.path + "/none", {"one"}, "text").ok());
}

void the_systems_file_is_for_everybody_and_goes(void **) {
    Directory directory;
    auto name = [&](const char *end) { return directory.path + "/pmix.sys." + end; };
    {
        std::ofstream(name("login")) << "of one that was killed";
        auto files = SystemFiles::write(directory.path, "login.example.org", "text\n");
        assert_true(files.ok());
        for (const char *end : {"login", "login.example.org"}) {
            struct stat status {};
            assert_int_equal(stat(name(end).c_str(), &status), 0);
            assert_int_equal(status.st_mode & 07777, 0644);
            assert_string_equal(read_small_file(name(end))->c_str(), "text\n");
        }
        // The next one has taken this place.
        std::ofstream(name("next")) << "the next one's";
        std::filesystem::rename(name("next"), name("login"));
    }
    assert_string_equal(read_small_file(name("login"))->c_str(), "the next one's");
    assert_false(std::filesystem::exists(name("login.example.org")));
    assert_int_equal(std::distance(std::filesystem::directory_iterator(directory.path), {}), 1);
    // A link leads nowhere: it is replaced.
    unlink(name("login").c_str());
    assert_int_equal(symlink((directory.path + "/elsewhere").c_str(), name("login").c_str()), 0);
    assert_true(SystemFiles::write(directory.path, "login", "text\n").ok());
    assert_false(std::filesystem::exists(directory.path + "/elsewhere"));
}

void the_systems_file_is_renewed(void **) {
    Directory directory;
    std::string file = directory.path + "/pmix.sys.login";
    auto files = SystemFiles::write(directory.path, "login", "text\n");
    assert_true(files.ok());
    struct stat status {};
    const timespec old[2]{};
    assert_int_equal(utimensat(AT_FDCWD, file.c_str(), old, 0), 0);
    assert_true(files->renew().ok());
    assert_int_equal(stat(file.c_str(), &status), 0);
    assert_true(status.st_mtim.tv_sec > 0 && status.st_atim.tv_sec > 0);
    unlink(file.c_str());
    assert_true(files->renew().ok());
    assert_string_equal(read_small_file(file)->c_str(), "text\n");
    // Somebody else's is told, and left alone.
    std::ofstream(directory.path + "/next") << "the next one's";
    std::filesystem::rename(directory.path + "/next", file);
    assert_true(files->renew().failure().kind == ErrorKind::exists);
    assert_string_equal(read_small_file(file)->c_str(), "the next one's");
}

void an_offer_is_read_as_it_was_made(void **) {
    ToolOffer offer{"slurm.1.0.server", 3, "4.2.2", "slurm.1.0", "/var/tmp/a b"};
    auto read = ToolOffer::parse(offer.text());
    assert_true(read.ok());
    assert_string_equal(read->text().c_str(), offer.text().c_str());
    assert_string_equal(read->base.c_str(), "/var/tmp/a b");
    offer.base.clear(); // for who starts a launcher alone
    assert_true(ToolOffer::parse(offer.text())->base.empty());
    for (const char *wrong : {"", "a", "a 1 b c", "a x b c /tmp", "a -1 b c /tmp", "a/b 1 b c /tmp", "a 1 b ../c /tmp",
                              "a 1 b c tmp", "a;b 1 b c /tmp", "a 99999999999 b c /tmp"})
        assert_false(ToolOffer::parse(wrong).ok());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(five_lines),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_makes_no_sense_is_no_server),
        cmocka_unit_test(names_with_and_without_the_domain),
        cmocka_unit_test(one_file_of_many_names_for_its_user_alone),
        cmocka_unit_test(nothing_of_others_is_written_to),
        cmocka_unit_test(the_systems_file_is_for_everybody_and_goes),
        cmocka_unit_test(the_systems_file_is_renewed),
        cmocka_unit_test(an_offer_is_read_as_it_was_made),
    };
    return cmocka_run_group_tests_name("rendezvous files", tests, nullptr, nullptr);
}
