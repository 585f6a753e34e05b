# Configuration, with the sections that plugins have of their own, and what `pmixhost run` shares with the local
# backend. Included by common/local.mk.
COMMON_CONFIG_SOURCES = common/config/config.cc common/config/config.h common/config/config_file.cc \
	common/config/config_file.h common/config/config_man.cc common/config/config_man.h common/config/config_options.cc \
	common/config/config_options.h common/config/config_values.cc common/config/config_values.h common/config/remedies.h \
	common/config/option_values.cc common/config/option_values.h \
	common/local/local_control.cc common/local/local_control.h common/local/local_text.h \
	common/process/child_sweep.cc common/process/child_sweep.h common/process/sweep.cc common/process/sweep.h \
	plugins/option_tables.cc plugins/slurm/options.cc plugins/slurm/options.h
