"""Write a vocabulary as a GGUF file; FormatError for tokenizers that llama.cpp would read differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.formats.checks import makes_all
from subwords.formats.gguf.read import (
    BOOL,
    BYTE,
    CONTROL,
    FLOAT32,
    INT8,
    INT32,
    NORMAL,
    PRE,
    PREFIX,
    ROLES,
    STRING,
    UINT32,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    check_added,
    gguf_bytes,
    name_of,
)
from subwords.formats.json_node import show_json
from subwords.formats.sentencepiece.read import Kind, cut_rule
from subwords.formats.sentencepiece.write import check_splitter, merge_scores
from subwords.models.bpe.model import BPE
from subwords.models.families import family_of
from subwords.models.unigram.model import Unigram
from subwords.models.wordpiece.model import WordPiece
from subwords.spec.model import Model
from subwords.spec.normalizer import Bert, Prepend, Replace, SentencePiece
from subwords.spec.splitter import NAMED, SPACE
from subwords.spec.template import Inserted
from subwords.spec.tokenizer import TokenizerSpec
from subwords.split.splitter import Splitter
from subwords.support.errors import FormatError

_Entry = tuple[str, int, Any]
_SPACED = Replace(" ", SPACE)
_ARCHITECTURES = {"bpe": "llama", "wordpiece": "bert", "unigram": "t5"}  # by family


def write_gguf(spec: TokenizerSpec) -> bytes:
    """Return a GGUF file of the vocabulary, without tensors; a twin of llama.cpp's source gives the same ids.

    Raises FormatError for what llama.cpp would do differently: most splitters, all normalizers of byte-level BPE, flags
    of added tokens.
    Hazards: llama.cpp itself was not run. It yields a control token in ordinary text if merges make it, uses an older
    Unicode, and approximates BERT's normalizer. See COMPATIBILITY.md.

    Source: the GGUF specification, and llama.cpp as of 2026.
    """
    check_added(spec.added_tokens, normalizes=bool(spec.normalizer))
    model = spec.model
    writers: dict[str, Any] = {"bpe": _llama_or_gpt2, "wordpiece": _write_bert, "unigram": _t5}
    family = family_of(model).name
    if family not in writers or (family == "bpe" and any(model.marks)):
        raise FormatError("GGUF holds BPE without prefix and suffix, WordPiece and Unigram; write a .json file")
    own: list[_Entry] = writers[family](spec, model)
    architecture = _ARCHITECTURES[family]
    entries: list[_Entry] = [("general.architecture", STRING, architecture), *own, *_roles(spec, architecture)]
    if spec.chat_template is not None:
        entries.append(("tokenizer.chat_template", STRING, spec.chat_template))
    return gguf_bytes(entries)


def _types(spec: TokenizerSpec, texts: Sequence[str], *, bytes_too: bool = False) -> NDArray[np.int32]:
    """Return the type of every token; an id that no text yields and that is not an added token is unused."""
    model = spec.model
    types = np.full(len(texts), NORMAL, np.int32)
    types[[i for i, text in enumerate(texts) if not text]] = UNUSED
    types[sorted(model.special_ids)] = UNUSED
    for token in spec.added_tokens:
        types[token.id] = CONTROL if token.special else USER_DEFINED
    if (unk_id := _unk_id(model)) is not None:
        types[unk_id] = UNKNOWN
    if bytes_too:
        types[model.byte_ids] = BYTE
    return types


def _unk_id(model: Model) -> int | None:
    return None if model.byte_level else model.unk_id


def _token_strings(kind: str, pre: str, texts: Sequence[str], types: NDArray[np.int32]) -> list[_Entry]:
    named = [text or f"[PAD{i}]" for i, text in enumerate(texts)]
    if len(set(named)) < len(named):
        twice = next(text for text in named if named.count(text) > 1)
        raise FormatError(f"expected distinct tokens in a GGUF file; {show_json(twice)} has two ids")
    return [
        (f"{PREFIX}model", STRING, kind),
        (f"{PREFIX}pre", STRING, pre),
        (f"{PREFIX}tokens", STRING, named),
        (f"{PREFIX}token_type", INT32, types),
    ]


def _roles(spec: TokenizerSpec, architecture: str) -> list[_Entry]:
    """Return the ids of roles and what is added to a text; the template decides about bos and eos."""
    roles = spec.role_ids
    if (unk_id := _unk_id(spec.model)) is not None:
        roles["unk"] = unk_id
    ends = _ends(spec)
    if architecture == "bert":
        if None in ends:
            raise FormatError("llama.cpp always adds BERT's [CLS] and [SEP]; expected a template that adds both")
        roles["cls"], roles["sep"] = (end or 0 for end in ends)
        roles["bos"] = roles["cls"]  # llama.cpp reads it in place of cls
        flags: list[_Entry] = []
    else:
        for role, index in zip(("bos", "eos"), ends, strict=True):
            if index is not None and roles.setdefault(role, index) != index:
                raise FormatError(f"expected the {role} token in the template, id {roles[role]}, not id {index}")
        flags = [
            (f"{PREFIX}add_{role}_token", BOOL, index is not None)
            for role, index in zip(("bos", "eos"), ends, strict=True)
        ]
    return [*((ROLES[role], UINT32, index) for role, index in roles.items()), *flags]


def _ends(spec: TokenizerSpec) -> tuple[int | None, int | None]:
    """Return the ids that the template puts before and after a single text."""
    pieces = list(spec.template.single) if spec.template else []
    at = next((i for i, piece in enumerate(pieces) if not isinstance(piece, Inserted)), 0)
    ends = pieces[:at], pieces[at + 1 :]
    ids = [[i for piece in end if isinstance(piece, Inserted) for i in piece.ids] for end in ends]
    if (
        max(map(len, ids)) > 1
        or (pieces and sum(map(len, ends)) + 1 != len(pieces))
        or sum(map(len, ids)) != sum(map(len, ends))
    ):
        raise FormatError("GGUF holds templates that add one token before a text, one after it, or none; not this one")
    return ids[0][0] if ids[0] else None, ids[1][0] if ids[1] else None


# ------------------------------------------------------------------ byte-level BPE


def _llama_or_gpt2(spec: TokenizerSpec, model: BPE) -> list[_Entry]:
    return _gpt2(spec, model) if model.byte_level else _llama(spec, model)


def _gpt2(spec: TokenizerSpec, model: BPE) -> list[_Entry]:
    from subwords.formats.hf import bpe

    if spec.normalizer:
        raise FormatError(
            f"llama.cpp has no normalizer for byte-level BPE, and this tokenizer has {spec.normalizer!r:.80}: its ids "
            "would differ; with_(normalizer=None) removes it"
        )
    if not model.knows_all and (model.unk_id is not None or model.unknown == "error"):
        raise FormatError("llama.cpp drops bytes that have no token; expected a token for each of 256 bytes")
    texts = bpe.token_texts(model, spec.added_tokens)
    bpe.write_model(model, texts)  # raises FormatError for merges without a total order
    merges = [(left, right) for left, right, result in model.merges.tolist() if result not in model.special_ids]
    if odd := next((texts[i] for pair in merges for i in pair if " " in texts[i]), None):
        raise FormatError(f"GGUF holds merges of tokens without spaces, not of {show_json(odd)}")
    pre = _pre(spec, model)
    return [
        *_token_strings("gpt2", pre, texts, _types(spec, texts)),
        (f"{PREFIX}merges", STRING, [f"{texts[left]} {texts[right]}" for left, right in merges]),
    ]


def _pre(spec: TokenizerSpec, model: BPE) -> str:
    """Return the name of the pre-tokenizer; `whole_words` may be the other one if it makes no difference."""
    rule = spec.splitter
    names = {whole: name for whole in (False, True) if (name := name_of(rule, whole_words=whole))}
    name = names.get(model.whole_words)
    if names and name is None and makes_all(model):
        name = next(iter(names.values()))
    if name is None:
        same = ", ".join(name for name in NAMED if name_of(NAMED[name], whole_words=False) or name == "llama3")
        reason = (
            "segments words that are themselves tokens differently"
            if names
            else "has no pre-tokenizer for this splitter"
        )
        raise FormatError(
            f"llama.cpp {reason}, {Splitter(rule)!r:.160}: ids would differ; expected one of {same}, or the splitter "
            "of a GGUF file"
        )
    if PRE[name].whole_words:
        for token in spec.added_tokens:
            if token.special and len(Splitter(rule).split(token.content)) == 1:
                raise FormatError(f"llama.cpp would find the special token {show_json(token.content)} in ordinary text")
    return name


# ------------------------------------------------------------------ SentencePiece


def _llama(spec: TokenizerSpec, model: BPE) -> list[_Entry]:
    if model.words_only or model.whole_words or model.unused_ids or model.user_ids:
        raise FormatError("llama.cpp has no user-defined and unused pieces, and no models of words: ids would differ")
    if (missing := model.byte_ids < 0).any():
        raise FormatError(
            f"llama.cpp needs a token for each of 256 bytes; <0x{int(np.argmax(missing)):02X}> is missing: it has no "
            "unknown characters"
        )
    texts = [token.decode() for token in model.vocab]
    types = _types(spec, texts, bytes_too=True)
    if spec.splitter != model.space_rule:
        _check_cuts(spec, types, Kind.BPE, byte_fallback=True)
    return [
        *_token_strings("llama", "default", texts, types),
        (f"{PREFIX}scores", FLOAT32, _merge_scores(model)),
        (f"{PREFIX}add_space_prefix", BOOL, _is_prefixed(spec)),
    ]


def _check_cuts(spec: TokenizerSpec, types: NDArray[np.int32], kind: int, *, byte_fallback: bool) -> None:
    """Raise FormatError unless the splitter changes no id; user-defined tokens are found before it."""
    kinds, tokens = np.where(types == USER_DEFINED, NORMAL, types).tolist(), list(spec.model.vocab)
    finest = cut_rule(tokens, kinds, kind, byte_fallback=byte_fallback)
    check_splitter(Splitter(spec.splitter), finest, [tokens[i] for i, each in enumerate(kinds) if each == NORMAL])


def _is_prefixed(spec: TokenizerSpec) -> bool:
    """Return whether a text gets a space before it; FormatError for any other normalization than spaces to U+2581."""
    match spec.normalizer:
        case (Prepend("▁"), step) if step == _SPACED:
            return True
        case (step,) if step == _SPACED:
            return False
        case (SentencePiece(b"", bool(prefixed), False, True, suffixed, ()),) if not (prefixed and suffixed):
            return prefixed
    raise FormatError(
        f"llama.cpp only replaces spaces by U+2581, and may add one at the start; not {spec.normalizer!r:.160}"
    )


def _merge_scores(model: BPE) -> NDArray[np.float32]:
    """Return scores that give llama.cpp the model's merges: it merges whatever joins to a token, best score first.

    Pairs that join to one token have one score. Inside a token the merges have a fixed order, so only one of these
    pairs ever meets: their order among each other is free.
    """
    results = model.merges[:, 2]
    ranks = np.concatenate([[0], np.cumsum(np.diff(results) != 0)]) if model.ranks is None else model.ranks
    scores = np.full(len(model.vocab), -float(ranks[: len(results)].max(initial=0) + 1), np.float32)
    scores[results] = -ranks[: len(results)]
    again = BPE.from_scores(
        [*model.vocab], scores.tolist(), unk_id=model.unk_id, byte_fallback=True, special_ids=model.special_ids
    )
    assert again.ranks is not None
    if again.parts == model.parts and np.array_equal(
        _grouped(again.merges, again.ranks), _grouped(model.merges, ranks)
    ):
        return scores
    if model.ranks is None:
        return merge_scores(model)
    raise FormatError("llama.cpp merges whatever joins to a token, by the score of the token; this model does not")


def _grouped(merges: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the merges with ranks counted from 0, sorted within each rank."""
    dense = np.unique(ranks[: len(merges)], return_inverse=True)[1].reshape(-1, 1)
    rows = np.concatenate([dense, merges], 1)
    return rows[np.lexsort(rows.T[::-1])]


