"""Train a tokenizer on a corpus or on word counts. This file only orchestrates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, Unpack, overload

import numpy as np

from subwords.components.identity import looks_like_steps
from subwords.corpus.count import provenance_of
from subwords.corpus.counts import WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.reading import Reading
from subwords.errors import InputError, SubwordsError, SubwordsWarning, TrainingError
from subwords.families import Model, family_named, family_of
from subwords.resolve import NormalizerLike, SplitterLike
from subwords.resolve import splitter as make_splitter
from subwords.split.splitter import Splitter
from subwords.support.limits import bytes_of
from subwords.support.threads import thread_count
from subwords.tokenizer import Changes, Tokenizer
from subwords.training.assemble import spec_of
from subwords.training.count import counted, normalizer_or_none, with_user_defined, words_of
from subwords.training.marks import Marks
from subwords.training.memory import check_memory
from subwords.training.options import (
    BPEOptions,
    Settings,
    UnigramOptions,
    WordLevelOptions,
    WordPieceOptions,
    settings_of,
)
from subwords.wordpiece.model import MAX_CHARS, WordPiece
from subwords.wordpiece.train import characters_of

if TYPE_CHECKING:
    from subwords.components.template_text import TemplateLike
    from subwords.corpus.source import Source
    from subwords.normalize.normalizer import Normalizer

FEW = 1 << 20  # bytes of distinct words; whitespace alone has few of them

__all__ = ["check_counts", "rehearse", "rules_of", "train"]


@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["bpe"] = "bpe",
    vocab_size: int,
    **options: Unpack[BPEOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["wordpiece"],
    vocab_size: int,
    **options: Unpack[WordPieceOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["unigram"],
    vocab_size: int,
    **options: Unpack[UnigramOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["wordlevel"],
    vocab_size: int,
    **options: Unpack[WordLevelOptions],
) -> Tokenizer: ...
def train(
    source: Source | WordCounts,
    *,
    algorithm: str = "bpe",
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    template: TemplateLike | Literal["auto"] = "auto",
    roles: Mapping[str, str] | None = None,
    documents: Literal["file", "line"] | None = None,
    separator: str | None = None,
    text_column: str | None = None,
    max_document_bytes: int | None = None,
    sample: float | None = None,
    sample_seed: int | None = None,
    errors: Literal["strict", "replace", "skip"] | None = None,
    min_documents: int | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Tokenizer:
    """Train a tokenizer on a corpus (see `count`) or on word counts.

    None selects an option's default. Raises InputError for an option of another algorithm, TrainingError if settings
    and corpus do not fit together. Warns (SubwordsWarning) if there are fewer than vocab_size tokens.

    Options of all algorithms:

    - algorithm: "bpe", "wordpiece", "unigram" or "wordlevel". vocab_size: the number of tokens, special
      tokens included.
    - splitter, normalizer: any value that `subwords.splitter` or `subwords.normalizer` accepts. "auto" is "gpt2" and
      no normalizer for BPE, "bert" and "bert-uncased" for WordPiece, "sentencepiece" for both with Unigram,
      "whitespace" and no normalizer for WordLevel.
    - special_tokens: get the first ids and are removed from the corpus. Default: none for BPE; [PAD], [UNK], [CLS],
      [SEP] and [MASK] for WordPiece; <unk>, <s> and </s> for Unigram; <unk> for WordLevel.
    - template ("auto"): the special tokens around a text, "<s> $A </s>", or two such texts, for a text and for a pair.
      "auto" is BERT's for WordPiece with [CLS] and [SEP], none for others. roles: special tokens by role, {"pad":
      "<fill>"}; the others are told by their usual names.
    - unk_token: the special token for unknown text. Default: none for BPE, [UNK] for WordPiece, <unk> for the others.
    - min_frequency: the smallest count of a merged pair or of a word (default 0), or of a Unigram piece (default 2).
    - documents, separator, text_column, max_document_bytes, sample, sample_seed, errors: as in `count`; InputError with
      word counts.
    - min_documents (None): train only on words that are in at least so many documents, so that each token is in as
      many, too. Word counts need `documents` for it.
    - memory (None): about what the process may use in all, as in `count`. The merges are learned in memory, from all
      words: TrainingError if they do not fit.
    - threads, progress: as in `count`.

    "bpe":

    - byte_level (True): start from bytes; False starts from characters. alphabet ("full"): all 256 bytes; "corpus":
      only the bytes of the corpus.
    - tie_break ("ids"): which of several pairs of equal score to merge: "ids" the pair of smaller ids, as HF
      tokenizers; "first" the pair that occurs first; "bytes" the pair of smaller bytes.
    - max_token_length (None): the most bytes of a token, or characters if byte_level is False.
    - limit_alphabet (None): keep the N most frequent symbols. Any other symbol splits the word in training and becomes
      unk_token in encoding.
    - fuse_unk (False): a run of unknown characters becomes one unk_token. byte_fallback (False): unknown characters
      become bytes. Both need byte_level=False; a .model file needs one of them.
    - whole_characters (False): tokens are whole characters or a part of one, never the end of one and the beginning of
      the next. Needs byte_level=True.

    "wordpiece": tie_break, max_token_length and limit_alphabet as above, and:

    - score ("likelihood"): merge the pair with the highest score. "likelihood": the gain in log-likelihood of a unigram
      language model. "course": count(ab) / (count(a) count(b)), which needs a large min_frequency. "count": the
      pair's count, as BPE and HF's trainer.
    - prefix ("##"): marks pieces that continue a word. max_chars (None): longer words become unk_token, and
      nothing is learned from them. None is the length of the corpus's longest word, but at least 100.

    "unigram": the result has exactly vocab_size tokens.

    - seed_size (1,000,000): the number of initial pieces. max_piece_length (16): in characters.
    - shrinking_factor (0.75): the share of pieces kept in each round. sub_iterations (2): EM steps per round.
    - character_coverage (1.0): keep the most frequent characters that cover this share of the text, and those of
      required_chars (""). Any other character splits the word.
    - user_defined (()): pieces that are always kept whole. byte_fallback (False): unknown characters become bytes.

    "wordlevel": no other options. The tokens are the most frequent words; any other word is unknown.

    >>> import subwords
    >>> tok = subwords.train(["hug pug pun bun hugs " * 9], vocab_size=262, special_tokens=["<s>"])
    >>> tok.merges[:2]
    [(b'u', b'g'), (b'h', b'ug')]
    >>> subwords.train(["hug hugs hugging"] * 9, algorithm="wordpiece", vocab_size=16).tokenize("Hugs")
    ['hug', '##s']
    """
    settings = settings_of(algorithm, {**options, "vocab_size": vocab_size, "special_tokens": special_tokens})
    rule, before = rules_of(algorithm, splitter, normalizer)
    family = family_named(algorithm)
    if roles is not None or not _is_auto(template):  # tokens that do not exist are an error before the training
        untrained = spec_of(family, family.untrained(settings), settings, rule, before)
        _finished(Tokenizer(untrained), template, roles)
    cut_out, users = settings.cut_out, getattr(settings, "user_defined", ())
    threads, most = thread_count(threads), None if memory is None else bytes_of(memory)
    asked: dict[str, Any] = {"documents": documents, "separator": separator, "text_column": text_column}
    asked |= {"max_document_bytes": max_document_bytes, "errors": errors}
    asked |= {"sample": sample, "sample_seed": sample_seed}
    reading = {name: value for name, value in asked.items() if value is not None}
    if isinstance(source, WordCounts):
        for name in reading:
            raise InputError(f"`{name}` applies to text, but these are word counts: pass it to count")
        counts = source
        check_counts(counts, rule, before, cut_out, users)
    else:
        marks = Marks(before) if _is_auto(normalizer) and before is not None else None
        counts = counted(
            source,
            Reading(**reading),
            words_of(*with_user_defined(rule, before, users)),
            special_tokens=cut_out,
            document_frequencies=min_documents is not None,
            memory=most,
            threads=threads,
            progress=progress,
            on_block=marks,
        )
        _warn_of_whitespace(counts)
        if marks is not None and (warning := marks.warning()):
            warnings.warn(warning, SubwordsWarning, stacklevel=2)
    if min_documents is not None:
        counts = counts.at_least(documents=min_documents)
        if not len(counts):
            raise TrainingError(f"no word is in {min_documents} documents: ask for fewer, or see what a document is")
    if most is not None:
        check_memory(counts, most)
    with progress_line(None, "indexing", unit=family.unit, enabled=progress) as bar:
        model: Model = family.train(counts, settings, threads=threads, on_step=bar.phase)
    _warn_of_fewer(model, settings)
    if isinstance(model, WordPiece) and settings.max_chars is None and model.max_chars > MAX_CHARS:
        _warn_of_long_words(model, counts)
    return _finished(Tokenizer(spec_of(family, model, settings, rule, before)), template, roles)


def _warn_of_whitespace(counts: WordCounts) -> None:
    if len(counts.data) < FEW and not counts.data.tobytes().decode("utf-8", "replace").replace("\u2581", " ").strip():
        warnings.warn("the corpus has whitespace only", SubwordsWarning, stacklevel=3)


def _finished(tok: Tokenizer, template: TemplateLike | Literal["auto"], roles: Mapping[str, str] | None) -> Tokenizer:
    changes: Changes = {}
    if not _is_auto(template):
        changes["template"] = template
    if roles is not None:
        if not isinstance(roles, Mapping):
            raise InputError(f"expected roles as a dict of tokens by role, not {type(roles).__name__}")
        changes["roles"] = {**tok.roles, **roles}
    return tok.with_(**changes) if changes else tok


def rehearse(
    *,
    algorithm: str,
    splitter: SplitterLike,
    normalizer: NormalizerLike,
    template: TemplateLike | Literal["auto"] = "auto",
    roles: Mapping[str, str] | None = None,
    **options: Any,
) -> Tokenizer:
    """Return an untrained tokenizer with these options, to check before training whether it can be saved."""
    family, settings = family_named(algorithm), settings_of(algorithm, options)
    rules = rules_of(algorithm, splitter, normalizer)
    untrained = spec_of(family, family.untrained(settings), settings, *rules)
    return _finished(Tokenizer(untrained), template, roles)


def rules_of(algorithm: str, splitter: SplitterLike, normalizer: NormalizerLike) -> tuple[Splitter, Normalizer | None]:
    """Return what splits and what normalizes text in training; "auto" is the family's own."""
    family = family_named(algorithm)
    rule = make_splitter(family.splitter if _is_auto(splitter) else splitter)
    return rule, normalizer_or_none(family.normalizer if _is_auto(normalizer) else normalizer)


