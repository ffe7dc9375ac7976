"""The compiled counters. Without a compiler the installation goes on without it, and numpy counts."""

import os

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "fim_private.counting.kernel",
            ["fim_private/counting/kernel.pyx"],
            extra_compile_args=["-O3"] if os.name == "posix" else [],
            optional=True,
        )
    ]
)
