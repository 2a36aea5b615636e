"""Textbook Unigram: all substrings are considered, and each word is segmented again at every step.

Words and pieces are `str`. A score is the natural logarithm of a piece's probability.

>>> counts = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
>>> scores = log_shares(substring_counts(counts, whole_words=False))
>>> best_segmentation("hug", scores)[0], round(corpus_loss(counts, scores), 2)
(['hug'], 169.8)
>>> [round(loss_if_removed(piece, counts, scores), 2) for piece in ("hug", "pu")]
[23.51, 0.0]
>>> list(train(counts, 8))
['u', 'p', 'n', 'hug', 'g', 's', 'b', 'h']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import ceil, exp, frexp, inf
from struct import pack, unpack
from typing import TypeAlias

from subwords.reference import bpe

Scores = dict[str, float]
GRAINS = 128  # scores are multiples of 1/128; as in models/unigram/model.py


# ------------------------------------------------------------------ the model of the course materials


def substring_counts(
    word_counts: Mapping[str, int], longest: int | None = None, *, whole_words: bool = True
) -> dict[str, int]:
    """Count all substrings of the words, also overlapping; `whole_words=False` omits words contained in no other word.

    >>> substring_counts({"aab": 2})
    {'a': 4, 'aa': 2, 'aab': 2, 'ab': 2, 'b': 2}
    >>> substring_counts({"aab": 2, "ab": 1}, whole_words=False)
    {'a': 5, 'aa': 2, 'ab': 3, 'b': 3}
    """
    counts: dict[str, int] = {}
    parts = set("".join(word_counts))
    for word, count in word_counts.items():
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + (longest or len(word))) + 1):
                counts[word[start:end]] = counts.get(word[start:end], 0) + count
                if whole_words or end - start < len(word):
                    parts.add(word[start:end])
    return {piece: count for piece, count in counts.items() if piece in parts}


def log_shares(counts: Mapping[str, int]) -> Scores:
    """Score each piece by its share of the total.

    >>> log_shares({"a": 1, "b": 1})["a"] == -ln(2)
    True
    """
    total = sum(counts.values())
    return {piece: ln(float(count) / float(total)) for piece, count in counts.items()}


def segmentations(word: str, pieces: Collection[str]) -> Iterator[list[str]]:
    """Yield all segmentations of a word into pieces.

    >>> list(segmentations("aab", {"a", "b", "ab", "aa"}))
    [['a', 'a', 'b'], ['a', 'ab'], ['aa', 'b']]
    """
    if not word:
        yield []
    for end in range(1, len(word) + 1):
        if word[:end] in pieces:
            for rest in segmentations(word[end:], pieces):
                yield [word[:end], *rest]


def best_segmentation(word: str, scores: Mapping[str, float], without: str | None = None) -> tuple[list[str], float]:
    """Find the segmentation of greatest score, and the score (Viterbi); at a tie the one with the longest last piece.

    Returns ([], -inf) if there is no segmentation. `without` excludes a piece.

    >>> best_segmentation("aab", {"a": -1.0, "b": -2.0, "ab": -2.5})
    (['a', 'ab'], -3.5)
    """
    best, last = [0.0] + [-inf] * len(word), [0] * (len(word) + 1)
    for start in range(len(word)):
        for end in range(start + 1, len(word) + 1):
            piece = word[start:end]
            if piece in scores and piece != without and best[start] + scores[piece] > best[end]:
                best[end], last[end] = best[start] + scores[piece], start
    pieces: list[str] = []
    end = len(word) if best[-1] > -inf else 0
    while end:
        pieces.insert(0, word[last[end] : end])
        end = last[end]
    return pieces, best[-1]


def corpus_loss(word_counts: Mapping[str, int], scores: Mapping[str, float]) -> float:
    """Sum the negative scores of the words' best segmentations.

    >>> corpus_loss({"aa": 3}, {"a": -1.0})
    6.0
    """
    return -sum(count * best_segmentation(word, scores)[1] for word, count in word_counts.items())


def loss_if_removed(piece: str, word_counts: Mapping[str, int], scores: Mapping[str, float]) -> float:
    """Return the increase of the corpus loss without a piece; the other scores stay unchanged.

    >>> loss_if_removed("aa", {"aa": 3}, {"a": -1.0, "aa": -1.5})
    1.5
    """
    return sum(
        count * (best_segmentation(word, scores)[1] - best_segmentation(word, scores, without=piece)[1])
        for word, count in word_counts.items()
        if piece in word
    )


# Called with the counts and the scores of all pieces, the losses of those that may go, and what is removed.
Watch: TypeAlias = Callable[[Mapping[str, int], Scores, Mapping[str, float], Collection[str]], object]


def train_course(word_counts: Mapping[str, int], size: int, watch: Watch | None = None) -> Scores:
    """Learn pieces as courses teach it: return `size` pieces and their scores, best first.

    Each round removes a tenth of the pieces, those whose removal raises the loss of the corpus least, but no
    characters. The last call of `watch` has no losses.

    >>> list(train_course({"hug": 10, "hugs": 5}, 5))
    ['h', 'hug', 'u', 'g', 's']
    """
    counts = substring_counts(word_counts, whole_words=False)
    while True:
        scores, number = log_shares(counts), min(max(1, len(counts) // 10), len(counts) - size)
        losses = {
            piece: loss_if_removed(piece, word_counts, scores) for piece in counts if number > 0 and len(piece) > 1
        }
        removed = {*sorted(losses, key=lambda piece: losses[piece])[: max(0, number)]}  # stable: the first of equals
        if watch:
            watch(counts, scores, losses, removed)
        if not removed:
            return dict(sorted(scores.items(), key=lambda item: -item[1]))
        counts = {piece: count for piece, count in counts.items() if piece not in removed}


def nats_per_word(word_counts: Mapping[str, int], scores: Mapping[str, float]) -> float:
    """Return the mean of -ln P(word), where P sums over all segmentations, as a quality measure of a model (U4).

    Probabilities are normalized to sum to 1 first, so that models of different trainers are comparable.

    >>> round(nats_per_word({"aa": 3}, {"a": ln(0.5), "aa": ln(0.25)}), 4) == round(-ln(4 / 9 + 1 / 3), 4)
    True
    """
    longest, whole = max(map(len, scores)), sum(map(exp, scores.values()))
    shares = {piece: exp(score) / whole for piece, score in scores.items()}
    total = 0.0
    for word, count in word_counts.items():
        forward, scale = [1.0] + [0.0] * len(word), 0.0
        for start in range(len(word)):
            if forward[start] < 1e-200:
                forward = [value * 1e200 for value in forward]
                scale += 200 * ln(10)
            for end in range(start + 1, min(len(word), start + longest) + 1):
                forward[end] += forward[start] * shares.get(word[start:end], 0.0)
        total -= count * (ln(forward[-1]) - scale)
    return total / sum(word_counts.values())


# ------------------------------------------------------------------ training (U1, U2)


def seeds(word_counts: Mapping[str, int], seed_size: int, longest: int, min_frequency: int = 2) -> dict[str, int]:
    """Choose the initial pieces with count x length: all characters, and the best `seed_size` of the substrings.

    A substring that is always followed by the same character is redundant: of substrings with the same positions, the
    longest is taken, cut to `longest` characters.

    >>> seeds({"zebra": 3, "zap": 1}, 2, 16)
    {'a': 4, 'b': 3, 'e': 3, 'p': 1, 'r': 3, 'z': 4, 'ebra': 12, 'zebra': 15}
    """
    counts = substring_counts(word_counts, longest)
    followed = {piece[:-1] for piece, count in counts.items() if counts.get(piece[:-1]) == count}
    found = {
        piece: count * len(piece)
        for piece, count in counts.items()
        if len(piece) > 1 and piece not in followed and count >= min_frequency
    }
    best = sorted(sorted(found), key=lambda piece: -found[piece])[:seed_size]
    return {piece: found.get(piece, counts[piece]) for piece in (*sorted(set("".join(word_counts))), *sorted(best))}


def expected_counts(word_counts: Mapping[str, int], probabilities: Mapping[str, float], bits: int) -> dict[str, int]:
    """Return the expected count of each piece over all segmentations, weighted by probability (E-step).

    `forward[i]` is the probability of the first i characters over all segmentations; forward[i] * backward[i] is the
    probability that a piece ends there, given the word. Sums are integers in units of 2**-bits, so that order does not
    matter. Hazard: floats represent word probabilities only down to about 1e-300.

    >>> expected_counts({"aa": 4}, {"a": 0.5, "aa": 0.25}, 0)
    {'a': 4, 'aa': 2}
    """
    expected = dict.fromkeys(probabilities, 0)
    longest = max(map(len, probabilities))
    for word, count in word_counts.items():
        n = len(word)
        forward = [1.0] + [0.0] * n
        for start in range(n):
            for end in range(start + 1, min(n, start + longest) + 1):
                forward[end] += forward[start] * probabilities.get(word[start:end], 0.0)
        backward = [0.0] * n + [1.0 / forward[n]]
        for start in reversed(range(n)):
            for end in reversed(range(start + 1, min(n, start + longest) + 1)):
                piece = word[start:end]
                if piece in expected:
                    rest = probabilities[piece] * backward[end]
                    backward[start] += rest
                    expected[piece] += int(forward[start] * rest * (float(count) * 2.0**bits) + 0.5)
    return expected


def estimate(expected: Mapping[str, int], bits: int, least: int) -> dict[str, float]:
    """Return probabilities from expected counts (M-step): e**digamma(count) / e**digamma(total) favours few pieces.

    Pieces with an expected count below 0.5 are dropped, except characters and the best others needed to keep `least`.

    >>> list(estimate({"a": 7, "b": 0, "ab": 9, "ba": 0, "aa": 1}, 1, 4))
    ['a', 'b', 'ab', 'aa']
    >>> list(estimate({"a": 7, "b": 0, "ab": 9, "ba": 0, "aa": 0}, 1, 4))
    ['a', 'b', 'ab', 'aa']
    """
    half = 2**bits >> 1
    rare = [piece for piece, number in expected.items() if number < half and len(piece) > 1]
    rare.sort(key=lambda piece: (-expected[piece], piece))
    dropped = set(rare[max(0, least - len(expected) + len(rare)) :])
    numbers = {piece: max(number, half) for piece, number in expected.items() if piece not in dropped}
    total = exp_digamma(float(sum(numbers.values())) / 2.0**bits)
    return {piece: exp_digamma(float(number) / 2.0**bits) / total for piece, number in numbers.items()}


def piece_counts(word_counts: Mapping[str, int], scores: Mapping[str, float]) -> dict[str, int]:
    """Count the pieces of the words' best segmentations.

    >>> piece_counts({"aaa": 2}, {"a": -1.0, "aa": -1.5})
    {'a': 2, 'aa': 2}
    """
    counts = dict.fromkeys(scores, 0)
    for word, count in word_counts.items():
        for piece in best_segmentation(word, scores)[0]:
            counts[piece] += count
    return counts


def losses(counts: Mapping[str, int], scores: Mapping[str, float]) -> dict[str, float]:
    """Return the loss of each piece of several characters if its second-best segmentation replaced it.

    Pieces without a loss are useless: they are in no best segmentation, or have a better segmentation themselves.

    >>> losses({"a": 4, "b": 1, "ab": 2}, {"a": -1.0, "b": -2.0, "ab": -2.5})
    {'ab': 0.5026288565618122}
    """
    total = sum(counts.values())
    found: dict[str, float] = {}
    for piece, n in counts.items():
        others, score = best_segmentation(piece, scores, without=piece)
        if not others or not n or score > scores[piece]:
            continue
        after, spelled = ln(total + n * (len(others) - 1)), 0.0
        for other in reversed(others):
            spelled += ln(counts[other] + n) - after
        found[piece] = float(n) * (ln(n) - ln(total) - spelled)
    return found


def prune(word_counts: Mapping[str, int], scores: Mapping[str, float], most: int, least: int) -> set[str]:
    """Choose at most `most` and at least `least` pieces: characters first, then useful pieces by loss."""
    found = losses(piece_counts(word_counts, scores), scores)
    useless = [piece for piece in scores if len(piece) > 1 and piece not in found]
    useless.sort(key=lambda piece: (-scores[piece], piece))
    kept = [piece for piece in scores if len(piece) == 1]
    kept += sorted(found, key=lambda piece: (-found[piece], piece))[: most - len(kept)]
    return {*kept, *useless[: max(0, least - len(kept))]}


def train(
    word_counts: Mapping[str, int],
    size: int,
    *,
    seed_size: int = 1_000_000,
    shrinking_factor: float = 0.75,
    sub_iterations: int = 2,
    longest: int = 16,
    min_frequency: int = 2,
) -> Scores:
    """Learn `size` pieces and their scores, best first.

    Each round estimates the pieces `sub_iterations` times and keeps the share `shrinking_factor`. The rounds end when
    10 % too many pieces are left: the lowest scores are cut off, and the rest is estimated once more. A piece whose
    text other pieces give with a greater sum gets that sum. Raises ValueError if there are more characters, or fewer
    seeds, than `size`.

    >>> list(train({"hug": 10, "hugs": 5}, 5))
    ['hug', 's', 'g', 'h', 'u']
    """
    start = seeds(word_counts, seed_size, longest, min_frequency)
    characters = set("".join(word_counts))
    if not len(characters) <= size <= len(start):
        raise ValueError(f"expected size from {len(characters)} (characters) to {len(start)} (seeds), not {size}")
    bits = min(32, 62 - sum(len(word) * count for word, count in word_counts.items()).bit_length())
    total = float(sum(start.values()))
    model = {piece: float(share) / total for piece, share in start.items()}
    while True:
        for _ in range(sub_iterations):
            model = estimate(expected_counts(word_counts, model, bits), bits, size)
        scores = {piece: ln(probability) for piece, probability in model.items()}
        if len(model) <= size + size // 10:
            break
        kept = prune(word_counts, scores, max(size + size // 10, int(shrinking_factor * len(model))), size)
        model = {piece: probability for piece, probability in model.items() if piece in kept}
    order = sorted(model, key=lambda piece: (len(piece) > 1, -scores[piece], piece))
    model = {piece: model[piece] for piece in order[:size]}
    for _ in range(sub_iterations):
        model = estimate(expected_counts(word_counts, model, bits), bits, size)
    scores = {piece: ln(probability) for piece, probability in model.items()}
    # Multiples of 1/128 sum exactly in 32-bit floats, so every implementation gets the same segmentation.
    rounded = {piece: round(score * GRAINS) / GRAINS for piece, score in scores.items()}
    for piece, score in raised(rounded).items():
        if score > rounded[piece]:
            scores[piece] = rounded[piece] = score
    return {piece: rounded[piece] for piece in sorted(scores, key=lambda piece: (-scores[piece], piece))}


def raised(scores: Mapping[str, float]) -> Scores:
    """Raise each score to the greatest sum that other pieces give for the piece's text, of shorter pieces first.

    >>> raised({"abc": -5.0, "ab": -4.0, "a": -1.0, "b": -2.0, "c": -1.5})
    {'abc': -4.5, 'ab': -3.0, 'a': -1.0, 'b': -2.0, 'c': -1.5}
    """
    found = dict(scores)
    for piece in sorted(found, key=len):
        found[piece] = max(found[piece], best_segmentation(piece, found, without=piece)[1])
    return found


# ------------------------------------------------------------------ arithmetic


def ln(x: float) -> float:
    """Return the natural logarithm of a positive number, with the same bits on every machine.

    >>> ln(1), ln(2)
    (0.0, 0.6931471805599453)
    """
    y, exponent = frexp(x)
    if 2.0 * y <= 1.4142135623730951:
        y, exponent = 2.0 * y, exponent - 1
    s = (y - 1.0) / (y + 1.0)
    z = s * s
    p = 0.0
    for divisor in range(21, 2, -2):
        p = (p + 1 / divisor) * z
    return exponent * 0.6931471805599453 + 2.0 * s * (p + 1.0)


def exp_digamma(x: float) -> float:
    """Return e**digamma(x) for x >= 0.5: asymptotic series from 8 on, below digamma(x) = digamma(x + 1) - 1 / x.

    >>> [round(exp_digamma(x), 4) for x in (0.5, 1.0, 100.0)]
    [0.1404, 0.5615, 99.5004]
    """
    s = 0.0
    if x < 8.0:
        for k in range(8):
            s += 1.0 / (x + k)
        x += 8.0
    y = x - 0.5
    z = 1.0 / (y * y)
    value = y + ((10313 / 2903040 * z - 37 / 5760) * z + 1 / 24) / y
    if s == 0.0:
        return value
    r, power = s / 64.0, 1.0
    for k in range(8, 0, -1):
        power = power * r / k + 1.0
    for _ in range(6):
        power *= power
    return value / power


# ---------------------------------------------------------------------------------------------------------------------
# Textbook Unigram encoding: the path of the greatest sum of scores, and all other paths (U5).
#
# Pieces are `str`; scores are natural logarithms of probabilities. An unknown character is UNKNOWN in paths.
#
# >>> scores = {"h": -2.6, "u": -1.8, "g": -2.3, "hu": -2.6, "ug": -2.4, "hug": -2.6}
# >>> best_path("hug", scores)
# ['hug']
# >>> [path for path, _ in ranked_paths("hug", scores)]
# [['hug'], ['hu', 'g'], ['h', 'ug'], ['h', 'u', 'g']]
# >>> encode("hugs hug", scores | {"▁": -9.0}, ["hugs", "▁hug"])
# ['hug', None, '▁', 'hug']

PieceScores = Mapping[str, float]
RESET = 100_000.0  # SentencePiece restarts the running sum beyond


def single(x: float) -> float:
    """Return the 32-bit float nearest to a number.

    >>> single(0.1)
    0.10000000149011612
    """
    return float(unpack("f", pack("f", x))[0])


def parsed(x: float) -> float:
    """Return a number as HF parses it from a file: all digits as one integer, divided by a power of ten.

    >>> parsed(-2.5), parsed(-2.0122928619384766)
    (-2.5, -2.012292861938477)
    """
    sign, digits, exponent = Decimal(repr(x)).as_tuple()
    assert isinstance(exponent, int)
    assert abs(exponent) < 300
    value = float(int("".join(map(str, digits))))
    value = value * float(f"1e{exponent}") if exponent > 0 else value / float(f"1e{-exponent}")
    return -value if sign else value


def unknown_score(scores: PieceScores) -> float:
    """Return the score of an unknown character: 10 below the lowest score."""
    return min(scores.values(), default=0.0) - 10.0


def edges(text: str, start: int, scores: PieceScores) -> Iterator[tuple[str, float]]:
    """Yield the pieces that begin at a position, shortest first; the unknown character comes last."""
    found = [text[start:stop] for stop in range(start + 1, len(text) + 1) if text[start:stop] in scores]
    yield from ((piece, scores[piece]) for piece in found)
    if text[start] not in found:
        yield text[start], unknown_score(scores)


def best_path(text: str, scores: PieceScores, *, running: bool = False) -> list[str]:
    """Return the pieces of the greatest sum; at a tie the path with the longer last piece. running: see `encode`."""
    kept = {piece: (single if running else parsed)(score) for piece, score in scores.items()}
    return _best_path(text, kept, 0.0, single if running else float)[0]


def _best_path(
    text: str, scores: PieceScores, base: float, rounded: Callable[[float], float]
) -> tuple[list[str], float]:
    best: dict[int, tuple[float, int]] = {0: (base, 0)}
    for start in range(len(text)):
        if rounded is single and abs(best[start][0]) > RESET:
            offset = best[start][0]
            best |= {stop: (single(total - offset), begin) for stop, (total, begin) in best.items() if stop >= start}
        for piece, score in edges(text, start, scores):
            total = rounded(best[start][0] + rounded(score))  # the score of an unknown character is a sum too
            if start + len(piece) not in best or total > best[start + len(piece)][0]:
                best[start + len(piece)] = total, start
    path, stop = [], len(text)
    while stop:
        path.append(text[best[stop][1] : stop])
        stop = best[stop][1]
    return path[::-1], best[len(text)][0]


def encode(
    text: str, scores: PieceScores, words: Iterable[str] | None = None, *, running: bool = False, unk: str | None = None
) -> list[str | None]:
    """Return the pieces of a text, or of its words; adjacent unknown characters become one None.

    running: sum as SentencePiece does, in 32 bits, each word starting from the sum of the previous words. Otherwise sum
    as HF does: see `parsed`. unk: a piece that counts as unknown too.

    >>> encode("aab", {"a": -1.0, "aa": -2.0})
    ['aa', None]
    """
    kept = {piece: single(score) for piece, score in scores.items()} if running else scores
    total, found = 0.0, []
    for word in [text] if words is None else words:
        path, total = _best_path(word, kept, total, single) if running else (best_path(word, kept), 0.0)
        known = [piece if piece in scores and piece != unk else None for piece in path]
        found += [piece for i, piece in enumerate(known) if piece is not None or i == 0 or known[i - 1] is not None]
    return found


def _paths(text: str, scores: PieceScores) -> Iterator[tuple[list[str], float]]:
    if not text:
        yield [], 0.0
        return
    for piece, score in edges(text, 0, scores):
        for rest, total in _paths(text[len(piece) :], scores):
            yield [piece, *rest], score + total


def ranked_paths(text: str, scores: PieceScores) -> list[tuple[list[str], float]]:
    """Return all segmentations of a text with their scores, greatest first."""
    return sorted(_paths(text, scores), key=lambda found: -found[1])


def path_shares(text: str, scores: PieceScores, alpha: float) -> dict[tuple[str, ...], float]:
    """Return the probability of each path in sampling, proportional to exp(alpha * sum).

    >>> path_shares("aa", {"a": -1.0, "aa": -2.0}, 0.5)
    {('a', 'a'): 0.5, ('aa',): 0.5}
    """
    weights = {tuple(path): exp(alpha * total) for path, total in ranked_paths(text, scores)}
    whole = sum(weights.values())
    return {path: weight / whole for path, weight in weights.items()}


# ---------------------------------------------------------------------------------------------------------------------
# Training a Unigram model of the fewest pieces, the textbook way (U7).


def train_mingram(word_counts: Mapping[str, int], size: int, seed_factor: float = 1.1) -> dict[str, float]:
    """Return `size` pieces and their scores, best first; ValueError if there are too few.

    >>> {piece: round(score, 7) for piece, score in train_mingram({"hug": 9, "hugs": 5}, 5).items()}
    {'hug': -1.0000045, 's': -1.0000148, 'g': -1.0000309, 'h': -1.0000309, 'u': -1.0000309}
    """
    counts, number = {word.encode(): n for word, n in word_counts.items()}, ceil(size * seed_factor)
    while True:
        vocab, _ = bpe.train(counts, max(number, _alphabet(word_counts)), byte_level=False)
        pieces = [piece.decode() for piece in vocab]
        uses = Counter(dict.fromkeys(pieces, 1))
        for _ in range(2):
            uses = _uses(word_counts, _scores(pieces, uses))
            pieces = [piece for piece in pieces if uses[piece] or len(piece) == 1]
        if len(pieces) >= size or len(vocab) < number:
            break
        number += number // 2 + size - len(pieces)
    uses = _uses(word_counts, _scores(pieces, uses))
    if len(pieces) < size:
        raise ValueError(f"there are only {len(pieces)} pieces")
    pieces = sorted(pieces, key=lambda piece: (len(piece) > 1, -uses[piece], piece.encode()))[:size]
    scores = _scores(pieces, _uses(word_counts, _scores(pieces, uses)))
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0].encode())))


def _alphabet(words: Mapping[str, int]) -> int:
    return len({*"".join(words)})


def _scores(pieces: Sequence[str], uses: Mapping[str, int]) -> dict[str, float]:
    """Return -1 for each piece, plus a little of the logarithm of its share."""
    used = {piece: max(uses[piece], 1) for piece in pieces}
    return {piece: 1e-5 * ln(n / sum(used.values())) - 1.0 for piece, n in used.items()}


def _uses(words: Mapping[str, int], scores: Mapping[str, float]) -> Counter[str]:
    found = Counter[str]()
    for word, count in words.items():
        for piece in best_path(word, scores):
            found[piece] += count
    return found
