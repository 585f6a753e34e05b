#!/bin/bash
# What users say in the environment of their srun: where the log of its daemons goes, and what has no effect is told.
. "$(dirname "$0")/../common/words.sh"

configure
mkdir -m 1777 "$test_dir/logs"
export PMIXHOST_LOG_LEVEL=debug PMIXHOST_LOG_FILE=$test_dir/logs/%j.%s.%n
client 2 1 hello
ok "a job whose log has a place" passed
is "each host has one" "$(find "$test_dir/logs" -name '*.0.n?' -size +0 | wc -l)" 2
is "for its user alone" "$(find "$test_dir/logs" -type f -perm 600 | wc -l)" 2
unlike "nothing of it is on the terminal" "$output" 'pmixhost'

PMIXHOST_LOG_FILE=/nowhere/log
client 2 1 hello
ok "one that has none goes on" passed
is "and its user is told, once" "$(grep -c 'pmixhost: there is no log: cannot open /nowhere/log: No such file' <<<"$output")" 1
PMIXHOST_LOG_FILE=log
client 1 1 hello
like "what is no path is refused" "$output" "PMIXHOST_LOG_FILE: log.file is \"?log\"?; allowed: an absolute path"

configure '[log]' "file = \"$test_dir/logs/site.%u.%n\""
PMIXHOST_LOG_FILE=$test_dir/logs/mine.%n
client 1 1 hello
like "a log of the site's own stays" "$output" 'PMIXHOST_LOG_FILE has no effect: log.file is set by the administrator'
is "where it is" "$(find "$test_dir/logs" -name 'site.*' -size +0 | wc -l) $(find "$test_dir/logs" -name 'mine.*')" "1 "
unset PMIXHOST_LOG_FILE PMIXHOST_LOG_LEVEL

configure
PMIXHOST_FENCE_TIMOUT=3 client 2 1 hello
is "a slip is told, once" "$(grep -c 'PMIXHOST_FENCE_TIMOUT has no effect; did you mean PMIXHOST_FENCE_TIMEOUT?' <<<"$output")" 1
ok "and does no harm" passed
ok "nothing is left" no_litter 20
done_testing
