"""Encodings of many texts by kernels; texts with added tokens are located one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from subwords.components.template import Template
from subwords.engine.framed import sliced
from subwords.engine.framed_rows import RowFrame
from subwords.engine.placed import Placement, Placer, merged
from subwords.engine.placed_one import OnePlacer
from subwords.engine.trimmed import Trimmer
from subwords.results.rows import Rows
from subwords.split.splitter import SplitterEngine

if TYPE_CHECKING:
    from subwords.engine.engine import Engine
    from subwords.engine.spans import Located

__all__ = ["Rich"]


class Rich:
    """Makes the rows of encodings."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._spelling = engine.spelling
        self._placer = self._made()
        self._one = None if self._placer is None else OnePlacer(self._placer)
        self._trimmers: dict[tuple[bool, ...], Trimmer] = {}

    def _made(self) -> Placer | None:
        engine, segmenter = self._engine, self._engine.segmenter
        if segmenter.id_sizes is None:
            return None
        source = engine.encoder.splitter
        found: Any = getattr(source, "splitter", source)  # a splitter, or a normalizer with one
        finer: SplitterEngine = engine.splitter if found == engine.splitter else found
        placer = Placer(engine.encoder, engine.splitter, finer, engine.normalizer, segmenter.id_sizes, self._spelling)
        placer.sees_start = engine.sees_start
        return placer

    def rows(
        self, frame: RowFrame, texts: Sequence[str], special: str | AbstractSet[str], threads: int | None
    ) -> Rows | None:
        """Return the rows of texts, or of pairs: first all first texts, then all second ones.

        None if they need the long way: most texts have added tokens, or ids are not in the order of their bytes.
        InputError for invalid texts and frames; it does not say which text.
        """
        placer, finder = self._placer, self._engine.added.finder(special)
        if placer is None:
            return None
        locate, trimmer = self._alone(frame.template, special), self._trimmer(frame.template)
        found: Placement | None
        if len(texts) == 1 and self._one is not None and not (finder.literal and finder.literal.occurs(texts[0])):
            found = self._one.place(texts[0], finder.normalized, trimmer)
            if found is not None:
                return frame.rows(found, self._spelling.tokens, self._spelling.file_tokens)
        if finder.literal and finder.literal.occurs(texts[0] if len(texts) == 1 else "\n".join(texts)):
            has = [finder.literal.occurs(text) for text in texts]
            found = None
            if not all(has):
                plain = [text for text, other in zip(texts, has, strict=True) if not other]
                found = placer.place(plain, locate, finder.normalized, trimmer, threads)
            if found is not None:
                found = merged(found, {k: locate(texts[k]) for k, other in enumerate(has) if other}, self._spelling)
        else:
            found = placer.place(texts, locate, finder.normalized, trimmer, threads)
        return None if found is None else frame.rows(found, self._spelling.tokens, self._spelling.file_tokens)

    def _alone(self, template: Template, special: str | AbstractSet[str]) -> Callable[[str], Located]:
        """Return the function that locates one text the long way."""
        engine = self._engine

        def locate(text: str) -> Located:
            found = engine.locate(text, special)
            return sliced(template, found, 0, len(found.ids))

        return locate

    def _trimmer(self, template: Template) -> Trimmer | None:
        if not template.trims:
            return None
        found = self._trimmers.get(template.trims)
        if found is None:
            found = self._trimmers[template.trims] = Trimmer(template, self._spelling)
        return found
