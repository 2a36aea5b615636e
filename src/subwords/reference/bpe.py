"""Textbook byte-pair encoding: everything is recounted at every step.

Words and tokens are `bytes`. Training starts from *symbols*: bytes (byte-level) or characters.
Bytes that are not UTF-8 become lone surrogates in `str`, one per byte, and are restored unchanged.

>>> counts = count_words(["low lower lowest"], GPT2_PATTERN)
>>> counts
{b'low': 1, b' lower': 1, b' lowest': 1}
>>> vocab, merges = train(counts, 260)
>>> merges
[(b'l', b'o'), (b'lo', b'w'), (b' ', b'low'), (b' low', b'e')]
>>> encode("lowly", vocab, merges)
[257, 75, 88]
>>> decode([257, 75, 88], vocab)
b'lowly'
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Literal, TypeAlias, TypeVar

import regex

from subwords.reference.text import cuts_no_character

Token = TypeVar("Token", bytes, str)
Words: TypeAlias = list[tuple[list[Token], int]]  # the tokens of each word, and how often it occurs
Pair = tuple[bytes, bytes]
Scores: TypeAlias = Mapping[tuple[Token, Token], int | Fraction | Decimal]
# Called with the words, the vocabulary and None before training; then for each merge, with the scores of all pairs.
Watch: TypeAlias = Callable[[Words[Token], list[Token], Scores[Token], tuple[Token, Token] | None], object]

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def byte_to_char() -> dict[int, str]:
    """Map the 256 bytes to printable characters, in code-point order of the characters (the GPT-2 map).

    Printable Latin-1 bytes map to themselves; the 68 others map to the code points from 256 on.

    >>> chars = byte_to_char()
    >>> chars[ord("A")], chars[ord(" ")], chars[0], list(chars)[:3]
    ('A', 'Ġ', 'Ā', [33, 34, 35])
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}


BYTE_ORDER = {bytes([byte]): order for order, byte in enumerate(byte_to_char())}


