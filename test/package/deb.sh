#!/bin/bash
# shellcheck disable=SC2034 # for site.sh
# How site.sh deals with .deb packages. Run by test/package/run-deb.
manager=dpkg
kept_by_manager=(/var/lib/dpkg /var/cache /var/log)
export DEBIAN_FRONTEND=noninteractive

package() { echo "$2/$1_*.deb"; } # NAME FOLDER: a pattern
installed() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null; } # NAME
files_of() { dpkg-query -L "$@"; } # NAME ...
install_files() { dpkg -i "$@"; } # FILE ...
upgrade_files() { dpkg -i "$@"; } # FILE ...
remove_packages() { dpkg -P "$@"; } # NAME ...

# The same files as a newer package: of another revision no byte in them would differ.
make_newer() { # FOLDER PACKAGE ...
    local package name version folder=$1/tree to=$1
    shift
    for package; do
        rm -rf "$folder"
        dpkg-deb -R "$package" "$folder" || return
        name=$(sed -n 's/^Package: //p' "$folder/DEBIAN/control")
        version=$(sed -n 's/^Version: //p' "$folder/DEBIAN/control")
        sed -i -e "s/^Version: .*/&.1/" -e "s/pmixhost (= $version)/pmixhost (= $version.1)/" "$folder/DEBIAN/control"
        dpkg-deb --root-owner-group -Znone -b "$folder" "$to/${name}_$version.1.deb" >"$to/log" || return
    done
}

package_is_right() { # PACKAGE OF-SLURM
    local slurm depends
    slurm=$(as_user root srun --version)
    slurm=${slurm#* }
    depends=$(dpkg-deb -f "$2" Depends | tr ',' '\n' | sed 's/^ *//')
    is "pmixhost-slurm wants just the Slurm that it was made for" "$(grep '^slurm' <<<"$depends" | sort | paste -sd,)" \
        "slurm-wlm-basic-plugins (<< ${slurm%.*}.$((${slurm##*.} + 1))~),slurm-wlm-basic-plugins (>= $slurm)"
    is "and just its pmixhost" "$(grep '^pmixhost' <<<"$depends")" "pmixhost (= $(dpkg-deb -f "$1" Version))"
    ok "what a debugger wants is in packages of its own" compgen -G "${1%/*}/pmixhost-dbgsym_*.deb"
    ok "of both" compgen -G "${1%/*}/pmixhost-slurm-dbgsym_*.deb"
}

# shellcheck source=test/package/site.sh
. "$(dirname "$0")/site.sh"
