"""The modes of the compiled tier, each in a process of its own: same results, whatever the cache is like."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import subwords

SOURCE = Path(subwords.__file__).parents[1]

PROGRAMS = Path(__file__).parent / "programs"
WITHOUT_NUMBA, EVERYTHING, ONE_KERNEL, MACHINES = "without_numba", "everything", "one_kernel", "machines"
GUARDED = "guarded"  # what comes before a program changes what it runs on
KERNEL = "first_invalid"  # of ONE_KERNEL


def started(programs: Sequence[str], cache: Path | str, **variables: str) -> subprocess.Popen[str]:
    names = ("SUBWORDS_KERNELS", "NUMBA_DISABLE_JIT", "SUBWORDS_CACHE_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    if variables.get("SUBWORDS_KERNELS") == "checked":
        kept["NUMBA_OPT"] = "0"  # few inputs run, and what takes the time is to compile
    environment = {**kept, "PYTHONPATH": str(SOURCE), "SUBWORDS_CACHE_DIR": str(cache), **variables}
    command = [sys.executable, "-W", "error", "-X", "utf8", str(PROGRAMS / "run.py"), *programs]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(process: subprocess.Popen[str]) -> tuple[str, bool]:
    """(mode, whether Numba was imported) of a process that found everything equal."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert err in ("", "subwords: compiling the kernels of this call, kept for later ...\n")
    mode, numba = out.split()
    return mode, numba == "True"


