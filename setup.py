"""The compiled counters. Without a compiler the installation goes on without it, and numpy counts."""

import os

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"fim_private.counting.{name}",
            [f"fim_private/counting/{name}.pyx"],
            depends=["fim_private/counting/sums.pxd"],
            extra_compile_args=["-O3"] if os.name == "posix" else [],
            optional=True,
        )
        for name in ("kernel", "sums")
    ]
)
