# A recipe for sites that build their software with Spack: in a repository of recipes it is
# packages/pmixhost/package.py (contrib/doc/decisions/packages.md says how to use it).
from spack.package import *


class Pmixhost(AutotoolsPackage):
    """PMIx host environment beside the resource manager: dynamic processes, connect and accept, publishing of
    names, events, groups, and tools, for programs that srun --mpi=pmixhost or pmixhost run starts."""

    license("Apache-2.0")

    # Of a checkout: spack install pmixhost@main, after "spack develop --path TREE pmixhost@main".
    version("main")

    variant("slurm", default=True, description="The plugin and the backend for Slurm")
    variant("evidence", default=True, description="The calls of a daemon that hangs, by libdw")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("cli11", type="build")
    depends_on("cmocka", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("tomlplusplus", type="build")
    depends_on("fmt@9:")
    depends_on("hwloc@2:")
    depends_on("libevent@2.1:")
    depends_on("munge")
    depends_on("nettle@3.4:")
    depends_on("pmix@4.2:")
    # Slurm takes only plugins of its own version: name the site's in packages.yaml, as an external that is not buildable.
    depends_on("slurm@20.11:26.05", when="+slurm")
    depends_on("elfutils", when="+evidence")

    conflicts("%gcc@:11", msg="C++20: gcc 12 or newer")

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        args = self.with_or_without("slurm")
        if self.spec.satisfies("+slurm"):
            # A directory of its own, which PluginDir in slurm.conf names: Slurm's may not be ours to write to.
            args.append(f"--with-slurm-plugindir={self.prefix.lib.slurm}")
            args.append(f"--with-slurm-includedir={self.spec['slurm'].prefix.include}")
        return args
