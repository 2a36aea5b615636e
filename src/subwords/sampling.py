"""Other encodings on any vocabulary: drawn at random by a seed, fewest tokens, longest match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from random import Random
from typing import Literal, NamedTuple, TypeAlias, get_args

from subwords import Tokenizer
from subwords.machine import (
    BPE,
    DROPOUT,
    Model,
    TokenizerLike,
    Unigram,
    WordPiece,
    draw_word,
    engine_of,
    family_of,
    need,
    segmenter_of,
    tokenizer_of,
)
from subwords.support.checks import check_integer, check_number, encode_text, refuse_given
from subwords.support.errors import InputError

__all__ = ["distribution", "encode_with", "segmentations"]

# ---------------------------------------------------------------------------------------------------------------------
# The segmentations of a word into tokens of any vocabulary.

MOST_COUNTED = 20_000  # bytes; counts of segmentations are exact integers with about as many bits


class WordLattice(NamedTuple):
    """Tokens by their bytes: at the start of a word and after it; what becomes of other characters."""

    first: Mapping[bytes, int]
    later: Mapping[bytes, int]
    size: int  # bytes of the longest token
    bytes_of: tuple[int, ...]  # the id of each byte for characters without a token; empty if there are none
    unk_id: int | None
    by_bytes: bool
    whole: int | None  # the id of a word that has no segmentation: WordPiece's
    most_chars: int | None

    @classmethod
    def of(cls, model: Model) -> WordLattice:
        """Return the tokens of a model; InputError for those whose words are not sequences of tokens."""
        found: WordLattice = family_of(model).tool("segmentations")(model)
        return found

    def matches(self, word: bytes, at: int) -> list[tuple[int, int]]:
        """Return the end and id of each token that matches at a place, the shortest first."""
        tokens = self.later if at else self.first
        ends = range(at + 1, min(len(word), at + self.size) + 1)
        return [(end, tokens[word[at:end]]) for end in ends if word[at:end] in tokens]

    def _edges(self, word: bytes) -> list[list[tuple[int, int]]]:
        """Return the matches at each place; with those of unknown characters only if the word needs them."""
        edges = [self.matches(word, at) for at in range(len(word))]
        reached = {0}
        for at, row in enumerate(edges):
            if at in reached:
                reached.update(end for end, _ in row)
        if len(word) not in reached and self.whole is None:
            return [row or [(self._next(word, at), -1)] for at, row in enumerate(edges)]
        return edges

    def _next(self, word: bytes, at: int) -> int:
        end = at + 1
        while not self.by_bytes and end < len(word) and word[end] & 0xC0 == 0x80:
            end += 1
        return end

    def _too_long(self, word: bytes) -> bool:
        return self.most_chars is not None and len(word.decode("utf-8", "replace")) > self.most_chars

    def _ids(self, word: bytes, path: list[tuple[int, int, int]]) -> list[int]:
        ids: list[int] = []
        unknown = False
        for begin, end, index in path:
            if index >= 0:
                ids.append(index)
            elif self.bytes_of:
                ids += (self.bytes_of[byte] for byte in word[begin:end])
            elif self.unk_id is None:
                found = f"{word[begin:end].decode('utf-8', 'replace')!r:.60}"
                raise InputError(f"{found} is not in the vocabulary and the model has no unk token")
            elif not unknown:
                ids.append(self.unk_id)
            unknown = index < 0
        return ids

    def longest(self, word: bytes, rng: Random, p: float) -> list[int]:
        """Return the longest match from the left; each match but the shortest is ignored with probability p."""
        if self._too_long(word):
            return [self.whole or 0]
        at, path = 0, []
        while at < len(word):
            row = self.matches(word, at)
            if not row and self.whole is not None:
                return [self.whole]
            row = row or [(self._next(word, at), -1)]
            while len(row) > 1 and p and rng.random() < p:
                row.pop()
            path.append((at, *row[-1]))
            at = row[-1][0]
        return self._ids(word, path)

    def fewest(self, word: bytes) -> list[int]:
        """Return the segmentation of fewest tokens; of several, the one whose first difference is longest."""
        edges, stop = self._edges(word), len(word)
        costs = [stop + 1] * stop + [0]
        for at in reversed(range(stop)):
            costs[at] = min((costs[end] + 1 for end, _ in edges[at]), default=stop + 1)
        if self._too_long(word) or costs[0] > stop:
            return [self.whole or 0]
        at, path = 0, []
        while at < stop:
            end, index = max(edge for edge in edges[at] if costs[edge[0]] + 1 == costs[at])
            path.append((at, end, index))
            at = end
        return self._ids(word, path)

    def uniform(self, word: bytes, rng: Random) -> list[int]:
        """Return a segmentation; all have exactly the same probability."""
        counts, edges = self._counts(word)
        if self._too_long(word) or not counts[0]:
            return [self.whole or 0]
        at, path = 0, []
        while at < len(word):
            left = rng.randrange(counts[at])
            end, index = at, -1
            for end, index in edges[at]:  # noqa: B007
                left -= counts[end]
                if left < 0:
                    break
            path.append((at, end, index))
            at = end
        return self._ids(word, path)

    def _counts(self, word: bytes) -> tuple[list[int], list[list[tuple[int, int]]]]:
        if len(word) > MOST_COUNTED:
            raise InputError(f"expected words of at most {MOST_COUNTED} bytes for uniform; one has {len(word)}")
        edges = self._edges(word)
        counts = [0] * len(word) + [1]
        for at in reversed(range(len(word))):
            counts[at] = sum(counts[end] for end, _ in edges[at])
        return counts, edges

    def all_paths(self, word: bytes, most: int) -> list[list[int]]:
        """Return all segmentations; InputError if there are more than `most`."""
        counts, edges = self._counts(word)
        if self._too_long(word) or not counts[0]:
            return [[self.whole or 0]]
        if counts[0] > most:
            raise InputError(f"expected at most {most} segmentations; this word has more: use a shorter word")
        found, waiting = [], [(0, list[tuple[int, int, int]]())]
        while waiting:
            at, path = waiting.pop()
            if at == len(word):
                found.append(self._ids(word, path))
                continue
            for end, index in reversed(edges[at]):
                if counts[end]:
                    waiting.append((end, [*path, (at, end, index)]))
        return found


def wordpiece_lattice(model: WordPiece) -> WordLattice:
    """Return the pieces of a model, with and without its prefix."""
    usable = {t: i for i, t in enumerate(model.vocab) if i not in model.special_ids and t}
    later = {model.without_marks(t): i for t, i in usable.items() if model.continues(t) or not model.prefix}
    size = max(map(len, usable), default=0)
    return WordLattice(usable, later, size, (), None, False, model.unk_id, model.max_chars)


def unigram_lattice(model: Unigram) -> WordLattice:
    """Return the pieces of a model."""
    return _word_lattice(model, set())


def bpe_lattice(model: BPE) -> WordLattice:
    """Return the tokens of a model that merge; InputError if its words are not sequences of tokens."""
    if model.marked or model.words_only or model.parts:
        raise InputError("encode_with does not support BPE models with prefix, suffix, words_only or parts")
    return _word_lattice(model, {*model.user_ids, *model.unused_ids})


def _word_lattice(model: Model, left_out: set[int]) -> WordLattice:
    fallback = () if min(model.byte_ids) < 0 else tuple(model.byte_ids.tolist())
    left_out |= {*model.special_ids, *fallback, *([] if model.unk_id is None else [model.unk_id])}
    tokens = {t: i for i, t in enumerate(model.vocab) if i not in left_out and t}
    size = max(map(len, tokens), default=0)
    return WordLattice(tokens, tokens, size, fallback, model.unk_id, model.byte_level, None, None)


Method: TypeAlias = Literal["bpe-dropout", "fewest", "longest", "maxmatch-dropout", "uniform"]
DROPOUTS = ("bpe-dropout", "maxmatch-dropout")
SKIPPED, KEPT = 0.0, 1.0  # draws below and above every rate
MOST_OUTCOMES = 10**8


def encode_with(
    tokenizer: TokenizerLike,
    text: str,
    *,
    method: Method,
    p: float | None = None,
    seed: int | None = None,
    document: int | str | None = None,
) -> list[int]:
    """Return the ids of a text in another segmentation of its words into tokens of the vocabulary.

    method: "fewest" takes the fewest tokens, "longest" the longest match from the left. "uniform" draws each
    segmentation of a word with equal probability. "maxmatch-dropout" is the longest match that ignores each match with
    probability `p`, except the shortest; "bpe-dropout" skips each merge with probability `p` (BPE models only).
    p: from 0 to 1, 0.1 by default. seed: 0 by default. document: the number or key of the text; default: its content.
    The draw depends on seed, document and the number of the word only. Runs in plain Python. Raises InputError for
    options that the method does not have, and for models whose words are not sequences of tokens.

    Source: Provilkov et al., 2020 (BPE-dropout); Hiraoka, MaxMatch-Dropout, 2022.

    >>> import subwords
    >>> tok = subwords.train(["hug hugs hugging"] * 9, vocab_size=262)
    >>> tok.decode(subwords.sampling.encode_with(tok, "hugs hug", method="uniform", seed=7))
    'hugs hug'
    """
    tok = tokenizer_of(tokenizer)
    rate, key = _checked(tok, text, method, p, seed, document)
    if method == "bpe-dropout" and (rate == 0 or tok.model.words_only):
        return tok.encode(text)
    segment = _segment(tok, method, rate)
    spans = engine_of(tok).words(text)
    known: dict[bytes, list[int]] = {}
    ids: list[int] = []
    for place, (begin, end) in enumerate(pairwise(spans.words.tolist())):
        word = spans.text[begin:end].tobytes()
        if method in ("fewest", "longest"):
            found = known.get(word)
            if found is None:
                found = known[word] = segment(word, Random())
        else:
            found = segment(word, _stream(key, place))
        ids += found
    return ids


def segmentations(tokenizer: TokenizerLike, word: str, *, limit: int = 10_000) -> list[list[int]]:
    """Return all segmentations of one word into tokens, as "uniform" draws them; InputError if more than `limit`.

    The word is used as it is: it is neither normalized nor split.

    >>> import subwords
    >>> tok = subwords.train(["ab ab"], vocab_size=257)
    >>> subwords.sampling.segmentations(tok, "ab")
    [[64, 65], [256]]
    """
    if not isinstance(word, str):
        raise InputError(f"expected a word as str, not {type(word).__name__}")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InputError(f"expected limit to be an integer from 1, not {limit!r:.60}")
    return _lattice(tokenizer_of(tokenizer)).all_paths(encode_text(word), limit)


def distribution(
    tokenizer: TokenizerLike, word: str, *, method: Method, p: float | None = None, limit: int = 100_000
) -> dict[tuple[int, ...], float]:
    """Return the exact probability of each segmentation that `encode_with` draws of one word, the likeliest first.

    The word is used as it is, neither normalized nor split. All outcomes of the random decisions are tried: InputError
    if there are more than `limit`, which for dropout is soon the case for words of more than about 10 symbols.

    >>> import subwords
    >>> tok = subwords.train(["ab ab"], vocab_size=257)
    >>> subwords.sampling.distribution(tok, "ab", method="bpe-dropout", p=0.25)
    {(256,): 0.75, (64, 65): 0.25}
    """
    tok = tokenizer_of(tokenizer)
    rate, _ = _checked(tok, word, method, p, None, None)
    check_integer("limit", limit, 1, MOST_OUTCOMES)
    if method == "bpe-dropout" and tok.model.words_only:
        raise InputError("bpe-dropout changes nothing in a model that has only whole words: take another method")
    text = encode_text(word)
    if method == "uniform":
        every = _lattice(tok).all_paths(text, limit)
        return {tuple(ids): 1 / len(every) for ids in every}
    segment, found = _segment(tok, method, rate), dict[tuple[int, ...], float]()
    waiting = [list[float]()]
    for outcome in range(limit + 1):
        if not waiting:
            return dict(sorted(((ids, share) for ids, share in found.items() if share), key=lambda one: -one[1]))
        if outcome == limit:
            break
        draws = _Planned(waiting.pop())
        ids = tuple(segment(text, draws))
        # Where nothing was planned, nothing was skipped: what if it is?
        waiting += ([*draws.made[:k], SKIPPED] for k in range(draws.planned, len(draws.made)))
        skips = draws.made.count(SKIPPED)
        found[ids] = found.get(ids, 0.0) + rate**skips * (1 - rate) ** (len(draws.made) - skips)
    raise InputError(
        f"expected at most {limit} outcomes of the random decisions; this word has more: use a shorter word"
    )


class _Planned(Random):
    """Draws with a planned beginning, which skip nothing after it."""

    def __init__(self, plan: list[float]) -> None:
        super().__init__(0)
        self.planned, self.made, self._plan = len(plan), list[float](), plan

    def random(self) -> float:
        self.made.append(self._plan[len(self.made)] if len(self.made) < self.planned else KEPT)
        return self.made[-1]


def _checked(
    tok: Tokenizer, text: object, method: object, p: object, seed: object, document: object
) -> tuple[float, bytes]:
    if not isinstance(text, str):
        raise InputError(f"expected a text as str, not {type(text).__name__}")
    if method not in get_args(Method):
        raise InputError(f"expected method to be one of {', '.join(get_args(Method))}; not {method!r:.60}")
    if method == "bpe-dropout":
        need(tok.model, BPE, method)
    if method not in DROPOUTS:
        refuse_given(f"encode_with for method {method!r}", p=p)
    if method in ("fewest", "longest"):
        refuse_given(f"encode_with for method {method!r}", seed=seed, document=document)
    p = check_number("p", DROPOUT if p is None else p, 0, 1)
    seed = 0 if seed is None else seed
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"expected seed to be an integer, not {seed!r:.60}")
    if isinstance(document, bool) or not isinstance(document, int | str | None):
        raise InputError(f"expected document to be a number or a str, not {document!r:.60}")
    kind = "text" if document is None else type(document).__name__
    named = text if document is None else document
    return float(p), blake2b(f"{seed}\0{kind}\0{named}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _stream(key: bytes, place: int) -> Random:
    return Random(int.from_bytes(key + place.to_bytes(8, "little"), "little"))


def _segment(tok: Tokenizer, method: object, p: float) -> Callable[[bytes, Random], list[int]]:
    if method == "bpe-dropout":
        bpe = segmenter_of(need(tok.model, BPE, method))
        users = {bpe.model.vocab[index]: index for index in bpe.model.user_ids}
        return lambda word, rng: [users[word]] if word in users else draw_word(bpe, word, lambda: rng.random() < p)
    lattice = _lattice(tok)
    if method == "fewest":
        return lambda word, rng: lattice.fewest(word)
    if method == "uniform":
        return lattice.uniform
    if method == "longest":
        return lambda word, rng: lattice.longest(word, rng, 0.0)
    return lambda word, rng: lattice.longest(word, rng, p)


@lru_cache(maxsize=4)
def _lattice(tok: Tokenizer) -> WordLattice:
    return WordLattice.of(tok.model)


def __dir__() -> list[str]:
    return [*__all__]
