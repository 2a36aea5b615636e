"""Atomic writes: a file appears whole or not at all, with the permissions of the one it replaces."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inside import atomic_write
from subwords import InputError


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
    with pytest.raises(InputError, match="cannot write file"), atomic_write(tmp_path / ("n" * 300)) as file:
        file.write(b"x")
    assert listing(tmp_path) == []


@pytest.mark.parametrize("path", [None, 3, 2.5, b"a", ["a"], object])
def test_what_is_no_path_is_an_input_error(path: Any) -> None:
    with pytest.raises(InputError, match="expected a path"), atomic_write(path):
        pass


def test_nul_in_a_path_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"expected a path without NUL, not 'a\\x00b'"), atomic_write("a\0b"):
        pass


def test_a_read_only_file_system_is_an_input_error_with_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There deleting fails too, even of a file that is not there."""

    def refuse(path: Path, *args: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(InputError) as caught, atomic_write(tmp_path / "a"):
        pass
    assert str(caught.value) == f"cannot write file {tmp_path / 'a'}: Read-only file system"


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a folder that nobody may write in")
def test_a_folder_that_nobody_may_write_in_is_an_input_error() -> None:
    message = r"^cannot write file /sys/kernel/a\.json: "
    with pytest.raises(InputError, match=message), atomic_write("/sys/kernel/a.json"):
        pass


# ------------------------------------------------------------------ files left behind

KILLED = Path(__file__).parents[1] / "programs" / "killed_writing.py"
posix = pytest.mark.skipif(os.name == "nt", reason="locks of files")


@posix
def test_what_a_killed_process_left_is_swept_by_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    subprocess.run([sys.executable, KILLED, path], check=False)
    (left,) = listing(tmp_path)
    assert left.startswith(".subwords-")
    with atomic_write(path) as file:
        file.write(b"whole")
    assert listing(tmp_path) == ["a.bin"]


@posix
def test_what_another_process_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, KILLED, path, "wait"], stdin=pipe, stdout=pipe) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        with atomic_write(tmp_path / "b.bin") as file:
            file.write(b"b")
        assert len(listing(tmp_path)) == 2
        other.communicate(b"")
    assert listing(tmp_path) == ["a.bin", "b.bin"]
    assert path.read_bytes() == b"half"


@posix
def test_many_writers_of_one_folder(tmp_path: Path) -> None:
    """Each sweeps while others make their files: none is lost."""

    def write(name: int) -> None:
        for k in range(60):
            with atomic_write(tmp_path / f"{name % 3}") as file:
                file.write(b"%d %d" % (name, k))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    assert listing(tmp_path) == ["0", "1", "2"]
    assert {(tmp_path / str(name)).read_bytes().split()[1] for name in range(3)} == {b"59"}


@posix
def test_other_files_and_links_are_not_swept(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"kept")
    link, other, folder = f".subwords-{'0' * 16}.tmp", f".subwords-{'1' * 16}", ".subwords-z.tmp"
    (tmp_path / link).symlink_to(tmp_path)
    (tmp_path / other).write_bytes(b"")
    (tmp_path / folder).mkdir()
    with atomic_write(tmp_path / "a"):
        pass
    assert listing(tmp_path) == [link, other, folder, "a", "kept"]
    assert (tmp_path / "kept").read_bytes() == b"kept"


@posix
def test_temporary_files_of_a_killed_job_are_deleted_by_the_next_one(tmp_path: Path) -> None:
    """Of a job that adds up its shards: the folder of the shards, and the sum."""
    (tmp_path / "a.txt").write_text("so so")
    killed = """
import os, signal, sys
import subwords
from subwords.scale import Run

subwords.WordCounts.load = lambda path: os.kill(os.getpid(), signal.SIGKILL)
subwords.count(sys.argv[1], run=Run())
"""
    place = tmp_path / "tmp"
    place.mkdir()
    count = [sys.executable, "-c", killed, tmp_path / "a.txt"]
    assert subprocess.run(count, env={**os.environ, "TMPDIR": str(place)}, check=False).returncode == -signal.SIGKILL
    assert len(listing(place)) == 2
    count[2] = killed.replace("subwords.WordCounts.load", "_")
    subprocess.run(count, env={**os.environ, "TMPDIR": str(place)}, check=True)
    assert listing(place) == []
