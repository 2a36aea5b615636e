"""A folder as transformers reads it: tokenizer.json, and beside it the roles of special tokens and a chat template.

transformers chooses a class by `tokenizer_class`. Most classes build another pipeline and drop the one of the
tokenizer.json. `PreTrainedTokenizerFast` keeps it, in versions 4 and 5.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

from subwords.formats.hf import classes, settings
from subwords.formats.hf.tokenizer_json import read_tokenizer_json
from subwords.formats.hf.vocabulary import read_vocab
from subwords.formats.json_node import Node, is_unicode, parse_json, show_json
from subwords.formats.read import BESIDE, TEMPLATES, Files
from subwords.kernels.stored import stored
from subwords.models.bpe.model import LARGEST_ID
from subwords.spec.added_token import FLAGS, checked_roles
from subwords.spec.tokenizer import TokenizerSpec
from subwords.support.errors import FormatError, InputError, checked_reason
from subwords.support.names import install_hint
from subwords.support.value import digest_of

if TYPE_CHECKING:
    from subwords.spec.decoder import Decoder

CONFIG, MAP, TEMPLATE, ADDED, MODEL_CONFIG = BESIDE
CHANGING = (TEMPLATE, ADDED)  # what else would change a tokenizer in this folder

_KEY = {role: f"{role}_token" for role in classes.ROLES}  # in the order in which transformers adds missing tokens
# What this package decides when it writes; everything else in a tokenizer_config.json is kept.
_OURS = (
    *(*_KEY.values(), "additional_special_tokens", "tokenizer_class", "backend", "added_tokens_decoder"),
    "clean_up_tokenization_spaces",  # is in the decoder of what is written
)
_COUNTS, _MOST_IDS = ("extra_ids", "offset"), 100_000  # sentinels of T5, and unused tokens of Pegasus
_NO_LIMIT = int(1e30)  # what transformers writes for a model without a longest input


def read_with_class(place: Files, files: Mapping[str, bytes]) -> TokenizerSpec | None:
    """Return the spec of a folder without tokenizer.json as the class that it names reads it; None for other folders.

    files: those beside the vocabulary, by name. transformers makes the tokenizer.json, once: the spec is stored.
    """
    folder = str(place.folder)
    config, other, model_config = (_parsed(files, name, folder) for name in (CONFIG, MAP, MODEL_CONFIG))
    settings.check_readable(folder, config, model_config)
    name = classes.named_class(config, model_config)
    there = classes.vocabulary_files(name, place.names()) if name else []
    if not there:
        return None
    vocabulary = {each: place.read(each)[0] for each in there}
    for key in _COUNTS:
        if config[key].value is not None:
            config[key].integer(_MOST_IDS)
    given = {each: files[each] for each in (CONFIG, MAP, ADDED, MODEL_CONFIG) if each in files} | vocabulary
    own = name in classes.OWN
    if not own and (data := vocabulary.get("vocab.json")):
        # HF tokenizers makes a list of the ids up to the largest one: 2**31 took 8 GB, or ended the process.
        read_vocab(parse_json(data, f"{folder}/vocab.json"))

    def made() -> tuple[TokenizerSpec, str, Mapping[str, str]]:
        if own:
            roles = classes.special_tokens(name, config, other)
            spec = _of_own_code(name, folder, vocabulary, roles, config["added_tokens_decoder"])
        else:
            text, roles = _as_tokenizer_json(name, folder, given)
            spec = read_tokenizer_json(text.encode(), folder)
        return spec, spec.model.digest, roles

    version = b"" if own else _transformers(place, name, there[0])
    spec, digest, roles = stored("class", digest_of((name, version, tuple(given.items()))).encode(), made)
    vars(spec.model)["digest"] = digest
    return read_folder_files(spec, files, folder, complete=True, roles=roles)


def _transformers(place: Files, name: str, vocabulary: str) -> bytes:
    """Return what differs between versions of transformers; FormatError if it is not installed."""
    library = find_spec("transformers")
    if library is None or library.origin is None:
        raise FormatError(
            f"{place.folder}: expected a tokenizer.json, or transformers, which has the rules of {name}Tokenizer and "
            f"makes one: {install_hint('verify')}; AutoTokenizer.from_pretrained(...).save_pretrained(...) writes it "
            f"where transformers is; {vocabulary} alone can be loaded by its path, with other rules"
        )
    return place.read(library.origin)[1]  # so a kept file, which is named by the folder's files alone, is not made


def _as_tokenizer_json(name: str, folder: str, given: Mapping[str, bytes]) -> tuple[str, dict[str, str]]:
    """Return the tokenizer.json that a class of transformers makes of a folder's files, and its tokens by role.

    It sees a copy of these files alone, runs no code of the folder and asks no network. Raises FormatError for what it
    refuses.
    """
    with TemporaryDirectory() as place:
        for file, data in given.items():
            # A class looks for one of these names; without its file, it would be empty.
            for each in classes.SENTENCEPIECE if file in classes.SENTENCEPIECE else (file,):
                Path(place, each).write_bytes(data)
        if CONFIG in given:  # which may name other files of this machine
            config = json.loads(given[CONFIG])
            kept = {key: config[key] for key in config if not key.endswith(("_file", "_files"))}
            Path(place, CONFIG).write_text(json.dumps(kept), "utf-8")
        try:
            from transformers import AutoTokenizer

            theirs = AutoTokenizer.from_pretrained(place, local_files_only=True, trust_remote_code=False)
            parts = json.loads(theirs.backend_tokenizer.to_str())
        except BaseException as error:  # transformers passes on those of several libraries
            raise FormatError(
                f"{folder}: expected files that {name}Tokenizer of transformers reads: {checked_reason(error)}"
            ) from error
    if name == "CLIP":  # whose text is made by code, not by the decoder
        parts["decoder"] = classes.CLASSES[name].rules(classes.Given(Node("", "", {}), "", {}))["decoder"]
    names = {role: theirs.special_tokens_map.get(key) for role, key in _KEY.items()}
    return json.dumps(parts), {role: str(text) for role, text in names.items() if text}


def _of_own_code(
    name: str, folder: str, files: Mapping[str, bytes], roles: Mapping[str, str], listed: Node
) -> TokenizerSpec:
    """Return the tokenizer of a class whose files are no parts of a tokenizer.json; transformers writes none either."""
    from subwords.formats import tiktoken
    from subwords.formats.sentencepiece.read import read_marian

    first, *_ = ((data, f"{folder}/{file}") for file, data in files.items())
    if name == "QWen":
        return tiktoken.read_qwen(*first)
    if name == "TikToken":
        tokens = {} if listed.value is None else listed.object()
        named = {int(key): classes.content_of(listed[key]) or "" for key in tokens if key.isdecimal()}
        return tiktoken.read_kimi(*first, named)
    ids = read_vocab(parse_json(files["vocab.json"], f"{folder}/vocab.json"))
    for role, text in roles.items():
        if text not in ids:
            raise FormatError(f"{folder}/{CONFIG}: {role}_token: expected a token of vocab.json, not {show_json(text)}")
    return read_marian(*first, ids, roles)


def read_folder_files(
    spec: TokenizerSpec,
    files: Mapping[str, bytes],
    folder: str,
    *,
    complete: bool,
    roles: Mapping[str, str] | None = None,
) -> TokenizerSpec:
    """Return a spec with what a folder's other files say; absent files say nothing.

    They name roles and a chat template, and may name tokens that the vocabulary lacks, which get the next ids. `folder`
    is named in messages. special_tokens_map.json wins over tokenizer_config.json, unless the latter has
    `added_tokens_decoder`: then only that counts. chat_template.jinja wins over the template inside
    tokenizer_config.json. complete: whether the spec has all rules, as that of a tokenizer.json has. roles: the tokens
    by role, if a class has named them and added all tokens. Settings that would change ids and are not used are named
    in `foreign.warned`. Raises FormatError, with the place, for damaged files.

    Source: what transformers 5.23 reads.
    """
    config, other, model_config = (_parsed(files, name, folder) for name in (CONFIG, MAP, MODEL_CONFIG))
    of_class = settings.chosen_class(config, model_config, byte_level=complete and spec.model.byte_level)
    decoder, replaced = config["added_tokens_decoder"], ""
    named: Mapping[str, str | None]
    if roles is not None:
        named = roles
    else:
        added_tokens = _parsed(files, ADDED, folder)
        own: Mapping[str, str] = {}
        if complete and of_class in classes.CLASSES:
            own = classes.special_tokens(of_class, config, other)
        if complete:
            replaced = settings.built(of_class, config, own, spec)
        tokens = _named_tokens(config, other, own)
        named = {role: tokens[key][0] if key in tokens else None for role, key in _KEY.items()}
        spec = _with_listed(spec, decoder)
        if decoder.value is None:
            spec = _with_numbered(spec, added_tokens, [content for content, _ in tokens.values()])
        roled = {token[0] for key, token in tokens.items() if key in _KEY.values()}
        first = dict(reversed(tokens.values()))  # the flags of the first of equal tokens count
        wanted = {content: first[content] for content, _ in tokens.values()}
        spec = _with_missing(spec, wanted, roled, Node(folder, "special tokens", [*named]))
    # A class follows all options but one, and gives tokens the next ids, whatever their file says.
    kept = config.object() if roles is None else {"split_special_tokens": config["split_special_tokens"].value}
    added = _parsed(files, ADDED, folder).object() if roles is None else {}
    warned = [spec.foreign.warned] if spec.foreign.warned else []
    if ignored := [*([replaced] if replaced else []), *settings.unused(spec, kept, added, complete=complete)]:
        warned.append(
            f"{folder}: settings that transformers uses are not used here, so ids may differ: {', '.join(ignored)}; "
            f"AutoTokenizer.from_pretrained(...).save_pretrained(...) writes a tokenizer.json that has them"
        )
        if replaced:
            warned[-1] += f", and {settings.BACKEND}.from_pretrained(...) uses this tokenizer.json"
    foreign = replace(
        spec.foreign,
        config=_kept_json(config, spec),
        chat_templates=_templates(files, folder),
        warned="; ".join(warned),
    )
    found = tuple((role, spec.index_of(content)) for role, content in named.items() if content)
    return spec.with_(
        {
            "roles": checked_roles(found, len(spec.model.vocab)),
            "decoder": _cleaning(spec) if config["clean_up_tokenization_spaces"].boolean(False) else spec.decoder,
            "chat_template": _template(files, config, folder),
            "inputs": settings.inputs_of(config, of_class, spec),
            "foreign": foreign,
        }
    )


# What transformers changes in decoded text, one after the other, if clean_up_tokenization_spaces is set.
_CLEANED = {" .": ".", " ?": "?", " !": "!", " ,": ",", " ' ": "'", " n't": "n't", " 'm": "'m", " 's": "'s"}
_CLEANED |= {" 've": "'ve", " 're": "'re"}


def _cleaning(spec: TokenizerSpec) -> Decoder | None:
    """Return the decoder that also takes away spaces before punctuation; transformers leaves those of BPE models."""
    from subwords.spec.decoder import DecoderSequence, Fuse, Replace, SentencePieceDecoder, SpaceDecoder

    decoder = spec.decoder
    if (
        decoder is None
        or isinstance(decoder, SpaceDecoder | SentencePieceDecoder)
        or spec.model.merge_count is not None
    ):
        return decoder
    return DecoderSequence((decoder, Fuse(), *(Replace(*pair) for pair in _CLEANED.items())))


def _kept_json(config: Node, spec: TokenizerSpec) -> tuple[tuple[str, str], ...]:
    """Return the JSON of what is written back as it is."""
    kept = {}
    for key in config.object():
        if not is_unicode(key):
            raise config.wrong("keys without lone surrogates", show_json(key))
        kept[key] = config[key].verbatim()
    if not isinstance(config["chat_template"].value, list):  # templates with names
        kept.pop("chat_template", None)
    if not isinstance(config["extra_special_tokens"].value, dict):  # tokens with names
        kept.pop("extra_special_tokens", None)
    written = {*_OURS, *settings.used_keys(config)}
    return tuple((key, text) for key, text in kept.items() if key not in written)


def _with_listed(spec: TokenizerSpec, decoder: Node) -> TokenizerSpec:
    """Return a spec with the tokens of `added_tokens_decoder` that it lacks; their ids must be the next ones.

    Its flags win over those of tokenizer.json.
    """
    if decoder.value is None:
        return spec
    known = {token.content: token for token in spec.added_tokens}
    entries: dict[str, Node] = {}
    flags: dict[str, dict[str, bool]] = {}
    for key in sorted(decoder.object(), key=lambda key: (len(key), key)):
        entry = decoder[key]
        content = entry["content"].string()
        if content in entries or not content or not is_unicode(content):
            raise entry["content"].wrong("a non-empty token that is listed once")
        flags[content] = _flags(entry)
        if content not in known:
            entries[content] = entry
        elif known[content].special:
            flags[content]["special"] = True  # a special token stays one
    spec = _extended(spec, [*entries], {"special": False}, decoder)
    for content, entry in entries.items():
        index, key = spec.index_of(content), entry.path.rpartition(".")[2]
        if index is None or str(index) != key:
            raise entry.wrong(f"the id {index}, the next one or that of the vocabulary", key)
    added = [replace(token, **flags.get(token.content, {})) for token in spec.added_tokens]  # type: ignore[arg-type]
    special = {token.id for token in added if token.special and token.content in flags}
    return spec.with_({"model": spec.model.with_special(special), "added_tokens": tuple(added)})


def _with_numbered(spec: TokenizerSpec, added: Node, special: Sequence[str]) -> TokenizerSpec:
    """Return a spec with the tokens of added_tokens.json that have the next ids; `special`: the special tokens."""
    for content in sorted(added.object(), key=lambda content: added[content].integer(LARGEST_ID)):
        if content and spec.index_of(content) is None and added[content].value == len(spec.model.vocab):
            is_special = content in special
            spec = _extended(spec, [content], {"special": is_special, "normalized": not is_special}, added[content])
    return spec


def _flags(entry: Node) -> dict[str, bool]:
    special = entry["special"].boolean(False)
    return {flag: entry[flag].boolean(flag == "normalized" and not special) for flag in FLAGS} | {"special": special}


def _with_missing(
    spec: TokenizerSpec, tokens: Mapping[str, Mapping[str, bool]], roled: Collection[str], node: Node
) -> TokenizerSpec:
    """Return a spec with more tokens, as transformers adds those that a tokenizer.json lacks: with their flags.

    A token that the file has keeps its flags, but those with a role (`roled`) become special.
    """
    known = {token.content: token for token in spec.added_tokens}
    waiting: dict[str, Mapping[str, bool]] = {}
    for text, wanted in tokens.items():
        old = known.get(text)
        if (old and (old.special or text not in roled)) or (old is None and _is_needed(spec, text)):
            continue
        flags = {flag: getattr(old, flag) for flag in FLAGS} | {"special": True} if old else wanted
        if waiting and flags != next(iter(waiting.values())):  # those of one kind are added together, in their order
            spec, waiting = _extended(spec, [*waiting], next(iter(waiting.values())), node), {}
        waiting[text] = flags
    return _extended(spec, [*waiting], next(iter(waiting.values())), node) if waiting else spec


_Token: TypeAlias = tuple[str, dict[str, bool]]  # its text and its flags


def _named_tokens(config: Node, other: Node, own: Mapping[str, str]) -> dict[str, _Token]:
    """Return the tokens that the files name, in the order in which transformers adds them, by key or place.

    config: tokenizer_config.json. other: special_tokens_map.json, which wins unless the first has
    `added_tokens_decoder`. own: those of the class by role, where the files are silent.
    """
    tables = [config] if config["added_tokens_decoder"].value is not None else [other, config]
    values: dict[str, Node] = {}
    for table in tables:
        for key in table.object():
            if key in _KEY.values() or (key.endswith("_token") and isinstance(table[key].value, str | dict)):
                values[key] = values[key] if key in values and values[key].value is not None else table[key]
    found = {key: (own[role], _flags_of(None)) for role, key in _KEY.items() if role in own and key not in values}
    found |= {key: token for key, node in values.items() if (token := _token(node)) is not None}
    for token in found.values():
        token[1]["special"] = True
    order = [*_KEY.values(), *sorted(values.keys() - _KEY.keys(), key=[*values].index)]
    named = {key: found[key] for key in dict.fromkeys(order) if key in found}
    return named | {node.place: token for node, first in _extra(config, tables[0]) if (token := _token(node, first))}


def _extra(config: Node, other: Node) -> list[tuple[Node, bool]]:
    """Return the other special tokens, first those with names, and whether they are in a list of the first file."""
    own, old = (config[key] for key in ("extra_special_tokens", "additional_special_tokens"))
    first = own if own.value or old.value is None else old
    more = [config["model_specific_special_tokens"], first]
    if other.value is not config.value:
        more.append(other["extra_special_tokens"])
        if first.value is None:
            more.append(other["additional_special_tokens"])
    listed = [(node[key], False) for node in more if isinstance(node.value, dict) for key in node.value]
    lists = [node for node in more if node.value is not None and not isinstance(node.value, dict)]
    return listed + [(part, node is first) for node in lists for part in node.items()]


def _token(node: Node, listed: bool = False) -> _Token | None:
    """Return a token and its flags: a string, or an object with `content`."""
    content = classes.content_of(node)
    return None if content is None else (content, _flags_of(node, listed))


def _flags_of(node: Node | None, listed: bool = False) -> dict[str, bool]:
    if node is None or not isinstance(node.value, dict):
        return dict.fromkeys(FLAGS, False) | {"special": True}
    special = node["special"].boolean(True)
    # Without flags, a token of a list is normalized, as one that is not special.
    usual = not special or (listed and node["special"].value is None)
    return {flag: node[flag].boolean(flag == "normalized" and usual) for flag in FLAGS} | {"special": special}


def _is_needed(spec: TokenizerSpec, text: str) -> bool:
    """Whether a token stays ordinary: a single byte, or what text can be written with in no other way (A3)."""
    index = spec.index_of(text)
    if index is None or len(text.encode()) == 1:
        return index is not None
    return index not in spec.model.with_special([index]).special_ids


def _extended(spec: TokenizerSpec, contents: Sequence[str], flags: Mapping[str, bool], node: Node) -> TokenizerSpec:
    try:
        return spec.with_tokens(contents, flags)
    except InputError as error:
        raise node.wrong("tokens that can be added", f"these: {error}") from None


def _parsed(files: Mapping[str, bytes], name: str, folder: str) -> Node:
    return parse_json(files[name], f"{folder}/{name}") if name in files else Node(f"{folder}/{name}", "", {})


def _template(files: Mapping[str, bytes], config: Node, folder: str) -> str | None:
    if TEMPLATE in files:
        return _jinja(files, TEMPLATE, folder)
    value = config["chat_template"].value
    if isinstance(value, list):  # several templates with names: the default one is this tokenizer's
        for entry in config["chat_template"].items():
            entry["template"].string(), entry["name"].string()
        value = _default(value)
    if value is not None and not (isinstance(value, str) and is_unicode(value)):
        raise config["chat_template"].wrong("a template as a string")
    return value


def _templates(files: Mapping[str, bytes], folder: str) -> tuple[tuple[str, str], ...]:
    """Return the other chat templates by name, as transformers 5 stores them."""
    names = (name for name in files if name.startswith(f"{TEMPLATES}/"))
    return tuple((PurePosixPath(name).stem, _jinja(files, name, folder)) for name in names)


def _jinja(files: Mapping[str, bytes], name: str, folder: str) -> str:
    try:
        return files[name].decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{folder}/{name}: expected UTF-8; byte {error.start} is not UTF-8") from None


def _default(templates: list[dict[str, str]]) -> str | None:
    return next((entry["template"] for entry in templates if entry["name"] == "default"), None)


def write_folder_files(spec: TokenizerSpec) -> dict[str, bytes]:
    """Return the files beside tokenizer.json, by name.

    Raises FormatError if the token of a role is not a special token: transformers would make it one, and text that
    contains it would get other ids.
    """
    special = {token.id: token.content for token in spec.added_tokens if token.special}
    roles = spec.role_ids
    for role, index in roles.items():
        if index not in special:
            raise FormatError(
                f"the {role} token, id {index} "
                f"({show_json(spec.model.vocab[index].decode('utf-8', 'replace'))}), is not a "
                f"special token, and transformers would make it one; use with_tokens([...]) first"
            )
    named: dict[str, Any] = {key: special[roles[role]] for role, key in _KEY.items() if role in roles}
    named["additional_special_tokens"] = [text for i, text in special.items() if i not in roles.values()]
    config = {
        "tokenizer_class": settings.BACKEND,
        **named,
        "clean_up_tokenization_spaces": False,
        **settings.inputs_as_config(spec, _NO_LIMIT),
        **{key: json.loads(text) for key, text in spec.foreign.config},
    }
    files = {f"{TEMPLATES}/{name}.jinja": text.encode() for name, text in spec.foreign.chat_templates}
    templates = config.pop("chat_template", None)
    if spec.chat_template is not None:
        config["chat_template"] = spec.chat_template
        if templates and _default(templates) == spec.chat_template:
            config["chat_template"] = templates
            return {CONFIG: _json(config), MAP: _json(named), **files}
        files[TEMPLATE] = spec.chat_template.encode()
    return {CONFIG: _json(config), MAP: _json(named), **files}


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
