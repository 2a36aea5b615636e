"""OpenAI's encodings by name: the splitter and special tokens of each, and which models use which.

Source: tiktoken_ext/openai_public.py and tiktoken/model.py of tiktoken 0.14.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.support.names import named


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
