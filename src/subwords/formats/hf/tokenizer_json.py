"""Read HF's tokenizer.json, version 1.0 or 2.0; write version 1.0."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from subwords.formats.hf.by_kernel import parse_large
from subwords.formats.hf.component import as_sequence, byte_level
from subwords.formats.hf.vocabulary import (
    FileVocab,
    added_entries,
    appended_ids,
    encode_vocabulary,
    model_kind,
    read_added,
    read_vocab,
)
from subwords.formats.json_node import Node
from subwords.models.families import family_of
from subwords.spec import splitter as splitters
from subwords.spec.added_token import ROLES
from subwords.spec.model import Model
from subwords.spec.splitter import ByteChars, SpelledBytes
from subwords.spec.tokenizer import Foreign, TokenizerSpec
from subwords.split.splitter import Splitter
from subwords.support.errors import FormatError, InputError

if TYPE_CHECKING:
    from subwords.formats.hf.unigram import ScoredPieces
    from subwords.spec.decoder import Decoder
    from subwords.spec.normalizer import Steps
    from subwords.spec.padding import Padding, Truncation
    from subwords.spec.template import Template

# ---------------------------------------------------------------------------------------------------------------------
# Rewrites a tokenizer.json of version 2.0 as one of version 1.0.
#
# Source: what HF tokenizers 1.0.0rc3 writes. That version is not final: unclear cases are refused here.

_CHILDREN = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}
_AT_DELIMITERS = {"type": "Split", "behavior": "MergedWithNext", "invert": False}


def as_version_1(top: Node) -> Node:
    """Return the file as version 1.0 writes it; FormatError with the place for what 2.0 does not allow or leaves open.

    >>> from subwords.formats.json_node import Node
    >>> model = {"type": "BPE", "byte_level": True, "vocab": {}, "merges": []}
    >>> as_version_1(Node("a.json", "", {"version": "2.0", "model": model}))["pre_tokenizer"]["type"].value
    'ByteLevel'
    """
    model = top["model"]
    if model["type"].value is None:
        raise model["type"].wrong("the type of the model, which version 2.0 requires")
    for slot, children in _CHILDREN.items():
        if top[slot].value is not None:
            _check_types(top[slot], children)
    normalizer, before = _normalizer(top)
    words = [*before, *([top["pre_tokenizer"].value] if top["pre_tokenizer"].value is not None else [])]
    if model["type"].value == "BPE":
        _check_bpe(model)
        words += [byte_level(add_prefix_space=False, use_regex=False)] if model["byte_level"].boolean() else []
    changed = {
        "version": "1.0",
        "normalizer": normalizer,
        "pre_tokenizer": as_sequence(words, "pretokenizers"),
        "post_processor": _post_processor(top),
    }
    kept = {key: value for key, value in top.object().items() if key != "role_to_token"}
    return Node(top.file, top.path, kept | changed)


def roles_of(node: Node, ids: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the roles of `role_to_token`; `ids` are those of all tokens."""
    if node.value is None:
        return ()
    found = []
    for key in node.object():
        role = key.removesuffix("_token")
        if role not in ROLES:
            raise node[key].unsupported(f"the roles {', '.join(ROLES)}")
        if node[key].string() not in ids:
            raise node[key].wrong("a token of the vocabulary")
        found.append((role, ids[node[key].string()]))
    return tuple(sorted(found))


def _check_types(node: Node, children: str) -> None:
    kind = node["type"].string()
    if kind in ("ByteLevel", "Metaspace") and children == "pretokenizers":
        raise node.unsupported("a Split, and byte_level or a MetaspaceNormalizer, in version 2.0")
    if kind == "Sequence":
        for item in node.sequence(children):
            _check_types(item, children)


def _check_bpe(model: Node) -> None:
    if "dropout" in model.object():
        raise model["dropout"].unsupported("no dropout in version 2.0")
    model["byte_level"].boolean()
    if any(isinstance(entry, str) for entry in model["merges"].array()):
        raise model["merges"].wrong("pairs of tokens in version 2.0", "strings")


# ------------------------------------------------------------------ MetaspaceNormalizer


