# shellcheck shell=bash
# What contrib/check does at the same time: tests that wait most of their time leave the processors to
# compilers. For sourcing; it needs $work.
#   lane NAME NICENESS COMMAND ...   begins; its output goes to $work/log/NAME.log
#   join NAME                        waits for it; its exit code
#   end_lanes                        ends what is still there (for the end of a run that was interrupted)
# A lane is a process group, so that all of it can be ended, and is told as the terminal would tell it.
: "${work=}"
declare -A lane_groups=()

lane() { # NAME NICENESS COMMAND ...
    local name=$1 niceness=$2
    shift 2
    set -m
    (
        set +m
        trap - EXIT INT TERM HUP
        renice -n "$niceness" -p "$BASHPID" >/dev/null || true
        "$@"
    ) >"$work/log/$name.log" 2>&1 </dev/null &
    lane_groups[$name]=$!
    set +m
}

join() { # NAME
    local group=${lane_groups[$1]} status=0
    wait "$group" || status=$?
    unset "lane_groups[$1]"
    return "$status"
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
        kill -KILL -- "-${lane_groups[$name]}" 2>/dev/null || true
    done
    lane_groups=()
}
