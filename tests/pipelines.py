"""Random tokenizer.json files, made of every component, and texts that tell them apart."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Iterator
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from normalizing import MAPS

WORDS = (
    *(
        "the",
        "low",
        "lower",
        "lowest",
        "newer",
        "wider",
        "don't",
        "I'M",
        "we'll",
        "hug",
        "hugs",
        "a",
        "bc",
        "caf\u00e9",
    ),
    *(
        "cafe\u0301",
        "\u00e9t\u00e9",
        "\u00dcber",
        "\u65e5\u672c\u8a9e",
        "\u6587\u5b57",
        "\u043f\u0440\u0438",
        "\ud55c\uad6d",
    ),
    *("12", "345", "6789", "x1y2", "f(x)", "a.b,", "c;d", "--", "\u2026", "\ufb01n", "\uff21\uff22", "\u00bd", "[x]"),
    *("foo", "FOO", "Foo", "bar"),
)
CORPUS = [" ".join(WORDS[i:] + WORDS[:i]) + "\n" for i in range(len(WORDS))]
PIECES = (
    *WORDS,
    "<s>",
    *" \n\t-'.<>[]_\u2581\u2581\u3000\u00a0\u2009\u0301\u0300\u200d\u200b\ufeff\x00\x0b\x85\ufffd",
    *(
        "  ",
        "   ",
        "\r\n",
        "\u2603",
        "\U0001f600",
        "\U0008a291",
        "\u0130",
        "\u1e9e",
        "\u0e33",
        "ab",
        "zz",
        "##s",
        "</s>",
    ),
    *("<unk>", "<mask>", "foo bar", "qq", "e\u0301", "\u00e5", "\u212b", "<0x41>"),
)


def a_text(rng: random.Random) -> str:
    """A short text of pieces that components treat in different ways, with blanks between or without."""
    between = rng.choice(("", "", " ", "  "))
    return between.join(rng.choice(PIECES) for _ in range(rng.randint(0, 7)))


def texts(rng: random.Random, count: int) -> list[str]:
    return ["", "foo", " foo bar ", *(a_text(rng) for _ in range(count))]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """A peer in Rust prints a trace when it panics."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def encoded(peer: tokenizers.Tokenizer, text: str) -> tuple[Any, str] | None:
    """The peer's encoding and decoding, None where it panics."""
    with quiet():
        try:
            ref = peer.encode(text)
            return ref, peer.decode(ref.ids, skip_special_tokens=False)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return None


# ------------------------------------------------------------------ components


def a_normalizer(rng: random.Random) -> Any:
    makers = (
        lambda: normalizers.BertNormalizer(
            clean_text=rng.random() < 0.5,
            handle_chinese_chars=rng.random() < 0.5,
            strip_accents=rng.choice([None, True, False]),
            lowercase=rng.random() < 0.5,
        ),
        normalizers.Lowercase,
        normalizers.NFC,
        normalizers.NFD,
        normalizers.NFKC,
        normalizers.NFKD,
        normalizers.Nmt,
        normalizers.ByteLevel,
        normalizers.StripAccents,
        lambda: normalizers.Prepend(rng.choice("\u2581_x")),
        lambda: normalizers.Replace(*rng.choice([(" ", "\u2581"), ("a", "bb"), ("foo", "o"), ("``", '"'), ("e", "")])),
        lambda: normalizers.Replace(
            Regex(rng.choice([" {2,}", r"\s+", "[aeiou]+", "^ +| +$"])), rng.choice([" ", "", "_"])
        ),
        lambda: normalizers.Strip(rng.random() < 0.5, rng.random() < 0.5),
        lambda: normalizers.Precompiled(rng.choice(MAPS)),
    )
    return _composed(rng, makers, normalizers.Sequence)


