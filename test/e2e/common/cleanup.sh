#!/bin/bash
# What is to be removed when a process or its job ends: libpmix does it, in the daemon.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

litter=$test_dir/litter
as_its_user() {
    if [[ $backend == slurm ]]; then run "$@"; else "$@"; fi
}
# A tree with files, a directory with a file, an empty one, and a way out of it.
grow() {
    rm -rf "$litter" "$test_dir/outside"
    mkdir -m 1777 "$litter"
    # shellcheck disable=SC2016 # for the other shell
    as_its_user bash -c 'cd "$1" && mkdir tree outside tree/sub tree/empty &&
        touch file other tree/a tree/keep tree/sub/b outside/treasure && ln -s ../outside tree/way' - "$litter"
}
gone() { local path; for path in "$@"; do [[ ! -e $litter/$path ]] || return 1; done; }
there() { local path; for path in "$@"; do [[ -e $litter/$path ]] || return 1; done; }
soon_gone() { until_true 30 gone "$@"; } # the daemon may still be at it when the job has ended
# cleanup SHAPE ARGUMENT ...: of the client, with paths in $litter
cleanup() {
    local shape=$1
    shift
    client "${shape%x*}" "${shape#*x}" cleanup "${@//@/$litter/}"
}

grow
cleanup 1x2 self exit ok @file file=@file
ok "a file goes when its process ends, not with the job" eval "all_ok 2 && gone file && there other"
grow
cleanup 1x2 self exit ok @other file=@file,@other
ok "a list of files" eval "all_ok 2 && gone file other"
for whose in job null; do
    grow
    cleanup 1x2 $whose exit ok @file file=@file
    ok "a file goes when the job ends, not before: $whose" eval "all_ok 2 && soon_gone file && there other"
    grow
    cleanup 2x1 $whose exit ok - file=@file
    ok "the same with a second host: $whose" eval "all_ok 2 && soon_gone file && there other"
done
grow
cleanup 1x2 self kill ok - file=@file
ok "a file of a process that is killed" soon_gone file
# Its daemon leaves right after it.
grow
cleanup 2x1 self kill ok - file=@file
ok "a file of a process that is killed, the last one of its host" soon_gone file
grow
cleanup 1x2 job kill ok - file=@file
ok "a file of a job of which a process is killed" soon_gone file
grow
cleanup 1x2 self exit ok @tree/a dir=@tree
ok "a directory: its files, not those below" eval "all_ok 2 && gone tree/a tree/keep && there tree/sub/b"
grow
rm -f "$litter/tree/way"
cleanup 1x2 self exit ok @tree dir=@tree recursive
ok "a directory with all that is in it" eval "all_ok 2 && gone tree && there file outside/treasure"
grow
rm -f "$litter/tree/way"
cleanup 1x2 self exit ok @tree/sub dir=@tree recursive leave
ok "the same, but for the directory itself" eval "all_ok 2 && gone tree/a tree/sub tree/empty && there tree"
if ((EUID == 0)); then
    grow
    rm -f "$litter/tree/way"
    touch "$litter/tree/foreign" "$litter/foreign"
    chown 60009:60009 "$litter/tree/foreign" "$litter/foreign"
    cleanup 1x2 self exit ok @tree/a dir=@tree file=@foreign recursive
    ok "what is another user's stays" eval "all_ok 2 && gone tree/sub && there foreign tree/foreign"
fi
grow
cleanup 1x2 self exit ok @tree/a dir=@tree recursive
ok "what a link in the directory leads to stays" eval "all_ok 2 && there outside/treasure"
grow
cleanup 1x2 self exit refused - dir=@tree empty
ok "only empty ones: 4.2.2 does not know it, and it is refused" all_ok 2
grow
cleanup 1x2 self exit ok @tree/a dir=@tree ignore=@tree/keep recursive
ok "a file that is to be kept" eval "all_ok 2 && gone tree/a tree/sub && there tree/keep"
grow
cleanup 1x2 self exit conflict - file=@file ignore=@file
ok "to remove and to keep the same is a conflict" all_ok 2
done_testing
