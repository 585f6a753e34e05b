// The task map: every distribution comes back as it went in, at full size, and what a hostile user
// may put there instead is refused within bounds.
#include "plugins/slurm/base/task_map.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "test/unit/check.h"
#include "test/unit/slurm_map_head.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using Ranks = std::vector<std::vector<Rank>>;

static Ranks block(std::size_t hosts, std::size_t per_host) {
    Ranks ranks(hosts);
    for (std::size_t r = 0; r < hosts * per_host; ++r)
        ranks[r / per_host].push_back(static_cast<Rank>(r));
    return ranks;
}
static Ranks cyclic(std::size_t hosts, std::size_t per_host) {
    Ranks ranks(hosts);
    for (std::size_t r = 0; r < hosts * per_host; ++r)
        ranks[r % hosts].push_back(static_cast<Rank>(r));
    return ranks;
}
static Ranks plane(std::size_t hosts, std::size_t per_host, std::size_t size) {
    Ranks ranks(hosts);
    for (std::size_t r = 0; r < hosts * per_host; ++r)
        ranks[r / size % hosts].push_back(static_cast<Rank>(r));
    return ranks;
}
// As Slurm fills hosts of different sizes one task at a time.
static Ranks cyclic_uneven(const std::vector<std::size_t> &sizes) {
    Ranks ranks(sizes.size());
    Rank next = 0;
    for (bool any = true; any;) {
        any = false;
        for (std::size_t h = 0; h < sizes.size(); ++h) {
            if (ranks[h].size() < sizes[h]) {
                ranks[h].push_back(next++);
                any = true;
            }
        }
    }
    return ranks;
}

static TaskMap map_of(Ranks ranks) {
    TaskMap map;
    map.job_id = 12;
    map.step_id = 3;
    map.host_list = "n[1-4]";
    map.ranks_by_host = std::move(ranks);
    return map;
}

// Returns the size of the text.
static std::size_t round_trip(Ranks ranks) {
    TaskMap map = map_of(ranks);
    auto text = encode_task_map(map);
    assert_true(text.ok());
    auto back = decode_task_map(*text);
    if (!back)
        fail_msg("%s", back.failure().text.c_str());
    assert_true(back->ranks_by_host == ranks);
    return text->size();
}

static void every_distribution_comes_back(void **) {
    round_trip({{0}});
    round_trip(block(4, 3));
    round_trip(cyclic(4, 3));
    round_trip(plane(4, 8, 3));
    round_trip(plane(3, 7, 4));
    round_trip({{0, 1, 2}, {3}, {4, 5}});
    round_trip(cyclic_uneven({3, 1, 2, 5, 5}));
    round_trip({{2, 5}, {}, {}, {0, 1}, {3, 4}, {}});
    round_trip({{5, 2, 0}, {4, 1, 3}}); // descending: not Slurm's, but no matter
    round_trip({{2, 3}, {0, 1}});       // hosts in het order
}

static void arbitrary_lists_come_back(void **) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::size_t hosts = 1 + random() % 20, count = 1 + random() % 200;
        Ranks ranks(hosts);
        std::vector<Rank> all(count);
        std::iota(all.begin(), all.end(), 0u);
        if (round % 2)
            std::shuffle(all.begin(), all.end(), random);
        for (Rank rank : all)
            ranks[random() % (round % 3 ? hosts : 1 + hosts / 2)].push_back(rank);
        round_trip(std::move(ranks));
    }
}

