"""warmup: compile all kernels, or load them from the cache, ahead of use."""

from __future__ import annotations

from subwords.corpus.progress import progress as progress_line

__all__ = ["warmup"]


def warmup(*, progress: bool | None = None) -> None:
    """Compile all kernels of this package, or load them from the cache.

    Servers call it once before they fork or take requests; a second call is free. `progress=None` shows a bar if
    standard error is a terminal.

    >>> import subwords
    >>> subwords.warmup()
    """
    from subwords.kernels.fastpath import every_address_kernel
    from subwords.kernels.guard import undisturbed
    from subwords.kernels.jit import every_kernel
    from subwords.kernels.modes import NOTICES

    kernels = [*undisturbed(every_kernel), *undisturbed(every_address_kernel)]
    with progress_line(len(kernels), "loading kernels", unit="steps", enabled=progress) as bar:
        NOTICES.shown = NOTICES.shown or bar.shown
        for number, kernel in enumerate(kernels, 1):
            kernel.without_gil()
            bar.phase("compiling kernels, once" if NOTICES.compiling else "loading kernels", number, len(kernels))
