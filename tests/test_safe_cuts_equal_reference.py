"""Safe cuts by vocabulary (E9): no token spans one, and ids, tokens and texts stay those of whole words."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subwords
from building import tokenizer_of
from engines import splitter
from inside import MODE, encoder_of
from inside import engine_encoder as encoders
from inside import kernels_layout as layout
from inside import split_routes as routes
from strategies import Pair, model_of
from subwords.machine import BPE, SplitBuffers, Vocab
from subwords.reference import bpe as reference
from subwords.reference.bpe import encode_word_ranks

SCRIPTS = ("的一是不了人中文字漢", "กาน้ำไทย", "한국어는말", "かなカタ。、", "ཨོམནག", "ＡｚＢ。")
OTHERS = ("abc", "éß", "деж", "ह\u093fन", "ᚠ", "😀\U0002a6d6")  # never cut beside these
INVALID = (b"\x80", b"\xe4", b"\xe4\xb8", b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xff", b"\xf0\x9f", b"\xbf\xbf")
BLANKS = (b" ", b"  ", b"\n", b"! ", b" 12, ", b".\n\n")
BYTES = [bytes([byte]) for byte in range(256)]
FALLBACK = [b"<0x%02X>" % byte for byte in range(256)]
LENGTH = layout.STREAM + 500 if MODE == "compiled" else routes.SAMPLE + 300
EXAMPLES = settings(max_examples=settings.default.max_examples // 3)
seeds = st.integers(0, 2**32)


def characters(rng: random.Random) -> list[bytes]:
    """Some of one or two scripts that are cut, and a few others."""
    some = rng.sample("".join(rng.sample(SCRIPTS, rng.choice([1, 1, 2]))), 4)
    return [char.encode() for char in [*some, *rng.sample("".join(OTHERS), rng.choice([0, 1, 3]))]]


def words_of(rng: random.Random, chars: Sequence[bytes], invalid: bool) -> list[bytes]:
    """Words of a few characters, some of many, some with bytes that are no character."""
    parts = [*chars, rng.choice(INVALID)] if invalid else list(chars)
    words = [b"".join(rng.choices(parts, k=rng.choice([1, 2, 3, 8, 30]))) for _ in range(12)]
    return [*words, *(b"".join(rng.choices(chars[:4], k=k)) for k in (1, 2, 5, 90)), b"the", chars[0] * 40]


def text_of(rng: random.Random, words: Sequence[bytes], length: int) -> bytes:
    parts, size = list[bytes](), 0
    while size < length:
        parts += [rng.choice(words), rng.choice(BLANKS)]
        size += len(parts[-2]) + len(parts[-1])
    return b"".join(parts)[:length] if rng.random() < 0.5 else b"".join(parts[:-1])


def tokens_from(rng: random.Random, words: Sequence[bytes], count: int) -> list[bytes]:
    """Stretches of words, which begin and end anywhere, inside characters too."""
    found = dict[bytes, None]()
    for _ in range(count):
        word = rng.choice([word for word in words if len(word) > 1])
        size = rng.choice([2, 3, 4, 4, 5, 6, 7, 9])
        at = rng.randrange(max(1, len(word) - size + 1))
        found[word[at : at + size]] = None
    return [token for token in found if len(token) > 1]


# ------------------------------------------------------------------ twins


def is_cut_character(char: bytes) -> bool:
    return len(char) == 3 and any(first <= ord(char.decode()) <= last for first, last in encoders.CUT)


def twin(tokens: Sequence[bytes]) -> Callable[[bytes, bytes], bool]:
    """Whether some token, in some alignment, spans the place between two characters."""

    @cache
    def spanned(before: bytes, after: bytes) -> bool:
        return any(
            before.endswith(token[max(0, at - 3) : at]) and after.startswith(token[at : at + 3])
            for token in tokens
            for at in range(1, len(token))
        )

    return spanned


def ends_of(
    rule: str, text: bytes, bounds: Sequence[int], tokens: Sequence[bytes] | None, runs: bool, room: int
) -> tuple[list[tuple[int, bool]], list[int]]:
    """The ends of all words and whether each ends a RUN, and the number of words up to each text's end."""
    buffers, found, ends, total = SplitBuffers(room), list[tuple[int, bool]](), list[int](), 0
    if tokens is not None:
        made = encoders.safe_cuts(Vocab(tokens))
        buffers.cuts, buffers.runs = lambda: made, runs
    for chunk in splitter(rule).texts(np.frombuffer(text, np.uint8), np.array(bounds, np.int64), buffers):
        count = int(chunk.text_ends[-1])
        found += [(chunk.base + (end & layout.PLACE), end >= layout.RUN) for end in chunk.ends[:count].tolist()]
        upto = [total + end for end in chunk.text_ends.tolist()]
        ends += upto if chunk.complete else upto[:-1]
        total += count
    return found, ends


