# plugins/: the parts for each RM; see contrib/doc/architecture.md.
include plugins/kit.mk
include plugins/slurm.mk
include plugins/localhost.mk
include plugins/template.mk
