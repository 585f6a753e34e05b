// What a process writes to its standard output goes to a file, and on to where it went as well if that is wanted.
#include "common/process/output_file.h"
#include "common/start/task_output.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

struct Directory {
    std::string path = "/tmp/pmixhost-unit-XXXXXX";
    Directory() { assert_non_null(mkdtemp(path.data())); }
    ~Directory() { std::filesystem::remove_all(path); }
};

std::string content(const std::string &path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

struct Done {
    std::string printed; // until nobody had the old destination any more
    int code = -1;
};

// A process whose standard output leads to `path`; it then does `work`, whose result is its exit code. With a copy this
// process has a second one make it, as a daemon does.
Done run(const std::string &path, bool copy, const std::function<int()> &work) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (!copy) {
            auto led = lead_to_file(STDOUT_FILENO, path);
            _exit(led ? work() : 78);
        }
        auto led = lead_to_copy(STDOUT_FILENO, path);
        if (!led)
            _exit(78);
        if (fork() == 0) {
            dup2(led->writers.get(), copy_writers);
            dup2(led->old_destination.get(), copy_old_destination);
            dup2(led->file.get(), copy_file);
            closefrom(copy_file + 1);
            copy_output();
            _exit(0);
        }
        *led = {};
        _exit(work());
    }
    close(ends[1]);
    Done done;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        done.printed.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    done.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return done;
}

int write_out(const std::string &text) {
    for (std::size_t done = 0; done < text.size();) {
        ssize_t n = write(STDOUT_FILENO, text.data() + done, text.size() - done);
        if (n <= 0)
            return 1;
        done += static_cast<std::size_t>(n);
    }
    return 0;
}

std::string many_bytes() {
    std::string bytes;
    for (unsigned i = 0; i < 700'000; ++i)
        bytes += static_cast<char>(i * 2'654'435'761u >> 24);
    return bytes;
}

void all_goes_to_the_file(void **) {
    Directory directory;
    std::string path = directory.path + "/a/b/out", bytes = many_bytes();
    auto done = run(path, false, [&] { return write_out(bytes); });
    assert_int_equal(done.code, 0);
    assert_true(done.printed.empty());
    assert_true(content(path) == bytes);
    assert_int_equal(run(path, false, [] { return write_out("anew"); }).code, 0);
    assert_string_equal(content(path).c_str(), "anew");
}

void a_copy_goes_on(void **) {
    Directory directory;
    std::string path = directory.path + "/out", bytes = many_bytes();
    auto done = run(path, true, [&] { return write_out(bytes); });
    assert_int_equal(done.code, 0);
    assert_true(done.printed == bytes);
    assert_true(content(path) == bytes);
}

// A script's `echo >/dev/stderr` opens it anew.
void who_opens_it_again_leaves_no_hole(void **) {
    Directory directory;
    std::string path = directory.path + "/out";
    assert_int_equal(run(path, false,
                         [&path] {
                             int again = open(path.c_str(), O_WRONLY | O_APPEND);
                             return write_out("one ") + (write(again, "two ", 4) != 4) + write_out("three");
                         })
                         .code,
                     0);
    assert_string_equal(content(path).c_str(), "one two three");
}

void a_full_disk_is_told_once(void **) {
    auto done = run("/dev/full", true, [] { return write_out("one\n") + write_out("two\n") + write_out("three\n"); });
    assert_int_equal(done.code, 0);
    std::string told = "pmixhost: cannot write /dev/full: No space left on device; what follows is not in it\n";
    std::size_t at = done.printed.find(told);
    assert_true(at != std::string::npos);
    assert_true(done.printed.find(told, at + 1) == std::string::npos);
    done.printed.erase(at, told.size());
    assert_string_equal(done.printed.c_str(), "one\ntwo\nthree\n");
}

void what_cannot_be_opened_is_refused(void **) {
    assert_int_equal(run("/proc/none/out", true, [] { return 0; }).code, 78);
    Directory directory;
    std::ofstream(directory.path + "/file") << "x";
    assert_int_equal(run(directory.path + "/file/out", false, [] { return 0; }).code, 78);
    auto refused = lead_to_file(STDOUT_FILENO, directory.path + "/file/out");
    assert_string_equal(refused.failure().text.c_str(), (directory.path + "/file/out: Not a directory").c_str());
}

void files_have_the_standards_names(void **) {
    using Place = TaskOutput::Place;
    auto name = [](Place place, const char *path) { return output_file({place, path, false}, "ns.1", 12, "stderr"); };
    assert_string_equal(name(Place::nowhere, "x").c_str(), "");
    assert_string_equal(name(Place::file, "/d/out").c_str(), "/d/out.ns.1.12.stderr");
    assert_string_equal(name(Place::file, "%n").c_str(), "%n.ns.1.12.stderr");
    assert_string_equal(name(Place::directory, "d").c_str(), "d/ns.1/rank.12/stderr");
    assert_string_equal(name(Place::pattern, "%r/%n-%r%x%").c_str(), "12/ns.1-12%x%.stderr");
    assert_string_equal(name(Place::pattern, "same").c_str(), "same.stderr");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(all_goes_to_the_file),
        cmocka_unit_test(a_copy_goes_on),
        cmocka_unit_test(who_opens_it_again_leaves_no_hole),
        cmocka_unit_test(a_full_disk_is_told_once),
        cmocka_unit_test(what_cannot_be_opened_is_refused),
        cmocka_unit_test(files_have_the_standards_names),
    };
    return cmocka_run_group_tests_name("output file", tests, nullptr, nullptr);
}
