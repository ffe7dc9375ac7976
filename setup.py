"""The compiled loops of counting and grouping. Without a compiler the installation goes on without
them, and numpy does their work.
"""

import os
import sysconfig

from setuptools import Extension, setup

# The stable interface of Python 3.11: one wheel of a system serves that version and all later ones.
# Builds without the global lock have no such interface.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            f"fim_private.{name.replace('/', '.')}",
            [f"fim_private/{name}.pyx"],
            depends=["fim_private/counting/sums.pxd"],
            # Aligned to lines of the cache, functions take as long whatever function stands before
            # them.
            extra_compile_args=["-O3", "-falign-functions=64"] if os.name == "posix" else [],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            py_limited_api=STABLE,
            optional=True,
        )
        for name in ("counting/kernel", "counting/sums", "reading/grouping")
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
