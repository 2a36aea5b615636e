"""The image of a tokenizer for WebAssembly: what a kept file holds, for a memory whose addresses are known.

See `kernels/web.py`. A memory begins at 0, so every address is final when the image is made, but for those of kernels:
a word has the number of one, and JavaScript writes its place in the table of functions. Arrays that grow have no memory
in the image; `rooms` says what JavaScript provides for each, at first and when a kernel stops for want of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.engine.decode.stream import IdDecoder
from subwords.engine.encoder import MOST_ARENA, MOST_SLOTS, EncoderState
from subwords.engine.engine import Engine
from subwords.engine.fast_path import new_plan
from subwords.engine.kept import KERNEL, WORDS, Image, arrays_in
from subwords.kernels import layout
from subwords.kernels.entry import WEB_HEADS
from subwords.kernels.layout import Children, GroupedPairs, Items, TextPlaces, TrieNodes
from subwords.kernels.modes import MODE
from subwords.kernels.plan_layout import (
    FIELDS,
    MOST_STAGES,
    SPARE_BYTES,
    TEXT_ARRAY,
    CallPlan,
    StagePlan,
    stage_row,
)
from subwords.kernels.web import (
    AT_END,
    AT_START,
    BLOCK,
    BREAK,
    BUILDERS,
    DECODING,
    EACH_BYTE,
    GOES_ON,
    HIDDEN,
    JOB_NUMBER,
    NAMED,
    NEED_PLACES,
    NEED_TEXT,
    NO_MODE,
    OF_READER,
    SINGLE_BYTE,
    WebJob,
    WebMerges,
    WebTokens,
    WebTrie,
)
from subwords.spec.decoder import Strip
from subwords.support.errors import SubwordsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subwords.engine.added_tokens import AddedTokenFinder
    from subwords.engine.decode.joined import Joined
    from subwords.models.segmenter import Segmenter, TableStrings
    from subwords.spec.tokenizer import TokenizerSpec
    from subwords.split.routes import SplitCall

BASE = 1 << 16  # where an image begins: the stack and the data of the module are before it
# Kinds of rooms, beside NEED_...: what waits when ids are decoded, all of the memory, what making tables takes, spans.
RUN_ROOM, MEMORY, BUILDING, SPANS = 18, 19, 20, 21
FIRST_ROOM = {
    layout.NEED_OUT: 1 << 14,
    layout.NEED_ARENA: 1 << 16,
    layout.NEED_SCRATCH: 1 << 9,
    NEED_TEXT: 1 << 17,
    NEED_PLACES: 1 << 6,
    RUN_ROOM: 1 << 14,
}
FIRST_WORDS = 1 << 14  # slots of the first table
ASCII = 1 << 7
SPACE = "\u2581"  # in pieces, as SentencePiece has it
NO_BYTES, NO_NUMBERS, NO_SYMBOLS, NO_RECORDS = (np.zeros(0, kind) for kind in (np.uint8, np.int64, np.int32, np.uint64))
FIXED_SEED = 0x9E3779B97F4A7C15  # JavaScript draws others
EDGE_SEED = FIXED_SEED >> 12 | 1  # a number of JavaScript
# The numbers that JavaScript reads and writes.
_FIELDS = {"room": FIELDS.room, "textAt": TEXT_ARRAY + 2}
_GENERAL = {"generalRoom": FIELDS.room}
_OF_JOB = {name: getattr(JOB_NUMBER, name) for name in ("state", "texts", "first", "last", "needed")}
_OF_JOB |= {"places": JOB_NUMBER.room}
_COUNTERS = {"slotsUsed": layout.COUNTER.slots_used, "idsUsed": layout.COUNTER.ids_used}
_COUNTERS |= {"bytesUsed": layout.COUNTER.bytes_used, "unknownAt": layout.COUNTER.unknown_at}
_COUNTERS |= {"wanted": layout.COUNTER.needed}
_OF_DECODING = {"skips": DECODING.skips, "waiting": DECODING.run, "read": DECODING.read}


class WebImage(NamedTuple):
    """The memory of a tokenizer, from BASE on, in blocks; the numbers with which `web/index.js` uses it.

    Of `facts`, at: addresses of arrays by name. words: an array, and the place of a number in it. rooms: by kind, the
    arrays that grow together: address, bytes of an element, elements for any size, and for each unit of the size.
    sizes: the first ones. slots: of the table of words, at first and at most. steps: calls of kernels that make tables.
    blocks: how many there are, from the address `data` on. unused: kernels that it does not need.
    """

    content: bytes
    facts: dict[str, Any]
    unused: frozenset[str]


class _Growing:
    """The arrays that grow, by what they have room for."""

    def __init__(self) -> None:
        self.arrays: dict[int, list[tuple[NDArray[Any], int, int]]] = {}

    def new(self, kind: int, dtype: Any, base: int = 0, per: int = 1) -> NDArray[Any]:
        """Return an array in whose place there is one of `base + per * size` elements."""
        return self.put(kind, np.zeros(0, dtype), base, per)

    def put(self, kind: int, array: NDArray[Any], base: int = 0, per: int = 1) -> NDArray[Any]:
        """Let an array grow."""
        self.arrays.setdefault(kind, []).append((array, base, per))
        return array


def web_image(engine: Engine, spec: TokenizerSpec) -> WebImage:
    """Return the image of a tokenizer; SubwordsError for what has no kernels."""
    if MODE != "compiled":
        raise SubwordsError(f"expected compiled kernels, which an export is made of; SUBWORDS_KERNELS is {MODE!r}")
    growing, segmenter = _Growing(), engine.encoder.segmenter.with_equal_tables()
    state, other = (EncoderState(segmenter) for _ in range(2))
    call = _checked_call(engine, state)
    state.seeds[: layout.SEEDS] = [FIXED_SEED * k % 2**64 | 1 for k in range(1, layout.SEEDS + 1)]
    first = _grow_state(growing, state)
    plan = _grow_plan(growing, new_plan(state, call, prefixed=False, marked=False), call)
    general, wider = plan, _general_call(engine, call)
    if wider is not None:
        more = new_plan(state, wider, prefixed=False, marked=False)
        general = plan._replace(fields=more.fields, stages=_grow_stages(growing, more))
    job, policies = _job(growing, engine, plan, general)
    job.numbers[JOB_NUMBER.has_general] = wider is not None
    decoder = _decoder(growing, engine, IdDecoder(spec, engine.added).joined)

    build = _build_of(growing, segmenter, decoder.tokens)
    tables = first[:3], decoder.tokens, decoder.stream, job.finders, build.steps
    stages = tuple(stage.tables for stage in (*plan.stages, *general.stages))
    shared = arrays_in((engine.encoder.plan(other), other.workspace, tables, stages)) - arrays_in(build.made)
    later = [array for arrays in growing.arrays.values() for array, _, _ in arrays]
    own = state.seeds, state.counters, job.pairs
    image = Image(shared, own, later, WEB_HEADS["subwords_tuple_head"])
    _add_plan(image, plan, call, state)
    if wider is not None:
        _add_plan(image, general, wider, state)
    image.add(job.numbers, {JOB_NUMBER.cut: (KERNEL, NAMED.index("cut_tokens"))})
    return _placed(image, growing, state, first, job, decoder, build, policies)


def _placed(
    image: Image,
    growing: _Growing,
    state: EncoderState,
    first: tuple[Any, ...],
    job: Any,
    decoder: _Decoder,
    build: _Build,
    policies: dict[str, Any],
) -> WebImage:
    """Return an image that has all plans, with what JavaScript needs to know of it."""
    named = {"job": job, "out": state.out, "slots": state.slots, "seeds": state.seeds}
    named |= {"spare": np.zeros(0, np.uint64), "offsets": job.offsets, "upto": job.upto, **decoder._asdict()}
    named |= dict(zip(("begins", "lengths"), job.given, strict=False))
    at = {name: BASE + image.add(thing) for name, thing in named.items()}
    numbers = [(job.plan.fields, _FIELDS), (job.general.fields, _GENERAL), (job.numbers, _OF_JOB)]
    numbers += [(state.counters, _COUNTERS), (decoder.stream, _OF_DECODING)]
    words = {name: [BASE + image.add(array), place] for array, places in numbers for name, place in places.items()}
    fixed = [each for each in arrays_list(state.scratch) if len(each) and (each == -1).all()]
    build_facts = _facts_of(image, build._replace(minus_ones=(*fixed, *build.minus_ones)))
    rooms = {
        kind: [[BASE + image.add(array), array.itemsize, first, per] for array, first, per in arrays]
        for kind, arrays in growing.arrays.items()
    }
    added = [BASE + image.add(each) for each in first]
    content, end, kernels = image.placed(BASE)
    packed, blocks = _filtered(content, image.words_size)
    facts = {
        **policies,
        **build_facts,
        "base": BASE,
        "end": end,
        "at": at,
        "words": words,
        "kernels": kernels,
        "rooms": rooms,
        "blocks": blocks,
        "data": BASE + image.words_size,
        "sizes": {**FIRST_ROOM, layout.NEED_ARENA: (1 << 16) + len(first[0])},
        "vocabulary": len(decoder.tokens.flags),
        "seeds": layout.SEEDS,
        "first": added,
        "streamSize": DECODING.width,
        "slots": [max(FIRST_WORDS, len(state.slots) // layout.SLOT.width), max(MOST_SLOTS, 4 * len(first[1]))],
        "mostArena": max(MOST_ARENA, 8 * len(state.segmenter.model.vocab.data)),
    }
    used = {*(NAMED[content[place - BASE]] for place in kernels), *(name for name, *_ in build.steps)}
    every = {*NAMED, *(kernel.name for kernel in BUILDERS)}
    return WebImage(packed, facts, frozenset(every - used))


def _facts_of(image: Image, build: _Build) -> dict[str, Any]:
    """Return how tables are made, with addresses."""
    steps = [
        [name, *(each if isinstance(each, int) else BASE + image.add(each) for each in given)]
        for name, *given in build.steps
    ]
    return {"steps": steps, "minusOnes": [[BASE + image.add(each), each.itemsize] for each in build.minus_ones]}


# What the numbers of a block may be, by width and step: see `web_restore`.
FILTERS = ((1, 0), *((1, step) for step in (1, 2, 3, 4, 5, 6, 9)), *((4, step) for step in range(4)), (8, 0), (8, 1))
FAST_LEVEL = 1  # of zlib, to compare


def _filtered(content: bytes, first: int) -> tuple[bytes, int]:
    """Return the content with all from `first` on in blocks, as `web_restore` takes them, and how many these are.

    For each block the filter with which it is smallest: tables by code point become a tenth as large so.
    """
    blocks = -(-(len(content) - first) // BLOCK)
    data = np.zeros(blocks * BLOCK, np.uint8)
    data[: len(content) - first] = np.frombuffer(content, np.uint8, offset=first)
    best: dict[int, tuple[int, int, bytes]] = {}
    used = np.flatnonzero(data.reshape(blocks, BLOCK).any(1)).tolist()
    for width, step in FILTERS:
        numbers = data.view(f"<u{width}")
        changed = numbers.copy()
        changed[step:] -= numbers[: len(numbers) - step] if step else 0
        rows = changed.view(np.uint8).reshape(blocks, BLOCK // width, width)
        for block in used:
            made = rows[block].T.tobytes()
            size = len(zlib.compress(made, FAST_LEVEL))
            if block not in best or (size < best[block][0] and block > 0):  # before the first one is no number
                best[block] = size, width | step << 4, made
    filters = bytes(best[block][1] if block in best else 0 for block in range(blocks))
    return content[:first] + filters + b"".join(best[block][2] for block in used), blocks


def arrays_list(things: Any) -> list[NDArray[Any]]:
    """Return the arrays in a tuple of tuples and arrays."""
    return [array for each in things for array in arrays_list(each)] if isinstance(things, tuple) else [things]


def _checked_call(engine: Engine, state: EncoderState) -> SplitCall:
    """Return the calls before that of the model; SubwordsError if there is more to do than kernels for the web do."""
    encoder = engine.encoder
    # Not `has_fast_path`: an interpreter without the GIL has none, and can export.
    call = None if encoder.segmenter.joins else encoder.splitter.fast_path(state.buffers)
    if call is not None and len(call.stages) > MOST_STAGES:
        call = None
    if call is not None and encoder.marked:  # its stages do not do for all texts, and say so for U+2581 only
        call = _general_call(engine, call)
    if call is None or engine.sees_start:
        raise _refusal("its splitter, normalizer or model needs more than compiled functions")
    _check_kernels(call)
    return call


def _general_call(engine: Engine, call: SplitCall) -> SplitCall | None:
    """Return the calls for all texts, if others are for most; SubwordsError if these are no kernels for the web."""
    if engine.normalizer is None:
        return None
    stages = engine.normalizer.fast_path(fused=False)
    if stages is None or len(stages) > MOST_STAGES:
        raise _refusal("its normalizer needs more than compiled functions")
    found = call._replace(stages=stages, marked=False)
    _check_kernels(found)
    return None if _same_stages(stages, call.stages) else found


def _same_stages(stages: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether stages do the same: by content, since tables may be made anew."""
    if [stage.kernel for stage in stages] != [stage.kernel for stage in others]:
        return False
    pairs = zip(*(arrays_list(tuple(stage.tables for stage in each)) for each in (stages, others)), strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


def _check_kernels(call: SplitCall) -> None:
    for kernel in (call.kernel, call.keep, call.ascii_kernel, *(stage.kernel for stage in call.stages)):
        if kernel is not None and kernel.name not in NAMED:
            raise _refusal(f"the function {kernel.name} is not in the module")


def _refusal(why: str) -> SubwordsError:
    return SubwordsError(f"this tokenizer cannot be exported for the web: {why}")


def _grow_state(growing: _Growing, state: EncoderState) -> tuple[Any, ...]:
    """Let the arrays of a state grow; return what `add_tokens` takes to enter the words that it has at first."""
    keys = growing.new(layout.NEED_SLOTS, np.uint64, layout.KEYS, 0)
    first = (*(state.whole_words or (NO_BYTES, NO_NUMBERS, NO_SYMBOLS)), state.table, keys, state.counters)
    state.counters[[layout.COUNTER.slots_used, layout.COUNTER.ids_used, layout.COUNTER.bytes_used]] = 0
    growing.put(layout.NEED_SLOTS, state.slots, 0, layout.SLOT.width)
    growing.put(layout.NEED_OUT, state.out, layout.OUT_PADDING)
    growing.put(layout.NEED_ARENA, state.ids)
    growing.put(layout.NEED_ARENA, state.arena, 8)
    small, large = 2 * layout.SHORT_WORD, 4 * layout.SHORT_WORD
    state.fit_word(small)
    sizes = [len(each) for each in arrays_list(state.scratch)]
    state.fit_word(large)
    for size, array in zip(sizes, arrays_list(state.scratch), strict=True):
        if per := (len(array) - size) // (large - small):
            growing.put(layout.NEED_SCRATCH, array, size - per * small, per)
    return first


def _grow_stages(growing: _Growing, plan: CallPlan) -> tuple[StagePlan, ...]:
    """Return the stages of a plan with buffers that grow with the texts."""
    stages = []
    for stage in plan.stages:
        text = growing.new(NEED_TEXT, np.uint8, 2 * layout.BLOCK_GROWTH)
        scratch: Any = stage.scratch
        if isinstance(scratch, Items):  # for each character of a run of marks
            room = {name: growing.new(NEED_TEXT, np.int64, 1 << 10) for name in scratch._fields}
            scratch = scratch._replace(**room)
        stages.append(stage._replace(out=stage.out._replace(text=text), scratch=scratch))
    return tuple(stages)


def _grow_plan(growing: _Growing, plan: CallPlan, call: SplitCall) -> CallPlan:
    """Return a plan whose buffers grow with the texts."""
    ends, drops = 3 * layout.LANES, call.drops is not None
    widened = growing.new(NEED_TEXT, np.uint8, layout.LANES, 1 + call.widens) if drops else plan.kept_text
    return plan._replace(
        fields=plan.fields.copy(),
        buffer=growing.new(NEED_TEXT, np.uint8, SPARE_BYTES),
        word_ends=growing.new(NEED_TEXT, np.uint32, ends),
        kept_text=widened,
        kept_ends=growing.new(NEED_TEXT, np.uint32, ends) if drops else plan.kept_ends,
        stages=_grow_stages(growing, plan),
    )


def _add_plan(image: Image, plan: CallPlan, call: SplitCall, state: EncoderState) -> None:
    """Add the numbers of a plan, with kernels by their numbers."""
    at = {FIELDS.split: call.kernel, FIELDS.keep: call.keep, FIELDS.encode: state.segmenter.kernel}
    at[FIELDS.ascii_split] = call.ascii_kernel
    at |= {stage_row(number).start: stage.kernel for number, stage in enumerate(call.stages)}
    inner = {field: (KERNEL, NAMED.index(kernel.name)) for field, kernel in at.items() if kernel is not None}
    for field, kernel in at.items():
        if kernel is None:
            plan.fields[field] = 0
    inner[FIELDS.workspace] = WORDS, image.add(state.workspace)
    inner[FIELDS.out] = WORDS, image.add(state.out)
    image.add(plan.fields, inner)


def _job(growing: _Growing, engine: Engine, plan: CallPlan, general: CallPlan) -> tuple[Any, dict[str, Any]]:
    """Return what `web_encode` works on; the first and last finder of each policy, or why it is refused."""
    finders: list[Any] = []
    ranges: dict[str, list[int] | None] = {}
    refused: dict[str, str] = {}
    for policy in ("text", "allow"):
        finder = engine.added.finder(policy)
        if why := _cannot_cut(engine, finder):
            if policy == "text":
                raise _refusal(why)
            refused[policy], ranges[policy] = why, None
            continue
        first = len(finders)
        finders += [each.in_bytes.tables for each in (finder.literal, finder.normalized) if each]
        ranges[policy] = [first, len(finders)]

    def places() -> TextPlaces:
        return TextPlaces(*(growing.new(NEED_PLACES, np.int64) for _ in range(3)))

    memory, numbers = growing.new(MEMORY, np.uint8), np.zeros(JOB_NUMBER.width, np.int64)
    hits, more = growing.new(NEED_PLACES, np.uint64), [growing.new(NEED_PLACES, np.int64, 1) for _ in range(2)]
    job = WebJob(
        plan=plan,
        general=general,
        numbers=numbers,
        memory=memory,
        given=places(),
        one=places(),
        two=places(),
        finders=tuple(finders),
        hits=hits,
        ends=more[0],
        upto=more[1],
        pairs=_pairs(engine),
        offsets=growing.new(NEED_PLACES, np.int64, 1),
    )
    return job, {"finders": ranges, "refused": refused}


# ---------------------------------------------------------------------------------------------------------------------
# What does not travel: tables that kernels make when a tokenizer is loaded.


class _Build(NamedTuple):
    """How tables are made: kernels with their arguments; what they make; arrays that are -1 before."""

    steps: tuple[tuple[Any, ...], ...] = ()
    made: tuple[Any, ...] = ()
    minus_ones: tuple[NDArray[Any], ...] = ()


def _build_of(growing: _Growing, segmenter: Segmenter, tokens: WebTokens) -> _Build:
    """Return how the tables of a model are made; nothing for other models, whose tables travel."""
    if segmenter.table_pairs is not None:
        return _build_of_pairs(growing, segmenter.arrays, segmenter.table_pairs, tokens)
    if segmenter.table_strings is not None:
        return _build_of_trie(growing, segmenter, segmenter.table_strings, tokens)
    return _Build()


def _build_of_pairs(growing: _Growing, model: Any, pairs: NDArray[np.int64], tokens: WebTokens) -> _Build:
    """Return how the table of pairs and the bytes of ids are made of merges."""
    links, perfect = int(np.count_nonzero(pairs[:, 3] < 0)), len(model.pilots) > 1
    if pairs.max(initial=0, where=[True, True, False, True]) >= len(tokens.flags):
        return _Build()  # symbols that are no ids: their bytes are unknown
    alphabet = model.alphabet if perfect else np.zeros(0, np.int32)
    literals, sizes = _literal_ids(pairs[links:], alphabet, tokens), np.diff(tokens.offsets)
    kept = np.zeros(len(sizes), np.bool_)
    kept[literals] = True
    spans = np.array_equal(model.spans, sizes[: len(model.spans)])
    left, right, rank, result = (np.ascontiguousarray(column).astype(np.uint32) for column in pairs.T)
    numbers = [growing.new(BUILDING, np.int64, len(pairs), 0) for _ in range(3)]
    merges = WebMerges(
        left=left,
        right=right,
        rank=rank,
        result=result,
        literals=tokens.data[np.repeat(kept, sizes)],
        literal_ids=literals.astype(np.uint32),
        literal_sizes=sizes[literals].astype(np.uint32),
        settings=np.array([links, len(alphabet), spans], np.int64),
        lefts=numbers[0],
        rights=numbers[1],
        ranks=numbers[2],
        made=growing.new(BUILDING, np.int64, len(sizes), 0),
    )
    spelled = "web_merges", merges, model, tokens
    made = (tokens.data, tokens.offsets, model.results, model.pairs, *([model.spans] if spans else []))
    seed = int(model.settings[layout.MODEL.seed])
    if not perfect:
        filled = "fill_pairs", *numbers, seed, model.pairs, model.sieve
        return _Build((spelled, filled), (*made, model.sieve), (model.pairs,))
    groups = [growing.new(BUILDING, np.int64, len(model.pilots) + 1, 0) for _ in range(2)]
    grouped = GroupedPairs(*(growing.new(BUILDING, np.uint64, len(pairs), 0) for _ in range(2)), *groups)
    filled = "make_perfect", *numbers, seed, model.pilots, model.pairs, grouped
    return _Build((spelled, filled), (*made, model.pilots))


def _build_of_trie(growing: _Growing, segmenter: Segmenter, strings: TableStrings, tokens: WebTokens) -> _Build:
    """Return how the trie of WordPiece, of bytes, or of Unigram, of characters, is made of the bytes of ids."""
    model, data = segmenter.arrays, segmenter.model.vocab.data
    characters, found = strings.characters, _places_in_tokens(data, strings, tokens)
    if found is None:
        return _Build()
    skips, space = found
    first = strings.roots == 0
    after = slot = layout.MISSING
    if not characters:  # as in `WordPieceSegmenter`
        after = int(np.setdiff1d(np.arange(1 << 8), data[strings.starts[first]])[-1])
        slot = int(model.settings[layout.WORDPIECE.after])
    settings = np.array([np.count_nonzero(first), space, after, slot], np.int64)
    count = int(np.count_nonzero(model.units & np.uint64(1 << layout.SYMBOL_BITS))) + (not characters)
    trie = _trie_room(growing, strings, count, model.symbols if characters else NO_SYMBOLS)
    trie = trie._replace(ids=strings.ids, skips=skips, settings=settings)
    trie = trie._replace(records=model.records) if characters else trie
    edges = growing.new(BUILDING, np.uint64, 1 << max(4, (2 * count).bit_length()), 0)
    taken = growing.new(BUILDING, np.uint8, len(model.units), 0)
    filled = "fill_units", trie.children, trie.labels, trie.pieces, model.units, taken, trie.places
    steps: list[tuple[Any, ...]] = [
        ("web_strings", trie, tokens),
        ("build_edges", trie.data, trie.starts, trie.stops, trie.roots, edges, EDGE_SEED, trie.nodes),
        ("web_order", trie),
        filled,
    ]
    if characters:
        steps += [("fill_links", trie.children, trie.labels, trie.places, model.units, model.links, model.records)]
        made = model.units, model.links, model.records
    else:
        steps += [
            ("web_after", trie, model.units),
            ("build_links", trie.order, trie.places, trie.ids, trie.nodes, model),
        ]
        made = model.units, *model[1:5]
    return _Build(tuple(steps), made, (edges, trie.nodes.strings))


def _trie_room(growing: _Growing, strings: TableStrings, count: int, symbols: NDArray[Any]) -> WebTrie:
    """Return room to make a trie of so many nodes."""

    def room(dtype: Any, size: int) -> NDArray[Any]:
        return growing.new(BUILDING, dtype, size, 0)

    size, many = int((strings.stops - strings.starts).sum()), len(strings.ids)
    return WebTrie(
        ids=strings.ids,
        skips=NO_BYTES,
        settings=NO_NUMBERS,
        symbols=symbols,
        records=NO_RECORDS,
        data=room(np.int32, size),
        starts=room(np.int64, many),
        stops=room(np.int64, many),
        roots=room(np.int64, many),
        nodes=TrieNodes(*(room(np.int32, count + 1) for _ in range(4))),
        order=room(np.int64, count),
        other=room(np.int64, count + 1),
        counts=room(np.int64, max(count, len(symbols), 1 << 8) + 2),
        labels=room(np.int32, count),
        pieces=room(np.int32, count),
        children=Children(room(np.int64, count), room(np.int64, count)),
        places=room(np.int64, count),
    )


def _places_in_tokens(
    data: NDArray[np.uint8], strings: TableStrings, tokens: WebTokens
) -> tuple[NDArray[np.uint8], int] | None:
    """Return how many bytes of its id are before each string, which has the others; None if some have not.

    Also the character for which the bytes of ids have a space, or a space.
    """
    text, places = data.tobytes(), zip(strings.starts.tolist(), strings.stops.tolist(), strict=True)
    texts = [text[begin:stop] for begin, stop in places]
    space = SPACE.encode() if strings.characters and any(SPACE.encode() in each for each in texts) else b" "
    whole, ends = tokens.data.tobytes(), tokens.offsets.tolist()
    skips = []
    for index, string in zip(strings.ids.tolist(), texts, strict=True):
        token = whole[ends[index] : ends[index + 1]]
        skip = len(token) - len(string.replace(space, b" "))
        if not 0 <= skip < 1 << 8 or token[skip:].replace(b" ", space) != string:
            return None
        skips.append(skip)
    return np.array(skips, np.uint8), ord(space.decode())


def _literal_ids(merges: NDArray[np.int64], alphabet: NDArray[np.int32], tokens: WebTokens) -> NDArray[np.int64]:
    """Return the ids whose bytes are neither a byte of the alphabet nor those of a merge of earlier ones."""
    data, ends = tokens.data.tobytes(), tokens.offsets.tolist()
    texts = [data[begin:end] for begin, end in pairwise(ends)]
    known = np.ones(len(texts), np.bool_)  # before the merges
    known[merges[:, 3]] = False
    known[alphabet] = True
    literal = np.ones(len(texts), np.bool_)
    literal[alphabet] = [texts[index] != bytes([byte]) for byte, index in enumerate(alphabet.tolist())]
    there = known.tolist()
    for left, right, _, result in merges.tolist():
        if there[left] and there[right] and not there[result]:
            there[result], literal[result] = True, texts[left] + texts[right] != texts[result]
    return np.flatnonzero(literal)


def _cannot_cut(engine: Engine, finder: AddedTokenFinder) -> str:
    """Why texts cannot be cut at tokens; empty if they can, or if there are none."""
    if finder.normalized and engine.normalizer is not None:
        return "it has added tokens that are found in normalized text"
    if finder and engine.splitter.inside is not engine.splitter:
        return "its splitter treats the start of a text unlike text after an added token"
    return ""


def _pairs(engine: Engine) -> NDArray[np.uint8]:
    """Return a bit for each two ASCII characters: whether a text may be cut between them (S4); or no element."""
    splitter, segmenter = engine.splitter, engine.encoder.segmenter
    if engine.normalizer is not None or splitter.inside is not splitter or not segmenter.apart:
        return np.zeros(0, np.uint8)
    route, characters = engine.encoder.splitter.route, [*map(chr, range(ASCII))]
    found = [route.cuts_between(before, after) for before in characters for after in characters]
    return np.packbits(np.array(found, np.bool_), bitorder="little")


# ---------------------------------------------------------------------------------------------------------------------
# Ids to text.


class _Decoder(NamedTuple):
    """What `web_decode` and `web_spans` work on."""

    tokens: Any
    stream: NDArray[np.int64]  # the state of a text that begins
    run: NDArray[np.uint8]
    text: NDArray[np.uint8]
    ids: NDArray[np.uint32]
    spans: NDArray[np.uint32]


def _decoder(growing: _Growing, engine: Engine, joined: Joined | None) -> _Decoder:
    """Return the bytes of ids and the arrays for decoding; SubwordsError if a decoder does more than join."""
    strip = _strip_of(joined)
    assert joined is not None
    flags = np.zeros(len(joined.tokens), np.uint8)
    flags[(joined.spans & layout.SPAN_BYTE) != 0] |= SINGLE_BYTE
    flags[(joined.spans & layout.SPAN_BREAK) != 0] |= BREAK
    flags[sorted(engine.added.special_ids)] |= HIDDEN
    tokens, trims = [*joined.tokens], np.zeros((len(flags), 2, 2), np.uint16)
    for index in range(len(flags)) if joined.edge is not None else ():
        between, edge = tokens[index], _edge_of(joined, index, flags)
        tokens[index] = max(between, edge, key=len)
        for row, part in zip(trims[index], (between, edge), strict=True):
            at = tokens[index].find(part)
            if at < 0:
                raise _refusal("its decoder gives other text at the start or end of a text")
            row[:] = at, len(tokens[index]) - at - len(part)
    sizes = [*map(len, tokens)]
    offsets = np.cumsum([0, *sizes]).astype(np.uint32)
    found = WebTokens(np.frombuffer(b"".join(tokens), np.uint8).copy(), offsets, trims.ravel(), flags)
    stream = _first_state(joined, strip, max(1, *sizes))
    run, ids = growing.new(RUN_ROOM, np.uint8), growing.new(RUN_ROOM, np.uint32)
    # Text for the bytes that wait, three for each, and for the longest ids.
    text = growing.new(RUN_ROOM, np.uint8, (1 << 12) + 2 * int(stream[DECODING.longest]), 4)
    return _Decoder(found, stream, run, text, ids, growing.new(SPANS, np.uint32, 0, 2))


def _first_state(joined: Joined, strip: Strip | None, longest: int) -> NDArray[np.int64]:
    """Return the state of a text that begins; longest: bytes of an id."""
    state = np.zeros(DECODING.width, np.int64)
    state[DECODING.edge] = 0 if joined.edge is None else AT_END if joined.at_end else AT_START
    state[DECODING.mode] = {None: NO_MODE, "replace": OF_READER}.get(joined.errors, EACH_BYTE)
    state[DECODING.last], state[DECODING.longest] = -1, longest
    if strip is not None:
        state[DECODING.content], state[DECODING.left], state[DECODING.stop] = (
            ord(strip.content),
            strip.start,
            strip.stop,
        )
    return state


def _edge_of(joined: Joined, index: int, flags: NDArray[np.uint8]) -> bytes:
    size, text, goes_on = joined.edge_at(index)
    if size < 0:
        raise _refusal("its decoder gives bytes another meaning at the start or end of a text")
    if goes_on:
        flags[index] |= GOES_ON
    whole = joined.tokens[index]
    if not size and not text:
        return whole
    known = whole.decode()
    return (known[: len(known) - size] + text if joined.at_end else text + known[size:]).encode()


def _strip_of(joined: Joined | None) -> Strip | None:
    """Return the only step after joining, if there is one; SubwordsError for other steps."""
    if joined is None:
        raise _refusal("its decoder does more than join the text of ids")
    if not joined.after:
        return None
    (step, *others) = joined.after
    if others or not isinstance(step, Strip) or len(step.content) != 1 or not step.content.isascii():
        raise _refusal(f"its decoder ends with {', '.join(type(each).__name__ for each in joined.after)}")
    return step
