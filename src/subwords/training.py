"""train, count and warmup: a corpus in, counts or a tokenizer out. It orchestrates only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from subwords.bpe.model import BPE
from subwords.bpe.train import BPESettings, train_bpe
from subwords.corpus.count import count_blocks, provenance_of
from subwords.corpus.counts import WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.source import source_size
from subwords.errors import CorpusError, InputError
from subwords.special import AddedToken
from subwords.split.rules import Split
from subwords.split.scanner import Splitter, encode_text
from subwords.split.scanner import splitter as make_splitter
from subwords.threads import thread_count
from subwords.tokenizer import Tokenizer
from subwords.wordpiece.model import SPECIAL_TOKENS

# What only WordPiece and normalizers need is imported where they are used: 30 ms of the start.
if TYPE_CHECKING:
    from subwords.corpus.progress import Progress
    from subwords.corpus.source import Source
    from subwords.normalize.normalizer import Normalizer
    from subwords.pipeline import Pipeline
    from subwords.unigram.model import Unigram
    from subwords.unigram.train import UnigramSettings
    from subwords.wordpiece.model import WordPiece
    from subwords.wordpiece.train import WordPieceSettings

__all__ = ["count", "train", "warmup"]

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
    special_tokens = _checked_specials(special_tokens)
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
    min_frequency: int = 0,
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
    frequent; others part words, and are `unk_token` when encoding. TrainingError where settings and corpus do not fit.

    "bpe": words by splitter="gpt2". byte_level: start from bytes, all 256 of them or those of the corpus (`alphabet`);
    otherwise from characters.
    "wordpiece": normalizer="bert-uncased", splitter="bert", and BERT's five special tokens, of which [UNK] is
    `unk_token`. Pieces that continue a word begin with `prefix`. score, of which the greatest is merged: "likelihood",
    the gain of a unigram language model; "course", count(ab) / (count(a) count(b)), which spells out frequent words
    unless min_frequency is sizeable; "count", as BPE and HF's trainer.
    "unigram": normalizer and splitter="sentencepiece", and <unk>, <s>, </s>. The size asked for is met exactly. The
    options from seed_size on are those of `subwords.unigram.train.train_unigram`.

    >>> import subwords
    >>> tok = subwords.train(["hug pug pun bun hugs " * 9], vocab_size=262, special_tokens=["<s>"])
    >>> tok.merges[:2]
    [(b'u', b'g'), (b'h', b'ug')]
    >>> subwords.train(["hug hugs hugging"] * 9, algorithm="wordpiece", vocab_size=16).tokenize("Hugs")
    ['hug', '##s']
    """
    family = _family(algorithm)
    special_tokens = specials_of(algorithm, special_tokens, unk_token)
    settings = settings_of(
        algorithm=algorithm,
        vocab_size=vocab_size,
        special_tokens=special_tokens,
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
    rule = make_splitter(family.splitter if splitter == "auto" else splitter)
    before = _normalizer(family.normalizer if normalizer == "auto" else normalizer)
    if user_defined and algorithm != "unigram":
        raise InputError(f"expected user_defined pieces only with algorithm='unigram', not {algorithm!r}")
    cut_out = (*special_tokens, *user_defined)
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
    with progress_line(max(0, vocab_size - 256), family.label, unit=family.unit, enabled=progress) as bar:
        model = _learned(counts, settings, threads, bar)
    added = [AddedToken(content, i) for i, content in enumerate(special_tokens)]
    if algorithm == "unigram":
        rule, before = _for_encoding(model, tuple(user_defined), rule, before)
    around = _around(model, special_tokens, spaced=_is_spaced(rule, before))
    return Tokenizer(model, rule, normalizer=before, added_tokens=added, **around)


def _learned(
    counts: WordCounts, settings: BPESettings | WordPieceSettings | UnigramSettings, threads: int | None, bar: Progress
) -> BPE | WordPiece | Unigram:
    on_merges = bar.advance if bar.shown else None
    if isinstance(settings, BPESettings):
        return train_bpe(counts, settings, on_merges=on_merges)
    from subwords.wordpiece.train import WordPieceSettings, train_wordpiece

    if isinstance(settings, WordPieceSettings):
        return train_wordpiece(counts, settings, on_merges=on_merges)
    from subwords.unigram.train import train_unigram

    return train_unigram(counts, settings, threads=threads, on_step=bar.phase)


class Family(NamedTuple):
    """What goes with an algorithm unless something else is asked for."""

    splitter: str
    normalizer: str | None
    special_tokens: tuple[str, ...]
    label: str = "merging"
    unit: Literal["merges", "steps"] = "merges"


DEFAULTS = {
    "bpe": Family("gpt2", None, ()),
    "wordpiece": Family("bert", "bert-uncased", SPECIAL_TOKENS),
    "unigram": Family("sentencepiece", "sentencepiece", ("<unk>", "<s>", "</s>"), "seeds", "steps"),
}


# Settings of BPE and WordPiece that a Unigram model does without, or takes in its own way.
_OF_MERGES = ("tie_break", "min_frequency", "max_token_length", "limit_alphabet")


def specials_of(algorithm: str, special_tokens: Sequence[str] | None, unk_token: str | None) -> tuple[str, ...]:
    """Return the special tokens that `train` makes: those given or the algorithm's, and Unigram's unknown one."""
    tokens = _checked_specials(_family(algorithm).special_tokens if special_tokens is None else special_tokens)
    unk = (unk_token or "<unk>",) if algorithm == "unigram" else ()
    return tokens if unk and unk[0] in tokens else (*unk, *tokens)


def _family(algorithm: str) -> Family:
    if algorithm not in DEFAULTS:
        raise InputError(f"expected algorithm to be one of {', '.join(DEFAULTS)}, not {algorithm!r}")
    return DEFAULTS[algorithm]


def settings_of(
    *,
    algorithm: str,
    byte_level: bool,
    alphabet: Literal["full", "corpus"],
    score: Literal["likelihood", "course", "count"],
    prefix: str,
    unk_token: str | None,
    special_tokens: Sequence[str],
    **others: Any,
) -> BPESettings | WordPieceSettings | UnigramSettings:
    """Return what an algorithm takes of the settings of `train`; InputError or TrainingError for what cannot be."""
    if algorithm == "unigram":
        from subwords.unigram.train import UnigramSettings

        taken = {name: value for name, value in others.items() if name not in _OF_MERGES}
        return UnigramSettings(
            special_tokens=special_tokens,
            unk_token=unk_token or "<unk>",
            min_frequency=others["min_frequency"] or 2,
            **taken,
        )
    shared = {name: others[name] for name in ("vocab_size", *_OF_MERGES)}
    if algorithm == "wordpiece":
        from subwords.wordpiece.train import WordPieceSettings

        unk_token = unk_token or "[UNK]"
        return WordPieceSettings(
            special_tokens=special_tokens, score=score, prefix=prefix, unk_token=unk_token, **shared
        )
    for token in special_tokens:
        if byte_level and alphabet == "full" and len(token.encode()) == 1:
            raise InputError(f"expected special tokens of more than one byte; {token!r} is a symbol of the alphabet")
    return BPESettings(
        special_tokens=special_tokens, byte_level=byte_level, alphabet=alphabet, unk_token=unk_token, **shared
    )


def _is_spaced(rule: Splitter, before: Normalizer | None) -> bool:
    """Whether U+2581 is written for blanks."""
    steps = [*(before.steps if before else ()), *(step for step in rule.rule if not isinstance(step, Split))]
    return any(type(step).__name__ == "SentencePiece" or "▁" in repr(step) for step in steps)


def _around(model: BPE | WordPiece | Unigram, special_tokens: tuple[str, ...], *, spaced: bool) -> dict[str, Any]:
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


def warmup() -> None:
    """Compile, or read from the cache, every kernel of this package.

    Servers call it once before they fork or take requests; a second call costs nothing.

    >>> import subwords
    >>> subwords.warmup()
    """
    modules = (
        "bpe_encode bpe_index bpe_train count decode encode find merge normal_forms normalize normalize_graphemes "
        "normalize_rules pieces split_cut split_drop split_gpt2 split_machine split_symbols suffix suffix_sort "
        "unigram_encode unigram_lattice unigram_train utf8 wordpiece_encode wordpiece_index wordpiece_train words"
    )
    for module in modules.split():
        import_module(f"subwords.kernels.{module}")
    for kernel in import_module("subwords.kernels.jit").KERNELS:
        kernel.ready()


def _checked_specials(tokens: Iterable[str]) -> tuple[str, ...]:
    if isinstance(tokens, str):
        raise InputError(f"expected special_tokens to be a list of str, not the str {tokens!r}")
    found = tuple(tokens)
    for i, token in enumerate(found):
        if not isinstance(token, str) or not token:
            raise InputError(f"expected special_tokens[{i}] to be a non-empty str, not {token!r}")
        encode_text(token)
        if token in found[:i]:
            raise InputError(f"expected special tokens to differ; {token!r} is given twice")
    return found


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
