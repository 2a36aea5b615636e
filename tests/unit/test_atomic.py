from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from subwords.errors import InputError
from subwords.formats.atomic import atomic_write


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_file_appears_only_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with atomic_write(path) as file:
        file.write(b"12")
        assert not path.exists()
    assert path.read_bytes() == b"12"
    assert listing(tmp_path) == ["a.bin"]


def test_text_is_utf8_and_newlines_stay(tmp_path: Path) -> None:
    with atomic_write(str(tmp_path / "a.txt"), "w") as file:
        file.write("é\n\r\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xa9\n\r\n"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exception_leaves_the_old_file_and_no_other(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(error), atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        raise error
    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == ["a.bin"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_new_file_has_the_permissions_of_open(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        with atomic_write(tmp_path / "a") as file:
            file.write(b"x")
        (tmp_path / "ref").write_bytes(b"x")
    finally:
        os.umask(old)
    ref, got = ((tmp_path / name).stat().st_mode for name in ("ref", "a"))
    assert stat.S_IMODE(got) == stat.S_IMODE(ref) == 0o666 & ~mask


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with atomic_write(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "real")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "sub" / "real").read_bytes() == b"new"
    assert listing(tmp_path / "sub") == ["real"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_pipe_is_written_directly(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    with atomic_write(path) as file:
        file.write(b"through")
    reader.join(10)
    assert got == [b"through"]
    assert listing(tmp_path) == ["pipe"]


def test_longest_name_can_be_written(tmp_path: Path) -> None:
    with atomic_write(tmp_path / ("n" * 255)) as file:
        file.write(b"x")
    assert listing(tmp_path) == ["n" * 255]


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no|none") as caught, atomic_write(tmp_path / "none" / "a.json"):
        pass
    assert str(tmp_path / "none") in str(caught.value)
    assert listing(tmp_path) == []


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"), atomic_write(tmp_path):
        pass
    assert listing(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_is_an_input_error_with_the_name() -> None:
    with pytest.raises(InputError, match=r"/dev/full: No space left"), atomic_write("/dev/full") as file:
        file.write(b"x" * 100)


def test_error_of_another_file_passes_through(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "a") as file:
        file.write((tmp_path / "missing").read_bytes())
    assert listing(tmp_path) == []


def test_name_that_cannot_be_opened_is_an_input_error(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="expected a file that can be written"),
        atomic_write(tmp_path / ("n" * 300)) as file,
    ):
        file.write(b"x")
    assert listing(tmp_path) == []
