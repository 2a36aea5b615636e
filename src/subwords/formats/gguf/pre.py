"""The pre-tokenizers of llama.cpp: a file names one, here are their rules.

The rules give llama.cpp's words, not those of the tokenizer that a file was converted from. llama.cpp reduces every
character beyond ASCII to its category, and it has only the main categories: its rules for GPT-4o and Tekken do not
know capitals beyond ASCII, nor combining marks. Where the rules are the same, they are the named rules of
`components/splitter.py`; the tests compare all of them with a twin of llama.cpp's way of splitting.
"""

from __future__ import annotations

from dataclasses import dataclass

from subwords.components.splitter import NAMED, Rule, Split

__all__ = ["PRE", "Pre", "name_of"]


@dataclass(frozen=True, slots=True)
class Pre:
    """A pre-tokenizer.

    whole_words: a word that is a token is not segmented. add_bos: whether the bos token is added unless the file says
    otherwise. strips_mask: `<mask>` also matches the whitespace before it.
    """

    rule: Rule
    whole_words: bool = False
    add_bos: bool = False
    strips_mask: bool = False


_SUFFIX = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"
_WHITESPACE = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_SIGNS = Split(r"[\p{P}$+<=>^~|]+")
_CODER = NAMED["deepseek-coder"]
_GPT2, _STARCODER, _LLAMA3, _QWEN2 = (NAMED[name] for name in ("gpt2", "starcoder", "llama3", "qwen2"))


def _cased(numbers: str, suffix: str = "", letters: str = r"\p{L}") -> Rule:
    """Return the rule of words that split before a capital; every letter beyond ASCII is both cases."""
    before = r"[^\r\n\p{L}\p{N}]?"
    upper, lower = f"[{letters}&&[^a-z]]", f"[{letters}&&[^A-Z]]"
    words = f"{before}{upper}*{lower}+{suffix}|{before}{upper}+{lower}*{suffix}"
    return (Split(f"{words}|{numbers}" + r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _WHITESPACE),)


_GPT4O = Pre(_cased(r"\p{N}{1,3}", _SUFFIX))

# For a rule of several names the first one is written.
PRE: dict[str, Pre] = {
    "gpt-2": Pre(_GPT2),
    **dict.fromkeys(
        ("phi-2", "jina-es", "jina-de", "gigachat", "a.x-4.0", "mellum", "modern-bert", "mpt", "olmo", "jais"),
        Pre(_GPT2),
    ),
    **dict.fromkeys(("trillion", "granite-docling", "exaone4", "jina-v1-en", "roberta-bpe"), Pre(_GPT2)),
    **dict.fromkeys(("jina-v2-es", "jina-v2-de", "jina-v2-code"), Pre(_GPT2, strips_mask=True)),
    **dict.fromkeys(
        ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"),
        Pre(_LLAMA3, whole_words=True, add_bos=True),
    ),
    **dict.fromkeys(("dbrx", "smaug-bpe", "chatglm-bpe", "glm4"), Pre(_LLAMA3)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "megrez"), Pre(_QWEN2)),
    **dict.fromkeys(("hunyuan", "solar-open", "grok-2"), Pre(_QWEN2)),
    "qwen35": Pre(NAMED["qwen35"]),
    **dict.fromkeys(
        ("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"), Pre(_STARCODER)
    ),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"), Pre(NAMED["deepseek-v3"])),
    "deepseek-coder": Pre((*_CODER[:3], Split("[一-龥ࠀ-一가-퟿&&[^\\s]]+"), Split(r"\p{N}"))),  # U+3000 is whitespace
    "falcon": Pre((Split(r"[\p{P}$+<=>^~|`]+"), *_GPT2, Split("[0-9][0-9][0-9]"))),
    **dict.fromkeys(("bloom", "poro-chat", "gpt3-finnish"), Pre(NAMED["bloom"])),
    "viking": Pre(NAMED["viking"]),
    "chameleon": Pre(NAMED["chameleon"], add_bos=True),
    "superbpe": Pre((Split(r"\p{N}+"), Split("(?=([0-9]{3})+(?![0-9]))"))),
    "tekken": Pre(_cased(r"\p{N}"), whole_words=True, add_bos=True),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"), _GPT4O),
    "granite-embed-multi-97m": Pre(_cased(r"\p{N}{1,3}", _SUFFIX, r"\p{L}\p{M}"), whole_words=True),
    **dict.fromkeys(("bailingmoe", "bailingmoe2", "llada-moe"), Pre(NAMED["bailing"])),
    "seed-coder": Pre(NAMED["seed-coder"]),
    "exaone-moe": Pre(NAMED["exaone-moe"]),
    "minicpm5": Pre((Split(r"\p{N}{1,3}"), *_LLAMA3), whole_words=True),
    "default": Pre((_SIGNS, *_GPT2, Split(r"\p{N}+"), Split("[0-9][0-9][0-9]"))),
}


def name_of(rule: Rule, *, whole_words: bool) -> str | None:
    """Return the name of the pre-tokenizer with this rule, None if there is none.

    >>> name_of(NAMED["llama3"], whole_words=True), name_of(NAMED["o200k"], whole_words=False)
    ('llama-bpe', None)
    """
    known = (name for name, pre in PRE.items() if (pre.rule, pre.whole_words) == (rule, whole_words))
    return next(known, None)
