"""The modes of the compiled tier, each in a process of its own: same results, whatever the cache is like."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import subwords

SOURCE = Path(subwords.__file__).parents[1]

# Counts, trains, encodes and decodes, and compares all of it with the textbook.
EVERYTHING = r"""
import sys
import subwords
from subwords.kernels.jit import MODE
from subwords.reference import bpe as reference

special = ["<s>"]
texts = ["low lower lowest, it's 2024's naïve 文字 \n\n\t x<s>y  😀\u3000", "a" * 70 + " " + "ab" * 40 + "'ll'"]
counts = subwords.count(texts, special_tokens=special, threads=2)
counts = counts + counts
ref = reference.count_words(texts * 2, reference.GPT2_PATTERN, special)
assert list(counts) == list(ref.items())
for tie_break in ("ids", "first", "bytes"):
    tok = subwords.train(counts, vocab_size=300, special_tokens=special, tie_break=tie_break)
    vocab, merges = reference.train(ref, 300, special_tokens=special, tie_break=tie_break)
    assert list(tok.model.vocab) == vocab
    assert tok.merges == merges
for text in (*texts, b"low\xff\xc3 it's", "lowest" * 30):
    data = text if isinstance(text, bytes) else text.encode()
    assert tok.encode(text) == reference.encode(text, vocab, merges)
    assert tok.decode_bytes(tok.encode(text)) == data
assert tok.encode_batch(texts, threads=2).to_lists() == [tok.encode(text) for text in texts]
letters = subwords.train(texts, vocab_size=60, byte_level=False, special_tokens=["[?]"], unk_token="[?]")
assert letters.encode("lowüé") == reference.encode(
    "lowüé", [*letters.model.vocab], letters.merges, byte_level=False, unk="[?]"
)
print(MODE, "numba" in sys.modules)
"""

# One kernel, for what a whole compilation would be too slow for.
SPLITTING = r"""
import sys
import subwords
from subwords.kernels.jit import MODE
from subwords.reference.bpe import GPT2_PATTERN, split

text = "low lower lowest, it's 2024's naïve 文字 \n\n\t x  😀\u3000'll" * 9
assert subwords.splitter("gpt2").split(text) == split(text, GPT2_PATTERN)
print(MODE, "numba" in sys.modules)
"""

# Machines on their fast and slow ways: plain, packed and invalid text, ends far behind, little room, cuts.
MACHINES = r"""
import sys
import numpy as np
import subwords
from subwords.kernels.jit import MODE
from subwords.reference.pattern import pre_tokenize
from subwords.split.routes import SplitBuffers

plain = "It's 1,234 o'clock; DON'T\n\n  stop x_y " * 12
dense = "слово и 文字, naïve कि 12 😀\u3000 " * 12
far = "\n" + " " * 40 + "\n" + "a b " * 60 + "\r" + " " * 30
mixed = (plain + dense * 2 + plain).encode() + b"\xff\xc3 x\xe2\x82" * 30
texts = [b"", plain.encode(), b"", dense.encode(), far.encode(), mixed, b"1" * 900, b"1", "文".encode() * 300, b" "]
data, bounds = np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)], dtype=np.int64)
for name in ("gpt2", "llama3", "qwen2", "deepseek-v3", "bert", "gemma"):
    rule = subwords.splitter(name)
    ref = [piece for text in texts for piece, _ in pre_tokenize(text, rule.rule)]
    for room in (1024, 32768):
        got, at = [], 0
        for words_of, base, ends, upto, _ in rule.texts(data, bounds, SplitBuffers(room)):
            places = [base, *(base + ends[: upto[-1]].astype(np.int64)).tolist()]
            got += [words_of[a:b].tobytes().decode("utf-8", "surrogateescape") for a, b in zip(places, places[1:])]
        assert got == ref, (name, room)
    text = np.frombuffer(mixed, np.uint8)
    whole = rule.byte_spans(text).tolist()
    for at in (0, 1, 2, 500, 700, len(mixed)):
        cut = rule.cut(text, at)
        assert 0 <= cut <= at
        right = [[cut + a, cut + b] for a, b in rule.byte_spans(text[cut:]).tolist()]
        assert rule.byte_spans(text[:cut]).tolist() + right == whole, (name, at)
