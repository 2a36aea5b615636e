"""Models that write spaces as U+2581 give the same ids with and without their normalizer (D6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inside import Prepend, SentencePiece, Steps, plain_spaces
from inside import engine_encoder as encoder
from inside import normalizer_Replace as Replace
from subwords import Tokenizer, TokenizerSpec
from subwords.machine import BPE, Rule, Split, engine_of

PIECES = ["<unk>", "▁", "a", "b", "\n", "▁a", "▁▁", "ab", "▁ab", "▁▁▁", "ba", "\n\n", "é", "[x]", "a▁"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
STEPS: dict[str, Steps] = {
    "model": (SentencePiece(b"", True, False, True, False, ("[x]",)),),
    "no prefix": (SentencePiece(b"", False, False, True, False),),
    "llama": (Prepend("▁"), Replace(" ", "▁")),
    "last": (Replace(" ", "▁"), Prepend("▁")),
    "replace": (Replace(" ", "▁"),),
}


def model(*, byte_fallback: bool, crossing: bool = False) -> BPE:
    pieces = [*PIECES[: None if crossing else -1], *(BYTES if byte_fallback else [])]
    scores = [-len(piece) + i / 1000 for i, piece in enumerate(pieces)]
    special = {0, *range(len(pieces) - 256 * byte_fallback, len(pieces))}
    data = [piece.encode() for piece in pieces]
    return BPE.from_scores(
        data, scores, unk_id=0, byte_fallback=byte_fallback, special_ids=special, user_ids=[pieces.index("[x]")]
    )


@pytest.mark.rotating(4)
@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("crossing", [False, True])
@pytest.mark.parametrize("name", STEPS)
@given(texts=st.lists(st.text(" ▁ab\néx[]", max_size=20), max_size=4))
def test_same_ids(name: str, crossing: bool, byte_fallback: bool, texts: list[str]) -> None:
    bpe = model(byte_fallback=byte_fallback, crossing=crossing)
    tok = Tokenizer(TokenizerSpec(model=bpe, normalizer=STEPS[name], splitter=bpe.space_rule))
    engine = engine_of(tok)
    assert engine.plain is not None
    general = [engine.encoder.encode(text.encode()).tolist() for text in texts]
    assert [tok.encode(text) for text in texts] == general
    assert tok.encode_batch(texts).to_lists() == general
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder.Encoder, "has_fast_path", False)
        plain = [i for i, text in enumerate(texts) if "▁" not in text]
        given = [texts[i] for i in plain]
        found = engine.plain.encoder_of(given).encode_batch(given, 1).to_lists()
        assert found == [general[i] for i in plain]
    assert [tok(text).ids.tolist() for text in texts] == general
    for text in texts:
        (whole,) = tok([text])
        assert tok(text).spans.tolist() == whole.spans.tolist()
        assert tok(text) == whole


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        (STEPS["llama"], (Split("[^▁ ]+"),)),
        (STEPS["llama"], (Split(r"▁\s+"),)),
        (STEPS["llama"], (Split("[!-▁]+"),)),
        (STEPS["llama"], (Split("(?x)▁+"),)),
        ((Prepend("▁"),), ()),
        ((Prepend("_"), Replace(" ", "▁")), ()),
        ((Replace(" ", "▁", True),), ()),
        ((SentencePiece(b"", True, True, True, False),), ()),
        ((SentencePiece(b"", True, False, False, False),), ()),
        ((SentencePiece(b"", True, False, True, True),), ()),
        ((SentencePiece(b"", True, False, True, False, ("a b",)),), ()),
        ((), ()),
    ],
)
def test_what_needs_the_normalizer(steps: Steps, rule: Rule) -> None:
    assert plain_spaces(model(byte_fallback=True), steps, rule) is None


def test_pieces_with_spaces_need_the_normalizer() -> None:
    pieces = [b"<unk>", "▁".encode(), b"a", b" ", "▁a".encode()]
    spaced = BPE.from_scores(pieces, [0, -1, -2, -3, -4], unk_id=0, byte_fallback=False, special_ids=[0])
    assert plain_spaces(spaced, STEPS["llama"], ()) is None
