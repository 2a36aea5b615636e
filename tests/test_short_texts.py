"""Short texts keep the GIL: threads that gave it up at every kernel would wait for each other most of the time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import subwords
from inside import MODE
from inside import kernels_entry as entry

LINE = "A line of some words, 110 bytes of them, as they come in logs and corpora: low, lower, lowest and it's 2024."


def trained(**options: object) -> subwords.Tokenizer:
    return subwords.train([LINE, "naïve 文字"] * 20, **options)  # type: ignore[arg-type]


FAMILIES: dict[str, Callable[[], subwords.Tokenizer]] = {
    "bpe": lambda: trained(vocab_size=300, splitter="gpt2"),
    "machine": lambda: trained(vocab_size=300, splitter="llama3"),
    "wordpiece": lambda: trained(vocab_size=90, algorithm="wordpiece"),
    "unigram": lambda: trained(vocab_size=60, algorithm="unigram"),
}


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """From its call on, the names of the kernels that are called without the GIL."""
    names: list[str] = []

    def watch() -> list[str]:
        for kernel in entry.KNOWN.values():
            if kernel._bound is not None:
                free, held = kernel._bound

                def noted(*args: object, free: Callable[..., int] = free, name: str = kernel.name) -> int:
                    names.append(name)
                    return free(*args)

                monkeypatch.setattr(kernel, "_bound", (noted, held))
        return names

    return watch


@pytest.mark.skipif(MODE != "compiled", reason="the two are one")
@pytest.mark.parametrize("family", FAMILIES)
def test_short_texts_keep_the_gil(family: str, released: Callable[[], list[str]]) -> None:
    tok = FAMILIES[family]()
    ids = tok.encode(LINE)
    tok.decode(ids)
    names = released()
    assert tok.encode(LINE) == ids
    tok.decode(ids)
    assert names == []


@pytest.mark.skipif(MODE != "compiled", reason="the two are one")
def test_long_texts_release_the_gil(released: Callable[[], list[str]]) -> None:
    tok = FAMILIES["bpe"]()
    tok.decode(tok.encode_to_numpy(LINE * 600))  # what is not loaded cannot be watched
    names = released()
    tok = FAMILIES["bpe"]()
    tok.decode(tok.encode_to_numpy(LINE * 600))
    assert {"split_gpt2_many", "encode_bpe", "join_ids"} <= set(names)
