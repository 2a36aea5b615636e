"""Train a tokenizer on a corpus or on word counts. This file only orchestrates."""

from __future__ import annotations

import unicodedata
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeGuard, Unpack, overload

import numpy as np

from subwords.corpus.counts import WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.reading import Reading
from subwords.corpus.source import check_there
from subwords.models.families import ALGORITHMS, Family, family_named, family_of
from subwords.normalize.resolve import Changes, NormalizerLike, SplitterLike
from subwords.normalize.resolve import splitter as make_splitter
from subwords.spec.model import Model
from subwords.spec.splitter import SPACE, kept_whole, writes_spaces
from subwords.support.checks import bytes_of, check_strings, check_token
from subwords.support.errors import InputError, SubwordsWarning, TrainingError
from subwords.support.memory import room_of
from subwords.support.names import nearest
from subwords.support.threads import thread_count
from subwords.tokenizer import Tokenizer
from subwords.training.count import WordRules, counts_of, normalizer_or_none

if TYPE_CHECKING:
    from subwords.corpus.source import Source
    from subwords.normalize.normalizer import Normalizer
    from subwords.spec.template import TemplateLike
    from subwords.split.splitter import Splitter


# ---------------------------------------------------------------------------------------------------------------------
# The options of `train` per model family: types for editors and type checkers, and the settings built from them.

Settings = Any  # the settings of a family, a frozen dataclass

# Each TypedDict repeats the fields of a dataclass in models/settings.py: type checkers make neither from the other, and
# `Unpack` takes only a TypedDict. tests/unit/test_arguments.py compares them.


class CommonOptions(TypedDict, total=False):
    """Options of all algorithms; see `train`."""

    splitter: SplitterLike
    normalizer: NormalizerLike
    special_tokens: Sequence[str] | None
    unk_token: str | None
    template: TemplateLike | Literal["auto"]
    roles: Mapping[str, str] | None
    reading: Reading | None
    min_documents: int | None
    memory: int | str | None
    threads: int | None
    progress: bool | None


class BPEOptions(CommonOptions, total=False):
    """Options of algorithm="bpe"; see `train`."""

    byte_level: bool
    alphabet: Literal["full", "corpus"]
    tie_break: Literal["ids", "first", "bytes"]
    min_frequency: int | None
    max_token_length: int | None
    limit_alphabet: int | None
    fuse_unk: bool
    byte_fallback: bool
    whole_characters: bool


class WordPieceOptions(CommonOptions, total=False):
    """Options of algorithm="wordpiece"; see `train`."""

    score: Literal["likelihood", "course", "count"]
    prefix: str
    tie_break: Literal["ids", "first", "bytes"]
    min_frequency: int | None
    max_token_length: int | None
    limit_alphabet: int | None
    max_chars: int | None


class UnigramOptions(CommonOptions, total=False):
    """Options of algorithm="unigram"; see `train`."""

    seed_size: int
    shrinking_factor: float
    sub_iterations: int
    max_piece_length: int
    min_frequency: int | None
    character_coverage: float
    required_chars: str
    user_defined: Sequence[str]
    byte_fallback: bool


class MingramOptions(CommonOptions, total=False):
    """Options of algorithm="mingram"; see `train`."""

    byte_fallback: bool
    seed_factor: float


class WordLevelOptions(CommonOptions, total=False):
    """Options of algorithm="wordlevel"; see `train`."""

    min_frequency: int | None


def families_with(option: str) -> tuple[str, ...]:
    """Return the names of the families that accept an option.

    >>> families_with("prefix")
    ('wordpiece',)
    """
    return tuple(name for name, family in ALGORITHMS.items() if option in family.options)


def special_tokens_of(algorithm: str, special_tokens: Sequence[str] | None, unk_token: str | None) -> tuple[str, ...]:
    """Return the special tokens: the given ones or the family's defaults; some families add the unknown token."""
    family = family_named(algorithm)
    tokens = check_strings("special_tokens", family.special_tokens if special_tokens is None else special_tokens)
    if unk_token is not None:
        check_token("unk_token", unk_token)
    unk = family.unk_token if unk_token is None else unk_token
    return tokens if not family.adds_unk or unk is None or unk in tokens else (unk, *tokens)


