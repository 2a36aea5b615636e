"""HF's tokenizer.json, version 1.0: read and written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from subwords.bpe.model import BPE
from subwords.errors import InputError
from subwords.formats import bpe_json
from subwords.formats.document import Node, parse
from subwords.formats.vocabulary import (
    added_entries,
    appended_ids,
    model_kind,
    read_added,
    read_vocab,
    written_texts,
    written_vocab,
)
from subwords.split.pre_tokenizer import from_pre_tokenizer, to_pre_tokenizer
from subwords.split.rules import ByteChars
from subwords.split.scanner import Splitter
from subwords.split.scanner import splitter as make_splitter
from subwords.tokenizer import Tokenizer

if TYPE_CHECKING:
    from subwords.decoder import Decoder
    from subwords.normalize.normalizer import Normalizer
    from subwords.template import Template
    from subwords.unigram.model import Unigram
    from subwords.wordpiece.model import WordPiece

__all__ = ["read", "write"]

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
_KEPT = ("truncation", "padding", "post_processor")


def read(data: bytes, name: str) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json; `name` stands for the file in messages.

    Anything damaged, or not supported yet, is a FormatError that names the place and what was expected.
    Hazard: a BPE file without a decoder decodes as if it had one that joins the tokens; HF would put blanks between.

    Source: the format as HF tokenizers 0.23 reads it.

    >>> from subwords.formats.tokenizer_json import read
    >>> tok = read(b'{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}}', "ab.json")
    >>> tok.encode("abba")
    [2, 1, 0]
    """
    top = parse(data, name)
    kind = _kind(top["model"])
    if top["version"].value not in (None, "1.0"):
        raise top["version"].wrong('"1.0"')
    normalizer = _read_normalizer(top["normalizer"])
    splitter, byte_level = _read_splitter(top["pre_tokenizer"])
    template = _read_template(top["post_processor"])
    vocab, pieces = _read_vocab(top["model"]["vocab"], kind)
    added = read_added(top["added_tokens"], vocab)
    extras = {key: value for key in _KEPT if (value := top[key].verbatim()) is not None}
    extras |= {"decoder": top["decoder"].verbatim(), "model_vocab_size": len(pieces or vocab)}
    model: BPE | WordPiece | Unigram
    decoder: Decoder | None = None
    if kind == "BPE":
        model = bpe_json.read_model(top["model"], vocab, added, byte_level)
        decoder = _read_bpe_decoder(top["decoder"], byte_level)
    else:
        from subwords.decoder import from_decoder
        from subwords.formats import unigram_json, wordpiece_json

        decoder = from_decoder(top["decoder"])
        if kind == "Unigram":
            model = unigram_json.read_model(top["model"], pieces, added)
        else:
            model = wordpiece_json.read_model(top["model"], vocab, added)
    return Tokenizer(
        model, splitter, normalizer=normalizer, template=template, decoder=decoder, added_tokens=added, extras=extras
    )


def _kind(model: Node) -> str:
    if not isinstance(model.value, dict):
        raise model.wrong("the model of a tokenizer.json")
    kind = model_kind(model)
    if kind not in ("BPE", "WordPiece", "Unigram"):
        if model["type"].value is None:
            raise model.wrong("a BPE, WordPiece or Unigram model", f"what looks like {kind}")
        raise model.unsupported("BPE, WordPiece or Unigram")
    return kind


def _read_vocab(node: Node, kind: str) -> tuple[dict[str, int], list[tuple[str, float]]]:
    """Return the id of every token, and of a Unigram model its pieces with their scores."""
    if kind != "Unigram":
        return read_vocab(node), []
    from subwords.formats.unigram_json import read_pieces

    pieces = read_pieces(node)
    return {text: i for i, (text, _) in enumerate(pieces)}, pieces


def _read_normalizer(node: Node) -> Normalizer | None:
    if node.value is None:
        return None
    from subwords.normalize.hf import from_normalizer
    from subwords.normalize.normalizer import Normalizer

    return Normalizer(from_normalizer(node.value, f"{node.file}: {node.path}"))


def _read_template(node: Node) -> Template | None:
    if node.value is None:
        return None
    from subwords.template import from_post_processor

    return from_post_processor(node)


def _read_splitter(node: Node) -> tuple[Splitter, bool]:
    """Return the splitter, and whether the model's symbols are bytes."""
    rule = from_pre_tokenizer(node.value, f"{node.file}: {node.path}")
    if sum(isinstance(step, ByteChars) for step in rule) > 1:
        raise node.wrong("one ByteLevel", "two: HF writes the bytes of what the first one wrote; remove one")
    try:
        return make_splitter(rule), any(isinstance(step, ByteChars) for step in rule)
    except InputError as error:
        raise node.wrong("patterns that an engine takes", f"this one: {error}") from None