def _to_chars(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return data.decode("utf-8", "surrogateescape")


def _to_bytes(chars: str) -> bytes:
    return chars.encode("utf-8", "surrogateescape")


def split(text: str, pattern: str) -> list[str]:
    """Split a text into words: the matches of `pattern` and the text between them.

    >>> split("Hello world  again", GPT2_PATTERN)
    ['Hello', ' world', ' ', ' again']
    >>> split("ab, cd", "[a-z]+")
    ['ab', ', ', 'cd']
    """
    pieces, end = [], 0
    for match in regex.finditer(pattern, text):
        pieces += [text[end : match.start()], text[match.start() : match.end()]]
        end = match.end()
    return [piece for piece in [*pieces, text[end:]] if piece]


def split_bytes(data: bytes, pattern: str) -> list[bytes]:
    r"""Split bytes into words; a byte that is not UTF-8 is one character, matched only by negated classes.

    `regex` sees such a byte as a lone surrogate, so `\p{C}` and `\p{Cs}` match it too.

    >>> split_bytes(b"caf\xc3\xa9 \xff\xfe!", GPT2_PATTERN)
    [b'caf\xc3\xa9', b' \xff\xfe!']
    """
    return [_to_bytes(piece) for piece in split(_to_chars(data), pattern)]


def _cut_specials(chars: str, special_tokens: Iterable[str]) -> list[str]:
    """Split into text, special, text, special, ..., text: special tokens have odd indices."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    if "" in longest_first:
        raise ValueError("special_tokens: expected non-empty strings, got an empty one")
    alternatives = "|".join(map(regex.escape, longest_first))
    return list(regex.split(f"({alternatives})", chars)) if alternatives else [chars]


def count_words(texts: Iterable[str | bytes], pattern: str, special_tokens: Iterable[str] = ()) -> dict[bytes, int]:
    """Count the words of the texts, in order of first occurrence; special tokens are removed first.

    >>> count_words(["a b<s>a", " b"], GPT2_PATTERN, ["<s>"])
    {b'a': 2, b' b': 2}
    """
    special_tokens = list(special_tokens)
    counts: dict[bytes, int] = {}
    for text in texts:
        for part in _cut_specials(_to_chars(text), special_tokens)[::2]:
            for word in map(_to_bytes, split(part, pattern)):
                counts[word] = counts.get(word, 0) + 1
    return counts


def symbols_of(word: bytes, byte_level: bool) -> list[bytes]:
    """Return the bytes or the characters of a word."""
    return [bytes([byte]) for byte in word] if byte_level else [_to_bytes(char) for char in _to_chars(word)]


def _alphabet(word_counts: Mapping[bytes, int], byte_level: bool, alphabet: str, limit: int | None) -> list[bytes]:
    """Return the initial symbols in order of id."""
    if alphabet not in ("full", "corpus"):
        raise ValueError(f"alphabet: expected 'full' or 'corpus', got {alphabet!r}")
    weights: dict[bytes, int] = dict.fromkeys(BYTE_ORDER, 0) if byte_level and alphabet == "full" else {}
    for word, count in word_counts.items():
        for symbol in symbols_of(word, byte_level):
            weights[symbol] = weights.get(symbol, 0) + count
    ordered = sorted(weights, key=BYTE_ORDER.__getitem__ if byte_level else _to_chars)
    if not byte_level:
        ordered = [symbol for symbol in ordered if not is_lone(_to_chars(symbol))]
    kept = sorted(ordered, key=lambda symbol: -weights[symbol])[:limit]  # stable: ties stay in order
    return [symbol for symbol in ordered if symbol in kept]


def is_lone(char: str) -> bool:
    """Whether a character stands for a byte that is not UTF-8: it is in no vocabulary of characters."""
    return "\ud800" <= char <= "\udfff"


def known_runs(symbols: Iterable[Token], alphabet: Container[Token]) -> list[list[Token]]:
    """Split a word at symbols outside the alphabet: b'aXbc' without X is [[b'a'], [b'b', b'c']]."""
    return [list(run) for known, run in groupby(symbols, alphabet.__contains__) if known]


def count_pairs(words: Iterable[tuple[Sequence[bytes], int]]) -> dict[Pair, int]:
    """Count adjacent pairs, window by window, in order of first occurrence.

    >>> count_pairs([([b"a", b"a", b"a"], 5), ([b"a", b"b"], 1)])
    {(b'a', b'a'): 10, (b'a', b'b'): 1}
    """
    counts: dict[Pair, int] = {}
    for tokens, count in words:
        for pair in pairwise(tokens):
            counts[pair] = counts.get(pair, 0) + count
    return counts


def joined(pair: tuple[Token, Token], marked: int = 0) -> Token:
    """Return what a pair merges to. marked: the length of the prefix that the right token loses.

    >>> joined(("h", "##u"), 2)
    'hu'
    """
    return pair[0] + pair[1][marked:]


def apply_merge(tokens: Sequence[Token], pair: tuple[Token, Token], marked: int = 0) -> list[Token]:
    """Join every occurrence of the pair, left to right and without overlap. marked: see `joined`.

    >>> apply_merge([b"a", b"a", b"a"], (b"a", b"a"))
    [b'aa', b'a']
    """
    merged: list[Token] = []
    i = 0
    while i < len(tokens):
        found = tuple(tokens[i : i + 2]) == pair
        merged.append(joined(pair, marked) if found else tokens[i])
        i += 2 if found else 1
    return merged


def best_pair(scores: Scores[Token], tie_break: str, ids: Mapping[Token, int]) -> tuple[Token, Token]:
    """Return the pair of the highest score; `scores` is in order of first occurrence, and `min` returns the first tie.

    Strings compare as their UTF-8 does.
    """
    if tie_break == "first":
        return min(scores, key=lambda pair: -scores[pair])
    if tie_break == "ids":
        return min(scores, key=lambda pair: (-scores[pair], ids[pair[0]], ids[pair[1]]))
    if tie_break == "bytes":
        return min(scores, key=lambda pair: (-scores[pair], pair))
    raise ValueError(f"tie_break: expected 'ids', 'first' or 'bytes', got {tie_break!r}")


def train(
    word_counts: Mapping[bytes, int],
    vocab_size: int,
    *,
    byte_level: bool = True,
    alphabet: Literal["full", "corpus"] = "full",
    special_tokens: Iterable[str] = (),
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    min_frequency: int = 0,
    max_token_length: int | None = None,
    limit_alphabet: int | None = None,
    whole_characters: bool = False,
    watch: Watch[bytes] | None = None,
) -> tuple[list[bytes], list[Pair]]:
    """Learn a vocabulary, in order of id (special tokens, alphabet, merges), and the merges, in order.

    `alphabet="full"` is all 256 bytes; with `byte_level=False` it is always the characters of the corpus.
    `limit_alphabet` keeps the most frequent symbols; any other symbol splits its word. `max_token_length` is in bytes,
    or in characters with `byte_level=False`. `whole_characters`: see `cuts_no_character`. `watch`: see `learned`.
    Raises ValueError if specials and alphabet exceed `vocab_size`.

    >>> train({b"hug": 10, b"pug": 5, b"hugs": 5}, 8, alphabet="corpus", special_tokens=["<s>"])
    ([b'<s>', b'g', b'h', b'p', b's', b'u', b'ug', b'hug'], [(b'u', b'g'), (b'h', b'ug')])
    """
    base = _alphabet(word_counts, byte_level, alphabet, limit_alphabet)
    vocab = list(dict.fromkeys([token.encode() for token in special_tokens] + base))
    if len(vocab) > vocab_size:
        raise ValueError(f"special tokens and alphabet are {len(vocab)} tokens, more than vocab_size={vocab_size}")
    words = [(run, n) for word, n in word_counts.items() for run in known_runs(symbols_of(word, byte_level), base)]

    def may_merge(left: bytes, right: bytes) -> bool:
        short = max_token_length is None or len(symbols_of(left + right, byte_level)) <= max_token_length
        return short and (not whole_characters or cuts_no_character(left, right))

    pairs = frequent_pairs(min_frequency, may_merge)
    return learned(words, vocab, vocab_size, tie_break, pairs, watch=watch)


def frequent_pairs(
    min_frequency: int, may_merge: Callable[[bytes, bytes], bool]
) -> Callable[[Words[bytes]], dict[Pair, int]]:
    """Return a function that counts the pairs of words: those that may merge and are frequent enough."""
    least = max(min_frequency, 1)
    return lambda words: {pair: n for pair, n in count_pairs(words).items() if n >= least and may_merge(*pair)}


def learned(
    words: Words[Token],
    vocab: list[Token],
    vocab_size: int,
    tie_break: str,
    scored: Callable[[Words[Token]], Scores[Token]],
    marked: int = 0,
    watch: Watch[Token] | None = None,
) -> tuple[list[Token], list[tuple[Token, Token]]]:
    """Return a longer vocabulary and the new merges: each step merges the pair that `scored` gives the highest score.

    `words` are in tokens of `vocab`. `watch(words, vocab, scores, pair)` is called as training begins, with no pair,
    and after each merge.
    """
    vocab, merges = list(vocab), list[tuple[Token, Token]]()
    ids = {token: id_ for id_, token in enumerate(vocab)}
    watch = watch or (lambda *_: None)
    watch(words, vocab, {}, None)
    while len(vocab) < vocab_size and (scores := scored(words)):
        pair = best_pair(scores, tie_break, ids)
        merges.append(pair)
        words = [(apply_merge(tokens, pair, marked), n) for tokens, n in words]
        token = joined(pair, marked)
        if token not in ids:  # a special token, or a word with the prefix, may be equal: its id is reused
            ids[token] = len(vocab)
            vocab.append(token)
        watch(words, vocab, scores, pair)
    return vocab, merges


def merge_by_rank(tokens: list[bytes], rank: Callable[[Pair], float | None], prefix: bytes = b"") -> list[bytes]:
    """Merge the leftmost pair of lowest rank, one at a time, until no pair has a rank.

    The right token of a pair loses as many bytes as the prefix has.
    """
    while True:
        ranked = [(r, i) for i, pair in enumerate(pairwise(tokens)) if (r := rank(pair)) is not None]
        if not ranked:
            return tokens
        _, i = min(ranked)
        tokens = [*tokens[:i], tokens[i] + tokens[i + 1][len(prefix) :], *tokens[i + 2 :]]


def bytes_of(symbol: bytes) -> list[bytes]:
    """Return the byte tokens of a symbol: <0xC3> and <0xA9> for é."""
    return [b"<0x%02X>" % byte for byte in symbol]


def _marked(symbols: Sequence[bytes], prefix: bytes, suffix: bytes) -> list[bytes]:
    """Spell the symbols of a word with a prefix, but the first one, and the last one with a suffix.

    >>> _marked([b"a", b"b", b"c"], b"##", b"</w>")
    [b'a', b'##b', b'##c</w>']
    """
    last = len(symbols) - 1
    return [(prefix if i else b"") + symbol + (suffix if i == last else b"") for i, symbol in enumerate(symbols)]


def _known(
    word: bytes,
    symbols: Sequence[bytes],
    vocab: Container[bytes],
    unk: str | None,
    fuse_unk: bool,
    byte_fallback: bool,
) -> list[bytes]:
    """Replace symbols of a word outside the vocabulary by their byte tokens, if all of these exist, or by unk.

    As in HF, a pending unk is emitted before the next unk or known symbol: after any byte tokens that precede that one.
    """
    tokens: list[bytes] = []
    waiting: list[bytes] = []
    for symbol in symbols:
        if symbol in vocab:
            tokens += [*waiting, symbol]
            waiting = []
        elif byte_fallback and all(byte in vocab for byte in bytes_of(symbol)):
            tokens += bytes_of(symbol)
        elif unk is None or unk.encode() not in vocab:
            raise ValueError(f"{symbol!r} of word {word!r} is not in the vocabulary; there is no unk token ({unk=})")
        else:
            tokens += [] if fuse_unk else waiting
            waiting = [unk.encode()]
    return tokens + waiting


def encode_word(
    word: bytes,
    merges: Sequence[Pair] | Mapping[Pair, int],
    *,
    byte_level: bool = True,
    vocab: Container[bytes] | None = None,
    unk: str | None = None,
    fuse_unk: bool = False,
    byte_fallback: bool = False,
    prefix: bytes = b"",
    suffix: bytes = b"",
) -> list[bytes]:
    """Segment one word by merges, given in rank order or as pair -> rank; only merges produce longer tokens.

    With a `vocab`, each symbol outside it becomes its bytes (`byte_fallback`) or `unk`; `fuse_unk` joins adjacent unks.
    Raises ValueError if there is no such token. Symbols are spelled with the prefix after the first one, and with the
    suffix at the end of the word.

    >>> encode_word(b"low", [(b"o", b"w</w>")], suffix=b"</w>")
    [b'l', b'ow</w>']
    >>> encode_word(b"thug", [(b"u", b"g"), (b"h", b"ug")], vocab=[b"g", b"h", b"u", b"[UNK]"], unk="[UNK]")
    [b'[UNK]', b'hug']
    """
    ranks = merges if isinstance(merges, Mapping) else {pair: rank for rank, pair in enumerate(merges)}
    tokens = _marked(symbols_of(word, byte_level), prefix, suffix)
    if vocab is not None:
        tokens = _known(word, tokens, vocab, unk, fuse_unk, byte_fallback)
    return merge_by_rank(tokens, ranks.get, prefix)


def encode(
    text: str | bytes,
    vocab: Sequence[bytes],
    merges: Sequence[Pair],
    *,
    pattern: str = GPT2_PATTERN,
    byte_level: bool = True,
    special_tokens: Iterable[str] = (),
    unk: str | None = None,
) -> list[int]:
    """Turn a text into ids; only the given `special_tokens` are recognised in it.

    >>> encode("ab<s>", [b"<s>", b"a", b"b", b"ab"], [(b"a", b"b")], special_tokens=["<s>"])
    [3, 0]
    """
    ids = {token: id_ for id_, token in enumerate(vocab)}
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    tokens: list[bytes] = []
    for place, part in enumerate(_cut_specials(_to_chars(text), special_tokens)):
        if place % 2:
            tokens.append(part.encode())
            continue
        for word in map(_to_bytes, split(part, pattern)):
            tokens += encode_word(word, ranks, byte_level=byte_level, vocab=ids, unk=unk)
    return [ids[token] for token in tokens]


def decode(ids: Iterable[int], vocab: Sequence[bytes]) -> bytes:
    """Join the bytes of the tokens; incomplete characters stay as they are.

    >>> decode([0, 1], [b"caf", "é".encode()]).decode()
    'café'
    """
    return b"".join(vocab[id_] for id_ in ids)


# ---------------------------------------------------------------------------------------------------------------------
# Encoding by ranks that are ids, the textbook way (E2, tiktoken).


def encode_word_ranks(word: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """Segment one word by token ranks, which are ids (tiktoken): the word itself if it is a token, else by merging.

    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"aabb": 4}
    >>> encode_word_ranks(b"aabb", ranks), encode_word_ranks(b"abc", ranks)
    ([4], [0, 3])
    """
    tokens = [word] if word in ranks else merge_by_rank(symbols_of(word, True), lambda pair: ranks.get(b"".join(pair)))
    unknown = [token for token in tokens if token not in ranks]
    if unknown:
        raise ValueError(f"{unknown[0]!r} of word {word!r} has no rank")
    return [ranks[token] for token in tokens]


# ---------------------------------------------------------------------------------------------------------------------
# Encoding by scores of pieces, the textbook way (E3, SentencePiece).


def encode_word_scores(
    word: bytes,
    scores: Mapping[bytes, float],
    *,
    unk: str = "<unk>",
    byte_fallback: bool = False,
    unused: Container[bytes] = (),
) -> list[bytes]:
    """Segment one word by piece scores (SentencePiece): the neighbours that join to the best piece merge first.

    Pieces in `unused` take part in merging and are then split into the parts they were merged from. A character that is
    not a piece becomes its bytes (`byte_fallback`) or `unk`; adjacent unks are joined.

    >>> encode_word_scores(b"abcb", {b"a": -3, b"b": -4, b"bc": -1, b"ab": -2})
    [b'a', b'bc', b'b']
    """
    made: dict[bytes, Pair] = {}

    def rank(pair: Pair) -> float | None:
        joint = b"".join(pair)
        if joint not in scores:
            return None
        made[joint] = pair
        return -scores[joint]

    def parted(token: bytes) -> list[bytes]:
        if token in scores and token not in unused:
            return [token]
        if token in made:
            return [part for side in made[token] for part in parted(side)]
        return bytes_of(token) if byte_fallback else [unk.encode()]

    tokens = [part for token in merge_by_rank(symbols_of(word, False), rank) for part in parted(token)]
    return [token for i, token in enumerate(tokens) if i == 0 or token != unk.encode() or tokens[i - 1] != token]


# ---------------------------------------------------------------------------------------------------------------------
# Going on with BPE training, the textbook way (B9).


def extend(
    word_counts: Mapping[bytes, int],
    vocab: Sequence[bytes],
    merges: Sequence[Pair],
    add: int,
    *,
    byte_level: bool = True,
    specials: Container[bytes] = (),
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    min_frequency: int = 0,
    whole_characters: bool = False,
) -> tuple[list[bytes], list[Pair]]:
    """Go on with training: return the vocabulary with at most `add` more tokens, and all merges (B9).

    Words are segmented by the merges; symbols outside the vocabulary split a word. `specials` are not learned again.

    >>> extend({b"hug": 10, b"hugs": 5}, [b"g", b"h", b"s", b"u", b"ug"], [(b"u", b"g")], 1)
    ([b'g', b'h', b's', b'u', b'ug', b'hug'], [(b'u', b'g'), (b'h', b'ug')])
    """
    made = [pair for pair in merges if b"".join(pair) not in specials]
    known = [token for token in vocab if token not in specials]
    words = [
        (encode_word(b"".join(run), made, byte_level=byte_level), n)
        for word, n in word_counts.items()
        for run in known_runs(symbols_of(word, byte_level), known)
    ]

    def may_merge(left: bytes, right: bytes) -> bool:
        return left + right not in vocab and (not whole_characters or cuts_no_character(left, right))

    pairs = frequent_pairs(min_frequency, may_merge)
    found, more = learned(words, [*vocab], len(vocab) + add, tie_break, pairs)
    return found, [*merges, *more]


def parts_of(word: bytes, tokens: Iterable[bytes]) -> list[bytes]:
    """Cut a word between two bytes that are side by side in no token: no merge crosses these places (E9).

    >>> parts_of(b"to be", [b"t", b"o", b" ", b"b", b"e", b"to", b" be"])
    [b'to', b' be']
    """
    inside = {token[i : i + 2] for token in tokens for i in range(len(token) - 1)}
    places = [0, *(i for i in range(1, len(word)) if word[i - 1 : i + 1] not in inside), len(word)]
    return [word[a:b] for a, b in pairwise(places)]


def runs_of_ids(words: Sequence[Sequence[int]], apart: Container[int]) -> list[list[int]]:
    """Return the runs of two ids or more between the ids that split words.

    >>> runs_of_ids([[1, 2, 0, 3], [4, 0, 5, 6]], {0})
    [[1, 2], [5, 6]]
    """
    runs = [[*run] for word in words for is_apart, run in groupby(word, lambda index: index in apart) if not is_apart]
    return [run for run in runs if len(run) > 1]


# ---------------------------------------------------------------------------------------------------------------------
# Pruning the leaves of the merge graph, the textbook way (C2).


def prune(
    word_counts: Mapping[bytes, int],
    vocab: Sequence[bytes],
    merges: Sequence[Pair],
    number: int,
    *,
    byte_level: bool = True,
    specials: Container[bytes] = (),
) -> list[bytes]:
    """Return the `number` tokens to remove, in order: always the leaf of the lowest count, of equal ones the last.

    A leaf is a token that no token left is made of. Symbols and `specials` stay. The count of a removed token is added
    to the counts of the two that it is made of. Fewer are returned if nothing else may go.

    >>> prune({b"hug": 10, b"hugs": 5}, [b"g", b"h", b"s", b"u", b"ug", b"hug", b"hugs"],
    ...       [(b"u", b"g"), (b"h", b"ug"), (b"hug", b"s")], 2)
    [b'hugs', b'hug']
    """
    made = [pair for pair in merges if b"".join(pair) not in specials]
    known = [token for token in vocab if token not in specials]
    counts = dict.fromkeys(vocab, 0)
    for word, count in word_counts.items():
        for run in known_runs(symbols_of(word, byte_level), known):
            for token in encode_word(b"".join(run), made, byte_level=byte_level):
                counts[token] += count
    parts = {token: _parts(token, made, byte_level) for token in known if len(symbols_of(token, byte_level)) > 1}
    removed: list[bytes] = []
    while len(removed) < number:
        used = {part for token, pair in parts.items() if token not in removed for part in pair}
        leaves = [token for token in parts if token not in removed and token not in used]
        if not leaves:
            break
        worst = min(leaves, key=lambda token: (counts[token], -vocab.index(token)))
        removed.append(worst)
        for part in parts[worst]:
            counts[part] += counts[worst]
    return removed


def _parts(token: bytes, merges: Sequence[Pair], byte_level: bool) -> Sequence[bytes]:
    """Return the two symbols of a token before its last merge; none if merging does not make it."""
    row = encode_word(token, [pair for pair in merges if b"".join(pair) != token], byte_level=byte_level)
    return row if len(row) == 2 and (row[0], row[1]) in merges else []


def prune_merges(merges: Sequence[Pair], removed: Container[bytes]) -> list[Pair]:
    """Return the merges without those that make or use a removed token.

    >>> prune_merges([(b"a", b"b"), (b"ab", b"c"), (b"b", b"c")], [b"ab"])
    [(b'b', b'c')]
    """
    return [
        (left, right)
        for left, right in merges
        if left not in removed and right not in removed and left + right not in removed
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Parity-aware BPE training, the textbook way (B11).

Counts = Mapping[bytes, int]


def train_parity(
    languages: Sequence[Counts],
    base: Sequence[bytes],
    vocab_size: int,
    scales: Sequence[float],
    *,
    measured: Sequence[Counts] | None = None,
    window: int = 0,
    most_picks: int = 0,
    pooled: int = 0,
    tie_break: Literal["ids", "bytes"] = "ids",
    min_frequency: int = 0,
    byte_level: bool = True,
    max_token_length: int | None = None,
    whole_characters: bool = False,
) -> tuple[list[bytes], list[Pair], list[int], list[int]]:
    """Return the vocabulary, the merges, the language of each merge (-1: all), and the sizes in the end.

    The cost of a language is the number of symbols of its measured words (by default, those of training) times its
    scale. Each merge is the most frequent pair of the language of the greatest cost, of those that were not chosen
    `most_picks` times in the last `window` merges and have a pair left. The first `pooled` merges are the most frequent
    pairs of all languages together.

    >>> train_parity([{b"aab": 9}, {b"cd": 2}], [b"a", b"b", b"c", b"d"], 6, [1.0, 1.0])
    ([b'a', b'b', b'c', b'd', b'aa', b'aab'], [(b'a', b'a'), (b'aa', b'b')], [0, 0], [9, 4])
    """
    texts = [[*languages], [*(measured or languages)]]
    states = [[[(symbols_of(w, byte_level), n) for w, n in counts.items()] for counts in part] for part in texts]

    def may_merge(left: bytes, right: bytes) -> bool:
        short = max_token_length is None or len(symbols_of(left + right, byte_level)) <= max_token_length
        return short and (not whole_characters or cuts_no_character(left, right))

    vocab, merges, picks = [*base], list[Pair](), list[int]()
    ids, empty = {token: number for number, token in enumerate(vocab)}, set[int]()
    while len(vocab) < vocab_size:
        costs = [size * scale for size, scale in zip(map(_size, states[1]), scales, strict=True)]
        recent = picks[max(0, len(picks) - window) :] if window else []
        left = [k for k in range(len(languages)) if k not in empty]
        if len(picks) < pooled:
            chosen, words = -1, [word for part in states[0] for word in part]
        elif not left:
            break
        else:
            free = [k for k in left if not window or recent.count(k) < most_picks] or left
            chosen = max(free, key=lambda k: (costs[k], -k))
            words = states[0][chosen]
        counts = {pair: n for pair, n in count_pairs(words).items() if may_merge(*pair)}
        if max(counts.values(), default=0) < max(min_frequency, 1):
            if chosen < 0:
                pooled = 0
            empty.add(chosen)
            continue
        pair = best_pair(counts, tie_break, ids)
        merges.append(pair)
        picks.append(chosen)
        states = [[[(apply_merge(t, pair), n) for t, n in part] for part in state] for state in states]
        if b"".join(pair) not in ids:
            ids[b"".join(pair)] = len(vocab)
            vocab.append(b"".join(pair))
    return vocab, merges, picks, [*map(_size, states[1])]


def _size(words: Words[bytes]) -> int:
    return sum(len(tokens) * count for tokens, count in words)
