# shellcheck shell=bash
# What contrib/check does at the same time: tests that wait most of their time leave the processors to
# compilers. For sourcing; it needs $work.
#   lane NAME NICENESS COMMAND ...   begins; its output goes to $work/log/NAME.log
#   join NAME                        waits for it; its exit code
#   ordinary_priority                in a lane: from here on it is not behind the others
#   end_lanes                        ends what is still there (for the end of a run that was interrupted)
# A lane is a session of its own, with this one's functions and what they know: all of it can be ended, and one with a
# niceness is really behind the others, where Linux shares the processors among sessions first (sched(7), autogroup).
: "${work=}"
declare -A lane_groups=()

lane() { # NAME NICENESS FUNCTION [ARGUMENT ...]
    local name=$1 niceness=$2 state
    shift 2
    # shellcheck disable=SC2154 # of who sources this
    state=$(declare -f && declare -p work source me jobs build test_flags test_helpers only other other_cache 2>/dev/null) || true
    # shellcheck disable=SC2016 # for the shell inside
    setsid nice -n "$niceness" bash -c 'set -euo pipefail
        { echo "$1" >/proc/self/autogroup; } 2>/dev/null || true
        eval "$2"
        "${@:3}"' lane "$niceness" "$state" "$@" >"$work/log/$name.log" 2>&1 </dev/null &
    lane_groups[$name]=$!
}

join() { # NAME
    local group=${lane_groups[$1]} status=0
    wait "$group" || status=$?
    unset "lane_groups[$1]"
    return "$status"
}

# Who may not raise it (only root may, and not in each container) goes on as before.
ordinary_priority() {
    renice -n 0 -p "$$" || true
    { echo 0 >/proc/self/autogroup; } 2>/dev/null || true
}

end_lanes() {
    local name tenths
    for name in "${!lane_groups[@]}"; do
        kill -TERM -- "-${lane_groups[$name]}" 2>/dev/null || true
        wait "${lane_groups[$name]}" 2>/dev/null || true
        # A runner takes its cluster down first; that is bounded.
        for ((tenths = 0; tenths < 600; tenths++)); do
            kill -0 -- "-${lane_groups[$name]}" 2>/dev/null || break
            sleep 0.1
        done
        # timeout(1) makes groups of its own.
        pkill -TERM -s "${lane_groups[$name]}" || true
        for ((tenths = 0; tenths < 100; tenths++)); do
            pgrep -s "${lane_groups[$name]}" >/dev/null || break
            sleep 0.1
        done
        pkill -KILL -s "${lane_groups[$name]}" || true
    done
    lane_groups=()
}
