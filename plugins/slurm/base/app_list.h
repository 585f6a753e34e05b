// The programs of a step as a word of the task map (`apps=`, see task_map.h): which ranks run which
// command line. Read from what the user's own processes wrote, so within bounds.
//
//   RANKS:ARG,ARG,...;RANKS:ARG,...     one entry per program, in order
//   RANKS                               a program whose command line is not known
//
// RANKS is `*` (all, with one program only) or a list of ranks and ranges, `0-3,7`. In ARG, every
// byte that is not a letter, a digit or one of -_./=+@ is %XX.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::slurm {

inline constexpr std::size_t max_apps = 16'384;
inline constexpr std::size_t max_app_arguments = 65'536; // of all programs of a step
// Command lines that are longer than this in all are left out: they only inform.
inline constexpr std::size_t max_app_text = 256u << 10;

// Empty for no programs, and for a single one whose command line is not known. Fails (limit) for too many programs.
Result<std::string> encode_apps(const std::vector<App> &apps);
// Ranks are below `max_ranks`, and no more than that in all. Fails (invalid, limit).
Result<std::vector<App>> decode_apps(std::string_view text, std::size_t max_ranks);

// Whether each of the ranks 0..count-1 runs exactly one of the programs.
bool covers_each_rank(const std::vector<App> &apps, std::size_t count);

} // namespace pmixhost::slurm
