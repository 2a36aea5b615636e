"""Open a tokenizer file with the library that its format belongs to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from subwords.compat.comparison import checked_reason
from subwords.components.splitter import ByteChars, Rule, Split
from subwords.errors import FormatError, InputError
from subwords.formats.recognize import kind_at
from subwords.support.install import install_hint
from subwords.tokenizer import Tokenizer

__all__ = ["Original", "needed", "open_original", "pattern_of"]


@dataclass(frozen=True, slots=True)
class Original:
    """A tokenizer of another library.

    library: name and version. special: whether the library finds special tokens spelled in a text ("allow") or reads
    them as ordinary text ("text"). template: whether its ids contain the tokens of a template, such as [CLS].
    """

    library: str
    special: Literal["allow", "text"]
    template: bool
    encode: Callable[[list[str]], Sequence[Sequence[int]]]
    token: Callable[[int], str]


def needed(package: str, why: str) -> Any:
    """Import an optional package; InputError that names it if it is not installed."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(f"{why} needs the package {package}: {install_hint('verify')} ({error})") from None


def open_original(path: Path, ours: Tokenizer) -> Original:
    """Open a tokenizer file or folder with its own library.

    ours: the tokenizer that this package reads from the file; it supplies what the format lacks: of a rank file the
    splitter and the special tokens, of a vocab.txt whether it is cased.

    A folder is opened by transformers' AutoTokenizer, tokenizer.json by HF tokenizers, a .model file by SentencePiece,
    a rank file by tiktoken, vocab.txt by HF's BertWordPieceTokenizer. Raises FormatError if the library cannot open it,
    InputError if the library is not installed or the format has none.
    """
    match kind_at(path):
        case "folder":
            package, opened = "transformers", _transformers
        case "tokenizer.json":
            package, opened = "tokenizers", _tokenizers
        case "vocab.txt":
            package, opened = "tokenizers", _bert
        case "sentencepiece":
            package, opened = "sentencepiece", _sentencepiece
        case "ranks":
            package, opened = "tiktoken", _tiktoken
        case _:
            raise InputError(
                f"expected a folder, tokenizer.json, .model, .tiktoken or vocab.txt; no library reads {path} alone"
            )
    needed(package, f"opening {path}")
    try:
        return opened(path, ours, f"{package} {version(package)}")
    except (FormatError, InputError):
        raise
    except BaseException as error:
        reason = checked_reason(error)
        raise FormatError(f"{path}: {package} {version(package)} cannot load it: {reason}") from None


def _transformers(path: Path, ours: Tokenizer, library: str) -> Original:
    from transformers import AutoTokenizer

    tok = AutoTokenizer.from_pretrained(str(path), local_files_only=True)

    def encode(texts: list[str]) -> Sequence[Sequence[int]]:
        found: list[list[int]] = tok(texts, padding=False, truncation=False, verbose=False)["input_ids"]
        return found

    return Original(library, "allow", True, encode, lambda index: str(tok.convert_ids_to_tokens(index)))


def _tokenizers(path: Path, ours: Tokenizer, library: str) -> Original:
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(path))
    tok.no_padding()
    tok.no_truncation()
    return _of_hf(tok, library)


def _bert(path: Path, ours: Tokenizer, library: str) -> Original:
    from tokenizers import BertWordPieceTokenizer

    lowercase = any(getattr(step, "lowercase", False) for step in ours.spec.normalizer)
    # It reads the last of equal lines and strips line ends, as transformers' BertTokenizer does.
    return _of_hf(BertWordPieceTokenizer(str(path), lowercase=lowercase)._tokenizer, library)


def _of_hf(tok: Any, library: str) -> Original:
    def encode(texts: list[str]) -> list[list[int]]:
        return [found.ids for found in tok.encode_batch(texts)]

    return Original(library, "allow", True, encode, lambda index: str(tok.id_to_token(index)))


def _sentencepiece(path: Path, ours: Tokenizer, library: str) -> Original:
    from sentencepiece import SentencePieceProcessor

    tok = SentencePieceProcessor(model_file=str(path))
    return Original(library, "text", False, tok.encode, tok.id_to_piece)


def _tiktoken(path: Path, ours: Tokenizer, library: str) -> Original:
    import tiktoken
    from tiktoken.load import read_file

    from subwords.formats.tiktoken import read_ranks

    # Not load_tiktoken_bpe: its cache goes by name, so it may return what an earlier file of this name held.
    ranks = read_ranks(read_file(str(path)), str(path))
    pattern, special = pattern_of(ours.spec.splitter), dict(ours.special_tokens)
    ranks = {token: rank for token, rank in ranks.items() if special.get(token.decode("utf-8", "replace")) != rank}
    tok = tiktoken.Encoding(path.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)

    def encode(texts: list[str]) -> list[list[int]]:
        found: list[list[int]] = tok.encode_batch(texts, num_threads=1, allowed_special="all")
        return found

    def token(index: int) -> str:
        data: bytes = tok.decode_single_token_bytes(index)
        return data.decode("utf-8", "backslashreplace")

    return Original(library, "allow", False, encode, token)


def pattern_of(rule: Rule) -> str:
    """Return the pattern of a splitter as tiktoken's `pat_str`; InputError if the splitter is more than a pattern.

    >>> from subwords.components.splitter import NAMED
    >>> pattern_of(NAMED["bailing"])[:19]
    "'(?i:[sdmt]|ll|ve|r"
    """
    while rule and isinstance(rule[-1], ByteChars):  # changes what models read, not where words end
        rule = rule[:-1]
    match rule:
        case (Split(pattern=pattern, behavior="isolated", invert=False),):
            return pattern
    raise InputError(f"expected a splitter of one pattern, as tiktoken has, not {len(rule)} steps: {rule!r:.200}")
