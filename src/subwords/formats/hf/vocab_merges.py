"""vocab.json with merges.txt (GPT-2: encoder.json with vocab.bpe): the two files of a BPE model.

They hold no splitter, no normalizer and no added tokens. The vocabulary determines which of three tokenizers it is:

- without `</w>`: byte-level BPE with GPT-2's splitter;
- with `</w>`, and a token for each of 256 bytes: CLIP's;
- with `</w>` otherwise: that of GPT-1, with BERT's words, cased if any token has a capital letter.

The caller may give splitter and special tokens instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from subwords.components.byte_alphabet import CHARACTERS
from subwords.components.splitter import NAMED, Rule
from subwords.errors import FormatError
from subwords.formats.given import given_tokens
from subwords.formats.hf import bpe
from subwords.formats.hf.vocabulary import read_vocab
from subwords.formats.json_node import Node, parse, shown
from subwords.spec import TokenizerSpec

if TYPE_CHECKING:
    from subwords.components.decoder import Decoder
    from subwords.components.normalizer import Steps
    from subwords.components.template import Template

__all__ = ["read", "read_merges"]

_END = "</w>"
_CLIP = ("<|startoftext|>", "<|endoftext|>")


def read_merges(data: bytes, name: str) -> list[str]:
    """Return the merges, "left right" each; a line that begins with "#version" and empty last lines are left out."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: expected UTF-8; byte {error.start} is not UTF-8") from None
    while lines and not lines[-1].strip("\r"):
        lines.pop()
    return [line.removesuffix("\r") for line in lines if not line.startswith("#version")]


def read(
    vocab: tuple[bytes, str],
    merges: tuple[bytes, str],
    *,
    splitter: Rule | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> TokenizerSpec:
    """Return the spec of the two files, each as its content and its name in messages.

    Hazard: without `splitter`, that of GPT-2, CLIP or GPT-1 is used; other models with such files have another one.

    Source: HF tokenizers 0.23, BPE.read_file and ByteLevelBPETokenizer; CLIPTokenizer and OpenAIGPTTokenizer of
    transformers 5.23.
    """
    ids = read_vocab(parse(*vocab))
    kind = _kind(ids, vocab[1])
    if special_tokens is None:
        special_tokens = {token: ids[token] for token in kind.special_tokens if token in ids}
    added = given_tokens(special_tokens, {i: text.encode() for text, i in ids.items()}, vocab[1])
    # The vocabulary is checked by now: an error can only be in the merges.
    ids |= {token.content: token.id for token in added}
    fields = {"vocab": ids, "merges": read_merges(*merges), "unk_token": kind.unk_token}
    fields["end_of_word_suffix"] = kind.suffix
    return TokenizerSpec(
        model=bpe.read_model(Node(merges[1], "", fields), ids, added, kind.byte_level),
        normalizer=kind.normalizer,
        splitter=kind.splitter if splitter is None else splitter,
        template=kind.template,
        decoder=kind.decoder,
        added_tokens=added,
    )


class _Kind(NamedTuple):
    """What the two files do not say."""

    splitter: Rule
    byte_level: bool = True
    suffix: str | None = None
    normalizer: Steps = ()
    unk_token: str | None = None
    special_tokens: tuple[str, ...] = ()
    template: Template | None = None
    decoder: Decoder | None = None


def _kind(ids: Mapping[str, int], name: str) -> _Kind:
    """Tell by the vocabulary whether the model is byte-level, and whether it has a suffix."""
    missing = sorted(set(CHARACTERS) - ids.keys())
    if not any(token.endswith(_END) and len(token) > len(_END) for token in ids):
        _check_byte_level(ids, missing, name)
        return _Kind(NAMED["gpt2"])
    if missing:
        from subwords.components.decoder import BPEDecoder
        from subwords.components.normalizer import NAMED as NORMALIZERS
        from subwords.formats.vocab_txt import is_cased

        steps = NORMALIZERS["bert-cased" if is_cased([*ids]) else "bert-uncased"]
        return _Kind(NAMED["bert"], False, _END, steps, "<unk>", ("<unk>",), decoder=BPEDecoder(_END))
    from subwords.components.decoder import ByteDecoder, DecoderSequence, Replace, Strip
    from subwords.components.normalizer import Form, Lowercase
    from subwords.components.normalizer import Replace as ReplaceText

    _check_byte_level(ids, missing, name)
    steps = (Form("NFC"), ReplaceText(r"\s+", " ", regex=True), Lowercase())
    decoder = DecoderSequence((ByteDecoder(), Replace(_END, " "), Strip(" ", 0, 1)))
    return _Kind(NAMED["clip"], True, _END, steps, _CLIP[1], _CLIP, _framed(ids), decoder)


def _framed(ids: Mapping[str, int]) -> Template | None:
    """Return CLIP's template, which is RoBERTa's; None if a token is missing."""
    start, end = _CLIP
    if not {start, end} <= ids.keys():
        return None
    from subwords.formats.hf.post_processor import from_post_processor

    tokens = {"cls": [start, ids[start]], "sep": [end, ids[end]], "trim_offsets": False, "add_prefix_space": False}
    return from_post_processor(Node("", "", {"type": "RobertaProcessing", **tokens}))


def _check_byte_level(ids: Mapping[str, int], missing: Sequence[str], name: str) -> None:
    if odd := next((token for token in ids if not CHARACTERS.issuperset(token)), None):
        raise FormatError(f"{name}: expected tokens spelled in byte letters, as in byte-level BPE, not {shown(odd)}")
    if missing:
        raise FormatError(
            f"{name}: expected byte-level BPE, with a token for each of 256 bytes; {shown(missing[0])} is missing"
        )
