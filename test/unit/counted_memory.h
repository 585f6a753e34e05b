// new and delete for a test: they count what a thread takes, and can run out of memory. Include it once in a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace pmixhost {

// What the calling thread has taken: how often, how many bytes in all, and at most at once. `fails_at`: the
// allocation, counted from 0, that fails; negative: none does. `failed`: it has failed.
inline thread_local std::size_t allocations = 0, taken_bytes = 0, largest_taken = 0;
inline thread_local long fails_at = -1;
inline thread_local bool failed = false;

} // namespace pmixhost

// These are not inlined, because new and free would then look like a mismatch to the compiler.
[[gnu::noinline]] void *operator new(std::size_t size) {
    using namespace pmixhost;
    ++allocations;
    taken_bytes += size;
    largest_taken = std::max(largest_taken, size);
    if (fails_at >= 0 && fails_at-- == 0) {
        failed = true;
        throw std::bad_alloc();
    }
    if (void *memory = std::malloc(size))
        return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}
