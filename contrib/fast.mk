# How a build is made fast; nothing here changes what is built. See contrib/doc/decisions/build.md.

# --- precompiled headers ------------------------------------------------------------------------
# A compiler takes them only with the flags that made them: "make CXXFLAGS=..." has a set of its own.
if PRECOMPILE
PCH := pch/$(shell printf '%s\n' "$(subst ",,$(CXX) $(CPPFLAGS) $(CXXFLAGS))" | cksum | cut -d' ' -f1).h
AM_CXXFLAGS += -include $(PCH) -fPIC
# A directory: the compiler takes the one that was made with the macros of the source.
$(PCH).gch: contrib/libraries.h config.status
	@rm -rf $@ $@.new && $(MKDIR_P) $@.new
	$(AM_V_GEN)cp $(srcdir)/contrib/libraries.h $(PCH) && \
	for own_fmt in "" -DFMT_HEADER_ONLY; do \
		$(CXX) $(FMT_CFLAGS) $(PMIX_CFLAGS) $(CPPFLAGS) $$own_fmt $(PMIXHOST_CXXSTD) $(PMIXHOST_WARN) \
			-fvisibility=hidden $(PMIXHOST_SAN) $(CXXFLAGS) -fPIC \
			-MD -MP -MF $(PCH).d -MT $@ -x c++-header -c $(PCH) -o $@.new/headers$$own_fmt || exit 1; \
	done && mv $@.new $@
-include $(PCH).d
# Every object waits for it; whether it must be made again the compiler's list of dependencies says.
$(sort $(foreach name,$(filter %_OBJECTS,$(.VARIABLES)),$($(name)))): | $(PCH).gch
precompiled-headers: $(PCH).gch
else
precompiled-headers:
endif
.PHONY: precompiled-headers
clean-local:
	rm -rf pch jumbo
EXTRA_DIST += contrib/libraries.h contrib/jumbo

# --- several sources at once --------------------------------------------------------------------
# The names in their unnamed namespaces must differ. A folder that is not named here is in its library's "rest".
if JUMBO
nodist_common_libcommon_la_SOURCES = jumbo/common-config.cc jumbo/common-transport.cc jumbo/common-rest.cc
nodist_server_glue_libglue_la_SOURCES = jumbo/glue-daemon.cc jumbo/glue-library.cc jumbo/glue-upcalls.cc \
	jumbo/glue-spawn.cc jumbo/glue-collective.cc jumbo/glue-events.cc jumbo/glue-query.cc jumbo/glue-rest.cc
nodist_server_glue_libevidence_la_SOURCES = jumbo/evidence.cc
nodist_server_glue_libindirect_la_SOURCES = jumbo/indirect.cc
nodist_server_glue_libgate_la_SOURCES = jumbo/gate.cc
nodist_tools_libtools_la_SOURCES = jumbo/tools.cc
nodist_tools_pmixhost_SOURCES = jumbo/pmixhost.cc
test_bench_bench_launch_SOURCES = $(test_bench_bench_launch_files)
nodist_test_bench_bench_launch_SOURCES = jumbo/bench-launch-common.cc jumbo/bench-launch-glue.cc
nodist_server_glue_pmixhost_task_SOURCES = jumbo/pmixhost-task.cc
nodist_plugins_kit_libkit_la_SOURCES = jumbo/kit.cc
nodist_plugins_local_liblocal_la_SOURCES = jumbo/local.cc
if HAVE_SLURM
nodist_plugins_slurm_libshim_la_SOURCES = jumbo/slurm-shim.cc jumbo/slurm-shim-calls.cc \
	jumbo/slurm-shim-errors.cc
nodist_plugins_slurm_libbackend_la_SOURCES = jumbo/slurm-backend.cc
endif
else
common_libcommon_la_SOURCES = $(common_libcommon_files)
server_glue_libglue_la_SOURCES = $(server_glue_libglue_files)
server_glue_libevidence_la_SOURCES = $(server_glue_libevidence_files)
server_glue_libindirect_la_SOURCES = $(server_glue_libindirect_files)
server_glue_libgate_la_SOURCES = $(server_glue_libgate_files)
tools_libtools_la_SOURCES = $(tools_libtools_files)
test_bench_bench_launch_SOURCES = $(test_bench_bench_launch_files) $(test_bench_bench_launch_parts)
tools_pmixhost_SOURCES = $(tools_pmixhost_files)
server_glue_pmixhost_task_SOURCES = $(server_glue_pmixhost_task_files)
plugins_kit_libkit_la_SOURCES = $(plugins_kit_libkit_files)
plugins_local_liblocal_la_SOURCES = $(plugins_local_liblocal_files)
if HAVE_SLURM
plugins_slurm_libshim_la_SOURCES = $(plugins_slurm_libshim_files)
plugins_slurm_libbackend_la_SOURCES = $(plugins_slurm_libbackend_files)
endif
endif

