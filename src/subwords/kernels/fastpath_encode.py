"""The fast path of encoding: texts to ids by the addresses of kernels, for one text and for many; see `fastpath.py`.

A call plan says which kernels run and owns what they work on. Many texts are copied into its buffer, one after
another, as the kernels of normalizers and splitters expect them; the buffer stays in a core's cache. One text is many
with n = 1, read where it is: a copy takes 30 ns, since its bytes are read again before they left the store buffer.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.fastpath import (
    API,
    DATA,
    INT_NEW,
    LIST_GET,
    LIST_SET,
    NO,
    NONE,
    RELEASE,
    SIZES,
    TAKE,
    YES,
    address_kernel,
    api_of,
    call_at,
    copy_bytes,
    data_of,
    has_mark,
    id_at,
    item,
    load_at,
    new_list,
    new_reference,
    nothing,
    store_at,
    store_byte_at,
    utf8_of,
)
from subwords.kernels.jit import I64, Int, helper, inlined, spliced
from subwords.kernels.plan_layout import (
    BOUNDS_ARRAY,
    BUFFER,
    ENDS_ARRAY,
    FIELDS,
    FIRST_STAGE,
    HEADER,
    MOST_TEXTS,
    PLAN,
    STAGE,
    STAGE_ROW,
    TEXT_ARRAY,
)

__all__ = ["count_text", "encode_text", "encode_texts", "put_plan", "take_plan"]

SLOT = API + 1  # of what a built-in function carries: a list whose item is (call plan, its owner) between calls

# ------------------------------------------------------------------ fields


@inlined
def get(fields, k):
    """A field of a plan."""
    return load_at(fields + 8 * k)


@inlined
def put(fields, k, value):
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
def gather(plan, fields):
    """Copy the next texts into the buffer, with their bounds; how many."""
    to, bounds, i, filled = data_of(item(plan, PLAN.buffer)), data_of(item(plan, PLAN.bounds)), I64(0), I64(0)
    first = get(fields, FIELDS.next)
    addresses, lengths = get(fields, FIELDS.addresses) + 8 * first, get(fields, FIELDS.lengths) + 8 * first
    texts = min(get(fields, FIELDS.last) - first, MOST_TEXTS)
    store_at(bounds, 0)
    while i < texts:
        size = load_at(lengths + 8 * i)
        if filled + size + 1 > BUFFER:
            break
        if size > 0 and get(fields, FIELDS.prefixed) != 0:
            store_byte_at(to + filled, 32)
            filled += 1
        copy_bytes(to + filled, load_at(addresses + 8 * i), size)
        filled += size
        i += 1
        store_at(bounds + 8 * i, filled)
    put(fields, FIELDS.upto, first + i)
    put(fields, FIELDS.size, filled)
    return i


@spliced
def normalize(plan, fields, address, texts):
    """Normalize texts by all stages: (address, that of their bounds, whether all went well)."""
    bounds = data_of(item(plan, PLAN.bounds))
    for s in range(get(fields, FIELDS.stages)):
        row, stage = FIRST_STAGE + STAGE_ROW * s, item(item(plan, PLAN.stages), s)
        array = point_to(fields, TEXT_ARRAY, address, load_at(bounds + 8 * texts))
        ends = point_to(fields, BOUNDS_ARRAY, bounds, texts + 1)
        out, progress, tables = item(stage, STAGE.out), item(stage, STAGE.progress), item(stage, STAGE.tables)
        numbers = data_of(progress)
        for k in range(layout.PROGRESS.width):
            store_at(numbers + 8 * k, get(fields, row + 2) if k == 3 else 0)
        if get(fields, row + 1) != 0:
            status = call_at(get(fields, row), array, ends, tables, item(stage, STAGE.scratch), out, progress)
        else:
            status = call_at(get(fields, row), array, ends, tables, out, progress)
        address, bounds = data_of(item(out, 0)), data_of(item(out, 2))
        if status != layout.DONE or load_at(numbers + 8 * layout.PROGRESS.out) > BUFFER:
            return address, bounds, False
    return address, bounds, True


@spliced
def split(plan, fields, address, bounds, texts):
    """Split texts, and drop words: whether all went well; TEXT_ARRAY is then the text that the words are of."""
    array = point_to(fields, TEXT_ARRAY, address, load_at(bounds + 8 * texts))
    ends, zero = point_to(fields, BOUNDS_ARRAY, bounds, texts + 1), I64(0)
    words, marks, tables = item(plan, PLAN.word_ends), item(plan, PLAN.text_ends), item(plan, PLAN.tables)
    if get(fields, FIELDS.two_tables) != 0:
        done = call_at(get(fields, FIELDS.split), array, ends, zero, tables, item(plan, PLAN.tail), words, marks)
    else:
        done = call_at(get(fields, FIELDS.split), array, ends, zero, tables, words, marks)
    if done != texts:
        return False
    number = point_to(fields, ENDS_ARRAY, data_of(marks) + 8, texts)
    if get(fields, FIELDS.keep) != 0:
        kept, text = item(plan, PLAN.kept_ends), item(plan, PLAN.kept_text)
        count = call_at(get(fields, FIELDS.keep), array, zero, words, number, item(plan, PLAN.drops), text, kept)
        point_to(fields, TEXT_ARRAY, data_of(text), id_at(data_of(kept) + 4 * (count - 1)) if count > 0 else zero)
    put(fields, FIELDS.words, load_at(data_of(marks) + 8 * texts))
    return True


@spliced
def encode_at(plan, fields, address, texts):
    """Append the ids of the texts at an address, with the bounds of the plan: whether all went well."""
    address, bounds, well = normalize(plan, fields, address, texts)
    if not well or not split(plan, fields, address, bounds, texts):
        return False
    ends, zero = item(plan, PLAN.kept_ends if get(fields, FIELDS.keep) != 0 else PLAN.word_ends), I64(0)
    array, marks, words = fields + 8 * TEXT_ARRAY, fields + 8 * ENDS_ARRAY, get(fields, FIELDS.words)
    out, count, workspace = get(fields, FIELDS.out), get(fields, FIELDS.filled), get(fields, FIELDS.workspace)
    count = call_at(get(fields, FIELDS.encode), array, zero, ends, words, marks, texts, out, count, workspace)
    if count < 0:
        put(fields, FIELDS.status, -count)
        return False
    put(fields, FIELDS.filled, count)
    return True


@address_kernel
def encode_texts(plan: Int) -> Int:
    """Append the ids of the next texts to the `filled` ones in `out`: DONE, or -1.

    -1: the texts `next` to `upto` - 1 are in the buffer, but not encoded. If `status` is not 0, they are split, and
    encoding has begun; see `table.encode.encode_all`. If `upto` is `next`, that text is too long for the buffer.
    """
    fields, marks = data_of(item(plan, PLAN.fields)), data_of(item(plan, PLAN.text_ends)) + 8
    buffer = data_of(item(plan, PLAN.buffer))
    while get(fields, FIELDS.next) < get(fields, FIELDS.last):
        put(fields, FIELDS.status, 0)
        texts = gather(plan, fields)
        if texts == 0 or not encode_at(plan, fields, buffer, texts):
            return I64(-1)
        copy_bytes(get(fields, FIELDS.offsets), marks, 8 * texts)
        put(fields, FIELDS.offsets, get(fields, FIELDS.offsets) + 8 * texts)
        put(fields, FIELDS.next, get(fields, FIELDS.next) + texts)
    return I64(0)


# ------------------------------------------------------------------ one text


@inlined
def taken(carried, left):
    """Take what is in the slot, and put None or False there: NONE or NO; 0 if one of these is in it already."""
    slot = item(carried, SLOT)
    held = call_at(api_of(carried, LIST_GET), slot, 0)
    if held == api_of(carried, NONE) or held == api_of(carried, NO):
        return I64(0)
    call_at(api_of(carried, TAKE), held)
    call_at(api_of(carried, LIST_SET), slot, 0, new_reference(carried, api_of(carried, left)))
    return held


@spliced
def encode_one(carried, plan, text):
    """Write the ids of a `str` to the plan's `out`: their number, or -1 if it needs the general path."""
    fields, count = data_of(item(plan, PLAN.fields)), I64(-1)
    address, owner = utf8_of(carried, text, layout.SHORT_TEXT, fields + 8 * FIELDS.size)
    size, marked = get(fields, FIELDS.size), get(fields, FIELDS.marked) != 0 and owner != 0
    if address != 0 and not (marked and has_mark(address, size)):
        if size > 0 and get(fields, FIELDS.prefixed) != 0:
            to = data_of(item(plan, PLAN.buffer))
            store_byte_at(to, 32)
            copy_bytes(to + 1, address, size)
            address, size = to, size + 1
        store_at(data_of(item(plan, PLAN.bounds)) + 8, size)  # the first bound is always 0
        put(fields, FIELDS.filled, 0)
        if encode_at(plan, fields, address, I64(1)):
            count = get(fields, FIELDS.filled)
    if owner != 0:
        call_at(api_of(carried, RELEASE), owner)
    if count < 0:  # encoding may have stopped halfway: the counters become those of a new text
        counters = data_of(item(plan, PLAN.counters))
        store_at(counters + 8 * layout.COUNTER.next_text, 0)
        store_at(counters + 8 * layout.COUNTER.next_word, 0)
        store_at(counters + 8 * layout.COUNTER.begin, 1)
    return count


