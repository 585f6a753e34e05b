# shellcheck shell=bash
# Which scripts a runner runs: the one meaning of --only. For sourcing.

# chosen PATTERNS FOLDER ...: prints the scripts of the folders whose name contains one of the patterns, which
# commas separate and in which * ? [] mean what they mean for file names; all when there is none. False when no
# script is chosen.
chosen() {
    local only=$1 folder script name pattern patterns found=''
    shift
    IFS=, read -r -a patterns <<<"${only:-*}"
    for folder in "$@"; do
        for script in "$folder"/*.sh; do
            name=${script##*/} name=${name%.sh}
            [[ -f $script && $name != words ]] || continue
            for pattern in "${patterns[@]}"; do
                # shellcheck disable=SC2053 # a pattern
                [[ $name == *$pattern* ]] || continue
                echo "$script"
                found=yes
                break
            done
        done
    done
    [[ -n $found ]]
}
