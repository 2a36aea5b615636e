"""The fast path: built-in functions whose body is a kernel, which reads `str` and makes lists.

ctypes takes 0.1 microseconds for each argument and makes no Python objects, so a short `encode` through it spends 6 of
its 8 microseconds on the way. The functions here are called by the interpreter itself. They work on addresses of
objects, call functions of Python's limited C API by address (`API`), and call other kernels, which are C functions too.

What holds everywhere here:
- The GIL is held: no other thread runs Python code, except while a function of the API runs Python code. Making a list
  may do that (the garbage collector, before Python 3.12), so a plan is `busy` meanwhile. For a long text the GIL
  is released; the plan is then `away`, not in its slot: a child that another thread forks must not find it.
- A result is a new reference, or 0 after an exception was set. None: the call had no effect; use the general path.
- Every path gives back what it took.

The fast path needs CPython with the GIL, compiled kernels, and objects laid out as expected: see `entry.available`.
Otherwise callers use their general path, the twin of these functions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from subwords.kernels import layout
from subwords.kernels.entry import (
    API,
    CALL,
    DATA,
    GC_OFF,
    GC_ON,
    GIL_OFF,
    GIL_ON,
    INT_NEW,
    LIST_APPEND,
    LIST_ITEMS,
    LIST_NEW,
    LIST_SET,
    LIST_SIZE,
    LIST_TYPE,
    NO,
    NONE,
    RELEASE,
    SIZES,
    STR_TYPE,
    TYPE,
    YES,
    Kernel,
    available,
)
from subwords.kernels.jit import I64, U64, Int, declare, helper, inlined, popcount, spliced
from subwords.kernels.objects import (
    SLACK,
    api_of,
    byte_at,
    call_at,
    copy_bytes,
    data_of,
    has_mark,
    id_at,
    is_ascii,
    item,
    load_at,
    most_of,
    new_list,
    new_reference,
    nothing,
    set_item,
    store_at,
    store_byte_at,
    store_id_at,
    utf8_of,
    write_utf8,
)
from subwords.kernels.plan_layout import (
    BOUNDS_ARRAY,
    CUT_TEXT,
    ENDS_ARRAY,
    FIELDS,
    FIRST_STAGE,
    HEADER,
    LEAST_CUT,
    MANY_BYTES,
    MOST_TEXTS,
    NEVER,
    PLAN,
    SPARE_BYTES,
    STAGE,
    STAGE_ROW,
    TEXT_ARRAY,
)

# ------------------------------------------------------------------ kernels that work on addresses

ADDRESS_KERNELS: list[Kernel] = []


def address_kernel(function: Callable[..., int]) -> Kernel:
    """Declare a kernel that works on addresses.

    Most are the body of a built-in function: (what it carries, its argument) to the address of the result.
    """
    ADDRESS_KERNELS.append(declare(function))
    return ADDRESS_KERNELS[-1]


def every_address_kernel() -> list[Kernel]:
    """Import the other file of the fast path, and return its kernels; none where it is not available."""
    if available():
        import_module(f"{__package__}.fastpath_decode")
    return ADDRESS_KERNELS if available() else []


# ---------------------------------------------------------------------------------------------------------------------
# The fast path of encoding: texts to ids by the addresses of kernels, for one text and for many; see `fastpath.py`.
#
# A call plan says which kernels run and owns what they work on. Many texts are copied into its buffer, one after
# another, as the kernels of normalizers and splitters expect them; the buffer stays in a core's cache. One text is
# many with n = 1, read where it is if it is not normalized: a copy takes 30 ns, since its bytes are read again before
# they left the store buffer. A normalizer takes 200 ns longer without SPARE_BYTES to read after the text.

# Of what a built-in function carries: a list whose item is (call plan, its owner), or None. A call that uses the plan
# leaves it there and sets `busy`: to take it out and to put it back, with all references, took 10 ns of 250.
SLOT = API + 1
CUT_SAMPLE = 128  # places of a text
NOT_KEPT = 2  # as `away`: the plan is not put back
ASCII_BITS = 0x8080808080808080 - (1 << 64)  # the bits of eight bytes that no ASCII has
# What else these carry: arrays of NumPy or ctypes, then numpy.empty and types. STRINGS: texts with one need the general
# path. AROUND: how many ids come before and after, the form of the result, and these ids. KNOWN: for how many ids ints
# are kept, and where, or 0. PROVIDE: the function of a plan's owner and the plan that makes room where the encoding
# kernel stopped, or None.
STRINGS, AROUND, KNOWN, PROVIDE, NEW_ARRAY, OF_IDS, OF_OFFSETS = range(SLOT + 1, SLOT + 8)


@inlined
def size_of(array):
    """The number of elements of an array."""
    return load_at(load_at(array + SIZES))


@inlined
def get(fields, k):
    """A field of a plan."""
    return load_at(fields + 8 * k)


@inlined
def set_field(fields, k, value):
    """Set a field of a plan."""
    store_at(fields + 8 * k, value)


@inlined
def point_to(fields, array, address, size):
    """Make one of the plan's arrays that of `size` elements at an address; returns it."""
    header = fields + 8 * array
    store_at(header + DATA, address)
    store_at(header + SIZES, header + 8 * (HEADER - 1))
    store_at(header + 8 * (HEADER - 1), size)
    return header


