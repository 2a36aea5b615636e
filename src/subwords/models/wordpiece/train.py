"""WordPiece training: word counts to a model. Python orchestrates, kernels loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, localcontext
from functools import cmp_to_key
from itertools import combinations
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.kernels import layout
from subwords.kernels.layout import ScoreTraining, SymbolWords
from subwords.models.learning import CountLoop, Step, check_words, merge_words, read_symbol_words
from subwords.models.settings import WordPieceSettings
from subwords.models.wordpiece.model import MAX_CHARS, WordPiece
from subwords.spec.decoder import Decoder, Fuse, Replace, WordPieceDecoder, unescaped
from subwords.spec.normalizer import Steps
from subwords.spec.splitter import Rule, writes_spaces
from subwords.spec.template import bert
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import Vocab
from subwords.support.errors import TrainingError
from subwords.support.memory import zeros
from subwords.support.threads import thread_count

# ---------------------------------------------------------------------------------------------------------------------
# Exact comparison of two likelihood gains, for cases that floating point cannot decide (P1).

Counts = tuple[int, int, int]  # merges, and the counts of both tokens; for a token with itself: n, c, c - n


def compare_gains(x: Counts, y: Counts, total: int) -> int:
    """Return -1, 0 or 1: merging a pair with the counts x gains less than, as much as, or more than with y.

    A gain is the logarithm of a product of powers of the counts. Two gains are equal if the powers cancel; otherwise
    they differ in some digit.
    """
    powers = Counter(_powers(x, total))
    powers.subtract(_powers(y, total))
    if _is_one(powers):
        return 0
    digits = 50
    while True:
        with localcontext(prec=digits):
            difference = sum((exponent * Decimal(base).ln() for base, exponent in powers.items() if base), Decimal(0))
            # Sixteen terms, each below 2**63 * 44.
            if abs(difference) > Decimal(10) ** (25 - digits):
                return 1 if difference > 0 else -1
        digits *= 2


def _powers(counts: Counts, total: int) -> dict[int, int]:
    """Return the exponents of the counts in the factor by which the likelihood rises; 0 ** 0 is 1."""
    n, left, right = counts
    powers = Counter[int]()
    for base, exponent in ((n, n), (left - n, left - n), (right - n, right - n), (total, total)):
        powers[base] += exponent
    for base in (left, right, total - n):
        powers[base] -= base
    return powers


def _is_one(powers: Mapping[int, int]) -> bool:
    """Whether a product of powers is 1: over coprime bases, all exponents must be 0."""
    rest = Counter({base: exponent for base, exponent in powers.items() if base > 1 and exponent})
    for base, other in combinations(rest, 2):
        if (common := gcd(base, other)) > 1:
            for part in (base, other):
                exponent = rest.pop(part)
                rest[common] += exponent
                rest[part // common] += exponent
            return _is_one(rest)
    return not rest


# ---------------------------------------------------------------------------------------------------------------------
# The arrays of the training loop in kernels/wordpiece/train.py, and what the kernel leaves to Python.

SCORES = {"likelihood": layout.LIKELIHOOD, "course": layout.COURSE, "count": layout.COUNT}


class ScoreLoop(CountLoop):
    """Merges the pair with the highest score.

    times: the count of each token of `base`. spelled: whether words begin with the prefix. Then merges may make a
    string that another token has (B5), whose pairs are then also those of the new one, or a token whose length is not
    the sum of two lengths: Python looks at the string of each merge.
    """

    lowering = 2

    def __init__(
        self,
        words: SymbolWords,
        threshold: int,
        base: list[bytes],
        times: list[int],
        settings: WordPieceSettings,
        *,
        threads: int,
        spelled: bool,
    ) -> None:
        self.prefix = settings.prefix.encode()
        super().__init__(words, threshold, base, settings, len(self.prefix), threads=threads)
        self.settings[[layout.TRAIN.score, layout.TRAIN.spelled]] = SCORES[settings.score], spelled
        self.counters[layout.TALLY.total] = sum(times)
        self.symbols = np.zeros(layout.SYMBOL.width * (self.size + 2), np.int64)
        self.symbols.reshape(-1, layout.SYMBOL.width)[: len(times), layout.SYMBOL.times] = times
        self.names = {name: number for number, name in enumerate(base)}

    def _merge(self) -> int:
        from subwords.kernels.named import merge_scored

        return merge_scored(self._training, self.scores)

    def _answer(self, status: int) -> None:
        if status == layout.NEED_PAIRS:
            self._grow_pairs()
            self._start_scores()
        else:
            if status == layout.UNDECIDED:
                self.counters[layout.TALLY.chosen] = self._decide()
            if self.settings[layout.TRAIN.spelled]:
                self._look_at_name()

    def _index(self) -> None:
        super()._index()
        self._start_scores()

    def _start_scores(self) -> None:
        from subwords.kernels.named import start_scores

        entries = len(self.pairs) // layout.PAIR.width
        values, links = zeros(entries, np.float64, random=True), zeros(2 * entries, np.int64, random=True)
        rows = self.symbols.reshape(-1, layout.SYMBOL.width)
        rows[:, [layout.SYMBOL.first_as_left, layout.SYMBOL.first_as_right]] = layout.MISSING
        self.scores = ScoreTraining(values, np.zeros(entries // layout.PAIR_BLOCK), links, self.symbols)
        start_scores(self._training, self.scores)

    def _decide(self) -> int:
        """Return the entry of the pair with the largest gain, where floating point could not decide."""
        total, values = int(self.counters[layout.TALLY.total]), self.scores.values
        entries = np.flatnonzero(values >= values.max() - 4 * layout.TOLERANCE * total)
        places: list[int] = (layout.PAIR.width * entries).tolist()
        gains = [(self._counts_at(at), at) for at in places]
        gain = cmp_to_key(lambda x, y: compare_gains(x, y, total))  # type: ignore[arg-type]
        most = max(map(gain, {counts for counts, _ in gains}))
        return min((at for counts, at in gains if gain(counts) == most), key=self._tie)

    def _pair_at(self, at: int) -> tuple[int, int]:
        return divmod(int(self.pairs[at + layout.PAIR.key]), 1 << 32)

    def _counts_at(self, at: int) -> Counts:
        (left, right), rows = self._pair_at(at), self.symbols.reshape(-1, layout.SYMBOL.width)
        n, a, b = (int(x) for x in (self.pairs[at + layout.PAIR.count], *rows[[left, right], layout.SYMBOL.times]))
        if left == right:
            n = int(rows[left, layout.SYMBOL.doubles])
            b = a - n
        return n, max(a, b), min(a, b)

    def _tie(self, at: int) -> Any:
        pair = self._pair_at(at)
        if self.settings[layout.TRAIN.tie] == layout.TIE_FIRST:
            start, number = (int(self.pairs[at + field]) for field in (layout.PAIR.place, layout.PAIR.words))
            places, symbols = self.postings[start : start + number].astype(np.int64), self.words.symbols
            span = self.tokens[layout.TOKEN.width * pair[0] + layout.TOKEN.span]
            return int(places[(symbols[places] == pair[0]) & (symbols[places + span] == pair[1])][0])
        return pair if self.settings[layout.TRAIN.tie] == layout.TIE_IDS else tuple(map(self._string, pair))

    def _string(self, token: int) -> bytes:
        start, stop = self.tokens.reshape(-1, layout.TOKEN.width)[token : token + 2, layout.TOKEN.string]
        return self.strings[start:stop].tobytes()

    def _length(self, name: bytes) -> int:
        """Return the number of characters without the prefix."""
        inner = name.startswith(self.prefix) and len(name) > len(self.prefix)
        return len((name[len(self.prefix) :] if inner else name).decode())

    def _look_at_name(self) -> None:
        """Leave the chosen merge to the kernel, or do it, if the kernel cannot name what it makes."""
        from subwords.kernels.named import rewrite_words

        left, right = self._pair_at(int(self.counters[layout.TALLY.chosen]))
        parts = self._string(left), self._string(right)
        name, used = parts[0] + parts[1][len(self.prefix) :], int(self.counters[layout.TALLY.tokens])
        merged = self.names.setdefault(name, used)
        if merged == used and self._length(name) == sum(map(self._length, parts)):
            return
        rows, symbols = self.tokens.reshape(-1, layout.TOKEN.width), self.symbols.reshape(-1, layout.SYMBOL.width)
        if merged == used:
            start = int(self.counters[layout.TALLY.strings_used])
            stop = start + len(name)
            while stop > len(self.strings):
                self.strings = np.concatenate([self.strings, np.empty_like(self.strings)])
            self.strings[start:stop] = np.frombuffer(name, np.uint8)
            rows[merged + 1, layout.TOKEN.string] = stop
            self.counters[[layout.TALLY.strings_used, layout.TALLY.tokens]] = stop, used + 1
        joins = rewrite_words(self.words, self.tokens, left, right, merged, self.counters)
        self.words = self.words._replace(symbols=self.words.symbols[: self.counters[layout.TALLY.arena_at]])
        for token, sign in ((left, -1), (right, -1), (merged, 1)):
            symbols[token, layout.SYMBOL.times] += sign * joins
        self.counters[layout.TALLY.total] -= joins
        rows[: self.counters[layout.TALLY.tokens], layout.TOKEN.span] = 1  # each token has one place now
        if self.settings[layout.TRAIN.ruled]:
            self.rules.lengths[merged] = self._length(name)
        self._index()


def train_wordpiece(
    counts: WordCounts, settings: WordPieceSettings, *, threads: int | None = None, on_step: Step | None = None
) -> WordPiece:
    """Learn a model from word counts (P1, P2, B2-B6); TrainingError if settings and counts do not fit together.

    A word's first character is a symbol by itself, the others get the prefix; bytes that are not UTF-8 split a word.
    Ids: special tokens, symbols in string order, merges. Each step merges the pair with the highest score. Let n be the
    count of the pair, a and b the counts of its tokens, and N the count of all tokens in the current segmentation:

    - "likelihood": n ln n + (a-n) ln (a-n) + (b-n) ln (b-n) - a ln a - b ln b - (N-n) ln (N-n) + N ln N, the gain in
      log-likelihood of a unigram model of the tokens. A token that pairs with itself counts as often as a merge would
      join it. As in BPE, frequent words become tokens, but chance neighbours of frequent tokens merge later: with
      30,522 tokens from 60 MB of English, other English text takes 1.07 tokens per word.
    - "course": n / (a * b), as taught in courses. Hazard: it merges rare pairs first, so rare words become tokens and
      common words are spelled out (3.06 tokens per word) unless min_frequency is large: 20 or more for a book, 200 for
      this English text (1.15 tokens per word).
    - "count": n, the merges of BPE, which HF tokenizers trains under the name of WordPiece (1.06 tokens per word).

    Scores are compared exactly, and `tie_break` decides ties (B2): equal counts give the same model everywhere. Merging
    continues until vocab_size, even with a negative gain, or until no pair occurs min_frequency times. max_token_length
    is in characters, without the prefix. limit_alphabet keeps the N most frequent characters; any other character
    splits the word. max_chars: nothing is learned from longer words, which encoding makes unk_token; None is the
    length of the longest word, but at least 100. `on_step`: see `train_bpe`.

    >>> import subwords
    >>> from subwords.models.settings import WordPieceSettings
    >>> from subwords.models.wordpiece.train import train_wordpiece
    >>> counts = subwords.count(["hug pug pun bun hugs " * 9], splitter="bert")
    >>> list(train_wordpiece(counts, WordPieceSettings(vocab_size=16)).vocab)[5:]
    [b'##g', b'##n', b'##s', b'##u', b'b', b'h', b'p', b'##ug', b'##un', b'hug', b'bun']
    """
    check_words(counts)
    counts, longest = known_words(counts, settings.max_chars)
    names, ids, times = first_tokens(counts, settings)
    spelled, workers = _may_spell_prefix(counts, settings.prefix), thread_count(threads)
    if settings.score == "count" and not spelled:
        prefix = len(settings.prefix.encode())
        vocab, _ = merge_words(counts, ids, names, settings, on_step, prefix=prefix, threads=workers)
    else:
        words = read_symbol_words(counts, ids, in_order=settings.tie_break == "first", threads=workers)
        # Other scores than the likelihood may prefer a rare pair.
        threshold = counts.total // (8 * settings.vocab_size) if settings.score == "likelihood" else 1
        loop = ScoreLoop(words, threshold, names, times, settings, threads=workers, spelled=spelled)
        loop.run(on_step or (lambda phase, done, total: None))
        vocab = loop.vocab
    return _wordpiece_model(vocab, settings, longest)


def characters_of(counts: WordCounts) -> NDArray[np.int64]:
    """Return the number of characters of each word."""
    begins = (counts.data & 0xC0) != 0x80
    lengths: NDArray[np.int64] = np.add.reduceat(begins, counts.offsets[:-1], dtype=np.int64)
    return lengths


def known_words(counts: WordCounts, most: int | None) -> tuple[WordCounts, int]:
    """Return the words that encoding can segment, and the limit on their characters."""
    if not np.any(np.diff(counts.offsets) > (MAX_CHARS if most is None else most)):  # bytes
        return counts, MAX_CHARS if most is None else most
    lengths = characters_of(counts)
    if most is None:
        return counts, max(MAX_CHARS, int(lengths.max()))
    if not np.any(lengths <= most):
        raise TrainingError(
            f"no words to learn from: all have more than {most} characters (max_chars), and are unknown in encoding. "
            f"Raise max_chars to {lengths.max()}, or split text into shorter words"
        )
    return counts.chosen(lengths <= most), most


def _wordpiece_model(vocab: Vocab, settings: WordPieceSettings, max_chars: int) -> WordPiece:
    specials = list(settings.special_tokens)
    return WordPiece(
        vocab,
        specials.index(settings.unk_token),
        prefix=settings.prefix,
        max_chars=max_chars,
        special_ids=frozenset(range(len(specials))),
    )


def first_tokens(counts: WordCounts, settings: WordPieceSettings) -> tuple[list[bytes], NDArray[np.int32], list[int]]:
    """Return the initial tokens in order of id (B3, B6), the id of every symbol, and the count of each token.

    A symbol is a code point if it begins a word, otherwise its code point + CODE_POINTS.
    """
    from subwords.kernels.named import wordpiece_weights

    weights = zeros(2 * layout.CODE_POINTS, np.uint64)
    wordpiece_weights(counts.data, counts.offsets, counts.counts, weights)
    if settings.limit_alphabet is not None:
        _limit(weights, settings.limit_alphabet)
    used = np.flatnonzero(weights).tolist()
    strings = {
        symbol: settings.prefix * (symbol >= layout.CODE_POINTS) + chr(symbol % layout.CODE_POINTS) for symbol in used
    }
    names = list(dict.fromkeys([*settings.special_tokens, *sorted(strings.values())]))
    settings.check_room(len(names) - len(settings.special_tokens))
    numbers = {name: i for i, name in enumerate(names)}
    ids = np.full(2 * layout.CODE_POINTS, layout.MISSING, np.int32)
    times = [0] * len(names)
    for symbol, name in strings.items():
        ids[symbol] = numbers[name]
        times[numbers[name]] += int(weights[symbol])
    return [name.encode() for name in names], ids, times


def _limit(weights: NDArray[np.uint64], most: int) -> None:
    """Drop the symbols of all but the `most` most frequent characters; at a tie the earlier character stays."""
    both = weights[: layout.CODE_POINTS] + weights[layout.CODE_POINTS :]
    used = np.flatnonzero(both)
    order = np.argsort(np.iinfo(np.int64).max - both[used].astype(np.int64), kind="stable")
    dropped = used[order[most:]]
    weights[dropped] = 0
    weights[dropped + layout.CODE_POINTS] = 0


def _may_spell_prefix(counts: WordCounts, prefix: str) -> bool:
    """Whether a word begins with the prefix: a merge at its start may create a continuation string (B5)."""
    text = prefix.encode()
    starts = counts.offsets[:-1][np.diff(counts.offsets) > len(text)] if text else counts.offsets[:0]
    for k, byte in enumerate(text):
        starts = starts[counts.data[starts + k] == byte]
    return len(starts) > 0


def assemble_wordpiece(model: WordPiece, settings: WordPieceSettings, rule: Rule, steps: Steps) -> TokenizerSpec:
    """Return the spec of a trained model, with BERT's template if [CLS] and [SEP] are special tokens."""
    tokens = list(settings.special_tokens)
    framed = {"[CLS]", "[SEP]"} <= {*tokens}
    template = bert(tokens.index("[CLS]"), tokens.index("[SEP]")) if framed else None
    made: Decoder = WordPieceDecoder(model.prefix)
    if writes_spaces(rule, steps):  # all spaces are then those between two words
        joining = WordPieceDecoder(model.prefix, cleanup=False), Fuse(), Replace(" ", "")
        made = unescaped(rule, steps, joining)
    return TokenizerSpec.trained(model, tokens, splitter=rule, normalizer=steps, decoder=made, template=template)


def untrained_wordpiece(settings: WordPieceSettings) -> WordPiece:
    """Return a model of the special tokens and one character."""
    specials = list(settings.special_tokens)
    tokens = dict.fromkeys([*specials, "a", f"{settings.prefix}a"])
    return WordPiece(
        Vocab([token.encode() for token in tokens]),
        specials.index(settings.unk_token),
        prefix=settings.prefix,
        max_chars=MAX_CHARS if settings.max_chars is None else settings.max_chars,
        special_ids=frozenset(range(len(specials))),
    )
