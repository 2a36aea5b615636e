"""Encoding equals the textbook's, word by word: trained and arbitrary merges, ranks, unknown symbols (E1-E7)."""

from __future__ import annotations

import random
import secrets
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from building import tokenizer_of
from engines import splitter
from inside import encoder_of
from inside import kernels_layout as layout
from inside import models_segmenter as segmenter
from strategies import Pair, byte_texts, counts_of, merge_lists, model_of, settings_of, small_words, texts, train_model
from subwords.machine import BPE, Vocab
from subwords.reference import bpe as reference
from subwords.reference.bpe import GPT2_PATTERN, encode_word_ranks
from twins import check_words, tokens_of

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"
GPT2 = splitter("gpt2")
WHOLE = splitter(r"(?s:.+)")  # a text is one word
AB = [b"a", b"b"]
ABC = [*AB, b"c"]
BYTES = [bytes([byte]) for byte in range(256)]


# ------------------------------------------------------------------ E1


# With all 256 bytes long words are segmented in windows, with fewer all at once.
BASES = st.sampled_from([ABC, BYTES])


@given(merge_lists(ABC), BASES, st.lists(small_words().map(str.encode), min_size=1, max_size=8))
def test_arbitrary_merges(pairs: list[Pair], base: list[bytes], words: list[bytes]) -> None:
    ref = [reference.encode_word(word, pairs) for word in words]
    check_words(encoder_of(model_of(base, pairs), WHOLE), words, ref)


@given(merge_lists(AB, most=60), BASES, st.lists(st.sampled_from(AB), min_size=layout.SHORT_WORD - 3, max_size=300))
def test_arbitrary_merges_in_long_words(pairs: list[Pair], base: list[bytes], symbols: list[bytes]) -> None:
    word = b"".join(symbols)
    check_words(encoder_of(model_of(base, pairs), WHOLE), [word], [reference.encode_word(word, pairs)])


@given(merge_lists([b"a"], most=20), BASES, st.integers(1, 200))
def test_runs_of_one_letter(pairs: list[Pair], base: list[bytes], length: int) -> None:
    word = b"a" * length
    check_words(encoder_of(model_of(base, pairs), WHOLE), [word], [reference.encode_word(word, pairs)])


@given(merge_lists(AB, most=80), st.integers(0, 2**32), st.integers(300, 20_000))
def test_windows_equal_the_whole_word(pairs: list[Pair], seed: int, length: int) -> None:
    # Too long for the textbook: both ways of the kernel were held against it above.
    word = bytes(random.Random(seed).choices(b"ab", k=length))
    assert tokens_of(encoder_of(model_of(BYTES, pairs), WHOLE), word) == tokens_of(
        encoder_of(model_of(AB, pairs), WHOLE), word
    )


