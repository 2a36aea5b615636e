"""verify: whether a saved tokenizer gives the same ids in its own library, text by text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from subwords import Reading, Tokenizer
from subwords.interop.tiktoken import pattern_of
from subwords.machine import (
    Source,
    TokenizerLike,
    files_and_texts,
    is_stream,
    is_table,
    kind_at,
    read_blocks,
    reading_of,
    source_size,
    tokenizer_of,
)
from subwords.machine import progress as show_progress
from subwords.support.checks import check_choice
from subwords.support.errors import FormatError, InputError, checked_reason
from subwords.support.files import place_of
from subwords.support.names import install_hint
from subwords.support.report import Report, Table
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords.machine import SplitterLike


# ---------------------------------------------------------------------------------------------------------------------
# Compare two encoders text by text, in bounded memory, up to the first difference.

Token: TypeAlias = tuple[int, str]
Documents: TypeAlias = Literal["file", "line"]
Errors: TypeAlias = Literal["strict", "replace"]

_LONGEST_TEXT = 1 << 18  # bytes of text that are compared as one; longer texts are cut
_MOST_TEXTS = 1024  # texts of one batch
_AROUND = 24  # characters of context


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A text to compare, and where it begins: `line` counts from 1, `character` from 0 in that line."""

    text: str
    place: str
    line: int = 1
    character: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between two tokenizers.

    place: a file, "text 12" (from 0) of an iterable, or "probe" with its name. line, character: where the first token
    that differs begins; lines count from 1, characters from 0 in their line. before, after: the text around it.
    index: its position among the ids. ours, theirs: id and token there; None if the ids end before. reason: what one
    of the two raised instead of giving ids.
    """

    place: str
    line: int
    character: int
    before: str
    after: str
    index: int = 0
    ours: Token | None = None
    theirs: Token | None = None
    reason: str | None = None

    def __str__(self) -> str:
        here = f"{self.place}, line {self.line}, character {self.character}, in {self.before + self.after!r}"
        if self.reason is not None:
            return f"{here}: {self.reason}"
        ours, theirs = map(_token_name, (self.ours, self.theirs))
        return f"{here}: token {self.index} is {ours} here and {theirs} there"


def _token_name(token: Token | None) -> str:
    return "missing" if token is None else f"{token[1]!r} (id {token[0]})"


@dataclass(frozen=True, slots=True)
class Differences:
    """What was compared: texts, the ids of those that were equal, the first difference, and how many texts differ."""

    texts: int
    tokens: int
    difference: Difference | None
    different: int

    def __add__(self, other: Differences) -> Differences:
        return Differences(
            self.texts + other.texts,
            self.tokens + other.tokens,
            self.difference or other.difference,
            self.different + other.different,
        )


@dataclass(frozen=True, slots=True)
class Side:
    """One of two encoders.

    name: in messages. encode: the ids of each text. token: the token of an id. starts: where each token of a text
    begins, in characters.
    """

    name: str
    encode: Callable[[list[str]], Sequence[Sequence[int]]]
    token: Callable[[int], str]
    starts: Callable[[str], Sequence[int]] | None = None


def side_of(tok: Tokenizer, name: str, special: Literal["text", "allow"], *, template: bool = False) -> Side:
    """Return a tokenizer of this package as one of two encoders, without padding and truncation."""

    def starts(text: str) -> list[int]:
        found = tok(text, special=special, template=template, truncation=False, padding=False)
        return [start for start, _ in found.spans.tolist()]

    def encode(texts: list[str]) -> list[list[int]]:
        return tok.encode_batch(texts, special=special, template=template).to_lists()

    return Side(name, encode, lambda index: tok.id_to_token(index) or "", starts)


# ------------------------------------------------------------------ texts


def comparison_texts(
    source: Source,
    reading: Reading,
    *,
    on_bytes: Callable[[int], object] | None = None,
) -> Iterator[ComparedText]:
    r"""Yield the texts of files, folders, globs or iterables, see `read_blocks`; long ones in parts of 256 KB.

    With documents="line", each line of a file with its "\n" is a text. Texts of an iterable stay whole either way.

    >>> [text.text for text in comparison_texts(["a\nb", "c"], Reading())]
    ['a\nb', 'c']
    """
    check_choice("errors", reading.errors, ("strict", "replace"))
    if is_table(source) or is_stream(source):
        return _of_files([source], reading, on_bytes)
    files, texts = files_and_texts(source)
    if files:
        return _of_files(files, reading, on_bytes)
    return chain.from_iterable(_of_text(text, i) for i, text in enumerate(texts))


@contextmanager
def opened_texts(source: Source | None, reading: Reading, progress: bool | None) -> Iterator[Iterator[ComparedText]]:
    """Yield the texts of a source to compare, none for None; a line shows how much of it was read."""
    if source is None:
        yield iter(())
        return
    with show_progress(source_size(source), "comparing", enabled=progress) as bar:
        yield comparison_texts(source, reading, on_bytes=bar.advance)


def _of_files(
    files: Iterable[Source], reading: Reading, on_bytes: Callable[[int], object] | None
) -> Iterator[ComparedText]:
    for file in files:  # one by one: the same file may come twice
        line, character = 1, 0
        for block in read_blocks(file, reading, block_size=_LONGEST_TEXT, on_bytes=on_bytes):
            ends = block.ends.tolist()
            for start, stop in pairwise([0, *ends, *([] if ends[-1:] == [len(block.data)] else [len(block.data)])]):
                text = block.data[start:stop].decode()
                yield ComparedText(text, block.name, line, character)
                line, character = _after(text, line, character)


def _of_text(text: object, index: int) -> Iterator[ComparedText]:
    if not isinstance(text, str):
        raise InputError(f"text {index}: expected str, got {type(text).__name__} {text!r:.60}")
    line, character = 1, 0
    for start in range(0, max(1, len(text)), _LONGEST_TEXT):
        part = text[start : start + _LONGEST_TEXT]
        yield ComparedText(part, f"text {index}", line, character)
        line, character = _after(part, line, character)


def _after(text: str, line: int, character: int) -> tuple[int, int]:
    """Return the line and the character after a text that begins there."""
    last = text.rfind("\n")
    return line + text.count("\n"), len(text) - last - 1 if last >= 0 else character + len(text)


# ------------------------------------------------------------------ comparing


def compare_ids(texts: Iterable[ComparedText], ours: Side, theirs: Side, *, whole: bool = False) -> Differences:
    """Encode texts with both until one differs, or all with `whole`; a text that only one of them refuses differs."""
    done = tokens = different = 0
    first: Difference | None = None
    for batch in _batches(texts):
        whole_texts = [text.text for text in batch]
        rows = _encoded_rows(whole_texts, ours), _encoded_rows(whole_texts, theirs)
        for text, mine, other in zip(batch, *rows, strict=True):
            done += 1
            if mine == other:
                tokens += 0 if isinstance(mine, str) else len(mine)
            elif not (isinstance(mine, str) and isinstance(other, str)):  # both may refuse it for other reasons
                first, different = first or _difference(text, mine, other, ours, theirs), different + 1
                if not whole:
                    return Differences(done, tokens, first, different)
    return Differences(done, tokens, first, different)


def _batches(texts: Iterable[ComparedText]) -> Iterator[list[ComparedText]]:
    batch: list[ComparedText] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.text)
        if len(batch) == _MOST_TEXTS or size >= _LONGEST_TEXT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_Row: TypeAlias = "list[int] | str"  # the ids of a text, or the reason of the failure


def _encoded_rows(texts: list[str], side: Side) -> list[_Row]:
    try:
        return [list(row) for row in side.encode(texts)]
    except BaseException as error:
        reason = checked_reason(error)
    return [reason] if len(texts) == 1 else [row for text in texts for row in _encoded_rows([text], side)]


def _difference(text: ComparedText, mine: _Row, other: _Row, ours: Side, theirs: Side) -> Difference:
    for row, side in ((mine, ours), (other, theirs)):
        if isinstance(row, str):
            return _place(text, 0, reason=f"{side.name} raises {row}")
    shorter = min(len(mine), len(other))
    index = next((i for i in range(shorter) if mine[i] != other[i]), shorter)
    starts = [] if ours.starts is None else ours.starts(text.text)
    start = starts[index] if index < len(starts) else len(text.text)
    return _place(text, start, index=index, ours=_token_at(mine, index, ours), theirs=_token_at(other, index, theirs))


def _token_at(row: _Row, index: int, side: Side) -> Token | None:
    if isinstance(row, str) or index >= len(row):
        return None
    return row[index], side.token(row[index])


def _place(
    text: ComparedText,
    start: int,
    *,
    index: int = 0,
    ours: Token | None = None,
    theirs: Token | None = None,
    reason: str | None = None,
) -> Difference:
    line, character = _after(text.text[:start], text.line, text.character)
    before, after = text.text[max(0, start - _AROUND) : start], text.text[start : start + _AROUND]
    return Difference(text.place, line, character, before, after, index, ours, theirs, reason)


# ---------------------------------------------------------------------------------------------------------------------
# Open a tokenizer file with the library that its format belongs to.


@dataclass(frozen=True, slots=True)
class Original:
    """A tokenizer of another library.

    library: name and version. special: whether the library finds special tokens spelled in a text ("allow") or reads
    them as ordinary text ("text"). template: whether its ids contain the tokens of a template, such as [CLS].
    encode, decode: many texts, or lists of ids. encode_one, decode_one: one of them.
    """

    library: str
    special: Literal["allow", "text"]
    template: bool
    encode: Callable[[list[str]], Sequence[Sequence[int]]]
    token: Callable[[int], str]
    encode_one: Callable[[str], Sequence[int]]
    decode: Callable[[list[list[int]]], list[str]]
    decode_one: Callable[[list[int]], str]


def needed(package: str, why: str) -> Any:
    """Import an optional package; InputError that names it if it is not installed."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(f"{why} needs the package {package}: {install_hint('verify')} ({error})") from None


