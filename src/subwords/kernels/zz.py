from __future__ import annotations
from subwords.kernels.jit import I64,U64,U8s,U16s,U32s,U64s,Parts,Int,helper,kernel,pointer,advance
from subwords.kernels.split_machine import run_four, run_one, opened, split_stream, plain_length, split_plain, ROOM
from subwords.kernels.split_pack import pack, unpack
@kernel
def z_four(text: U8s, n: Int, reps: Int, frame: Parts[U8s, U16s, U32s, U64s, U8s, U8s, U64s, U32s], ends: U32s) -> Int:
    m=opened(frame); p=pointer(text); t=I64(0)
    for r in range(reps):
        g,a,b,c,d=run_four(m,p,n//4,n//2,n//4*3,n//128)
        t+=a+b
    return t
@kernel
def z_stream(text: U8s, n: Int, reps: Int, frame: Parts[U8s, U16s, U32s, U64s, U8s, U8s, U64s, U32s], ends: U32s) -> Int:
    m=opened(frame); p=pointer(text); t=I64(0)
    for r in range(reps):
        w=split_stream(m,p,n,False)
        t+=m.borders[0]
    return t
@kernel
def z_plain(text: U8s, n: Int, reps: Int, frame: Parts[U8s, U16s, U32s, U64s, U8s, U8s, U64s, U32s], ends: U32s) -> Int:
    m=opened(frame); p=pointer(text); t=I64(0)
    for r in range(reps):
        c,w=split_plain(m,p,n,False,0,pointer(ends),0)
        t+=c
    return t
@kernel
def z_pack(text: U8s, n: Int, reps: Int, frame: Parts[U8s, U16s, U32s, U64s, U8s, U8s, U64s, U32s], ends: U32s) -> Int:
    m=opened(frame); p=pointer(text); t=I64(0)
    for r in range(reps):
        c,b,w=pack(m.packed,p,0,len(text),n)
        t+=c
    return t
@kernel
def z_unpack(text: U8s, n: Int, reps: Int, frame: Parts[U8s, U16s, U32s, U64s, U8s, U8s, U64s, U32s], ends: U32s) -> Int:
    m=opened(frame); p=pointer(text); t=I64(0)
    c,b,w=pack(m.packed,p,0,len(text),n)
    split_stream(m,m.packed.stream,c,False)
    for r in range(reps):
        t+=unpack(m.packed,m.borders,b,0,pointer(ends),0)
    return t
