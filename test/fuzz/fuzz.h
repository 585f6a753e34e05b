// What a fuzz target consists of. There is one for each decoder of input that somebody hostile may have written;
// test/fuzz/README tells how they are run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

// Tries one input. What is wrong ends the process.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

// The inputs that mutations start from: made by the encoders, so that they are never of an older format.
std::vector<std::string> fuzz_seeds();

// How many mutations of the seeds `make check` tries.
int fuzz_rounds();

// Ends the process when a decoder took what it must not take, or its encoder does not agree with it.
inline void fuzz_expect(bool condition) {
    if (!condition)
        std::abort();
}
