// cmocka for C++ tests: its header wants these first, and C linkage.
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
