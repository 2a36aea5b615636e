r"""The rules of pre-tokenization: their steps, and the rules of well-known tokenizers by name.

A rule is a tuple of steps. The first step gets the whole text as one word, each other step the words of the previous
one. Empty words are dropped after every step. A rule without steps does not split.

Patterns have tiktoken's meaning: `$` is the end of the text, `{1,3}+` is possessive, `\w` follows Unicode's annex 18,
`.` is anything except a line feed, and case folds character by character. Oniguruma, the engine of HF tokenizers,
differs in all of these; `subwords.spec.oniguruma` translates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from subwords.support.errors import InputError
from subwords.support.names import named

if TYPE_CHECKING:
    from subwords.spec.normalizer import Steps

# ---------------------------------------------------------------------------------------------------------------------
# OpenAI's encodings by name: the splitter and special tokens of each, and which models use which.
#
# Source: tiktoken_ext/openai_public.py and tiktoken/model.py of tiktoken 0.14.


class OpenAIEncoding(NamedTuple):
    """A published encoding: its rank file (without `.tiktoken`), a splitter by name, and the ids of special tokens."""

    ranks: str
    splitter: str
    special_tokens: dict[str, int]


_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_O200K = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_HARMONY = {
    "<|startoftext|>": 199998,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
    **_O200K,
}

ENCODINGS = {
    "gpt2": OpenAIEncoding("r50k_base", "r50k", {"<|endoftext|>": 50256}),
    "r50k_base": OpenAIEncoding("r50k_base", "r50k", {"<|endoftext|>": 50256}),
    "p50k_base": OpenAIEncoding("p50k_base", "p50k", {"<|endoftext|>": 50256}),
    "p50k_edit": OpenAIEncoding(
        "p50k_base", "p50k", {"<|endoftext|>": 50256, **{token: 50281 + i for i, token in enumerate(_FIM)}}
    ),
    "cl100k_base": OpenAIEncoding(
        "cl100k_base",
        "cl100k",
        {"<|endoftext|>": 100257, **{token: 100258 + i for i, token in enumerate(_FIM)}, "<|endofprompt|>": 100276},
    ),
    "o200k_base": OpenAIEncoding("o200k_base", "o200k", _O200K),
    # tiktoken gives id 200018 a second name, <|reserved_200018|>.
    "o200k_harmony": OpenAIEncoding(
        "o200k_base",
        "o200k",
        _HARMONY | {f"<|reserved_{i}|>": i for i in range(200000, 201088) if i not in _HARMONY.values()},
    ),
}

MODELS = {
    **dict.fromkeys(("davinci", "curie", "babbage", "ada", "text-davinci-001"), "r50k_base"),
    **dict.fromkeys(("text-curie-001", "text-babbage-001", "text-ada-001"), "r50k_base"),
    **dict.fromkeys(("text-davinci-002", "text-davinci-003", "code-davinci-002", "code-cushman-001"), "p50k_base"),
    **dict.fromkeys(("code-davinci-001", "code-cushman-002", "davinci-codex", "cushman-codex"), "p50k_base"),
    **dict.fromkeys(("text-davinci-edit-001", "code-davinci-edit-001"), "p50k_edit"),
    **dict.fromkeys(("gpt-4", "gpt-4-turbo", "gpt-3.5", "gpt-3.5-turbo", "gpt-35-turbo"), "cl100k_base"),
    **dict.fromkeys(("text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large"), "cl100k_base"),
    **dict.fromkeys(("davinci-002", "babbage-002"), "cl100k_base"),
    **dict.fromkeys(("gpt-4o", "gpt-4o-mini", "chatgpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5"), "o200k_base"),
    **dict.fromkeys(("o1", "o3", "o4-mini"), "o200k_base"),
    "gpt-oss": "o200k_harmony",
}


# Names that begin like this, such as gpt-4o-2024-08-06.
_PREFIXES = {
    **dict.fromkeys(
        ("o1-", "o3-", "o4-mini-", "gpt-5", "gpt-4.5-", "gpt-4.1-", "chatgpt-4o-", "gpt-4o-"), "o200k_base"
    ),
    **dict.fromkeys(("gpt-4-", "gpt-3.5-turbo-", "gpt-35-turbo-"), "cl100k_base"),
    "gpt-oss-": "o200k_harmony",
    "ft:gpt-4o": "o200k_base",
    **dict.fromkeys(("ft:gpt-4", "ft:gpt-3.5-turbo", "ft:davinci-002", "ft:babbage-002"), "cl100k_base"),
}


def encoding_named(name: str) -> str | None:
    """Return the encoding of a name, an encoding's or a model's in any spelling; None for other names.

    >>> encoding_named("GPT-4o"), encoding_named("o200k-base"), encoding_named("bert")
    ('o200k_base', 'o200k_base', None)
    """
    found = named(name, ENCODINGS, MODELS)
    return found or next((encoding for prefix, encoding in _PREFIXES.items() if name.lower().startswith(prefix)), None)


Behavior = Literal["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]


@dataclass(frozen=True, slots=True)
class Split:
    """Split every word at the matches of a pattern; the gaps between matches become words.

    behavior: a match becomes a word (`isolated`) or is dropped (`removed`); a run of adjacent matches becomes one word
    (`contiguous`); the first match of a run is joined to the gap before it (`merged_with_previous`), or the last one to
    the gap after it (`merged_with_next`), and the other matches of the run become words. invert: swaps matches and
    gaps. An empty match cuts without making a word; it is ignored if it touches the previous match.

    Source: HF's pre-tokenizer Split.
    """

    pattern: str
    behavior: Behavior = "isolated"
    invert: bool = False


@dataclass(frozen=True, slots=True)
class Prefix:
    """Insert a text before every word that does not begin with it; with "first", only at the start of the input.

    A word is at the start of the input if its first character comes from the input's first character. An inserted
    prefix that was split off also comes from that character.
    """

    text: str
    scheme: Literal["always", "first"] = "always"


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace one character by another."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ByteChars:
    """Replace every byte by its character in GPT-2's table; later steps get these characters.

    After the last step they are bytes again, as models of bytes read them; see `SpelledBytes`.

    Hazard: a later step can cut inside a character of the text.
    """


@dataclass(frozen=True, slots=True)
class SpelledBytes:
    """Replace every byte as `ByteChars` does; models of characters read these characters.

    Source: HF's ByteLevel before WordPiece, WordLevel and Unigram.
    """


Step: TypeAlias = Split | Prefix | Replace | ByteChars | SpelledBytes
Rule: TypeAlias = tuple[Step, ...]
STEPS: tuple[type, ...] = get_args(Step)


def escape(text: str) -> str:
    r"""Return the pattern that matches only a literal text.

    >>> escape("a.b")
    'a\\.b'
    """
    return re.sub(r"[][\\.+*?(){}|^$]", r"\\\g<0>", text)


def members(ranges: str) -> str:
    """Return the inside of a bracket expression for code points like `1F00-1F15 1F18`."""
    return "".join("-".join(chr(int(code, 16)) for code in part.split("-")) for part in ranges.split())


# Shared parts of patterns.
_SUFFIX = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+"
_WHITESPACE = r"|\s*[\r\n]+|\s+(?!\S)|\s+"


def _cased(suffix: str = "", but: str = "") -> str:
    """Return the pattern of words that split before a capital inside them; `but` narrows their letters."""
    before = r"[^\r\n\p{L}\p{N}]?"
    upper, lower = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{but}]", rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{but}]"
    return f"{before}{upper}*{lower}+{suffix}|{before}{upper}+{lower}*{suffix}"


_HAN = r"[\p{Han}]+|" + _cased(_SUFFIX + "?", r"&&[^\p{Han}]")

# OpenAI, gpt-2/src/encoder.py (2019), and the rule of HF's ByteLevel.
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# OpenAI, tiktoken_ext/openai_public.py of tiktoken 0.8 and later.
_R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

# Rules of one pattern; its matches and the gaps between them are the words.
PATTERNS: dict[str, str] = {
    # GPT-2; also RoBERTa, OPT, Phi, OLMo 1.
    "gpt2": _GPT2,
    # EleutherAI's GPT-NeoX-20B, Pythia.
    "gpt-neox": _GPT2,
    # GPT-3 and Codex, in tiktoken's spelling.
    "r50k": _R50K,
    "p50k": _R50K,
    # GPT-3.5 and GPT-4, tiktoken 0.8 and later. HF uses llama3 for them, which splits trailing whitespace differently.
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    # GPT-4o, o1, gpt-oss, Llama 4.
    "o200k": _cased(_SUFFIX + "?") + r"|\p{N}{1,3}|" + _SIGNS + r"[\r\n/]*" + _WHITESPACE,
    # Meta's Llama 3; also GLM-4, OLMo 2, DBRX, Phi-4, and cl100k before tiktoken 0.7.
    "llama3": _SUFFIX + "|" + _WORD + r"|\p{N}{1,3}|" + _SIGNS + r"[\r\n]*" + _WHITESPACE,
    # Alibaba's Qwen 2, 2.5 and 3; also StableLM 2, Grok 2.
    "qwen2": _SUFFIX + "|" + _WORD + r"|\p{N}|" + _SIGNS + r"[\r\n]*" + _WHITESPACE,
    # Qwen 3.5.
    "qwen35": _SUFFIX + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + _WHITESPACE,
    # Mistral's Nemo and later; NVIDIA's Nemotron 3.
    "tekken": _cased() + r"|\p{N}|" + _SIGNS + r"[\r\n/]*" + _WHITESPACE,
    # Moonshot's Kimi K2 and K3, tokenization_kimi.py.
    "kimi-k2": _HAN + r"|\p{N}{1,3}|" + _SIGNS + r"[\r\n]*" + _WHITESPACE,
    # ByteDance's Seed-Coder.
    "seed-coder": _SUFFIX + "|" + _WORD + r"|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+" + _WHITESPACE,
    # Ant's Ling (BailingMoE).
    "bailing": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+",
    # LG's EXAONE MoE: a word may contain spaces.
    "exaone-moe": _SUFFIX + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|" + _SIGNS + r"[\r\n/]?"
    r"|\s*[\r\n]|\s+(?!\S)|\s+",
    # BigScience's BLOOM; also Poro, GPT3-Finnish. Its matches leave gaps. A nested bracket adds its contents.
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
}

# HF's Digits uses Unicode 17, which has two more rows of digits than 16.
DIGIT = rf"[\p{{N}}{members('11DE0-11DE9 16FF4-16FF6')}]"
# HF's Punctuation uses Unicode 8: these ranges had no punctuation, and two signs were punctuation only then.
_UNKNOWN_SIGNS = (
    "61D 9FD-A76 C77-C84 1B4E-1B4F 1B7D-1B7F 2E43-2E5D 10D6E-10F89 113D4-1145D 11660-116B9 1183B-11FFF "
    "12FF1-12FF2 16D6D-16FE2 1E5FF-1E95F"
)
SIGN = rf"[!-/:-@\[-`{{-~\p{{P}}{members('166D 111C9')}&&[^{members(_UNKNOWN_SIGNS)}]]"

# DeepSeek LLM's letters, the ranges of its file: the cased letters of Unicode 11 without some scripts.
_CASED_LETTERS = members(
    "41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376 377 37B-37D 37F 386 388-38A 38C 38E-3A1 "
    "3A3-3F5 3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B 1D6B-1D77 1D79-1D9A "
    "1E00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 "
    "1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 "
    "212A-212D 212F-2134 2139 213C-213F 2145-2149 214E 2183 2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D "
    "A680-A69B A722-A76F A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F "
    "104B0-104D3 104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943"
)
# What \b is there, as `spec/oniguruma.py` translates it.
_ONIGURUMA_WORD = "[\\w²³¹¼-¾&&[^\u200c\u200d]]"
_ONIGURUMA_BORDER = f"(?:(?<={_ONIGURUMA_WORD})(?!{_ONIGURUMA_WORD})|(?<!{_ONIGURUMA_WORD})(?={_ONIGURUMA_WORD}))"
_CJK = Split("[一-龥ࠀ-一가-퟿]+")

_DIGITS = Split(DIGIT, "isolated")
_NUMBERS = Split(DIGIT, "contiguous")
_WORDS = Split(r"\s", "removed")
_METASPACE = (Replace(" ", "▁"), Prefix("▁"), Split("▁", "merged_with_next"))

NAMED: dict[str, Rule] = {name: (Split(pattern),) for name, pattern in PATTERNS.items()} | {
    # DeepSeek V3, R1 and later.
    "deepseek-v3": (
        Split(r"\p{N}{1,3}"),
        Split("[一-龥぀-ゟ゠-ヿ]+"),
        Split(
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            r"| ?[\p{P}\p{S}]+[\r\n]*" + _WHITESPACE
        ),
    ),
    # DeepSeek LLM (2023). Its file is for Oniguruma: `$` is the end of a line.
    "deepseek-llm": (
        Split(r"[\r\n]"),
        Split(rf"\s?[{_CASED_LETTERS}]+"),
        Split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"),
        Split(r"\s+(?![^\n])"),
        _CJK,
        _DIGITS,
    ),
    # DeepSeek Coder (2023).
    "deepseek-coder": (Split(r"[\r\n]"), Split(r"\s?\p{L}+"), Split(r"\s?\p{P}+"), _CJK, _DIGITS),
    # BigCode's StarCoder; also Command R, SmolLM, Refact, CodeShell, Minerva.
    "starcoder": (_DIGITS, Split(_GPT2)),
    # TII's Falcon 7B and 40B. Digits are matched in the bytes' characters: ò is cut because its last byte is ².
    "falcon": (Split(SIGN, "contiguous"), Split(_GPT2), ByteChars(), _NUMBERS, Split("[0-9][0-9][0-9]")),
    # LumiOpen's Viking, as in llama.cpp.
    "viking": (Split(PATTERNS["bloom"]), Split(r"\p{N}")),
    # Meta's Chameleon, as in llama.cpp.
    "chameleon": (
        Split("<sentinel:[0-9]+>"),
        Split("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"),
        Split(r"([\t\n]|    |  )"),
        Split(r"\p{N}"),
        Split(r"[\p{P}!-/:-@\[-`{-~]"),
        Split(_GPT2),
    ),
    # SuperBPE (2025), as in llama.cpp: no words; groups of three digits, counted from the end of the number.
    "superbpe": (Split(r"\p{N}+"), Split(r"(?=(\d{3})+(?!\d))")),
    # Cohere's Tiny Aya: groups of three digits, counted from the end of the number.
    "tiny-aya": (Split(rf"\d{{1,3}}(?=(?:\d{{3}})*{_ONIGURUMA_BORDER})"), Split(PATTERNS["o200k"])),
    # OpenAI's CLIP, without its normalizer.
    "clip": (
        Split(
            r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
            "removed",
            invert=True,
        ),
        Split(_GPT2),
    ),
    # Google's BERT, without its normalizer; HF's BertPreTokenizer.
    "bert": (_WORDS, Split(SIGN)),
    # HF's Whitespace, WhitespaceSplit, Punctuation, Digits and Metaspace with their defaults.
    "whitespace": (Split(r"\w+|[^\w\s]+", "removed", invert=True),),
    "whitespace-split": (_WORDS,),
    "punctuation": (Split(SIGN),),
    "digits": (_NUMBERS,),
    "metaspace": _METASPACE,
    # For text in which a normalizer replaced spaces by U+2581: SentencePiece's default training, except for scripts.
    "sentencepiece": (Split(r"▁?[\p{L}\p{M}]+|▁?\p{N}+|▁?[^▁\p{L}\p{M}\p{N}]+|▁"),),
    # SentencePiece models converted to tokenizer.json: T5, ALBERT, XLM-R.
    "t5": (_WORDS, *_METASPACE),
    # Google's Gemma, whose normalizer replaces spaces by ▁ first; this splits at any other space.
    "gemma": (Split(" ", "merged_with_previous"),),
}

# How numbers may be cut before everything else, as regexes; the last one counts from the end of the number.
DIGIT_POLICIES = {
    "1": r"\p{N}",
    "1-2": r"\p{N}{1,2}",
    "1-3": r"\p{N}{1,3}",
    "1-3-right": r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
}

# Other published names of the same rules; `-`, `_`, spaces and case are ignored.
ALIASES: dict[str, str] = {
    # tiktoken's encodings, and OpenAI's models.
    **{name: encoding.splitter for name, encoding in ENCODINGS.items() if name not in PATTERNS},
    **{model: ENCODINGS[encoding].splitter for model, encoding in MODELS.items()},
    # Tokenizer files with the same rule.
    "llama4": "o200k",
    "qwen3": "qwen2",
    "gpt-neox-20b": "gpt-neox",
    "roberta": "gpt2",
    "roberta-base": "gpt2",
    **dict.fromkeys(("bert-base-uncased", "bert-base-cased", "bert-base-chinese"), "bert"),
}


# ---------------------------------------------------------------------------------------------------------------------
# Rules that split text with U+2581 for spaces without changing ids, derived from a vocabulary.

SPACE = "▁"
# In tokens between bytes 0xFF: U+2581 after, or before, another character; a line feed beside another character.
_AFTER_OTHER = re.compile(rb"(?<!\xff)(?<!\xe2\x96\x81)\xe2\x96\x81")
_BEFORE_OTHER = re.compile(rb"\xe2\x96\x81(?!\xff|\xe2\x96\x81)")
_MIXED_LINE = re.compile(rb"\n(?![\xff\n])|(?<![\xff\n])\n")


def parting(symbols: Iterable[str]) -> Rule:
    """Return the rule that isolates some strings as words: leftmost first, then the longest."""
    alone = sorted(symbols, key=len, reverse=True)
    return (Split("|".join(map(escape, alone))),) if alone else ()


def kept_whole(symbols: Iterable[str], rule: Rule, steps: Steps) -> tuple[Rule, Steps]:
    """Return a splitter and a normalizer that keep each user-defined piece whole, as one word."""
    users = tuple(symbols)
    return (*parting(users), *rule), _with_symbols(steps, users) if users else steps


def not_kept_whole(symbols: Iterable[str], rule: Rule, steps: Steps) -> tuple[Rule, Steps]:
    """Return the splitter and the normalizer that `kept_whole` was given; others unchanged."""
    users = tuple(symbols)
    alone = parting(users)
    rule = rule[len(alone) :] if rule[: len(alone)] == alone else rule
    return rule, _with_symbols(steps, ()) if users and steps == _with_symbols(steps, users) else steps


def _with_symbols(steps: Steps, symbols: tuple[str, ...]) -> Steps:
    from subwords.spec.normalizer import SentencePiece

    return tuple(replace(step, user_symbols=symbols) if isinstance(step, SentencePiece) else step for step in steps)


def writes_spaces(rule: Rule, steps: tuple[Any, ...]) -> bool:
    """Whether a normalizer's steps or the splitter replace spaces by U+2581, or insert one."""
    changing = [*steps, *(step for step in rule if not isinstance(step, Split))]
    # By its name: with the module of normalizers, a first training takes 5 ms more.
    return any(type(step).__name__ == "SentencePiece" or SPACE in repr(step) for step in changing)


