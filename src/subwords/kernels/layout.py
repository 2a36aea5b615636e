"""Every layout that kernels and Python share, named once: columns of tables, fields of int64 arrays, tuples of arrays.

A class is a tuple of arrays that a kernel takes as one argument; its annotations are the machine types of `jit.py`. A
constant ..._ROW is how many elements a table's row has; the constants before it are its columns. The file of the
kernel that fills a table says what the columns mean. This file imports neither NumPy nor Numba, nor anything of ours.
The layouts of training are in `train_layout.py`, those of encodings in `place_layout.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# One-dimensional contiguous arrays, by the type of their elements.
U8s = Any
U16s = Any
U32s = Any
U64s = Any
I32s = Any
I64s = Any
F64s = Any

# ------------------------------------------------------------------ every kernel

# Why a kernel returned. After NEED_... and UNDECIDED the caller provides what is missing and calls again. UNKNOWN: the
# tables do not say what to do. ONCE: done, but the ids may not be kept in the table. EXHAUSTED: no pair reaches the
# threshold. PAUSED: the requested number of merges is done. COLD: a pair outside the heap may be the best one.
DONE, NEED_OUT, NEED_SLOTS, NEED_ARENA, NEED_SCRATCH, NEED_PAIRS, NEED_STRINGS, NEED_INDEX = range(8)
UNKNOWN, ONCE, EXHAUSTED, PAUSED, UNDECIDED, COLD = range(8, 14)

LANES = 64  # bytes that are processed at once; the padding that block loads and copies need
CODE_POINTS = 0x110000
INVALID = CODE_POINTS  # the row of a table by code point for a byte that is not UTF-8
MISSING = -1  # in place of an id
SHORT_TEXT = 1 << 12  # bytes of a text; below, a call costs more than encoding
# A word end is 32 bits wide. With RUN set, the word is a run of characters of three bytes, each encoded alone.
RUN = 1 << 31
PLACE = RUN - 1  # the other bits: where the word ends
MOST_BYTES = RUN - LANES  # of texts split in one call

# ------------------------------------------------------------------ rows of JSON (text/rows.py)

ROW_AT, ROW_WRITTEN, ROW_COUNT = range(3)  # counters: the next row in the data; bytes and texts written so far

# ------------------------------------------------------------------ what an id gives (text/decode.py)

SPAN_START = 32  # from this bit on: the place of its bytes
SPAN_SIZE = (1 << 30) - 1  # the number of its bytes
SPAN_BYTE, SPAN_BREAK = 1 << 30, 1 << 31  # flags
NO_SIZE = -(1 << 62)  # in place of a size: a break separates single bytes

# ------------------------------------------------------------------ what a text has (text/measure.py)

CHARACTERS_OF, WORDS_OF, SPACELESS_OF, MEASURED_ROW = range(4)  # of a text
IN_WORD, SPACELESS = 1, 2  # bits of a code point: it is part of a word; its script has no spaces between words

# ------------------------------------------------------------------ the table of words (table/)

KEY_LOW, KEY_HIGH, VALUE_LOW, VALUE_HIGH, SLOT_ROW = range(5)  # of a slot, uint64
BLOCK = 256  # words whose keys are made at once
KEY_ROW = 3  # of a key: low, high, and the slot to begin the search at
ODD_WORDS = KEY_ROW * BLOCK  # after the keys: the indices of the words whose keys need a second look, at most BLOCK
ODD_COUNT = ODD_WORDS + 2 * BLOCK  # the number of these words; the second BLOCK before it is used for gaps in the ids
KEYS = ODD_COUNT + 1  # elements of the whole scratch
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
# NEXT_TEXT, NEXT_WORD: where to resume. WRITTEN: ids in the output. SLOTS_USED, IDS_USED, BYTES_USED: of the table.
# UNKNOWN_AT: the byte that has no id. NEEDED: what NEED_... needs. FAR: words of the last block with ids in the arena.
# BEGIN: the next word is the first of its text. JOINED: the texts of a call are parts of one text. ALONE: 1, words are
# segmented without the table; WARY, blocks are small. SUMMED: ids whose scores are in the sum.
NEXT_TEXT, NEXT_WORD, WRITTEN, SLOTS_USED, IDS_USED, BYTES_USED, UNKNOWN_AT, NEEDED = range(8)
FAR, BEGIN, JOINED, ALONE, SUMMED, COUNTERS = range(8, 14)


class WordTable(NamedTuple):
    """The words already segmented."""

    slots: U64s  # SLOT_ROW elements a slot; a power of two of slots
    seeds: U64s
    ids: I32s  # arena of ids
    text: U8s  # arena of long words
    chars: U64s  # CHAR_ROW elements for each character of three bytes that met in a RUN; or empty


class CountTable(NamedTuple):
    """Words with a count and a first place, see table/count.py."""

    slots: U64s
    seeds: U64s
    arena: U8s
    keys: U64s  # scratch: KEYS elements
    counters: I64s


# ------------------------------------------------------------------ models, as encoders read them

# Fields of `settings`. SEED is that of a hash table.
UNK, SEED = range(2)
# KNOWN_BITS: bits of a rank in `entries`; 0 for a model whose merges are in `pairs`.
FUSE_UNK, DROP_UNKNOWN, COMPLETE, TIED, LINKS, PARTED, MARKS, FIRST_RESULT, KNOWN_BITS, BPE_SETTINGS = range(2, 12)
MOST_CHARS, WORDPIECE_SETTINGS = range(2, 4)
RUNNING, UNIGRAM_SETTINGS = range(2, 4)

# BPE. An entry of the pair table is left id, right id and rank in one uint64.
ID_BITS, RANK_BITS = 21, 22
MOST_RANK = (1 << RANK_BITS) - 1  # in place of a rank: two symbols that meet inside a token but do not merge
NO_PAIR = (1 << 64) - 1  # a free slot; the rank of a pair whose symbols meet inside no token
NO_RANK = (1 << 32) - 1  # of two bytes
SHORT_WORD = 56  # symbols up to which scanning for the lowest rank beats chains; a multiple of 8 below 63, for masks
MERGE_PADDING = 8  # elements after the ranks of a word's pairs
SYMBOL_SCRATCH, TIED_SCRATCH = 12, 3  # elements of `symbols`, and of `keys` if priorities tie, for a symbol
PAIR_LANES = 64  # room for the pairs of a short word
FORMS = 4  # ids of a symbol that is spelled with a prefix or suffix
WITH_PREFIX, WITH_SUFFIX = 1, 2  # the place of a symbol in its word, and the bits of MARKS: prefix, suffix
RANK_SCRATCH = 4  # elements of `chains` for a rank


class BPEModel(NamedTuple):
    """Alphabet and merges."""

    alphabet: I32s  # the id of every byte (256 elements) or code point, or MISSING
    pairs: U64s  # hash table, see bpe/merge.py
    sieve: U64s  # two bits for each of its pairs; a power of two of elements
    results: I32s  # the id that each rank yields
    classes: I32s  # the priority of each rank
    settings: I64s
    first_ranks: U32s  # of a byte-level model: by two bytes, the rank of their merge or NO_RANK
    spans: I32s  # the number of bytes of every symbol
    fallback: I32s  # the id of each byte of an unknown character, or MISSING
    parted: I32s  # by symbol: 0, or where in this array its ids are: their number, then the ids
    pilots: U16s  # a perfect hash table, see bpe/pairs.py: by the first bits of a pair's hash
    entries: U32s  # by place; a power of two of elements
    halves: I32s  # by rank: the two symbols that merge
    forms: I32s  # with MARKS, an id of `alphabet` is a row here: FORMS ids by place in the word, see first_symbols


class BPEScratch(NamedTuple):
    """Room for one word."""

    keys: U64s  # KEYS, then for n symbols n + MERGE_PADDING ranks and, if priorities tie, TIED_SCRATCH * n pairs
    symbols: I32s  # SYMBOL_SCRATCH elements a symbol
    codes: U32s  # PAIR_LANES elements
    chains: I32s  # RANK_SCRATCH elements a rank, -1 between words; only words longer than SHORT_WORD need them


class BPEWorkspace(NamedTuple):
    """All that encoding works on."""

    table: WordTable
    model: BPEModel
    scratch: BPEScratch
    counters: I64s


class WordPieceModel(NamedTuple):
    """Two tries and their failure links, see wordpiece/encode.py."""

    edges: U64s
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
    """Pieces as a double array (trie/double_array.py), and their scores."""

    units: U64s
    links: I32s
    records: U64s
    scores: F64s  # by id, and last that of an unknown character
    byte_ids: I32s  # the id of every byte, or MISSING
    settings: I64s


class UnigramScratch(NamedTuple):
    """Room for the paths to every place of one word, and sums of the text, see unigram/viterbi.py."""

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
TOTAL_SCORE, SCORE_BEFORE, CAME_NEAR, SUMS = range(4)
PLACE_SUMS, PLACE_STEPS = 2, 3


class Edges(NamedTuple):
    """Pieces between places of a text: where they begin and end, and their ids."""

    begins: I64s
    ends: I64s
    pieces: I32s


# ------------------------------------------------------------------ tries (trie/)

UNIT_BLOCK = 256  # units that a double array grows by
MOST_PIECES = 1 << 26  # ids that fit a unit
NO_EDGE = (1 << 64) - 1  # a free slot of an edge table


class TrieNodes(NamedTuple):
    """By node: its parent, the byte that leads to it, its depth, and the string that ends there or MISSING."""

    parents: I32s
    labels: U8s
    depths: I32s
    strings: I32s


class Children(NamedTuple):
    """By node: its children are the nodes first[n] to last[n] - 1."""

    first: I64s
    last: I64s


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

# Of a character: there may be a cut beside it; the sides of keys that have it. See split/safe_cuts.py.
MAY_CUT, PAIR_LEFT, PAIR_RIGHT, TAIL_LEFT, TAIL_RIGHT = 1, 2, 4, 8, 16
MEMBERS = 1 << 16  # code points that `members` has


class SafeCuts(NamedTuple):
    """Which places between characters a token may span, see split/safe_cuts.py; all empty for no cuts."""

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


class Literals(NamedTuple):
    """Literals as a trie by columns: see split/literals.py."""

    columns: U8s
    children: I32s
    ends: U8s
    firsts: U8s


# ------------------------------------------------------------------ normalization (normalize/)

# Progress of a call: the text, the place in it, the place in the result. The rest is for sentencepiece.py (SPACED,
# BEGUN, FILLED) and graphemes.py (LAST, LOST, UPTO).
AT_TEXT, AT_BYTE, AT_OUT = range(3)
SPACED, BEGUN, FILLED, PROGRESS = range(3, 7)
LAST_CHAR, LOST, ALONE_UPTO = range(3, 6)

ENTRY_SHIFT, LONGEST_ENTRY = 8, 255  # an entry is place << ENTRY_SHIFT | length; the most bytes or characters of one
PAIR_SHIFT = 21  # a pair that composes is first << PAIR_SHIFT | second
STOP = (1 << 32) - 1  # the entry of a character that the table cannot replace
BLOCK_GROWTH = LANES * (LONGEST_ENTRY + 1) + LANES  # bytes that a block may become, and that copies may overwrite
SAFE, SAFE_BEHIND, SOLID = 1, 2, 4  # a text may be cut before the character; if the one before is SOLID; is SOLID
STARTS, CHANGES = 1, 2  # of a character: nothing before it can change it; the normal form changes it

# Classes of characters: strings begin with FIRST or BOTH and have SECOND, BOTH or MAPPED_SECOND next.
PLAIN, FIRST, BOTH, SECOND, MAPPED_SECOND, MAPPED, MAPPED_SPACE = range(7)
# Settings of SentencePiece's rules.
REMOVES, PREFIX, SUFFIX, WIDE, BEGINS, ENDS, JOINS_HIGH, JOINS_ASCII, RANGES, LONGEST, RULE_SETTINGS = range(11)
# A value: where its replacement is, its length, the length of its leading spaces, whether it ends with a space.
VALUE_START, VALUE_SIZE, VALUE_LEAD, VALUE_SPACED, VALUE_ROW = range(5)

# Grapheme classes; those from EXTEND to SPACING join what is before them, unless that is a control character.
OTHER, CR, LF, CONTROL, EXTEND, LINKER, ZWNJ, ZWJ, SPACING, PREPEND = range(10)
HANGUL_L, HANGUL_V, HANGUL_T, HANGUL_LV, HANGUL_LVT, REGIONAL, PICTOGRAPHIC, CONSONANT = range(10, 18)
INNER = -2  # source of a byte inside a character


class Normalized(NamedTuple):
    """The result: bytes, for every byte its source (empty if not wanted), and where each text ends."""

    text: U8s
    source: I64s
    ends: I64s


class Replacements(NamedTuple):
    """What each character becomes."""

    plain: U8s  # of ASCII bytes; 128 or more: not one byte
    entries: U32s  # by code point: place in `arena` << 8 | length, STOP, or 0 for no change
    arena: U8s


class Runs(NamedTuple):
    """The runs of characters that are replaced."""

    members: U8s  # by code point: whether it is in the set
    low: I64s  # one number: how many characters a run has at least
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
    values: I32s  # VALUE_ROW elements for every value of the map
    arena: U8s  # replacements
    users: U64s  # double array of user-defined pieces
    pieces: I32s  # VALUE_ROW elements for every user-defined piece
    settings: I64s
    ranges: U8s  # first and last byte of each range of ASCII that needs a look
    kinds: U8s  # by code point: the grapheme class; empty where graphemes do not matter
