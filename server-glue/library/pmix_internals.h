/* The library's own headers, which configure has found (PMIXHOST_PMIX_INTERNALS of contrib/m4/pmixhost.m4). To be
 * included last: they bring a config.h of their own, and have no wish to please our warnings, nor have their macros. */
#pragma once

#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#undef PACKAGE
#undef PACKAGE_BUGREPORT
#undef PACKAGE_NAME
#undef PACKAGE_STRING
#undef PACKAGE_TARNAME
#undef PACKAGE_URL
#undef PACKAGE_VERSION
#undef VERSION
#include "src/include/pmix_config.h"

#include "src/include/pmix_globals.h"
