"""llama.cpp in plain Python, as an oracle: a reader of GGUF files, its way of splitting, and its four tokenizers.

Written from the GGUF specification and from a description of llama.cpp's behaviour; slow, and without special tokens.
"""

from __future__ import annotations

import itertools
import re
import struct
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from inside import splitter_NAMED as NAMED
from inside import tokens_to_text

__all__ = ["PATTERNS", "keys_of", "split", "tokenizer_of"]

# ------------------------------------------------------------------ the container

SIZES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def keys_of(data: bytes) -> dict[str, Any]:
    """The metadata of a file, read with nothing but struct."""
    at = 24
    magic, version, tensors, count = struct.unpack_from("<4sIQQ", data)
    assert (magic, version, tensors, len(data) % 32) == (b"GGUF", 3, 0, 0)

    def number(code: str) -> Any:
        nonlocal at
        (value,) = struct.unpack_from(f"<{code}", data, at)
        at += struct.calcsize(code)
        return value

    def text() -> str:
        nonlocal at
        size = number("Q")
        at += size
        return data[at - size : at].decode()

    def value(kind: int) -> Any:
        if kind == 9:
            inner, size = number("I"), number("Q")
            return [value(inner) for _ in range(size)]
        return text() if kind == 8 else number(SIZES[kind])

    found = {}
    for _ in range(count):
        key = text()
        found[key] = value(number("I"))
    assert set(data[at:]) <= {0}
    return found


# ------------------------------------------------------------------ splitting

APOSTROPHE = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"


def llama3(numbers: str) -> str:
    return f"{APOSTROPHE}|{WORD}|{numbers}|{SIGNS}|{BLANKS}"


def cased(numbers: str, after: str, letters: str = r"\p{L}") -> str:
    upper, lower = f"((?=[{letters}])([^a-z]))", f"((?=[{letters}])([^A-Z]))"
    before = r"[^\r\n\p{L}\p{N}]?"
    signs = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
    return f"{before}{upper}*{lower}+{after}|{before}{upper}+{lower}*{after}|{numbers}|{signs}|{BLANKS}"