def libraries_of(path: Path, ours: Tokenizer) -> tuple[str, ...]:
    """Return the packages that can open a tokenizer file or folder, that of its format first.

    tiktoken opens a tokenizer.json too, with the tokens as ranks: that of byte-level BPE whose splitter is a pattern.
    Raises InputError if there is none.
    """
    match kind_at(path):
        case "folder":
            return ("transformers",)
        case "tokenizer.json":
            try:
                pattern_of(ours.spec.splitter)
            except InputError:
                return ("tokenizers",)
            plain = ours.model.byte_level and ours.model.merge_count and ours.normalizer is None
            return ("tokenizers", "tiktoken") if plain else ("tokenizers",)
        case "vocab.txt":
            return ("tokenizers",)
        case "sentencepiece":
            return ("sentencepiece",)
        case "ranks":
            return ("tiktoken",)
    raise InputError(
        f"expected a folder, tokenizer.json, .model, .tiktoken or vocab.txt; no library reads {path} alone"
    )


def open_original(path: Path, ours: Tokenizer, package: str | None = None, *, threads: int = 1) -> Original:
    """Open a tokenizer file or folder with its own library, or with another one of `libraries_of`.

    ours: the tokenizer that this package reads from the file; it supplies what the format lacks: of a rank file the
    splitter and the special tokens, of a vocab.txt whether it is cased. threads: of SentencePiece and tiktoken for many
    texts; the others have their own.

    A folder is opened by transformers' AutoTokenizer, tokenizer.json by HF tokenizers, a .model file by SentencePiece,
    a rank file by tiktoken, vocab.txt by HF's BertWordPieceTokenizer. Raises FormatError if the library cannot open it,
    InputError if the library is not installed or the format has none.
    """
    package = libraries_of(path, ours)[0] if package is None else package
    opened = {
        "transformers": _transformers,
        "tokenizers": _original_bert if kind_at(path) == "vocab.txt" else _tokenizers,
        "sentencepiece": _sentencepiece,
        "tiktoken": _tiktoken,
    }[package]
    needed(package, f"opening {path}")
    try:
        return opened(path, ours, f"{package} {version(package)}", threads)
    except (FormatError, InputError):
        raise
    except BaseException as error:
        reason = checked_reason(error)
        hint = (
            "; a file of the folder, such as spiece.model, can be verified alone" if package == "transformers" else ""
        )
        raise FormatError(f"{path}: {package} {version(package)} cannot load it: {reason}{hint}") from None


