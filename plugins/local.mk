# plugins: see contrib/doc/architecture.md
include plugins/slurm.mk
include plugins/localhost.mk
