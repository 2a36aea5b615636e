"""train, count and warmup: a corpus in, counts or a tokenizer out. It orchestrates only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from subwords.bpe.train import BPESettings, train_bpe
from subwords.corpus.count import count_blocks
from subwords.corpus.counts import Provenance, WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.source import source_size
from subwords.errors import CorpusError, InputError
from subwords.special import AddedToken
from subwords.split.scanner import Splitter, encode_text
from subwords.split.scanner import splitter as make_splitter
from subwords.threads import thread_count
from subwords.tokenizer import Tokenizer

if TYPE_CHECKING:
    from subwords.corpus.source import Source

__all__ = ["count", "train", "warmup"]

BLOCK = 1 << 20  # bytes read at a time: a few are in memory for every thread


def count(
    source: Source,
    *,
    splitter: str | Splitter = "gpt2",
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
    rule = make_splitter(splitter)
    special_tokens = _checked_specials(special_tokens)
    with progress_line(source_size(source), "counting", enabled=progress) as bar:
        blocks = read_blocks(source, documents=documents, errors=errors, block_size=BLOCK, on_bytes=bar.advance)
        counts = count_blocks(blocks, rule, special_tokens=special_tokens, threads=thread_count(threads))
    if not len(counts):
        raise CorpusError("expected text to count; every document is empty")
    return counts


def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["bpe"] = "bpe",
    vocab_size: int,
    splitter: str | Splitter = "gpt2",
    special_tokens: Sequence[str] = (),
    byte_level: bool = True,
    alphabet: Literal["full", "corpus"] = "full",
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    min_frequency: int = 0,
    max_token_length: int | None = None,
    limit_alphabet: int | None = None,
    unk_token: str | None = None,
    documents: Literal["file", "line"] = "file",
    errors: Literal["strict", "replace"] = "strict",
    threads: int | None = None,
    progress: bool | None = None,
) -> Tokenizer:
    """Train a tokenizer on a corpus (see `count`) or on word counts.

    byte_level: start from bytes, all 256 of them or those of the corpus (`alphabet`); otherwise from characters.
    tie_break, between pairs of one count: "ids", the smaller pair of ids (as HF tokenizers); "first", the pair that
    occurs first; "bytes", the smaller pair of strings. min_frequency: the least count of a merged pair.
    max_token_length: in bytes, or in characters without byte_level. limit_alphabet: keep so many symbols, the most
    frequent; others part words, and are `unk_token` when encoding. TrainingError where settings and corpus do not fit.

    >>> import subwords
    >>> tok = subwords.train(["hug pug pun bun hugs " * 9], vocab_size=262, special_tokens=["<s>"])
    >>> tok.merges[:2]
    [(b'u', b'g'), (b'h', b'ug')]
    """
    if algorithm != "bpe":
        raise InputError(f'expected algorithm="bpe", not {algorithm!r}')
    special_tokens = _checked_specials(special_tokens)
    settings = BPESettings(
        vocab_size=vocab_size,
        byte_level=byte_level,
        alphabet=alphabet,
        special_tokens=special_tokens,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        limit_alphabet=limit_alphabet,
        unk_token=unk_token,
    )
    for token in special_tokens:
        if byte_level and alphabet == "full" and len(token.encode()) == 1:
            raise InputError(f"expected special tokens of more than one byte; {token!r} is a symbol of the alphabet")
    rule = make_splitter(splitter)
    if isinstance(source, WordCounts):
        counts = source
        _check_counts(counts, rule, special_tokens)
    else:
        counts = count(
            source,
            splitter=rule,
            special_tokens=special_tokens,
            documents=documents,
            errors=errors,
            threads=threads,
            progress=progress,
        )
    with progress_line(max(0, vocab_size - 256), "merging", unit="merges", enabled=progress) as bar:
        model = train_bpe(counts, settings, on_merges=bar.advance if bar.shown else None)
    added = [AddedToken(content, i) for i, content in enumerate(special_tokens)]
    return Tokenizer(model, rule, added_tokens=added)


def warmup() -> None:
    """Compile, or read from the cache, every kernel of this package.

    Servers call it once before they fork or take requests; a second call costs nothing.

    >>> import subwords
    >>> subwords.warmup()
    """
    modules = "bpe_encode bpe_index bpe_train count decode find merge split_cut split_gpt2 split_machine utf8 words"
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


def _check_counts(counts: WordCounts, rule: Splitter, special_tokens: tuple[str, ...]) -> None:
    counts.check(Provenance(rule.identity, None, rule.unicode_version, counts.provenance.special_tokens))
    if missing := [token for token in special_tokens if token not in counts.provenance.special_tokens]:
        raise InputError(
            f"expected counts from which the special tokens were cut out; {missing[0]!r} was not: "
            f"count with special_tokens={list(special_tokens)!r}"
        )