jumbo = $(AM_V_GEN)$(srcdir)/contrib/jumbo $@
common_config = common/config/%.cc common/local/%.cc common/process/%.cc plugins/%.cc
common_transport = common/transport/%.cc common/wire/%.cc
jumbo/common-config.cc: common/local.mk common/config.mk contrib/fast.mk
	$(jumbo) $(filter $(common_config),$(common_libcommon_files))
jumbo/common-transport.cc: common/local.mk contrib/fast.mk
	$(jumbo) $(filter $(common_transport),$(common_libcommon_files))
jumbo/common-rest.cc: common/local.mk common/config.mk contrib/fast.mk
	$(jumbo) $(filter-out $(common_config) $(common_transport),$(common_libcommon_files))

glue_daemon = server-glue/daemon/%.cc server-glue/desk/%.cc server-glue/evidence/%.cc
glue_upcalls = server-glue/%_upcall.cc server-glue/%_upcalls.cc
glue_library = server-glue/library/%.cc server-glue/guard/%.cc
glue_spawn = server-glue/spawn/%.cc server-glue/tasks/%.cc server-glue/rm/%.cc
glue_collective = server-glue/collective/%.cc server-glue/core/%.cc server-glue/modex/%.cc server-glue/groups/%.cc
glue_events = server-glue/events/%.cc server-glue/control/%.cc
glue_query = server-glue/query/%.cc server-glue/publish/%.cc server-glue/cross_job/%.cc
glue_named = $(glue_daemon) $(glue_library) $(glue_spawn) $(glue_collective) $(glue_events) $(glue_query)
glue_others = $(filter-out $(glue_upcalls),$(server_glue_libglue_files))
jumbo/glue-upcalls.cc: server-glue/local.mk contrib/fast.mk
	$(jumbo) $(filter $(glue_upcalls),$(server_glue_libglue_files))
jumbo/glue-daemon.cc: server-glue/local.mk contrib/fast.mk
	$(jumbo) $(filter $(glue_daemon),$(glue_others))
jumbo/glue-library.cc: server-glue/local.mk contrib/fast.mk
	$(jumbo) $(filter $(glue_library),$(glue_others))
jumbo/glue-spawn.cc: server-glue/local.mk contrib/fast.mk
	$(jumbo) $(filter $(glue_spawn),$(glue_others))
jumbo/glue-collective.cc: server-glue/local.mk contrib/fast.mk
	$(jumbo) $(filter $(glue_collective),$(glue_others))
jumbo/glue-events.cc: server-glue/local.mk contrib/fast.mk
	$(jumbo) $(filter $(glue_events),$(glue_others))
jumbo/glue-query.cc: server-glue/local.mk contrib/fast.mk
	$(jumbo) $(filter $(glue_query),$(glue_others))
jumbo/glue-rest.cc: server-glue/local.mk contrib/fast.mk
	$(jumbo) $(filter-out $(glue_named),$(glue_others))

jumbo/evidence.cc: server-glue/local.mk
	$(jumbo) $(server_glue_libevidence_files)
jumbo/indirect.cc: server-glue/local.mk
	$(jumbo) $(server_glue_libindirect_files)
jumbo/gate.cc: server-glue/local.mk
	$(jumbo) $(server_glue_libgate_files)
jumbo/tools.cc: tools/local.mk
	$(jumbo) $(tools_libtools_files)
jumbo/pmixhost.cc: tools/local.mk
	$(jumbo) $(tools_pmixhost_files)
jumbo/pmixhost-task.cc: server-glue/local.mk
	$(jumbo) $(server_glue_pmixhost_task_files)
jumbo/kit.cc: plugins/kit.mk
	$(jumbo) $(plugins_kit_libkit_files)
jumbo/bench-launch-common.cc: test/local.mk contrib/fast.mk
	$(jumbo) $(filter-out server-glue/%,$(test_bench_bench_launch_parts))
jumbo/bench-launch-glue.cc: test/local.mk contrib/fast.mk
	$(jumbo) $(filter server-glue/%,$(test_bench_bench_launch_parts))
jumbo/local.cc: plugins/localhost.mk
	$(jumbo) $(plugins_local_liblocal_files)
# What calls functions of the Slurm program that loads the shim; tests are linked with the rest alone.
slurm_calls = $(addprefix plugins/slurm/shim/,hook_env.cc prefork.cc task_hook.cc)
slurm_error_calls = $(addprefix plugins/slurm/shim/,prelaunch.cc srun_roles.cc starting_tool.cc)
jumbo/slurm-shim.cc: contrib/fast.mk plugins/slurm.mk plugins/kit.mk
	$(jumbo) $(filter-out $(slurm_calls) $(slurm_error_calls),$(plugins_slurm_libshim_files))
jumbo/slurm-shim-calls.cc: plugins/slurm.mk contrib/fast.mk
	$(jumbo) $(slurm_calls)
jumbo/slurm-shim-errors.cc: contrib/fast.mk
	$(jumbo) $(slurm_error_calls)
jumbo/slurm-backend.cc: plugins/slurm.mk
	$(jumbo) $(plugins_slurm_libbackend_files)
