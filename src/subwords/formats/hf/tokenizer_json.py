"""Read HF's tokenizer.json, version 1.0 or 2.0; write version 1.0."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from subwords.components import splitter as splitters
from subwords.components.model import Model
from subwords.components.splitter import ByteChars
from subwords.errors import FormatError, InputError
from subwords.families import family_of
from subwords.formats.hf import bpe
from subwords.formats.hf.padding import from_padding, from_truncation, to_padding, to_truncation
from subwords.formats.hf.post_processor import from_post_processor, to_post_processor
from subwords.formats.hf.pre_tokenizer import from_pre_tokenizer, to_pre_tokenizer
from subwords.formats.hf.vocabulary import (
    added_entries,
    appended_ids,
    model_kind,
    read_added,
    read_vocab,
    utf8,
)
from subwords.formats.json_node import Node, parse
from subwords.spec import Foreign, TokenizerSpec
from subwords.split.splitter import Splitter

if TYPE_CHECKING:
    from subwords.components.decoder import Decoder
    from subwords.components.normalizer import Steps

__all__ = ["read", "write"]

_KEYS = (
    *("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor"),
    *("decoder", "model"),
)
# The decoder that joins bytes, and the one that joins characters: what `to_decoder` gives for `ByteDecoder`.
_JOINED = {
    True: {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    False: {"type": "Fuse"},
}
_SPELLED = ("post_processor", "decoder")  # components whose original JSON is kept


def read(data: bytes, name: str) -> TokenizerSpec:
    """Return the spec of a tokenizer.json; `name` is the file's name in messages.

    Raises FormatError with the place for damaged and unsupported files.
    Hazard: without a decoder in the file, tokens are joined with spaces, as in HF.

    Source: the format that HF tokenizers 0.23 reads; version 2.0 as 1.0.0rc3 writes it.

    >>> from subwords.formats.hf.tokenizer_json import read
    >>> model = b'{"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}'
    >>> read(b'{"model": %s}' % model, "ab.json").model.merges.tolist()
    [[0, 1, 2]]
    """
    top = parse(data, name)
    _check_kind(top)
    kind = _kind(top["model"])
    version, roles = top["version"], top["role_to_token"]
    if version.value not in (None, "1.0", "2.0"):
        raise version.wrong('"1.0" or "2.0"')
    is_new = version.value == "2.0"
    if is_new:
        from subwords.formats.hf.version_2 import as_version_1, roles_of

        top = as_version_1(top)
    splitter = _read_splitter(top["pre_tokenizer"])
    byte_level = any(isinstance(step, ByteChars) for step in splitter)
    if byte_level and kind != "BPE":
        raise FormatError(
            f"{top['pre_tokenizer'].place}: ByteLevel before {kind} is not supported; expected it before BPE, or as a "
            "normalizer"
        )
    vocab, pieces = _read_vocab(top["model"]["vocab"], kind)
    added = read_added(top["added_tokens"], vocab)
    given: Any = pieces if kind == "Unigram" else vocab
    bytes_too = {"byte_level": byte_level} if kind == "BPE" else {}
    model: Model = _module(kind.lower()).read_model(top["model"], given, added, **bytes_too)
    if byte_level and isinstance(splitter[-1], ByteChars):
        splitter = splitter[:-1]  # the model records that its symbols are bytes
    # The spelling of version 2.0 is not written.
    kept = [*(() if is_new else _SPELLED), *_unknown_keys(top)]
    return TokenizerSpec(
        model=model,
        normalizer=_read_normalizer(top["normalizer"]),
        splitter=splitter,
        template=from_post_processor(top["post_processor"]),
        decoder=_read_decoder(top["decoder"], model),
        added_tokens=tuple(added),
        roles=roles_of(roles, vocab | {token.content: token.id for token in added}) if is_new else (),
        padding=from_padding(top["padding"]),
        truncation=from_truncation(top["truncation"]),
        foreign=Foreign(tuple((key, top[key].verbatim()) for key in kept), len(pieces or vocab)),
    )


# JSON files that are not a tokenizer.json, by the keys that they have.
_OTHERS = (
    (("config", "vocab"), "a tekken.json of Mistral, which is not supported; load the tokenizer.json of that model"),
    (("tokenization", "config"), "a configuration of MidiTok; its `_model` holds a tokenizer.json if it is trained"),
    (
        ("unk_id", "vocab"),
        "the model of a Unigram tokenizer alone, without its rules; save the whole tokenizer",
    ),
)


def _check_kind(top: Node) -> None:
    """Raise FormatError for other files of JSON, by name."""
    if isinstance(top.value, dict) and "model" not in top.value:
        for keys, what in _OTHERS:
            if all(key in top.value for key in keys):
                raise FormatError(f"{top.place}: expected a tokenizer.json, not {what}")


def _kind(model: Node) -> str:
    if not isinstance(model.value, dict):
        raise model.wrong("the model of a tokenizer.json")
    kind = model_kind(model)
    if kind not in ("BPE", "WordPiece", "Unigram", "WordLevel"):
        raise model.unsupported("BPE, WordPiece, Unigram or WordLevel")
    return kind


def _module(family: str) -> Any:
    """Return the module that reads and writes the models of a family."""
    if family == "unigram":
        from subwords.formats.hf import unigram

        return unigram
    if family == "wordlevel":
        from subwords.formats.hf import wordlevel

        return wordlevel
    if family == "wordpiece":
        from subwords.formats.hf import wordpiece

        return wordpiece
    return bpe


def _read_vocab(node: Node, kind: str) -> tuple[dict[str, int], list[tuple[str, float]]]:
    """Return the id of every token; for a Unigram model also its pieces with scores."""
    if kind != "Unigram":
        return read_vocab(node), []
    from subwords.formats.hf.unigram import read_pieces

    pieces = read_pieces(node)
    return {text: i for i, (text, _) in enumerate(pieces)}, pieces


def _unknown_keys(top: Node) -> list[str]:
    """Return the keys at the top that nothing here uses; FormatError for lone surrogates, which no file can hold."""
    found = [key for key in top.object() if key not in _KEYS]
    for key in found:
        utf8(top, [key])
    return found


def _read_normalizer(node: Node) -> Steps:
    if node.value is None:
        return ()
    from subwords.formats.hf.normalizer import from_normalizer
    from subwords.normalize.normalizer import Normalizer

    try:
        return Normalizer(from_normalizer(node)).steps
    except InputError as error:
        raise node.wrong("supported patterns", f"this one: {error}") from None


def _read_splitter(node: Node) -> splitters.Rule:
    try:
        rule = from_pre_tokenizer(node)
    except InputError as error:
        raise node.wrong("supported patterns", f"this one: {error}") from None
    if sum(isinstance(step, ByteChars) for step in rule) > 1:
        raise node.wrong("one ByteLevel", "two: HF applies the second to the output of the first; remove one")
    try:
        return Splitter(rule).rule
    except InputError as error:
        raise node.wrong("supported patterns", f"this one: {error}") from None


def _read_decoder(node: Node, model: Model) -> Decoder | None:
    """Return the decoder; None if it joins the bytes of the tokens of a BPE model."""
    joins = "ByteLevel" if model.byte_level else "Fuse"
    if model.merge_count is not None and node.value is not None and node["type"].value == joins:
        return None
    from subwords.formats.hf.decoder import from_decoder

    return from_decoder(node)


def write(spec: TokenizerSpec) -> bytes:
    """Return the tokenizer.json of a spec, as HF tokenizers 0.23 would write it.

    Merges are written in order of rank; equal ranks are lost. Raises FormatError for what the format cannot hold.

    >>> import subwords
    >>> from subwords.formats.hf.tokenizer_json import read, write
    >>> spec = subwords.train(["ab ab"], vocab_size=258).spec
    >>> read(write(spec), "copy") == spec
    True
    """
    model, added, foreign = spec.model, spec.added_tokens, spec.foreign
    module = _module(family_of(model).name)
    texts: list[str] = module.token_texts(model, added)
    body: dict[str, Any] = module.write_model(model, texts)
    top = {
        "version": "1.0",
        "truncation": to_truncation(spec.truncation),
        "padding": to_padding(spec.padding),
        "added_tokens": added_entries(added),
        "normalizer": _written_normalizer(spec.normalizer),
        "pre_tokenizer": _written_pre_tokenizer(spec),
        "post_processor": _written_post_processor(spec),
        "decoder": _written_decoder(spec),
        **{key: json.loads(text) for key, text in foreign.json if key not in _KEYS},
        "model": body,
    }
    appended = appended_ids(added, texts, len(texts) if foreign.model_size is None else foreign.model_size)
    written = module.write_vocab(model, texts, appended)
    return _filled(json.dumps(top, ensure_ascii=False, indent=2), body, written).encode()


def _spelled(spec: TokenizerSpec, key: str) -> Node | None:
    """Return the file's own JSON of a component; None if the file had none."""
    text = spec.foreign.entry(key)
    return None if text is None else Node("", key, json.loads(text))