@pytest.mark.parametrize("order", ["up", "down", "shuffled"])
@pytest.mark.parametrize("length", [100, 4096, 5000, 70_001])
def test_windows_that_never_meet(order: str, length: int) -> None:
    # Tokens of up to 8,192 bytes: longer than a window, than two, than what is remembered.
    pairs = [(b"a" * (1 << n), b"a" * (1 << n)) for n in range(13)]
    pairs += [(b"b", b"a"), (b"ba", b"a"), (b"baa", b"aaaa"), (b"a" * 8, b"b")]
    if order != "up":
        pairs = pairs[::-1] if order == "down" else random.Random(7).sample(pairs, len(pairs))
    for word in (
        b"a" * length,
        b"b" + b"a" * (length - 2) + b"b",
        b"ab" + b"a" * (length // 2) + b"ba" * (length // 4),
    ):
        got = tokens_of(encoder_of(model_of(BYTES, pairs), WHOLE), word)
        assert got == tokens_of(encoder_of(model_of(AB, pairs), WHOLE), word)
        if length <= 100:
            assert got == reference.encode_word(word, pairs)


def test_every_length_of_word() -> None:
    # Fifteen bytes are a key, four ids a slot, SHORT_WORD symbols a mask, 1,024 bytes what is remembered.
    seed = 4
    print(f"seed {seed}")
    rng = random.Random(seed)
    pairs = [(b"a", b"b"), (b"b", b"a"), (b"ab", b"c"), (b"c", b"c"), (b"abc", b"abc"), (b"ba", b"ba"), (b"cc", b"c")]
    lengths = [*range(1, 3 * layout.SHORT_WORD), 255, 256, 257, 1022, 1023, 1024, 1025, 1026]
    words = [bytes(rng.choices(b"abc", k=length)) for length in lengths]
    ref = [reference.encode_word(word, pairs) for word in words]
    for base in (ABC, BYTES):
        check_words(encoder_of(model_of(base, pairs), WHOLE), words, ref)


@given(st.lists(texts(10), min_size=1, max_size=4), byte_texts(), st.integers(0, 60))
def test_trained_model_on_any_bytes(documents: list[str], data: bytes, merges: int) -> None:
    vocab, pairs = reference.train(reference.count_words(documents, GPT2_PATTERN), 256 + merges)
    encoder = encoder_of(model_of(vocab[:256], pairs), GPT2)
    for text in (*map(str.encode, documents), data):
        assert encoder.encode(text).tolist() == reference.encode(text, vocab, pairs)


@pytest.fixture(scope="module")
def opticks() -> str:
    return OPTICKS.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def opticks_tokenizer(opticks: str) -> subwords.Tokenizer:
    return subwords.train([opticks], vocab_size=2000, splitter="gpt2")


def test_real_text(opticks: str, opticks_tokenizer: subwords.Tokenizer) -> None:
    tok = opticks_tokenizer
    text = opticks[100_000:140_000]
    assert tok.encode(text) == reference.encode(text, [*tok.model.vocab], tok.merges)


def test_real_text_with_ranks_in_another_order(opticks: str, opticks_tokenizer: subwords.Tokenizer) -> None:
    seed = 9
    print(f"seed {seed}")
    tok = opticks_tokenizer
    order = np.random.default_rng(seed).permutation(len(tok.merges))
    shuffled = encoder_of(BPE(tok.model.vocab, tok.model.merges[order]), GPT2)
    text = opticks[:20_000]
    ref = reference.encode(text, [*tok.model.vocab], [tok.merges[k] for k in order])
    assert shuffled.encode(text.encode()).tolist() == ref


# ------------------------------------------------------------------ E2


@st.composite
def rank_lists(draw: st.DrawFn, base: list[bytes]) -> list[bytes]:
    """Tokens in any order; those of several symbols need not be reached by any two tokens."""
    longer = draw(st.lists(small_words("abc", 5).map(str.encode), max_size=30))
    tokens = list(dict.fromkeys([*base, *longer]))
    return random.Random(draw(st.integers(0, 2**32))).sample(tokens, len(tokens))


@given(st.data(), BASES, st.lists(small_words().map(str.encode), min_size=1, max_size=8))
def test_ranks(data: st.DataObject, base: list[bytes], words: list[bytes]) -> None:
    tokens = data.draw(rank_lists(base))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    words = [*words, *tokens[-10:]]
    ref = [[tokens[rank] for rank in encode_word_ranks(word, ranks)] for word in words]
    check_words(encoder_of(BPE.from_ranks(tokens), WHOLE), words, ref)


@given(st.data(), BASES, st.lists(st.sampled_from(ABC), min_size=layout.SHORT_WORD - 3, max_size=200))
def test_ranks_in_long_words(data: st.DataObject, base: list[bytes], symbols: list[bytes]) -> None:
    # Equal ranks: `abc` is joined from `ab` + `c` and from `a` + `bc`.
    tokens = data.draw(rank_lists(base))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    word = b"".join(symbols)
    ref = [tokens[rank] for rank in encode_word_ranks(word, ranks)]
    check_words(encoder_of(BPE.from_ranks(tokens), WHOLE), [word], [ref])


def test_word_that_is_a_token_is_taken_at_once() -> None:
    tokens = [b"a", b"b", b"c", b"bc", b"aabb", b" aabb", b"abcabcabcabcabcabcabc", b" "]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    encoder = encoder_of(BPE.from_ranks(tokens), GPT2)
    for word in (b"aabb", b" aabb", b"aabbb", b"abcabcabcabcabcabcabc", b"abcabcabcabcabcabcabca"):
        assert encoder.encode(word).tolist() == encode_word_ranks(word, ranks)


# ------------------------------------------------------------------ E4: symbols outside the alphabet


def tokens_with_unknown(word: bytes, pairs: list[Pair], known: set[bytes], byte_level: bool, fuse: bool) -> list[bytes]:
    """Unknown symbols are b"<unk>" each, or one for neighbours if `fuse`; what lies between is segmented."""
    tokens: list[bytes] = []
    for is_known, run in groupby(reference.symbols_of(word, byte_level), known.__contains__):
        symbols = list(run)
        unknown = [b"<unk>"] * (1 if fuse else len(symbols))
        tokens += reference.encode_word(b"".join(symbols), pairs, byte_level=byte_level) if is_known else unknown
    return tokens


ALPHABETS = {True: [b"a", b"b", b"\xc3", b"\xff"], False: [b"a", b"b", "é".encode(), "文".encode(), "😀".encode()]}
MIXED = st.lists(
    st.sampled_from(
        [b"a", b"b", b"x", b"y", "é".encode(), "文".encode(), "😀".encode(), "ü".encode(), b"\xc3", b"\xff"]
    ),
    min_size=1,
    max_size=130,
).map(b"".join)


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("byte_level", [False, True])
@given(data=st.data(), words=st.lists(MIXED, min_size=1, max_size=5))
def test_unknown_symbols_become_unk(byte_level: bool, fuse: bool, data: st.DataObject, words: list[bytes]) -> None:
    base = ALPHABETS[byte_level]
    pairs = data.draw(merge_lists(base))
    model = model_of([b"<unk>", *base], pairs, byte_level=byte_level, unk_id=0, fuse_unk=fuse)
    ref = [tokens_with_unknown(word, pairs, set(base), byte_level, fuse) for word in words]
    if not fuse:
        vocab = [b"<unk>", *base]
        own = [reference.encode_word(word, pairs, byte_level=byte_level, vocab=vocab, unk="<unk>") for word in words]
        assert ref == own
    check_words(encoder_of(model, WHOLE), words, ref)


@pytest.mark.parametrize("byte_level", [False, True])
@given(data=st.data(), words=st.lists(MIXED, min_size=1, max_size=5))
def test_unknown_symbols_are_dropped(byte_level: bool, data: st.DataObject, words: list[bytes]) -> None:
    base = ALPHABETS[byte_level]
    pairs = data.draw(merge_lists(base))
    model = model_of(base, pairs, byte_level=byte_level, unknown="drop")
    kept = [b"".join(s for s in reference.symbols_of(word, byte_level) if s in base) for word in words]
    ref = [reference.encode_word(word, pairs, byte_level=byte_level) for word in kept]
    check_words(encoder_of(model, WHOLE), words, ref)


@pytest.mark.parametrize("byte_level", [False, True])
@given(data=st.data(), word=MIXED)
def test_unknown_symbols_are_an_error_that_says_where(byte_level: bool, data: st.DataObject, word: bytes) -> None:
    base = ALPHABETS[byte_level]
    pairs = data.draw(merge_lists(base))
    encoder = encoder_of(model_of(base, pairs, byte_level=byte_level), WHOLE)
    symbols = reference.symbols_of(word, byte_level)
    first = next((n for n, symbol in enumerate(symbols) if symbol not in base), None)
    if first is None:
        assert tokens_of(encoder, word) == reference.encode_word(word, pairs, byte_level=byte_level)
        return
    with pytest.raises(segmenter.UnknownSymbolError, match="is not in the vocabulary") as error:
        encoder.encode(word)
    assert error.value.begin == len(b"".join(symbols[:first]))
    assert tokens_of(encoder, b"ab") == reference.encode_word(b"ab", pairs, byte_level=byte_level), "still of use"


@given(st.lists(texts(6), min_size=1, max_size=4), texts(), st.sampled_from([None, 2, 20]))
def test_trained_character_model(documents: list[str], text: str, limit: int | None) -> None:
    words = reference.count_words(documents, GPT2_PATTERN)
    options: dict[str, Any] = {"byte_level": False, "special_tokens": ["[UNK]"], "limit_alphabet": limit}
    if not words:
        return
    vocab, pairs = reference.train(words, 400, **options)
    model = train_model("bpe", counts_of(words), settings_of("bpe", vocab_size=400, unk_token="[UNK]", **options))
    assert list(model.vocab) == vocab
    encoder = encoder_of(model, GPT2)
    for each in (*documents, text):
        ref = reference.encode(each, vocab, pairs, byte_level=False, unk="[UNK]")
        assert encoder.encode(each.encode()).tolist() == ref


@pytest.mark.parametrize("place", [0, 1, 100, layout.WORD_BLOCK - 2, layout.WORD_BLOCK - 1])
def test_word_without_any_known_symbol_leaves_its_neighbours_alone(place: int) -> None:
    # Words are handled in blocks; the last one's place in the table was once overwritten by an empty word.
    words = [b"a" * (n % 13 + 1) for n in range(layout.WORD_BLOCK)]
    words[place] = b"x"
    encoder = encoder_of(model_of([b"a"], [], unknown="drop"), GPT2)
    assert len(encoder.encode(b" ".join(words))) == b"".join(words).count(b"a")
    state = encoder.take()
    assert int((state.slots.reshape(-1, 4)[:, 1] != 0).sum()) == state.counters[3], "as many slots as words"
    assert state.scratch[0][3 * (layout.WORD_BLOCK - 1) + 2] < len(state.slots)


# ------------------------------------------------------------------ E7: symbols with a prefix and a suffix


@st.composite
def marked_models(draw: st.DrawFn, byte_level: bool) -> tuple[BPE, list[Pair]]:
    """A model of some forms of its symbols, and its merges."""
    prefix, suffix = draw(st.sampled_from([(b"", b"</w>"), (b"##", b""), (b"#", b"_"), (b"a", b"b"), (b"", b"a")]))
    forms = dict.fromkeys(p + s + e for s in ALPHABETS[byte_level] for p in (b"", prefix) for e in (b"", suffix))
    tokens = [b"<unk>", *draw(st.lists(st.sampled_from([*forms]), min_size=1, unique=True))]
    pairs: list[Pair] = []
    for _ in range(draw(st.integers(0, 30))):
        left, right = draw(st.sampled_from(tokens[1:])), draw(st.sampled_from(tokens[1:]))
        if right.startswith(prefix) and (left, right) not in pairs:
            pairs.append((left, right))
            tokens += {left + right[len(prefix) :]} - {*tokens}
    ids = {token: index for index, token in enumerate(tokens)}
    merges = np.array([(ids[a], ids[b], ids[a + b[len(prefix) :]]) for a, b in pairs], np.int64).reshape(-1, 3)
    fuse = draw(st.booleans())
    model = BPE(Vocab(tokens), merges, byte_level=byte_level, unk_id=0, fuse_unk=fuse, prefix=prefix, suffix=suffix)
    return model, pairs


@pytest.mark.parametrize("byte_level", [False, True])
@given(data=st.data(), words=st.lists(MIXED, min_size=1, max_size=5))
def test_prefix_and_suffix(byte_level: bool, data: st.DataObject, words: list[bytes]) -> None:
    model, pairs = data.draw(marked_models(byte_level))
    options: dict[str, Any] = {"byte_level": byte_level, "fuse_unk": model.fuse_unk}
    options |= {"vocab": [*model.vocab], "unk": "<unk>", "prefix": model.prefix, "suffix": model.suffix}
    check_words(encoder_of(model, WHOLE), words, [reference.encode_word(word, pairs, **options) for word in words])
    tok = tokenizer_of(model, WHOLE)
    for text in (word.decode("utf-8", "ignore") for word in words):  # merged in plain Python
        assert subwords.study.explain(tok, text).ids == tok.encode(text)


@pytest.mark.parametrize(
    ("byte_level", "name", "refused"),
    [
        (True, "a.tiktoken", "a rank file holds no prefix and no suffix"),
        (False, "a.model", "without prefix and suffix"),
    ],
)
def test_formats_without_prefix_and_suffix_refuse_them(
    byte_level: bool, name: str, refused: str, tmp_path: Path
) -> None:
    model = BPE(Vocab([b"a", b"a_"]), np.zeros((0, 3), np.int64), byte_level=byte_level, suffix=b"_")
    with pytest.raises(subwords.FormatError, match=refused):
        tokenizer_of(model, GPT2).save(tmp_path / name)


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"dropout": 1.5}, "expected dropout to be a number from 0 to 1, not 1.5"),
        ({"prefix": b"##", "words_only": True}, "need a model without parts, unused_ids and words_only"),
        ({"suffix": b"A", "byte_fallback": True}, "byte_fallback with suffix b'A', whose bytes are tokens"),
        ({"prefix": b"##", "merges": np.array([[0, 1, 2]])}, "merge 0 yields b'ab'; expected b'a'"),
        ({"prefix": b"x", "merges": np.array([[0, 1, 2]])}, "merge 0 yields b'ab'; expected b'a'"),
    ],
)
def test_models_that_do_not_fit_together_are_refused(fields: dict[str, Any], refused: str) -> None:
    tokens = [b"a", b"b", b"ab", b"<0x41>"]
    with pytest.raises(subwords.FormatError, match=refused):
        BPE(**{"vocab": Vocab(tokens), "merges": np.zeros((0, 3), np.int64), "byte_level": False, **fields})


# ------------------------------------------------------------------ the table


def test_colliding_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # With seeds of 1, eight bytes that are 1 cancel what the eight beside them do: one hash for all.
    monkeypatch.setattr(secrets, "randbits", lambda bits: 1)
    seed = 6
    print(f"seed {seed}")
    rng = random.Random(seed)
    pairs = [(b"!", b"#"), (b"#", b"$"), (b"!", b"!"), (b"!!", b"!!")]
    one = (1).to_bytes(8, "little")
    words = [one + bytes(rng.choices(b"!#$", k=8)) + one + b"!" * 16 for _ in range(200)]
    check_words(encoder_of(model_of(BYTES, pairs), GPT2), words, [reference.encode_word(word, pairs) for word in words])


def test_words_that_differ_in_length_alone() -> None:
    pairs = [(b"\0", b"\0"), (b"\0\0", b"\0\0")]
    words = [b"\0" * n for n in range(1, 40)] + [b"\xff" * n for n in range(1, 40)]
    check_words(
        encoder_of(model_of(BYTES, pairs), WHOLE), words, [reference.encode_word(word, pairs) for word in words]
    )