# ------------------------------------------------------------------ texts to ids


@helper
def gather_texts(plan, fields):
    """Copy the next texts into the buffer, with their bounds; how many: those of MANY_BYTES bytes, or a longer one."""
    to, bounds, i, filled = data_of(item(plan, PLAN.buffer)), data_of(item(plan, PLAN.bounds)), I64(0), I64(0)
    first = get(fields, FIELDS.next)
    addresses, lengths = get(fields, FIELDS.addresses) + 8 * first, get(fields, FIELDS.lengths) + 8 * first
    texts = min(get(fields, FIELDS.last) - first, MOST_TEXTS)
    store_at(bounds, 0)
    while i < texts:
        size = load_at(lengths + 8 * i)
        if filled + size + 1 > (MANY_BYTES if i > 0 else get(fields, FIELDS.room)):
            break
        if size > 0 and get(fields, FIELDS.prefixed) != 0:
            store_byte_at(to + filled, 32)
            filled += 1
        copy_bytes(to + filled, load_at(addresses + 8 * i), size)
        filled += size
        i += 1
        store_at(bounds + 8 * i, filled)
    set_field(fields, FIELDS.upto, first + i)
    set_field(fields, FIELDS.size, filled)
    return i


@spliced
def normalize(plan, fields, address, texts, spare):
    """Normalize texts by all stages: (address, that of their bounds, whether all went well).

    spare: bytes after the texts that may be read: without them, kernels read the last ones one at a time.
    """
    bounds = data_of(item(plan, PLAN.bounds))
    for s in range(get(fields, FIELDS.stages)):
        row, stage = FIRST_STAGE + STAGE_ROW * s, item(item(plan, PLAN.stages), s)
        array = point_to(fields, TEXT_ARRAY, address, load_at(bounds + 8 * texts) + spare)
        ends = point_to(fields, BOUNDS_ARRAY, bounds, texts + 1)
        out, progress, tables = item(stage, STAGE.out), item(stage, STAGE.progress), item(stage, STAGE.tables)
        numbers = data_of(progress)
        for k in range(layout.PROGRESS.width):
            store_at(numbers + 8 * k, 0)
        if get(fields, row + 1) != 0:
            status = call_at(get(fields, row), array, ends, tables, item(stage, STAGE.scratch), out, progress)
        else:
            status = call_at(get(fields, row), array, ends, tables, out, progress)
        address, bounds, spare = data_of(item(out, 0)), data_of(item(out, 2)), I64(SPARE_BYTES)
        if status != layout.DONE or load_at(numbers + 8 * layout.PROGRESS.out) > get(fields, FIELDS.room):
            return address, bounds, False
    return address, bounds, True


@helper
def mostly_ascii(address, size):
    """Whether at most an eighth of the bytes at an address are not ASCII."""
    k, found = I64(0), I64(0)
    while k + 8 <= size:
        found += popcount(U64(load_at(address + k) & ASCII_BITS))
        k += 8
    return found <= size // 8