def family_settings(algorithm: str, options: Mapping[str, Any]) -> Settings:
    """Return the settings of a family; None selects an option's default.

    Raises InputError or TrainingError for options of other families and for invalid values.
    """
    family = family_named(algorithm)
    given = {name: value for name, value in options.items() if value is not None or name == "vocab_size"}
    _refuse_others(family, given)
    given["special_tokens"] = special_tokens_of(algorithm, given.get("special_tokens"), given.get("unk_token"))
    given.setdefault("unk_token", family.unk_token)
    if "min_frequency" in family.options:
        given.setdefault("min_frequency", family.min_frequency)
    return family.settings(**given)


def _refuse_others(family: Family, given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in family.options:
            if others := families_with(name):
                has = " and ".join(filter(None, (", ".join(others[:-1]), others[-1])))
                raise InputError(f"`{name}` is for {has}, not for {family.name}: leave it out")
            if name in Reading.__slots__:
                raise InputError(f"`{name}` is not an option of train: pass reading=Reading({name}=...)")
            known = f"{family.name} has {', '.join(family.options)}{nearest(name, family.options)}"
            raise InputError(f"{name!r} is not an option of train; {known}")
    if isinstance(given.get("alphabet"), str) and given["alphabet"] == "full" and given.get("byte_level") is False:
        raise InputError('alphabet="full" needs bytes, byte_level=True: leave `alphabet` out')


# ---------------------------------------------------------------------------------------------------------------------
# Looks at a sample of a corpus for marks, such as accents and vowel signs, that a normalizer removes.

LOOK = 1 << 11  # bytes of every fourth block: more would slow counting down
NTH_BLOCK = 4
LEAST_SHARE = 0.01  # share of the letters, or of the words; English has fewer letters with accents


class Marks:
    """Called with the text of a corpus, block by block; counts the marks that the normalizer removes from a sample."""

    def __init__(self, normalizer: Normalizer) -> None:
        self._normalizer = normalizer
        self._blocks = 0
        self._letters = 0
        self._lost: Counter[str] = Counter()

    def __call__(self, data: bytes) -> None:
        """Look at the beginning of a block, of every fourth one."""
        self._blocks += 1
        if self._blocks % NTH_BLOCK != 1:
            return
        text = data[:LOOK].decode("utf-8", "ignore")
        if text.isascii():
            self._letters += len(text) - text.count(" ")
            return
        found = unicodedata.normalize("NFD", text)
        self._letters += sum(unicodedata.category(char).startswith("L") for char in found)
        self._lost += _marks(found) - _marks(unicodedata.normalize("NFD", self._normalizer.normalize(text)))

    def warning(self) -> str | None:
        """Return what to say of the marks, or None if there are few."""
        lost = self._lost.total()
        if lost < LEAST_SHARE * max(1, self._letters):
            return None
        names = ", ".join(unicodedata.name(mark, f"U+{ord(mark):04X}") for mark, _ in self._lost.most_common(3))
        return (
            f"marks are lost: the default normalizer removes {lost} for {self._letters} letters of a sample ({names}, "
            f'...), and text does not come back with them; normalizer="bert-cased" keeps them'
        )


FEW_SPACES = 100  # say nothing about a corpus
MOST_LOST = 0.25  # share of spaces and tabs: code has 50 % in indentation, prose mostly below 20 %


class Whitespace:
    """Called with the text of a corpus, block by block; counts the spaces and tabs that do not come back, in a sample.

    Line feeds are not counted: prose has them too, and does not mind if they become spaces.
    """

    def __init__(self, normalizer: Normalizer) -> None:
        self._normalizer = normalizer
        self._all, self._lost = 0, 0

    def __call__(self, data: bytes) -> None:
        """Look at the beginning of a block."""
        text = data[:LOOK].decode("utf-8", "ignore").replace("\n", "|")
        before = Counter(filter(str.isspace, text))
        after = Counter(filter(str.isspace, self._normalizer.normalize(text).replace(SPACE, " ")))
        self._all, self._lost = self._all + before.total(), self._lost + (before - after).total()

    def warning(self) -> str | None:
        """Return what to say of the whitespace, or None if little is lost."""
        if self._all < FEW_SPACES or self._lost <= MOST_LOST * self._all:
            return None
        return (
            f"whitespace is lost: the normalizer removes {self._lost / self._all:.0%} of the spaces and tabs of a "
            "sample, and makes spaces of line feeds: text does not come back with them; "
            'normalizer="sentencepiece-unchanged" keeps them'
        )


def _marks(text: str) -> Counter[str]:
    return Counter(char for char in text if unicodedata.category(char) == "Mn")


MARKS = (0xCC, 0xE4, 0xEA)  # first bytes of U+0300, the first mark, and of U+4000 to U+9FFF, which are no marks
LOOKED_AT = 1 << 18  # distinct words, evenly chosen: at most 9 ms


def cut_marks(counts: WordCounts, splitter: Splitter, family: Family) -> str | None:
    """Return what to say if another splitter than the family's cuts letters from their marks; None if it rarely does.

    A word that begins with a mark shows it. Without a letter before them, as in a keycap, marks are rare.
    """
    if splitter.name == family.splitter:
        return None
    step = 1 + len(counts) // LOOKED_AT
    starts, times = counts.offsets[:-1:step], counts.counts[::step].astype(np.float64)
    leads = counts.data[starts]
    late = np.flatnonzero(np.digitize(leads, MARKS) % 2)
    heads = counts.data[np.minimum(starts[late, None] + np.arange(4), len(counts.data) - 1)]
    heads[np.arange(4) >= np.digitize(leads[late], (0xE0, 0xF0))[:, None] + 2] = 0  # bytes of the next character
    found, places = np.unique(heads.view(np.uint32), return_inverse=True)
    texts = (head.tobytes().decode("utf-8", "replace")[0] for head in found)
    weights = zip(texts, np.bincount(places.ravel(), times[late]), strict=True)
    marks = Counter({char: weight for char, weight in weights if unicodedata.category(char) in ("Mn", "Mc")})
    share = sum(marks.values()) / max(1.0, times.sum())
    if share < LEAST_SHARE:
        return None
    names = ", ".join(unicodedata.name(mark, f"U+{ord(mark):04X}") for mark, _ in marks.most_common(2))
    return (
        f"letters are cut from their marks: splitter {splitter.name!r:.60} begins about {100 * share:.2g} % of the "
        f"words with a combining mark ({names}, ...), and no token joins letter and mark; "
        f'splitter="{family.splitter}" keeps them together'
    )


# ---------------------------------------------------------------------------------------------------------------------
# How much memory training takes.

# Measured on 0.1 to 1.3 million words of 25 languages and code, for BPE, WordPiece and Unigram.
FIXED = 64 << 20  # bytes
PER_SYMBOL = 16  # bytes for each byte of a distinct word, and for its end


def need_of(counts: WordCounts) -> int:
    """Return about how many bytes of memory it takes to train on word counts."""
    return FIXED + PER_SYMBOL * (len(counts.data) + len(counts))


def check_memory(counts: WordCounts, memory: int) -> None:
    """Raise TrainingError if training on these counts takes more than `memory` bytes of this process."""
    need = need_of(counts)
    try:
        room = room_of(memory)
    except InputError:
        room = 0
    if need > room:
        raise TrainingError(
            f"training takes about {need / 10**9:.2f} GB for {len(counts):,} distinct words, but memory={memory} "
            f"leaves {room / 10**9:.2f} GB: allow more, or leave out rare words: counts.at_least(2)"
        )


FEW_BYTES = 1 << 20  # bytes of distinct words; whitespace alone has few of them


@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["bpe"] = "bpe",
    vocab_size: int,
    **options: Unpack[BPEOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["wordpiece"],
    vocab_size: int,
    **options: Unpack[WordPieceOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["unigram"],
    vocab_size: int,
    **options: Unpack[UnigramOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["mingram"],
    vocab_size: int,
    **options: Unpack[MingramOptions],
) -> Tokenizer: ...
@overload
def train(
    source: Source | WordCounts,
    *,
    algorithm: Literal["wordlevel"],
    vocab_size: int,
    **options: Unpack[WordLevelOptions],
) -> Tokenizer: ...
def train(
    source: Source | WordCounts,
    *,
    algorithm: str = "bpe",
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    template: TemplateLike | Literal["auto"] = "auto",
    roles: Mapping[str, str] | None = None,
    reading: Reading | None = None,
    min_documents: int | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Tokenizer:
    """Train a tokenizer on a corpus (see `count`) or on word counts.

    None selects an option's default. Raises InputError for an option of another algorithm, TrainingError if settings
    and corpus do not fit together. Warns (SubwordsWarning) if there are fewer than vocab_size tokens.

    Options of all algorithms:

    - algorithm: "bpe", "wordpiece", "unigram", "wordlevel" or "mingram". vocab_size: the number of tokens, special
      tokens included.
    - splitter, normalizer: any value that `subwords.splitter` or `subwords.normalizer` accepts. "auto" is "o200k" and
      no normalizer for BPE, "bert" and "bert-uncased" for WordPiece, "sentencepiece" for both with Unigram and Mingram,
      "whitespace" and no normalizer for WordLevel.
    - special_tokens: get the first ids and are removed from the corpus. Default: none for BPE; [PAD], [UNK], [CLS],
      [SEP] and [MASK] for WordPiece; <unk>, <s> and </s> for Unigram; <unk> for WordLevel.
    - template ("auto"): the special tokens around a text, "<s> $A </s>", or two such texts, for a text and for a pair.
      "auto" is BERT's for WordPiece with [CLS] and [SEP], none for others. roles: special tokens by role, {"pad":
      "<fill>"}; the others are recognized by their usual names.
    - unk_token: the special token for unknown text. Default: none for BPE, [UNK] for WordPiece, <unk> for the others.
    - min_frequency: the smallest count of a merged pair or of a word (default 0), or of a Unigram piece (default 2).
    - reading: how the corpus is read; InputError with word counts.
    - min_documents (None): train only on words that are in at least this many documents, so that each token is,
      too. Word counts need `WordCounts.documents` for it.
    - memory (None): a rough limit on the memory of the process, as in `count`. The merges are learned in memory, from
      all words: TrainingError if they do not fit.
    - threads, progress: as in `count`.

    "bpe":

    - byte_level (True): start from bytes; False starts from characters. alphabet ("full"): all 256 bytes; "corpus":
      only the bytes of the corpus.
    - tie_break ("ids"): which of several pairs of equal score to merge: "ids" the pair of smaller ids, as HF
      tokenizers; "first" the pair that occurs first; "bytes" the pair of smaller bytes.
    - max_token_length (None): the most bytes of a token, or characters if byte_level is False.
    - limit_alphabet (None): keep the N most frequent symbols. Any other symbol splits the word in training and becomes
      unk_token in encoding.
    - fuse_unk (False): a run of unknown characters becomes one unk_token. byte_fallback (False): unknown characters
      become bytes. Both need byte_level=False; a .model file needs one of them.
    - whole_characters (False): tokens are whole characters or a part of one, never the end of one and the beginning of
      the next. Needs byte_level=True.

    "wordpiece": tie_break, max_token_length and limit_alphabet as above, and:

    - score ("likelihood"): merge the pair with the highest score. "likelihood": the gain in log-likelihood of a unigram
      language model. "course": count(ab) / (count(a) count(b)), which needs a large min_frequency. "count": the
      pair's count, as BPE and HF's trainer.
    - prefix ("##"): marks pieces that continue a word. max_chars (None): longer words become unk_token, and
      nothing is learned from them. None is the length of the corpus's longest word, but at least 100.

    "unigram": the result has exactly vocab_size tokens.

    - seed_size (1,000,000): the number of initial pieces. max_piece_length (16): in characters.
    - shrinking_factor (0.75): the share of pieces kept in each round. sub_iterations (2): EM steps per round.
    - character_coverage (1.0): keep the most frequent characters that cover this share of the text, and those of
      required_chars (""). Any other character splits the word.
    - user_defined (()): pieces that are always kept whole. byte_fallback (False): unknown characters become bytes.

    "mingram": a Unigram model that writes a text with the fewest pieces (ALGORITHMS.md, U7). byte_fallback as above.

    - seed_factor (1.1): the pieces are chosen from those of BPE with so many times as many tokens.

    "wordlevel": no other options. The tokens are the most frequent words; any other word is unknown.

    >>> import subwords
    >>> tok = subwords.train(["hug pug pun bun hugs " * 9], vocab_size=262, special_tokens=["<s>"])
    >>> tok.merges[:2]
    ((b'u', b'g'), (b'h', b'ug'))
    >>> subwords.train(["hug hugs hugging"] * 9, algorithm="wordpiece", vocab_size=16).tokenize("Hugs")
    ['hug', '##s']
    """
    try:
        settings = family_settings(algorithm, {**options, "vocab_size": vocab_size, "special_tokens": special_tokens})
    except TrainingError:
        check_there(source)
        raise
    rules = splitting_rules(algorithm, settings, splitter, normalizer)
    family = family_named(algorithm)
    if roles is not None or not _is_auto(template):  # tokens that do not exist are an error before the training
        _finished(Tokenizer(family.assemble(family.untrained(settings), settings, *rules[:2])), template, roles)
    threads, most = thread_count(threads), None if memory is None else bytes_of(memory)
    looks = list[Marks | Whitespace]()
    if rules.normalizer is not None and _is_auto(normalizer):
        looks.append(Marks(rules.normalizer))
    if rules.normalizer is not None and writes_spaces(rules.splitter.rule, rules.normalizer.steps):
        looks.append(Whitespace(rules.normalizer))
    counts = counts_of(
        source,
        rules,
        reading=reading,
        document_frequencies=min_documents is not None,
        memory=most,
        threads=threads,
        progress=progress,
        on_block=(lambda data: [look(data) for look in looks]) if looks else None,
    )
    if counts is not source:
        _warn_of_whitespace(counts)
    _warn_of_users(rules)
    for look in looks:
        if warning := look.warning():
            warnings.warn(warning, SubwordsWarning, stacklevel=2)
    if min_documents is not None:
        counts = counts.at_least(documents=min_documents)
        if not len(counts):
            raise TrainingError(
                f"no word is in {min_documents} documents: lower min_documents, or split the text into more documents"
            )
    if most is not None:
        check_memory(counts, most)
    with progress_line(None, "indexing", unit=family.unit, enabled=progress) as bar:
        model: Model = family.train(counts, settings, threads=threads, on_step=bar.phase)
    _warn_of_fewer(model, settings)
    if warning := cut_marks(counts, rules.splitter, family):
        warnings.warn(warning, SubwordsWarning, stacklevel=2)
    if model.max_chars is not None and settings.max_chars is None:
        _warn_of_long_words(model, counts)
    return _finished(Tokenizer(family.assemble(model, settings, *rules[:2])), template, roles)


def _warn_of_whitespace(counts: WordCounts) -> None:
    few = counts.data.tobytes().decode("utf-8", "replace") if len(counts.data) < FEW_BYTES else "words"
    if not few.replace("\u2581", " ").strip():
        warnings.warn("the corpus has whitespace only: check the source", SubwordsWarning, stacklevel=3)


def _warn_of_users(rules: WordRules) -> None:
    """Warn of user-defined pieces that no text yields, because the normalizer changes them before the model."""
    if not rules.user_defined:
        return
    _, steps = kept_whole(rules.user_defined, (), rules.normalizer.steps if rules.normalizer else ())
    from subwords.normalize.normalizer import Normalizer

    normalizer = Normalizer(steps)
    texts = [(piece, normalizer.normalize(f"a {piece} a")) for piece in rules.user_defined]
    changed = [piece for piece, text in texts if piece not in text]
    if changed:
        shown = ", ".join(map(repr, changed[:5])) + (", ..." if len(changed) > 5 else "")
        warnings.warn(
            f"the normalizer changes user-defined pieces, so no text yields them: {shown}. Write them as "
            "subwords.normalizer(...).normalize leaves them, or leave out the step that changes them",
            SubwordsWarning,
            stacklevel=3,  # the line that calls train
        )


def _finished(tok: Tokenizer, template: TemplateLike | Literal["auto"], roles: Mapping[str, str] | None) -> Tokenizer:
    changes: Changes = {}
    if not _is_auto(template):
        changes["template"] = template
    if roles is not None:
        if not isinstance(roles, Mapping):
            raise InputError(f"expected roles as a dict of tokens by role, not {type(roles).__name__}")
        changes["roles"] = {**tok.roles, **roles}
    return tok.with_(**changes) if changes else tok


def dry_run(
    *,
    algorithm: str,
    splitter: SplitterLike,
    normalizer: NormalizerLike,
    template: TemplateLike | Literal["auto"] = "auto",
    roles: Mapping[str, str] | None = None,
    **options: Any,
) -> Tokenizer:
    """Return an untrained tokenizer with these options, to check before training whether it can be saved."""
    family, settings = family_named(algorithm), family_settings(algorithm, options)
    rules = splitting_rules(algorithm, settings, splitter, normalizer)
    return _finished(Tokenizer(family.assemble(family.untrained(settings), settings, *rules[:2])), template, roles)


def splitting_rules(
    algorithm: str, settings: Settings, splitter: SplitterLike, normalizer: NormalizerLike
) -> WordRules:
    """Return what makes words of text in training; "auto" is the family's own splitter or normalizer."""
    family = family_named(algorithm)
    rule = make_splitter(family.splitter if _is_auto(splitter) else splitter)
    before = normalizer_or_none(family.normalizer if _is_auto(normalizer) else normalizer)
    return WordRules(rule, before, settings.cut_out, settings.users)


def _is_auto(value: object) -> TypeGuard[Literal["auto"]]:
    return isinstance(value, str) and value == "auto"


def _warn_of_fewer(model: Model, settings: Settings) -> None:
    size = len(model.vocab)
    if size >= settings.vocab_size:
        return
    least, longest = settings.min_frequency, getattr(settings, "max_token_length", None)
    why = f"no {family_of(model).learns}"
    if least > 1:
        why += f" that occurs {least} times (min_frequency)"
    if longest is not None:
        why += f"{' and' if least > 1 else ''} that gives a token of at most {longest} symbols (max_token_length)"
    warnings.warn(
        f"fewer tokens than asked for: {size} instead of {settings.vocab_size}; {why}. Train on more text, or lower "
        f"vocab_size{' or min_frequency' if least > 1 else ''}",
        SubwordsWarning,
        stacklevel=3,  # the line that calls train
    )


def _warn_of_long_words(model: Model, counts: WordCounts) -> None:
    from subwords.models.wordpiece.model import MAX_CHARS
    from subwords.models.wordpiece.train import characters_of

    if model.max_chars is None or model.max_chars <= MAX_CHARS:
        return
    lengths = characters_of(counts).astype(np.float64)
    long, weights = lengths > MAX_CHARS, lengths * counts.counts
    warnings.warn(
        f"words of more than {MAX_CHARS} characters: {np.count_nonzero(long)} distinct words, "
        f"{100 * weights[long].sum() / weights.sum():.3g} % of the text, up to {model.max_chars} characters. So "
        f"max_chars is {model.max_chars}; with max_chars={MAX_CHARS}, as in BERT, they become unknown",
        SubwordsWarning,
        stacklevel=3,  # the line that calls train
    )
