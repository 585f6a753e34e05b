# contrib/: scripts and documents; nothing here is compiled or installed by "make".
EXTRA_DIST += \
	.ci/run \
	contrib/check \
	contrib/cluster/cluster \
	contrib/cluster/hello.c \
	contrib/cluster/life.sh \
	contrib/cluster/only_cgroup2.c \
	contrib/cluster/setup.sh \
	contrib/lanes.sh contrib/other-release.sh \
	contrib/package \
	contrib/packages \
	contrib/packaging \
	contrib/quickstart \
	contrib/release \
	contrib/spack/package.py \
	contrib/editors/vscode/package.json contrib/editors/vscode/adapter.sh \
	test/e2e/lib.sh test/e2e/cgroup_steps.sh test/e2e/hanging_job.sh test/e2e/dap_client.py \
	test/e2e/run-slurm \
	test/e2e/tap-merge \
	test/package/deb.sh \
	test/package/in-a-root.sh \
	test/package/rpm.sh \
	test/package/run-deb \
	test/package/run-rpm \
	test/package/run-tarball \
	test/package/site.sh

# The units of the gate, for "cp" (contrib/doc/admin.md): where a host has its own, only its administrator knows.
gateunitsdir = $(datadir)/pmixhost/systemd
dist_gateunits_DATA = contrib/systemd/pmixhost-gate.socket contrib/systemd/pmixhost-gate.conf \
	contrib/systemd/pmixhost-gate.tmpfiles
nodist_gateunits_DATA = contrib/systemd/pmixhost-gate.service
# In brackets: configure would replace it here, too.
contrib/systemd/pmixhost-gate.service: contrib/systemd/pmixhost-gate.service.in
	$(AM_V_GEN)$(MKDIR_P) contrib/systemd && \
	sed 's|[@]pmixhostlibexecdir[@]|$(pmixhostlibexecdir)|' $(srcdir)/contrib/systemd/pmixhost-gate.service.in >$@-t && \
	grep -q '^ExecStart=/' $@-t && mv $@-t $@
EXTRA_DIST += contrib/systemd/pmixhost-gate.service.in
CLEANFILES += contrib/systemd/pmixhost-gate.service