print(MODE, "numba" in sys.modules)
"""

# Normalizers on blocks and on single characters, with marks to sort, parts to compose, and bytes that are no UTF-8.
NORMALIZERS = r"""
import sys
import numpy as np
from itertools import pairwise
from subwords.kernels.jit import MODE
from subwords.resolve import normalizer
from subwords.normalize.stages import Part
from subwords.components.normalizer import NAMED, Prepend, Replace, Strip
from subwords.reference import normalize as reference

def size(char):
    return len(char.encode("utf-8", "surrogateescape"))

hard = "Ça VA\u3000각 \x00ﬁ中 İΣ e\u0323\u0301\u0345 \U0001d15e\u0f73 한\u1161\u11a8 naïve\tx\ufffd  "
plain = "Plain English, long enough for whole blocks. " * 4
texts = ["", hard, plain, "é" * 70 + "中" * 40, "e" + "\u0345\u0301\u0323" * 30, f"{hard}\udcff\udce4{plain}\udcc3"]
datas = [np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8) for text in texts]
bounds = np.cumsum([0, *map(len, datas)], dtype=np.int64)
for rule in (*NAMED, [Strip(), Prepend("▁"), Replace(" ", "▁")], ["nfd", Replace("e", "\u0301" * 90)]):
    known, refs = normalizer(rule), []
    for text, data in zip(texts, datas):
        ref, places = reference.normalize(text, known.steps)
        refs.append(ref.encode("utf-8", "surrogateescape"))
        ends = np.cumsum([0, *map(size, text)]).tolist()
        spans = [[ends[at], ends[at + 1]] if at >= 0 else [0, 0] for at in places]
        got, origin = known.aligned(data)
        assert got.tobytes() == refs[-1], (rule, text)
        # SentencePiece's bytes end where the next ones begin.
        ref_origin = [span for char, span in zip(ref, spans) for _ in range(size(char))]
        assert rule == "sentencepiece" or origin.T.tolist() == ref_origin, (rule, text)
        for at in range(0, len(data) + 1, 9):
            cut = known.cut(data, at)
            sides = (data[:cut], Part(True, False)), (data[cut:], Part(False, True))
            both = [known.apply(side, np.array([0, len(side)]), part)[0].tobytes() for side, part in sides]
            assert not cut or both[0] + both[1] == refs[-1], (rule, text, at)
    out, ends = known.apply(np.concatenate(datas), bounds)
    assert [out[a:b].tobytes() for a, b in pairwise(ends.tolist())] == refs, rule
print(MODE, "numba" in sys.modules)
"""

# Training by every score and tie rule, and the longest match, prefixes that words spell among them.
WORDPIECES = r"""
import sys
import warnings
warnings.filterwarnings("ignore", "fewer tokens than asked for")
import subwords
from subwords.kernels.jit import MODE
from subwords.reference import wordpiece as reference

texts = ["hug hugs hugging, unhug ed! naïve café 文字 ##ug ab#cd abab ababab " * 3, "low lower lowest " + "a" * 120]
counts = subwords.count(texts, splitter="bert", special_tokens=["[UNK]"])
words = {word.decode(): count for word, count in counts}
for prefix in ("##", "", "a"):
    for score in ("likelihood", "course", "count"):
        for tie_break in ("ids", "first", "bytes"):
            options = dict(vocab_size=75, special_tokens=["[UNK]"], score=score, tie_break=tie_break, prefix=prefix)
            tok = subwords.train(counts, algorithm="wordpiece", normalizer=None, **options)
            vocab = reference.train(words, **options)[0]
            assert [token.decode() for token in tok.model.vocab] == vocab, (prefix, score, tie_break)
            for text in (*texts, "hugs uncafé 字 zzz naïvely"):
                ref = reference.encode(text, vocab, prefix=prefix, special_tokens=["[UNK]"])
                assert tok.encode(text) == ref, (prefix, score, text)