def _t5(spec: TokenizerSpec, model: Unigram) -> list[_Entry]:
    if model.byte_fallback or model.unk_id is None or model.user_ids:
        raise FormatError("llama.cpp's Unigram has one unknown token, no byte fallback and no user-defined pieces")
    match spec.normalizer:
        case (SentencePiece(charsmap, prefixed, merging, True, suffixed, ()),) if prefixed == merging and not (
            prefixed and suffixed
        ):
            pass
        case _:
            raise FormatError(
                "expected SentencePiece's normalizer, which merges spaces and adds one at the start, or does neither; "
                f"llama.cpp has no other for Unigram: not {spec.normalizer!r:.160}"
            )
    texts, types = [token.decode() for token in model.vocab], _types(spec, [*map(bytes.decode, model.vocab)])
    with np.errstate(over="ignore"):
        scores = model.scores.astype(np.float32)
    if not np.isfinite(scores).all():
        raise FormatError("expected scores that 32-bit floats hold in a GGUF file")
    normal = scores[types == NORMAL]
    if not len(normal) or np.float32(normal.min() - np.float32(10)) != np.float32(model.unk_score):
        raise FormatError("llama.cpp would score unknown characters otherwise: a special token has the lowest score")
    _check_cuts(spec, types, Kind.UNIGRAM, byte_fallback=False)
    charsmaps = [(f"{PREFIX}precompiled_charsmap", INT8, np.frombuffer(charsmap, np.int8))] if charsmap else []
    return [
        *_token_strings("t5", "default", texts, types),
        (f"{PREFIX}scores", FLOAT32, scores),
        (f"{PREFIX}add_space_prefix", BOOL, prefixed),
        (f"{PREFIX}remove_extra_whitespaces", BOOL, merging),
        *charsmaps,
    ]