def spread(text: bytes, ends: Sequence[tuple[int, bool]]) -> list[int]:
    """The ends of words, with those of a RUN's characters."""
    found, begin = list[int](), 0
    for end, run in ends:
        if run:
            chars = [text[at : at + 3] for at in range(begin, end, 3)]
            assert all(map(is_cut_character, chars)), (begin, end, chars)
            found += range(begin + 3, end, 3)
        found.append(end)
        begin = end
    return found


RULES = ("gpt2", "cl100k", r"\s+|\S+")


@given(seed=seeds, rule=st.sampled_from(RULES), runs=st.booleans(), invalid=st.booleans())
def test_no_token_spans_a_cut(seed: int, rule: str, runs: bool, invalid: bool) -> None:
    rng = random.Random(seed)
    words = words_of(rng, characters(rng), invalid)
    tokens = [*tokens_from(rng, words, rng.choice([0, 3, 30])), *rng.choices(INVALID, k=2), b"", b"a"]
    texts = [text_of(rng, words, size) for size in rng.choice([[LENGTH], [routes.SAMPLE, 40, 0, 700, 3, 1500]])]
    text, bounds = b"".join(texts), np.cumsum([0, *map(len, texts)]).tolist()
    room = rng.choice([3000, 1 << 16])
    plain, plain_ends = ends_of(rule, text, bounds, None, False, room)
    cut, cut_ends = ends_of(rule, text, bounds, tokens, runs, room)
    borders, found = {end for end, _ in plain}, spread(text, cut)
    assert not any(run for _, run in plain) and (runs or not any(run for _, run in cut))
    assert found == sorted(set(found)) and borders <= set(found)
    # No word, and no run, crosses the end of a text.
    assert [cut[end - 1][0] if end else 0 for end in cut_ends] == [
        plain[end - 1][0] if end else 0 for end in plain_ends
    ]
    spanned = twin(tokens)
    for end in set(found) - borders:
        before, after = text[end - 3 : end], text[end : end + 3]
        assert is_cut_character(before) and is_cut_character(after), (end, before, after)
        assert not spanned(before, after), (end, before, after)


