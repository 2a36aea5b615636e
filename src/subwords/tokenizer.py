"""Tokenizer: text to ids and back. It only orchestrates; loops over tokens live in `engine`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

from subwords.support.checks import as_index, as_list, check_flag, check_string, check_strings, exact, is_column
from subwords.support.errors import InputError, MissingName, SubwordsWarning
from subwords.support.names import OF_TOKENIZER, OtherName, WithHints, hint, install_hint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from subwords.chat.chat import Chat, ChatBatch, ChatOptions
    from subwords.chat.conversation import Chatter
    from subwords.chat.reply_format import ReplyFormat
    from subwords.corpus.reading import Reading
    from subwords.corpus.source import Source
    from subwords.engine.added_tokens import AddedTokens
    from subwords.engine.call import Calls
    from subwords.engine.chunks import Chunks, Kind, Side
    from subwords.engine.decode.stream import DecodeStream, DecodeStreams, IdDecoder, Ids, StopLike
    from subwords.engine.decode.token_table import TokenTable
    from subwords.engine.encoding import Encoding, EncodingBatch
    from subwords.engine.engine import Engine, Seed
    from subwords.engine.fast_path import FastPaths
    from subwords.engine.growing import EncodeStream, Grower, Growers, GrowingText
    from subwords.engine.healing import Healer, Healing
    from subwords.interop.hf import HFShape
    from subwords.interop.sentencepiece import SentencePieceShape
    from subwords.interop.tiktoken import TiktokenShape
    from subwords.normalize.normalizer import Normalizer
    from subwords.normalize.resolve import Changes, SplitterLike
    from subwords.scale.job import EncodeOptions, Format
    from subwords.scale.runners import Run
    from subwords.spec.added_token import Input
    from subwords.spec.decoder import Decoder
    from subwords.spec.model import Model
    from subwords.spec.padding import Padding, Truncation
    from subwords.spec.template import Template
    from subwords.spec.token_batch import TokenBatch
    from subwords.spec.tokenizer import TokenizerSpec
    from subwords.split.splitter import Splitter
    from subwords.tokens.manifest import Manifest


# Modules are imported on first use. A tokenizer that was used before encodes short texts without NumPy, whose import
# takes more time than all else that such a process does.

TEXT: Literal["text"] = "text"
REPLACE = "replace"
SpecialPolicy: TypeAlias = Literal["text", "error", "allow"] | set[str] | frozenset[str]

TokenizerLike: TypeAlias = "Tokenizer | str | PathLike[str]"


class Tokenizer(metaclass=WithHints):
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
        from subwords.spec.tokenizer import TokenizerSpec

        if not isinstance(spec, TokenizerSpec):
            raise InputError(f"expected a TokenizerSpec, not {type(spec).__name__}; subwords.load reads files")
        self.__dict__["spec"] = spec

    # ------------------------------------------------------------------ parts

    @cached_property
    def spec(self) -> TokenizerSpec:
        """The definition of the tokenizer."""
        spec: TokenizerSpec = self.__dict__["_kept"].spec()  # of a kept file; others have it from the beginning
        return spec

    @property
    def model(self) -> Model:
        """The model: a vocabulary with merges, scores or a continuation prefix."""
        return self.spec.model

    @property
    def template(self) -> Template | None:
        """The template that adds special tokens around a text; None adds nothing."""
        return self.spec.template

    @property
    def decoder(self) -> Decoder | None:
        """The decoder that turns tokens into text; None joins the bytes of the tokens."""
        return self.spec.decoder

    @cached_property
    def splitter(self) -> Splitter:
        """The splitter, which splits text into words (pre-tokens)."""
        from subwords.split.splitter import Splitter

        return Splitter(self.spec.splitter)

    @cached_property
    def normalizer(self) -> Normalizer | None:
        """The normalizer, which runs before the splitter; None leaves text unchanged."""
        if not self.spec.normalizer:
            return None
        from subwords.normalize.normalizer import Normalizer

        return Normalizer(self.spec.normalizer)

    @cached_property
    def added_tokens(self) -> AddedTokens:
        """The added tokens, which are found in text before it is split."""
        from subwords.engine.added_tokens import AddedTokens

        return AddedTokens(self.spec.added_tokens, normalize=self.normalizer.normalize if self.normalizer else None)

    def with_(self, **changes: Unpack[Changes]) -> Tokenizer:
        """Return a changed copy; None removes a part.

        splitter, normalizer: any value that `subwords.splitter` or `subwords.normalizer` accepts. decoder: "fuse"
        (joins tokens), "spaces", "byte-level", "wordpiece", "metaspace", or a node of a tokenizer.json. roles: tokens
        or ids by role ("bos", "eos", "unk", "pad", "cls", "sep", "mask"). template: `"<s> $A </s>"`, or two such texts
        for a single text and a pair, or a `Template`, whose ids become those that its tokens have here. added_tokens:
        those with another text keep their ids. Other names are fields of `TokenizerSpec`. Raises InputError for unknown
        names, for tokens that do not exist and for parts that do not fit together.

        >>> import subwords
        >>> tok = subwords.train(["ab AB"] * 2, vocab_size=258)
        >>> tok.with_(normalizer="lowercase").tokenize("AB") == tok.tokenize("ab")
        True
        """
        from subwords.normalize.resolve import change_spec

        return Tokenizer(change_spec(self.spec, changes))

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
        make it are left out. Warns (SubwordsWarning) if ordinary words do not come back from decoding with the spaces
        beside them, as in Llama's models. Raises InputError for empty tokens and for a token given twice.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=258).with_tokens(["<|user|>", "<|end|>"])
        >>> tok.encode("<|user|>ab<|end|>", special="allow")
        [258, 256, 259]
        """
        flags = {"special": special, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip}
        flags["normalized"] = normalized
        for name, value in flags.items():
            check_flag(name, value)
        names = check_strings("tokens", tokens)
        made = Tokenizer(self.spec.with_tokens(names, flags))
        word = next((name for name in names if name[0].isalnum() and name[-1].isalnum()), None)
        if word is not None and not special:
            _warn_of_spaces(self, made, word)
        return made

    # ------------------------------------------------------------------ vocabulary

    @property
    def vocab_size(self) -> int:
        """The largest id plus one."""
        return len(self.spec.model.vocab)

    def __len__(self) -> int:
        return self.vocab_size

    @cached_property
    def vocab(self) -> Mapping[bytes, int]:
        """The id of every token by its bytes, as a read-only view."""
        return MappingProxyType(self.spec.model.vocab.ids)

    def get_vocab(self) -> dict[str, int]:
        """Return the id of every token as a tokenizer.json spells it, as in HF: `Ġthe` for " the" in byte-level BPE.

        >>> import subwords
        >>> subwords.train(["a a a"], vocab_size=257).get_vocab()["Ġa"]
        256
        """
        return dict(self.spec.ids_by_spelling)

    def token_to_id(self, token: str | bytes) -> int | None:
        """Return the id of a token: a str as in `get_vocab`, or bytes; None if the vocabulary lacks it.

        >>> import subwords
        >>> tok = subwords.train(["a a a"], vocab_size=257)
        >>> tok.token_to_id("Ġa"), tok.token_to_id(b" a"), tok.token_to_id(" a")
        (256, 256, None)
        """
        if isinstance(token, bytes):
            return self.spec.model.vocab.ids.get(token) if token else None
        if isinstance(token, str):
            return self.spec.ids_by_spelling.get(token)
        raise InputError(f"expected a token as str or bytes, not {type(token).__name__}")

    def id_to_token(self, index: int) -> str | None:
        """Return the token of an id, as in `get_vocab`; None if the id has no token. `token_bytes` gives its bytes."""
        place = as_index(index, "an id as an int")
        return (self.spec.spellings[place] or None) if 0 <= place < self.vocab_size else None

    def token_bytes(self, index: int) -> bytes:
        r"""Return the bytes that an id adds to a text, after other tokens: b" the", a part of a character, ...

        Defined in ALGORITHMS.md, D7.

        The bytes of each token of a text join to the text, but for what a decoder does at its ends, such as dropping
        the first space. b"" for an id without a token. Raises InputError if there is no such id. `id_to_token` gives
        the token as a tokenizer.json spells it, such as "▁the" or "<0x0A>".

        >>> import subwords
        >>> tok = subwords.train(["low lower"] * 9, algorithm="unigram", vocab_size=12)
        >>> tok.id_to_token(tok.encode("low")[0]), tok.token_bytes(tok.encode("low")[0])
        ('▁low', b' low')
        """
        return self._id_decoder.token_bytes(index)

    def token_table(self) -> TokenTable:
        """Return the bytes of all ids as arrays, with flags and a trie: what grammar engines ask for (D11).

        >>> import subwords
        >>> table = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<s>"]).token_table()
        >>> table[257], table.special.nonzero()[0].tolist(), table.trie.mask(b"a").nonzero()[0].tolist()
        (b'ab', [0], [65, 257])
        """
        return self._token_table

    @cached_property
    def _token_table(self) -> TokenTable:
        return self._id_decoder.table(self.encode)

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str | bytes) and self.token_to_id(token) is not None

    @cached_property
    def merges(self) -> tuple[tuple[bytes, bytes], ...]:
        """The merges in order of rank, as pairs of token bytes; empty if the model has no merges."""
        tokens = [*self.model.symbols]
        return tuple((tokens[left], tokens[right]) for _, left, right, _ in self.model.ranked_merges.tolist())

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of every special token."""
        return {token.content: token.id for token in self.spec.added_tokens if token.special}

    @property
    def roles(self) -> dict[str, int]:
        """The id of each token with a role: "bos", "eos", "unk", "pad", "cls", "sep", "mask".

        By default, tokens with the usual names have the roles: `[PAD]`, `</s>`, `<|endoftext|>`, ...
        """
        return self.spec.role_ids

    @property
    def lossless(self) -> bool:
        """Whether decode(encode(text)) == text for every text (ALGORITHMS.md, A1)."""
        joins = self.decoder is None
        return joins and self.model.lossless and self.splitter.keeps_text and self.normalizer is None

    # ------------------------------------------------------------------ text to ids

    @cached_property
    def _engine(self) -> Engine:
        from subwords.engine.engine import Engine

        for name in ("_fast_encode", "_fast_count"):  # of a kept file: the engine has better ones
            self.__dict__.pop(name, None)
        return Engine(self.model, self.splitter, self.normalizer, self.added_tokens)

    # Each function under a name of its own: to look it up in a tuple took 15 ns of 250.
    @cached_property
    def _fast_encode(self) -> Callable[[object], list[int] | None]:
        return self._fast_paths[TEXT].encode

    @cached_property
    def _fast_count(self) -> Callable[[object], int | None]:
        return self._fast_paths[TEXT].count_ids

    @cached_property
    def _fast_paths(self) -> FastPaths:
        if (path := self.__dict__.pop("_kept_at", None)) is not None:
            from subwords.engine.kept import write_kept
            from subwords.kernels.stored import later

            later(partial(write_kept, path, self._engine, self.spec))  # 100 ms
        return self._engine.fast_paths

    @cached_property
    def _framed_paths(self) -> FastPaths:
        from subwords.engine.fast_path import FastPaths

        plain = self._fast_paths
        return FastPaths(self._engine.fast_path, self.template.around) if self.template else plain

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
        if special is TEXT and template is False and (found := self._fast_encode(text)) is not None:
            return found
        if type(template) is bool:
            paths = self._framed_paths if template else self._fast_paths
            fast = paths[special] if type(special) is str else paths.of(special)  # a call more takes 0.06 us of 0.7
            if (found := fast.encode(text)) is not None or (found := fast.in_pieces(text)) is not None:
                return found
        check_flag("template", template)
        ids = self._fast_paths[TEXT].listed(self.encode_to_numpy(text, special=special))
        return self.template.apply(ids) if template and self.template else ids

    def encode_to_numpy(
        self, text: Input, *, special: SpecialPolicy = "text", threads: int | None = None
    ) -> NDArray[np.uint32]:
        """Return the ids of a text as a uint32 array; see `encode`.

        threads: for a text of several megabytes; None uses one per processor. Their number changes no id.
        """
        if threads is None or (type(threads) is int and threads > 0):
            fast = self._fast_paths[special] if type(special) is str else self._fast_paths.of(special)
            if (found := fast.array(text)) is not None or (found := fast.array_in_pieces(text)) is not None:
                return found
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

        An Arrow array of strings, or a table with one, of pyarrow or another library, is read in place; nulls raise
        InputError.

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

    def tokenize(self, text: Input, *, special: SpecialPolicy = TEXT) -> list[str]:
        """Return the tokens of a text; bytes that are not a complete character show as U+FFFD."""
        ids = self._fast_paths.of(special).encode(text)
        return self._engine.tokens(text, special) if ids is None else self._engine.spelled(text, ids, special)

    @overload
    def count_tokens(  # type: ignore[overload-overlap]  # a str is an Iterable of str too: the first that fits is meant
        self, text: Input, *, special: SpecialPolicy = TEXT, template: bool = False
    ) -> int: ...
    @overload
    def count_tokens(self, text: Sequence[Mapping[str, Any]], **options: Any) -> int: ...
    @overload
    def count_tokens(
        self,
        text: Iterable[Input],
        *,
        special: SpecialPolicy = TEXT,
        template: bool = False,
    ) -> NDArray[np.int64]: ...
    def count_tokens(self, text: Any, **options: Any) -> int | NDArray[np.int64]:
        """Return how many ids a text has, or of a list or a column of texts, how many each has, as an int64 array.

        special, template: as in `encode`; the count is the length of its result. A list of messages (dicts) counts as
        `chat(messages, **options)` has ids: tools, documents, prompt, variables of the template. Texts have no such
        options: they raise InputError. Columns of Arrow are read in place, and other threads run meanwhile.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=257)
        >>> tok.count_tokens("ab ab"), tok.count_tokens(["ab ab", "", "ab"]).tolist()
        (3, [3, 0, 1])
        """
        # Named options with defaults would take 30 ns of a call of 400.
        if not options and (count := self._fast_count(text)) is not None:
            return count
        return self._counted(text, **options)

    def _counted(
        self, text: Any, *, special: SpecialPolicy = TEXT, template: bool = False, **options: Any
    ) -> int | NDArray[np.int64]:
        if type(template) is bool and not options:
            paths = self._framed_paths if template else self._fast_paths
            if (count := paths.of(special).count(text)) is not None:
                return count
        from subwords.engine.call import is_one_text

        if isinstance(text, list) and text and isinstance(text[0], Mapping):
            if special is not TEXT or template is not False:
                raise InputError("messages have the tokenizer's chat template: leave out special and template")
            return len(self.chat(text, **options).ids)
        if options:
            raise InputError(f"{min(options)} is an option of `chat`: expected a list of messages, not texts")
        if not is_one_text(text):
            batch = self.encode_batch(text, special=special, template=template)
            import numpy as np

            return np.diff(batch.offsets).astype(np.int64)
        check_flag("template", template)
        found = self.encode_to_numpy(text, special=special)
        return len(self.template.apply(found.tolist()) if template and self.template else found)

    # ------------------------------------------------------------------ text to ids with spans, template and padding

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
        tokenizer's file says, as HF does; False does not cut; True cuts to the longest input that the folder names, or
        as the file says; a number is the `max_length`, template included; or a `Truncation`. `Encoding.overflow` has
        what is cut off. padding: None does what the file says; False does not pad; True pads to the longest text; a
        number is the length; or a `Padding`. The side is that of the folder, the token that of the role "pad". threads:
        for a list, as in `encode_batch`. A list is far faster than its texts one by one: Python objects come later.
        Raises InputError for invalid values, and for two lists of different lengths.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=259, special_tokens=["<pad>"])
        >>> tok("ab ab").spans.tolist()
        [[0, 2], [2, 5]]
        >>> [encoding.ids.tolist() for encoding in tok(["ab", "ab ab ab"], truncation=2, padding=True)]
        [[257, 0], [257, 258]]
        """
        calls, usual = self._calls, template is True and truncation is None and padding is None
        quick = calls.usual if usual else calls.of(template, truncation, padding)
        if pair is None and threads is None and isinstance(special, str):
            found = quick[special](text)
            if found is not None:
                return found
        return calls.run(quick, text, pair, special, threads)

    @cached_property
    def _calls(self) -> Calls:
        from subwords.engine.call import Calls

        return Calls(self._engine, self.spec, (self._fast_paths, self._framed_paths))

    # ------------------------------------------------------------------ other segmentations

    def nbest(self, text: str, n: int = 10) -> list[tuple[list[int], float]]:
        """Return the ids and scores of the n best segmentations of a text, best first. Unigram models only.

        Scores are natural logarithms. Raises InputError unless n is 1 to 1024.

        >>> import subwords
        >>> tok = subwords.train(["hug hugs hugging"] * 9, algorithm="unigram", vocab_size=14)
        >>> [tok.decode(ids) for ids, _ in tok.nbest("hug", 2)]
        ['hug', 'hug']
        """
        from subwords.engine.engine import best_segmentations

        return best_segmentations(self._engine, self.model, text, n)

    def sample(
        self,
        text: str,
        *,
        temperature: float | None = None,
        nbest: int | None = None,
        dropout: float | None = None,
        seed: Seed = None,
    ) -> list[int]:
        """Return the ids of one segmentation, drawn at random; for Unigram and BPE models.

        Unigram draws in proportion to exp(score / temperature). temperature (10): small values favour the best
        segmentation, math.inf draws all with equal probability. nbest (-1): draw from the N best; a negative value
        draws from all.

        BPE skips each merge with probability `dropout`, from 0 (the same as `encode`) to 1 (no merge at all). Default:
        the model's own, or 0.1 if it has none. It runs in plain Python, at 0.2 MB/s.

        seed: as in numpy.random.default_rng; a Generator advances. Raises InputError for options of the other family.

        Source: T. Kudo, Subword Regularization, 2018; I. Provilkov et al., BPE-Dropout, 2020.

        >>> import subwords
        >>> tok = subwords.train(["hug hugs hugging"] * 9, algorithm="unigram", vocab_size=14)
        >>> tok.decode(tok.sample("hugs", temperature=2, seed=1))
        'hugs'
        >>> tok = subwords.train(["hug hugs hugging"] * 9, vocab_size=262)
        >>> len(tok.sample("hugs", dropout=0)), len(tok.sample("hugs", dropout=1.0))
        (2, 4)
        """
        from subwords.engine.engine import sample

        return sample(self._engine, self.model, text, temperature=temperature, nbest=nbest, dropout=dropout, seed=seed)

    # ------------------------------------------------------------------ ids to text

    def decode_bytes(self, ids: Ids) -> bytes:
        """Return the bytes of the ids; InputError names an invalid id and its position.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).decode_bytes([256, 0])
        b'ab!'
        """
        return self._id_decoder.joined_bytes(ids)

    def decode(self, ids: Ids, *, errors: str = REPLACE, skip_special_tokens: bool = False) -> str:
        """Return the text of the ids.

        errors: how to handle bytes that are not UTF-8, as in `bytes.decode`; a decoder that handles bytes itself (byte
        fallback) accepts only "replace".
        Hazard: ids may end inside a character. The default then writes U+FFFD; errors="strict" raises InputError.
        """
        if errors is REPLACE and isinstance(skip_special_tokens, bool):
            decode = self._id_decoder.visible_path if skip_special_tokens else self._id_decoder.fast_path
            if (found := decode(ids if type(ids) is list else _few(ids))) is not None:
                return found
        return self._id_decoder.text(ids, errors, skip_special_tokens)

    def decode_batch(
        self,
        batch: Iterable[Ids] | TokenBatch,
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Return the text of each list of ids, in order; see `decode`.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=257)
        >>> tok.decode_batch(tok.encode_batch(["ab", "b a"]))
        ['ab', 'b a']
        """
        return self._id_decoder.texts(batch, errors, skip_special_tokens)

    def stream(
        self, *, prompt: Ids = (), stop: StopLike | None = None, skip_special_tokens: bool = False
    ) -> DecodeStream:
        r"""Return a new incremental decoder: ids in, text out as soon as no later id can change it; see `decode`.

        prompt: ids before those that the stream gets. Their text is not returned, but what follows is decoded as after
        it: " world" with its space. The pieces join to the text of all ids without its common beginning with that of
        the prompt (ALGORITHMS.md, D1). stop: a text, an id, or a list of both that end the text before them; the first
        one to be complete does, of texts that end together the longest (D8). `stream.stopped` is None, then the `Stop`.

        >>> import subwords
        >>> tok = subwords.load("demo")
        >>> stream = tok.stream(stop=[" re", "\n"])
        >>> "".join(stream.feed(tok.encode("Rays are refracted"))), stream.stopped
        ('Rays are', Stop(stop=' re', characters=8, ids=2))
        """
        return self._id_decoder.stream(prompt, stop, skip_special_tokens)

    def streams(self, n: int, *, stop: StopLike | None = None, skip_special_tokens: bool = False) -> DecodeStreams:
        """Return `n` incremental decoders that take one id each in one call; see `stream` and `DecodeStreams`."""
        return self._id_decoder.streams(n, stop, skip_special_tokens)

    def decode_with_spans(self, ids: Ids, *, skip_special_tokens: bool = False) -> tuple[str, NDArray[np.int64]]:
        """Return the text of the ids and the range of its characters that each id gives, int64 of shape (n, 2).

        Ranges are in order and cover the text. Ids that share a character all span it. An id that gives no character
        has an empty range at its place. For byte-level BPE and valid UTF-8, the starts are those of tiktoken's
        `decode_with_offsets`. Raises InputError as `decode` does.

        >>> import subwords
        >>> tok = subwords.train(["é"], vocab_size=256)
        >>> text, spans = tok.decode_with_spans(tok.encode("aé"))
        >>> text, spans.tolist()
        ('aé', [[0, 1], [1, 2], [1, 2]])
        """
        return self._id_decoder.with_spans(ids, skip_special_tokens)

    # ------------------------------------------------------------------ text that grows

    def growing(self, text: str = "", *, special: SpecialPolicy = TEXT) -> GrowingText:
        """Return a text and its ids, to which text is appended without encoding all of it again; see `GrowingText`.

        special: as in `encode`. Raises InputError for a lone surrogate.

        >>> import subwords
        >>> tok = subwords.load("demo")
        >>> prompt = tok.growing("Light is")
        >>> longer = prompt.append(" refracted")
        >>> longer.ids.tolist() == tok.encode("Light is refracted"), longer.kept, longer.final
        (True, 2, 2)
        """
        return self._growers.text(text, special)

    def encode_stream(self, *, special: SpecialPolicy = TEXT) -> EncodeStream:
        r"""Return an encoder of a text that arrives in pieces, whose ids come as soon as they are final.

        special: as in `encode`. See `EncodeStream`.

        >>> import subwords
        >>> tok = subwords.load("demo")
        >>> stream = tok.encode_stream()
        >>> [*stream.feed(b"caf\xc3"), *stream.feed(b"\xa9"), *stream.finish()] == tok.encode("café")
        True
        """
        return self._growers.stream(special)

    # ------------------------------------------------------------------ parts of a text

    def chunks(
        self,
        text: str,
        size: int,
        *,
        overlap: int = 0,
        at: Kind = "token",
        special: SpecialPolicy = TEXT,
        template: bool = False,
        graphemes: bool = False,
        hard_wraps: bool = False,
    ) -> Chunks:
        """Return a text in parts of at most `size` ids, each encoded alone; without overlap they join to the text.

        overlap: ids that a part shares with the next one, at most. at: where parts end: "token", as far as possible;
        "word" or "sentence", by Unicode's rules, "line", "paragraph", after blank lines, or "markdown", by sections,
        then blocks. A part is as long as fits (ALGORITHMS.md, D9); it ends at a finer place if one word, sentence,
        line or block is too long. special: as in `encode`. template: True counts the ids of the template, too.
        graphemes: True does not cut combined characters. hard_wraps: True reads a single newline inside a paragraph as
        a space.
        Raises InputError if a character has more than `size` ids, and if the template leaves no room.

        >>> import subwords
        >>> parts = subwords.load("demo").chunks("Rays of light. They are refracted.", 6, at="sentence")
        >>> [*parts], parts.spans.tolist(), parts.counts.tolist()
        (['Rays of light. ', 'They are refracted.'], [[0, 15], [15, 34]], [5, 5])
        """
        from subwords.engine.chunks import chunks

        count: Any = partial(self.count_tokens, special=special, template=template)  # mypy takes its first overload
        return chunks(
            self._growers[special],
            exact(text),
            size,
            self._counted_template(template),
            overlap=overlap,
            at=at,
            graphemes=graphemes,
            hard_wraps=hard_wraps,
            count=count,
        )

    def _counted_template(self, template: bool) -> Template | None:
        check_flag("template", template)
        return self.template if template else None

    def truncate(
        self,
        text: str,
        size: int,
        *,
        side: Side = "right",
        special: SpecialPolicy = TEXT,
        template: bool = False,
        graphemes: bool = False,
    ) -> str:
        """Return the beginning of a text, as long as it has at most `size` ids; see D10. side="left": the end.

        side: what is cut off. special, template, graphemes: as in `chunks`.

        >>> import subwords
        >>> subwords.load("demo").truncate("Rays of light are refracted", 3)
        'Rays of light'
        """
        from subwords.engine.chunks import truncated

        return truncated(self._growers[special], exact(text), size, self._counted_template(template), side, graphemes)

    # ------------------------------------------------------------------ which ids a text may have

    def heal(self, text: str | Ids, *, special: SpecialPolicy = TEXT) -> Healing:
        """Return the ids of a text, or of given ids, that stay whatever follows, and the bytes that go on after them.

        As few ids as possible are taken back (ALGORITHMS.md, X1). A model that goes on after these ids, with tokens
        that fit the bytes (`TokenTrie.mask`), can write each text as it was trained to. Raises InputError for other
        models than byte-level BPE, and where nothing is proved.

        >>> import subwords
        >>> subwords.load("demo").heal("Rays of lig")
        Healing(ids=(1142, 266), taken=2, data=b' lig')
        """
        return self._healers(special).heal(exact(text))

    @cached_property
    def _healers(self) -> Callable[[SpecialPolicy], Healer]:
        from subwords.engine.healing import Healer

        made = cache(partial(Healer, self._engine, self._token_table))

        def healers(special: SpecialPolicy) -> Healer:
            self._engine.added.finder(special)  # refuses other types
            return made(special if isinstance(special, str) else frozenset(special))

        return healers

    @cached_property
    def _growers(self) -> Growers:
        from subwords.engine.growing import Growers

        return Growers(self._engine, self._id_decoder)

    @cached_property
    def _id_decoder(self) -> IdDecoder:
        from subwords.engine.decode.stream import IdDecoder

        return IdDecoder(self.spec, self.added_tokens)

    # ------------------------------------------------------------------ conversations

    @property
    def chat_template(self) -> str | None:
        """The Jinja template that turns a conversation into a text, None if the tokenizer has none; see `chat`."""
        return self.spec.chat_template

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any] | Callable[..., Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        prompt: bool | None = None,
        resume: str | None = None,
        template: str | None = None,
        trusted: Mapping[str, Iterable[str]] | None = None,
        **variables: Any,
    ) -> Chat:
        """Return a conversation as the ids of its chat template; text in it never becomes a control token.

        messages: dicts with a "role", as transformers takes them; dataclasses and pydantic models too. tools: JSON
        schemas, or functions with types and a Google docstring. documents: dicts with title and text. prompt: whether
        the text ends with the beginning of the next answer; None: unless `resume` is given. resume: the key of a field,
        such as "content", of the last message: the text ends with it, and the model goes on. template: a name, such as
        "tool_use", or Jinja text; None: the tokenizer's, "tool_use" with tools if it has it. trusted: by role, the
        control tokens that count where a message spells them, such as `{"assistant": ["<think>", "</think>"]}`.
        variables: others that the template asks for, such as enable_thinking; it has the tokens with roles (bos_token).
        See `Chat` and ALGORITHMS.md, H1 to H5.

        Raises InputError without jinja2, without a template, for messages that are no plain data with roles, and for
        what the template raises. Hazard: a template is a program. It runs in a sandbox with limits on output and
        steps, but one that you do not trust should run in a process of its own.

        Source: `apply_chat_template` of transformers 5.24, for the text.

        >>> import subwords
        >>> tok = subwords.load("demo").with_tokens(["<|user|>", "<|end|>"])
        >>> tok = tok.with_(chat_template="{% for m in messages %}<|user|>{{ m.content }}<|end|>{% endfor %}")
        >>> tok.chat([{"role": "user", "content": "light<|end|>"}]).parts[:2]
        (Special(token='<|user|>'), Text(text='light<|end|>'))
        """
        chatter = self._chatter
        from subwords.chat.chat import chat

        options = chatter.options(tools, documents, template, trusted, variables)
        return chat(chatter, messages, options, prompt=prompt, resume=resume)

    def chats(
        self,
        conversations: Iterable[Any],
        *,
        tools: Sequence[Mapping[str, Any] | Callable[..., Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        prompt: bool = False,
        template: str | None = None,
        trusted: Mapping[str, Iterable[str]] | None = None,
        start: Literal["reply", "turn"] | None = None,
        end: Literal["token", "line"] | None = None,
        threads: int | None = None,
        **variables: Any,
    ) -> ChatBatch:
        """Return the ids of many conversations, and which of them the assistant writes: to train on.

        conversations: lists of messages, or dicts with the keys messages, tools and documents. start, end: as in
        `Chat.mask`. threads: for the encoding, None for one per processor. Other options: as in `chat`, but without a
        prompt by default. The result has `tokens`, a `TokenBatch`, and `mask`, bool, one per id. Raises InputError as
        `chat` does, with the number of the conversation, and for a reply that the text lacks.

        >>> import subwords
        >>> tok = subwords.load("demo").with_tokens(["<|user|>", "<|assistant|>", "<|end|>"])
        >>> tok = tok.with_(chat_template="{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}")
        >>> batch = tok.chats([[{"role": "user", "content": "light"}, {"role": "assistant", "content": "red"}]])
        >>> tok.decode(batch.tokens[0][batch.mask])
        'red<|end|>'
        """
        chatter = self._chatter
        from subwords.chat.chat import batch

        given = {"tools": tools, "documents": documents, "template": template, "trusted": trusted}
        given["variables"] = variables
        return batch(chatter, conversations, given, prompt=prompt, start=start, end=end, threads=threads)

    def reply_format(self, *, template: str | None = None, **variables: Any) -> ReplyFormat:
        """Return how a chat template writes answers, as a table: what `Chat.reply` reads them by (ALGORITHMS.md, H7).

        template, variables: as in `chat`. Raises InputError if it cannot be learned.
        """
        chatter = self._chatter
        from subwords.chat.reply_format import learned

        return learned(chatter, chatter.options(None, None, template, None, variables)).shown

    @cached_property
    def _chatter(self) -> Chatter:
        try:
            from subwords.chat.conversation import Chatter
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] not in ("jinja2", "markupsafe"):
                raise
            raise InputError(f"chat templates need the package jinja2: {install_hint('chat')}") from None
        return Chatter(self)

    # ------------------------------------------------------------------ files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tokenizer to a file, atomically; the suffix is .json, .model, .tiktoken, .gguf or .txt.

        HF tokenizers and transformers load the .json file. SentencePiece loads the .model file, which holds Unigram or
        character-level BPE. A .tiktoken file holds the tokens of byte-level BPE, a .txt file those of WordPiece, a
        .gguf file the vocabulary for llama.cpp. The names "vocab.json" and "merges.txt" write both, as GPT-2 has them.
        A folder (that exists, or a name that ends in "/" or has no suffix) gets tokenizer.json, and roles and chat
        template in the files that transformers' AutoTokenizer reads.
        Warns (SubwordsWarning) of parts that a format does not hold: a .json file lacks roles and chat templates, a
        .tiktoken file splitter and special tokens as well, which `load` takes as options.
        Raises FormatError if the format cannot hold this tokenizer, InputError if the file cannot be written.
        """
        from subwords.formats.write import lost_in, target_of, write_file

        target = target_of(path)
        lost = lost_in(self.spec, target, write_file(self.spec, path))
        if lost:
            from subwords.formats.write import advice

            warnings.warn(advice(self.spec, target, lost), SubwordsWarning, stacklevel=2)

    @overload
    def encode_files(
        self, source: Source, path: str | PathLike[str], *, run: None = None, **options: Unpack[EncodeOptions]
    ) -> Manifest: ...
    @overload
    def encode_files(
        self, source: Source, path: str | PathLike[str], *, run: Run, **options: Unpack[EncodeOptions]
    ) -> Manifest | None: ...
    def encode_files(
        self,
        source: Source,
        path: str | PathLike[str],
        *,
        format: Format | None = None,
        dtype: Literal["uint16", "uint32", "int32"] | None = None,
        bos: int | str | None = None,
        eos: int | str | None = None,
        shard_size: int | None = None,
        shuffle: int | None = None,
        special: Literal["text", "error", "allow"] = "text",
        chat: bool | ChatOptions = False,
        pack: int | None = None,
        reading: Reading | None = None,
        threads: int | None = None,
        progress: bool | None = None,
        run: Run | None = None,
    ) -> Manifest | None:
        """Encode a corpus to token files, which `subwords.files.open` reads, and write their manifest beside them.

        source: as in `subwords.count`: text, JSON Lines, Parquet or Arrow files, folders, globs, texts, tables.
        format: npy, bin (raw ids), megatron, parquet, datatrove or llmc; None takes it from the suffix of `path`.
        dtype: None takes the smallest type of the format that holds the vocabulary. bos, eos: an id or a token before
        and after each document; none by default. shard_size: a file is full when a document ends that brings it to as
        many ids or more; then path-00000, path-00001, ... are written. shuffle: a seed; the documents of each file are
        shuffled by it. special: as in `encode`. chat: True or options of `chats`: rows have conversations (messages,
        tools, documents), and a mask is beside each file of ids. pack: whole conversations are packed into rows of as
        many ids (docs/chat.md). reading: see `subwords.Reading`. threads: None for one per processor.
        run: encode files in shards, by several processes or machines (`subwords.scale.Run`), which have threads of
        their own; None is returned if other ranks have shards to do.

        The files are the same for any number of threads. Each appears complete or not at all. Files that an earlier
        manifest of this name lists, and that are not written again, are deleted, such as more shards. Raises
        InputError for invalid options and for a type that does not hold the vocabulary, CorpusError for a corpus that
        cannot be read.

        >>> import subwords, tempfile
        >>> tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<end>"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = tok.encode_files(["ab", "ab ab"], f"{folder}/ids.npy", eos="<end>")
        ...     [ids.tolist() for ids in subwords.files.open(f"{folder}/ids.npy")]
        [[257, 0], [257, 221, 257, 0]]
        """
        from subwords.scale.job import encode_corpus

        return encode_corpus(
            self._engine,
            self.spec,
            source,
            path,
            format=format,
            dtype=dtype,
            bos=bos,
            eos=eos,
            shard_size=shard_size,
            shuffle=shuffle,
            special=special,
            chat=chat,
            pack=pack,
            reading=reading,
            threads=threads,
            progress=progress,
            run=run,
        )

    # ------------------------------------------------------------------ the classes of other libraries

    def as_tiktoken(self, name: str = "subwords") -> TiktokenShape:
        """Return the tokenizer with the methods of `tiktoken.Encoding`; byte-level BPE only.

        Raises InputError for other models, and for normalizers and added tokens that are not special.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).as_tiktoken().encode_ordinary("abab")
        [256, 256]
        """
        from subwords.interop.tiktoken import TiktokenShape

        check_string("name", name)
        return TiktokenShape(self, name)

    def as_sentencepiece(self) -> SentencePieceShape:
        """Return the tokenizer with the methods of `sentencepiece.SentencePieceProcessor`.

        Raises FormatError for a tokenizer that a .model file cannot hold.
        """
        from subwords.interop.sentencepiece import SentencePieceShape

        return SentencePieceShape(self)

    def as_hf(self) -> HFShape:
        """Return the tokenizer with the methods of `tokenizers.Tokenizer`.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).as_hf().encode("abab").tokens
        ['ab', 'ab']
        """
        from subwords.interop.hf import HFShape

        return HFShape(self)

    def to_transformers(self, **options: Any) -> Any:
        """Return a `transformers.PreTrainedTokenizerFast` with this tokenizer's ids, roles and chat template.

        options: those of the class, such as padding_side and model_max_length; they win. Raises InputError if
        transformers is not installed, FormatError for a tokenizer that tokenizer.json cannot hold.
        """
        from subwords.interop.hf import to_transformers

        return to_transformers(self, options)

    # ------------------------------------------------------------------ a value

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[TokenizerSpec]]:
        return type(self), (self.spec,)

    def __eq__(self, other: object) -> bool:
        return self.spec == other.spec if isinstance(other, Tokenizer) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.spec)

    def __setattr__(self, name: str, value: object) -> None:
        if name in OF_TOKENIZER:
            raise hint("Tokenizer", name, 'tok.with_(...), such as tok.with_(roles={"pad": "<pad>"})')
        raise MissingName(f"Tokenizer is immutable: cannot set {name!r}; tok.with_(...) returns a changed copy")

    def __delattr__(self, name: str) -> None:
        raise MissingName(f"Tokenizer is immutable: cannot delete {name!r}")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in OF_TOKENIZER]

    def __repr__(self) -> str:
        from subwords.engine.unknown import one_line

        return one_line(self.model, self.splitter, self.normalizer, self.special_tokens)

    def _repr_html_(self) -> str:
        from subwords.engine.unknown import table

        return table(self.model, self.splitter, self.normalizer, self.special_tokens)


