"""Print a digest of what the kernels make of a text: ids, spans, texts and vocabularies of all families.

    python tools/results.py TEXT

Two processes print the same line if and only if their kernels agree, whatever compiled them. The second line says which
code ran, and how long the first ids took.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import subwords


def main() -> None:
    path, begin = sys.argv[1], time.perf_counter()
    text = Path(path).read_text("utf-8")
    subwords.splitter("gpt2").split(text[:100])
    first = time.perf_counter() - begin
    state = hashlib.sha256()
    for algorithm in ("bpe", "wordpiece", "unigram", "wordlevel"):
        tok = subwords.train(path, algorithm=algorithm, vocab_size=2_000, progress=False)
        state.update(repr(sorted(tok.get_vocab().items())).encode())
        odd = text[:100_000] + "Ärger Ünïcode 日本語 中文字 한국어 ไทย हिन्दी ру́сский 🙂\u200d e\u0301 \ufdfa\n" * 500
        for part in (odd, odd[:300], odd[-80:]):
            ids = tok.encode_to_numpy(part)
            encoding = tok(part)
            state.update(ids.tobytes() + encoding.spans.tobytes() + repr(encoding.tokens).encode())
            state.update(tok.decode(ids).encode("utf-8", "surrogatepass"))
        state.update(repr(tok.encode_batch(text.splitlines()[:2_000]).to_lists()).encode())
        state.update(repr([tok.encode(line) for line in text.splitlines()[:200]]).encode())
    for rule in ("cl100k", "o200k", "bert", "deepseek-v3"):
        state.update(subwords.splitter(rule).byte_spans(odd.encode()).tobytes())
    print(state.hexdigest())
    loaded = [name for name in ("numba", "llvmlite") if name in sys.modules]
    print(f"first words after {first:.3f} s; imported: {', '.join(loaded) or 'neither Numba nor llvmlite'}")


if __name__ == "__main__":
    main()
