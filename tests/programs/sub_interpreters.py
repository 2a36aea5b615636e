"""Work in a sub-interpreter, after the main one has worked if an argument says so; prints what came of it.

Arguments: "main" or "first", "legacy" or "isolated", the file of a tokenizer.
"""

from __future__ import annotations

import sys

import subwords

try:
    import _interpreters as interpreters  # since Python 3.13
except ImportError:
    import _xxsubinterpreters as interpreters

WORK = """
import warnings
warnings.simplefilter("ignore")  # NumPy warns of sub-interpreters
lines = ["low lower", "lowest"]
try:
    import subwords
    tok = subwords.load({path!r})
    ids = [tok.encode(line) for line in lines for _ in range(200)][::200]
    assert [tok.count_tokens(line) for line in lines] == [*map(len, ids)]
    assert [*map(tok.decode, ids)] == lines == tok.decode_batch(ids)
    assert tok.encode_batch(lines).to_lists() == ids and tok.encode_to_numpy(lines[0]).tolist() == ids[0]
    print("right", ids, flush=True)
except (ImportError, subwords.SubwordsError) as error:
    print("refused", type(error).__name__, error, flush=True)
"""


def created(kind: str) -> object:
    try:
        return interpreters.create(kind)
    except TypeError:  # before Python 3.13
        return interpreters.create(isolated=kind == "isolated")


when, kind, path = sys.argv[1:]
if when == "main":
    tok = subwords.load(path)
    print("right", [tok.encode("low lower"), tok.encode("lowest")], flush=True)
for _ in range(2):
    inner = created(kind)
    failed = getattr(interpreters, "exec", interpreters.run_string)(inner, WORK.format(path=path))
    assert not failed, failed
    interpreters.destroy(inner)
if when == "main":
    assert tok.decode(tok.encode("low lower")) == "low lower"
    print("right", [tok.encode("low lower"), tok.encode("lowest")], flush=True)