def _transformers(path: Path, ours: Tokenizer, library: str, threads: int) -> Original:
    from transformers import AutoTokenizer

    tok = AutoTokenizer.from_pretrained(str(path), local_files_only=True)

    def encode(texts: list[str] | str) -> Any:
        return tok(texts, padding=False, truncation=False, verbose=False)["input_ids"]

    return Original(
        library,
        special="allow",
        template=True,
        encode=encode,
        token=lambda index: str(tok.convert_ids_to_tokens(index)),
        encode_one=encode,
        decode=tok.batch_decode,
        decode_one=lambda ids: str(tok.decode(ids)),
    )


def _tokenizers(path: Path, ours: Tokenizer, library: str, threads: int) -> Original:
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(path))
    tok.no_padding()
    tok.no_truncation()
    return _of_hf(tok, library)


def _original_bert(path: Path, ours: Tokenizer, library: str, threads: int) -> Original:
    from tokenizers import BertWordPieceTokenizer

    lowercase = any(getattr(step, "lowercase", False) for step in ours.spec.normalizer)
    # It reads the last of equal lines and strips line ends, as transformers' BertTokenizer does.
    return _of_hf(BertWordPieceTokenizer(str(path), lowercase=lowercase)._tokenizer, library)


def _of_hf(tok: Any, library: str) -> Original:
    encode = tok.encode_batch_fast  # without offsets

    return Original(
        library,
        special="allow",
        template=True,
        encode=lambda texts: [found.ids for found in encode(texts)],
        token=lambda index: str(tok.id_to_token(index)),
        encode_one=lambda text: encode([text])[0].ids,
        decode=lambda rows: tok.decode_batch(rows, skip_special_tokens=False),
        decode_one=lambda ids: tok.decode(ids, skip_special_tokens=False),
    )


