"""The layouts of training: as `layout.py`, which has those of encoding."""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.layout import F64s, I32s, I64s, U8s, U32s, U64s

# ------------------------------------------------------------------ counted words (table/words.py)

ROW_LENGTH, ROW_COUNT, ROW_PLACE, ROW_START, WORD_ROW = range(5)  # uint64
SORT_ROW = 2  # place, row: uint64
MARK_LAST, MARK_DOCUMENTS, MARK_ROW = range(3)  # uint64: the last document, from 1, and how many; of a slot
DIGIT_BITS = 11  # of a place, sorted at once

# ------------------------------------------------------------------ training by merges (bpe/, wordpiece/)

TIE_IDS, TIE_FIRST, TIE_BYTES = range(3)  # rules for pairs of equal score
LIKELIHOOD, COURSE, COUNT = range(3)  # scores

# Fields of `settings`. PAUSE: the number of merges to return at. SCORE and PREFIX_CHARS are WordPiece's. RULED: whether
# `MergeRules` apply.
THRESHOLD, FLOOR, VOCAB_SIZE, TIE, MAX_LENGTH, PAUSE, SPECIALS, PREFIX_BYTES, SCORE, PREFIX_CHARS, RULED = range(11)
TRAIN_SETTINGS = 11
APART = 255  # in place of a class: what must not merge
# Counters. ARENA_AT: the word to count pairs from. WordPiece: TOTAL tokens now, and when the heap was made; the record
# Python has chosen, and how many it can choose from; what no pair outside the heap gains.
PAIRS_USED, HEAP_SIZE, POSTINGS_USED, TOKENS, MERGES, STRINGS_USED, ARENA_AT = range(7)
TOTAL, TOTAL_BEFORE, CHOSEN, CHOICES, WARM, TRAIN_COUNTERS = range(7, 13)
ALL_IN_HEAP = -0x7FFFFFFFFFFFFFFF  # of WARM: no pair is outside the heap

END = (1 << 32) - 1  # between two words, and at places inside tokens, in place of a symbol; no place is END
WORD_LENGTH, WEIGHT_LOW, WEIGHT_HIGH, FIRST_LENGTH, WORD_HEADER = range(5)  # before a word's symbols, uint32: WordPiece
PAIR_KEY, PAIR_COUNT, PAIR_PLACE, PAIR_WORDS, PAIR_ROW = range(5)  # uint64
NO_KEY = (1 << 64) - 1  # a free entry of the pair table
NO_PAIR = NO_KEY - 1  # an entry whose pair was refused
LEFT, RIGHT, LEFT_WORDS, RIGHT_WORDS, LAST_LEFT, LAST_RIGHT, SPAN, STRING, TOKEN_ROW = range(9)  # int64: a cache line
HEAP_COUNT, HEAP_TIE, HEAP_KEY, HEAP_ROW = range(4)  # uint64
# Of a merge, int32: left, right, merged, and the count of the pair: its low COUNT_BITS bits, and the others.
MERGE_LEFT, MERGE_RIGHT, MERGED, COUNT_LOW, COUNT_HIGH, MERGE_ROW = range(6)
COUNT_BITS = 31
NEIGHBOUR, IN_WORD, BUFFER_ROW = range(3)  # uint32; in BPE, IN_WORD is the place of the new pair


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
    """All that BPE training works on; see bpe/index.py and bpe/train.py."""

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
SYMBOLS_AT_OF, RUNS_AT_OF, RUNS_OF, PAIRS_AT_OF, PAIRS_OF, POSTINGS_AT_OF, HEAP_AT_OF, HEAP_ROOM_OF, REGION_ROW = range(
    9
)
# Fields of `choice`. MEASURED_FROM: the first region for measuring. WINDOW: 0 for none; MOST_PICKS of a language in it.
# NEEDING: the region without room for this many NEEDED_PAIRS pairs.
LANGUAGES, REGIONS, MEASURED_FROM, WINDOW, MOST_PICKS, NEEDING, NEEDED_PAIRS, CHOICE_FIELDS = range(8)
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


# WordPiece: records of pairs, symbols, the table that finds a record, and entries of the heap; all int64.
RECORD_KEY, RECORD_COUNT, RECORD_PLACE, RECORD_WORDS, NEXT_OF_LEFT, NEXT_OF_RIGHT, HEAP_AT = range(7)
RECORD_ROW = 8
TIMES, DOUBLES, LOG_TIMES, FIRST_AS_LEFT, FIRST_AS_RIGHT, TIMES_BEFORE = range(6)
SYMBOL_ROW = 8
FIND_ROW = 2  # key, record
ENTRY_SCORE, ENTRY_TIE, ENTRY_RECORD, ENTRY_PAIRS, ENTRY_HIGH, ENTRY_LOW = range(6)
ENTRY_ROW = 8


class ScoreTraining(NamedTuple):
    """All that WordPiece training works on; see wordpiece/index.py and wordpiece/heap.py."""

    arena: U32s
    postings: U32s
    buffer: U32s
    records: I64s
    finder: I64s
    heap: I64s
    choices: I64s
    tokens: I64s
    symbols: I64s
    strings: U8s
    names: I64s
    counters: I64s
    settings: I64s


# ------------------------------------------------------------------ Unigram training (unigram/)

LENGTH_BITS = 16  # of a link: below the number of the next shorter piece at the same place, plus 1
ALWAYS, NEVER = 1e300, -1e300  # losses of pieces that are always kept, and of useless ones
SYMBOLS_FILLED, WORDS_FILLED, FILL_SIZES = range(3)
CHAR_BITS, KEY_CHARS, SORT_CHARS, KNOWN_CHARS, SORT_LIMITS = range(5)  # of `limits` of the sort, int64
FRAME_AT, FRAME_END, FRAME_DEPTH, FRAME_ROW = range(4)  # a run of suffixes that is being sorted
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
