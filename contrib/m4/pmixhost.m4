# Checks of our own for configure.ac. A missing thing is collected, not fatal at once, so that
# one run of configure names everything there is to install.

AC_DEFUN([PMIXHOST_CXX20], [
  AC_CACHE_CHECK([for the C++20 flag], [pmixhost_cv_cxx20], [
    pmixhost_cv_cxx20=no
    for flag in -std=c++20 -std=c++2a; do
      save_CXXFLAGS=$CXXFLAGS; CXXFLAGS="$CXXFLAGS $flag"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <concepts>
        #include <span>]], [[std::span<int> s; return (int)s.size();]])],
        [pmixhost_cv_cxx20=$flag])
      CXXFLAGS=$save_CXXFLAGS
      test "x$pmixhost_cv_cxx20" = xno || break
    done])
  AS_IF([test "x$pmixhost_cv_cxx20" = xno],
    [AC_MSG_ERROR([$CXX knows no C++20; on Debian: apt-get install g++ (12 or newer)])])
  AC_SUBST([PMIXHOST_CXXSTD], [$pmixhost_cv_cxx20])
])

AC_DEFUN([PMIXHOST_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make warnings errors])],
    [], [enable_werror=no])
  PMIXHOST_WARN="-Wall -Wextra"
  AS_IF([test "x$enable_werror" = xyes], [PMIXHOST_WARN="$PMIXHOST_WARN -Werror"])
  AC_SUBST([PMIXHOST_WARN])
])

AC_DEFUN([PMIXHOST_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=KIND], [address (with undefined) or thread])],
    [], [enable_sanitizer=no])
  AS_CASE([$enable_sanitizer],
    [no], [PMIXHOST_SAN=; PMIXHOST_SANITIZER_TEXT="no sanitizer"],
    [address], [PMIXHOST_SAN="-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined -DPMIXHOST_SANITIZES_ADDRESSES"
                PMIXHOST_SANITIZER_TEXT="address and undefined sanitizers"],
    [thread], [PMIXHOST_SAN="-fsanitize=thread -DPMIXHOST_SANITIZES_THREADS"; PMIXHOST_SANITIZER_TEXT="thread sanitizer"],
    [AC_MSG_ERROR([--enable-sanitizer knows address and thread, not '$enable_sanitizer'])])
  AC_SUBST([PMIXHOST_SAN])
  AM_CONDITIONAL([SANITIZED], [test "x$enable_sanitizer" != xno])
  AM_CONDITIONAL([SANITIZES_THREADS], [test "x$enable_sanitizer" = xthread])
])

# PMIXHOST_PKG(VARIABLE, MODULES, DEBIAN PACKAGE)
AC_DEFUN([PMIXHOST_PKG], [
  PKG_CHECK_MODULES([$1], [$2], [],
    [pmixhost_missing="$pmixhost_missing $3"
     AC_MSG_WARN([$2 was not found])])
])

# PMIXHOST_HEADER(HEADER, DEBIAN PACKAGE)
AC_DEFUN([PMIXHOST_HEADER], [
  save_CXXFLAGS=$CXXFLAGS; CXXFLAGS="$CXXFLAGS $PMIXHOST_CXXSTD"
  AC_CHECK_HEADER([$1], [], [pmixhost_missing="$pmixhost_missing $2"])
  CXXFLAGS=$save_CXXFLAGS
])

AC_DEFUN([PMIXHOST_REPORT_MISSING], [
  AS_IF([test -n "$pmixhost_missing"],
    [AC_MSG_ERROR([what the lines above could not find is in these Debian packages:
        apt-get install$pmixhost_missing])])
])

# libedit: history and completion at the prompt of `pmixhost debug`. Not required.
AC_DEFUN([PMIXHOST_LIBEDIT], [
  AC_ARG_WITH([libedit],
    [AS_HELP_STRING([--without-libedit], [plain lines at the prompt of pmixhost debug])],
    [], [with_libedit=check])
  have_libedit=no
  AS_IF([test "x$with_libedit" != xno],
    [PKG_CHECK_MODULES([LIBEDIT], [libedit >= 3.1], [have_libedit=yes], [have_libedit=no])])
  AS_IF([test $have_libedit = no && test "x$with_libedit" = xyes],
    [AC_MSG_ERROR([--with-libedit: libedit was not found; on Debian: apt-get install libedit-dev])])
  AS_IF([test $have_libedit = yes],
    [AC_DEFINE([PMIXHOST_HAVE_LIBEDIT], [1], [history and completion at the prompt of pmixhost debug])
     PMIXHOST_LIBEDIT_TEXT="history and completion (libedit)"],
    [PMIXHOST_LIBEDIT_TEXT="plain lines"])
])

