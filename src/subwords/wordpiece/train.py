"""WordPiece training: word counts to a model. Python orchestrates, kernels loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subwords.components.decoder import Decoder, Fuse, Replace, WordPieceDecoder
from subwords.components.normalizer import Steps
from subwords.components.roles import BERT_TOKENS
from subwords.components.splitter import Rule
from subwords.components.template import bert
from subwords.components.unescaped import unescaped, writes_spaces
from subwords.components.vocab import Vocab
from subwords.corpus.counts import MOST, WordCounts
from subwords.errors import TrainingError
from subwords.kernels import layout
from subwords.learning.limits import Step, check_limits, check_room, check_unk, check_words
from subwords.learning.merging import merge_words
from subwords.spec import TokenizerSpec
from subwords.support.checks import check_choice, check_integer, check_string
from subwords.support.memory import zeros
from subwords.support.options import option
from subwords.wordpiece.model import MAX_CHARS, WordPiece
from subwords.wordpiece.pair_scores import SCORES, ScoreLoop, read_words

__all__ = ["WordPieceSettings", "assemble_wordpiece", "characters_of", "train_wordpiece", "untrained_wordpiece"]


@dataclass(frozen=True, kw_only=True)
class WordPieceSettings:
    """The settings of `train_wordpiece`; see there and `subwords.train`."""

    vocab_size: int
    score: Literal["likelihood", "course", "count"] = option(
        "likelihood",
        "Merge the pair with the largest gain in likelihood; the largest count(ab)/(count(a) count(b)), for which "
        "--min-frequency should be large; or the largest count.",
    )
    tie_break: Literal["ids", "first", "bytes"] = option("ids", "As for bpe.")
    prefix: str = option("##", "Marks pieces that continue a word.", metavar="TEXT")
    special_tokens: Sequence[str] = BERT_TOKENS
    unk_token: str = option("[UNK]", "As for bpe.")
    min_frequency: int = option(0, "As for bpe.")
    max_token_length: int | None = option(None, "As for bpe.")
    limit_alphabet: int | None = option(None, "As for bpe.")
    max_chars: int | None = option(None, "Longer words are unknown: the longest word, at least 100.", least=1)

    def __post_init__(self) -> None:
        check_limits(self)
        if self.max_chars is not None:
            check_integer("max_chars", self.max_chars, 0, MOST)
        check_choice("score", self.score, SCORES)
        check_string("prefix", self.prefix)
        check_unk(self.unk_token, self.special_tokens)

    @property
    def cut_out(self) -> tuple[str, ...]:
        """The texts that are removed from the corpus before it is counted."""
        return tuple(self.special_tokens)


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
    >>> from subwords.wordpiece.train import WordPieceSettings, train_wordpiece
    >>> counts = subwords.count(["hug pug pun bun hugs " * 9], splitter="bert")
    >>> list(train_wordpiece(counts, WordPieceSettings(vocab_size=16)).vocab)[5:]
    [b'##g', b'##n', b'##s', b'##u', b'b', b'h', b'p', b'##ug', b'##un', b'hug', b'bun']
    """
    check_words(counts)
    counts, longest = known_words(counts, settings.max_chars)
    names, ids, times = first_tokens(counts, settings)
    if settings.score == "count" and not _may_spell_prefix(counts, settings.prefix):
        prefix = len(settings.prefix.encode())
        vocab, _ = merge_words(counts, ids, names, settings, on_step, prefix=prefix)
    else:
        arena = read_words(counts, ids)
        loop = ScoreLoop(arena, counts.total, names, times, settings, score=settings.score, prefix=settings.prefix)
        loop.run(on_step or (lambda phase, done, total: None))
        vocab = loop.vocab
    return _model(vocab, settings, longest)


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


def _model(vocab: Vocab, settings: WordPieceSettings, max_chars: int) -> WordPiece:
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
    check_room(len(names) - len(settings.special_tokens), settings)
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
    return TokenizerSpec.trained(model, tokens, rule, steps, made, template)


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