for _name, _ours in OF_TOKENIZER.items():
    setattr(Tokenizer, _name, OtherName(_name, _ours))


def _warn_of_spaces(old: Tokenizer, tok: Tokenizer, word: str) -> None:
    """Warn if a text does not come back with the spaces beside an added word, which is what HF's rule does, too."""
    from subwords.spec.decoder import writes_prefix

    if not writes_prefix(tok.spec.splitter, tok.spec.normalizer):
        return
    for text in (f"a {word} a", "a a"):
        try:
            back = tok.decode(tok.encode(text))
        except InputError:  # of a model that does not know the letter
            return
        if (back == text) == (word in text):
            return
    count = max(1, old.count_tokens(word) - 1)
    warnings.warn(
        f"decoding changes the spaces beside {word!r:.60}, as in HF: each text between added tokens begins like a "
        f"whole one; subwords.adapt.extend(tok, [{word!r:.60}], count={count}) learns a token without this",
        SubwordsWarning,
        stacklevel=3,  # the line that calls with_tokens
    )


def engine_of(tokenizer: Tokenizer) -> Engine:
    """Return what encodes for a tokenizer: for other rooms of this package."""
    return tokenizer._engine


def grower_of(tokenizer: Tokenizer, special: SpecialPolicy) -> Grower:
    """Return what encodes texts in pieces."""
    return tokenizer._growers[special]


