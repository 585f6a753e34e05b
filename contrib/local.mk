# contrib/: scripts and documents; nothing here is compiled or installed by "make".
EXTRA_DIST += \
	.ci/run \
	contrib/check \
	contrib/cluster/cluster \
	contrib/cluster/hello.c \
	contrib/cluster/setup.sh \
	contrib/lanes.sh contrib/other-release.sh \
	contrib/package \
	contrib/packages \
	contrib/packaging \
	contrib/quickstart \
	contrib/release \
	contrib/spack/package.py \
	test/e2e/lib.sh \
	test/e2e/run-slurm \
	test/e2e/tap-merge \
	test/package/deb.sh \
	test/package/run-deb