def a_pre_tokenizer(rng: random.Random) -> Any:
    behaviors = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
    schemes = ("always", "first", "never")
    makers = (
        lambda: pre_tokenizers.ByteLevel(rng.random() < 0.5, use_regex=rng.random() < 0.7),
        pre_tokenizers.BertPreTokenizer,
        lambda: pre_tokenizers.CharDelimiterSplit(rng.choice(" -e")),
        lambda: pre_tokenizers.Digits(rng.random() < 0.5),
        lambda: pre_tokenizers.FixedLength(rng.randint(1, 6)),
        lambda: pre_tokenizers.Metaspace("\u2581", rng.choice(schemes), rng.random() < 0.5),
        lambda: pre_tokenizers.Punctuation(rng.choice(behaviors)),
        lambda: pre_tokenizers.Split(rng.choice([" ", "o", "-"]), rng.choice(behaviors), rng.random() < 0.3),
        lambda: pre_tokenizers.Split(
            Regex(rng.choice([r"\s+", r"\w+|[^\w\s]+", r"\p{L}+", "[0-9]{1,3}"])),
            rng.choice(behaviors),
            rng.random() < 0.3,
        ),
        pre_tokenizers.UnicodeScripts,
        pre_tokenizers.Whitespace,
        pre_tokenizers.WhitespaceSplit,
    )
    return _composed(rng, makers, pre_tokenizers.Sequence)


def _composed(rng: random.Random, makers: Any, sequence: Any) -> Any:
    count = rng.choice((0, 1, 1, 1, 2, 3))
    found = [rng.choice(makers)() for _ in range(count)]
    return None if not found else found[0] if count == 1 else sequence(found)


def a_post_processor(rng: random.Random, pairs: list[tuple[str, int]]) -> Any:
    (cls, cls_id), (sep, sep_id) = rng.sample(pairs, 2)
    makers = (
        lambda: None,
        lambda: None,
        lambda: processors.BertProcessing((sep, sep_id), (cls, cls_id)),
        lambda: processors.RobertaProcessing((sep, sep_id), (cls, cls_id), rng.random() < 0.5, rng.random() < 0.5),
        lambda: processors.ByteLevel(rng.random() < 0.5, rng.random() < 0.7),
        lambda: processors.TemplateProcessing(
            single=f"{cls} $A {sep}", pair=f"{cls} $A {sep} $B:1 {sep}:1", special_tokens=[(cls, cls_id), (sep, sep_id)]
        ),
    )
    found = rng.choice(makers)()
    if found is not None and rng.random() < 0.2:
        return processors.Sequence([processors.ByteLevel(trim_offsets=rng.random() < 0.5), found])
    return found


