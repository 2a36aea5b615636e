"""Apply a template to the encodings of a text or a pair."""

from __future__ import annotations

import numpy as np

from subwords.components.template import Template
from subwords.results.encoding import Encoding

__all__ = ["framed"]


def framed(template: Template | None, first: Encoding, second: Encoding | None = None) -> Encoding:
    """Return the encoding of a text or pair with the tokens of a template added.

    Spans are trimmed if the template says so. Without a template, a pair is joined; the second text gets type id 1.

    >>> import numpy as np
    >>> from subwords.components.template import bert
    >>> text = Encoding.of_text(np.array([7]), ["a"], np.array([[0, 1]]), [0])
    >>> framed(bert(101, 102), text).tokens
    ('[CLS]', 'a', '[SEP]')
    """
    template = template or Template()
    texts = (first,) if second is None else (first, second)
    lengths = [len(text) for text in texts]
    spans = [template.trimmed(text.spans, text.tokens).tolist() for text in texts]
    places = template.fill(*spans, inserted=lambda piece: [[0, 0]] * len(piece.ids))
    return Encoding(
        template.apply(*(text.ids for text in texts)),
        tuple(template.fill(*(text.tokens for text in texts), inserted=lambda piece: piece.tokens)),
        np.array(places, np.int64).reshape(len(places), 2),
        tuple(template.fill(*(text.word_ids for text in texts), inserted=lambda piece: [None] * len(piece.ids))),
        template.type_ids(*lengths),
        template.special_mask(*lengths),
        template.ranges(*lengths),
    )