@spliced
def split(plan, fields, address, bounds, texts, spare):
    """Split texts, and drop words: whether all went well; TEXT_ARRAY is then the text that the words are of."""
    array = point_to(fields, TEXT_ARRAY, address, load_at(bounds + 8 * texts) + spare)
    ends, zero = point_to(fields, BOUNDS_ARRAY, bounds, texts + 1), I64(0)
    words, marks, tables = item(plan, PLAN.word_ends), item(plan, PLAN.text_ends), item(plan, PLAN.tables)
    kept, text, drops = item(plan, PLAN.kept_ends), item(plan, PLAN.kept_text), item(plan, PLAN.drops)
    if get(fields, FIELDS.split) == 0:
        count = call_at(get(fields, FIELDS.keep), array, ends, drops, tables, text, kept, marks)
        point_to(fields, ENDS_ARRAY, data_of(marks) + 8, texts)
        size = id_at(data_of(kept) + 4 * (count - 1)) if count > 0 else zero
        point_to(fields, TEXT_ARRAY, data_of(text), size + layout.LANES)
        set_field(fields, FIELDS.words, count)
        return True
    done = I64(-1)
    if get(fields, FIELDS.ascii_split) != 0 and mostly_ascii(address, load_at(bounds + 8 * texts)):
        two = item(plan, PLAN.ascii_tables)
        done = call_at(get(fields, FIELDS.ascii_split), array, ends, zero, item(two, 0), item(two, 1), words, marks)
    if done != texts and get(fields, FIELDS.two_tables) != 0:
        done = call_at(get(fields, FIELDS.split), array, ends, zero, tables, item(plan, PLAN.tail), words, marks)
    elif done != texts:
        done = call_at(get(fields, FIELDS.split), array, ends, zero, tables, words, marks)
    if done != texts:
        return False
    number = point_to(fields, ENDS_ARRAY, data_of(marks) + 8, texts)
    if get(fields, FIELDS.keep) != 0:
        count = call_at(get(fields, FIELDS.keep), array, zero, words, number, drops, text, kept)
        size = id_at(data_of(kept) + 4 * (count - 1)) if count > 0 else zero
        point_to(fields, TEXT_ARRAY, data_of(text), size + layout.LANES)
    set_field(fields, FIELDS.words, load_at(data_of(marks) + 8 * texts))
    return True


@inlined
def mark_ends(fields, marks, texts):
    """Write what comes after each text to its number of words; see `table.encode.encode_all`."""
    after = get(fields, FIELDS.after)
    if after != 0:
        after += 8 * get(fields, FIELDS.next)
        for k in range(texts):
            store_at(marks + 8 * k, load_at(marks + 8 * k) | load_at(after + 8 * k) << layout.FOLLOWED)


@helper
def encode_words_at(plan, fields, texts, filled):
    """Append the ids of the words of texts to the `filled` ones in `out`: whether all went well."""
    ends, zero = item(plan, PLAN.kept_ends if get(fields, FIELDS.keep) != 0 else PLAN.word_ends), I64(0)
    array, marks, words = fields + 8 * TEXT_ARRAY, fields + 8 * ENDS_ARRAY, get(fields, FIELDS.words)
    out, workspace = get(fields, FIELDS.out), get(fields, FIELDS.workspace)
    count = call_at(get(fields, FIELDS.encode), array, zero, ends, words, marks, texts, out, filled, workspace)
    if count < 0:
        set_field(fields, FIELDS.status, -count)
        return False
    set_field(fields, FIELDS.filled, count)
    return True


@spliced
def encode_at(plan, fields, address, texts, spare):
    """Append the ids of the texts at an address, with the bounds of the plan: whether all went well."""
    address, bounds, well = normalize(plan, fields, address, texts, spare)
    if get(fields, FIELDS.stages) != 0:
        spare = I64(SPARE_BYTES)
    if not well or not split(plan, fields, address, bounds, texts, spare):
        return False
    mark_ends(fields, data_of(fields + 8 * ENDS_ARRAY), texts)
    return encode_words_at(plan, fields, texts, get(fields, FIELDS.filled))