def a_decoder(rng: random.Random, byte_level: bool) -> Any:
    if byte_level and rng.random() < 0.7:
        return decoders.ByteLevel()
    makers = (
        lambda: None,
        decoders.Fuse,
        decoders.ByteLevel,
        lambda: decoders.BPEDecoder(rng.choice(["</w>", "e"])),
        lambda: decoders.CTC("a", "o", rng.random() < 0.5),
        lambda: decoders.Sequence([decoders.WordPiece("##"), decoders.ByteLevel(), decoders.Replace("e", "é")]),
        decoders.ByteFallback,
        lambda: decoders.WordPiece("##", rng.random() < 0.5),
        lambda: decoders.Metaspace("\u2581", rng.choice(["always", "first", "never"])),
        lambda: decoders.Replace("\u2581", " "),
        lambda: decoders.Strip(" ", rng.randint(0, 1), 0),
        lambda: decoders.Sequence(
            [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        ),
    )
    if rng.random() < 0.2:
        found = [rng.choice(makers)() for _ in range(rng.randint(1, 4))]
        return decoders.Sequence([step for step in found if step is not None])
    return rng.choice(makers)()


# ------------------------------------------------------------------ models


def a_model(rng: random.Random, kind: str) -> tuple[Any, Any]:
    """An untrained model and its trainer."""
    special = rng.sample(["<unk>", "<s>", "</s>", "<mask>"], rng.randint(0, 4))
    options: dict[str, Any] = {"special_tokens": special, "show_progress": False, "vocab_size": rng.randint(20, 300)}
    if kind in ("bytes", "bpe"):
        if kind == "bytes" and rng.random() < 0.5:
            options["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
        settings: dict[str, Any] = {"fuse_unk": rng.random() < 0.5, "ignore_merges": rng.random() < 0.3}
        for part, text in (("continuing_subword_prefix", "##"), ("end_of_word_suffix", "</w>")):
            if kind == "bpe" and rng.random() < 0.1:
                settings[part] = options[part] = text
        if "<unk>" in special and rng.random() < 0.7:
            settings["unk_token"] = "<unk>"
        return models.BPE(**settings), trainers.BpeTrainer(**options)
    if kind == "wordlevel":
        options["special_tokens"] = special if "<unk>" in special else [*special, "<unk>"]
        return models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(**options)
    if kind == "wordpiece":
        options["special_tokens"] = special if "<unk>" in special else [*special, "<unk>"]
        return models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer(**options)
    return models.Unigram(), trainers.UnigramTrainer(**options, unk_token=rng.choice(["<unk>", None]))


KINDS = ("bytes", "bytes", "bpe", "bpe", "wordpiece", "unigram", "unigram", "wordlevel")


def a_file(rng: random.Random) -> str:
    """A tokenizer.json; an exception of the peer's where it takes no such combination."""
    kind = rng.choice(KINDS)
    model, trainer = a_model(rng, kind)
    tok = tokenizers.Tokenizer(model)
    tok.normalizer = a_normalizer(rng)
    before = a_pre_tokenizer(rng)
    if kind == "bytes":
        own = pre_tokenizers.ByteLevel(rng.random() < 0.5, use_regex=rng.random() < 0.8)
        before = own if before is None else pre_tokenizers.Sequence([before, own])
    tok.pre_tokenizer = before
    tok.train_from_iterator(CORPUS, trainer)
    tok.add_tokens([an_added_token(rng, text) for text in rng.sample(ADDED, rng.randint(0, 4))])
    vocab = sorted(tok.get_vocab().items(), key=lambda entry: entry[1])
    tok.post_processor = a_post_processor(rng, [vocab[0], vocab[-1], vocab[len(vocab) // 2]])
    tok.decoder = a_decoder(rng, kind == "bytes")
    return _varied(rng, tok.to_str(), kind)


def peer_file(rng: random.Random) -> str | None:
    """A file that HF writes and loads, None where it does not."""
    with quiet():
        try:
            data = a_file(rng)
            tokenizers.Tokenizer.from_str(data)
        except BaseException as error:  # a panic of the peer is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            return None
    return data


ADDED = ("<mask>", "foo", "FOO", "Foo", " ", "  ", "\u2581", "foo bar", "ab", "\u00e9", "<x>", "-", "\u65e5", "don't")


def an_added_token(rng: random.Random, text: str) -> AddedToken:
    flags = {flag: rng.random() < 0.35 for flag in ("single_word", "lstrip", "rstrip", "normalized", "special")}
    # HF's models yield special tokens that they know as words; ours never do (A3).
    return AddedToken(text, **flags | {"special": flags["special"] and text.startswith("<")})


def _varied(rng: random.Random, data: str, kind: str) -> str:
    """The same file, with bytes of unknown characters in its vocabulary or without some of its characters."""
    top = json.loads(data)
    model = top["model"]
    if kind == "bpe" and rng.random() < 0.4:
        model["byte_fallback"] = True
        wanted = range(256) if rng.random() < 0.5 else rng.sample(range(256), 200)
        _append(top, [f"<0x{byte:02X}>" for byte in wanted])
    if kind == "bytes" and rng.random() < 0.3:
        _drop(top, rng)
    if kind == "unigram" and model["unk_id"] is not None and not top["added_tokens"] and rng.random() < 0.5:
        model["byte_fallback"] = True
        model["vocab"] += [[f"<0x{byte:02X}>", -9.5] for byte in range(256)]
    return json.dumps(top)


def _append(top: dict[str, Any], tokens: list[str]) -> None:
    vocab = top["model"]["vocab"]
    taken = {token["id"] for token in top["added_tokens"]} | set(vocab.values())
    free = (i for i in range(10**6) if i not in taken)
    for token in tokens:
        if token not in vocab:
            vocab[token] = next(free)


def _drop(top: dict[str, Any], rng: random.Random) -> None:
    """Leave some bytes out that no merge uses."""
    model = top["model"]
    used = {part for merge in model["merges"] for part in merge}
    free = [text for text in model["vocab"] if len(text) == 1 and text not in used]
    for text in rng.sample(free, len(free) // 3):
        del model["vocab"][text]
