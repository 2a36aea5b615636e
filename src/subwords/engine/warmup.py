"""warmup: compile every kernel, or read it from the cache, at a time of the user's choice."""

from __future__ import annotations

from importlib import import_module

from subwords.corpus.progress import progress as progress_line

__all__ = ["warmup"]


def warmup(*, progress: bool | None = None) -> None:
    """Compile, or read from the cache, every kernel of this package.

    Servers call it once before they fork or take requests; a second call costs nothing. `progress` None: shown where
    standard error is a terminal.

    >>> import subwords
    >>> subwords.warmup()
    """
    from subwords.kernels.guard import undisturbed
    from subwords.kernels.jit import KERNELS
    from subwords.kernels.notice import NOTICES

    undisturbed(_import_kernels)
    with progress_line(len(KERNELS), "loading kernels", unit="steps", enabled=progress) as bar:
        NOTICES.shown = NOTICES.shown or bar.shown
        for number, kernel in enumerate(KERNELS, 1):
            kernel.ready()
            bar.phase("compiling kernels, once" if NOTICES.compiling else "loading kernels", number, len(KERNELS))


def _import_kernels() -> None:
    modules = (
        "bpe_encode bpe_index bpe_train count decode encode find merge normal_forms normalize normalize_graphemes "
        "normalize_rules pieces split_cut split_drop split_gpt2 split_machine split_symbols suffix suffix_sort "
        "unigram_encode unigram_lattice unigram_train utf8 wordpiece_encode wordpiece_index wordpiece_train words"
    )
    for module in modules.split():
        import_module(f"subwords.kernels.{module}")