@inlined
def end_batch(plan, fields, texts):
    """Write the numbers of ids of the texts that were just encoded, and go on to the next ones."""
    copy_bytes(get(fields, FIELDS.offsets), data_of(item(plan, PLAN.text_ends)) + 8, 8 * texts)
    set_field(fields, FIELDS.offsets, get(fields, FIELDS.offsets) + 8 * texts)
    set_field(fields, FIELDS.next, get(fields, FIELDS.next) + texts)


@address_kernel
def encode_texts(plan: Int) -> Int:
    """Append the ids of the next texts to the `filled` ones in `out`: DONE, or -1.

    -1: the texts `next` to `upto` - 1 are in the buffer, but not encoded. If `status` is not 0, they are split, and
    encoding has begun; see `table.encode.encode_all`. If `upto` is `next`, that text is too long for the buffer.
    """
    fields, buffer = data_of(item(plan, PLAN.fields)), data_of(item(plan, PLAN.buffer))
    while get(fields, FIELDS.next) < get(fields, FIELDS.last):
        set_field(fields, FIELDS.status, 0)
        texts = gather_texts(plan, fields)
        if texts == 0 or not encode_at(plan, fields, buffer, texts, I64(SPARE_BYTES)):
            return I64(-1)
        end_batch(plan, fields, texts)
    return I64(0)


# ------------------------------------------------------------------ strings that need the general path


@helper
def begins_one(group, address, size):
    """Whether the text at an address begins with a string of a group: see `occurs`."""
    same, record, length = load_at(group), group + 8, load_at(group + 8)
    for k in range(1, min(same, size)):
        if byte_at(record + 8 + k) != byte_at(address + k):
            return False
    while length != 0:
        if length <= size:
            k = same
            while k < length and byte_at(record + 8 + k) == byte_at(address + k):
                k += 1
            if k >= length:
                return True
        record += 8 + ((length + 7) & -8)
        length = load_at(record)
    return False


@helper
def occurs(strings, address, size):
    """Whether a string occurs in the text at an address.

    strings: whether there are any; for each first byte the place of its group, or 0. A group: how many bytes all its
    strings begin with, then for each string its length and its bytes, padded to words, and 0.
    """
    for k in range(size):
        group = load_at(strings + 8 + 8 * byte_at(address + k))
        if group != 0 and begins_one(strings + group, address + k, size - k):
            return True
    return False


@inlined
def is_refused(carried, address, size):
    """Whether a text has one of the strings that need the general path."""
    strings = data_of(item(carried, STRINGS))
    return load_at(strings) != 0 and occurs(strings, address, size)


# ------------------------------------------------------------------ one text


@inlined
def fields_of(plan):
    """The address of the fields of a plan."""
    return data_of(item(plan, PLAN.fields))


@inlined
def held_in(carried):
    """What is in the slot; 0 if nothing is, or if a call uses it."""
    held = load_at(load_at(item(carried, SLOT) + LIST_ITEMS))
    if held == api_of(carried, NONE) or get(fields_of(item(held, 0)), FIELDS.busy) != 0:
        return I64(0)
    return held


@helper
def begin_again(plan):
    """Make the counters those of a new text: encoding may have stopped halfway."""
    counters = data_of(item(plan, PLAN.counters))
    store_at(counters + 8 * layout.COUNTER.next_text, 0)
    store_at(counters + 8 * layout.COUNTER.next_word, 0)
    store_at(counters + 8 * layout.COUNTER.begin, 1)
    return I64(0)


@helper
def put_ids(carried, fields, first, last):
    """Append ids of AROUND to those in `out`: whether there was room."""
    out, count, added = get(fields, FIELDS.out), get(fields, FIELDS.filled), last - first
    if count + added > size_of(out):
        return False
    source, to = data_of(item(carried, AROUND)) + 8 * (3 + first), data_of(out) + 4 * count
    for k in range(added):
        store_id_at(to + 4 * k, load_at(source + 8 * k))
    set_field(fields, FIELDS.filled, count + added)
    return True