static void regular_steps_are_small_at_full_size(void **) {
    assert_true(round_trip(block(10'000, 128)) < 100);
    assert_true(round_trip(cyclic(10'000, 128)) < 100);
    assert_true(round_trip(plane(10'000, 128, 4)) < 120);
    assert_true(round_trip(plane(9'999, 127, 5)) < 600);
    std::vector<std::size_t> sizes;
    std::mt19937 random(1);
    for (int h = 0; h < 10'000; ++h)
        sizes.push_back(random() % 2 ? 64 : 128);
    assert_true(round_trip(cyclic_uneven(sizes)) < 512u << 10);
}

static void too_irregular_is_refused_with_advice(void **) {
    std::vector<Rank> all(1'280'000);
    std::iota(all.begin(), all.end(), 0u);
    std::mt19937 random(1);
    std::shuffle(all.begin(), all.end(), random);
    Ranks ranks(10'000);
    for (std::size_t i = 0; i < all.size(); ++i)
        ranks[i / 128].push_back(all[i]);
    auto text = encode_task_map(map_of(std::move(ranks)));
    assert_false(text.ok());
    assert_true(text.failure().kind == ErrorKind::limit);
    assert_non_null(strstr(text.failure().text.c_str(), "distribution"));
}

static void every_field_comes_back(void **) {
    TaskMap map = map_of(block(2, 2));
    map.component_jobs = {12, 13, 15};
    map.start_key = "login-7-99";
    map.cluster = "big";
    map.first_rank = 2;
    map.distribution = "block";
    map.binding = "core";
    map.allocated_hosts = "n[1-9],m7";
    map.allocated_cpus = "4(x2),8";
    map.process_sets = {{"ocean", {0, 1, 3}}, {"mpi://é", {2}}};
    auto text = encode_task_map(map);
    assert_true(text.ok());
    auto back = decode_task_map(*text);
    assert_true(back.ok());
    assert_int_equal(back->job_id, 12);
    assert_int_equal(back->step_id, 3);
    assert_true(back->component_jobs == map.component_jobs);
    assert_string_equal(back->start_key.c_str(), "login-7-99");
    assert_string_equal(back->cluster.c_str(), "big");
    assert_int_equal(back->first_rank, 2);
    assert_string_equal(back->distribution.c_str(), "block");
    assert_string_equal(back->binding.c_str(), "core");
    assert_string_equal(back->allocated_hosts.c_str(), "n[1-9],m7");
    assert_string_equal(back->allocated_cpus.c_str(), "4(x2),8");
    assert_true(back->process_sets == map.process_sets);
    map.process_sets = {{"ocean", {4}}}; // there are four
    assert_false(decode_task_map(*encode_task_map(map)).ok());
    map.allocated_hosts = "n1 n2";
    assert_false(encode_task_map(map).ok());
}

static const std::string begin = map_head();

// While pmixhost is being installed on one host after the other, srun may have another one.
static void another_pmixhost_is_told_so(void **) {
    assert_true(decode_task_map(begin + " hosts=n1 ranks=0").ok());
    std::string other = fmt::format("pmixhost2 version=99.1 wire={:x}", wire::wire_version());
    assert_true(decode_task_map(other + " hosts=n1 ranks=0").ok()); // another version that speaks the same
    struct {
        std::string map, there;
    } others[] = {
        {"", "another one"},
        {"pmixhost1 job=1 step=0 hosts=n1 ranks=0", "another one"},
        {"pmixhost3 version=9", "another one"},
        {"pmixhost2 version=99.1 wire=1 hosts=n1 ranks=0", "99.1"},
        {other.substr(0, other.size() - 1) + " hosts=n1 ranks=0", "99.1"},
        {other + "0 news=1", "99.1"},
        {"pmixhost2 version=99\n wire=1", "another one"},
        {"pmixhost2 version=" + std::string(100, 'v') + " wire=1", "another one"},
        {"pmixhost2 wire=1 version=2", "another one"},
    };
    for (const auto &[map, there] : others) {
        auto refused = decode_task_map(map);
        assert_false(refused.ok());
        assert_true(refused.failure().kind == ErrorKind::unsupported);
        assert_non_null(
            std::strstr(refused.failure().text.c_str(), fmt::format("srun where it was started {},", there).c_str()));
    }
}

static void hostile_maps_are_refused(void **) {
    const char *maps[] = {
        "",
        " ",
        "x",
        " hosts=n1",
        " ranks=0",
        " hosts=n1 ranks=",
        " hosts=n1 ranks=0 ranks=0",
        "  hosts=n1 ranks=0",
        " hosts=n1 ranks=0 ",
        " hosts=n1 ranks=0;",
        " hosts=n1 evil=1 ranks=0",
        " job=-1 hosts=n1 ranks=0",
        " job=4294967296 hosts=n1 ranks=0",
        " hosts=n1\t ranks=0",
        " jobs=1,x hosts=n1 ranks=0",
    };
    for (const char *map : maps)
        assert_false(decode_task_map(begin + map).ok());
    const char *ranks[] = {
        "-1",
        "0:",
        "0:-1",
        "0:1x",
        "0:1x0",
        "0:(1",
        "0:(1)",
        "0:(1)x",
        "0:()x2",
        "0:((1)x2)x2",
        "0:1x99999999",
        "0:(1x1000000)x1000000",
        "0:(1,1)x4294967295",
        "0+1x4294967295",
        "0+1x131073",
        "0+1",
        "0+x2",
        "0+-1x2",
        "5-1x9",
        "ex131073",
        "ex0",
        "ex",
        "e:1",
        "0+1x100000:1x1000",
        "99999999",
        "4294967296",
        "18446744073709551616",
        "0:4294967295",
        "0:9223372036854775807,9223372036854775807",
        "0;;1",
        "0x3",
        "\xff",
        "0:1x8388607;0:1x8388607",
    };
    for (const char *text : ranks) {
        auto map = decode_task_map(begin + " hosts=n1 ranks=" + text);
        if (map)
            fail_msg("taken: %s", text);
    }
}

static void garbled_maps_harm_nothing(void **) {
    auto text = encode_task_map(map_of(plane(12, 8, 3)));
    assert_true(text.ok());
    std::mt19937 random(3);
    for (int round = 0; round < 20'000; ++round) {
        std::string garbled = *text;
        for (unsigned n = 1 + random() % 3; n > 0; --n)
            garbled[random() % garbled.size()] = "0123456789x(),;:+-e= n"[random() % 22];
        if (round % 4 == 0)
            garbled.resize(random() % garbled.size());
        auto map = decode_task_map(garbled); // bounded, whatever the outcome
        if (map)
            (void)JobMap::create(std::vector<std::string>(map->ranks_by_host.size(), "n"), map->ranks_by_host);
    }
}

static void long_texts_are_cut_for_the_environment(void **) {
    std::string text(max_environment_value * 2 + 5, 'a');
    auto pieces = split_for_environment(text);
    assert_int_equal(pieces.size(), 3);
    assert_int_equal(pieces[2].size(), 5);
    assert_memory_equal(pieces[0].data(), "3 aaa", 5);
    assert_string_equal(task_map_variable(2).c_str(), "PMIXHOST_STEP_2");
    assert_true(split_for_environment(std::string(TaskMap::max_text, 'a')).size() <= max_environment_pieces);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_distribution_comes_back),
        cmocka_unit_test(arbitrary_lists_come_back),
        cmocka_unit_test(regular_steps_are_small_at_full_size),
        cmocka_unit_test(too_irregular_is_refused_with_advice),
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(another_pmixhost_is_told_so),
        cmocka_unit_test(hostile_maps_are_refused),
        cmocka_unit_test(garbled_maps_harm_nothing),
        cmocka_unit_test(long_texts_are_cut_for_the_environment),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