def space_rule(
    tokens: Iterable[bytes], symbols: Iterable[bytes] = (), *, unk_space: bool = False, lines: bool = False
) -> Rule:
    """Return the finest known rule that splits inside no token; () if no rule is known.

    A word begins at every U+2581, or at every run of U+2581 if a token contains two in a row. If tokens have U+2581 at
    their ends, words end there instead. For a model that merges two tokens only if the result is a token, the ids are
    the same with and without the rule. tokens: all tokens that take part in merges, alone or several with 0xFF between.
    symbols: user-defined pieces; they are isolated first, leftmost and longest, each as a word. unk_space: U+2581 alone
    is unknown, and adjacent unknown characters become one unk, so no split at U+2581 is exact. lines: a line feed is
    known or falls back to bytes; runs of it then become words, unless a token contains a line feed and another
    character.

    Source: SentencePiece's convention for whitespace.

    >>> from subwords.spec.splitter import space_rule
    >>> [step.pattern for step in space_rule([b"a", "▁a".encode(), "▁▁".encode()])]
    ['▁+[^▁]*|[^▁]+']
    >>> space_rule(["a▁b".encode()])
    ()
    """
    alone = [symbol.decode() for symbol in symbols]
    first = parting(alone)
    if unk_space:
        return first
    # One search over all tokens: no byte of UTF-8 is 0xFF.
    joined = b"".join(b"\xff" + token + b"\xff" for token in [*tokens, *(symbol.encode() for symbol in alone)])
    run = "+" if SPACE.encode() * 2 in joined else ""
    line = lines and not _MIXED_LINE.search(joined)
    feeds, other = ("\n+|", f"[^{SPACE}\n]") if line else ("", f"[^{SPACE}]")
    if not _AFTER_OTHER.search(joined):
        return (*first, Split(f"{feeds}{SPACE}{run}{other}*|{other}+"))
    if not _BEFORE_OTHER.search(joined):
        return (*first, Split(f"{feeds}{other}*{SPACE}{run}|{other}+"))
    return first


