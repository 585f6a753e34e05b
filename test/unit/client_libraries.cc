// Processes whose PMIx library is not the daemon's, and what the user reads of them.
#include "server-glue/step/client_libraries.h"

#include "common/base/unique_fd.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

struct Notes final : RmUserNotes {
    void tell_user(UserNote note, std::function<void(Result<void>)>) override { told.push_back(std::move(note)); }
    std::vector<UserNote> told;
};

struct Fixture {
    UniqueFd nowhere{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
    Log log{nowhere.get(), LogLevel::error, "test"};
    Notes notes;
    ClientLibraries libraries{log, &notes, "n1", {4, 2, 2}};
    std::optional<Rank> of_all() const {
        return libraries.first_with_other_groups([](Rank) { return true; });
    }
};

void the_same_library_is_no_word_worth(void **) {
    Fixture f;
    f.libraries.let_in(0, {4, 2, 2});
    f.libraries.let_in(1, {4, 2, 3}); // another one that writes alike
    assert_false(f.of_all().has_value());
    f.libraries.tell_of_groups(0);
    assert_true(f.notes.told.empty());
}

void who_writes_otherwise_is_found_among_those_that_ask(void **) {
    Fixture f;
    f.libraries.let_in(3, {5, 0, 7});
    f.libraries.let_in(7, {5, 0, 7});
    assert_int_equal(*f.of_all(), 3);
    assert_int_equal(*f.libraries.first_with_other_groups([](Rank rank) { return rank > 3; }), 7);
    assert_false(f.libraries.first_with_other_groups([](Rank rank) { return rank == 2; }).has_value());
    f.libraries.let_in(3, {4, 2, 2}); // the task's next program
    assert_int_equal(*f.of_all(), 7);
}

void the_user_is_told_once(void **) {
    Fixture f;
    f.libraries.let_in(3, {5, 0, 7});
    for (int i = 0; i < 3; ++i) {
        f.libraries.tell_of_groups(3);
        f.libraries.turned_away(4, "it claims uid 0\nand is of uid 1000" + std::string(2000, 'x'));
    }
    assert_int_equal(f.notes.told.size(), 2);
    const UserNote &groups = f.notes.told[0], &away = f.notes.told[1];
    assert_true(groups.subject == UserNote::Subject::groups_of_versions);
    for (const char *word : {"n1: ", "PMIx_Group_construct", "rank 3", "is 5.0.7", "is 4.2.2", "container",
                             "library older than 4.2.4 for the program", "built with one from 4.2.4 to 5"})
        assert_non_null(strstr(groups.line.c_str(), word));
    assert_true(away.subject == UserNote::Subject::turned_away);
    assert_non_null(strstr(away.line.c_str(), "n1: PMIx_Init of rank 4 is refused: it claims uid 0?and"));
    assert_true(away.line.size() < 800 && away.line.find('\n') == std::string::npos);
}

void without_a_way_to_the_user_there_is_the_log(void **) {
    Fixture f;
    ClientLibraries libraries(f.log, nullptr, "n1", {5, 0, 7});
    libraries.let_in(0, {4, 2, 2});
    libraries.tell_of_groups(0);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_same_library_is_no_word_worth),
        cmocka_unit_test(who_writes_otherwise_is_found_among_those_that_ask),
        cmocka_unit_test(the_user_is_told_once),
        cmocka_unit_test(without_a_way_to_the_user_there_is_the_log),
    };
    return cmocka_run_group_tests_name("libraries of clients", tests, nullptr, nullptr);
}