def chatter_of(tokenizer: Tokenizer) -> Chatter:
    """Return the chat templates of a tokenizer; InputError without jinja2."""
    return tokenizer._chatter


def load(
    path: str | PathLike[str],
    *,
    splitter: SplitterLike = None,
    special_ids: Mapping[str, int] | None = None,
    revision: str | None = None,
    download: bool = False,
) -> Tokenizer:
    """Return the tokenizer of a file or folder, of OpenAI's encodings or models, of the Hub by name, or "demo".

    "demo" is in the package, for first steps and for reports: byte-level BPE, 4,096 tokens, trained on a book.
    The format is recognized by content. In a folder, tokenizer.json wins over .model, vocab.json and vocab.txt. A
    vocab.txt does not name its normalizer: BERT's is used, cased if any token has a capital letter. A rank file of
    tiktoken has no splitter and no special tokens: pass both; OpenAI's files need neither. vocab.json with merges.txt
    has none either: its tokens decide whether the default is GPT-2's, CLIP's or GPT-1's. Other formats refuse these
    options. "o200k_base" or "gpt-4o" finds OpenAI's file in this folder, in those of SUBWORDS_VOCABULARIES or in
    tiktoken's caches. "org/name" that is not a file or folder is a repository in the Hugging Face cache or in those
    folders, at `revision`, a branch, tag or commit; `download=True` downloads its tokenizer files. Nothing else is
    downloaded. Raises FormatError, with the place, for missing, damaged and unsupported files, InputError if `path` is
    not a path.

    >>> import subwords
    >>> subwords.load("demo").tokenize("Rays of Light")
    ['Rays', ' of', ' Light']
    """
    from subwords.engine.kept import file_named, kept_at, read_kept

    path = file_named(path)
    usual = splitter is None and special_ids is None and revision is None and download is False
    place, contents = kept_at(path) if usual else (None, {})
    if place is not None and (found := read_kept(place)) is not None:
        tok = Tokenizer.__new__(Tokenizer)
        tok.__dict__.update(_kept=found, _fast_encode=found.encode, _fast_count=found.count_ids)
        return tok
    from subwords.formats.read import read_tokenizer

    rule = None
    if splitter is not None:
        from subwords.normalize.resolve import splitter as resolved

        rule = resolved(splitter).rule
    options: Any = {"splitter": rule, "special_ids": special_ids, "revision": revision, "download": download}
    named = len(contents)
    tok = Tokenizer(read_tokenizer(path, **options, contents=contents))
    # The name is of the contents before: a vocab.json is read with a file beside it. A kept file gives no warning.
    if place is not None and len(contents) == named and not tok.spec.foreign.warned:
        tok.__dict__["_kept_at"] = place
    return tok


