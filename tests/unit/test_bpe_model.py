"""What a BPE model derives from its tokens."""

from __future__ import annotations

import numpy as np

from subwords.machine import BPE, Vocab


def test_alphabet_takes_tokens_of_one_character() -> None:
    # A token that only its first byte makes look like a character is none; the last of equal tokens counts.
    sound = [b"a", "é".encode(), b"ab", "文".encode(), b"", "😀".encode(), b"a", b"b"]
    for tokens in (sound, [*sound, b"\xe9ab", b"\x80", b"\xff"], []):
        model = BPE(
            Vocab(tokens), np.zeros((0, 3), np.int64), byte_level=False, special_ids=frozenset({7} if tokens else ())
        )
        known = {code: int(model.alphabet[code]) for code in np.flatnonzero(model.alphabet >= 0).tolist()}
        assert known == ({ord("a"): 6, ord("é"): 1, ord("文"): 3, ord("😀"): 5} if tokens else {})