# ------------------------------------------------------------------ WordPiece


def _write_bert(spec: TokenizerSpec, model: WordPiece) -> list[_Entry]:
    if model.prefix != "##" or spec.splitter != NAMED["bert"]:
        raise FormatError('llama.cpp has BERT\'s WordPiece only; expected the prefix "##" and the splitter "bert"')
    match spec.normalizer:
        case (Bert(True, True, strips, lowercase),):
            pass
        case _:
            raise FormatError(
                f"llama.cpp has BERT's normalizer only, with clean_text and handle_chinese_chars; not "
                f"{spec.normalizer!r:.160}"
            )
    texts = [token.decode() for token in model.vocab]
    types = _types(spec, texts)
    named = [_spaced(text, kind) for text, kind in zip(texts, types.tolist(), strict=True)]
    return [
        *_token_strings("bert", "default", named, types),
        (f"{PREFIX}normalizer.lowercase", BOOL, lowercase),
        (f"{PREFIX}normalizer.strip_accents", BOOL, lowercase if strips is None else strips),
    ]


def _spaced(text: str, kind: int) -> str:
    """Return a token as llama.cpp has it: U+2581 begins a word, and what continues one has no prefix."""
    if kind != NORMAL:
        return text
    spaced = text[2:] if text.startswith("##") else SPACE + text
    if not spaced or (text.startswith("##") and (spaced.startswith(SPACE) or spaced[0] + spaced[-1] == "[]")):
        raise FormatError(f"a GGUF file cannot hold the token {show_json(text)}: it would be read as another")
    return spaced