def _sentencepiece(path: Path, ours: Tokenizer, library: str, threads: int) -> Original:
    from sentencepiece import SentencePieceProcessor

    tok = SentencePieceProcessor(model_file=str(path))
    return Original(
        library,
        special="text",
        template=False,
        encode=lambda texts: tok.encode(texts, num_threads=threads),
        token=tok.id_to_piece,
        encode_one=tok.encode,
        decode=lambda rows: tok.decode(rows, num_threads=threads),
        decode_one=tok.decode,
    )


def _tiktoken(path: Path, ours: Tokenizer, library: str, threads: int) -> Original:
    import tiktoken
    from tiktoken.load import read_file

    from subwords.machine import read_ranks

    pattern, special = pattern_of(ours.spec.splitter), dict(ours.special_tokens)
    if kind_at(path) == "ranks":
        # Not load_tiktoken_bpe: its cache goes by name, so it may return what an earlier file of this name held.
        ranks = read_ranks(read_file(str(path)), str(path))
    else:
        ranks = dict(ours.vocab)
    ranks = {token: rank for token, rank in ranks.items() if special.get(token.decode("utf-8", "replace")) != rank}
    tok = tiktoken.Encoding(path.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)

    def encode(texts: list[str]) -> list[list[int]]:
        found: list[list[int]] = tok.encode_batch(texts, num_threads=threads, allowed_special="all")
        return found

    def token(index: int) -> str:
        data: bytes = tok.decode_single_token_bytes(index)
        return data.decode("utf-8", "backslashreplace")

    return Original(
        library,
        special="allow",
        template=False,
        encode=encode,
        token=token,
        encode_one=lambda text: tok.encode(text, allowed_special="all"),
        decode=lambda rows: tok.decode_batch(rows, num_threads=threads),
        decode_one=tok.decode,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Rare characters and patterns, on which two tokenizers are most likely to differ.

_TRICKY = {
    "empty": "",
    "space": " ",
    "spaces": "  a   b    c     ",
    "tabs and line ends": "\ta\t\tb\r\nc\rd\n\n\ne \n f\n  \n",
    "line separators": "a\x0bb\x0cc\x85d\u2028e\u2029f",
    "other spaces": "a\xa0b\u2003c\u3000d\u200be\ufefff\u202fg",
    "control characters": "a\x00b\x01c\x7fd\x9be",
    "contractions": "it's I'LL we've DON'T you\u2019re ''s 'tis",
    "case": "HELLO HeLLo hELLO ǅ ǆ İ ı ß ẞ Σ σ ς",
    "numbers": "1 12 123 1234 12345 1,234.56 ½ ² Ⅷ ٣ १२३ 𝟘",
    "punctuation": "(a).[b]!?...--- --_--; #x @y $z % ^ & * ~ `q` |w| <e> {r}",
    "code": 'def f(x):\n    return x["a"] + 1  # \t note\n\n\nif (a&&b||!c) { i++; }',
    "address": "https://example.com/a-b_c?d=e&f=%20#g user.name+tag@example.org",
    "accents": "naïve café résumé Å Å ḍ̇ q̣̇",
    "combining marks": "e\u0301 a\u0308\u0304 \u0301x ̈ \u034f z\u0489",
    "ligatures and widths": "ﬁ ﬃ ＡＢＣ ｱｲｳ ㎏ ① ℌ ﷺ",
    "Chinese": "我喜欢学习机器学习。你好，世界！漢字𠀀𪚥",
    "Japanese": "これはテストです。カタカナとひらがな、ー・「引用」",
    "Korean": "한국어 형태소 분석 각 \u1112\u1161\u11ab",
    "Thai": "ภาษาไทยไม่มีช่องว่าง น้ำ",
    "Hindi": "हिन्दी में क्षत्रिय ज्ञ \u200d र्\u200dय",
    "Arabic": "مرحبا بِكُمْ في العالَم ـ لا \u200f!\u200e",
    "Hebrew": "שָׁלוֹם עולם abc שלום",
    "Cyrillic and Greek": "Привет, мир! Ёё Ελληνικά ΆΈ",
    "emoji": "😀 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 ❤️ ☺︎ 1️⃣",
    "private and unassigned": "\ue000 \U000f0000 \U0010fffd \ufdd0 \u0378",
    "replacement character": "a\ufffdb \ufffc",
    "SentencePiece's space": "▁ ▁▁ a▁b <0x0A> <unk> ▁",
    "byte letters": "Ġ Ċ ĠĠthe âĢĻ ##ing </w> @@",
    "long word": "a" * 300 + "Bc" * 150 + "é" * 101,
    "long run of spaces": "x" + " " * 200 + "y",
    "long run of signs": "=" * 97 + "\n" + "-" * 65,
    "long word without a space": "一" * 120,
    "line end at the end": "The end.\n",
    "space at the end": "The end. ",
    "line ends at both ends": "\n\nThe middle.\n\n",
}

PROBES: tuple[tuple[str, str], ...] = tuple(_TRICKY.items())
_MOST_SPECIAL = 64


def probes(special_tokens: Iterable[str]) -> list[ComparedText]:
    """Return texts with their names: the fixed ones, and those that spell up to 64 of these special tokens out.

    >>> found = probes(["<s>"])[-1]
    >>> found.place, found.text
    ("probe (spelled '<s>')", 'a<s>b <s> <s><s>, <S>\\n<s>')
    """
    found = [*PROBES]
    for token in list(special_tokens)[:_MOST_SPECIAL]:
        other = token.swapcase()
        found.append((f"spelled {token!r:.40}", f"a{token}b {token} {token}{token}, {other}\n{token}"))
    return [ComparedText(text, f"probe ({name})") for name, text in found]


@dataclass(frozen=True)
class Verification(Report):
    """The result of `verify`: true if all ids are equal.

    library: the one that loaded the file, with its version. special: how special tokens spelled in a text were read,
    "allow" (found) or "text" (ordinary text), as the library does. texts: the number compared, probes included.
    tokens: those of the texts that are equal.
    """

    library: str
    special: str
    texts: int
    tokens: int
    difference: Difference | None = None

    def tables(self) -> list[Table]:
        """Return what was compared."""
        row = (self.library, "yes" if self else "no", self.texts, self.tokens)
        return [Table(("library", "equal", "texts", "ids"), [row], "Comparison with the original", "tab:verification")]

    def notes(self) -> list[str]:
        """Return the first difference."""
        return [] if self.difference is None else [f"First difference: {self.difference}"]

    def __bool__(self) -> bool:
        return self.difference is None


def verify(
    tokenizer: str | PathLike[str],
    source: Source | None = None,
    *,
    other: TokenizerLike | None = None,
    splitter: SplitterLike = None,
    special_ids: Mapping[str, int] | None = None,
    reading: Reading | None = None,
    progress: bool | None = None,
) -> Verification:
    r"""Load a saved tokenizer with its own library and compare ids, text by text, up to the first difference.

    tokenizer: a folder (transformers' AutoTokenizer), tokenizer.json (HF tokenizers), .model (SentencePiece), .tiktoken
    (tiktoken) or vocab.txt (HF's BertWordPieceTokenizer). source: files, folders, globs or an iterable of texts;
    each 256 KB of a file are a text, or with Reading(documents="line") each line with its "\n". Memory does not grow
    with the corpus. A fixed list of tricky texts and the spelled special tokens are always compared.
    other: what it must equal; by default what `load` reads from the same file. A rank file takes its splitter and
    special tokens from it, or from the options of these names.

    Templates are applied where the library applies them (tokenizer.json, folders, vocab.txt). Padding and truncation
    are off. Special tokens spelled in a text are found, except by SentencePiece, which reads them as ordinary text.
    Raises FormatError if either cannot load the file, InputError if the library is not installed, CorpusError for
    unreadable texts.

    >>> import tempfile
    >>> import subwords
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subwords.train(["low lower lowest"] * 9, vocab_size=263).save(f"{folder}/tok.json")
    ...     bool(subwords.files.verify(f"{folder}/tok.json", ["so low"]))
    True
    """
    how = reading_of(reading)
    path = place_of(tokenizer, local=True)
    given = tokenizer if other is None else other
    ours = tokenizer_of(given, splitter=splitter, special_ids=special_ids).with_(padding=None, truncation=None)
    original = open_original(path, ours, threads=thread_count(None))
    with opened_texts(source, how, progress) as corpus:
        found = compare_ids(chain(probes(ours.special_tokens), corpus), *sides_of(ours, original))
    return Verification(original.library, original.special, found.texts, found.tokens, found.difference)


def sides_of(tok: Tokenizer, original: Original) -> tuple[Side, Side]:
    """Return a tokenizer and another library's, to compare: special tokens and templates as there."""
    ours = side_of(tok, "subwords", original.special, template=original.template)
    return ours, Side(original.library, original.encode, original.token)