@helper
def gains_at(address, size, masks):
    """Whether many of CUT_SAMPLE places have safe cuts: see `split.routes.gains_by_cuts`. No id depends on it.

    masks: Burmese and Khmer count too, for which masks take 1.3 to 1.6 times as long; without cuts, the machine of
    o200k takes 0.8 times as long. Row: requests, "GPT-2": Chinese and Thai 1.3 to 5 times as fast.
    """
    found, step = I64(0), (size - 1) // CUT_SAMPLE
    for k in range(CUT_SAMPLE):
        first, second = byte_at(address + step * k), byte_at(address + step * k + 1)
        burmese = masks and first == 0xE1 and (second < 0x83 or second >> 1 == 0x4F)
        found += I64((first >= 0xE3 and first <= 0xED) or (first == 0xE0 and second >= 0xB8) or burmese)
    return found > CUT_SAMPLE // 64


@helper
def plan_for(plan, address, size):
    """The plan for a text that is not ASCII; 0: use the general path, which makes the table of safe cuts."""
    fields = fields_of(plan)
    if size < LEAST_CUT or get(fields, FIELDS.wide) == NEVER:
        return plan
    if not gains_at(address, size, get(fields, FIELDS.two_tables) != 0):
        return plan
    if get(fields, FIELDS.cut_plan) != 0:
        return get(fields, FIELDS.cut_plan)
    set_field(fields, FIELDS.wide, get(fields, FIELDS.wide) + size)
    return plan if get(fields, FIELDS.wide) < CUT_TEXT else I64(0)


@inlined
def take_away(carried, plan):
    """Take the plan out of its slot, whose reference to it the call has from now on."""
    set_item(item(carried, SLOT), 0, nothing(carried))
    set_field(fields_of(plan), FIELDS.away, 1)


@helper
def give_back(carried, held):
    """Let other calls use the plan of this one; if it was away and another has its place, it is dropped."""
    fields, slot = fields_of(item(held, 0)), item(carried, SLOT)
    set_field(fields, FIELDS.busy, 0)
    if get(fields, FIELDS.away) != 0:
        keeps = get(fields, FIELDS.away) != NOT_KEPT
        set_field(fields, FIELDS.away, 0)
        if keeps and load_at(load_at(slot + LIST_ITEMS)) == api_of(carried, NONE):
            call_at(api_of(carried, LIST_SET), slot, 0, held)
        else:
            call_at(api_of(carried, RELEASE), held)
    return I64(0)


@helper
def go_on(carried, held, plan, texts):
    """Let Python make room as often as the encoding kernel stops, and go on: 1; 0: it is not for that; -1: it raised.

    What raised may have left the plan inconsistent: it is dropped. To begin again on the general path instead took
    0.5 ms of a text of 200 KB.
    """
    fields, first, well = fields_of(plan), item(held, 0), False
    if get(fields, FIELDS.status) == 0 or item(carried, PROVIDE) == api_of(carried, NONE):
        return I64(0)
    while not well:
        set_field(fields, FIELDS.argument, item(held, 1))
        set_field(fields, FIELDS.argument_type, plan)
        arguments = fields + 8 * FIELDS.argument
        made = call_at(api_of(carried, CALL), item(carried, PROVIDE), arguments, I64(2), I64(0))
        if made == 0:
            if get(fields_of(first), FIELDS.away) == 0:
                take_away(carried, first)
            set_field(fields_of(first), FIELDS.away, NOT_KEPT)
            return I64(-1)
        call_at(api_of(carried, RELEASE), made)
        if made != api_of(carried, YES):
            return I64(0)
        written = load_at(data_of(item(plan, PLAN.counters)) + 8 * layout.COUNTER.written)
        thread = call_at(api_of(carried, GIL_OFF)) if get(fields_of(first), FIELDS.away) != 0 else I64(0)
        well = encode_words_at(plan, fields, texts, written)
        if thread != 0:
            call_at(api_of(carried, GIL_ON), thread)
    return I64(1)


@spliced
def encode_here(carried, held, plan, address, texts, spare):
    """Append the ids of texts as `encode_at` does, without the GIL if the plan is away: as `go_on` returns."""
    fields = fields_of(plan)
    set_field(fields, FIELDS.status, 0)
    thread = call_at(api_of(carried, GIL_OFF)) if get(fields_of(item(held, 0)), FIELDS.away) != 0 else I64(0)
    well = I64(encode_at(plan, fields, address, texts, spare))
    if thread != 0:
        call_at(api_of(carried, GIL_ON), thread)
    return go_on(carried, held, plan, texts) if well == 0 else well


