# For a repository of packages of your own, as package.py in the folder packages/berth that `spack repo create` made. There
# is no download address: put berth-VERSION.tar.xz, `git archive` of a release, where Spack is run, or `spack develop` a checkout.
# slurmd loads the object as root, so install as root, or give the files to root (packaging/README.md says how and why).

import os

from spack.package import *

try:
    # From Spack 1.0 on, the kinds of packages are in a repository of their own.
    from spack_repo.builtin.build_systems.generic import Package
except ImportError:
    pass


class Berth(Package):
    """CPU and memory binding for Slurm: task plugin, SPANK plugin and command."""

    manual_download = True
    url = f"file://{os.getcwd()}/berth-0.2.0.tar.xz"
    license("GPL-2.0-or-later")

    version("0.2.0")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2.4:2")

    def install(self, spec, prefix):
        # cargo reads the tree's .cargo/config.toml from this folder.
        cargo = Executable("cargo")
        cargo("build", "--release", "--locked", "-p", "task_berth", "-p", "berth-cli")
        built = join_path(os.environ.get("CARGO_TARGET_DIR", "target"), "release")
        # PluginDir of slurm.conf then names this folder behind Slurm's own, and plugstack.conf has command=PREFIX/bin/berth.
        Executable("ci/install")(
            "--prefix",
            prefix,
            "--plugindir",
            prefix.lib.slurm,
            "--object",
            join_path(built, "libtask_berth.so"),
            "--command",
            join_path(built, "berth"),
        )

    def test_version(self):
        """The command runs."""
        Executable(self.prefix.bin.berth)("--version")