def run(programs: Sequence[str], cache: Path | str, **variables: str) -> tuple[str, bool]:
    return finished(started(programs, cache, **variables))


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with all kernels of EVERYTHING and MACHINES: a copy of the one that all tests use, compiled only once."""
    from inside import kernels_machine_code
    from inside import kernels_stored as stored

    root = stored.cache_root()
    assert root
    own = Path(root)
    assert run([EVERYTHING, MACHINES], own)[0] == "compiled"
    cache = tmp_path_factory.mktemp("warm")
    shutil.copytree(own / kernels_machine_code._digest(), cache / kernels_machine_code._digest())
    return cache


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("compiled") / "cache"
    assert run([ONE_KERNEL], cache) == ("compiled", True)
    return cache


@pytest.fixture
def one(compiled: Path, tmp_path: Path) -> Path:
    """A cache of its own with the kernel of ONE_KERNEL."""
    return Path(shutil.copytree(compiled, tmp_path / "one"))


def machine_code(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.o"))


# ------------------------------------------------------------------ compiled


def test_empty_cache_is_filled_and_numba_then_not_imported(one: Path) -> None:
    (file,) = [path for path in one.rglob("*") if path.is_file()]  # nothing half written
    assert file.name == f"{KERNEL}.o"
    assert run([ONE_KERNEL], one) == ("compiled", False)


def test_kernel_that_is_missing_is_compiled_and_no_other(warm: Path, tmp_path: Path) -> None:
    names = {path.stem for path in machine_code(warm)}
    assert {"split_gpt2", "count_words", "merge_pairs", "encode_bpe"} <= names
    shutil.copytree(warm, tmp_path / "cache")
    files = machine_code(tmp_path / "cache")
    contents = {file: (file.stat().st_ino, file.read_bytes()) for file in files}
    (missing,) = [file for file in files if file.stem == "join_ids"]
    missing.unlink()
    assert run([EVERYTHING], tmp_path / "cache") == ("compiled", True)
    assert missing.read_bytes()
    del contents[missing]
    assert {file: (file.stat().st_ino, file.read_bytes()) for file in contents} == contents
    assert machine_code(tmp_path / "cache") == files


def test_warm_cache_needs_no_numba(warm: Path) -> None:
    assert run([WITHOUT_NUMBA, EVERYTHING], warm) == ("compiled", False)


@pytest.mark.sweep
def test_two_processes_of_sixteen_threads_fill_one_cache(tmp_path: Path) -> None:
    tok, words = subwords.load("demo"), ["low", " lower", "é", " 文字", "\n\n", "  2024", "'s", "<|x|>", "q" * 40]
    rng = random.Random(3)
    texts = ["", *("".join(rng.choices(words, k=k)) for k in (1, 2, 5, 20, 200, 5000) for _ in range(5))]
    (tmp_path / "expected.json").write_text(json.dumps({text: tok.encode(text) for text in texts}), "utf-8")
    program, cache = ["sixteen_threads"], tmp_path / "cache"
    variables = {"SUBWORDS_EXPECTED": str(tmp_path / "expected.json")}
    processes = [started(program, cache, **variables) for _ in range(2)]
    assert [finished(process)[0] for process in processes] == ["compiled", "compiled"]
    assert {path.suffix for path in cache.rglob("*") if path.is_file()} == {".o"}
    assert run(program, cache, **variables) == ("compiled", False)


# ------------------------------------------------------------------ the other modes


def test_checked_mode_checks(tmp_path: Path) -> None:
    assert run(["too_far", ONE_KERNEL], tmp_path, SUBWORDS_KERNELS="checked") == ("checked", True)
    assert not list(tmp_path.iterdir()), "checked code is not kept"


@pytest.mark.sweep
def test_checked(tmp_path: Path) -> None:
    assert run([EVERYTHING], tmp_path, SUBWORDS_KERNELS="checked") == ("checked", True)


def test_machines_read_from_the_cache(warm: Path) -> None:
    assert run([WITHOUT_NUMBA, MACHINES], warm) == ("compiled", False)


@pytest.mark.sweep
def test_machines_checked(tmp_path: Path) -> None:
    assert run([MACHINES], tmp_path, SUBWORDS_KERNELS="checked") == ("checked", True)


PARTS = 6  # a program takes one rule in six: Python runs kernels a thousand times slower


@pytest.mark.rotating(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("program", [MACHINES, "normalizers", "wordpieces"])
def test_families_interpreted(tmp_path: Path, program: str, part: int) -> None:
    variables = {"SUBWORDS_KERNELS": "interpreted", "SUBWORDS_PART": f"{part} {PARTS}"}
    assert run([WITHOUT_NUMBA, GUARDED, program], tmp_path, **variables) == ("interpreted", False)


@pytest.mark.parametrize(("name", "value"), [("NUMBA_DISABLE_JIT", "1"), ("SUBWORDS_KERNELS", "interpreted")])
def test_interpreted(tmp_path: Path, name: str, value: str) -> None:
    assert run([WITHOUT_NUMBA, EVERYTHING], tmp_path, **{name: value}) == ("interpreted", False)
    assert not list(tmp_path.iterdir())


def test_no_kernel_indexes_before_its_arrays(tmp_path: Path) -> None:
    programs = [GUARDED, EVERYTHING, "nothing_left", "safe_cuts"]
    assert run(programs, tmp_path, SUBWORDS_KERNELS="interpreted") == ("interpreted", False)


def test_unknown_mode_is_an_error_that_names_the_known_ones(tmp_path: Path) -> None:
    process = started([ONE_KERNEL], tmp_path, SUBWORDS_KERNELS="fast")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    known = "compiled, checked, interpreted, jit, v4-vbmi2, v4, v3, v2"
    assert f"expected SUBWORDS_KERNELS to be one of {known}, not 'fast'" in err
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "SUBWORDS_KERNELS": "fast"}
    command = [sys.executable, "-m", "subwords", "warmup"]
    spoken = subprocess.run(command, env=environment, capture_output=True, text=True).stderr
    assert spoken.startswith("subwords: error: expected SUBWORDS_KERNELS to be one of ") and "\n" not in spoken[:-1]


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("x86_64", "pip install .*; SUBWORDS_KERNELS=interpreted"),
        ("riscv64", "Numba has no package for riscv64; SUBWORDS"),
    ],
)
def test_without_numba_an_error_says_what_works_on_this_processor(tmp_path: Path, kind: str, advice: str) -> None:
    program = (
        "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None\n"
        "import subwords.kernels.machine_code as code\n"
        f"code.processor_kind = lambda: {kind!r}\n"
        "import subwords; subwords.load('demo').encode('x')"
    )
    kept = {name: value for name, value in os.environ.items() if name != "SUBWORDS_KERNELS"}
    environment = {**kept, "PYTHONPATH": str(SOURCE), "SUBWORDS_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert re.search(f"not installed, which compiles kernels: .*{advice}", done.stderr), done.stderr
