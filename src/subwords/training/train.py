"""train: a corpus, or word counts, to a tokenizer. It orchestrates only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from subwords.components.identity import looks_like_steps
from subwords.corpus.count import provenance_of
from subwords.corpus.counts import WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.errors import InputError, SubwordsError, SubwordsWarning
from subwords.families import Model, family_named
from subwords.resolve import NormalizerLike, SplitterLike
from subwords.resolve import splitter as make_splitter
from subwords.split.splitter import Splitter
from subwords.support.threads import thread_count
from subwords.tokenizer import Tokenizer
from subwords.training.assemble import spec_of, untrained, user_defined
from subwords.training.count import count, normalizer_or_none, words_of
from subwords.training.options import BPEOptions, Settings, UnigramOptions, WordPieceOptions, settings_of

if TYPE_CHECKING:
    from subwords.corpus.source import Source
    from subwords.normalize.normalizer import Normalizer

__all__ = ["rehearse", "train"]


@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["bpe"] = "bpe",
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    documents: Literal["file", "line"] | None = None,
    errors: Literal["strict", "replace"] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Unpack[BPEOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["wordpiece"],
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    documents: Literal["file", "line"] | None = None,
    errors: Literal["strict", "replace"] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Unpack[WordPieceOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["unigram"],
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    documents: Literal["file", "line"] | None = None,
    errors: Literal["strict", "replace"] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Unpack[UnigramOptions],
) -> Tokenizer: ...
def train(
    source: Source | WordCounts,
    *,
    algorithm: str = "bpe",
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    documents: Literal["file", "line"] | None = None,
    errors: Literal["strict", "replace"] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Tokenizer:
    """Train a tokenizer on a corpus (see `count`) or on word counts.

    An option of another algorithm is an InputError. None means the default. TrainingError if settings and corpus do
    not fit together. SubwordsWarning if BPE or WordPiece find fewer tokens than vocab_size.

    Options of all algorithms:

    - algorithm: "bpe", "wordpiece" or "unigram". vocab_size: the number of tokens, special tokens included.
    - splitter, normalizer: anything that `subwords.splitter` and `subwords.normalizer` take. "auto": "gpt2" and none
      for BPE; "bert" and "bert-uncased" for WordPiece; "sentencepiece" for both with Unigram.
    - special_tokens: get the first ids and are cut out of the corpus. Default: none for BPE; [PAD], [UNK], [CLS],
      [SEP] and [MASK] for WordPiece; <unk>, <s> and </s> for Unigram.
    - unk_token: the special token for what the model does not know. Default: none, [UNK], <unk>.
    - min_frequency: the least count of a merged pair (default 0), or of a Unigram piece (default 2).
    - documents, errors, threads, progress: as in `count`; the first two are refused with word counts.

    "bpe":

    - byte_level (True): words start as bytes, otherwise as characters. alphabet ("full"): all 256 bytes, or those of
      the "corpus".
    - tie_break ("ids"), between pairs of equal score: the smaller pair of "ids", as HF tokenizers; the pair that
      occurs "first"; the smaller pair of "bytes".
    - max_token_length (None): the most bytes of a token, or characters if byte_level is False.
    - limit_alphabet (None): keep the N most frequent symbols. Any other symbol splits the word, and is unk_token when
      encoding.

    "wordpiece": tie_break, max_token_length and limit_alphabet as above, and

    - score ("likelihood"), of which the greatest is merged: the gain of a unigram language model; "course",
      count(ab) / (count(a) count(b)), which needs a large min_frequency; "count", as BPE and HF's trainer.
    - prefix ("##"): begins the pieces that continue a word. max_chars (100): a longer word is unk_token.

    "unigram": vocab_size is met exactly.

    - seed_size (1,000,000): how many pieces to begin with. max_piece_length (16): in characters.
    - shrinking_factor (0.75): the share of pieces that each round keeps. sub_iterations (2): EM steps in each round.
    - character_coverage (1.0): keep the most frequent characters that make up this share of the text, and those of
      required_chars (""). Any other character splits the word.
    - user_defined (()): pieces that are always kept whole. byte_fallback (False): unknown characters become bytes.

    >>> import subwords
    >>> tok = subwords.train(["hug pug pun bun hugs " * 9], vocab_size=262, special_tokens=["<s>"])
    >>> tok.merges[:2]
    [(b'u', b'g'), (b'h', b'ug')]
    >>> subwords.train(["hug hugs hugging"] * 9, algorithm="wordpiece", vocab_size=16).tokenize("Hugs")
    ['hug', '##s']
    """
    settings = settings_of(algorithm, {**options, "vocab_size": vocab_size, "special_tokens": special_tokens})
    rule, before = _rules(algorithm, splitter, normalizer)
    cut_out = (*settings.special_tokens, *user_defined(settings))
    threads = thread_count(threads)
    if isinstance(source, WordCounts):
        for name, value in (("documents", documents), ("errors", errors)):
            if value is not None:
                raise InputError(f"{name} is an option for text, and these are counts: give it to count")
        counts = source
        _check_counts(counts, rule, before, cut_out)
    else:
        counts = count(
            source,
            splitter=rule,
            normalizer=before,
            special_tokens=cut_out,
            documents="file" if documents is None else documents,
            errors="strict" if errors is None else errors,
            threads=threads,
            progress=progress,
        )
    family = family_named(algorithm)
    with progress_line(None, "indexing", unit=family.unit, enabled=progress) as bar:
        model: Model = family.train(counts, settings, threads=threads, on_step=bar.phase)
    _warn_of_fewer(model, settings)
    return Tokenizer(spec_of(model, settings, rule, before))


def rehearse(*, algorithm: str, splitter: SplitterLike, normalizer: NormalizerLike, **options: Any) -> Tokenizer:
    """Return what `train` would return without learning anything: to see beforehand whether it can be saved."""
    settings = settings_of(algorithm, options)
    return Tokenizer(spec_of(untrained(settings), settings, *_rules(algorithm, splitter, normalizer)))


def _rules(algorithm: str, splitter: SplitterLike, normalizer: NormalizerLike) -> tuple[Splitter, Normalizer | None]:
    family = family_named(algorithm)
    rule = make_splitter(family.splitter if isinstance(splitter, str) and splitter == "auto" else splitter)
    auto = isinstance(normalizer, str) and normalizer == "auto"
    return rule, normalizer_or_none(family.normalizer if auto else normalizer)


def _warn_of_fewer(model: Model, settings: Settings) -> None:
    size = len(model.vocab)
    if size >= settings.vocab_size:
        return
    least, longest = settings.min_frequency, getattr(settings, "max_token_length", None)
    why = "no pair of tokens is left to merge"
    if least > 1:
        why += f" that occurs {least} times (min_frequency)"
    if longest is not None:
        why += f"{' and' if least > 1 else ''} that makes a token of at most {longest} symbols (max_token_length)"
    warnings.warn(
        f"fewer tokens than asked for: {size} instead of {settings.vocab_size}; {why}. Train on more text, or lower "
        f"vocab_size{' or min_frequency' if least > 1 else ''}",
        SubwordsWarning,
        stacklevel=3,  # the line that calls train
    )


def _check_counts(
    counts: WordCounts, rule: Splitter, before: Normalizer | None, special_tokens: tuple[str, ...]
) -> None:
    made = counts.provenance
    replace(counts, provenance=replace(made, splitter=_renamed(made.splitter))).check(
        provenance_of(words_of(rule, before), made.special_tokens)
    )
    if missing := [token for token in special_tokens if token not in made.special_tokens]:
        raise InputError(
            f"expected counts from which the special tokens were cut out; {missing[0]!r} was not: "
            f"count with special_tokens={list(special_tokens)!r}"
        )


def _renamed(rule: str) -> str:
    """The name that a rule has now; files may hold it as a node of a tokenizer.json."""
    if rule.startswith('{"') and not looks_like_steps(rule):
        try:
            return make_splitter(rule).identity
        except SubwordsError:
            pass
    return rule