@spliced
def encode_one(carried, held, text):
    """Write the ids of a text, and those around them, to the plan's `out`: their number.

    -1: use the general path; -2: an exception was raised.
    """
    plan = item(held, 0)
    fields, count, around = fields_of(plan), I64(-1), data_of(item(carried, AROUND))
    marked, size_at = get(fields, FIELDS.marked) != 0, fields + 8 * FIELDS.size
    prefix, buffer = I64(get(fields, FIELDS.prefixed) != 0), data_of(item(plan, PLAN.buffer))  # of both plans
    address, owner = utf8_of(carried, text, layout.LONG_TEXT, size_at, not marked, buffer + prefix)
    size, written = load_at(size_at), address == buffer + prefix
    chosen = plan_for(plan, address, size) if written or owner != 0 else plan
    fields = fields_of(chosen if chosen != 0 else plan)
    if (
        address != 0
        and chosen != 0
        and not (marked and written and has_mark(address, size))
        and not is_refused(carried, address, size)
    ):
        spare = I64(0)
        if size == 0:
            prefix = I64(0)
        if written or prefix != 0 or get(fields, FIELDS.stages) != 0:
            if not written:
                copy_bytes(buffer + prefix, address, size)
            if prefix != 0:
                store_byte_at(buffer, 32)
            address, size, spare = buffer, size + prefix, I64(SPARE_BYTES)
        store_at(data_of(item(chosen, PLAN.bounds)) + 8, size)  # the first bound is always 0
        before, after = load_at(around), load_at(around + 8)
        set_field(fields, FIELDS.filled, 0)
        if before > 0:
            put_ids(carried, fields, I64(0), before)
        if size > layout.SHORT_TEXT:
            take_away(carried, plan)
        well = encode_here(carried, held, chosen, address, I64(1), spare)
        if well > 0 and (after == 0 or put_ids(carried, fields, before, before + after)):
            count = get(fields, FIELDS.filled)
        elif well < 0:
            count = I64(-2)
    if owner != 0:
        call_at(api_of(carried, RELEASE), owner)
    if count < 0:
        begin_again(plan)
    return count


@inlined
def refused(carried, count):
    """What a function returns for a number that `encode_one` gives in place of one of ids."""
    return nothing(carried) if count == -1 else I64(0)


# ------------------------------------------------------------------ results


@helper
def new_array(carried, fields, kind, n):
    """A new array of n elements of the type that is item `kind`; 0 after an exception."""
    number = call_at(api_of(carried, INT_NEW), n)
    if number == 0:
        return I64(0)
    set_field(fields, FIELDS.argument, number)
    set_field(fields, FIELDS.argument_type, item(carried, kind))
    arguments = fields + 8 * FIELDS.argument
    made = call_at(api_of(carried, CALL), item(carried, NEW_ARRAY), arguments, I64(2), I64(0))
    call_at(api_of(carried, RELEASE), number)
    return made


@helper
def array_of_ids(carried, fields, count):
    """The array of the first ids in `out`; 0 after an exception."""
    made = new_array(carried, fields, OF_IDS, count)
    if made != 0:
        copy_bytes(data_of(made), data_of(get(fields, FIELDS.out)), 4 * count)
    return made


@address_kernel
def fast_text(carried: Int, text: Int) -> Int:
    """The ids of a text as what AROUND says, a list, an array or their number; None if it needs the general path."""
    held = held_in(carried)
    if held == 0:
        return nothing(carried)
    fields, form = fields_of(item(held, 0)), load_at(data_of(item(carried, AROUND)) + 16)
    set_field(fields, FIELDS.busy, 1)
    count = encode_one(carried, held, text)
    if count < 0:
        made = refused(carried, count)
    elif form == layout.AS_LIST:
        made = new_list(carried, data_of(item(carried, KNOWN)), data_of(get(fields, FIELDS.out)), count)
    elif form == layout.AS_ARRAY:
        made = array_of_ids(carried, fields, count)
    else:
        made = call_at(api_of(carried, INT_NEW), count)
    give_back(carried, held)
    return made


