"""vocab.json with merges.txt (GPT-2: encoder.json with vocab.bpe): the two files of a byte-level BPE model.

They hold no splitter and no added tokens. GPT-2's splitter is the default; the caller may give both.
"""

from __future__ import annotations

from collections.abc import Mapping

from subwords.components.byte_alphabet import CHARACTERS
from subwords.components.splitter import NAMED, Rule
from subwords.errors import FormatError
from subwords.formats.given import given_tokens
from subwords.formats.hf import bpe
from subwords.formats.hf.vocabulary import read_vocab
from subwords.formats.json_node import Node, parse, shown
from subwords.spec import TokenizerSpec

__all__ = ["read", "read_merges"]


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

    Hazard: without `splitter`, GPT-2's is used; other models with such files (Qwen's) have another one.

    Source: HF tokenizers 0.23, BPE.read_file and ByteLevelBPETokenizer.
    """
    ids = read_vocab(parse(*vocab))
    _check_byte_level(ids, vocab[1])
    added = given_tokens(special_tokens, {i: text.encode() for text, i in ids.items()}, vocab[1])
    ids |= {token.content: token.id for token in added}
    # The vocabulary is checked by now: what remains to be wrong is in the merges.
    model = Node(merges[1], "", {"vocab": ids, "merges": read_merges(*merges)})
    return TokenizerSpec(
        model=bpe.read_model(model, ids, added, byte_level=True),
        splitter=NAMED["gpt2"] if splitter is None else splitter,
        added_tokens=added,
    )


def _check_byte_level(ids: Mapping[str, int], name: str) -> None:
    if suffixed := next((token for token in ids if token.endswith("</w>") and len(token) > len("</w>")), None):
        raise FormatError(f"{name}: a suffix, as in {shown(suffixed)}, is not supported; expected byte-level BPE")
    if odd := next((token for token in ids if not CHARACTERS.issuperset(token)), None):
        raise FormatError(f"{name}: expected tokens spelled in byte letters, as in byte-level BPE, not {shown(odd)}")
    if missing := sorted(set(CHARACTERS) - ids.keys()):
        raise FormatError(
            f"{name}: expected byte-level BPE, with a token for each of 256 bytes; {shown(missing[0])} is missing"
        )