def _written_normalizer(steps: Steps) -> dict[str, Any] | None:
    if not steps:
        return None
    from subwords.formats.hf.normalizer import to_normalizer

    return to_normalizer(steps)


def _written_post_processor(spec: TokenizerSpec) -> Any:
    node = _spelled(spec, "post_processor")
    if node is not None and from_post_processor(node) == spec.template:
        return node.value
    return to_post_processor(spec.template)


def _written_decoder(spec: TokenizerSpec) -> Any:
    node = _spelled(spec, "decoder")
    try:
        if node is not None and _read_decoder(node, spec.model) == spec.decoder:
            return node.value
    except FormatError:  # the model was replaced by one of another family
        pass
    if spec.decoder is None:
        # No decoder in a spec joins the tokens; in a file it puts spaces between them.
        return _JOINED[spec.model.byte_level]
    from subwords.formats.hf.decoder import to_decoder

    return to_decoder(spec.decoder)


def _written_pre_tokenizer(spec: TokenizerSpec) -> dict[str, Any] | None:
    rule, model = spec.splitter, spec.model
    if model.byte_level and not any(isinstance(step, ByteChars) for step in rule):
        rule = (*rule, ByteChars())
    elif any(isinstance(step, ByteChars) for step in rule) and not model.byte_level:
        raise FormatError(
            f"ByteLevel before {type(model).__name__} of characters: expected a splitter without ByteChars, because in "
            "a tokenizer.json the model would read the letters of bytes"
        )
    return to_pre_tokenizer(rule)


def _filled(frame: str, model: dict[str, Any], written: dict[str, str]) -> str:
    """Insert JSON that is already written for the model's vocabulary, which is empty in `frame`, and what follows."""
    keys = [*model]
    last = {key: json.dumps(model[key], ensure_ascii=False) for key in keys[keys.index("vocab") :]}
    end, filled = (
        ",\n".join(f'    "{key}": {text}' for key, text in texts.items()) + "\n  }\n}"
        for texts in (last, last | written)
    )
    return frame.removesuffix(end) + filled