# The letters that have case, which llama.cpp lists as DeepSeek's file does.
LETTERS_OF_DEEPSEEK = NAMED["deepseek-llm"][1].pattern.removeprefix("\\s?[").removesuffix("]+")  # type: ignore[union-attr]
BLOOM = " ?[^(\\s|.,!?…。，、।۔،)]+"
PATTERNS: dict[str, list[str]] = {
    "gpt-2": [GPT2],
    **{key: [llama3(r"\p{N}{1,3}")] for key in ("llama-bpe", "dbrx")},
    "qwen2": [llama3(r"\p{N}")],
    "qwen35": [
        rf"{APOSTROPHE}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{BLANKS}"
    ],
    "starcoder": [r"\p{N}", GPT2],
    "deepseek-v3": [
        r"\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
        rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{BLANKS}",
    ],
    "deepseek-coder": ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    "deepseek-llm": [
        *("[\r\n]", rf"\s?[{LETTERS_OF_DEEPSEEK}]+", "\\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$"),
        *("[一-龥ࠀ-一가-퟿]+", r"\p{N}+"),
    ],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "bloom": [BLOOM],
    "viking": [BLOOM, r"\p{N}"],
    "chameleon": [
        *("<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", r"\p{N}"),
        *(r"[\p{P}!-/:-@\[-`{-~]", GPT2),
    ],
    "superbpe": [r"\p{N}+", r"(?=([0-9]{3})+(?![0-9]))"],
    "tekken": [cased(r"\p{N}", "")],
    "gpt-4o": [cased(r"\p{N}{1,3}", APOSTROPHE + "?")],
    "granite-embed-multi-97m": [cased(r"\p{N}{1,3}", APOSTROPHE + "?", r"\p{L}\p{M}")],
    "bailingmoe": [rf"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|{WORD}|\p{{N}}|{SIGNS}|\s*[\r\n]|\s+(?!\S)|\s+"],
    "seed-coder": [rf"{APOSTROPHE}|{WORD}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{BLANKS}"],
    "exaone-moe": [
        rf"{APOSTROPHE}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "minicpm5": [r"\p{N}{1,3}", llama3(r"\p{N}+")],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
}

# A character beyond ASCII is one of these letters while a pattern with categories is matched.
STAND_INS = {"N": "\ue001", "L": "\ue002", "P": "\ue003", "M": "\ue004", "S": "\ue005"}
ASCII = "".join(map(chr, range(128)))
MEMBERS = {
    kind: letter + "".join(re.escape(char) for char in ASCII if unicodedata.category(char)[0] == kind)
    for kind, letter in STAND_INS.items()
}


def collapsed(text: str, categories: bool) -> str:
    def stand_in(char: str) -> str:
        if ord(char) < 128:
            return char
        if char.isspace():
            return "\x0b"
        return STAND_INS.get(unicodedata.category(char)[0], "\ue000") if categories else char

    return "".join(map(stand_in, text))


def compiled(pattern: str) -> re.Pattern[str]:
    inside, found = False, []
    for token in re.findall(r"\\p\{\w\}|\\.|.", pattern, re.S):
        if token.startswith(r"\p"):
            members = MEMBERS[token[3]]
            found.append(members if inside else f"[{members}]")
            continue
        inside = (inside or token == "[") and token != "]"
        found.append(token)
    return re.compile("".join(found), re.ASCII)


def split(text: str, patterns: Iterable[str]) -> list[str]:
    """Each pattern splits what the one before it left; matches and what is between them are words."""
    words = [text]
    for pattern in patterns:
        finder, categories = compiled(pattern), r"\p" in pattern
        words = [part for word in words for part in cut(word, finder, collapsed(word, categories))]
    return words


def cut(word: str, finder: re.Pattern[str], seen: str) -> Iterator[str]:
    end = 0
    for match in finder.finditer(seen):
        yield from filter(None, (word[end : match.start()], word[match.start() : match.end()]))
        end = match.end()
    if word[end:]:
        yield word[end:]


# ------------------------------------------------------------------ the tokenizers


def tokenizer_of(keys: dict[str, Any]) -> Callable[[str], list[int]]:
    """The tokenizer of a file, without special tokens."""
    ids = {token: i for i, token in enumerate(keys["tokenizer.ggml.tokens"])}
    return {"gpt2": byte_level, "llama": sentencepiece, "t5": unigram, "bert": wordpiece}[keys["tokenizer.ggml.model"]](
        keys, ids
    )


def byte_level(keys: dict[str, Any], ids: dict[str, int]) -> Callable[[str], list[int]]:
    ranks: dict[tuple[str, ...], int] = {}
    for rank, merge in enumerate(keys["tokenizer.ggml.merges"]):
        ranks.setdefault(tuple(merge.split(" ")), rank)
    patterns = PATTERNS[keys["tokenizer.ggml.pre"]]
    whole = keys["tokenizer.ggml.pre"] in ("llama-bpe", "tekken", "minicpm5")

    def encode(text: str) -> list[int]:
        found = []
        for word in split(text, patterns):
            symbols = list(tokens_to_text([word.encode()])[0])
            if whole and "".join(symbols) in ids:
                symbols = ["".join(symbols)]
            while pairs := [(ranks[pair], i) for i, pair in enumerate(itertools.pairwise(symbols)) if pair in ranks]:
                i = min(pairs)[1]
                symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
            found += [ids[symbol] for symbol in symbols]
        return found

    return encode


def sentencepiece(keys: dict[str, Any], ids: dict[str, int]) -> Callable[[str], list[int]]:
    scores = keys["tokenizer.ggml.scores"]

    def encode(text: str) -> list[int]:
        if text and keys["tokenizer.ggml.add_space_prefix"]:
            text = f" {text}"
        symbols = list(text.replace(" ", "▁"))
        while pairs := [
            (-scores[ids[a + b]], i) for i, (a, b) in enumerate(itertools.pairwise(symbols)) if a + b in ids
        ]:
            i = min(pairs)[1]
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        found = [[ids[s]] if s in ids else [ids[f"<0x{byte:02X}>"] for byte in s.encode()] for s in symbols]
        return [i for part in found for i in part]

    return encode


def unigram(keys: dict[str, Any], ids: dict[str, int]) -> Callable[[str], list[int]]:
    """Without a charsmap: the tests use it where one changes nothing."""
    types, scores = keys["tokenizer.ggml.token_type"], keys["tokenizer.ggml.scores"]
    known = {token: i for token, i in ids.items() if types[i] in (1, 4, 5)}
    unknown = min(score for score, kind in zip(scores, types, strict=True) if kind == 1) - 10
    unk, longest = keys["tokenizer.ggml.unknown_token_id"], max(map(len, ids))

    def encode(text: str) -> list[int]:
        if keys["tokenizer.ggml.remove_extra_whitespaces"]:
            text = "".join("▁" + word for word in text.split(" ") if word)
        else:
            text = text.replace(" ", "▁")
        best: list[tuple[float, int, int]] = [(0.0, 0, unk)]
        best += [(-1e300, 0, unk)] * len(text)
        for start in range(len(text)):
            ends = [end for end in range(start + 1, min(len(text), start + longest) + 1) if text[start:end] in known]
            steps = [(end, scores[known[text[start:end]]], known[text[start:end]]) for end in ends]
            if start + 1 not in ends:
                steps.append((start + 1, unknown, unk))
            for end, score, i in steps:
                if best[start][0] + score > best[end][0]:
                    best[end] = best[start][0] + score, start, i
        found, at = [], len(text)
        while at:
            _, at, i = best[at]
            if not (found and found[-1] == i == unk):
                found.append(i)
        return found[::-1]

    return encode


def wordpiece(keys: dict[str, Any], ids: dict[str, int]) -> Callable[[str], list[int]]:
    """For text in ASCII."""
    unk = keys["tokenizer.ggml.unknown_token_id"]

    def encode(text: str) -> list[int]:
        text = text.lower() if keys["tokenizer.ggml.normalizer.lowercase"] else text
        found = []
        for word in re.findall(r"[!-/:-@\[-`{-~]|[^\s!-/:-@\[-`{-~]+", text):
            pieces, rest = [], f"▁{word}"
            while rest and (end := next((n for n in range(len(rest), 0, -1) if rest[:n] in ids), 0)):
                pieces.append(ids[rest[:end]])
                rest = rest[end:]
            found += [unk] if rest else pieces
        return found

    return encode
