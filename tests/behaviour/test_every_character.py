"""Every character becomes what HF's normalizer makes of it: alone, after a letter and before a mark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import normalizers

import subwords

PEERS: dict[str, Callable[[], Any]] = {
    "lowercase": normalizers.Lowercase,
    "nfc": normalizers.NFC,
    "nfd": normalizers.NFD,
    "nfkc": normalizers.NFKC,
    "nfkd": normalizers.NFKD,
    "nmt": normalizers.Nmt,
    "strip-accents": lambda: normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    "bert-uncased": normalizers.BertNormalizer,
    "bert-cased": lambda: normalizers.BertNormalizer(lowercase=False),
}


# All planes that have characters but the private ones, of which these are the first and the last.
CODES = [*range(0xD800), *range(0xE000, 0x33480), *range(0xE0000, 0xE0200), 0xF0000, 0x10FFFD, 0x10FFFF]


@pytest.mark.parametrize("around", ["{}", "a{}\u0301"])
@pytest.mark.parametrize("name", PEERS)
def test_every_character(name: str, around: str) -> None:
    ours, peer = subwords.normalizer(name), PEERS[name]()
    for first in range(0, len(CODES), 1 << 12):
        text = "\n".join(around.format(chr(code)) for code in CODES[first : first + (1 << 12)])
        assert ours.normalize(text).split("\n") == peer.normalize_str(text).split("\n"), hex(CODES[first])
