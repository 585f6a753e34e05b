// The task map, its list of programs and the file of --multi-prog. The first byte chooses.
#include "plugins/slurm/base/task_map.h"
#include "plugins/slurm/base/app_list.h"
#include "plugins/slurm/shim/multi_prog.h"
#include "test/fuzz/fuzz.h"

using namespace pmixhost;
using namespace pmixhost::slurm;

int fuzz_rounds() {
    return 1'500; // some of them are of a million tasks
}

std::vector<std::string> fuzz_seeds() {
    TaskMap map;
    map.job_id = 12;
    map.component_jobs = {12, 13};
    map.start_key = "login-7-99";
    map.host_list = "n[1-4]";
    map.ranks_by_host = {{0, 1, 2, 8}, {3, 4, 5}, {}, {6, 7, 9}};
    map.apps = {{{"/bin/a", "x y"}, {0, 1, 2, 3, 4}}, {{"b"}, {5, 6, 7, 8, 9}}};
    std::string text = *encode_task_map(map);
    return {"m" + text, "m" + text.substr(0, text.find(" job=")) + " hosts=n1 ranks=0+4x10000:(1x3,39997)x31,1x3",
            "a" + *encode_apps(map.apps), "a*:a,b", "f0-1 a 'b c' %t \\\n x\n* b\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
    if (data[0] == 'a') {
        if (auto apps = decode_apps(text, 1000))
            (void)covers_each_rank(*apps, 10);
    } else if (data[0] == 'f') {
        auto apps = parse_multi_prog(text, 10, {"more"});
        fuzz_expect(!apps || covers_each_rank(*apps, 10));
        if (apps)
            fuzz_expect(decode_apps(*encode_apps(*apps), 10).ok());
    } else if (auto map = decode_task_map(text)) {
        auto encoded = encode_task_map(*map);
        if (encoded) {
            auto again = decode_task_map(*encoded);
            fuzz_expect(again && again->ranks_by_host == map->ranks_by_host);
        }
        (void)JobMap::create(std::vector<std::string>(map->ranks_by_host.size(), "n"), std::move(map->ranks_by_host));
    }
    return 0;
}
