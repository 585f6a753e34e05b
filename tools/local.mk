# tools/: the command line `pmixhost`.
bin_PROGRAMS += tools/pmixhost
tools_run_files = \
	tools/run/central_processes.cc tools/run/central_processes.h \
	tools/run/daemon_process.cc tools/run/daemon_process.h \
	tools/run/input.cc tools/run/input.h tools/run/interrupts.h \
	tools/run/job_ends.cc tools/run/job_ends.h tools/run/job_streams.cc tools/run/job_streams.h \
	tools/run/run.cc tools/run/run.h tools/run/spawner_news.cc tools/run/spawner_news.h \
	tools/run/layout.cc tools/run/layout.h \
	tools/run/output.cc tools/run/output.h \
	tools/run/run_options.cc tools/run/run_options.h \
	tools/run/session_door.cc tools/run/session_door.h

tools_doctor_files = tools/doctor/host_checks.h tools/doctor/bounded_look.h tools/doctor/bounded_look.cc \
	tools/doctor/config_checks.cc \
	tools/doctor/directory_checks.cc tools/doctor/gate_checks.cc tools/doctor/network_checks.cc \
	tools/doctor/program_checks.cc
tools_stacks_files = tools/stacks/attach_refusal.h tools/stacks/attach_refusal.cc tools/stacks/hold_notice.h tools/stacks/hold_notice.cc tools/stacks/stack_frames.h tools/stacks/shown_text.h tools/stacks/shown_text.cc \
	tools/stacks/gdb_text.h tools/stacks/gdb_text.cc tools/stacks/eu_stack_text.h tools/stacks/eu_stack_text.cc \
	tools/stacks/gdb_process.h tools/stacks/gdb_process.cc tools/stacks/gdb_session.h tools/stacks/gdb_session.cc tools/stacks/looked_at.h tools/stacks/looked_at.cc \
	tools/stacks/mapped_code.h tools/stacks/mapped_code.cc \
	tools/stacks/linker_names.h tools/stacks/linker_names.cc tools/stacks/read_stacks.h tools/stacks/read_stacks.cc tools/stacks/stack_lines.h tools/stacks/stack_lines.cc \
	tools/stacks/stack_tree.h tools/stacks/stack_tree.cc tools/stacks/stack_report.h tools/stacks/stack_report.cc \
	tools/stacks/stack_page.cc tools/stacks/host_stacks.h tools/stacks/host_stacks.cc \
	tools/stacks/debug_rights.h tools/stacks/debug_rights.cc tools/stacks/this_host.h tools/stacks/this_host.cc
tools_debug_files = tools/debug/gdb_dialogue.h tools/debug/gdb_dialogue.cc tools/debug/gdb_inferiors.h \
	tools/debug/gdb_inferiors.cc tools/debug/debug_lines.h tools/debug/debug_lines.cc tools/debug/rank_answers.h \
	tools/debug/rank_answers.cc tools/debug/gdb_places.h tools/debug/gdb_places.cc tools/debug/rank_board.h tools/debug/stop_wish.h tools/debug/stop_wish.cc \
	tools/debug/rank_board.cc tools/debug/gdb_words.h tools/debug/prompt_words.h tools/debug/prompt_words.cc tools/debug/host_debug.h \
	tools/debug/host_debug.cc tools/debug/debug_link.h tools/debug/debug_link.cc tools/debug/debug_talk.h \
	tools/debug/debug_talk.cc tools/debug/debugged_launch.h tools/debug/debugged_launch.cc tools/debug/line_editor.h \
	tools/debug/line_editor.cc tools/debug/ready_for_debug.h tools/debug/ready_for_debug.cc tools/debug/debug_target.h \
	tools/debug/signal_ends_input.h tools/debug/signal_ends_input.cc tools/debug/command_pipe.h tools/debug/command_pipe.cc \
	tools/debug/debugged_rank.h tools/debug/debugged_rank.cc \
	tools/debug/debug_target.cc
tools_dap_files = tools/dap/dap_frames.h tools/dap/dap_frames.cc tools/dap/dap_client.h tools/dap/dap_client.cc \
	tools/dap/dap_ranks.h tools/dap/dap_ranks.cc tools/dap/dap_references.h tools/dap/dap_references.cc \
	tools/dap/dap_breakpoints.h tools/dap/dap_breakpoints.cc tools/dap/dap_motion.h tools/dap/dap_motion.cc \
	tools/dap/dap_look.h tools/dap/dap_look.cc tools/dap/dap_console.h tools/dap/dap_console.cc \
	tools/dap/dap_session.h tools/dap/dap_session.cc tools/dap/dap_server.h tools/dap/dap_server.cc
