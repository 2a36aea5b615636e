"""train, count and warmup: a corpus in, counts or a tokenizer out. It orchestrates only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from subwords.bpe.model import BPE
from subwords.bpe.train import BPESettings, train_bpe
from subwords.checks import check_strings
from subwords.corpus.count import count_blocks, provenance_of
from subwords.corpus.counts import WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.source import source_size
from subwords.errors import CorpusError, InputError, SubwordsWarning
from subwords.settings import Settings, family_of, refuse_others, settings_of, specials_of
from subwords.special import AddedToken
from subwords.split.rules import Split
from subwords.split.scanner import Splitter
from subwords.split.scanner import splitter as make_splitter
from subwords.threads import thread_count
from subwords.tokenizer import Tokenizer
from subwords.vocab import Vocab

# What only WordPiece and normalizers need is imported where they are used: 30 ms of the start.
if TYPE_CHECKING:
    from subwords.corpus.progress import Progress
    from subwords.corpus.source import Source
    from subwords.normalize.normalizer import Normalizer
    from subwords.pipeline import Pipeline
    from subwords.unigram.model import Unigram
    from subwords.wordpiece.model import WordPiece

__all__ = ["count", "train", "warmup"]

Model: TypeAlias = "BPE | WordPiece | Unigram"

BLOCK = 1 << 20  # bytes read at a time: a few are in memory for every thread


def count(
    source: Source,
    *,
    splitter: Any = "gpt2",
    normalizer: Any = None,
    special_tokens: Sequence[str] = (),
    documents: Literal["file", "line"] = "file",
    errors: Literal["strict", "replace"] = "strict",
    threads: int | None = None,
    progress: bool | None = None,
) -> WordCounts:
    """Count the words of a corpus: files, a glob, a folder, or an iterable of str.

    A document is a file or a text, or with documents="line" each line. Special tokens are cut out first (W3). Invalid
    UTF-8 raises CorpusError naming file and offset, or becomes U+FFFD with errors="replace". `threads` None: one per
    processor. `progress` None: shown where standard error is a terminal. Hazard: a str is a path; put texts in a list.

    >>> import subwords
    >>> dict(subwords.count(["a cat, a dog"]))
    {b'a': 1, b' cat': 1, b',': 1, b' a': 1, b' dog': 1}
    """
    rule, before = make_splitter(splitter), _normalizer(normalizer)
    special_tokens = check_strings("special_tokens", special_tokens)
    with progress_line(source_size(source), "counting", enabled=progress) as bar:
        blocks = read_blocks(source, documents=documents, errors=errors, block_size=BLOCK, on_bytes=bar.advance)
        counts = count_blocks(
            blocks,
            _words(rule, before),
            special_tokens=special_tokens,
            threads=thread_count(threads),
        )
    if not len(counts):
        raise CorpusError("expected text to count; every document is empty")
    return counts


@refuse_others
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["bpe", "wordpiece", "unigram"] = "bpe",
    vocab_size: int,
    splitter: Any = "auto",
    normalizer: Any = "auto",
    special_tokens: Sequence[str] | None = None,
    byte_level: bool = True,
    alphabet: Literal["full", "corpus"] = "full",
    score: Literal["likelihood", "course", "count"] = "likelihood",
    prefix: str = "##",
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    min_frequency: int | None = None,
    max_token_length: int | None = None,
    limit_alphabet: int | None = None,
    unk_token: str | None = None,
    seed_size: int = 1_000_000,
    shrinking_factor: float = 0.75,
    sub_iterations: int = 2,
    max_piece_length: int = 16,
    character_coverage: float = 1.0,
    required_chars: str = "",
    user_defined: Sequence[str] = (),
    byte_fallback: bool = False,
    documents: Literal["file", "line"] = "file",
    errors: Literal["strict", "replace"] = "strict",
    threads: int | None = None,
    progress: bool | None = None,
) -> Tokenizer:
    """Train a tokenizer on a corpus (see `count`) or on word counts; "auto": as said below.

    tie_break, between pairs of one score: "ids", the smaller pair of ids (as HF tokenizers); "first", the pair that
    occurs first; "bytes", the smaller pair of strings. min_frequency: the least count of a merged pair.
    max_token_length: in bytes of a byte-level model, else in characters. limit_alphabet: keep so many symbols, the most
    frequent; others part words, and are `unk_token` when encoding. Where the corpus does not give vocab_size tokens,
    BPE and WordPiece warn (SubwordsWarning). TrainingError where settings and corpus do not fit. An option that is
    given is refused where the algorithm does not have it.

    "bpe": words by splitter="gpt2". byte_level: start from bytes, all 256 of them or those of the corpus (`alphabet`);
    otherwise from characters.
    "wordpiece": normalizer="bert-uncased", splitter="bert", and BERT's five special tokens, of which [UNK] is
    `unk_token`. Pieces that continue a word begin with `prefix`. score, of which the greatest is merged: "likelihood",
    the gain of a unigram language model; "course", count(ab) / (count(a) count(b)), which spells out frequent words
    unless min_frequency is sizeable; "count", as BPE and HF's trainer.
    "unigram": normalizer and splitter="sentencepiece", and <unk>, <s>, </s>. The size asked for is met exactly. The
    options from seed_size on are those of `subwords.unigram.train.train_unigram`; min_frequency is that of a piece, 2.

    >>> import subwords
    >>> tok = subwords.train(["hug pug pun bun hugs " * 9], vocab_size=262, special_tokens=["<s>"])
    >>> tok.merges[:2]
    [(b'u', b'g'), (b'h', b'ug')]
    >>> subwords.train(["hug hugs hugging"] * 9, algorithm="wordpiece", vocab_size=16).tokenize("Hugs")
    ['hug', '##s']
    """
    settings = settings_of(
        algorithm,
        vocab_size=vocab_size,
        special_tokens=specials_of(algorithm, special_tokens, unk_token),
        byte_level=byte_level,
        alphabet=alphabet,
        score=score,
        prefix=prefix,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        limit_alphabet=limit_alphabet,
        unk_token=unk_token,
        seed_size=seed_size,
        shrinking_factor=shrinking_factor,
        sub_iterations=sub_iterations,
        max_piece_length=max_piece_length,
        character_coverage=character_coverage,
        required_chars=required_chars,
        user_defined=user_defined,
        byte_fallback=byte_fallback,
    )
    rule, before = _rules(algorithm, splitter, normalizer)
    cut_out = (*settings.special_tokens, *_users(settings))
    threads = thread_count(threads)
    if isinstance(source, WordCounts):
        counts = source
        _check_counts(counts, rule, before, cut_out)
    else:
        counts = count(
            source,
            splitter=rule,
            normalizer=before,
            special_tokens=cut_out,
            documents=documents,
            errors=errors,
            threads=threads,
            progress=progress,
        )
    with progress_line(None, "indexing", unit=family_of(algorithm).unit, enabled=progress) as bar:
        model = _learned(counts, settings, threads, bar)
    _warn_of_fewer(model, settings)
    return _joined(model, settings, rule, before)


def rehearse(*, algorithm: str, splitter: Any, normalizer: Any, **options: Any) -> Tokenizer:
    """Return what `train` would return, but for all that is learned: to see before training if it can be saved."""
    settings = settings_of(algorithm, **options)
    return _joined(_unlearned(settings), settings, *_rules(algorithm, splitter, normalizer))


def _rules(algorithm: str, splitter: Any, normalizer: Any) -> tuple[Splitter, Normalizer | None]:
    family = family_of(algorithm)
    rule = make_splitter(family.splitter if isinstance(splitter, str) and splitter == "auto" else splitter)
    auto = isinstance(normalizer, str) and normalizer == "auto"
    return rule, _normalizer(family.normalizer if auto else normalizer)


def _users(settings: Settings) -> tuple[str, ...]:
    return tuple(getattr(settings, "user_defined", ()))


def _joined(model: Model, settings: Settings, rule: Splitter, before: Normalizer | None) -> Tokenizer:
    """The tokenizer of a model, with all that stands around it."""
    specials = tuple(settings.special_tokens)
    added = [AddedToken(content, i) for i, content in enumerate(specials)]
    if hasattr(settings, "user_defined"):
        rule, before = _for_encoding(model, _users(settings), rule, before)
    around = _around(model, specials, spaced=_is_spaced(rule, before))
    return Tokenizer(model, rule, normalizer=before, added_tokens=added, **around)


def _learned(counts: WordCounts, settings: Settings, threads: int, bar: Progress) -> Model:
    if isinstance(settings, BPESettings):
        return train_bpe(counts, settings, on_step=bar.phase)
    from subwords.wordpiece.train import WordPieceSettings, train_wordpiece

    if isinstance(settings, WordPieceSettings):
        return train_wordpiece(counts, settings, on_step=bar.phase)
    from subwords.unigram.train import train_unigram

    return train_unigram(counts, settings, threads=threads, on_step=bar.phase)


def _unlearned(settings: Settings) -> Model:
    """A model of the special tokens and one character."""
    specials = [token.encode() for token in settings.special_tokens]
    special_ids = frozenset(range(len(specials)))
    unk = settings.unk_token
    unk_id = None if unk is None else list(settings.special_tokens).index(unk)
    if isinstance(settings, BPESettings):
        tokens = [*specials, *([] if b"a" in specials else [b"a"])]
        none = np.zeros((0, 3), np.int64)
        return BPE(Vocab(tokens), none, byte_level=settings.byte_level, unk_id=unk_id, special_ids=special_ids)
    from subwords.wordpiece.train import WordPieceSettings

    if isinstance(settings, WordPieceSettings):
        from subwords.wordpiece.model import WordPiece

        assert unk_id is not None
        tokens = [*dict.fromkeys([*specials, b"a", f"{settings.prefix}a".encode()])]
        return WordPiece(Vocab(tokens), unk_id, prefix=settings.prefix, special_ids=special_ids)
    from subwords.unigram.model import Unigram

    reserved = settings.reserved
    tokens = [token.encode() for token in dict.fromkeys([*reserved, "▁", "▁a", "a"])]
    unseen = len(reserved) - len(settings.user_defined)
    return Unigram(
        Vocab(tokens),
        np.zeros(len(tokens)),
        unk_id=unk_id,
        byte_fallback=settings.byte_fallback,
        special_ids=frozenset(range(unseen)),
        user_ids=frozenset(range(unseen, len(reserved))),
    )


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
    # To the line that calls train, behind what checks its options.
    warnings.warn(
        f"fewer tokens than asked for: {size} instead of {settings.vocab_size}; {why}. Train on more text, or lower "
        f"vocab_size{' or min_frequency' if least > 1 else ''}",
        SubwordsWarning,
        stacklevel=4,
    )


def _is_spaced(rule: Splitter, before: Normalizer | None) -> bool:
    """Whether U+2581 is written for blanks."""
    steps = [*(before.steps if before else ()), *(step for step in rule.rule if not isinstance(step, Split))]
    return any(type(step).__name__ == "SentencePiece" or "▁" in repr(step) for step in steps)


def _around(model: Model, special_tokens: tuple[str, ...], *, spaced: bool) -> dict[str, Any]:
    """What a file has besides: a decoder, and of WordPiece BERT's template where the tokens for it are there."""
    if isinstance(model, BPE):
        return {}
    from subwords import decoder
    from subwords.wordpiece.model import WordPiece

    if not isinstance(model, WordPiece):
        if not spaced:
            from subwords.decoder_steps import Bytes, Fused, Steps

            return {"decoder": Steps((Bytes(), Fused()))} if model.byte_fallback else {}
        unknown = {special_tokens[model.unk_id]} if model.unk_id is not None else set()
        control = frozenset(special_tokens) - unknown
        return {"decoder": decoder.SentencePieceDecoder(frozenset(unknown), control, byte_fallback=model.byte_fallback)}
    found: dict[str, Any] = {"decoder": decoder.WordPieceDecoder(model.prefix)}
    if "[CLS]" in special_tokens and "[SEP]" in special_tokens:
        from subwords.template import bert

        found["template"] = bert(special_tokens.index("[CLS]"), special_tokens.index("[SEP]"))
    return found


