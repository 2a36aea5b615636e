"""BERT's vocab.txt: one token per line; the id is the line number, from 0. And RWKV's, which names ids and bytes."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Sequence

from subwords.formats.checks import check_gaps
from subwords.formats.json_node import is_unicode, show_json
from subwords.models.families import need
from subwords.models.wordpiece.model import LARGEST_ID, LONGEST_WORD, WordPiece
from subwords.spec.added_token import BERT_TOKENS, AddedToken
from subwords.spec.decoder import WordPieceDecoder
from subwords.spec.normalizer import NAMED as NORMALIZERS
from subwords.spec.splitter import NAMED as SPLITTERS
from subwords.spec.template import bert
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.unicode import WHITESPACE
from subwords.spec.vocab import Vocab
from subwords.support.errors import FormatError

_BOM = "\ufeff"
# An id, a token as Python writes it, and its number of bytes.
_RWKV_LINE = re.compile(rb"""([0-9]{1,10}) (b?(?:'.*'|".*")) ([0-9]{1,10})""")
_RWKV = re.compile(_RWKV_LINE.pattern + rb"\r?\n")
_LONGEST_LINE = 1 << 16
_NEVER = {0xC0, 0xC1, *range(0xF5, 0x100)}  # bytes that UTF-8 never has


def read_tokens(data: bytes, name: str, *, unk: str | None = "[UNK]") -> list[str]:
    """Return the token of every id, "" for ids without a token; `name` is the file's name in messages.

    As in HF, whitespace at the end of a line is stripped, and the last of equal tokens wins; the lines of the others
    and empty lines are ids without a token. Raises FormatError if the token `unk` is missing, unless it is None, and
    for lines that other readers interpret differently: a byte order mark, a carriage return within a line, what is no
    UTF-8.

    Source: HF tokenizers 0.23, WordPiece.read_file.

    >>> from subwords.formats.vocab_txt import read_tokens
    >>> read_tokens(b"[UNK]\\nso\\n##n\\n", "vocab.txt")
    ['[UNK]', 'so', '##n']
    """
    lines = _decode_vocab(data, name).split("\n")
    if not lines[-1]:
        lines.pop()
    tokens = [line.rstrip(WHITESPACE) for line in lines]
    for number, token in enumerate(tokens, 1):
        if "\r" in token:
            came = f"a carriage return within line {number}, {show_json(token)}"
            raise FormatError(
                f"{name}: expected lines that end with a line feed, not {came}: replace it by a line feed"
            )
    last = {token: i for i, token in enumerate(tokens)}
    if unk is not None and (unk not in last or not unk):
        came = f"{len(tokens)} lines without it, from {show_json(tokens[0][:40])} on" if tokens else "an empty file"
        raise FormatError(
            f"{name}: expected a vocabulary, one token on each line, with {show_json(unk)} for unknown words, not "
            f"{came}: if it is one, add this token as the last line, or name another unk token"
        )
    return [token if last[token] == i else "" for i, token in enumerate(tokens)]


def _decode_vocab(data: bytes, name: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{name}: expected UTF-8; line {number} has an invalid byte (byte {error.start} of the file): save "
            f"the file as UTF-8"
        ) from None
    if text.startswith(_BOM):
        raise FormatError(
            f"{name}: expected a token on line 1, not a byte order mark, which would be part of it: save the "
            f"file as UTF-8 without one"
        )
    return text


def write_tokens(tokens: Sequence[str]) -> bytes:
    """Return a vocab.txt; FormatError for duplicate tokens and for tokens that do not fit on a line.

    >>> from subwords.formats.vocab_txt import write_tokens
    >>> write_tokens(["[UNK]", "so", "##n"])
    b'[UNK]\\nso\\n##n\\n'
    """
    first: dict[str, int] = {}
    for i, token in enumerate(tokens):
        if not is_unicode(token) or token != token.rstrip(WHITESPACE) or "\n" in token or "\r" in token:
            raise FormatError(
                f"id {i} is {show_json(token)}, which vocab.txt cannot hold: "
                "expected tokens without line ends, trailing "
                f"whitespace and lone surrogates"
            )
        if token and first.setdefault(token, i) != i:
            raise FormatError(f"expected distinct tokens in vocab.txt; {show_json(token)} is id {first[token]} and {i}")
    if tokens and tokens[0].startswith(_BOM):
        raise FormatError(f"expected a first token without a byte order mark, not {show_json(tokens[0])}")
    return "".join(f"{token}\n" for token in tokens).encode()


def is_cased(tokens: Sequence[str]) -> bool:
    """Whether a vocabulary is cased: a token, other than [X] and <X>, has a capital letter.

    Hazard: this is a guess, because vocab.txt does not state it.

    >>> from subwords.formats.vocab_txt import is_cased
    >>> is_cased(["[UNK]", "paris"]), is_cased(["[UNK]", "Paris"])
    (False, True)
    """
    return any(token != token.lower() for token in tokens if token[:1] + token[-1:] not in ("[]", "<>"))


def read_vocab_txt(data: bytes, name: str) -> TokenizerSpec:
    """Return BERT's tokenizer with the vocabulary of a file; cased if any token has a capital letter.

    >>> read_vocab_txt(b"[UNK]\\nso\\n##n\\n", "vocab.txt").normalizer
    (Bert(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True),)
    """
    texts = read_tokens(data, name)
    ids = {text: i for i, text in enumerate(texts) if text}
    special = [token for token in BERT_TOKENS if token in ids]
    model = WordPiece(
        Vocab([text.encode() for text in texts]), ids["[UNK]"], special_ids=frozenset(ids[token] for token in special)
    )
    return TokenizerSpec(
        model=model,
        splitter=SPLITTERS["bert"],
        normalizer=NORMALIZERS["bert-cased" if is_cased(texts) else "bert-uncased"],
        template=bert(ids["[CLS]"], ids["[SEP]"]) if {"[CLS]", "[SEP]"} <= ids.keys() else None,
        decoder=WordPieceDecoder(),
        added_tokens=tuple(AddedToken(token, ids[token]) for token in special),
    )


def is_rwkv(data: bytes) -> bool:
    """Whether a file begins like the vocabulary of RWKV."""
    return _RWKV.match(data[:_LONGEST_LINE]) is not None


def read_rwkv(data: bytes, name: str) -> TokenizerSpec:
    """Return the tokenizer of RWKV's vocabulary: the longest token at each place of a text, by bytes.

    A line is an id, a token as Python writes a string or bytes, and its length in bytes. Raises FormatError, with the
    line, for other lines, and for a byte without a token. Bytes that UTF-8 never has are unknown.

    Source: RWKV's "World" tokenizer, 2023.

    >>> lines = b"".join(b"%d %r 1\\n" % (byte + 1, bytes([byte])) for byte in range(256))
    >>> read_rwkv(lines + b"257 'ab' 2\\n", "rwkv_vocab.txt").model.vocab.ids[b"ab"]
    257
    """
    ids: dict[int, bytes] = {}
    for number, line in enumerate(data.splitlines(), 1):
        found = _RWKV_LINE.fullmatch(line) if len(line) <= _LONGEST_LINE else None
        token: object = None
        if found:
            with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                token = ast.literal_eval(found[2].decode())
        text = token.encode("utf-8", "surrogateescape") if isinstance(token, str) else token
        if not found or not isinstance(text, bytes) or not text or int(found[3]) != len(text):
            raise FormatError(f"{name}: line {number}: expected an id, a token and its bytes, not {line[:60]!r}")
        index = int(found[1])
        if index > LARGEST_ID or index in ids:
            raise FormatError(f"{name}: line {number}: expected a new id, not {index}")
        ids[index] = text
    check_gaps(max(ids, default=0), ids, name, "ids")
    tokens = [ids.get(i, b"") for i in range(max(ids, default=-1) + 1)]
    if missing := [byte for byte in range(256) if bytes([byte]) not in {*ids.values()}]:
        raise FormatError(f"{name}: expected a token for each of 256 bytes; {bytes(missing[:1])!r} has none")
    # The kernel needs a byte with which no token begins, and text has none of these.
    lost = frozenset(i for i, text in ids.items() if len(text) == 1 and text[0] in _NEVER)
    return TokenizerSpec(model=WordPiece(Vocab(tokens), prefix="", max_chars=LONGEST_WORD, special_ids=lost))


def write_vocab_txt(spec: TokenizerSpec) -> bytes:
    """Return the vocab.txt of a WordPiece tokenizer.

    Raises FormatError for other models, and for a tokenizer with other rules than those that readers of a vocab.txt
    suppose, which are BERT's: text would get other ids.
    """
    need(spec.model, WordPiece, FormatError("vocab.txt holds WordPiece tokenizers only; write a .json file"))
    tokens = [token.decode("utf-8", "surrogateescape") for token in spec.model.vocab]
    data = write_tokens(tokens)
    unk = "" if spec.model.unk_id is None else tokens[spec.model.unk_id]
    if unk != "[UNK]":
        raise _other("unknown token", f": [UNK] instead of {unk or 'none'}")
    again = read_vocab_txt(data, "vocab.txt")
    for name in ("model", "normalizer", "splitter", "added_tokens"):
        ours, theirs = getattr(spec, name), getattr(again, name)
        if ours != theirs:
            shown = "" if name == "model" else f": {theirs!r:.200} instead of {ours!r:.200}"
            raise _other(name.replace("_", " "), shown)
    return data


def _other(name: str, shown: str) -> FormatError:
    return FormatError(f"a vocab.txt holds tokens only; its readers use another {name}{shown}; write a .json file")