def warmup(*tokenizers: str | PathLike[str], progress: bool | None = None) -> None:
    """Compile all kernels, or load them from the cache, and keep what the given tokenizers need for a fast start.

    Servers call it once before they fork or take requests, and images when they are built; a second call is free.
    tokenizers: what `load` takes. `progress=None` shows a bar if standard error is a terminal.

    >>> import subwords
    >>> subwords.warmup("demo")
    """
    from subwords.corpus.progress import progress as progress_line
    from subwords.kernels.fastpath import every_address_kernel
    from subwords.kernels.jit import every_kernel
    from subwords.kernels.modes import NOTICES
    from subwords.kernels.stored import later

    kernels = [*every_kernel(), *every_address_kernel()]
    with progress_line(len(kernels), "loading kernels", unit="steps", enabled=progress) as bar:
        NOTICES.shown = NOTICES.shown or bar.shown
        for number, kernel in enumerate(kernels, 1):
            kernel.without_gil()
            bar.phase("compiling kernels, once" if NOTICES.compiling else "loading kernels", number, len(kernels))
    for path in tokenizers:
        load(path).encode("a")
    later.finish()


def _few(ids: Any) -> Any:
    """Return the ids of a small array as a list, anything else as it is."""
    import numpy as np

    from subwords.spec.token_batch import MOST_AS_LIST

    return ids.tolist() if type(ids) is np.ndarray and ids.size <= MOST_AS_LIST else ids


def tokenizer_of(
    value: object,
    name: str = "tokenizer",
    *,
    splitter: SplitterLike = None,
    special_ids: Mapping[str, int] | None = None,
) -> Tokenizer:
    """Return a tokenizer itself, or the one that `load` reads from a path or a name, such as "gpt-4o".

    name: of the argument, for messages. splitter, special_ids: for files without them, see `load`. Raises InputError
    for other types and for options that a Tokenizer has itself; and the errors of `load`.
    """
    if isinstance(value, Tokenizer):
        if splitter is not None or special_ids is not None:
            raise InputError(f"splitter and special_ids are those of the {name}: leave them out")
        return value
    if isinstance(value, str | PathLike):
        return load(value, splitter=splitter, special_ids=special_ids)
    hint = "; pass its .tokenizer" if isinstance(getattr(value, "tokenizer", None), Tokenizer) else ""
    raise InputError(f"expected {name} to be a Tokenizer, a path or a name, not {type(value).__name__}{hint}")