def warmup(*, progress: bool | None = None) -> None:
    """Compile, or read from the cache, every kernel of this package.

    Servers call it once before they fork or take requests; a second call costs nothing. `progress` None: shown where
    standard error is a terminal.

    >>> import subwords
    >>> subwords.warmup()
    """
    from subwords.kernels.guard import undisturbed
    from subwords.kernels.jit import every_kernel
    from subwords.kernels.notice import NOTICES

    kernels = undisturbed(every_kernel)
    with progress_line(len(kernels), "loading kernels", unit="steps", enabled=progress) as bar:
        NOTICES.shown = NOTICES.shown or bar.shown
        for number, kernel in enumerate(kernels, 1):
            kernel.ready()
            bar.phase("compiling kernels, once" if NOTICES.compiling else "loading kernels", number, len(kernels))


def _normalizer(rule: Any) -> Normalizer | None:
    if rule is None:
        return None
    from subwords.normalize.normalizer import normalizer

    made = normalizer(rule)
    return made if made.steps else None


def _for_encoding(
    model: Any, users: tuple[str, ...], rule: Splitter, before: Normalizer | None
) -> tuple[Splitter, Normalizer | None]:
    """Return a splitter and a normalizer that leave user-defined pieces as they are.

    By the default rule no piece was learned across its cuts, so that cuts before blanks alone give the same ids, and
    those of SentencePiece, which has no other.
    """
    from subwords.normalize.normalizer import Normalizer
    from subwords.normalize.steps import SentencePiece
    from subwords.split.spaces import SPACE, parting, space_rule

    if users and before is not None:
        steps = (replace(s, user_symbols=users) if isinstance(s, SentencePiece) else s for s in before.steps)
        before = Normalizer(tuple(steps))
    if rule.name != "sentencepiece":
        return Splitter((*parting(users), *rule.rule)), before
    tokens = [token for i, token in enumerate(model.vocab) if i not in model.special_ids]
    known = SPACE.encode() in tokens or model.byte_fallback
    return Splitter(space_rule(tokens, unk_space=not known)), before


def _words(rule: Splitter, before: Normalizer | None) -> Splitter | Pipeline:
    if before is None:
        return rule
    from subwords.pipeline import Pipeline

    return Pipeline(before, rule)


def _check_counts(
    counts: WordCounts, rule: Splitter, before: Normalizer | None, special_tokens: tuple[str, ...]
) -> None:
    counts.check(provenance_of(_words(rule, before), counts.provenance.special_tokens))
    if missing := [token for token in special_tokens if token not in counts.provenance.special_tokens]:
        raise InputError(
            f"expected counts from which the special tokens were cut out; {missing[0]!r} was not: "
            f"count with special_tokens={list(special_tokens)!r}"
        )
