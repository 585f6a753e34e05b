// The control channel of the local backend, cut into pieces as a socket may.
#include "common/local/local_control.h"
#include "test/fuzz/fuzz.h"

using namespace pmixhost;
using namespace pmixhost::local;

int fuzz_rounds() {
    return 50'000;
}

std::vector<std::string> fuzz_seeds() {
    return {encode_control(TaskStarted{1, 2}) + encode_control(TaskEnded{1, 256}),
            encode_control(TaskNotStarted{1, 127, "why"}) + encode_control(Terminate{}),
            encode_control(EndStep{3, "why"}),
            encode_control(DaemonFailed{"why"}),
            encode_control(Contact{1, "message"}),
            encode_control(SignalTasks{15, {0, 1, 2}, 0})};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char *>(data), size);
    std::size_t piece = size ? 1 + data[size - 1] % 64 : 1;
    ControlDecoder decoder;
    while (!text.empty()) {
        decoder.add(text.substr(0, piece));
        text.remove_prefix(std::min(piece, text.size()));
        for (;;) {
            auto message = decoder.next();
            if (!message)
                return 0;
            if (!*message)
                break;
            fuzz_expect(encode_control(**message).size() <= control_frame_limit + 8);
        }
    }
    return 0;
}