def _read_bpe_decoder(node: Node, byte_level: bool) -> Decoder | None:
    """Return the decoder of a BPE model; None where it joins the bytes of tokens."""
    if node.value is None or node["type"].value == ("ByteLevel" if byte_level else "Fuse"):
        return None
    if byte_level or node["type"].value == "ByteLevel":
        raise node.unsupported(f"{'ByteLevel' if byte_level else 'Fuse'} or null with this pre_tokenizer")
    from subwords.decoder import from_decoder

    return from_decoder(node)


def write(tokenizer: Tokenizer) -> bytes:
    """Return the tokenizer.json of a tokenizer, as HF tokenizers 0.23 would write it.

    Merges are written in order of rank: that some ranks are equal is lost. What cannot be written is a FormatError.

    >>> import subwords
    >>> from subwords.formats.tokenizer_json import read, write
    >>> tok = subwords.train(["ab ab"], vocab_size=258)
    >>> read(write(tok), "copy").merges == tok.merges
    True
    """
    model, added, extras = tokenizer.model, tokenizer.added_tokens, tokenizer.extras
    if isinstance(model, BPE):
        texts = bpe_json.token_texts(model, added)
        body = bpe_json.write_model(model, texts)
    else:
        texts = written_texts([token.decode() for token in model.vocab], added)
        body = _written_model(model, texts)
    top = {
        "version": "1.0",
        "truncation": extras.get("truncation"),
        "padding": extras.get("padding"),
        "added_tokens": added_entries(added),
        "normalizer": _written_normalizer(tokenizer.normalizer),
        "pre_tokenizer": _pre_tokenizer(tokenizer.splitter, isinstance(model, BPE) and model.byte_level),
        "post_processor": extras.get("post_processor", _written_template(tokenizer.template)),
        "decoder": extras["decoder"] if "decoder" in extras else _written_decoder(tokenizer),
        "model": body,
    }
    appended = appended_ids(added, texts, extras.get("model_vocab_size", len(texts)))
    written = _written_vocab(model, texts, appended)
    return _filled(json.dumps(top, ensure_ascii=False, indent=2), body, written).encode()


def _written_model(model: WordPiece | Unigram, texts: list[str]) -> dict[str, Any]:
    from subwords.formats import unigram_json, wordpiece_json
    from subwords.unigram.model import Unigram

    if isinstance(model, Unigram):
        return unigram_json.write_model(model)
    return wordpiece_json.write_model(model, texts)


def _written_vocab(model: BPE | WordPiece | Unigram, texts: list[str], appended: set[int]) -> dict[str, str]:
    """Return the JSON of the model's last keys."""
    if isinstance(model, BPE):
        return {"vocab": written_vocab(texts, appended), "merges": bpe_json.written_merges(texts, model.merges)}
    from subwords.formats.unigram_json import written_pieces
    from subwords.unigram.model import Unigram

    return {
        "vocab": written_pieces(model, texts, appended)
        if isinstance(model, Unigram)
        else written_vocab(texts, appended)
    }


def _written_normalizer(normalizer: Normalizer | None) -> dict[str, Any] | None:
    if normalizer is None:
        return None
    from subwords.normalize.hf import to_normalizer

    return to_normalizer(normalizer.steps)


def _written_decoder(tokenizer: Tokenizer) -> dict[str, Any] | None:
    """What its decoder says; where there is none tokens are joined, which null is for HF to do with blanks between."""
    if tokenizer.decoder is None:
        return _BYTE_LEVEL if isinstance(tokenizer.model, BPE) and tokenizer.model.byte_level else {"type": "Fuse"}
    from subwords.decoder import to_decoder

    return to_decoder(tokenizer.decoder)


def _written_template(template: Template | None) -> dict[str, Any] | None:
    if template is None:
        return None
    from subwords.template import to_post_processor

    return to_post_processor(template)


def _filled(frame: str, model: dict[str, Any], written: dict[str, str]) -> str:
    """Put what was written beforehand in the place of the model's last keys, which are empty in the frame."""
    end = ",\n".join(f'    "{key}": {json.dumps(model[key])}' for key in written) + "\n  }\n}"
    filled = ",\n".join(f'    "{key}": {text}' for key, text in written.items()) + "\n  }\n}"
    return frame.removesuffix(end) + filled


def _pre_tokenizer(splitter: Splitter, byte_level: bool) -> dict[str, Any] | None:
    rule = splitter.rule
    if byte_level and not any(isinstance(step, ByteChars) for step in rule):
        rule = (*rule, ByteChars())
    return to_pre_tokenizer(rule)
