#!/bin/bash
# shellcheck disable=SC2016,SC2034 # what eval is to expand; for site.sh
# How site.sh deals with .rpm packages. Run by test/package/run-rpm. rpm has a database of its own here, so that it does not
# matter whether the machine's Slurm is of an .rpm: nothing is asked for, but what the packages ask for is looked at. What
# was changed in pmixhost.conf is kept by rpm, and directories of it that other packages have on an rpm system. Without
# --dbpath, as rpmbuild calls it, Debian's rpm has a database in root's home.
manager=rpm
database=/var/lib/pmixhost-rpm
kept_by_manager=("$database" /root/.rpmdb /var/cache /var/log /usr/lib/.build-id /usr/share/licenses
    /usr/share/fish/vendor_completions.d)
on_database=(--dbpath "$database")

package() { echo "$2/$1-[0-9]*.rpm"; } # NAME FOLDER: a pattern
installed() { rpm "${on_database[@]}" -q --qf '%{VERSION}-%{RELEASE}' "$1" 2>/dev/null; } # NAME
files_of() { rpm "${on_database[@]}" -ql "$@"; } # NAME ...
install_files() { rpm "${on_database[@]}" -i --nodeps "$@"; } # FILE ...
upgrade_files() { rpm "${on_database[@]}" -U --nodeps "$@"; } # FILE ...
remove_packages() { # NAME ...
    rpm "${on_database[@]}" -e "$@" && (cd /etc/pmixhost && rm pmixhost.conf.rpmsave && rmdir /etc/pmixhost)
}

# The same files as a newer package, with its scripts.
make_newer() { # FOLDER PACKAGE ...
    local package folder=$1 tree=$1/tree
    shift
    for package; do
        rm -rf "$tree"
        mkdir "$tree"
        rpm2cpio "$package" | (cd "$tree" && cpio -idm --quiet) || return
        rpm -qp --qf '%{POSTUN}\n' "$package" >"$folder/postun"
        {
            rpm -qp --qf 'Name: %{NAME}\nVersion: %{VERSION}\nRelease: %{RELEASE}.1\n' "$package"
            rpm -qp --qf 'Summary: %{SUMMARY}\nLicense: %{LICENSE}\n' "$package"
            rpm -qp --requires "$package" | sed -nE 's/^pmixhost.* = .*/Requires: &.1/p'
            printf 'AutoReqProv: no\n%%description\nNewer.\n%%install\ncp -a %q/. %%{buildroot}\n' "$tree"
            grep -qx '(none)' "$folder/postun" || printf '%%postun -f %q\n' "$folder/postun"
            echo '%files'
            rpm -qp --qf '[%{FILENAMES} %{FILEMODES:perms} %{FILEFLAGS:fflags}\n]' "$package" |
                awk '{ print ($2 ~ /^d/ ? "%dir " : $3 ~ /c/ ? "%config(noreplace) " : "") $1 }'
        } >"$folder/newer.spec"
        rpmbuild -bb --define "_topdir $folder/rpm" --define "_rpmdir $folder" \
            --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.rpm' --define '__os_install_post %{nil}' \
            --define 'debug_package %{nil}' "$folder/newer.spec" >"$folder/log" 2>&1 || return
    done
}

package_is_right() { # PACKAGE OF-SLURM
    local slurm
    slurm=$(as_user root srun --version)
    slurm=${slurm#* }
    is "pmixhost-slurm wants just the Slurm that it was made for" \
        "$(rpm -qp --requires "$2" | grep -E '^slurm' | sed 's/([^)]*)//; s/ *$//' | sort | paste -sd,)" \
        "slurm < ${slurm%.*}.$((${slurm##*.} + 1)),slurm >= $slurm"
    like "and just its pmixhost" "$(rpm -qp --requires "$2")" "pmixhost[^ ]* = $(rpm -qp --qf '%{VERSION}-%{RELEASE}' "$1")"
    rpm -qp --scripts "$2" | sed '/^postuninstall/d' >"$test_dir/script"
    ok "the script that clears up is whole" eval 'sh -n "$test_dir/script" && grep -q pmixhost_topology.new "$test_dir/script"'
    like "pmixhost.conf is a configuration file" "$(rpm -qp --qf '[%{FILENAMES} %{FILEFLAGS:fflags}\n]' "$1")" \
        '/etc/pmixhost/pmixhost.conf cn'
}

# shellcheck source=test/package/site.sh
. "$(dirname "$0")/site.sh"
