#!/bin/sh
# Prints the lines of seen_environment.cc: what a process gets of the PMIx library that pmixhost is built with, as
# environment-probe sees it, with the library's own choice of how it keeps data and with gds=hash. It looks twice, since
# what is not the same each time cannot be known before. Where it cannot be seen (no loopback interface in the build's
# environment, a build for another machine) nothing is printed, and steps start the library before their tasks.
#   see_environment.sh PROGRAM
set -u
program=$1
see() { # list [NAME=VALUE]
    list=$1
    shift
    env -i PATH="$PATH" HOME=/nonexistent LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" "$@" timeout 60 "$program" "$list"
}
default=$(see by_default) && again=$(see by_default) && [ "$default" = "$again" ] || default=
hash=$(see with_hash PMIX_MCA_gds=hash) && again=$(see with_hash PMIX_MCA_gds=hash) && [ "$hash" = "$again" ] || hash=
if [ -z "$default$hash" ]; then
    echo "what the PMIx library gives to processes cannot be seen here: pmixhost will start it before their programs" >&2
fi
printf '%s\n' "$default" "$hash"
