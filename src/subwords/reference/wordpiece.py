"""Textbook WordPiece: everything is recounted at every step.

Words and tokens are `str`. The first character of a word is a symbol by itself, the others get the prefix.

>>> counts = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
>>> vocab, merges = train(counts, 10, score="course", tie_break="first", special_tokens=[])
>>> vocab
['##g', '##n', '##s', '##u', 'b', 'h', 'p', '##gs', 'hu', 'hugs']
>>> merges
[('##g', '##s'), ('h', '##u'), ('hu', '##gs')]
>>> encode_word("bugs", vocab), encode_word("mug", vocab)
(['b', '##u', '##gs'], ['[UNK]'])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, pairwise, zip_longest
from math import ceil
from typing import Literal
from unicodedata import category

from subwords.reference import bpe, unigram
from subwords.reference.bpe import apply_merge, is_lone, known_runs

Pair = tuple[str, str]
Words = bpe.Words[str]
Number = int | Fraction | Decimal
Score = Literal["likelihood", "course", "count"]
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
DIGITS, RELIABLE = 90, Decimal("1e-60")


def split(text: str) -> list[str]:
    """Split a text into words as BERT does: at whitespace, which is dropped, and around each punctuation character.

    >>> split("It's 5 o'clock.")
    ['It', "'", 's', '5', 'o', "'", 'clock', '.']
    """

    def kind(place: int) -> int:
        char = text[place]
        punctuation = category(char).startswith("P") or ("!" <= char <= "~" and not char.isalnum())
        return -2 if char.isspace() else place if punctuation else -1

    runs = [(key, list(places)) for key, places in groupby(range(len(text)), kind)]
    return [text[places[0] : places[-1] + 1] for key, places in runs if key != -2]


def count_words(texts: Iterable[str]) -> dict[str, int]:
    """Count the words of the texts, in order of first occurrence.

    >>> count_words(["a b, a", "b"])
    {'a': 2, 'b': 2, ',': 1}
    """
    counts: dict[str, int] = {}
    for word in (word for text in texts for word in split(text)):
        counts[word] = counts.get(word, 0) + 1
    return counts


def symbols(word: str, prefix: str = "##") -> list[str]:
    """Split a word into its initial symbols.

    >>> symbols("hug")
    ['h', '##u', '##g']
    """
    return [prefix * (place > 0) + char for place, char in enumerate(word)]


def count_tokens(words: Words) -> dict[str, int]:
    """Count the tokens of segmented words.

    >>> count_tokens([(["a", "##a", "##a"], 5)])
    {'a': 5, '##a': 10}
    """
    counts: dict[str, int] = {}
    for tokens, count in words:
        for token in tokens:
            counts[token] = counts.get(token, 0) + count
    return counts


def count_pairs(words: Words, *, overlapping: bool = True) -> dict[Pair, int]:
    """Count adjacent pairs in order of first occurrence: all windows, or only as many as a merge would join.

    >>> count_pairs([(["a", "a", "a", "b"], 5)])
    {('a', 'a'): 10, ('a', 'b'): 5}
    >>> count_pairs([(["a", "a", "a", "b"], 5)], overlapping=False)
    {('a', 'a'): 5, ('a', 'b'): 5}
    """
    counts: dict[Pair, int] = {}
    for tokens, count in words:
        runs = [(token, len(list(run))) for token, run in groupby(tokens)]
        for (token, length), after in zip_longest(runs, runs[1:]):
            if length > 1:
                times = length - 1 if overlapping else length // 2
                counts[token, token] = counts.get((token, token), 0) + count * times
            if after:
                counts[token, after[0]] = counts.get((token, after[0]), 0) + count
    return counts


@lru_cache(maxsize=1 << 16)
def likelihood_gain(n: int, left: int, right: int, total: int) -> Decimal:
    """Return the gain in log-likelihood if tokens that occur `left` and `right` times merge `n` times (P1).

    The likelihood is that of a unigram model of the current segmentation: the product of count / total over all tokens.
    Two such gains are equal or differ in the first 60 digits. For a token with itself, `right` is left - n: the tokens
    that remain after taking the n first halves are the second halves.
    """
    with localcontext(prec=DIGITS):
        above = sum(map(_x_ln_x, (n, left - n, right - n, total)))
        return Decimal(above - sum(map(_x_ln_x, (left, right, total - n)))).quantize(RELIABLE)


@lru_cache(maxsize=1 << 16)
def _x_ln_x(x: int) -> Decimal:
    return x * Decimal(x).ln() if x else Decimal(0)


def pair_scores(words: Words, score: Score, min_frequency: int = 0) -> dict[Pair, Number]:
    """Score the pairs that are frequent enough, in order of first occurrence; the highest score is merged.

    "course": count(pair) / (count(left) * count(right)). "count": count(pair). "likelihood": see `likelihood_gain`;
    there a pair counts as often as a merge would join it.

    >>> pair_scores([(["h", "##u"], 2), (["##u", "##u"], 1)], "course")
    {('h', '##u'): Fraction(1, 4), ('##u', '##u'): Fraction(1, 16)}
    """
    counts, total = count_tokens(words), sum(len(tokens) * count for tokens, count in words)
    scores: dict[Pair, Number] = {}
    for (left, right), n in count_pairs(words, overlapping=score != "likelihood").items():
        if n < min_frequency:
            continue
        if score == "likelihood":
            others = counts[right] - n if left == right else counts[right]
            scores[left, right] = likelihood_gain(n, max(counts[left], others), min(counts[left], others), total)
        elif score == "course":
            scores[left, right] = Fraction(n, counts[left] * counts[right])
        elif score == "count":
            scores[left, right] = n
        else:
            raise ValueError(f"score: expected 'likelihood', 'course' or 'count', got {score!r}")
    return scores


def _known_words(word_counts: Mapping[str, int], prefix: str, limit_alphabet: int | None) -> Words:
    """Return the words as symbols; characters outside the limited alphabet, and bytes, split their words."""
    weights = count_tokens([([*word], count) for word, count in word_counts.items()])
    characters = sorted(char for char in weights if not is_lone(char))
    kept = sorted(characters, key=lambda char: -weights[char])[:limit_alphabet]  # stable: ties by code point
    known = {*kept, *(prefix + char for char in kept)}
    return [(run, n) for word, n in word_counts.items() for run in known_runs(symbols(word, prefix), known)]


def _length(token: str, prefix: str) -> int:
    inner = token.startswith(prefix) and len(token) > len(prefix)
    return len(token) - len(prefix) if inner else len(token)


def train(
    word_counts: Mapping[str, int],
    vocab_size: int,
    *,
    score: Score = "likelihood",
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    prefix: str = "##",
    special_tokens: Iterable[str] = SPECIAL_TOKENS,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    limit_alphabet: int | None = None,
    watch: bpe.Watch[str] | None = None,
) -> tuple[list[str], list[Pair]]:
    """Learn a vocabulary, in order of id (special tokens, symbols, merges), and the merges, in order.

    `limit_alphabet` keeps the most frequent characters; any other character splits its word. `max_token_length` is in
    characters, without the prefix. `watch`: see `bpe.learned`. Raises ValueError if specials and symbols exceed
    `vocab_size`.

    >>> train({"abc": 2, "ab": 1}, 5, special_tokens=[])
    (['##b', '##c', 'a', 'ab', 'abc'], [('a', '##b'), ('ab', '##c')])
    """
    words = _known_words(word_counts, prefix, limit_alphabet)
    vocab = list(dict.fromkeys([*special_tokens, *sorted(count_tokens(words))]))
    if len(vocab) > vocab_size:
        raise ValueError(f"special tokens and symbols are {len(vocab)} tokens, more than vocab_size={vocab_size}")

    def scored(words: Words) -> dict[Pair, Number]:
        scores, most = pair_scores(words, score, min_frequency), max_token_length
        return {p: s for p, s in scores.items() if most is None or sum(_length(t, prefix) for t in p) <= most}

    return bpe.learned(words, vocab, vocab_size, tie_break, scored, len(prefix), watch)


def encode_word(
    word: str, vocab: Container[str], *, prefix: str = "##", unk: str = "[UNK]", max_chars: int = 100
) -> list[str]:
    """Segment one word by longest match from the left; `unk` if no piece matches or it exceeds `max_chars`.

    >>> encode_word("unable", {"un", "##a", "##able"})
    ['un', '##able']
    >>> encode_word("unabled", {"un", "##a", "##able"})
    ['[UNK]']
    """
    tokens: list[str] = []
    start = 0
    while start < len(word) <= max_chars:
        pieces = ((prefix * (start > 0) + word[start:end], end) for end in range(len(word), start, -1))
        token, start = next(((piece, end) for piece, end in pieces if piece in vocab), (unk, len(word) + 1))
        tokens.append(token)
    return tokens if start == len(word) else [unk]


def encode(
    text: str,
    vocab: Sequence[str],
    *,
    prefix: str = "##",
    unk: str = "[UNK]",
    max_chars: int = 100,
    special_tokens: Iterable[str] = (),
) -> list[int]:
    """Turn a text into ids; `special_tokens` are not recognised in it.

    >>> encode("ab abb c", ["[UNK]", "ab", "##b"])
    [1, 1, 2, 0]
    """
    ids = {token: id_ for id_, token in reversed(list(enumerate(vocab)))}
    usable = ids.keys() - set(special_tokens)
    words = split(text)
    return [
        ids[token] for word in words for token in encode_word(word, usable, prefix=prefix, unk=unk, max_chars=max_chars)
    ]


# ---------------------------------------------------------------------------------------------------------------------
# More pieces for WordPiece and Unigram, the textbook way (P5, U6).

Segment = Callable[[str], list[str]]  # the pieces of a word; other text splits it
GRAINS, ROUNDS, MORE_CANDIDATES = 128, 20, 64


def extend_wordpiece(
    word_counts: Mapping[str, int], vocab: Sequence[str], add: int, *, prefix: str = "##", unk: str = "[UNK]"
) -> list[str]:
    """Return at most `add` more pieces, all of which occur in the words.

    >>> extend_wordpiece({"hugs": 5, "hug": 9}, ["[UNK]", "h", "##u", "##g", "##s"], 2)
    ['hug', 'hugs']
    """

    def segment(more: Sequence[str]) -> Segment:
        known = {*vocab, *more} - {unk}
        return lambda word: encode_word(word, known, prefix=prefix, unk=unk)

    found = _candidates(word_counts, segment([]), vocab, 2 * add + MORE_CANDIDATES, prefix, {unk})
    chosen, left = found[:add], add
    for turn in range(ROUNDS):
        used = _uses(word_counts, segment([piece for piece, _ in chosen]))
        kept = [(piece, times) for piece, times in chosen if used[piece]]
        if len(kept) == len(chosen):
            break
        missing = len(chosen) - len(kept) if turn < ROUNDS // 2 else 0
        chosen, left = [*kept, *found[left : left + missing]], left + missing
    while True:
        used = _uses(word_counts, segment([piece for piece, _ in chosen]))
        if all(used[piece] for piece, _ in chosen):
            return [piece for piece, _ in chosen]
        chosen = [(piece, times) for piece, times in chosen if used[piece]]


def extend_unigram(word_counts: Mapping[str, int], scores: Mapping[str, float], add: int) -> dict[str, float]:
    """Return at most `add` more pieces with their scores, all of which occur in the words.

    >>> extend_unigram({"hugs": 5, "hug": 9}, {"h": -2.0, "u": -2.0, "g": -2.0, "s": -2.0}, 1)
    {'hu': -1.2109375}
    """

    def segment(more: Mapping[str, float]) -> Segment:
        return lambda word: unigram.best_path(word, {**scores, **more})

    total = sum(_uses(word_counts, segment({})).values())
    found = _candidates(word_counts, segment({}), [*scores], 2 * add + MORE_CANDIDATES, "", set())
    weights, chosen, left = dict(found), [piece for piece, _ in found[:add]], add
    for turn in range(ROUNDS):
        more = _spared(scores, {piece: _score(weights[piece], total, scores) for piece in chosen})
        used = _uses(word_counts, segment(more))
        if turn and all(used[piece] for piece in chosen):
            return more
        weights |= {piece: used[piece] for piece in chosen if used[piece]}
        missing = sum(not used[piece] for piece in chosen) if turn < ROUNDS // 2 else 0
        chosen = [piece for piece in chosen if used[piece]] + [piece for piece, _ in found[left : left + missing]]
        left += missing
    while True:
        more = _spared(scores, {piece: _score(weights[piece], total, scores) for piece in chosen})
        used = _uses(word_counts, segment(more))
        if all(used[piece] for piece in chosen):
            return more
        chosen = [piece for piece in chosen if used[piece]]


def _score(times: int, total: int, scores: Mapping[str, float]) -> float:
    """Return the logarithm of a share, a multiple of 1/128 that is not below all old scores."""
    return max(ceil(min(scores.values()) * GRAINS), round(unigram.ln(times / total) * GRAINS)) / GRAINS


def _spared(scores: Mapping[str, float], more: dict[str, float]) -> dict[str, float]:
    """Lower new scores until each old piece that was the best path of its own text is so again."""
    own = [piece for piece in scores if unigram.best_path(piece, scores) == [piece]]
    for _ in range(ROUNDS):
        lower, every = dict(more), {**scores, **more}
        for piece in own:
            path = unigram.best_path(piece, every)
            if path != [piece]:
                new = [part for part in path if part in more]
                ahead = max(0.0, sum(every[part] for part in path) - scores[piece])
                for part in new:
                    lower[part] = min(lower[part], more[part] - ceil(ahead / len(new) * GRAINS + 1) / GRAINS)
        if lower == more:
            break
        more = lower
    return more


def _candidates(
    word_counts: Mapping[str, int],
    segment: Segment,
    vocab: Sequence[str],
    number: int,
    prefix: str,
    unknown: set[str],
) -> list[tuple[str, int]]:
    """Return the most frequent neighbours, merged one after the other, and how often each was merged."""
    ids = {piece: number for number, piece in enumerate(vocab)}
    words = [(segment(word), times) for word, times in word_counts.items()]
    found = list[tuple[str, int]]()
    while len(found) < number:
        counts = Counter[tuple[str, str]]()
        for pieces, times in words:
            for left, right in pairwise(pieces):
                known = left in ids and right in ids and not unknown & {left, right}
                if known and left + right[len(prefix) :] not in vocab:
                    counts[left, right] += times
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))
        piece = best[0] + best[1][len(prefix) :]
        ids.setdefault(piece, len(ids))
        found.append((piece, counts[best]))
        words = [(apply_merge(pieces, best, len(prefix)), times) for pieces, times in words]
    return found


def _uses(word_counts: Mapping[str, int], segment: Segment) -> Counter[str]:
    """Return how often each piece occurs."""
    found = Counter[str]()
    for word, times in word_counts.items():
        for piece in segment(word):
            found[piece] += times
    return found
