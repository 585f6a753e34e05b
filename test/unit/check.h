// cmocka for C++ tests: its header wants C linkage, and the headers before it.
#pragma once

// clang-format off
#include <cstdarg>
#include <cstddef>
#include <csetjmp>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
// clang-format on

#undef stop // a macro of cmocka 2, and a word of ours (EventLoop::stop)
