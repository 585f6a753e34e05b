// Other people's headers that most sources use, compiled once (see contrib/fast.mk and configure's
// --disable-precompiled-headers). None of the project's own: a change of those must not compile everything.
// Every source still includes what it uses.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#if __has_include(<pmix_server.h>)
#include <pmix_server.h>
#endif

// Some programs have a libfmt of their own (FMT_HEADER_ONLY), for which gcc takes the headers that were made so;
// clang would take the others.
#ifndef __clang__
#include <fmt/format.h>
#include <fmt/ranges.h>
#endif
