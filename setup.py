"""The compiled counters. Without a compiler the installation goes on without it, and numpy counts."""

import os

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"fim_private.counting.{name}",
            [f"fim_private/counting/{name}.pyx"],
            depends=["fim_private/counting/sums.pxd"],
            # Aligned to lines of the cache, functions take as long whatever function stands before them.
            extra_compile_args=["-O3", "-falign-functions=64"] if os.name == "posix" else [],
            optional=True,
        )
        for name in ("kernel", "sums")
    ]
)
