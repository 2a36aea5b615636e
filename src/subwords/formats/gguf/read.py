"""Read the vocabulary of a GGUF file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE, LARGEST_ID
from subwords.components import decoder as decoders
from subwords.components import normalizer as normalizers
from subwords.components.added_token import AddedToken
from subwords.components.byte_alphabet import CHARACTERS
from subwords.components.roles import checked_roles
from subwords.components.space_rule import SPACE, space_rule
from subwords.components.splitter import NAMED
from subwords.components.template import Inserted, Piece, Slot, Template, bert
from subwords.components.vocab import Vocab
from subwords.errors import FormatError
from subwords.formats.gguf import container
from subwords.formats.gguf.container import FLOAT32, INT8, INT32, UINT8, Metadata
from subwords.formats.gguf.pre import PRE
from subwords.formats.json_node import Node, shown
from subwords.spec import TokenizerSpec

__all__ = ["BYTE", "CONTROL", "MODELS", "NORMAL", "ROLES", "UNKNOWN", "UNUSED", "USER_DEFINED", "read"]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
PREFIX = "tokenizer.ggml."
MODELS = ("gpt2", "llama", "t5", "bert")
ROLES = {
    **{role: f"{PREFIX}{role}_token_id" for role in ("bos", "eos", "cls", "mask")},
    "unk": f"{PREFIX}unknown_token_id",
    "pad": f"{PREFIX}padding_token_id",
    "sep": f"{PREFIX}seperator_token_id",  # the format's spelling
}
# What llama.cpp assumes if a file does not say it: ids of roles, and whether bos and eos are added.
_DEFAULTS = {
    "gpt2": {},
    "llama": {"bos": 1, "eos": 2, "unk": 0},
    "t5": {"eos": 1, "unk": 2, "pad": 0},
    "bert": {"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103},
}
_ADDED = {"gpt2": (False, False), "llama": (True, False), "t5": (False, True), "bert": (True, False)}


@dataclass(frozen=True)
class _Tokens:
    """The tokens of a file, "" for ids without one, their types, and the ids of roles."""

    texts: list[str]
    types: NDArray[np.int32]
    roles: dict[str, int]

    def of(self, *types: int) -> list[int]:
        """Return the ids of tokens of these types."""
        return [i for i in np.flatnonzero(np.isin(self.types, types)).tolist() if self.texts[i]]

    def added(self, *, lstrip: str = "") -> tuple[AddedToken, ...]:
        """Return the tokens that llama.cpp finds in text: control tokens and the unknown one are special."""
        special = frozenset(self.of(CONTROL, UNKNOWN))
        ids = sorted([*special, *self.of(USER_DEFINED)])
        return tuple(AddedToken(self.texts[i], i, special=i in special, lstrip=self.texts[i] == lstrip) for i in ids)


def read(stream: BinaryIO, name: str) -> TokenizerSpec:
    """Return the spec of the vocabulary of a GGUF file; only the metadata is read, never the tensors.

    Ids are those of llama.cpp. Raises FormatError for damaged files, and for models and pre-tokenizers that are not
    known here.

    Source: the GGUF specification, and llama.cpp as of 2026.
    """
    data = container.read(stream, name, lambda key: key.startswith("tokenizer."))
    kind = data.text(f"{PREFIX}model")
    if kind not in MODELS:
        came = "none: the file has no vocabulary" if kind is None else shown(kind)
        raise data.wrong(f"{PREFIX}model", f"one of {', '.join(MODELS)}", came)
    tokens = _tokens(data, kind)
    spec = {"gpt2": _gpt2, "llama": _llama, "t5": _t5, "bert": _bert}[kind](data, tokens)
    given = tuple((role, i) for role, key in ROLES.items() if (i := data.index(key, len(tokens.texts))) is not None)
    if kind == "bert":  # where bos is another name of cls
        given = tuple((role, i) for role, i in given if role != "bos" or ("cls", i) not in given)
    roles = checked_roles(given, len(tokens.texts))
    return replace(spec, roles=roles, chat_template=data.text("tokenizer.chat_template"))


def _tokens(data: Metadata, kind: str) -> _Tokens:
    texts = data.texts(f"{PREFIX}tokens")
    if len(texts) > LARGEST_ID:
        raise data.wrong(f"{PREFIX}tokens", f"at most {LARGEST_ID} tokens", len(texts))
    types = np.full(len(texts), NORMAL, np.int32)
    if f"{PREFIX}token_type" in data:
        types = data.numbers(f"{PREFIX}token_type", [INT32], len(texts))
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        if text and first.setdefault(text, i) != i:
            raise data.wrong(f"{PREFIX}tokens", "distinct tokens", f"{shown(text)} as the ids {first[text]} and {i}")
    for i in np.flatnonzero(types == UNUSED).tolist():
        if texts[i] == f"[PAD{i}]":  # what converters write for ids without a token
            texts[i] = ""
    roles = {role: i for role, i in _DEFAULTS[kind].items() if i < len(texts)}
    for role, key in ROLES.items():
        if (index := data.index(key, len(texts))) is not None:
            roles[role] = index
    return _Tokens(texts, types, roles)


def _template(data: Metadata, tokens: _Tokens, defaults: tuple[bool, bool]) -> Template | None:
    """Return the template of what llama.cpp adds; a pair is two texts, and bos stands before each, as in Llama."""
    flags = [data.flag(f"{PREFIX}add_{role}_token", on) for role, on in zip(("bos", "eos"), defaults, strict=True)]
    if not any(flags):
        return None
    ends: list[tuple[int, str] | None] = []
    for role, on in zip(("bos", "eos"), flags, strict=True):
        index = tokens.roles.get(role)
        if on and (index is None or not tokens.texts[index]):
            raise data.wrong(f"{PREFIX}add_{role}_token", f"{ROLES[role]} with it", "no such key")
        ends.append((index, tokens.texts[index]) if on and index is not None else None)
    framed: list[Piece] = []
    for slot in (Slot("A"), Slot("B", 1)):
        bos, eos = ([Inserted(end[1], (end[0],), (end[1],), slot.type_id)] if end else [] for end in ends)
        framed += [*bos, slot, *eos]
    return Template(tuple(framed[: len(framed) // 2]), tuple(framed))


# ------------------------------------------------------------------ byte-level BPE


def _gpt2(data: Metadata, tokens: _Tokens) -> TokenizerSpec:
    from subwords.formats.hf import bpe

    name = data.text(f"{PREFIX}pre") or "default"
    if name not in PRE:
        raise data.wrong(f"{PREFIX}pre", f"one of {', '.join(PRE)}", shown(name))
    pre = PRE[name]
    added = tokens.added(lstrip="<mask>" if pre.strips_mask else "")
    found = {token.id for token in added}
    # Tokens that no byte spells, and unused ones: no text yields them.
    lost = [AddedToken(text, i) for i, text in enumerate(tokens.texts) if text and i not in found and _lost(tokens, i)]
    ids = {text: i for i, text in enumerate(tokens.texts) if text}
    merges = list(dict.fromkeys(data.texts(f"{PREFIX}merges")))  # of equal ones the first counts
    node = Node(f"{data.name}: {PREFIX}merges", "", {"vocab": ids, "merges": merges})
    model = bpe.read_model(node, ids, [*added, *lost], byte_level=True)
    if len(model.vocab) < len(tokens.texts):  # the last ids have no token
        model = replace(model, vocab=model.vocab.with_more([b""] * (len(tokens.texts) - len(model.vocab))))
    template = _template(data, tokens, (pre.add_bos, False))
    model = replace(model, whole_words=pre.whole_words)
    return TokenizerSpec(model=model, splitter=pre.rule, template=template, added_tokens=added)


def _lost(tokens: _Tokens, index: int) -> bool:
    return bool(tokens.types[index] == UNUSED) or not CHARACTERS.issuperset(tokens.texts[index])


# ------------------------------------------------------------------ SentencePiece


def _scores(data: Metadata, tokens: _Tokens) -> NDArray[np.float64]:
    scores = data.numbers(f"{PREFIX}scores", [FLOAT32, INT32], len(tokens.texts)).astype(np.float64)
    if not np.isfinite(scores).all():
        wrong = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise data.wrong(f"{PREFIX}scores", "finite scores", f"{scores[wrong]} of token {wrong}")
    return scores


def _llama(data: Metadata, tokens: _Tokens) -> TokenizerSpec:
    special = tokens.of(CONTROL, UNKNOWN, BYTE)
    unk_id = next(iter(tokens.of(UNKNOWN)), None)
    pieces = [text.encode() for text in tokens.texts]
    model = BPE.from_scores(
        pieces, _scores(data, tokens).tolist(), unk_id=unk_id, byte_fallback=True, special_ids=special
    )
    if (missing := model.byte_ids < 0).any():
        piece = f"<0x{int(np.argmax(missing)):02X}>"
        raise data.wrong(f"{PREFIX}tokens", "a token for each of 256 bytes", f"tokens without {piece}")
    spaced = normalizers.Replace(" ", SPACE)
    prefixed = data.flag(f"{PREFIX}add_space_prefix", True)
    steps = decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()
    return TokenizerSpec(
        model=model,
        normalizer=(normalizers.Prepend(SPACE), spaced) if prefixed else (spaced,),
        splitter=model.space_rule,
        template=_template(data, tokens, _ADDED["llama"]),
        decoder=decoders.DecoderSequence((*steps, decoders.Strip(" ", 1, 0)) if prefixed else steps),
        added_tokens=tokens.added(),
    )


def _t5(data: Metadata, tokens: _Tokens) -> TokenizerSpec:
    from subwords.components.precompiled_map import read_charsmap
    from subwords.unigram.model import Unigram

    charsmap = b""
    if f"{PREFIX}precompiled_charsmap" in data:
        charsmap = data.numbers(f"{PREFIX}precompiled_charsmap", [INT8, UINT8]).tobytes()
        try:
            read_charsmap(charsmap)
        except FormatError as error:
            raise FormatError(f"{data.name}: {PREFIX}precompiled_charsmap: {error}") from None
    unk_id = tokens.roles.get("unk")
    lost = frozenset([*tokens.of(CONTROL, UNKNOWN, BYTE), *([] if unk_id is None else [unk_id])])
    scores = _scores(data, tokens)
    ordinary = tokens.of(NORMAL)
    others = np.ones(len(scores), np.bool_)
    others[ordinary] = False
    # An unknown character scores less than the lowest of the normal tokens; the others must not be lower.
    scores[others] = np.maximum(scores[others], scores[ordinary].min(initial=0.0))
    scores[tokens.of(USER_DEFINED)] = 0.0
    model = Unigram(Vocab([text.encode() for text in tokens.texts]), scores, unk_id, special_ids=lost)
    pieces = [text for i, text in enumerate(model.vocab) if text and i not in lost]
    merging = data.flag(f"{PREFIX}remove_extra_whitespaces", False)
    prefixed = merging or data.flag(f"{PREFIX}add_space_prefix", False)
    unknown = frozenset() if unk_id is None else frozenset([tokens.texts[unk_id]])
    control = frozenset(tokens.texts[i] for i in tokens.of(CONTROL))
    return TokenizerSpec(
        model=model,
        normalizer=(normalizers.SentencePiece(charsmap, prefixed, merging),),
        splitter=space_rule(pieces, unk_space=SPACE.encode() not in pieces),
        template=_template(data, tokens, _ADDED["t5"]),
        decoder=decoders.SentencePieceDecoder(unknown, control, drops_first=prefixed, drops_leading=merging),
        added_tokens=tokens.added(),
    )


# ------------------------------------------------------------------ WordPiece


def _bert(data: Metadata, tokens: _Tokens) -> TokenizerSpec:
    from subwords.components.roles import BERT_TOKENS
    from subwords.wordpiece.model import WordPiece

    usual = [i for i in tokens.roles.values() if tokens.texts[i] in BERT_TOKENS]
    literal = {*tokens.of(CONTROL, UNKNOWN, USER_DEFINED, UNUSED), *usual}
    texts = [text if i in literal else _unspaced(text) for i, text in enumerate(tokens.texts)]
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        if text and first.setdefault(text, i) != i:
            raise data.wrong(f"{PREFIX}tokens", "distinct tokens", f"{shown(text)} as the ids {first[text]} and {i}")
    cls, sep, unk = (tokens.roles.get(role) for role in ("bos", "sep", "unk"))
    if cls is None or sep is None or unk is None:
        raise FormatError(f"{data.name}: {PREFIX}tokens: expected tokens for {', '.join(BERT_TOKENS[1:4])}")
    added = {token.id: token for token in tokens.added()}
    added |= {i: AddedToken(texts[i], i) for i in usual if i not in added}
    special = frozenset([*(i for i, token in added.items() if token.special), *tokens.of(UNUSED)])
    lowercase = data.flag(f"{PREFIX}normalizer.lowercase", True)
    strips = data.flag(f"{PREFIX}normalizer.strip_accents", lowercase)
    return TokenizerSpec(
        model=WordPiece(Vocab([text.encode() for text in texts]), unk, special_ids=special),
        normalizer=(normalizers.Bert(lowercase=lowercase, strip_accents=None if strips == lowercase else strips),),
        splitter=NAMED["bert"],
        template=bert(cls, sep, texts[cls], texts[sep]),
        decoder=decoders.WordPieceDecoder(),
        added_tokens=tuple(added[i] for i in sorted(added)),
    )


def _unspaced(text: str) -> str:
    """Return a token as in vocab.txt: converters write U+2581 before those that begin a word, and remove the `##`."""
    if text.startswith(SPACE) or (text[:1] + text[-1:] == "[]" and len(text) > 2):
        return text.removeprefix(SPACE)
    return f"##{text}" if text else ""
