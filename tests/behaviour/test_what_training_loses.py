"""Warnings of what does not come back: whitespace, user-defined pieces, spaces beside added words. Decoders by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import subwords
from subwords import InputError, SubwordsWarning

CODE = 'def add(a, b):\n    """Add."""\n\tif a:\n        return a + b\n\n\nx  =  1\n'
PROSE = "The rays of light are\nrefracted by a prism.\n\nSo is the colour of them.\n"
FAMILIES: dict[str, dict[str, Any]] = {
    "unigram": {"algorithm": "unigram", "vocab_size": 40},
    "mingram": {"algorithm": "mingram", "vocab_size": 36},
    "llama": {"vocab_size": 48, "byte_level": False, "splitter": "sentencepiece", "fuse_unk": True}
    | {"normalizer": "sentencepiece", "special_tokens": ["<unk>"], "unk_token": "<unk>"},
}


def said(make: Callable[[], Any]) -> tuple[Any, str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", SubwordsWarning)
        made = make()
    return made, " ".join(str(one.message) for one in found if "fewer tokens" not in str(one.message))


@pytest.mark.parametrize("family", FAMILIES)
def test_lost_whitespace(family: str, tmp_path: Path) -> None:
    tok, message = said(lambda: subwords.train([CODE] * 40, **FAMILIES[family]))
    assert tok.decode(tok.encode(CODE)) != CODE
    assert "removes 52% of the spaces and tabs" in message and "sentencepiece-unchanged" in message
    assert said(lambda: subwords.train([PROSE] * 40, **FAMILIES[family]))[1] == ""
    kept, message = said(
        lambda: subwords.train([CODE] * 40, **FAMILIES[family] | {"normalizer": "sentencepiece-unchanged"})
    )
    assert kept.decode(kept.encode(CODE)) == CODE and message == ""
    for name in ("kept.model", "kept.json"):
        kept.save(tmp_path / name)
        again = subwords.load(tmp_path / name)
        assert again.encode(CODE) == kept.encode(CODE) and again.decode(again.encode(CODE)) == CODE
    sentencepiece = pytest.importorskip("sentencepiece")
    peer = sentencepiece.SentencePieceProcessor(model_proto=(tmp_path / "kept.model").read_bytes())
    assert peer.encode(CODE) == kept.encode(CODE) and peer.decode(peer.encode(CODE)) == CODE


def test_byte_level_loses_nothing() -> None:
    assert said(lambda: subwords.train([CODE] * 40, vocab_size=260))[1] == ""
    assert said(lambda: subwords.train([CODE] * 40, algorithm="wordpiece", vocab_size=60))[1] == ""  # keeps no spaces


STEPS: dict[str, tuple[Any, set[str]]] = {  # and the pieces that they change
    "sentencepiece": ("sentencepiece", set()),
    "lowercase": (["lowercase", "sentencepiece"], {"<NUM>"}),
    "nfkc": (["nfkc", "sentencepiece"], {"<ﬁ>"}),
    "both": (["nfkc", "lowercase", "sentencepiece"], {"<NUM>", "<ﬁ>"}),
}


@pytest.mark.parametrize("name", STEPS)
def test_changed_pieces(name: str) -> None:
    steps, changed = STEPS[name]
    pieces = ["<NUM>", "<ﬁ>", "<link>", "a b"]
    corpus = ["count <NUM> items at <link> here", "<ﬁ> a b"] * 9
    make: dict[str, Any] = {"algorithm": "unigram", "vocab_size": 32, "normalizer": steps, "user_defined": pieces}
    tok, message = said(lambda: subwords.train(corpus, **make))
    changed = changed | {"a b"}  # its space is U+2581 before the model sees it
    assert {piece for piece in pieces if repr(piece) in message} == changed
    for piece in pieces:
        assert (piece in tok.tokenize(f"x {piece} y")) == (piece not in changed), piece


def test_spaces_beside_added_words(data: Path) -> None:
    text = "Anna met Quill today."
    toks = [subwords.train([text, "Quill and Anna"] * 9, **FAMILIES["llama"]), subwords.load("demo")]
    if (mistral := data / "tokenizers/mistral/tokenizer.model.v1").exists():
        toks.append(subwords.load(mistral))
    for tok in toks:
        for flags in ({}, {"normalized": True}, {"single_word": True}):
            new, message = said(lambda tok=tok, flags=flags: tok.with_tokens(["Quill"], special=False, **flags))
            back = new.decode(new.encode(text))
            assert (back == text) == (message == ""), (flags, back)
            if message:
                assert "subwords.adapt.extend(tok, ['Quill'], count=" in message
        assert said(lambda tok=tok: tok.with_tokens(["Quill"]))[1] == ""  # a special token is no word of a text


def test_decoders_by_name() -> None:
    tok = subwords.train(["C O N"] * 3, algorithm="wordlevel", vocab_size=4)
    for value, text in (
        ("fuse", "CO"),
        ("Fuse", "CO"),
        ({"type": "Fuse"}, "CO"),
        ("spaces", "C O"),
        (tok.decoder, "C O"),
    ):
        assert tok.with_(decoder=value).decode(tok.encode("C O")) == text  # type: ignore[arg-type]
    node = {"version": "1.0", "decoder": {"type": "Fuse"}}
    assert tok.with_(decoder=node) == tok.with_(decoder="fuse")
    with pytest.raises(InputError, match=r"expected a decoder's name .*'fsue'; did you mean 'fuse'"):
        tok.with_(decoder="fsue")
    with pytest.raises(subwords.FormatError, match="decoder"):
        tok.with_(decoder={"type": "Unknown"})