# libdw of elfutils, with which pmixhost-evidence names the calls of a daemon that hangs. Not required.
AC_DEFUN([PMIXHOST_LIBDW], [
  AC_ARG_WITH([libdw],
    [AS_HELP_STRING([--without-libdw], [list addresses, not calls, of a daemon that hangs])],
    [], [with_libdw=check])
  have_libdw=no
  AS_IF([test "x$with_libdw" != xno],
    [PKG_CHECK_MODULES([LIBDW], [libdw >= 0.158], [have_libdw=yes], [have_libdw=no])])
  AS_IF([test $have_libdw = no && test "x$with_libdw" = xyes],
    [AC_MSG_ERROR([--with-libdw: libdw was not found; on Debian: apt-get install libdw-dev])])
  AS_IF([test $have_libdw = yes],
    [AC_DEFINE([PMIXHOST_HAVE_LIBDW], [1], [backtraces by libdw])
     PMIXHOST_LIBDW_TEXT="by libdw"],
    [PMIXHOST_LIBDW_TEXT="as addresses only (libdw-dev is not there)"])
])

# Slurm: the shim is built for exactly the version of the headers found, because Slurm refuses a
# plugin of any other version, and because the hooks' structures differ between versions.
AC_DEFUN([PMIXHOST_SLURM], [
  AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--without-slurm], [do not build the Slurm shim and backend])],
    [], [with_slurm=check])
  AC_ARG_WITH([slurm-includedir],
    [AS_HELP_STRING([--with-slurm-includedir=D], [where slurm/slurm.h is])],
    [SLURM_CPPFLAGS="-I$withval"], [SLURM_CPPFLAGS=])
  AC_ARG_WITH([slurm-plugindir],
    [AS_HELP_STRING([--with-slurm-plugindir=D], [install mpi_pmixhost.so here @<:@LIBDIR/slurm@:>@])],
    [slurmplugindir=$withval], [slurmplugindir='${libdir}/slurm'])
  AC_SUBST([slurmplugindir])
  have_slurm=no
  PMIXHOST_SLURM_TEXT=
  AS_IF([test "x$with_slurm" != xno], [
    save_CPPFLAGS=$CPPFLAGS; CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
    AC_CHECK_HEADERS([slurm/slurm.h slurm/slurm_version.h], [have_slurm=yes], [have_slurm=no; break])
    AS_IF([test $have_slurm = yes], [
      AC_CHECK_LIB([slurm], [slurm_hostlist_create], [SLURM_LIBS=-lslurm], [have_slurm=no])])
    AS_IF([test $have_slurm = no && test "x$with_slurm" = xyes],
      [AC_MSG_ERROR([--with-slurm: slurm/slurm.h or libslurm was not found; on Debian: apt-get install libslurm-dev])])
    AS_IF([test $have_slurm = yes], [
      AC_CACHE_CHECK([for Slurm's version], [pmixhost_cv_slurm_version], [
        pmixhost_cv_slurm_version=$(
          printf '#include <slurm/slurm_version.h>\nversion SLURM_VERSION_NUMBER\n' |
          $CXX $CPPFLAGS -x c++ -E - 2>/dev/null | sed -n 's/^version //p')
        pmixhost_cv_slurm_version=$(printf '%d' "$(echo "$pmixhost_cv_slurm_version" | tr -d ' ()uUlL')" 2>/dev/null)
        test -n "$pmixhost_cv_slurm_version" || pmixhost_cv_slurm_version=0])
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <slurm/slurm_version.h>
        #if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(20,11,0) || SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26,6,0)
        #error unknown version
        #endif]], [])], [],
        [AC_MSG_ERROR([this Slurm's headers are of a version that pmixhost does not know (20.11 to 26.05 are);
        see plugins/slurm/base/slurm_abi.h for what a new version needs, or configure --without-slurm])])
      dnl Up to 24.11 at least these had other names.
      AC_CHECK_DECLS([ESLURMD_STEP_NOTRUNNING, slurm_free_conf], [], [],
        [[#include <slurm/slurm.h>
        #include <slurm/slurm_errno.h>]])
      PMIXHOST_SLURM_TEXT=", slurm"
    ])
    CPPFLAGS=$save_CPPFLAGS
  ])
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_LIBS])
  AM_CONDITIONAL([HAVE_SLURM], [test $have_slurm = yes])
])

