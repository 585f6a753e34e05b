# Configuration, with the sections that plugins have of their own, and what `pmixhost run` shares with the local backend. Included by common/local.mk.
COMMON_CONFIG_SOURCES = common/config.cc common/config.h common/config_file.cc \
	common/config_file.h common/config_man.cc common/config_man.h common/config_options.cc \
	common/config_options.h common/config_values.cc common/config_values.h \
	common/local_control.cc common/local_control.h common/local_text.h common/sweep.cc common/sweep.h \
	plugins/option_tables.cc plugins/slurm/options.cc plugins/slurm/options.h
