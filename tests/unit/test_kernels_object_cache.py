"""The cache of machine code: a file is used only if it is the kernel it is named for, and no result depends on it."""

from __future__ import annotations

import os
import re
import shutil
import threading
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inside import MODE, Int
from inside import kernels_entry as entry
from inside import kernels_machine_code as machine_code
from inside import kernels_modes as modes
from subwords import SubwordsError, SubwordsWarning

pytestmark = pytest.mark.skipif(MODE != "compiled", reason="only compiled kernels are kept")


def plus(x: Int, y: Int) -> Int:
    return x + y


def minus(x: Int, y: Int) -> Int:
    return x - y


def both() -> tuple[int, int]:
    """What kernels that are loaded anew make of 7 and 2."""
    return entry.Kernel("plus", plus)(7, 2), entry.Kernel("minus", minus)(7, 2)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUBWORDS_CACHE_DIR", str(folder))
        assert both() == (9, 5)
    return folder


@pytest.fixture
def cache(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of files, one a kernel; afterwards all of it can be read again."""
    shutil.copytree(filled, tmp_path / "cache")
    monkeypatch.setenv("SUBWORDS_CACHE_DIR", str(tmp_path / "cache"))
    (folder,) = (tmp_path / "cache").iterdir()
    yield folder
    assert both() == (9, 5)
    assert compiled(monkeypatch) == 0, "replaced by what is right"
    assert sorted(path.name for path in folder.iterdir()) == [path.name for path in files(folder)], "nothing is left"


def files(folder: Path) -> list[Path]:
    return [folder / f"{name}.o" for name in ("minus", "plus")]


def compiled(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many of the two kernels are compiled, and not read."""
    from inside import kernels_compile as compiler

    count, real = [], compiler.machine_code
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "machine_code", lambda kernel: count.append(kernel) or real(kernel))
        assert both() == (9, 5)
    return len(count)


def exchange(first: Path, second: Path) -> None:
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def loop(first: Path, second: Path) -> None:
    for path in (first, second):
        path.unlink()
        path.symlink_to(path)


def pipe(first: Path, second: Path) -> None:
    first.unlink()
    os.mkfifo(first)


DAMAGE: dict[str, tuple[Callable[[Path, Path], object], int]] = {
    "nothing": (lambda first, second: None, 0),
    "exchanged": (exchange, 2),
    "another kernel's": (lambda first, second: shutil.copy(first, second), 1),
    "cut": (lambda first, second: os.truncate(first, 1000), 1),
    "cut in the checksum": (lambda first, second: os.truncate(first, 9), 1),
    "one byte": (lambda first, second: flip(first, -100), 1),
    "one byte of the checksum": (lambda first, second: flip(first, 0), 1),
    "nothing but lines": (lambda first, second: first.write_bytes(b"\n" * 1000), 1),
    "empty": (lambda first, second: first.write_bytes(b""), 1),
    "links in a circle": (loop, 2),
    "a pipe": (pipe, 1),
}


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
@pytest.mark.parametrize("damage", DAMAGE)
def test_file_that_is_not_the_kernel_is_compiled_again(
    cache: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, expected = DAMAGE[damage]
    change(*files(cache))
    assert compiled(monkeypatch) == expected


def test_a_file_says_which_parameters_are_integers(cache: Path) -> None:
    found = machine_code._read(entry.Kernel("plus"))  # nothing but its name
    assert found
    assert found[0] == entry.Kernel("plus", plus).kinds == "ii"
    assert entry.Kernel("plus")(7, 2) == 9


def test_many_threads_write_one_file(cache: Path) -> None:
    kernel = entry.Kernel("plus", plus)
    found = machine_code._read(kernel)
    assert found

    def work() -> None:
        for _ in range(20):
            machine_code._write(kernel, *found)
            assert machine_code._read(kernel) == found

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert machine_code._read(kernel) == found


@pytest.fixture
def fresh_notices(monkeypatch: pytest.MonkeyPatch) -> modes.Notices:
    """As in a process that has said nothing yet."""
    found = modes.Notices()
    for place in ("machine_code", "entry"):
        monkeypatch.setattr(f"subwords.kernels.{place}.NOTICES", found)
    return found


@pytest.mark.parametrize("in_the_way", ["a file for the folder", "a folder for the file"])
def test_cache_that_cannot_be_written_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_notices: modes.Notices, in_the_way: str
) -> None:
    monkeypatch.setenv("SUBWORDS_CACHE_DIR", str(tmp_path / "place"))
    if in_the_way == "a file for the folder":
        (tmp_path / "place").write_text("no folder")
    else:
        (tmp_path / "place" / machine_code._digest() / "plus.o").mkdir(parents=True)
    with pytest.warns(SubwordsWarning) as caught:
        assert both() == (9, 5)
        assert both() == (9, 5)
    (warning,) = caught
    assert str(warning.message).startswith(f"kernel cache cannot be used in {tmp_path / 'place'}")
    assert str(warning.message).endswith("set SUBWORDS_CACHE_DIR to a folder that you, and only you, can write to")
    assert warning.filename == __file__


def test_warning_that_is_an_error_comes_once_and_the_kernel_works(
    monkeypatch: pytest.MonkeyPatch, fresh_notices: modes.Notices
) -> None:
    monkeypatch.setattr(machine_code, "cache_root", lambda: None)
    kernel = entry.Kernel("plus", plus)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SubwordsWarning):
            kernel(7, 2)
        assert kernel(7, 2) == 9


def test_read_only_cache_that_is_complete_is_no_reason_to_warn(
    cache: Path, monkeypatch: pytest.MonkeyPatch, fresh_notices: modes.Notices
) -> None:
    monkeypatch.setattr(machine_code, "_write", lambda *args: pytest.fail("written"))
    assert both() == (9, 5)
    assert not fresh_notices.compiling


def test_tested_versions_of_numba_are_those_that_can_be_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    (range_,) = [each for each in project["optional-dependencies"]["jit"] if each.startswith("numba")]
    lowest, beyond = re.fullmatch(r"numba>=0\.(\d+),<0\.(\d+)", range_).groups()  # type: ignore[union-attr]
    assert f"0.{lowest} to 0.{int(beyond) - 1}" == machine_code.TESTED


@pytest.mark.parametrize("error", [ImportError("JITCodeLibrary"), AttributeError("_tm"), TypeError("arguments")])
def test_numba_with_other_private_interfaces_is_our_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from inside import kernels_compile as compiler

    def fails(kernel: entry.Kernel) -> tuple[str, bytes]:
        raise error

    monkeypatch.setenv("SUBWORDS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiler, "machine_code", fails)
    with pytest.raises(SubwordsError, match=r"^numba [\d.]+ cannot compile kernels; tested are 0\.\d+ to 0\.\d+ \("):
        entry.Kernel("plus", plus)(7, 2)
