"""Turn what users pass as splitter or normalizer (names, regexes, tokenizer.json nodes, lists) into objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from subwords.spec import splitter as splitters
from subwords.spec.splitter import from_text, looks_like_steps
from subwords.split.splitter import Splitter
from subwords.support.checks import check_choice
from subwords.support.errors import InputError
from subwords.support.names import looks_like_name, named, nearest

if TYPE_CHECKING:
    from subwords.normalize.normalizer import Normalizer
    from subwords.spec import normalizer as normalizers
    from subwords.spec.added_token import AddedToken
    from subwords.spec.decoder import Decoder
    from subwords.spec.model import Model
    from subwords.spec.padding import ModelInputs, Padding, Truncation
    from subwords.spec.template import TemplateLike
    from subwords.spec.tokenizer import TokenizerSpec


SplitterLike: TypeAlias = "str | Splitter | splitters.Step | Mapping[str, Any] | Sequence[SplitterLike] | None"
NormalizerLike: TypeAlias = "str | Normalizer | normalizers.Step | Mapping[str, Any] | Sequence[NormalizerLike] | None"
DecoderLike: TypeAlias = "str | Decoder | Mapping[str, Any] | None"


class Changes(TypedDict, total=False):
    """The keyword arguments of `Tokenizer.with_`."""

    model: Model
    splitter: SplitterLike
    normalizer: NormalizerLike
    template: TemplateLike
    decoder: DecoderLike
    added_tokens: Sequence[AddedToken]
    roles: Mapping[str, str | int] | tuple[tuple[str, int], ...]
    chat_template: str | None
    padding: Padding | None
    truncation: Truncation | None
    inputs: ModelInputs | None


def splitter(rule: SplitterLike, *, digits: Literal["1", "1-2", "1-3", "1-3-right"] | None = None) -> Splitter:
    r"""Return the splitter of a name, a regex, a tokenizer.json (or its pre_tokenizer), or a list of these.

    Names are the keys of `subwords.spec.splitter.NAMED`, case-insensitive: "gpt2", "cl100k", "o200k", "llama3",
    "qwen2", "deepseek-v3", "bert", "whitespace", ...; its `ALIASES` work too: "cl100k_base", "gpt-4o", ...
    A regex splits at its matches; the text between two matches is a word too. The steps of a list run in order. None,
    or "none", leaves the text unsplit. Raises InputError for any other value, and for a regex that is one plain word.

    digits: numbers are cut first, into single digits ("1"), groups of up to two or three ("1-2", "1-3"), or groups of
    three counted from the end ("1-3-right": 1 234 567), whatever the rule then does.

    >>> import subwords
    >>> subwords.splitter(r"\w+|\W").split("no, no")
    ['no', ',', ' ', 'no']
    >>> subwords.splitter("cl100k")
    Splitter('cl100k', route: compiled masks)
    >>> subwords.splitter("gpt2", digits="1-3-right").split("no 1234567")
    ['no', ' ', '1', '234', '567']

    Source: A. K. Singh and D. Strouse, 2024 (three digits from the right).
    """
    if digits is None:
        return rule if isinstance(rule, Splitter) else Splitter(_rule(rule))
    check_choice("digits", digits, splitters.DIGIT_POLICIES)
    steps = _rule(rule)
    cuts = splitters.Split | splitters.ByteChars | splitters.SpelledBytes
    at = next((k for k, step in enumerate(steps) if isinstance(step, cuts)), len(steps))
    return Splitter((*steps[:at], splitters.Split(splitters.DIGIT_POLICIES[digits]), *steps[at:]))


def _rule(rule: Any) -> splitters.Rule:
    if isinstance(rule, Splitter):
        return rule.rule
    if rule is None or (isinstance(rule, str) and rule.lower() == "none"):
        return ()
    if isinstance(rule, str):
        return _rule_of_text(rule)
    if isinstance(rule, get_args(splitters.Step)):
        return (rule,)
    if isinstance(rule, Mapping):
        from subwords.formats.hf.pre_tokenizers import from_pre_tokenizer
        from subwords.formats.json_node import Node

        return from_pre_tokenizer(
            Node("", "pre_tokenizer", rule["pre_tokenizer"] if "pre_tokenizer" in rule else dict(rule))
        )
    if isinstance(rule, Sequence) and not isinstance(rule, bytes | bytearray):
        return tuple(step for part in rule for step in _rule(part))
    names = ", ".join(splitters.NAMED)
    raise InputError(
        f"expected a splitter's name ({names}), a regex, a tokenizer.json or a list of these, not {type(rule).__name__}"
    )


def _rule_of_text(text: str) -> splitters.Rule:
    names, aliases = splitters.NAMED, splitters.ALIASES
    if named(text, ["none"]):
        return ()
    if name := named(text, names, aliases):
        return names[name]
    if looks_like_steps(text):
        return from_text(text, "splitter")
    if text == "null" or text.startswith('{"'):
        try:
            return _rule(json.loads(text))
        except (json.JSONDecodeError, RecursionError):
            pass
    if looks_like_name(text):
        # As a regex it would only split at this literal word: probably a misspelled name.
        raise InputError(
            f"expected a splitter's name or a regex, not {text!r:.80}{nearest(text, [*names, *aliases]) or '.'} "
            f"Names are {', '.join(names)}. To split at this text itself, write it as a group: "
            f"(?:{splitters.escape(text):.80})"
        )
    return (splitters.Split(text),)


def normalizer(rule: NormalizerLike) -> Normalizer:
    """Return the normalizer of a name, a step, a tokenizer.json (or its normalizer), or a list of these.

    Names are the keys of `subwords.spec.normalizer.NAMED`, case-insensitive: "bert-uncased", "bert-cased", "nfc",
    "nfkc", "lowercase", ... The steps of a list run in order. None leaves text unchanged. Raises InputError for any
    other value.

    >>> import subwords
    >>> subwords.normalizer(["nfkc", "lowercase"]).normalize("ＡＢ")
    'ab'
    """
    from subwords.normalize.normalizer import Normalizer

    return rule if isinstance(rule, Normalizer) else Normalizer(_steps_of_rule(rule))


def _steps_of_rule(rule: Any) -> normalizers.Steps:
    from subwords.normalize.normalizer import Normalizer
    from subwords.spec import normalizer as normalizers

    if isinstance(rule, Normalizer):
        return rule.steps
    if rule is None:
        return ()
    if isinstance(rule, get_args(normalizers.Step)):
        return (rule,)
    names = normalizers.NAMED
    if isinstance(rule, str):
        if name := named(rule, names):
            return names[name]
        if looks_like_steps(rule):
            return from_text(rule, "normalizer")
        if rule == "null" or rule.startswith('{"'):
            try:
                return _steps_of_rule(json.loads(rule))
            except (json.JSONDecodeError, RecursionError):
                pass
        raise InputError(f"expected a normalizer's name ({', '.join(names)}), not {rule!r:.80}{nearest(rule, names)}")
    if isinstance(rule, Mapping):
        from subwords.formats.hf.normalizers import from_normalizer
        from subwords.formats.json_node import Node

        return from_normalizer(Node("", "normalizer", rule["normalizer"] if "normalizer" in rule else dict(rule)))
    if isinstance(rule, Sequence) and not isinstance(rule, bytes | bytearray):
        return tuple(step for part in rule for step in _steps_of_rule(part))
    raise InputError(
        f"expected a normalizer's name ({', '.join(names)}), a step, a tokenizer.json or a list of these, "
        f"not {type(rule).__name__}"
    )


def decoder(value: DecoderLike) -> Decoder | None:
    """Return the decoder of a name of `subwords.spec.decoder.NAMED`, or of a tokenizer.json (or its decoder)."""
    if isinstance(value, str):
        from subwords.spec.decoder import NAMED

        if name := named(value, NAMED):
            return NAMED[name]
        raise InputError(f"expected a decoder's name ({', '.join(NAMED)}), not {value!r:.80}{nearest(value, NAMED)}")
    if isinstance(value, Mapping):
        from subwords.formats.hf.decoders import from_decoder
        from subwords.formats.json_node import Node

        return from_decoder(Node("", "decoder", value["decoder"] if "decoder" in value else dict(value)))
    return value


def change_spec(spec: TokenizerSpec, changes: Mapping[str, Any]) -> TokenizerSpec:
    """Return a changed spec, given the arguments of `Tokenizer.with_`.

    Template and roles name tokens of the changed tokenizer. A template that stays gets the ids of another vocabulary.
    """
    fields = dict(changes)
    if "splitter" in changes:
        fields["splitter"] = splitter(changes["splitter"]).rule
    if "normalizer" in changes:
        fields["normalizer"] = normalizer(changes["normalizer"]).steps
    if "decoder" in changes:
        fields["decoder"] = decoder(changes["decoder"])
    others: dict[str, Any] = {name: fields.pop(name) for name in ("template", "roles", "padding") if name in fields}
    if spec.template is not None and getattr(changes.get("model"), "vocab", spec.model.vocab) != spec.model.vocab:
        others.setdefault("template", spec.template)
    if not others:
        return spec.with_(fields)
    spec = spec.with_(fields | {name: () if name == "roles" else None for name in others})
    if "template" in others:
        from subwords.spec.template import template_of

        others["template"] = template_of(others["template"], spec.index_of)
    if "roles" in others:
        others["roles"] = spec.roles_of(others["roles"])
    return spec.with_(others)
