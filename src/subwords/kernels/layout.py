"""Every layout that kernels and Python share, named once: columns of tables, fields of int64 arrays, tuples of arrays.

A class is a tuple of arrays that a kernel takes as one argument; its annotations are the machine types of `jit.py`. A
lower-case name of a row, as in `PAIR.key`, is a column of a table or a field of an array, and `width` is how many there
are. In a kernel these are constants. The file of the kernel that fills a table says what the columns mean. This file
imports neither NumPy nor Numba, nor anything of ours.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

# One-dimensional contiguous arrays, by the type of their elements.
U8s = Any
U16s = Any
U32s = Any
U64s = Any
I32s = Any
I64s = Any
F64s = Any


def row(names: str, first: int = 0, **others: int) -> ModuleType:
    """Return numbers from `first` on by their names, as a module, whose constants Numba reads when it compiles.

    A named tuple for each would do the same, but takes 40 times as long to make in every process.
    """
    made = ModuleType("row")
    vars(made).update(zip(names.split(), range(first, 1 << 62), strict=False), **others)
    return made


# ------------------------------------------------------------------ every kernel

# Why a kernel returned. After NEED_... and UNDECIDED the caller provides what is missing and calls again. UNKNOWN: the
# tables do not say what to do. ONCE: done, but the ids may not be kept in the table. EXHAUSTED: no pair reaches the
# threshold. PAUSED: the requested number of merges is done.
DONE, NEED_OUT, NEED_SLOTS, NEED_ARENA, NEED_SCRATCH, NEED_PAIRS, NEED_STRINGS, NEED_NAME = range(8)
UNKNOWN, ONCE, EXHAUSTED, PAUSED, UNDECIDED = range(8, 13)

LANES = 64  # bytes that are processed at once; the padding that block loads and copies need
CODE_POINTS = 0x110000
INVALID = CODE_POINTS  # the row of a table by code point for a byte that is not UTF-8
MISSING = -1  # in place of an id
# Bytes of a text that a built-in function encodes as a whole; below BUFFER of plan_layout.py, for which its memory has
# room. Up to SHORT_TEXT it holds the GIL, for 0.1 to 2 ms. The general path took 0.1 ms longer for a text of 50 KB.
# Row: requests, "GPT-2": texts of 50 to 250 KB 1.1 to 1.4 times as fast.
SHORT_TEXT, LONG_TEXT = 50_000, 250_000
AS_LIST, AS_NUMBER, AS_ARRAY = range(3)  # its result: the ids, or how many they are
# A word end is 32 bits wide. With RUN set, the word is a run of characters of three bytes, each encoded alone.
RUN = 1 << 31
PLACE = RUN - 1  # the other bits: where the word ends
MOST_BYTES = RUN - LANES  # of texts split in one call

# ------------------------------------------------------------------ rows of JSON (text/rows.py)

JSON_ROW = row("at written width")  # counters: the next row in the data; bytes and texts written so far

# ------------------------------------------------------------------ the model of a tokenizer.json (text/containers.py)


class FileEntries(NamedTuple):
    """Texts, one after another, and where each ends; its id, or the characters of its score."""

    text: U8s
    ends: I64s
    numbers: I64s
    digits: U8s


class TextIndex(NamedTuple):
    """Texts, one after another, text[bounds[n]:bounds[n + 1]]; the number of each by its hash; the seed of that."""

    text: U8s
    bounds: I64s
    slots: I32s
    seed: I64s


# ------------------------------------------------------------------ what an id gives (text/utf8.py)

SPAN_START = 32  # from this bit on: the place of its bytes
SPAN_SIZE = (1 << 30) - 1  # the number of its bytes
SPAN_BYTE, SPAN_BREAK = 1 << 30, 1 << 31  # flags
NO_SIZE = -(1 << 62)  # in place of a size: a break separates single bytes

# ------------------------------------------------------------------ what a text has (text/utf8.py)

MEASURED = row("characters words spaceless width")  # of a text
IN_WORD, SPACELESS = 1, 2  # bits of a code point: it is part of a word; its script has no spaces between words

# ------------------------------------------------------------------ the table of words (table/)

SLOT = row("key_low key_high value_low value_high width")  # of a slot, uint64
WORD_BLOCK = 128  # words whose keys are made at once
KEY_ROW = 3  # of a key: low, high, and the slot to begin the search at
ODD_WORDS = KEY_ROW * WORD_BLOCK  # after the keys: the indices of the words whose keys need a second look
ODD_COUNT = ODD_WORDS + 2 * WORD_BLOCK  # the number of these words; the second half is for gaps in the ids
KEYS = ODD_COUNT + 1  # elements of the whole scratch
FOLLOWED = 31  # bits of the number of words of a text; above them is 1 + the id that comes after its ids, or 0
WORDS = (1 << FOLLOWED) - 1
OUT_PADDING = 4  # elements of the output after the ids that may be overwritten
CHAR_ROW = 2  # the ids of a character, at most three, and their number: 32 bits each
SEEDS = 8  # random numbers at the front of `seeds`; KEY_MASKS follow
INLINE = 15  # bytes of the longest word that is its own key
# What `table.keys.inline_key` applies to 16 bytes: two masks for each length up to INLINE + 1 (a long word).
KEY_MASKS = (
    *(m for n in range(INLINE + 1) for m in ((1 << 8 * min(n, 8)) - 1, (1 << 8 * max(n - 8, 0)) - 1)),
    *(0, 0),
)

# Counters of a table of words, which outlive a call: int64.
# next_text, next_word: where to resume. written: ids in the output. slots_used, ids_used, bytes_used: of the table.
# unknown_at: the byte that has no id. needed: what NEED_... needs. far: words of the last block with ids in the arena.
# begin: the next word is the first of its text. joined: the texts of a call are parts of one text. alone: 1, words are
# segmented without the table; WARY, blocks are small. summed: ids whose scores are in the sum.
COUNTER = row(
    "next_text next_word written slots_used ids_used bytes_used unknown_at needed far begin joined alone summed width"
)


class WordTable(NamedTuple):
    """The words already segmented."""

    slots: U64s  # width elements a slot; a power of two of slots
    seeds: U64s
    ids: I32s  # arena of ids
    text: U8s  # arena of long words
    chars: U64s  # CHAR_ROW elements for each character of three bytes that met in a RUN; or empty


class CountTable(NamedTuple):
    """Words with a count and a first place, see table/words.py."""

    slots: U64s
    seeds: U64s
    arena: U8s
    keys: U64s  # scratch: KEYS elements
    counters: I64s


# ------------------------------------------------------------------ models, as encoders read them

# Fields of `settings`. seed is that of a hash table.
MODEL = row("unk seed")
# side: whether new words are segmented side by side.
BPE = row("fuse_unk drop_unknown complete tied links parted marks first_result side width", 2)
WORDPIECE = row("most_chars after width", 2)  # after: the slot of AFTER
UNIGRAM = row("running width", 2)

# BPE. An entry of the pair table is left id, right id and rank in one uint64.
ID_BITS, RANK_BITS = 21, 22
MOST_RANK = (1 << RANK_BITS) - 1  # in place of a rank: two symbols that meet inside a token but do not merge
NO_PAIR = (1 << 64) - 1  # a free slot; the rank of a pair whose symbols meet inside no token
NO_RANK = (1 << 32) - 1  # of two bytes
SHORT_WORD = 56  # symbols up to which scanning for the lowest rank beats chains; a multiple of 8 below 63, for masks
MERGE_PADDING = 8  # elements after the ranks of a word's pairs
SYMBOL_SCRATCH, TIED_SCRATCH = 12, 3  # elements of `symbols`, and of `keys` if priorities tie, for a symbol
PAIR_LANES = 64  # room for the pairs of a short word
SIDE_WORDS, SIDE_ROW = 8, 48  # words that are segmented at once, and elements for each
SIDE_WINDOW = 96  # words among which new ones are looked for
SIDE = SIDE_WORDS * SIDE_ROW + SIDE_WINDOW
FORMS = 4  # ids of a symbol that is spelled with a prefix or suffix
WITH_PREFIX, WITH_SUFFIX = 1, 2  # the place of a symbol in its word, and the bits of marks: prefix, suffix
RANK_SCRATCH = 4  # elements of `chains` for a rank


class BPEModel(NamedTuple):
    """Alphabet and merges."""

    alphabet: I32s  # the id of every byte (256 elements) or code point, or MISSING
    pairs: U64s  # a hash table, open or perfect, see bpe/pairs.py; a power of two of elements, as the next two
    sieve: U64s  # of an open table: two bits for each of its pairs
    pilots: U32s  # of a perfect table: by the first bits of a pair's hash; one element of an open one
    results: I32s  # the id that each rank yields
    classes: I32s  # the priority of each rank
    settings: I64s
    first_ranks: U32s  # of a byte-level model: by two bytes, the rank of their merge or NO_RANK
    spans: I32s  # the number of bytes of every symbol
    fallback: I32s  # the id of each byte of an unknown character, or MISSING
    parted: I32s  # by symbol: 0, or where in this array its ids are: their number, then the ids
    forms: I32s  # with marks, an id of `alphabet` is a row here: FORMS ids by place in the word, see first_symbols


class GroupedPairs(NamedTuple):
    """Room to make a perfect table: an element for each pair in the first two, for each group and one in the others."""

    spreads: U64s
    entries: U64s
    starts: I64s
    order: I64s


class BPEScratch(NamedTuple):
    """Room for one word."""

    keys: U64s  # KEYS, then for n symbols n + MERGE_PADDING ranks and, if priorities tie, TIED_SCRATCH * n pairs
    symbols: I32s  # SYMBOL_SCRATCH elements a symbol
    codes: U32s  # PAIR_LANES elements
    side: U32s  # SIDE elements, see `segment_side_by_side`
    chains: I32s  # RANK_SCRATCH elements a rank, -1 between words; only words longer than SHORT_WORD need them


class BPEWorkspace(NamedTuple):
    """All that encoding works on."""

    table: WordTable
    model: BPEModel
    scratch: BPEScratch
    counters: I64s


class WordPieceModel(NamedTuple):
    """Two tries and their failure links, see wordpiece/encode.py."""

    units: U64s
    fails: I32s
    pops: I32s
    pop_counts: I32s
    popped: I32s
    settings: I64s


class WordPieceScratch(NamedTuple):
    """Room for keys; matching needs none."""

    keys: U64s


class WordPieceWorkspace(NamedTuple):
    """All that encoding works on."""

    table: WordTable
    model: WordPieceModel
    scratch: WordPieceScratch
    counters: I64s


class UnigramModel(NamedTuple):
    """Pieces as a double array of characters (trie.py), and their scores."""

    units: U64s
    links: I32s
    records: U64s
    symbols: I32s  # by 1 + code point; the last one, of all that follow, is of characters that no piece has
    scores: F64s  # by id, and last that of an unknown character
    byte_ids: I32s  # the id of every byte, or MISSING
    settings: I64s


class UnigramScratch(NamedTuple):
    """Room for the paths to every place of one word, and sums of the text, see unigram/encode.py."""

    keys: U64s
    best: F64s  # PLACE_SUMS elements a place
    steps: I32s  # PLACE_STEPS elements a place
    sums: F64s


class UnigramWorkspace(NamedTuple):
    """All that encoding works on."""

    table: WordTable
    model: UnigramModel
    scratch: UnigramScratch
    counters: I64s


# Fields of `sums`: of the text, of the text before the block, and whether the sum came near the reset.
SUM = row("total before came_near width")
PLACE_SUMS, PLACE_STEPS = 2, 3


class Edges(NamedTuple):
    """Pieces between places of a text: where they begin and end, and their ids."""

    begins: I64s
    ends: I64s
    pieces: I32s


# ------------------------------------------------------------------ tries (trie/)

SYMBOL_BITS, NODE_BITS = 17, 23
UNIT_LABEL = (1 << SYMBOL_BITS + 1) - 1  # bits of a unit: the symbol that leads to it, and that it is in use
MOST_SYMBOLS, MOST_NODES, MOST_UNITS = (1 << SYMBOL_BITS) - 1, 1 << NODE_BITS, 1 << 24
MOST_PIECES = (1 << 22) - 1  # ids that fit a unit
NO_EDGE = (1 << 64) - 1  # a free slot of an edge table


class TrieNodes(NamedTuple):
    """By node: its parent, the symbol that leads to it, its depth, and the string that ends there or MISSING."""

    parents: I32s
    labels: I32s
    depths: I32s
    strings: I32s


class Children(NamedTuple):
    """By node: its children are the nodes first[n] to last[n] - 1."""

    first: I64s
    last: I64s


HIT = 24  # bits of the number of a string that is found
RANGES = 8  # bytes: the first and last ones of the ranges of bytes that a string ends with; then of those before them
STRIPS_LEFT, STRIPS_RIGHT, SINGLE_WORD = 1, 2, 4  # flags of a token
WORD_CHAR, SPACE_CHAR = 1, 2  # bits of a code point


class TokenFinder(NamedTuple):
    """The trie of some strings read backwards; by string its size, the id and the flags of its token; characters."""

    units: U64s
    links: I32s
    lengths: I64s
    ids: I64s
    flags: U8s
    ranges: U8s
    classes: U8s  # by code point; empty if no token has flags


class TextPlaces(NamedTuple):
    """Texts by place and size, and what comes after each: 1 + the id of a token, or 0."""

    begins: I64s
    sizes: I64s
    after: I64s


# ------------------------------------------------------------------ splitting (split/)

LETTER, NUMBER, SPACE = 1, 2, 3  # classes of GPT-2's rule
UPPER_BIT, CASELESS_BIT, MARK_BIT = 2, 3, 4  # of LETTER, for GPT-4o's rule: a mark is a letter without case
# An entry of a boundary transducer: the next row in its high half; below, border bits and flags.
REACH = 26  # characters by which a word end may be reported late
TOP_BORDER = REACH + 1  # bit TOP_BORDER - d: a word ends d characters before the step's last one
SAVES, EMITS_SAVED, USES_SAVED = 1 << 28, 1 << 29, 1 << 30
CLASSES_COUNT = 256  # the element of `second` that holds the number of classes
CLASS_FLAG = 128  # added to the class of a character in packed text
LEAST_ENDS = 1024  # word ends there must be room for
STREAM = 8192  # bytes of a stream at most
GROUP = 32  # characters of a group of steps
PART_WORDS = STREAM // GROUP + 4  # words of 64 bits for the borders of one part of a stream
BLOCKS = STREAM // LANES + 4  # blocks of a packed stream

# Of a character: there may be a cut beside it; the sides of keys that have it. See split/words.py.
MAY_CUT, PAIR_LEFT, PAIR_RIGHT, TAIL_LEFT, TAIL_RIGHT = 1, 2, 4, 8, 16
MEMBERS = 1 << 16  # code points that `members` has


WORD_PART, DROPPED, ALONE = range(3)  # what a character is: part of a word, dropped, or a word


class SafeCuts(NamedTuple):
    """Which places between characters a token may span, see split/words.py; all empty for no cuts."""

    bits: U64s  # a filter, a power of two of elements
    # By code point, and one more element: what it is a member of; with scratch, that in the upper half, and its class.
    members: U16s
    found: U8s  # of the characters of a stream: the upper halves
    codes: U16s  # and their code points


class Transducer(NamedTuple):
    """A boundary transducer, and room for one stream; see split/transducer.py."""

    classes: U8s  # by code point, plus CLASS_FLAG
    pairs: U16s  # by two bytes of a stream: first class times the number of classes, plus the second one
    second: U32s  # by byte of a stream: the class
    entries: U64s
    safe: U8s  # by two classes: whether the text may be cut between
    stream: U8s
    words: U64s
    recent: U32s
    cuts: SafeCuts
    runs: U8s  # one element if isolated characters join to one RUN, else empty


class Kinds(NamedTuple):
    """Which characters are no part of words: see split/words.py."""

    kinds: U8s  # by code point, and last for a byte that is not UTF-8: WORD_PART, DROPPED or ALONE
    leads: U8s  # ranges, two elements each: the first bytes of characters that are not ASCII and no WORD_PART


class WordChanges(NamedTuple):
    """What happens to the words that a machine finds: some are dropped, and maybe others prefixed, or all are cut.

    See split/words.py. An empty array changes nothing.
    """

    drops: U8s  # by code point, and last for a byte that is not UTF-8: DROPPED if words that begin with it are dropped
    prefix: U8s  # what is put before the other words that do not begin with it
    # By byte, 0, or 1 if it is of a number, or 2 if it is a digit. A run of bytes of numbers becomes a word, but each
    # three digits in it, from its start on, are words.
    digits: U8s


class Literals(NamedTuple):
    """Literals as a trie by columns: see split/finders.py."""

    columns: U8s
    children: I32s
    ends: U8s
    firsts: U8s


# ------------------------------------------------------------------ normalization (normalize/)

# Progress of a call: the text, the place in it, the place in the result. The rest is for sentencepiece.py.
PROGRESS = row("text byte out spaced begun filled width")

NEAR_CODES, FAR_CHARACTER = (
    0x3000,
    0xFF,
)  # a table of what characters become: of those below, unless it has more than three bytes
ENTRY_SHIFT, LONGEST_ENTRY = 8, 255  # an entry is place << ENTRY_SHIFT | length; the most bytes or characters of one
PAIR_SHIFT = 21  # a pair that composes is first << PAIR_SHIFT | second
STOP = (1 << 32) - 1  # the entry of a character that the table cannot replace
BLOCK_GROWTH = LANES * (LONGEST_ENTRY + 1) + LANES  # bytes that a block may become, and that copies may overwrite
UNCUT = 128  # what a character needs before which no text may be cut; none gives it
STARTS, CHANGES = 1, 2  # of a character: nothing before it can change it; the normal form changes it

# Classes of characters: strings begin with first or both and have second, both or mapped_second next.
CHARACTER = row("plain first both second mapped_second mapped mapped_space")
# Settings of SentencePiece's rules.
RULE = row("removes prefix suffix wide begins ends joins_high joins_ascii ranges longest graphemes width")
# A value: where its replacement is, its length, the length of its leading spaces, whether it ends with a space.
VALUE = row("start size lead spaced width")

# Grapheme classes; those from extend to spacing join what is before them, unless that is a control character.
GRAPHEME = row(
    "other cr lf control extend linker zwnj zwj spacing "
    "prepend hangul_l hangul_v hangul_t hangul_lv hangul_lvt pictographic consonant"
)


class Normalized(NamedTuple):
    """The result: bytes, for every byte its source (empty if not wanted), and where each text ends."""

    text: U8s
    source: I64s
    ends: I64s


class Replacements(NamedTuple):
    """What each character becomes."""

    shifts: U8s  # ranges of ASCII, three elements each: first, last, and what is added; 0: they are no ASCII byte
    near: U32s  # by code point below NEAR_CODES: up to three bytes of the result, and their number or FAR_CHARACTER
    entries: U32s  # by code point: place in `arena` << 8 | length, STOP, or 0 for no change
    arena: U8s


class CharacterRuns(NamedTuple):
    """The runs of characters that are replaced."""

    members: U8s  # by code point: whether it is in the set
    low: I64s  # one number: how many characters a run has at least
    content: U8s  # and LANES bytes more


class TextEnds(NamedTuple):
    """What is removed from the ends of texts, and what is put before them."""

    whitespace: U8s  # by code point
    settings: I64s  # whether it is removed at the left, at the right; whether an empty text is the rest of a longer one
    prefix: U8s  # and LANES bytes more


class Literal(NamedTuple):
    """A string that is replaced."""

    pattern: U8s
    content: U8s  # and LANES bytes more


class NormalForm(NamedTuple):
    """A normal form of Unicode."""

    kinds: U8s  # by code point: STARTS | CHANGES
    classes: U8s  # by code point: the combining class
    entries: U32s  # by code point: place of the decomposition in `chars` << 8 | length, or 0
    chars: U32s
    pairs: U64s  # what composes, sorted: first character << 21 | second
    results: U32s  # what the pairs compose to


class Items(NamedTuple):
    """Room for the characters of one stretch."""

    items: I64s
    spare: I64s


class Rules(NamedTuple):
    """Strings of a map and user-defined pieces, and what becomes of them."""

    classes: U8s  # by code point
    units: U32s  # the map's double array as its file has it; 256 zeros for no map
    values: I32s  # width elements for every value of the map
    arena: U8s  # replacements
    users: U64s  # double array of user-defined pieces
    pieces: I32s  # width elements for every user-defined piece
    settings: I64s
    ranges: U8s  # first and last byte of each range of ASCII that needs a look
    kinds: U8s  # by code point: the grapheme class; empty where graphemes do not matter


# ------------------------------------------------------------------ encodings with positions (text/locate.py)

# Fields of `start`: the place before the first word; the numbers of the first text, the next id, and its word in the
# text; whether the last text ends with the words; how many entries of `unknown` are written.
START = row("word_base first_text next_id next_number ends_text next_unknown width")
# Bytes of an id's size that only the first id of a word has, and the last not.
SIZE_MARK = row("leading trailing width")
WHOLE_WORD, UNSURE, UNKNOWN_RUN = -1, -2, -3  # in place of the size of an id
# By code point, for UNKNOWN_RUN: a character before which every unknown run ends, one that continues every run, and one
# that does either.
ENDS_RUN, CONTINUES_RUN, MAY_CONTINUE = range(3)
UNKNOWNS = row("id begin end width")
NO_WORD = -1
NO_PREFIX, FIRST_PREFIX, EMPTY_PREFIX = range(3)  # the prefix of a text, and its place: see `cover_text`
# A piece of a template: its slot, or INSERTED or FILLING (padding); the text of a slot; the id and the name that are
# inserted; the type id and the bits SPECIAL and ATTENDED of all its entries.
PIECE = row("slot text id name type flags width")
INSERTED, FILLING = -1, -2
SPECIAL, ATTENDED = 1, 2
# A slot of a row: its first entry, the number of entries, and where the UTF-8 of its text begins.
FILL = row("start size base width")
# How rows are cut: how many ids of the texts remain, of which text, `Truncation.stride`, whether the left side is cut
# off; then how often a row has each text, and how many ids its template adds.
CUT = row("room strategy stride left first second added width")
KEPT = row("start size width")  # of the ids of a text


class IdWords(NamedTuple):
    """The words of some texts, and how many ids the texts have."""

    ends: U32s
    begins: I64s  # empty if each word begins where the previous one ends
    word_ends: I64s  # by text: the number of words up to its end
    id_ends: I64s  # by text: the number of ids up to its end
    text: U8s  # that is split into words; may be empty if no id has the size UNKNOWN_RUN


class IdSizes(NamedTuple):
    """How many bytes of a word each id covers."""

    sizes: I32s
    marks: I64s
    kinds: U8s  # by code point, for UNKNOWN_RUN; if it is empty, such ids are UNSURE


class Origins(NamedTuple):
    """By byte: the range it comes from. First for the words, then for the normalized text; empty if unchanged."""

    word_begins: I64s
    word_ends: I64s
    text_begins: I64s
    text_ends: I64s


class Source(NamedTuple):
    """The given texts."""

    bounds: I64s
    chars: I32s  # for every byte and the end: how many characters begin before it; empty if all are ASCII


class Placed(NamedTuple):
    """The result, by id; `spans` may be empty if there are no `chars`."""

    byte_spans: I64s
    spans: I64s
    words: I32s
    odd: U8s  # by text
    unknown: I64s  # by UNKNOWN_RUN id: its number, and its bytes in the text of the words


class Frame(NamedTuple):
    """The pieces of a template, and what fills its slots; the rest removes whitespace from spans, see `keeps`."""

    pieces: I64s
    offsets: I64s  # where the entries of each text begin and end: of first texts, then of second ones
    bases: I64s  # where the UTF-8 of each text begins, if there are `spans` and `keeps`
    fills: I64s  # by row and slot; empty if all entries of its text fill each slot
    keeps: U8s  # `Template.trims`; empty if spans stay as they are
    begun: I32s  # by id: the whitespace that its token begins with, in characters
    ended: I32s  # and that it ends with
    named: I32s  # both, by name
    text: U8s  # the UTF-8 of the texts, if there are `spans`


class Row(NamedTuple):
    """The entries of encodings; `spans` is empty if it equals `byte_spans`; of a source, some may be empty."""

    ids: U32s
    byte_spans: I64s
    spans: I64s
    words: I32s
    names: I32s  # of tokens that are not in the vocabulary; -1 for the others
    types: U32s
    special: U8s
    attention: U8s


class Filled(NamedTuple):
    """What a model takes of encodings, one row after the other; row r has the entries bounds[r] to bounds[r + 1]."""

    ids: I64s
    types: I64s
    attention: I64s
    special: I64s
    bounds: I64s


# ------------------------------------------------------------------ counted words (table/words.py)

WORD = row("length count place start width")  # uint64
SORT_ROW = 2  # place, row: uint64
MARK = row("last documents width")  # uint64: the last document, from 1, and how many; of a slot
DIGIT_BITS = 11  # of a place, sorted at once

# ------------------------------------------------------------------ training by merges (bpe/, wordpiece/)

TIE_IDS, TIE_FIRST, TIE_BYTES = range(3)  # rules for pairs of equal score
LIKELIHOOD, COURSE, COUNT = range(3)  # scores

# Fields of `settings`. pause: the number of merges to return at. score and spelled are WordPiece's. ruled: whether
# `MergeRules` apply.
TRAIN = row("threshold floor vocab_size tie max_length pause specials prefix_bytes score spelled ruled width")
APART = 255  # in place of a class: what must not merge
# Counters. arena_at: the word to count pairs from. near, least: see bpe/pairs.py. needed: how many pairs the next merge
# makes at the most. free_at, free_end: the room that the postings of the last merge have left. WordPiece: the number of
# tokens in the words, and the entry that is to be merged, or MISSING.
TALLY = row(
    "pairs_used heap_size postings_used tokens merges strings_used "
    "arena_at near least needed free_at free_end total chosen width"
)

END = (1 << 32) - 1  # between two words, and at places inside tokens, in place of a symbol; no place is END
PAIR = row("key count place words width")  # uint64
NO_KEY = (1 << 64) - 1  # a free entry of the pair table
REFUSED_PAIR = NO_KEY - 1  # an entry whose pair was refused
TOKEN = row("left right left_words right_words last_left last_right span string width")  # int64: a cache line
HEAP = row("count tie key width")  # uint64
# Of a merge, int32: left, right, merged, and the count of the pair: its low COUNT_BITS bits, and the others.
MERGE = row("left right merged count_low count_high width")
COUNT_BITS = 31
BUFFER = row("neighbour in_word width")  # uint32; in_word: the place of the new pair


class SymbolWords(NamedTuple):
    """Words as symbols, and where runs of words of equal count begin; see bpe/index.py."""

    symbols: U32s
    starts: U32s
    weights: U64s


class MergeRules(NamedTuple):
    """Which pairs may merge.

    lengths: of each token, in symbols. classes: of each token. joined: the class of what two classes make, or APART;
    the left class is the row. taken: ids whose string no merge makes.
    """

    lengths: I32s
    classes: U8s
    joined: U8s
    taken: I32s


class MergeTraining(NamedTuple):
    """All that BPE training works on; see bpe/index.py and models/bpe/train.py."""

    words: SymbolWords
    pairs: U64s
    postings: U32s
    heap: U64s
    buffer: U32s
    touched: I32s
    tokens: I64s
    strings: U8s
    merges: I32s
    rules: MergeRules
    counters: I64s
    settings: I64s


# Parity-aware training (bpe/parity.py). Of a region: where its symbols, runs, pairs, postings and heap begin, and how
# many runs, pairs (a power of two) and heap entries there is room for.
REGION = row("symbols_at runs_at runs pairs_at pairs postings_at heap_at heap_room width")
# Fields of `choice`. measured_from: the first region for measuring. window: 0 for none; most_picks of a language in it.
# needing: the region without room for this many needed_pairs pairs.
CHOICE = row("languages regions measured_from window most_picks needing needed_pairs width")
NO_LANGUAGE = -1  # of a merge that all languages chose


class ParityTraining(NamedTuple):
    """All that parity-aware training works on.

    sizes: the number of symbols of each region, with repetitions. scales: cost per symbol of each language. recent: for
    each language, how often it was chosen within the window, and whether it has no pairs left. picks: the language of
    each merge.
    """

    symbols: U32s
    starts: U32s
    weights: U64s
    pairs: U64s
    postings: U32s
    heap: U64s
    buffer: U32s
    touched: I32s
    tokens: I64s
    strings: U8s
    merges: I32s
    rules: MergeRules
    counters: I64s
    settings: I64s
    regions: I64s
    sizes: I64s
    scales: F64s
    choice: I64s
    recent: I64s
    picks: I32s


# WordPiece training by scores (wordpiece/train.py), int64: of a token, its occurrences; how often a merge would join it
# with itself; and the first entries of its pairs.
SYMBOL = row("times doubles first_as_left first_as_right width")
PAIR_BLOCK = 128  # entries of the table of pairs that share a bound
TOLERANCE = 2.0**-37  # times n, above the error of a gain of n merges: a few roundings of terms below 64 * 16 * n


class ScoreTraining(NamedTuple):
    """What WordPiece training works on besides a `MergeTraining`; see wordpiece/train.py."""

    values: F64s
    bounds: F64s
    links: I64s
    symbols: I64s


# ------------------------------------------------------------------ Unigram training (unigram/)

LENGTH_BITS = 16  # of a link: below the number of the next shorter piece at the same place, plus 1
ALWAYS, NEVER = 1e300, -1e300  # losses of pieces that are always kept, and of useless ones
FILLED = row("symbols words width")
LIMIT = row("char_bits key_chars sort_chars known_chars width")  # of `limits` of the sort, int64
FRAME = row("at end depth width")  # a run of suffixes that is being sorted
RANGE_STACK = 128  # elements: 64 ranges


class Words(NamedTuple):
    """Word counts: bytes, where each word begins, and how often it occurs."""

    data: U8s
    offsets: I64s
    counts: U64s


class Suffixes(NamedTuple):
    """Words as numbers of characters, the word of every place, where words begin, and the sorted suffixes."""

    symbols: I32s
    word_of: I32s
    starts: I64s
    order: I32s


class Substrings(NamedTuple):
    """The first suffix that begins with a substring, the one after the last, and the substring's length."""

    lefts: I32s
    rights: I32s
    lengths: I32s


class SortStacks(NamedTuple):
    """Room for sorting: ranges of suffixes, and a frame for each number of characters."""

    ranges: I64s
    frames: I64s


class LatticeWords(NamedTuple):
    """Where words begin, how often they occur, and the longest piece at every place."""

    starts: I64s
    weights: I64s
    longest: I32s


class Pieces(NamedTuple):
    """Links of pieces, and their probabilities or scores."""

    links: I64s
    values: F64s


class PiecePlaces(NamedTuple):
    """A place of every piece, and the longest piece at every place."""

    at: I32s
    longest: I32s


class ForwardBackward(NamedTuple):
    """Room for one word: probabilities of what is before and after each place, and where they were raised."""

    forward: F64s
    backward: F64s
    raised: U8s


class BestPath(NamedTuple):
    """Room for one word: the best score up to each place, and the last piece."""

    best: F64s
    last: I32s
