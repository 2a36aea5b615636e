"""Tokenizer: text to ids and back. It only orchestrates; loops over tokens live in `engine` and `encode`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE
from subwords.compat.shapes import Shapes
from subwords.components.added_token import AddedToken
from subwords.errors import InputError, SubwordsWarning
from subwords.families import Model
from subwords.results.token_batch import TokenBatch
from subwords.spec import TokenizerSpec
from subwords.support.checks import as_list, check_flag, check_strings, is_column, refuse_given

# Modules that only some tokenizers need are imported on first use: this saves 30 ms at the start.
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from subwords.components.decoder import Decoder
    from subwords.components.padding import Padding, Truncation
    from subwords.components.template_text import TemplateLike
    from subwords.components.trusted import Input
    from subwords.engine.call import Framing
    from subwords.engine.engine import Engine
    from subwords.engine.short import Short
    from subwords.resolve import NormalizerLike, SplitterLike
    from subwords.results.encoding import Encoding
    from subwords.results.encoding_batch import EncodingBatch
    from subwords.unigram.sample import Paths

__all__ = ["Changes", "SpecialPolicy", "Tokenizer", "TokenizerLike", "load", "tokenizer_of"]

TEXT: Literal["text"] = "text"
SpecialPolicy: TypeAlias = Literal["text", "error", "allow"] | set[str] | frozenset[str]
# A string: numpy.random is only imported by those who sample.
Seed: TypeAlias = "int | Sequence[int] | np.random.Generator | np.random.SeedSequence | np.random.BitGenerator | None"

TokenizerLike: TypeAlias = "Tokenizer | str | PathLike[str]"


class Changes(TypedDict, total=False):
    """The keyword arguments of `Tokenizer.with_`."""

    model: Model
    splitter: SplitterLike
    normalizer: NormalizerLike
    template: TemplateLike
    decoder: Decoder | None
    added_tokens: Sequence[AddedToken]
    roles: Mapping[str, str | int] | tuple[tuple[str, int], ...]
    chat_template: str | None
    padding: Padding | None
    truncation: Truncation | None


class Tokenizer(Shapes):
    """A tokenizer: a `TokenizerSpec` and the tables that run it, built on first use.

    Immutable: threads may share it. It survives fork and pickling; a pickle holds the spec only (ALGORITHMS.md, A4).
    Two tokenizers are equal if their specs are equal.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    >>> tok.tokenize("low lowest")
    ['low', ' lowest']
    >>> tok.decode(tok.encode("so low, é"))
    'so low, é'
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        """Create a tokenizer from its spec; `subwords.load` and `subwords.train` are the usual ways to get one."""
        super().__init__(spec)

    def with_(self, **changes: Unpack[Changes]) -> Tokenizer:
        """Return a changed copy; None removes a part.

        splitter, normalizer: any value that `subwords.splitter` or `subwords.normalizer` accepts. roles: tokens or ids
        by role ("bos", "eos", "unk", "pad", "cls", "sep", "mask"). template: `"<s> $A </s>"`, or two such texts for a
        single text and a pair, or a `Template`, whose ids become those that its tokens have here. Other names are
        fields of `TokenizerSpec`. Raises InputError for unknown names, for tokens that do not exist and for parts that
        do not fit together.

        >>> import subwords
        >>> tok = subwords.train(["ab AB"] * 2, vocab_size=258)
        >>> tok.with_(normalizer="lowercase").tokenize("AB") == tok.tokenize("ab")
        True
        """
        from subwords.resolve import changed

        return Tokenizer(changed(self.spec, changes))

    def with_tokens(
        self,
        tokens: Iterable[str],
        *,
        special: bool = True,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool = False,
    ) -> Tokenizer:
        """Return a copy with more added tokens; all tokens keep their ids.

        A token of the vocabulary keeps its id, others get the next ids. The flags are those of `AddedToken`; an added
        token that exists gets them too. Ordinary text no longer yields a special token (ALGORITHMS.md, A3): merges that
        make it are left out. Raises InputError for empty tokens and for a token given twice.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=258).with_tokens(["<|user|>", "<|end|>"])
        >>> tok.encode("<|user|>ab<|end|>", special="allow")
        [258, 256, 259]
        """
        flags = {"special": special, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip}
        flags["normalized"] = normalized
        for name, value in flags.items():
            check_flag(name, value)
        return Tokenizer(self.spec.with_tokens(check_strings("tokens", tokens), flags))

    @cached_property
    def _engine(self) -> Engine:
        from subwords.engine.engine import Engine

        return Engine(self.model, self.splitter, self.normalizer, self.added_tokens)

    @cached_property
    def _short(self) -> Short:
        return self._engine.short

    # ------------------------------------------------------------------ text to ids

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a str is an Iterable of str too: the first that fits is meant
        self,
        text: Input,
        pair: Input | None = None,
        *,
        special: SpecialPolicy = "text",
        template: bool = True,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> Encoding: ...
    @overload
    def __call__(
        self,
        text: Iterable[str],
        pair: Iterable[str] | None = None,
        *,
        special: SpecialPolicy = "text",
        template: bool = True,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
        threads: int | None = None,
    ) -> EncodingBatch: ...
    def __call__(
        self,
        text: Any,
        pair: Any = None,
        *,
        special: SpecialPolicy = "text",
        template: bool = True,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
        threads: int | None = None,
    ) -> Encoding | EncodingBatch:
        """Return the ids of a text or a pair with tokens, spans and masks; of a list of texts, those of each.

        special: as in `encode`. template: False leaves out the tokens of the template. truncation: None does what the
        tokenizer's file says, as HF does; False does not cut; True cuts as the file says; a number is the `max_length`,
        template included; or a `Truncation`. `Encoding.overflow` has what is cut off. padding: None does what the file
        says; False does not pad; True pads to the longest text; a number is the length; or a `Padding`. threads: for a
        list, as in `encode_batch`. A list is far faster than its texts one by one: Python objects are made on reading.
        Raises InputError for invalid values, and for two lists of different lengths.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=259, special_tokens=["<pad>"])
        >>> tok("ab ab").spans.tolist()
        [[0, 2], [2, 5]]
        >>> [encoding.ids.tolist() for encoding in tok(["ab", "ab ab ab"], truncation=2, padding=True)]
        [[257, 0], [257, 258]]
        """
        from subwords.engine.call import encoding_of, encodings_of, is_one_text

        as_usual = template is True and truncation is None and padding is None
        framing = self._usual_framing if as_usual else self._framing(template, truncation, padding)
        run = encoding_of if is_one_text(text) else encodings_of
        return run(self._engine, framing, text, pair, special, threads)

    _usual_framing = cached_property(lambda self: self._framing(True, None, None))  # made for each call: 3 us

    def _framing(self, template: bool, truncation: Truncation | int | None, padding: Padding | int | None) -> Framing:
        from subwords.components.padding import padding_of, truncation_of
        from subwords.components.template import Template
        from subwords.engine.call import Framing

        check_flag("template", template)
        own = self.template or Template()
        pad = self.roles.get("pad") if padding is not None else None
        filler = None if pad is None else (pad, self.id_to_token(pad) or "")
        cut, filled = truncation_of(truncation, self.spec.truncation), padding_of(padding, self.spec.padding, filler)
        return Framing(own if template else own.bare, cut, filled)

    def encode(self, text: Input, *, special: SpecialPolicy = TEXT, template: bool = False) -> list[int]:
        """Return the ids of a text; `template=True` adds the ids of the template.

        The text is `str` or `bytes`, or a list of `Text` and `Special`, whose parts never merge with each other.
        `bytes` need not be UTF-8 if the model is byte-level. special: how to treat special tokens spelled in the text.
        "text" encodes them as ordinary text, "error" raises InputError, "allow" gives their ids, a set allows only its
        members. Raises InputError for any other value.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=258, special_tokens=["<s>"]).encode("<s>ab", special="allow")
        [0, 257]
        """
        if special is TEXT and template is False and (quick := self._short.encode(text)) is not None:
            return quick
        check_flag("template", template)
        ids: list[int] = self.encode_to_numpy(text, special=special).tolist()
        return self.template.apply(ids) if template and self.template else ids

    def encode_to_numpy(
        self, text: Input, *, special: SpecialPolicy = "text", threads: int | None = None
    ) -> NDArray[np.uint32]:
        """Return the ids of a text as a uint32 array; see `encode`.

        threads: for a text of several megabytes; None uses one per processor. Their number changes no id.
        """
        return self._engine.encode(text, special, threads)

    def encode_batch(
        self,
        texts: Iterable[Input],
        *,
        special: SpecialPolicy = "text",
        template: bool = False,
        threads: int | None = None,
    ) -> TokenBatch:
        """Return the ids of many texts, in order; `threads=None` uses one thread per processor. See `encode`.

        An Arrow array of strings, of pyarrow or another library, is read in place; nulls raise InputError.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).encode_batch(["ab", "abab"]).to_lists()
        [[256], [256, 256]]
        """
        if isinstance(texts, (str, bytes)):
            raise InputError("expected many texts, not one str or bytes; use encode for a single text")
        check_flag("template", template)
        if is_column(texts):
            batch = self._engine.encode_arrow(texts, special, threads)
        else:
            batch = self._engine.encode_batch(as_list(texts, "texts"), special, threads)
        return self.template.apply_batch(batch) if template and self.template else batch

    def nbest(self, text: str, n: int = 10) -> list[tuple[list[int], float]]:
        """Return the ids and scores of the n best segmentations of a text, best first. Unigram models only.

        Scores are natural logarithms. Raises InputError unless n is 1 to 1024.

        >>> import subwords
        >>> tok = subwords.train(["hug hugs hugging"] * 9, algorithm="unigram", vocab_size=14)
        >>> [tok.decode(ids) for ids, _ in tok.nbest("hug", 2)]
        ['hug', 'hug']
        """
        with self._paths(text) as found:
            paths = [(ids.tolist(), score) for ids, score in found.best(n)]
        # Equal sums may differ after rounding, which depends on the order of addition: see `Unigram.running`.
        return [(self.encode(text), paths[0][1])] if n == 1 else paths

    def sample(
        self,
        text: str,
        *,
        alpha: float | None = None,
        nbest: int | None = None,
        dropout: float | None = None,
        seed: Seed = None,
    ) -> list[int]:
        """Return the ids of one segmentation, drawn at random; for Unigram and BPE models.

        Unigram draws in proportion to exp(alpha * score). alpha (0.1): 0 draws all segmentations with equal
        probability, large values favour the best. nbest (-1): draw from the N best; a negative value draws from all.

        BPE skips each merge with probability `dropout`, from 0 (the same as `encode`) to 1 (no merge at all). Default:
        the model's own, or 0.1 if it has none. It runs in plain Python, at 0.2 MB/s.

        seed: as in numpy.random.default_rng; a Generator advances. Raises InputError for options of the other family.

        Source: T. Kudo, Subword Regularization, 2018; I. Provilkov et al., BPE-Dropout, 2020.

        >>> import subwords
        >>> tok = subwords.train(["hug hugs hugging"] * 9, algorithm="unigram", vocab_size=14)
        >>> tok.decode(tok.sample("hugs", alpha=0.5, seed=1))
        'hugs'
        >>> tok = subwords.train(["hug hugs hugging"] * 9, vocab_size=262)
        >>> len(tok.sample("hugs", dropout=0)), len(tok.sample("hugs", dropout=1.0))
        (2, 4)
        """
        try:
            rng = np.random.default_rng(seed)
        except (TypeError, ValueError) as error:
            raise InputError(f"expected a seed for numpy.random.default_rng, not {seed!r:.60}: {error}") from None
        if isinstance(self.model, BPE):
            refuse_given("sample for BPE models", alpha=alpha, nbest=nbest)
            from subwords.engine.sample import with_dropout

            return with_dropout(self._engine, text, self.encode(text), dropout, rng)
        nbest = -1 if nbest is None else nbest
        with self._paths(text) as paths:
            refuse_given("sample for Unigram models", dropout=dropout)
            ids: list[int] = paths.draw(0.1 if alpha is None else alpha, nbest, rng).tolist()
        return self.encode(text) if nbest in (0, 1) else ids

    def _paths(self, text: str) -> AbstractContextManager[Paths]:
        from subwords.engine.sample import paths_of

        return paths_of(self._engine, self.model, text)

    def tokenize(self, text: Input, *, special: SpecialPolicy = TEXT) -> list[str]:
        """Return the tokens of a text; bytes that are not a complete character show as U+FFFD."""
        ids = self._short.encode(text) if special is TEXT else None
        return self._engine.tokens(text, special) if ids is None else self._engine.spelled(text, ids)

    @overload
    def count_tokens(  # type: ignore[overload-overlap]  # a str is an Iterable of str too: the first that fits is meant
        self, text: Input, *, special: SpecialPolicy = TEXT, template: bool = False
    ) -> int: ...
    @overload
    def count_tokens(
        self,
        text: Iterable[Input],
        *,
        special: SpecialPolicy = TEXT,
        template: bool = False,
    ) -> NDArray[np.int64]: ...
    def count_tokens(
        self, text: Any, *, special: SpecialPolicy = TEXT, template: bool = False
    ) -> int | NDArray[np.int64]:
        """Return how many ids a text has, or of a list or a column of texts, how many each has, as an int64 array.

        It is the length of what `encode` returns.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=257)
        >>> tok.count_tokens("ab ab"), tok.count_tokens(["ab ab", "", "ab"]).tolist()
        (3, [3, 0, 1])
        """
        if special is TEXT and template is False and (count := self._short.count_ids(text)) is not None:
            return count
        from subwords.engine.call import is_one_text

        if not is_one_text(text):
            batch = self.encode_batch(text, special=special, template=template)
            return np.diff(batch.offsets).astype(np.int64)
        check_flag("template", template)
        ids = self.encode_to_numpy(text, special=special)
        return len(self.template.apply(ids.tolist()) if template and self.template else ids)

    # ------------------------------------------------------------------ files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tokenizer to a file, atomically; the suffix is .json, .model, .tiktoken, .gguf or .txt.

        HF tokenizers and transformers load the .json file. SentencePiece loads the .model file, which holds Unigram or
        character-level BPE. A .tiktoken file holds the tokens of byte-level BPE, a .txt file those of WordPiece, a
        .gguf file the vocabulary for llama.cpp. The names "vocab.json" and "merges.txt" write both, as GPT-2 has them.
        A folder (that exists, or a name that ends in "/") gets tokenizer.json, and roles and chat template in the files
        that transformers' AutoTokenizer reads.
        Warns (SubwordsWarning) of parts that a format does not hold: a .json file lacks roles and chat templates, a
        .tiktoken file splitter and special tokens as well, which `load` takes as options.
        Raises FormatError if the format cannot hold this tokenizer, InputError if the file cannot be written.
        """
        from subwords.formats import lost_in, target_of, write_file

        target = target_of(path)
        lost = lost_in(self.spec, target, write_file(self.spec, path))
        if lost:
            from subwords.formats.advice import advice

            warnings.warn(advice(self.spec, target, lost), SubwordsWarning, stacklevel=2)


def load(
    path: str | PathLike[str],
    *,
    splitter: SplitterLike = None,
    special_tokens: Mapping[str, int] | None = None,
    revision: str | None = None,
    download: bool = False,
) -> Tokenizer:
    """Return the tokenizer of a file or folder, of OpenAI's encodings or models, or of the Hugging Face Hub by name.

    The format is recognized by content. In a folder, tokenizer.json wins over .model, vocab.json and vocab.txt. A
    vocab.txt does not name its normalizer: BERT's is used, cased if any token has a capital letter. A rank file of
    tiktoken has no splitter and no special tokens: pass both; OpenAI's files need neither. vocab.json with merges.txt
    has none either: its tokens tell whether the default is GPT-2's, CLIP's or GPT-1's. Other formats refuse these
    options. "o200k_base" or "gpt-4o" finds OpenAI's file in this folder or in tiktoken's cache. "org/name" that is no
    file or folder is a repository in the Hugging Face cache, at `revision`, a branch, tag or commit; `download=True`
    downloads its tokenizer files. Nothing else is downloaded. Raises FormatError, with the place, for missing, damaged
    and unsupported files, InputError if `path` is not a path.

    >>> import tempfile
    >>> import subwords
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subwords.train(["ab ab"], vocab_size=258).save(f"{folder}/tokenizer.json")
    ...     subwords.load(folder).encode("ab")
    [256]
    """
    from subwords.formats import read_file

    rule = None
    if splitter is not None:
        from subwords.resolve import splitter as resolved

        rule = resolved(splitter).rule
    spec = read_file(path, splitter=rule, special_tokens=special_tokens, revision=revision, download=download)
    return Tokenizer(spec)


def tokenizer_of(
    value: object,
    name: str = "tokenizer",
    *,
    splitter: SplitterLike = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Tokenizer:
    """Return a tokenizer as it is, or the one that `load` reads from a path or a name, such as "gpt-4o".

    name: of the argument, for messages. splitter, special_tokens: for files without them, see `load`. Raises InputError
    for other types and for options that a Tokenizer has itself; and the errors of `load`.
    """
    if isinstance(value, Tokenizer):
        if splitter is not None or special_tokens is not None:
            raise InputError(f"splitter and special_tokens are those of the {name}: leave them out")
        return value
    if isinstance(value, str | PathLike):
        return load(value, splitter=splitter, special_tokens=special_tokens)
    hint = "; pass its .tokenizer" if isinstance(getattr(value, "tokenizer", None), Tokenizer) else ""
    raise InputError(f"expected {name} to be a Tokenizer, a path or a name, not {type(value).__name__}{hint}")
