// A fuzzer for every day and any compiler: runs the seeds of a target, then mutations of them that
// are the same in every run. With file names it runs those files instead, such as libFuzzer leaves
// behind for a crash; with --write-seeds DIR it writes the seeds for libFuzzer to begin with.
#include "test/fuzz/fuzz.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>

using namespace std::string_view_literals;

namespace {

const std::string *&current_input() {
    static const std::string *input = nullptr;
    return input;
}

// The input in printf's notation, for who wants to run it again.
void tell_and_die(int signal) {
    std::fprintf(stderr, "\n# signal %d with this input: printf '", signal);
    for (unsigned char c : *current_input())
        std::fprintf(stderr, "\\%03o", c);
    std::fprintf(stderr, "'\n");
    std::_Exit(128 + signal);
}

void run(const std::string &input) {
    current_input() = &input;
    // Of exactly this size, so that a sanitizer sees a read beyond it.
    std::vector<std::uint8_t> bytes(input.begin(), input.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

class Mutator {
  public:
    explicit Mutator(const std::vector<std::string> &seeds) : seeds_(seeds) {}

    std::string next() {
        std::string text = any_seed();
        for (unsigned n = 1 + pick(4); n > 0; --n)
            change(text);
        if (text.size() > 8192)
            text.resize(8192);
        return text;
    }

  private:
    std::size_t pick(std::size_t below) { return below ? random_() % below : 0; }
    const std::string &any_seed() { return seeds_[pick(seeds_.size())]; }
    char any_byte() {
        static constexpr std::string_view telling = "\0\1\x7f\x80\xff 0129-+x,;:=()[]{}%'\"\\\n#*e"sv; // it has a NUL
        return pick(3) ? telling[pick(telling.size())] : static_cast<char>(random_());
    }
    void change(std::string &text) {
        std::size_t at = pick(text.size() + 1), length = pick(text.size() - at + 1);
        switch (pick(8)) {
        case 0:
            text.resize(at);
            break;
        case 1:
            text.insert(at, 1 + pick(4), any_byte());
            break;
        case 2:
            text.erase(at, pick(std::min<std::size_t>(length, 8) + 1));
            break;
        case 3: // something is there twice
            text.insert(at, text.substr(at, length));
            break;
        case 4: { // the rest is another's
            const std::string &other = any_seed();
            text = text.substr(0, at) + other.substr(std::min(at, other.size()));
            break;
        }
        case 5: // one bit
            if (at < text.size())
                text[at] = static_cast<char>(text[at] ^ (1 << pick(8)));
            break;
        default:
            if (at < text.size())
                text[at] = any_byte();
        }
    }

    const std::vector<std::string> &seeds_;
    std::mt19937 random_{20'260};
};

std::string content_of(const char *path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path);
        std::exit(2);
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

#ifndef PMIXHOST_LIBFUZZER // it has a main() of its own
int main(int argc, char **argv) {
    std::signal(SIGABRT, tell_and_die);
    std::signal(SIGSEGV, tell_and_die);
    std::vector<std::string> seeds = fuzz_seeds();
    if (argc == 3 && std::string_view(argv[1]) == "--write-seeds") {
        for (std::size_t i = 0; i < seeds.size(); ++i)
            std::ofstream(std::string(argv[2]) + "/seed" + std::to_string(i), std::ios::binary) << seeds[i];
        return 0;
    }
    for (int i = 1; i < argc; ++i)
        run(content_of(argv[i]));
    if (argc > 1)
        return 0;
    std::printf("1..2\n");
    for (const auto &seed : seeds)
        run(seed);
    std::printf("ok 1 - the seeds\n");
    std::fflush(stdout);
    Mutator mutator(seeds);
    std::string input;
    for (int round = 0; round < fuzz_rounds(); ++round)
        run(mutator.next());
    std::printf("ok 2 - %d mutations\n", fuzz_rounds());
}
#endif