# ---------------------------------------------------------------------------------------------------------------------
# Steps of normalizers and splitters as JSON text, which identifies a custom rule in word counts.

_BYTES = ("charsmap",)  # written in base64


def to_text(steps: tuple[Any, ...]) -> str:
    """Return steps as JSON: a list with one object per step, of its type and its fields.

    >>> from subwords.spec.normalizer import Prepend
    >>> to_text((Prepend("▁"),))
    '[{"step": "Prepend", "text": "▁"}]'
    """
    if not steps:
        return "null"
    import json

    return json.dumps([{"step": type(step).__name__} | _fields(step) for step in steps], ensure_ascii=False)


def _fields(step: Any) -> dict[str, Any]:
    from base64 import b64encode

    found = {field.name: getattr(step, field.name) for field in fields(step)}
    return {name: b64encode(value).decode() if name in _BYTES else value for name, value in found.items()}


def looks_like_steps(text: str) -> bool:
    """Whether a text begins like the output of `to_text`."""
    return text.startswith('[{"step": "')


def from_text(text: str, room: Literal["splitter", "normalizer"]) -> tuple[Any, ...]:
    """Return the steps that `to_text` wrote for a "splitter" or a "normalizer"; InputError for other text.

    >>> from_text('[{"step": "Lowercase"}]', "normalizer")
    (Lowercase(),)
    """
    import json

    try:
        kinds = {kind.__name__: kind for kind in import_module(f"subwords.spec.{room}").STEPS}
        return tuple(_step(dict(entry), kinds) for entry in json.loads(text))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(
            f"invalid steps of a {room}: expected JSON as in word counts, not {text!r:.80}: {error}"
        ) from None


def _step(entry: dict[str, Any], kinds: dict[str, type]) -> Any:
    from base64 import b64decode

    kind = kinds[entry.pop("step")]
    expected = {field.name: str(field.type) for field in fields(kind)}
    for name, value in entry.items():
        if name in _BYTES:
            entry[name] = b64decode(value, validate=True)
        elif isinstance(value, list):
            entry[name] = tuple(value)
        wanted = bool if "bool" in expected[name] else tuple if "tuple" in expected[name] else str
        if name not in _BYTES and not (isinstance(entry[name], wanted) or (value is None and "None" in expected[name])):
            raise TypeError(f"{name} is {value!r:.40}")
        if wanted is tuple and not all(isinstance(item, str) for item in entry[name]):
            raise TypeError(f"{name} must contain only strings")
    return kind(**entry)