# What makes the build fast (contrib/fast.mk). ccache sees into neither, so who uses it, which is who works on
# the sources, has one plain object for each.
AC_DEFUN([PMIXHOST_FAST_BUILD], [
  AC_ARG_ENABLE([precompiled-headers],
    [AS_HELP_STRING([--disable-precompiled-headers], [read libraries' headers for each source @<:@with ccache@:>@])],
    [], [enable_precompiled_headers=auto])
  AC_ARG_ENABLE([jumbo],
    [AS_HELP_STRING([--disable-jumbo], [compile each source alone, not several at once @<:@with ccache@:>@])],
    [], [enable_jumbo=auto])
  AS_CASE(["$CXX"], [*ccache*], [pmixhost_fast=no], [pmixhost_fast=yes])
  AS_IF([test "x$enable_jumbo" = xauto], [enable_jumbo=$pmixhost_fast])
  AS_IF([test "x$enable_precompiled_headers" = xauto], [
    AC_MSG_CHECKING([whether $CXX precompiles headers])
    enable_precompiled_headers=no
    AS_IF([test "x$GXX" = xyes && test $pmixhost_fast = yes], [
      mkdir conftest.dir && echo '#define ANSWER 42' >conftest.dir/a.h &&
      echo 'int answer() { return ANSWER; }' >conftest.dir/b.cc &&
      $CXX $CPPFLAGS $CXXFLAGS -x c++-header -c conftest.dir/a.h -o conftest.dir/a.h.gch >&AS_MESSAGE_LOG_FD 2>&1 &&
      $CXX $CPPFLAGS $CXXFLAGS -include conftest.dir/a.h -c conftest.dir/b.cc -o conftest.dir/b.o >&AS_MESSAGE_LOG_FD 2>&1 &&
      enable_precompiled_headers=yes
      rm -rf conftest.dir])
    AC_MSG_RESULT([$enable_precompiled_headers])])
  AM_CONDITIONAL([JUMBO], [test "x$enable_jumbo" != xno])
  AM_CONDITIONAL([PRECOMPILE], [test "x$enable_precompiled_headers" != xno])
  PMIXHOST_FAST_TEXT="precompiled headers $enable_precompiled_headers, jumbo sources $enable_jumbo"
])

# The library's own headers, which Debian and others install beside pmix.h: with them pmixhost mends what no answer
# of a host environment can (server-glue/library/failed_collective.h, iof_deregistration.h).
AC_DEFUN([PMIXHOST_PMIX_INTERNALS], [
  AC_LANG_PUSH([C])
  pmixhost_saved_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $PMIX_CFLAGS -I$srcdir/server-glue/library/internals"
  PMIXHOST_CHECK_PMIX_INTERNALS([PMIX library's table of its data store], [STORE_TABLE],
    [[#include "src/mca/bfrops/bfrops.h"
#include "src/mca/gds/gds.h"]],
    [[pmix_gds_base_module_t *store = pmix_globals.mypeer->nptr->compat.gds;
      return store->mark_modex_complete != NULL;]],
    [PMIXHOST_PMIX_INTERNALS_TEXT="an error for all"],
    [PMIXHOST_PMIX_INTERNALS_TEXT="as the PMIx library answers it (it has no table to mend that in)"])
  PMIXHOST_CHECK_PMIX_INTERNALS([PMIX library's objects of upcalls], [SETUP_CADDY],
    [[#include "src/server/pmix_server_ops.h"]],
    [[pmix_setup_caddy_t caddy;
      caddy.status = PMIX_SUCCESS;
      return caddy.status;]])
  PMIXHOST_CHECK_PMIX_INTERNALS([PMIX library's output to one tool], [ONE_READER],
    [[#include "src/common/pmix_iof.h"]],
    [[pmix_iof_req_t *pull = pmix_pointer_array_get_item(&pmix_globals.iof_requests, 0);
      return pull->requestor->sd + pmix_iof_process_iof(PMIX_FWD_STDOUT_CHANNEL, NULL, NULL, NULL, 0, pull);]])
  CPPFLAGS=$pmixhost_saved_CPPFLAGS
  AC_LANG_POP([C])
])

# PMIXHOST_CHECK_PMIX_INTERNALS(WHAT, NAME, INCLUDES, BODY, [IF-THERE], [IF-NOT]) defines PMIXHOST_HAVE_PMIX_NAME.
AC_DEFUN([PMIXHOST_CHECK_PMIX_INTERNALS], [
  AC_MSG_CHECKING([for the $1])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#undef PACKAGE_BUGREPORT
#undef PACKAGE_NAME
#undef PACKAGE_STRING
#undef PACKAGE_TARNAME
#undef PACKAGE_URL
#undef PACKAGE_VERSION
#include "src/include/pmix_config.h"
#include "src/include/pmix_globals.h"
]$3], [$4])],
    [AC_MSG_RESULT([yes])
     AC_DEFINE([PMIXHOST_HAVE_PMIX_$2], [1], [there is, in the library's own headers, the $1])
     $5],
    [AC_MSG_RESULT([no])
     $6])
])
