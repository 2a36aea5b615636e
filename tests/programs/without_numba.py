"""From here on an import of Numba fails."""

from __future__ import annotations

import builtins

real = builtins.__import__


def refuse(name, *args, **kwargs):
    if name.partition(".")[0] == "numba":
        raise ImportError("numba is blocked here")
    return real(name, *args, **kwargs)


builtins.__import__ = refuse