@address_kernel
def encode_text(carried: Int, text: Int) -> Int:
    """The list of a text's ids; None if it needs the general path."""
    held = taken(carried, NO)
    if held == 0:
        return nothing(carried)
    plan = item(held, 0)
    count = encode_one(carried, plan, text)
    if count < 0:
        made = nothing(carried)
    else:
        out = get(data_of(item(plan, PLAN.fields)), FIELDS.out)
        made = new_list(carried, data_of(out), count)
    call_at(api_of(carried, LIST_SET), item(carried, SLOT), 0, held)  # nothing else can have come into it
    return made


@address_kernel
def count_text(carried: Int, text: Int) -> Int:
    """The number of a text's ids; None if it needs the general path."""
    held = taken(carried, NO)
    if held == 0:
        return nothing(carried)
    count = encode_one(carried, item(held, 0), text)
    made = call_at(api_of(carried, INT_NEW), count) if count >= 0 else nothing(carried)
    call_at(api_of(carried, LIST_SET), item(carried, SLOT), 0, held)
    return made


@address_kernel
def take_plan(carried: Int, unused: Int) -> Int:
    """Take what is in the slot, or None: Python code may then use it."""
    held = taken(carried, NONE)
    return held if held != 0 else nothing(carried)


@address_kernel
def put_plan(carried: Int, held: Int) -> Int:
    """Put a plan and its owner into the slot if that is free: whether it was."""
    slot = item(carried, SLOT)
    if call_at(api_of(carried, LIST_GET), slot, 0) != api_of(carried, NONE):
        return new_reference(carried, api_of(carried, NO))
    call_at(api_of(carried, LIST_SET), slot, 0, new_reference(carried, held))
    return new_reference(carried, api_of(carried, YES))