print(MODE, "numba" in sys.modules)
"""

WITHOUT_NUMBA = r"""
import builtins
real = builtins.__import__
def refuse(name, *args, **kwargs):
    if name.partition(".")[0] == "numba":
        raise ImportError("numba is blocked here")
    return real(name, *args, **kwargs)
builtins.__import__ = refuse
"""


UNWRITABLE = """
import warnings
warnings.filterwarnings("ignore", "kernel cache cannot be written")
"""


def started(script: str, cache: Path | str, **variables: str) -> subprocess.Popen[str]:
    names = ("SUBWORDS_KERNELS", "NUMBA_DISABLE_JIT", "SUBWORDS_CACHE_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    environment = {**kept, "PYTHONPATH": str(SOURCE), "SUBWORDS_CACHE_DIR": str(cache), **variables}
    command = [sys.executable, "-W", "error", "-X", "utf8", "-c", script]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(process: subprocess.Popen[str]) -> tuple[str, bool]:
    """(mode, whether Numba was imported) of a process that found everything equal."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert err == ""
    mode, numba = out.split()
    return mode, numba == "True"


def run(script: str, cache: Path | str, **variables: str) -> tuple[str, bool]:
    return finished(started(script, cache, **variables))


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that one run of everything filled."""
    cache = tmp_path_factory.mktemp("warm")
    assert run(EVERYTHING, cache) == ("compiled", True)
    return cache


def machine_code(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.o"))


# ------------------------------------------------------------------ compiled


def test_empty_cache_is_filled_and_numba_then_not_imported(warm: Path) -> None:
    names = {path.stem for path in machine_code(warm)}
    assert {"split.gpt2.split_gpt2", "table.count.count_words"} <= names
    assert {"bpe.train.merge_pairs", "bpe.encode.encode_words"} <= names
    assert len({path.parent for path in machine_code(warm)}) == 1, "one folder: one digest"
    assert not [path for path in warm.rglob("*") if path.is_file() and path.suffix != ".o"], "nothing half written"
    assert run(EVERYTHING, warm) == ("compiled", False)


def test_warm_cache_needs_no_numba(warm: Path) -> None:
    assert run(WITHOUT_NUMBA + EVERYTHING, warm) == ("compiled", False)


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_cache_is_the_users_alone(warm: Path) -> None:
    folder = machine_code(warm)[0].parent
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in machine_code(warm))


def test_cache_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a file where a folder is wanted")
    assert run(UNWRITABLE + SPLITTING, file / "cache") == ("compiled", True)
    assert run(UNWRITABLE + SPLITTING, file) == ("compiled", True)
    assert file.read_text() == "a file where a folder is wanted"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes where others may not")
def test_read_only_cache_is_no_reason_to_fail(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert run(UNWRITABLE + SPLITTING, tmp_path / "cache") == ("compiled", True)


DAMAGE = {
    "cut": lambda raw: raw[: len(raw) // 2],
    "one byte": lambda raw: raw[:-100] + bytes([raw[-100] ^ 1]) + raw[-99:],
    "nothing but a line": lambda raw: b"\n" * 1000,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_file_is_compiled_again(warm: Path, tmp_path: Path, damage: str) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(warm, cache)
    (file,) = [path for path in machine_code(cache) if path.stem == "split.gpt2.split_gpt2_many"]
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    assert run(SPLITTING, cache) == ("compiled", True)
    assert run(SPLITTING, cache) == ("compiled", False)


def test_two_processes_fill_one_cache(tmp_path: Path) -> None:
    processes = [started(SPLITTING, tmp_path) for _ in range(2)]
    assert [finished(process)[0] for process in processes] == ["compiled", "compiled"]
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".o"]
    assert run(SPLITTING, tmp_path) == ("compiled", False)


# ------------------------------------------------------------------ the other modes


# The text ends before the window does.
TOO_FAR = r"""
import numpy as np
from subwords.kernels.split.gpt2 import split_gpt2
from subwords.unicode.tables import gpt2_classes

