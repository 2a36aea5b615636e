"""TokenizerSpec: a tokenizer as an immutable value, without the tables that run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from subwords.spec import splitter as splitters
from subwords.spec.added_token import AddedToken, check_added_tokens, checked_roles, roles_by_name
from subwords.spec.model import Model
from subwords.support.checks import check_string
from subwords.support.errors import InputError
from subwords.support.value import LATER, Value

if TYPE_CHECKING:
    from subwords.spec import normalizer as normalizers
    from subwords.spec.decoder import Decoder
    from subwords.spec.padding import ModelInputs, Padding, Truncation
    from subwords.spec.template import Template


@dataclass(frozen=True, slots=True)
class Foreign:
    """Fields of a file that nothing here uses: written back to the same format unless they contradict the spec.

    json: JSON text by key of a tokenizer.json: unknown keys, and the file's own spelling of components, which is used
    only while it is equivalent to the spec.
    model_size: the number of ids in the model of a tokenizer.json, without added tokens; None for other sources.
    config: JSON text by key of a tokenizer_config.json.
    chat_templates: those of additional_chat_templates/ in a folder, by name.
    warned: what each reading of the file warns of, "" for nothing.
    tekken: what `formats/tiktoken.py` keeps of a tekken.json.
    sentencepiece: the parts of a .model file, as `PieceTable.kept` in `formats/sentencepiece/read.py` returns them.
    """

    json: tuple[tuple[str, str], ...] = ()
    model_size: int | None = None
    config: tuple[tuple[str, str], ...] = ()
    chat_templates: tuple[tuple[str, str], ...] = ()
    sentencepiece: tuple[bytes, bytes, bytes] | None = field(default=None, repr=False)
    warned: str = ""
    tekken: tuple[str, ...] = field(default=(), repr=False)

    def entry(self, key: str) -> str | None:
        """Return the JSON text of a key, None if it is missing."""
        return dict(self.json).get(key)


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenizerSpec(Value):
    """The complete definition of a tokenizer, immutable; equal specs give the same ids, tokens and text.

    model: of one of the families. normalizer, splitter: steps in order; () leaves the text unchanged and
    unsplit. template: adds special tokens around a text. decoder: None joins the bytes of tokens. added_tokens: their
    ids are below len(model.vocab). roles: ids of bos, eos, unk, pad, cls, sep and mask tokens; () if the special
    tokens have the usual names. chat_template: Jinja text that turns a conversation into a text; nothing here runs it.
    inputs: what the model takes, for calls that do not say it; None for the usual.
    `digest` is a SHA-256 of all fields except `foreign`, which equality ignores too. Raises InputError for parts that
    do not fit together.

    >>> import subwords
    >>> spec = subwords.train(["ab ab"], vocab_size=258).spec
    >>> spec == subwords.train(["ab ab"], vocab_size=258).spec, spec.splitter[0].behavior
    (True, 'isolated')
    """

    model: Model
    normalizer: normalizers.Steps = ()
    splitter: splitters.Rule = ()
    template: Template | None = None
    decoder: Decoder | None = None
    added_tokens: tuple[AddedToken, ...] = ()
    roles: tuple[tuple[str, int], ...] = ()
    padding: Padding | None = None
    truncation: Truncation | None = None
    chat_template: str | None = None
    inputs: ModelInputs | None = field(default=None, metadata=LATER)
    foreign: Foreign = field(default=Foreign(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise InputError(f"expected a BPE, WordPiece, Unigram or WordLevel model, not {type(self.model).__name__}")
        added = check_added_tokens(self.added_tokens)
        object.__setattr__(self, "added_tokens", added)
        _check_steps("splitter", self.splitter, splitters.STEPS)
        if self.normalizer != ():
            from subwords.spec import normalizer as normalizers

            _check_steps("normalizer", self.normalizer, normalizers.STEPS)
        size = len(self.model.vocab)
        for token in added:
            if token.id >= size:
                raise InputError(f"expected added token ids below {size}; {token.content!r} has {token.id}")
            held = self.model.vocab[token.id]
            if held not in (token.content.encode(), self.model.from_files(token.content)):
                raise InputError(
                    f"expected added tokens with the ids that they have in the vocabulary; {token.content!r:.60} has "
                    f"{token.id}, the id of {held!r:.60}: use with_tokens([...]), which gives the ids"
                )
        self._check_parts()
        if self.chat_template is not None:
            check_string("chat_template", self.chat_template)
        roles = checked_roles(self.roles, size)
        object.__setattr__(self, "roles", () if roles == roles_by_name(added) else roles)
        if self.padding is not None:
            object.__setattr__(self, "padding", self.filled(self.padding))

    def _check_parts(self) -> None:
        if self.padding is not None or self.truncation is not None or self.inputs is not None:
            from subwords.spec.padding import NO_INPUTS, ModelInputs, Padding, Truncation

            if self.inputs == NO_INPUTS:
                object.__setattr__(self, "inputs", None)
            for name, kind in (("padding", Padding), ("truncation", Truncation), ("inputs", ModelInputs)):
                value = getattr(self, name)
                if value is not None and not isinstance(value, kind):
                    raise InputError(f"expected {name} as subwords.{kind.__name__} or None, not {value!r:.60}")
        if self.decoder is not None:
            from subwords.spec.decoder import Decoder

            if not isinstance(self.decoder, get_args(Decoder)):
                raise InputError(f"expected a decoder of subwords.spec.decoder or None, not {self.decoder!r:.60}")

    @classmethod
    def trained(
        cls,
        model: Model,
        special_tokens: Sequence[str],
        *,
        splitter: splitters.Rule,
        normalizer: normalizers.Steps,
        decoder: Decoder | None,
        template: Template | None = None,
    ) -> TokenizerSpec:
        """Return the spec of a trained model, whose special tokens have the first ids."""
        added = tuple(AddedToken(content, index) for index, content in enumerate(special_tokens))
        return cls(
            model=model,
            normalizer=normalizer,
            splitter=splitter,
            template=template,
            decoder=decoder,
            added_tokens=added,
        )

    def with_tokens(self, contents: Sequence[str], flags: Mapping[str, bool]) -> TokenizerSpec:
        """Return a spec with more added tokens; see `Tokenizer.with_tokens`."""
        model = self.model
        ids = dict(self._added_ids)
        for content in contents:
            # As in HF, a token is looked up as a tokenizer.json writes it.
            spelled = self.model.from_files(content)
            index = model.vocab.ids.get(spelled) if spelled else None
            if index is not None and content not in ids and spelled != content.encode():
                raise InputError(
                    f"{content!r} is how a tokenizer.json spells {spelled!r}, id {index}: choose another text"
                )
            if index is not None:
                ids.setdefault(content, index)
        new = [content for content in contents if content not in ids]
        ids |= {content: len(model.vocab) + i for i, content in enumerate(new)}
        foreign = self.foreign
        if new and foreign.model_size is None:  # in files, new tokens stand beside the model
            foreign = replace(foreign, model_size=len(model.vocab))
        model = model.extended([content.encode() for content in new])
        if flags.get("special", True):
            model = model.with_special(ids[content] for content in contents)
            needed = next((content for content in contents if ids[content] not in model.special_ids), None)
            if needed is not None:
                raise InputError(f"expected special tokens of more than one symbol: text needs the token {needed!r}")
        given = set(contents)
        kept = [token for token in self.added_tokens if token.content not in given]
        added = [*kept, *(AddedToken(content, ids[content], **flags) for content in contents)]
        added.sort(key=lambda token: token.id)
        return replace(self, model=model, added_tokens=tuple(added), foreign=foreign)

    def roles_of(
        self, given: Mapping[str, str | int] | tuple[tuple[str, int], ...] | None
    ) -> tuple[tuple[str, int], ...]:
        """Return roles as ids; they may be given as tokens. InputError for an unknown role or token."""
        if isinstance(given, tuple):
            return given  # checked with the rest of the spec
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"expected roles as a dict of tokens by role, not {type(given).__name__}")
        found = []
        for role, token in (given or {}).items():
            index: object = token
            if isinstance(token, str):
                index = self.index_of(token)
                if index is None:
                    raise InputError(f"expected roles with tokens that exist, not {role!r:.40}: {token!r:.60}")
            found.append((role, index))
        return checked_roles(tuple(found), len(self.model.vocab))

    def index_of(self, content: str) -> int | None:
        """Return the id of a token as a tokenizer.json spells it, None if there is none."""
        if content in self._added_ids:
            return self._added_ids[content]
        spelled = self.model.from_files(content)
        return self.model.vocab.ids.get(spelled) if spelled else self._literal_ids.get(content.encode())

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The tokens by id, as a tokenizer.json spells them; "" for an id without a token."""
        texts = self.model.texts_in_files
        for added in self.added_tokens:
            texts[added.id] = added.content
        return tuple(texts)

    def spelling_of(self, index: int) -> str:
        """One of the `spellings` without all the others, which take 5 ms for 30,000 tokens."""
        added = next((added.content for added in self.added_tokens if added.id == index), None)
        return self.model.text_in_files(index) if added is None else added

    @cached_property
    def ids_by_spelling(self) -> dict[str, int]:
        """The id of every token by its spelling; the smallest one if several ids have the same."""
        found: dict[str, int] = {}
        for index, text in enumerate(self.spellings):
            if text:
                found.setdefault(text, index)
        return found

    def checked_id(self, name: str, token: int | str | None) -> int | None:
        """Return the id of a token, given as such or by its spelling; the InputError for others names the argument."""
        if token is None:
            return None
        found = self.ids_by_spelling.get(token) if isinstance(token, str) else token
        texts = self.spellings
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < len(texts) or not texts[found]:
            raise InputError(f"expected {name} to be an id or a token of the vocabulary, not {token!r:.60}")
        return found

    @property
    def role_ids(self) -> dict[str, int]:
        """The id of each token with a role: those given, or those of the usual names."""
        return dict(self.roles or roles_by_name(self.added_tokens))

    def filled(self, padding: Padding) -> Padding:
        """Return a padding with a side and a token: where it has none, those of this tokenizer.

        InputError if there is no pad token, or none with the given text.
        """
        index, text, side = padding.pad_id, padding.pad_token, padding.direction
        if index is None:
            index = self.role_ids.get("pad") if text is None else self.index_of(text)
            if index is None and text is not None:
                raise InputError(f"pad_token {text!r:.60} is not a token of this tokenizer: give its pad_id, too")
        if text is None and index is not None:
            text = self.spelling_of(index) if index < len(self.model.vocab) else "[PAD]"
        side = side or (self.inputs and self.inputs.padding_side) or "right"
        found = replace(padding, pad_id=index, pad_token=text, direction=side)
        _ = found.filler  # the InputError without a pad token
        return found

    @cached_property
    def _literal_ids(self) -> dict[bytes, int]:
        return {self.model.vocab[index]: index for index in sorted(self.model.literal_ids)}

    @cached_property
    def _added_ids(self) -> dict[str, int]:
        return {token.content: token.id for token in self.added_tokens}

    def with_(self, changes: Mapping[str, Any]) -> TokenizerSpec:
        """Return a spec with some fields changed; InputError for an unknown name."""
        known = list(self.__dataclass_fields__)
        if unknown := sorted(changes.keys() - known):
            raise InputError(f"unknown field {unknown[0]!r:.60} of a tokenizer; the fields are {', '.join(known)}")
        if "added_tokens" in changes and "model" not in changes:
            changes = self._renamed(check_added_tokens(changes["added_tokens"]), changes)
        return replace(self, **changes)

    def _renamed(self, added: tuple[AddedToken, ...], changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes in which added tokens with other texts keep their ids, wherever their old texts stand."""
        old = {token.id: token.content for token in self.added_tokens}
        texts = {token.id: token.content for token in added if old.get(token.id, token.content) != token.content}
        fields: dict[str, Any] = {**changes, "added_tokens": added}
        if not texts:
            return fields
        tokens = list(self.model.vocab)
        for index, text in texts.items():
            self._check_renamed(index, text, texts, checks_chat="chat_template" not in changes)
            tokens[index] = text.encode()
        names = {old[index]: text for index, text in texts.items()}
        model = self.model.rearranged(tokens, np.arange(len(tokens)), {})
        fields |= {"model": model, "foreign": replace(self.foreign, sentencepiece=None)}
        if not self.roles and "roles" not in changes:
            # A new text may have the name of a role; a role that was known by the old text stays.
            fields["roles"] = tuple((dict(roles_by_name(added)) | dict(roles_by_name(self.added_tokens))).items())
        if self.template is not None and "template" not in changes:
            fields["template"] = self.template.renamed(names)
        if self.padding is not None and "padding" not in changes:
            token = self.padding.pad_token
            fields["padding"] = replace(self.padding, pad_token=names.get(token, token) if token else token)
        return fields

    def _check_renamed(self, index: int, text: str, texts: Mapping[int, str], *, checks_chat: bool) -> None:
        """Raise InputError unless an added token can have another text."""
        quoted = f"{self.spelling_of(index)!r:.60} (id {index})"
        if (
            index not in self.model.special_ids | self.model.user_ids
            or (self.model.ranked_merges[:, 1:] == index).any()
        ):
            raise InputError(f"cannot rename {quoted}: it is also a token that the model makes of text")
        held = self.index_of(text)
        if held is not None and held not in texts:
            raise InputError(f"cannot rename {quoted}: the vocabulary has {text!r:.60} already, with the id {held}")
        if checks_chat and (name := self.names_in_chat(self.spelling_of(index))):
            raise InputError(
                f"cannot rename {quoted}: the chat template {name!r:.60} writes it; pass another chat_template, too"
            )

    def names_in_chat(self, text: str) -> str | None:
        """Return the name of a chat template that holds a text, None if none does."""
        return next((name for name, template in chat_templates_of(self).items() if text in template), None)


def _check_steps(name: str, steps: object, kinds: tuple[type, ...]) -> None:
    if not isinstance(steps, tuple) or not all(isinstance(step, kinds) for step in steps):
        raise InputError(f"expected {name} to be a tuple of steps, not {steps!r:.80}")


def chat_templates_of(spec: TokenizerSpec) -> dict[str, str]:
    """Return the chat templates by name."""
    config = dict(spec.foreign.config)
    import json  # 3 ms, and only chats need it

    listed = json.loads(config["chat_template"]) if "chat_template" in config else []
    found = {entry["name"]: entry["template"] for entry in listed} | dict(spec.foreign.chat_templates)
    return found | ({} if spec.chat_template is None else {"default": spec.chat_template})