tools_view_files = tools/view/stop_asking.h tools/view/tool_process.h tools/view/tool_process.cc \
	tools/view/connection_loss.h tools/view/event_lines.h tools/view/event_lines.cc \
	tools/view/recent_lines.h tools/view/typed_input.h tools/view/job_output.h tools/view/job_output.cc \
	tools/view/output_lines.h tools/view/output_lines.cc \
	tools/view/value_text.h tools/view/value_text.cc tools/view/process_list.h tools/view/process_list.cc \
	tools/view/server_list.h tools/view/server_list.cc tools/view/failed_call.h tools/view/desk.h tools/view/desk.cc \
	tools/view/job_owner.h tools/view/job_owner.cc tools/view/held_directory.h tools/view/held_directory.cc \
	tools/view/run_by_owner.h tools/view/run_by_owner.cc tools/view/gate_knock.h tools/view/gate_knock.cc \
	tools/view/all_jobs.h tools/view/all_jobs.cc tools/view/reach_plan.h tools/view/reach_plan.cc
tools_terminal_files = tools/terminal/terminal.h tools/terminal/rank_list.h \
	tools/terminal/interrupt.h tools/terminal/interrupt.cc tools/terminal/pager.h tools/terminal/pager.cc

# All but the commands: a library, so that tests can use its parts.
noinst_LTLIBRARIES += tools/libtools.la
tools_libtools_files = $(tools_run_files) $(tools_doctor_files) $(tools_stacks_files) $(tools_debug_files) \
	$(tools_dap_files) $(tools_view_files) $(tools_terminal_files)
tools_libtools_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(PMIX_CFLAGS) $(LIBEDIT_CFLAGS)
tools_libtools_la_LIBADD = common/libcommon.la $(PMIX_LIBS) $(LIBEDIT_LIBS)

tools_pmixhost_files = tools/cli/main.cc tools/cli/commands.h tools/cli/parse.h tools/cli/config_command.cc \
	tools/cli/policy_command.cc tools/cli/run_command.cc tools/cli/servers_command.cc \
	tools/cli/version_command.cc tools/cli/with_command.cc tools/cli/control_command.cc \
	tools/cli/doctor_command.cc tools/cli/stacks_command.cc tools/cli/debug_command.cc \
	tools/cli/events_command.cc tools/cli/output_command.cc tools/cli/command_table.cc \
	tools/cli/command_shape.h tools/cli/command_shape.cc tools/cli/completion.h tools/cli/completion.cc tools/cli/man_options.h tools/cli/man_options.cc \
	tools/cli/completion_command.cc tools/cli/data_command.cc tools/cli/launcher_command.cc \
	tools/cli/spawn_command.cc tools/cli/ps_command.cc
tools_pmixhost_CPPFLAGS = $(tools_libtools_la_CPPFLAGS)
tools_pmixhost_LDADD = tools/libtools.la

dist_man_MANS += contrib/man/pmixhost.1 contrib/man/pmixhost-run.1 contrib/man/pmixhost.conf.5 \
	contrib/man/pmixhost.7 contrib/man/pmixhost-gate.8
EXTRA_DIST += contrib/pmixhost.conf

# Completion, where Debian's packages of the shells look for it. Without running the program (a build for another
# machine) there is none.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/vendor-completions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
if !CROSS_COMPILES
nodist_bashcompletion_DATA = tools/completion/pmixhost
nodist_zshcompletion_DATA = tools/completion/_pmixhost
nodist_fishcompletion_DATA = tools/completion/pmixhost.fish
endif
tools/completion/pmixhost: tools/pmixhost
	$(AM_V_GEN)$(MKDIR_P) tools/completion && tools/pmixhost completion bash >$@.new && mv $@.new $@
tools/completion/_pmixhost: tools/pmixhost
	$(AM_V_GEN)$(MKDIR_P) tools/completion && tools/pmixhost completion zsh >$@.new && mv $@.new $@
tools/completion/pmixhost.fish: tools/pmixhost
	$(AM_V_GEN)$(MKDIR_P) tools/completion && tools/pmixhost completion fish >$@.new && mv $@.new $@
CLEANFILES += tools/completion/pmixhost tools/completion/_pmixhost tools/completion/pmixhost.fish