@spliced
def gather_list(carried, plan, fields, texts, n):
    """Copy the texts of a list into the buffer, with bounds, and set `size` to the bytes of those that are not ASCII.

    Whether all of them are for the fast path.
    """
    to, bounds, filled, wide = data_of(item(plan, PLAN.buffer)), data_of(item(plan, PLAN.bounds)), I64(0), I64(0)
    items, prefixed, marked = load_at(texts + LIST_ITEMS), get(fields, FIELDS.prefixed), get(fields, FIELDS.marked)
    for i in range(n):
        text, place = load_at(items + 8 * i), to + filled + I64(prefixed != 0)
        address, _ = utf8_of(carried, text, MANY_BYTES - 1 - filled, fields + 8 * FIELDS.size, False, place)
        size = get(fields, FIELDS.size)
        if address == 0 or is_refused(carried, address, size):
            return False
        if address == place:
            wide += size
            if marked != 0 and has_mark(address, size):
                return False
        else:
            copy_bytes(place, address, size)
        if size > 0 and prefixed != 0:
            store_byte_at(to + filled, 32)
            filled += 1
        filled += size
        store_at(bounds + 8 * (i + 1), filled)
    set_field(fields, FIELDS.size, wide)
    return True


@helper
def new_rows(carried, plan, fields, n):
    """The list of two arrays: the ids of n texts, and where those of each begin and end; 0 after an exception."""
    made, count = call_at(api_of(carried, LIST_NEW), I64(2)), get(fields, FIELDS.filled)
    if made == 0:
        return I64(0)
    ids = array_of_ids(carried, fields, count)
    offsets = I64(0)
    if ids != 0:
        set_item(made, 0, ids)
        offsets = new_array(carried, fields, OF_OFFSETS, n + 1)
    if offsets == 0:
        call_at(api_of(carried, RELEASE), made)
        return I64(0)
    set_item(made, 1, offsets)
    store_at(data_of(offsets), 0)
    copy_bytes(data_of(offsets) + 8, data_of(item(plan, PLAN.text_ends)) + 8, 8 * n)
    return made


@address_kernel
def fast_rows(carried: Int, texts: Int) -> Int:
    """The ids of a list of `str` as two arrays, without ids around them: see `new_rows`; None: use the general path."""
    held = held_in(carried)
    if held == 0 or load_at(texts + TYPE) != api_of(carried, LIST_TYPE):
        return nothing(carried)
    n, plan, fields = call_at(api_of(carried, LIST_SIZE), texts), item(held, 0), fields_of(item(held, 0))
    if n == 0 or n > MOST_TEXTS:
        return nothing(carried)
    set_field(fields, FIELDS.busy, 1)
    well, buffer, chosen = gather_list(carried, plan, fields, texts, n), data_of(item(plan, PLAN.buffer)), plan
    if well and get(fields, FIELDS.size) > 0:
        chosen = plan_for(plan, buffer, load_at(data_of(item(plan, PLAN.bounds)) + 8 * n))
        well = chosen != 0
    done = I64(0)
    if well:
        set_field(fields_of(chosen), FIELDS.filled, 0)
        done = encode_here(carried, held, chosen, buffer, n, I64(SPARE_BYTES))
    if done > 0:
        made = new_rows(carried, chosen, fields_of(chosen), n)
    else:
        begin_again(plan)
        made = refused(carried, done - 1)
    give_back(carried, held)
    return made


@address_kernel
def take_plan(carried: Int, unused: Int) -> Int:
    """Take what is in the slot, or None: Python code may then use it."""
    held = held_in(carried)
    if held == 0:
        return nothing(carried)
    set_item(item(carried, SLOT), 0, nothing(carried))
    return held


@address_kernel
def put_plan(carried: Int, held: Int) -> Int:
    """Put a plan and its owner into the slot if that is free: whether it was."""
    slot = item(carried, SLOT)
    if load_at(load_at(slot + LIST_ITEMS)) != api_of(carried, NONE):
        return new_reference(carried, api_of(carried, NO))
    call_at(api_of(carried, LIST_SET), slot, 0, new_reference(carried, held))
    return new_reference(carried, api_of(carried, YES))


# ---------------------------------------------------------------------------------------------------------------------
# Many texts in one call: where their UTF-8 is, and lists of their ids; see `fastpath.py`.