def _normalizer(top: Node) -> tuple[Any, list[Any]]:
    """Return the normalizer without its MetaspaceNormalizer, and what does the same before words are split."""
    node = top["normalizer"]
    steps = [] if node.value is None else [*node.flat("normalizers")]
    delimiting = [step for step in steps if step["type"].value == "MetaspaceNormalizer"]
    if not delimiting:
        return node.value, []
    if len(delimiting) > 1 or delimiting[0] is not steps[-1]:
        raise delimiting[0].unsupported("it as the last normalizer")
    for token in top["added_tokens"].items() if top["added_tokens"].value is not None else ():
        if token["normalized"].boolean(False):
            raise token["normalized"].wrong("false beside a MetaspaceNormalizer")
    normalizer = as_sequence([step.value for step in steps[:-1]], "normalizers")
    return normalizer, _delimiting(steps[-1], top["pre_tokenizer"])


def _delimiting(step: Node, following: Node) -> list[Any]:
    replacement = step["replacement"].character()
    scheme = step["prepend"].choice(("always", "first", "never"))
    metaspace = {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": False}
    if not step["drop_whitespace"].boolean():
        return [metaspace]
    # Words without whitespace between them: only the delimiters separate them.
    if scheme != "always" or following.value != {"pattern": {"String": replacement}, **_AT_DELIMITERS}:
        raise step["drop_whitespace"].wrong('false, or prepend "always" and a Split at the delimiter')
    return [{"type": "WhitespaceSplit"}, metaspace]


# ------------------------------------------------------------------ TemplateProcessing


def _post_processor(top: Node) -> Any:
    node = top["post_processor"]
    if node.value is None:
        return None
    if node["type"].value != "TemplateProcessing":
        raise node.unsupported("null or TemplateProcessing in version 2.0")
    names = _token_names(top)
    tokens: dict[str, Any] = {}
    found = {key: [_piece(item, names, tokens) for item in node[key].items()] for key in ("single", "pair")}
    return {"type": "TemplateProcessing", **found, "special_tokens": tokens}


def _token_names(top: Node) -> dict[int, str]:
    """Return the token of every id; damaged vocabularies are refused later."""
    vocab = top["model"]["vocab"].value
    if isinstance(vocab, list):
        texts = [entry[0] if isinstance(entry, list) and entry else None for entry in vocab]
        found = {i: text for i, text in enumerate(texts) if isinstance(text, str)}
    else:
        found = {i: text for text, i in top["model"]["vocab"].object().items() if type(i) is int}
    for token in top["added_tokens"].items() if top["added_tokens"].value is not None else ():
        if type(token["id"].value) is int:
            found[token["id"].value] = token["content"].string()
    return found


def _piece(node: Node, names: Mapping[int, str], tokens: dict[str, Any]) -> Any:
    from subwords.spec.template import MOST_TEMPLATE_IDS

    type_id = node.get("type_id", 0).integer(MOST_TEMPLATE_IDS)
    if node.object().keys() - {"seq", "ids", "type_id"} or ("seq" in node.object()) == ("ids" in node.object()):
        raise node.wrong("either seq or ids, and perhaps a type_id")
    if "seq" in node.object():
        return {"Sequence": {"id": node["seq"].choice(("A", "B")), "type_id": type_id}}
    ids = [item.integer(MOST_TEMPLATE_IDS) for item in node["ids"].items()]
    if not ids:
        raise node["ids"].wrong("at least one id")
    for item in node["ids"].items():
        if item.value not in names:
            raise item.wrong("the id of a token")
    texts = [names[i] for i in ids]
    name = "".join(texts)
    while tokens.get(name, {"ids": ids})["ids"] != ids:
        name += " "
    tokens[name] = {"id": name, "ids": ids, "tokens": texts}
    return {"SpecialToken": {"id": name, "type_id": type_id}}


_KEYS = (
    *("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor"),
    *("decoder", "model"),
)
_SPELLED = ("post_processor", "decoder")  # components whose original JSON is kept


def read_tokenizer_json(data: bytes, name: str) -> TokenizerSpec:
    """Return the spec of a tokenizer.json; `name` is the file's name in messages.

    Raises FormatError with the place for damaged and unsupported files.
    Hazard: without a decoder in the file, tokens are joined with spaces, as in HF.

    Source: the format that HF tokenizers 0.23 reads; version 2.0 as 1.0.0rc3 writes it.

    >>> model = b'{"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}'
    >>> read_tokenizer_json(b'{"model": %s}' % model, "ab.json").model.merges.tolist()
    [[0, 1, 2]]
    """
    top = parse_large(data, name)
    if "model" not in top.value and {"tokenization", "config"} <= top.value.keys():
        what = "a configuration of MidiTok; its `_model` holds a tokenizer.json if it is trained"
        raise FormatError(f"{top.place}: expected a tokenizer.json, not {what}")
    return spec_from(top)


def spec_from(top: Node) -> TokenizerSpec:
    """Return the spec of a parsed tokenizer.json; see `read_tokenizer_json`."""
    kind = _model_type(top["model"])
    version, roles = top["version"], top["role_to_token"]
    if version.value not in (None, "1.0", "2.0"):
        raise version.wrong('"1.0" or "2.0"')
    is_new = version.value == "2.0"
    if is_new:
        top = as_version_1(top)
    splitter = _read_splitter(top["pre_tokenizer"])
    byte_level = any(isinstance(step, ByteChars) for step in splitter)
    if byte_level and kind != "BPE":
        splitter = tuple(SpelledBytes() if isinstance(step, ByteChars) else step for step in splitter)
    vocab, pieces = _read_vocab(top["model"]["vocab"], kind)
    added = read_added(top["added_tokens"], vocab)
    more: dict[str, Any] = {"byte_level": byte_level} if kind == "BPE" else {"pieces": pieces} if pieces else {}
    model: Model = _module(kind.lower()).read_model(top["model"], vocab, added, **more)
    if splitter and isinstance(splitter[-1], ByteChars):
        splitter = splitter[:-1]  # the model records that its symbols are bytes
    # The spelling of version 2.0 is not written.
    kept = [*(() if is_new else _SPELLED), *_unknown_keys(top)]
    try:
        return TokenizerSpec(
            model=model,
            normalizer=_read_normalizer(top["normalizer"]),
            splitter=splitter,
            template=_read_template(top["post_processor"]),
            decoder=_read_decoder(top["decoder"], model),
            added_tokens=tuple(added),
            roles=roles_of(roles, {**vocab} | {token.content: token.id for token in added}) if is_new else (),
            padding=_read_padding(top["padding"]),
            truncation=_read_truncation(top["truncation"]),
            foreign=Foreign(
                tuple((key, top[key].verbatim()) for key in kept),
                len(pieces.tokens) if pieces else len(vocab),
                warned=top["model"]["vocab"].twice,
            ),
        )
    except InputError as error:
        raise top["added_tokens"].wrong("tokens that fit the model", f"these: {error}") from None


def _model_type(model: Node) -> str:
    if not isinstance(model.value, dict):
        raise model.wrong("the model of a tokenizer.json")
    kind = model_kind(model)
    if kind not in ("BPE", "WordPiece", "Unigram", "WordLevel"):
        raise model.unsupported("BPE, WordPiece, Unigram or WordLevel")
    return kind


def _module(family: str) -> Any:
    """Return the module that reads and writes the models of a family."""
    return import_module(f"subwords.formats.hf.{'vocabulary' if family == 'wordlevel' else family}")


def _read_vocab(node: Node, kind: str) -> tuple[Mapping[str, int], ScoredPieces | None]:
    """Return the id of every token; for a Unigram model also its pieces with scores."""
    if kind != "Unigram":
        return (node.value if isinstance(node.value, FileVocab) else read_vocab(node)), None
    from subwords.formats.hf.unigram import read_pieces

    return read_pieces(node)


def _unknown_keys(top: Node) -> list[str]:
    """Return the keys at the top that nothing here uses; FormatError for lone surrogates, which no file can hold."""
    found = [key for key in top.object() if key not in _KEYS]
    for key in found:
        encode_vocabulary(top, [key])
    return found


# What a file lacks is not imported: with all of it, a first start takes 15 ms more.


def _read_normalizer(node: Node) -> Steps:
    if node.value is None:
        return ()
    from subwords.formats.hf.normalizers import from_normalizer
    from subwords.normalize.normalizer import Normalizer

    try:
        return Normalizer(from_normalizer(node)).steps
    except InputError as error:
        raise node.wrong("supported patterns", f"this one: {error}") from None


def _read_splitter(node: Node) -> splitters.Rule:
    from subwords.formats.hf.pre_tokenizers import from_pre_tokenizer

    try:
        rule = from_pre_tokenizer(node)
        if sum(isinstance(step, ByteChars) for step in rule) > 1:
            raise node.wrong("one ByteLevel", "two: HF applies the second to the output of the first; remove one")
        return Splitter(rule).rule
    except InputError as error:
        raise node.wrong("supported patterns", f"this one: {error}") from None


def _read_decoder(node: Node, model: Model) -> Decoder | None:
    """Return the decoder; None if it joins the bytes of the tokens of a BPE model."""
    joins = "ByteLevel" if model.byte_level else "Fuse"
    if model.merge_count is not None and node.value is not None and node["type"].value == joins:
        return None
    from subwords.formats.hf.decoders import from_decoder

    return from_decoder(node)


def _read_template(node: Node) -> Template | None:
    if node.value is None:
        return None
    from subwords.formats.hf.post_processors import from_post_processor

    return from_post_processor(node)


def _read_padding(node: Node) -> Padding | None:
    if node.value is None:
        return None
    from subwords.formats.hf.padding import from_padding

    return from_padding(node)


def _read_truncation(node: Node) -> Truncation | None:
    if node.value is None:
        return None
    from subwords.formats.hf.padding import from_truncation

    return from_truncation(node)


def write_tokenizer_json(spec: TokenizerSpec) -> bytes:
    """Return the tokenizer.json of a spec, as HF tokenizers 0.23 would write it.

    Merges are written in order of rank; equal ranks are lost. Raises FormatError for what the format cannot hold.

    >>> import subwords
    >>> spec = subwords.train(["ab ab"], vocab_size=258).spec
    >>> read_tokenizer_json(write_tokenizer_json(spec), "copy") == spec
    True
    """
    from subwords.formats.hf.normalizers import to_normalizer
    from subwords.formats.hf.padding import to_padding, to_truncation

    model, added, foreign = spec.model, spec.added_tokens, spec.foreign
    module = _module(family_of(model).name)
    texts: list[str] = module.token_texts(model, added)
    body: dict[str, Any] = module.write_model(model, texts)
    top = {
        "version": "1.0",
        "truncation": to_truncation(spec.truncation),
        "padding": to_padding(spec.padding),
        "added_tokens": added_entries(added),
        "normalizer": to_normalizer(spec.normalizer),
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


def _written_post_processor(spec: TokenizerSpec) -> Any:
    from subwords.formats.hf.post_processors import from_post_processor, to_post_processor

    node = _spelled(spec, "post_processor")
    if node is not None and from_post_processor(node) == spec.template:
        return node.value
    return to_post_processor(spec.template)


def _written_decoder(spec: TokenizerSpec) -> Any:
    from subwords.formats.hf.decoders import to_decoder
    from subwords.spec.decoder import ByteDecoder

    node = _spelled(spec, "decoder")
    try:
        if node is not None and _read_decoder(node, spec.model) == spec.decoder:
            return node.value
    except FormatError:  # the model was replaced by one of another family
        pass
    if spec.decoder is None:
        # No decoder in a spec joins the tokens; in a file it puts spaces between them.
        return to_decoder(ByteDecoder(spec.model.byte_level))
    return to_decoder(spec.decoder)


def _written_pre_tokenizer(spec: TokenizerSpec) -> dict[str, Any] | None:
    from subwords.formats.hf.pre_tokenizers import to_pre_tokenizer

    rule, model = spec.splitter, spec.model
    letters = next((type(step) for step in rule if isinstance(step, ByteChars | SpelledBytes)), None)
    if letters is not None and (letters is ByteChars) != model.byte_level:
        expected = ByteChars if model.byte_level else SpelledBytes
        raise FormatError(
            f"ByteLevel before {type(model).__name__}: expected a splitter with {expected.__name__}, not "
            f"{letters.__name__}, because in a tokenizer.json the model would read other text"
        )
    if model.byte_level and letters is None:
        rule = (*rule, ByteChars())
    return to_pre_tokenizer(tuple(ByteChars() if isinstance(step, SpelledBytes) else step for step in rule))


def _filled(frame: str, model: dict[str, Any], written: dict[str, str]) -> str:
    """Insert JSON that is already written for the model's vocabulary, which is empty in `frame`, and what follows."""
    keys = [*model]
    last = {key: json.dumps(model[key], ensure_ascii=False) for key in keys[keys.index("vocab") :]}
    end, filled = (
        ",\n".join(f'    "{key}": {text}' for key, text in texts.items()) + "\n  }\n}"
        for texts in (last, last | written)
    )
    return frame.removesuffix(end) + filled
