"""vocab.json with merges.txt (GPT-2: encoder.json with vocab.bpe): the two files of a BPE model.

They hold no splitter, no normalizer and no added tokens. The vocabulary determines which of three tokenizers it is:

- without `</w>`: byte-level BPE with GPT-2's splitter;
- with `</w>`, and a token for each of 256 bytes: CLIP's;
- with `</w>` otherwise: that of GPT-1, with BERT's words, cased if any token has a capital letter.

The caller may give splitter and special tokens instead. A byte without a token is dropped, as in HF.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from subwords.formats.checks import given_tokens, makes_all
from subwords.formats.hf import bpe
from subwords.formats.hf.vocabulary import quoted, read_vocab
from subwords.formats.json_node import Node, parse_json, show_json
from subwords.models.bpe.model import BPE
from subwords.models.families import need
from subwords.spec.added_token import AddedToken
from subwords.spec.splitter import NAMED, Rule
from subwords.spec.tokenizer import Foreign, TokenizerSpec
from subwords.spec.vocab import CHARACTERS
from subwords.support.errors import FormatError

if TYPE_CHECKING:
    from subwords.spec.decoder import Decoder
    from subwords.spec.normalizer import Steps
    from subwords.spec.template import Template


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


def read_vocab_merges(
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
    top = parse_json(*vocab)
    ids = read_vocab(top)
    kind = _kind_of_vocab(ids, vocab[1])
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
        foreign=Foreign(warned="; ".join(filter(None, (top.twice, kind.warned)))),
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
    warned: str = ""


def _kind_of_vocab(ids: Mapping[str, int], name: str) -> _Kind:
    """Tell by the vocabulary whether the model is byte-level, and whether it has a suffix."""
    missing = sorted(set(CHARACTERS) - ids.keys())
    if not any(token.endswith(_END) and len(token) > len(_END) for token in ids):
        _check_byte_level(ids, name)
        return _Kind(NAMED["gpt2"])
    if missing:
        from subwords.formats.vocab_txt import is_cased
        from subwords.spec.decoder import BPEDecoder
        from subwords.spec.normalizer import NAMED as NORMALIZERS

        cased = is_cased([*ids])
        steps, marked = NORMALIZERS["bert-cased" if cased else "bert-uncased"], None if cased else _with_mark(ids)
        warned = (
            ""
            if marked is None
            else (
                f"{name} is read as GPT-1's, whose normalizer removes marks, and {show_json(marked)} has one: "
                f'with_(normalizer="bert-cased") keeps them'
            )
        )
        return _Kind(NAMED["bert"], False, _END, steps, "<unk>", ("<unk>",), None, BPEDecoder(_END), warned)
    from subwords.spec.decoder import ByteDecoder, DecoderSequence, Replace, Strip
    from subwords.spec.normalizer import Form, Lowercase
    from subwords.spec.normalizer import Replace as ReplaceText

    _check_byte_level(ids, name)
    steps = (Form("NFC"), ReplaceText(r"\s+", " ", regex=True), Lowercase())
    decoder = DecoderSequence((ByteDecoder(), Replace(_END, " "), Strip(" ", 0, 1)))
    return _Kind(NAMED["clip"], True, _END, steps, _CLIP[1], _CLIP, _framed(ids), decoder)


def _with_mark(ids: Mapping[str, int]) -> str | None:
    """Return a token with a mark that the uncased normalizer of BERT removes; None if there is none."""
    from unicodedata import category

    return next((text for text in ids if not text.isascii() and any(category(each) == "Mn" for each in text)), None)


def _framed(ids: Mapping[str, int]) -> Template | None:
    """Return CLIP's template, which is RoBERTa's; None if a token is missing."""
    start, end = _CLIP
    if not {start, end} <= ids.keys():
        return None
    from subwords.formats.hf.post_processors import from_post_processor

    tokens = {"cls": [start, ids[start]], "sep": [end, ids[end]], "trim_offsets": False, "add_prefix_space": False}
    return from_post_processor(Node("", "", {"type": "RobertaProcessing", **tokens}))


def _check_byte_level(ids: Mapping[str, int], name: str) -> None:
    if odd := next((token for token in ids if not CHARACTERS.issuperset(token) and not token.isspace()), None):
        raise FormatError(
            f"{name}: expected tokens spelled in byte letters, as in byte-level BPE, not {show_json(odd)}"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Write vocab.json and merges.txt, the two files of a byte-level BPE model.

_VERSION = "#version"


def write_vocab_and_merges(spec: TokenizerSpec) -> tuple[bytes, bytes]:
    """Return the content of vocab.json and of merges.txt; HF's classes for GPT-2 give the same ids to ordinary text.

    Special tokens become tokens of the vocabulary; the files do not say that they are special. Raises FormatError for
    everything else that the files cannot hold.

    Source: HF tokenizers 0.23, BPE.save and ByteLevelBPETokenizer.

    >>> import subwords
    >>> write_vocab_and_merges(subwords.train(["ab ab"], vocab_size=257, splitter="gpt2").spec)[1]
    b'#version: 0.2\\na b\\n'
    """
    others = FormatError("vocab.json and merges.txt hold byte-level BPE only; write a tokenizer.json")
    model = need(spec.model, BPE, others)
    if model.marked:
        raise FormatError("vocab.json and merges.txt are not written for models with a prefix or suffix (CLIP, GPT-1)")
    if not model.byte_level:
        raise others
    _check_around(spec)
    if not model.lossless:
        raise FormatError("vocab.json and merges.txt need a token for each of 256 bytes; write a tokenizer.json")
    if model.whole_words and not makes_all(model):
        raise FormatError(
            "vocab.json and merges.txt are read as merges only, and this model takes words that are tokens at once, "
            "which its merges do not make; write a tokenizer.json"
        )
    texts = bpe.token_texts(model, spec.added_tokens)
    bpe.write_model(model, texts)  # raises FormatError for merges without a total order
    names = quoted(texts)
    vocab = ",".join(f"{names[i]}:{i}" for i, text in enumerate(texts) if text)
    pairs = [
        (texts[left], texts[right]) for left, right, made in model.merges.tolist() if made not in model.special_ids
    ]
    if any(left.startswith(_VERSION) for left, _ in pairs):
        raise FormatError(f"merges.txt cannot hold a merge of {_VERSION!r}: readers skip such lines")
    merges = "".join(f"{left} {right}\n" for left, right in pairs)
    return f"{{{vocab}}}".encode(), f"{_VERSION}: 0.2\n{merges}".encode()


def _check_around(spec: TokenizerSpec) -> None:
    """Raise FormatError for parts that the files do not hold and that change ids of ordinary text."""
    if spec.splitter != NAMED["gpt2"]:
        raise FormatError(
            "vocab.json and merges.txt hold no splitter, and readers use GPT-2's; this tokenizer has another: write a "
            'tokenizer.json, or train with splitter="gpt2"'
        )
    if spec.normalizer:
        raise FormatError("vocab.json and merges.txt hold no normalizer; write a tokenizer.json")
    for token in spec.added_tokens:
        plain = AddedToken(token.content, token.id, normalized=token.normalized)  # nothing is normalized here
        if token != plain or not CHARACTERS.issuperset(token.content):
            raise FormatError(
                f"vocab.json holds special tokens without flags, in the letters of its alphabet; not "
                f"{show_json(token.content)}: write a tokenizer.json"
            )