LONGEST_TEXT = 1 << 40  # bytes of one text
TEXTS, ADDRESSES, LENGTHS, OWNERS, ROOM = range(1, 6)  # of the tuple that `read_texts` takes
REFUSES, READ, NEEDED = range(1, 4)  # of its numbers; the first is how many texts there are


@address_kernel
def read_texts(carried: Int, request: Int) -> Int:
    """Write the address and the length of the UTF-8 of each text of a tuple; READ: how many before another thing.

    The request is a tuple: numbers (an array), the texts, two arrays, a list for `bytes`, and memory for the UTF-8 of
    texts that are not ASCII. NEEDED: how much of it another call needs to go on. REFUSES: bytes and texts with U+2581
    are another thing.
    """
    texts, owners, numbers = item(request, TEXTS), item(request, OWNERS), data_of(item(request, 0))
    n, refuses, i = load_at(numbers), load_at(numbers + 8 * REFUSES) != 0, load_at(numbers + 8 * READ)
    addresses, lengths, room = data_of(item(request, ADDRESSES)), data_of(item(request, LENGTHS)), item(request, ROOM)
    to, left = data_of(room), size_of(room) - SLACK
    store_at(numbers + 8 * NEEDED, 0)
    while i < n:
        text, size_at, owner = item(texts, i), lengths + 8 * i, I64(0)
        if load_at(text + TYPE) == api_of(carried, STR_TYPE) and not is_ascii(carried, text):
            address, size = to, write_utf8(carried, text, to, left)
            if size < 0 and most_of(carried, text) > left:
                store_at(numbers + 8 * NEEDED, most_of(carried, text) + SLACK)
            if size < 0 or (refuses and has_mark(address, size)):
                break
            store_at(size_at, size)
            to += size
            left -= size
        else:
            address, owner = utf8_of(carried, text, I64(LONGEST_TEXT), size_at, not refuses, I64(0))
        if owner != 0:
            failed = call_at(api_of(carried, LIST_APPEND), owners, owner) & 1
            call_at(api_of(carried, RELEASE), owner)
            if failed != 0:
                return I64(0)
        if address == 0:
            break
        store_at(addresses + 8 * i, address)
        i += 1
    store_at(numbers + 8 * READ, i)
    return nothing(carried)


# ------------------------------------------------------------------ lists

IDS, OFFSETS, PART, INTS = range(4)  # of the tuple that `make_lists` takes


@address_kernel
def make_lists(carried: Int, request: Int) -> Int:
    """The lists of the ids of some texts.

    The request is a tuple of arrays: ids, offsets, the first and the last text, and ints as `new_list` takes them.
    None if an offset is outside the ids: another thread wrote into the offsets.
    The garbage collector is off during the call, where it took three quarters of the time; the GIL is held, so no other
    thread is affected. Row: calls_batch, "encode_batch(100,000 lines) to lists".
    """
    ids, offsets, part = data_of(item(request, IDS)), data_of(item(request, OFFSETS)), data_of(item(request, PART))
    first, last, ints = load_at(part), load_at(part + 8), data_of(item(request, INTS))
    count, inside = size_of(item(request, IDS)), True
    collects = call_at(api_of(carried, GC_OFF)) & 1
    lists = call_at(api_of(carried, LIST_NEW), last - first)
    i = first
    while i < last and lists != 0:
        begin, stop = load_at(offsets + 8 * i), load_at(offsets + 8 * (i + 1))
        inside = begin >= 0 and begin <= stop and stop <= count
        made = new_list(carried, ints, ids + 4 * begin, stop - begin) if inside else I64(0)
        if made != 0:
            set_item(lists, i - first, made)
        else:
            call_at(api_of(carried, RELEASE), lists)
            lists = I64(0)
        i += 1
    if collects != 0:
        call_at(api_of(carried, GC_ON))
    return lists if inside else nothing(carried)


@address_kernel
def release_ints(carried: Int, ints: Int) -> Int:
    """Release the ints of an array of addresses, which the caller drops then."""
    data, n = data_of(ints), size_of(ints)
    for k in range(n):
        if load_at(data + 8 * k) != 0:
            call_at(api_of(carried, RELEASE), load_at(data + 8 * k))
            store_at(data + 8 * k, 0)
    return nothing(carried)