def _is_auto(value: object) -> TypeGuard[Literal["auto"]]:
    return isinstance(value, str) and value == "auto"


def _warn_of_fewer(model: Model, settings: Settings) -> None:
    size = len(model.vocab)
    if size >= settings.vocab_size:
        return
    least, longest = settings.min_frequency, getattr(settings, "max_token_length", None)
    why = "no word is left" if family_of(model).name == "wordlevel" else "no pair is left to merge"
    if least > 1:
        why += f" that occurs {least} times (min_frequency)"
    if longest is not None:
        why += f"{' and' if least > 1 else ''} that gives a token of at most {longest} symbols (max_token_length)"
    warnings.warn(
        f"fewer tokens than asked for: {size} instead of {settings.vocab_size}; {why}. Train on more text, or lower "
        f"vocab_size{' or min_frequency' if least > 1 else ''}",
        SubwordsWarning,
        stacklevel=3,  # the line that calls train
    )


def _warn_of_long_words(model: WordPiece, counts: WordCounts) -> None:
    lengths = characters_of(counts).astype(np.float64)
    long, weights = lengths > MAX_CHARS, lengths * counts.counts
    warnings.warn(
        f"words of more than {MAX_CHARS} characters: {np.count_nonzero(long)} distinct words, "
        f"{100 * weights[long].sum() / weights.sum():.3g} % of the text, up to {model.max_chars} characters. So "
        f"max_chars is {model.max_chars}; with max_chars={MAX_CHARS}, as in BERT, they become unknown",
        SubwordsWarning,
        stacklevel=3,  # the line that calls train
    )