text = np.frombuffer(b"a " * 100, np.uint8)
classes, tail, ends = gpt2_classes(), np.empty(64, np.uint8), np.empty(200, np.uint32)
try:
    split_gpt2(text, 0, 300, classes, tail, ends)
    raise AssertionError("nobody noticed")
except IndexError:
    pass
"""


def test_checked_mode_checks(tmp_path: Path) -> None:
    assert run(TOO_FAR + SPLITTING, tmp_path, SUBWORDS_KERNELS="checked") == ("checked", True)
    assert not list(tmp_path.iterdir()), "checked code is not kept"


@pytest.mark.sweep
def test_checked(tmp_path: Path) -> None:
    assert run(EVERYTHING, tmp_path, SUBWORDS_KERNELS="checked") == ("checked", True)


def test_machines_compiled_and_read_from_the_cache(warm: Path) -> None:
    assert run(MACHINES, warm)[0] == "compiled"
    assert run(WITHOUT_NUMBA + MACHINES, warm) == ("compiled", False)


@pytest.mark.sweep
def test_machines_checked(tmp_path: Path) -> None:
    assert run(MACHINES, tmp_path, SUBWORDS_KERNELS="checked") == ("checked", True)


def test_machines_interpreted(tmp_path: Path) -> None:
    assert run(WITHOUT_NUMBA + GUARDED + MACHINES, tmp_path, SUBWORDS_KERNELS="interpreted") == ("interpreted", False)


@pytest.mark.parametrize("script", [NORMALIZERS, WORDPIECES], ids=["normalizers", "wordpieces"])
def test_families_interpreted(tmp_path: Path, script: str) -> None:
    assert run(WITHOUT_NUMBA + GUARDED + script, tmp_path, SUBWORDS_KERNELS="interpreted") == ("interpreted", False)


@pytest.mark.parametrize(("name", "value"), [("NUMBA_DISABLE_JIT", "1"), ("SUBWORDS_KERNELS", "interpreted")])
def test_interpreted(tmp_path: Path, name: str, value: str) -> None:
    assert run(WITHOUT_NUMBA + EVERYTHING, tmp_path, **{name: value}) == ("interpreted", False)
    assert not list(tmp_path.iterdir())


# Numba's checks let an index of -1 mean the last element. This pointer does not, nor does it reach back where it began.
GUARDED = r"""
import subwords.kernels.jit as jit

class Pointer:
    def __init__(self, array, start=0):
        self.array, self.start = array, start
    def place(self, index):
        assert 0 <= index < len(self.array) - self.start, (index, self.start, len(self.array))
        return self.start + index
    def __getitem__(self, index):
        return self.array[self.place(index)]
    def __setitem__(self, index, value):
        self.array[self.place(index)] = value

jit.pointer = Pointer
jit.advance = lambda pointer, k: Pointer(pointer.array, pointer.start + k)
"""
NOTHING_LEFT = r"""
from subwords.encode.encoder import Encoder
from subwords.bpe.model import BPE
from subwords.components.vocab import Vocab

import numpy as np

dropping = Encoder(BPE(Vocab([b"a"]), np.zeros((0, 3), np.int64), unknown="drop"), subwords.splitter("gpt2"))
assert dropping.encode(b"x aa y " + b"z" * 99).tolist() == [0, 0]
"""


def test_no_kernel_indexes_before_its_arrays(tmp_path: Path) -> None:
    script = GUARDED + EVERYTHING + NOTHING_LEFT
    assert run(script, tmp_path, SUBWORDS_KERNELS="interpreted") == ("interpreted", False)


def test_unknown_mode_is_an_error_that_names_the_known_ones(tmp_path: Path) -> None:
    process = started(SPLITTING, tmp_path, SUBWORDS_KERNELS="fast")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "expected SUBWORDS_KERNELS to be one of compiled, checked, interpreted, not 'fast'" in err
