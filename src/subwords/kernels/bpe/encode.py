"""BPE on the table of words: `table/encode.py` with the segmentation of `segment.py`."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.bpe.merge import Merges
from subwords.kernels.bpe.pairs import Known
from subwords.kernels.bpe.segment import Model, segment
from subwords.kernels.jit import U64, I64s, Int, U8s, U32s, advance, inlined, kernel, leading_zeros, pointer
from subwords.kernels.layout import BPEWorkspace
from subwords.kernels.table.emit import opened
from subwords.kernels.table.encode import Family, encode_all, never_fleeting, settled


@inlined
def opened_model(model, scratch):
    """The pointers of a model and its scratch."""
    keys, symbols, chains = pointer(scratch.keys), pointer(scratch.symbols), pointer(scratch.chains)
    room, ranks = len(scratch.symbols) // layout.SYMBOL_SCRATCH, len(scratch.chains) // layout.RANK_SCRATCH
    settings = pointer(model.settings)
    known = Known(
        pilots=pointer(model.pilots),
        shift=U64(leading_zeros(U64(len(model.pilots) - 1))),
        entries=pointer(model.entries),
        mask=U64(len(model.entries) - 1),
        seed=U64(settings[layout.MODEL.seed]),
        bits=U64(settings[layout.BPE.known_bits]),
        halves=pointer(model.halves),
    )
    merges = Merges(
        pairs=pointer(model.pairs),
        mask=U64(len(model.pairs) - 1),
        seed=U64(settings[layout.MODEL.seed]),
        sieve=pointer(model.sieve),
        sieve_mask=U64(len(model.sieve) - 1),
        known=known,
        first_result=settings[layout.BPE.first_result],
        results=pointer(model.results),
        classes=pointer(model.classes),
        tied=settings[layout.BPE.tied],
        codes=pointer(scratch.codes),
        symbols=symbols,
        ranks=advance(keys, layout.KEYS),
        links=advance(symbols, room),
        entries=advance(symbols, 3 * room),
        order=advance(symbols, 9 * room),
        chains=chains,
        heap=advance(chains, 3 * ranks),
        waiting=advance(keys, layout.KEYS + room + layout.MERGE_PADDING),
    )
    return Model(
        alphabet=pointer(model.alphabet),
        first_ranks=pointer(model.first_ranks),
        spans=pointer(model.spans),
        fallback=pointer(model.fallback),
        parted=pointer(model.parted),
        forms=pointer(model.forms),
        by_character=len(model.alphabet) > 256,
        settings=settings,
        scratch=room,
        merges=merges,
    )


@kernel
def encode_bpe(
    text: U8s,
    start: Int,
    ends: U32s,
    words: Int,
    text_ends: I64s,
    texts: Int,
    out: U32s,
    filled: Int,
    workspace: BPEWorkspace,
) -> Int:
    """Append the ids of words to the `filled` ids in `out`; see `table.encode.encode_all`.

    Same ids as `reference.bpe.encode_word`, word by word.
    """
    model = opened_model(workspace.model, workspace.scratch)
    table = opened(workspace.table, workspace.counters)
    p, e, t, o, keys = pointer(text), pointer(ends), pointer(text_ends), pointer(out), pointer(workspace.scratch.keys)
    family = Family(segment, settled, never_fleeting)
    return encode_all(family, model, table, p, len(text), start, e, words, t, texts, keys, o, len(out), filled)