def check_counts(
    counts: WordCounts,
    rule: Splitter,
    before: Normalizer | None,
    special_tokens: tuple[str, ...],
    user_defined: Sequence[str] = (),
) -> None:
    """Raise InputError for counts of another splitter or normalizer, or with special tokens among the words.

    FormatError for arrays that are inconsistent, which kernels would read beyond their ends.
    """
    counts.validated("these counts")
    made = counts.provenance
    made = replace(made, splitter=_renamed(made.splitter))
    plain = provenance_of(words_of(rule, before), made.special_tokens)
    if user_defined and made == plain:
        raise InputError(
            f"user-defined piece {user_defined[0]!r} was not kept whole in these counts: "
            f"count with user_defined={list(user_defined)!r} (--user-defined on the command line)"
        )
    whole = provenance_of(words_of(*with_user_defined(rule, before, user_defined)), made.special_tokens)
    replace(counts, provenance=made).check(whole)
    if missing := [token for token in special_tokens if token not in made.special_tokens]:
        raise InputError(
            f"special token {missing[0]!r} was not removed from these counts: "
            f"count with special_tokens={list(special_tokens)!r}"
        )


def _renamed(rule: str) -> str:
    """Return the current name of a rule; counts may name it by a node of a tokenizer.json."""
    if rule.startswith('{"') and not looks_like_steps(rule):
        try:
            return make_splitter(rule).identity
        except SubwordsError:
            pass
    return rule