@EXAMPLES
@given(seed=seeds)
def test_filter_misses_few_cuts_and_never_errs(seed: int) -> None:
    # The tables themselves, by every pair of characters: a text shows only those that meet in it.
    rng = random.Random(seed)
    chars = characters(rng)
    chars = [*filter(is_cut_character, chars), "人".encode(), "ก".encode(), "한".encode()]
    tokens = tokens_from(rng, words_of(rng, chars, True), rng.choice([1, 10, 40]))
    spanned = twin(tokens)
    pairs = [(a, b) for a in chars for b in chars]
    word = b" ".join(b"".join(pair) for pair in pairs)
    text = word + b" " + word * (LENGTH // len(word) + 1) + b" "
    found = set(spread(text, ends_of(r"\s+|\S+", text, [0, len(text)], tokens, True, 1 << 16)[0]))
    missed = 0
    for n, (a, b) in enumerate(pairs):
        safe = 7 * n + 3 in found
        assert not (safe and spanned(a, b)), (a, b)
        missed += not safe and not spanned(a, b)
    assert missed <= 3 + len(pairs) // 10


# ------------------------------------------------------------------ ids


def merges_from(rng: random.Random, tokens: Sequence[bytes], cut_up: Callable[[bytes], list[bytes]]) -> list[Pair]:
    """Merges that spell the tokens, in any order."""
    pairs = dict[Pair, None]()

    def spell(symbols: list[bytes]) -> bytes:
        if len(symbols) == 1:
            return symbols[0]
        at = rng.randrange(1, len(symbols))
        left, right = spell(symbols[:at]), spell(symbols[at:])
        pairs[left, right] = None
        return left + right

    for token in tokens:
        spell(cut_up(token))
    return rng.sample(list(pairs), len(pairs))


def one_by_one(data: bytes) -> list[bytes]:
    return [data[k : k + 1] for k in range(len(data))]


def ids_of(encoder: encoders.Encoder, texts: list[bytes], cuts: bool) -> list[list[int]]:
    """The ids of each text, with safe cuts from the first byte on or never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "CUT_TEXT", 0 if cuts else 1 << 40)
        return [encoder.encode(texts[0]).tolist()] if len(texts) == 1 else encoder.encode_batch(texts, 1).to_lists()


def check_ids(model: BPE, rule: str, texts: list[bytes], word_ids: Callable[[bytes], list[int]]) -> None:
    """Ids with cuts, without, and of the textbook; twice, as the table then has all words."""
    assert encoder_of(model, splitter(rule)).segmenter.has_cuts
    kept = cache(word_ids)
    whole = [np.frombuffer(text, np.uint8) for text in texts]
    ref = []
    for text, data in zip(texts, whole, strict=True):
        bounds = splitter(rule).word_spans(data).words.tolist()
        ref.append([index for a, b in pairwise(bounds) for index in kept(text[a:b])])
    plain, cutting = (encoder_of(model, splitter(rule)) for _ in range(2))
    for _ in range(2):
        assert ids_of(plain, texts, False) == ref
        assert ids_of(cutting, texts, True) == ref
    for text, ids in zip(texts, ref, strict=True):  # and each alone, in the same state
        assert ids_of(cutting, [text], True) == [ids]


def drawn(seed: int, invalid: bool) -> tuple[random.Random, list[bytes], list[bytes], list[bytes]]:
    """(generator, characters, words, texts)."""
    rng = random.Random(seed)
    chars = characters(rng)
    words = words_of(rng, chars, invalid)
    sizes = rng.choice([[LENGTH], [routes.SAMPLE, 40, 0, 700, 3, 1500]])
    return rng, chars, words, [text_of(rng, words, size) for size in sizes]


@given(seed=seeds, rule=st.sampled_from(RULES), invalid=st.booleans())
def test_byte_level_ids(seed: int, rule: str, invalid: bool) -> None:
    rng, _, words, texts = drawn(seed, invalid)
    pairs = merges_from(rng, tokens_from(rng, words, rng.choice([0, 5, 60])), one_by_one)
    model = model_of(rng.sample(BYTES, 256), pairs)
    ids = {token: index for index, token in enumerate(model.vocab)}
    check_ids(model, rule, texts, lambda word: [ids[token] for token in reference.encode_word(word, pairs)])


@given(seed=seeds, rule=st.sampled_from(RULES), invalid=st.booleans())
def test_ids_by_ranks(seed: int, rule: str, invalid: bool) -> None:
    # Some tokens are reached by no merge: they are ids of whole words only, not of what lies between two cuts (E2).
    rng, chars, words, texts = drawn(seed, invalid)
    tokens = dict.fromkeys([*tokens_from(rng, words, rng.choice([2, 5, 60])), *chars, chars[0] + chars[1], *words[:3]])
    tokens = list(dict.fromkeys([*rng.sample(BYTES, 256), *rng.sample(list(tokens), len(tokens))]))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    check_ids(BPE.from_ranks(tokens), rule, texts, lambda word: encode_word_ranks(word, ranks))


@given(seed=seeds, rule=st.sampled_from(RULES), invalid=st.booleans())
def test_ids_by_character(seed: int, rule: str, invalid: bool) -> None:
    rng, chars, words, texts = drawn(seed, invalid)
    known = [*rng.sample(chars, rng.randrange(1, len(chars) + 1)), b" ", b"t", b"h"]

    def cut_up(token: bytes) -> list[bytes]:
        return [char.encode() for char in token.decode(errors="ignore") if char.encode() in known]

    tokens = [token for token in tokens_from(rng, words, rng.choice([0, 20, 60])) if len(cut_up(token)) > 1]
    pairs = merges_from(rng, tokens, cut_up)
    model = model_of([*FALLBACK, *known], pairs, byte_level=False, byte_fallback=True)
    ids = {token: index for index, token in enumerate(model.vocab)}

    def word_ids(word: bytes) -> list[int]:
        found = list[int]()
        for is_known, run in groupby(reference.symbols_of(word, False), known.__contains__):
            data = b"".join(run)
            if is_known:
                found += [ids[token] for token in reference.encode_word(data, pairs, byte_level=False)]
            else:
                found += data
        return found

    check_ids(model, rule, texts, word_ids)


@EXAMPLES
@given(seed=seeds)
def test_long_texts_of_a_tokenizer(seed: int) -> None:
    # The way of users: more than CUT_TEXT bytes.
    rng = random.Random(seed)
    words = words_of(rng, characters(rng), True)
    pairs = merges_from(rng, tokens_from(rng, words, 40), one_by_one)
    tok = tokenizer_of(model_of(BYTES, pairs), splitter("gpt2"))
    ids, kept = {token: index for index, token in enumerate(tok.model.vocab)}, cache(reference.encode_word)
    text = text_of(rng, words, encoders.CUT_TEXT + 1000)
    bounds = splitter("gpt2").word_spans(np.frombuffer(text, np.uint8)).words.tolist()
    merges = tuple(pairs)
    ref = [ids[token] for a, b in pairwise(bounds) for token in kept(text[a:b], merges)]
    assert tok.encode_to_numpy(text).tolist() == ref
    assert tok.decode_bytes(np.array(ref, np.uint32)) == text
    short = text[: bounds[min(len(bounds) - 1, 9)]]
    assert tok.encode_to_numpy(short).tolist() == ref[: len(tok.encode_to_numpy(short))], "the state is still of use"


def test_models_whose_ids_change_with_their_place_have_no_cuts() -> None:
    base = [b"a", "文".encode(), "字".encode()]
    for options in (
        {"byte_level": False, "unknown": "drop"},
        {"byte_level": False, "unk_id": 0},
        {"byte_level": True, "unknown": "drop"},
        {"byte_level": False, "suffix": b"</w>", "unknown": "drop"},
    ):
        assert not encoder_of(model_of(base, [], **options), splitter("gpt2")).segmenter.has_cuts


def test_a_text_of_real_chinese_has_runs() -> None:
    tok = subwords.train(["漢字と仮名、the words of two scripts"], vocab_size=256)
    text = "".join(chr(0x4E00 + n % 3000) + ("\n" if n % 50 == 0 else "") for n in range(8000))
    assert tok.encode_to_numpy(text).tolist() == [tok.model.alphabet[byte] for byte in text.encode()]
    made = ends_of("gpt2", text.encode(), [0, len(text.encode())], [*tok.model.vocab], True, 1 << 16)[0]
    assert sum(run for _, run in made) > 100
