"""Where the cache may be: its root and folders belong to this user, and nobody else may exchange what leads there.

Otherwise nothing is read, written or deleted. SECURITY.md says what this guards against.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import subwords
from inside import kernels_entry as entry
from inside import kernels_machine_code as machine_code
from inside import kernels_modes as modes
from inside import kernels_stored as store
from without_waiting import at_once

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners, modes and links")

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
STRANGER, VICTIM = 5002, 5001  # numbers of users
NAME = "trie-" + "0" * 32  # a table that was not used for a long time

# ------------------------------------------------------------------ every place, in every state


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a cache with two tables, in a folder of its own."""
    found = tmp_path / "above" / "cache"
    monkeypatch.setattr(store, "cache_root", lambda: str(found))
    monkeypatch.setenv(store.SWITCH, "on")
    at_once(monkeypatch)
    assert store.stored("spec", b"", lambda: "kept") == "kept"
    (found / store.FOLDER / NAME).write_bytes(store.summed(store.packed(bytes(5000))))
    (found / store.FOLDER / NAME).chmod(0o600)
    os.utime(found / store.FOLDER / NAME, (1, 1))
    return found


def foreign(place: Path) -> None:
    if not ROOT:
        pytest.skip("only root can give files away")
    os.chown(place, STRANGER, -1)


def linked(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to("elsewhere")


def linked_by_a_stranger(place: Path) -> None:
    linked(place)
    if not ROOT:
        pytest.skip("only root can give links away")
    os.lchown(place, STRANGER, STRANGER)


def of_a_group(place: Path) -> None:
    if not ROOT:
        pytest.skip("only root can choose any group")
    os.chown(place, -1, STRANGER)
    place.chmod(0o770)


def mode(bits: int) -> Callable[[Path], None]:
    return lambda place: place.chmod(bits)


STATES: dict[str, tuple[Callable[[Path], None], str]] = {  # with the places that can still be used
    "own": (lambda place: None, "above root folder file"),
    "foreign": (foreign, ""),
    "link": (linked, "above"),
    "link of a stranger": (linked_by_a_stranger, ""),
    "group-writable": (of_a_group, ""),
    "writable by the own group": (mode(0o770), "above root" if ROOT else "above root folder file"),
    "world-writable": (mode(0o707), ""),
    "sticky and world-writable": (mode(0o1777), "above"),
    "sticky": (mode(0o1700), "above root folder file"),
}


PLACES = [(where, use) for where in ("above", "root", "folder", "file") for use in ("read", "write", "delete")]
PLACES.remove(("file", "write"))  # a file is never written in place


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("where", "use"), PLACES)
def test_nothing_is_used_where_others_may_write(
    root: Path, monkeypatch: pytest.MonkeyPatch, where: str, state: str, use: str
) -> None:
    change, usable = STATES[state]
    folder = root / store.FOLDER
    tables = {"read": next(folder.glob("spec-*")), "delete": folder / NAME}
    place = {"above": root.parent, "root": root, "folder": folder}.get(where) or tables[use]
    if state == "writable by the own group" and not _is_own_group(place):
        pytest.skip("this user has no group of its own")
    before = place.stat()
    change(place)
    expected = where in usable.split()
    try:
        if use == "read":
            assert (store.stored("spec", b"", lambda: "made") == "kept") == expected
        elif use == "write":
            store.stored("links", b"", lambda: "new")
            assert bool([*folder.glob("links-*")]) == expected
        else:
            monkeypatch.setattr(store, "LARGEST_FOLDER", 100)
            store.stored("links", b"", lambda: "new")
            assert tables["delete"].exists() != expected
    finally:
        if os.path.lexists(place):
            os.chown(place, before.st_uid, before.st_gid, follow_symlinks=False)
            place.chmod(stat.S_IMODE(before.st_mode))


def _is_own_group(place: Path) -> bool:
    return bool(store._is_private(place.stat().st_gid))


def test_a_folder_that_is_made_is_of_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "cache_root", lambda: str(tmp_path / "a" / "b" / "cache"))
    before = os.umask(0o002)
    try:
        assert [store.stored("spec", b"", lambda value=value: value) for value in (1, 2)] == [1, 1]
    finally:
        os.umask(before)
    made = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    assert {(path.is_file(), stat.S_IMODE(path.stat().st_mode)) for path in made} == {(False, 0o700), (True, 0o600)}


@pytest.mark.parametrize("way", ["relative", "..", "links", "a circle", "through a link and back"])
def test_every_way_to_the_root_is_looked_at(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.chdir(root.parent)
    (tmp_path / "b").symlink_to(root.parent)
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "c").symlink_to("c")
    (tmp_path / "d").symlink_to(root)
    names = {
        "relative": "./cache",
        "..": f"{root}/tables/../../cache/",
        "links": str(tmp_path / "a" / "cache"),
        "a circle": str(tmp_path / "c" / "cache"),
        "through a link and back": str(tmp_path / "d" / ".." / "cache"),
    }
    monkeypatch.setattr(store, "cache_root", lambda: names[way])
    assert store.stored("spec", b"", lambda: "made") == ("made" if way == "a circle" else "kept")
    root.parent.chmod(0o777)
    assert store.stored("spec", b"", lambda: "made") == "made"


@pytest.mark.parametrize("place", ["/dev/full", "/proc/self/x", "/" + "a" * 3000, "/dev/null/x", ""])
def test_what_can_be_no_folder_is_left_aside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store, "cache_root", lambda: place or str(tmp_path / "above" / "cache" / store.FOLDER / NAME))
    assert store.stored("spec", b"", lambda: "made") == "made"


def test_a_folder_that_is_exchanged_after_the_look_is_not_used(root: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / NAME).write_bytes(store.summed(store.packed("planted")))
    with store.Folder(str(root), store.FOLDER) as folder:
        (root / store.FOLDER).rename(tmp_path / "mine")
        (root / store.FOLDER).symlink_to(theirs)
        assert folder.read(NAME) == (tmp_path / "mine" / NAME).read_bytes()
        folder.write("spec-new", store.MAGIC)
        assert folder.delete(NAME)
    assert [path.name for path in theirs.iterdir()] == [NAME]
    assert (tmp_path / "mine" / "spec-new").exists() and not (tmp_path / "mine" / NAME).exists()


def test_descriptors_are_closed(root: Path) -> None:
    listed = Path("/proc/self/fd")
    if not listed.is_dir():
        pytest.skip("no list of descriptors here")
    before = len([*listed.iterdir()])
    for number in range(20):
        store.stored("links", bytes([number]), lambda: 1)
        root.chmod(0o707 if number % 2 else 0o700)
        store.stored("spec", b"", lambda: "made")
    assert len([*listed.iterdir()]) == before


# ------------------------------------------------------------------ only files of this package are deleted


def test_files_of_others_are_never_deleted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / store.FOLDER
    ours, digits, temporary = store.MAGIC + bytes(9000), "0" * 32, f".{'0' * 16}.tmp"
    kept = {
        f"photo-{digits}.jpg": ours,  # no kind of table
        f"photo-{digits}": ours,
        f"trie-{digits}.jpg": ours,
        f"trie-{digits[1:]}": ours,
        f"trie-{'1' * 32}": bytes(9000),  # not our first bytes
        f"letter{temporary}": b"Dear all",
        "letter.tmp": ours,
        "tmpabc": b"",
    }
    gone = {f"trie-{'2' * 32}": ours, f"trie-{'3' * 32}{temporary}": ours, f"trie-{'4' * 32}{temporary}": b""}
    for name, content in (kept | gone).items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (1, 1))
    fresh = folder / f"trie-{'5' * 32}{temporary}"
    fresh.write_bytes(ours)  # of a process that writes it now
    (folder / f"trie-{'6' * 32}").mkdir()
    (folder / f"trie-{'7' * 32}").symlink_to(folder / "letter.tmp")
    monkeypatch.setattr(store, "LARGEST_FOLDER", 5000)
    store.stored("links", b"", lambda: 1)
    there = {path.name for path in folder.iterdir()}
    assert kept.keys() | {fresh.name, f"trie-{'6' * 32}", f"trie-{'7' * 32}"} <= there
    assert not there & gone.keys() and not (folder / NAME).exists()


def test_what_a_killed_process_left_of_machine_code_is_deleted(root: Path) -> None:
    with store.Folder(str(root), "code", make=True) as folder:
        left = root / "code" / f"plus.o.{'a' * 16}.tmp"
        left.write_bytes(store.MAGIC)
        os.utime(left, (time.time() - 2 * store.LEFT_SECONDS,) * 2)
        folder.write("plus.o", store.MAGIC)
    assert [path.name for path in (root / "code").iterdir()] == ["plus.o"]


# ------------------------------------------------------------------ machine code, and what is said


def test_machine_code_is_not_used_where_others_may_write(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "cache_root", store.cache_root)
    monkeypatch.setattr(machine_code, "_digest", lambda: "d" * 16)
    found = modes.Notices()
    monkeypatch.setattr(machine_code, "NOTICES", found)
    kernel = entry.Kernel("plus")
    machine_code._write(kernel, "ii", b"code")
    assert machine_code._read(kernel) == ("ii", b"code") and not found._unwritable
    root.chmod(0o707)
    assert machine_code._read(kernel) is None
    machine_code._write(kernel, "ii", b"other")
    with pytest.warns(subwords.SubwordsWarning, match=r"cache cannot be used in .*cache.* can be written by others"):
        found.warn()
    root.chmod(0o700)
    assert machine_code._read(kernel) == ("ii", b"code")


@pytest.mark.parametrize("state", ["foreign", "link", "world-writable"])
def test_doctor_says_which_folder_is_not_used_and_why(root: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    from inside import cli_files

    assert "can be written" in cli_files.cache_state()
    place = root.parent if state == "foreign" else root
    STATES[state][0](place)
    said = {"foreign": "belongs to another user", "link": "is a link", "world-writable": "can be written by others"}
    with pytest.raises(subwords.InputError, match=f"{place} {said[state]}.*SUBWORDS_CACHE_DIR"):
        cli_files.cache_state()


# ------------------------------------------------------------------ two users

PROGRAM = """
import atexit, ctypes, grp, json, os, pwd, re, sys, threading
from subwords.kernels import stored
stored.cache_root = lambda: sys.argv[1]
stored.LARGEST_FOLDER = 100 << 20
name = stored.table_name("spec", b"")  # before: this user may not be able to read the package
os.setgroups([]), os.setgid(int(sys.argv[2])), os.setuid(int(sys.argv[2]))
found = []
for _ in range(2):
    found.append(stored.stored("spec", b"", lambda: "made"))
    stored.later.finish()
print(name, *found)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user may enter."""
    if not ROOT:
        pytest.skip("only root can be two users")
    found = Path(tempfile.mkdtemp())
    found.chmod(0o755)
    yield found
    shutil.rmtree(found)


def as_victim(root: str) -> list[str]:
    """Return the name of a table, and what the victim gets for it, twice."""
    command = [sys.executable, "-c", PROGRAM, root, str(VICTIM)]
    return subprocess.run(command, cwd="/", capture_output=True, encoding="utf-8", check=True).stdout.split()


class Scene:
    """A cache at `root`, which an attacker arranges before the victim uses it."""

    def __init__(self, place: Path, name: str) -> None:
        self.place, self.root, self.name = place, place / "cache", name
        self.folder = self.root / store.FOLDER

    def make(self, folder: Path, owner: int, mode: int) -> Path:
        folder.mkdir()
        os.chown(folder, owner, owner)
        folder.chmod(mode)
        return folder

    def plant(self, file: Path, owner: int, mode: int = 0o600) -> None:
        file.write_bytes(store.summed(store.packed("planted")))
        os.chown(file, owner, owner)
        file.chmod(mode)

    def uploads(self, mode: int, owner: int) -> None:
        """The folder of tables is a link to one of the victim, with a file that the attacker chose."""
        self.make(self.root, owner, mode)
        self.plant(self.make(self.place / "uploads", VICTIM, 0o755) / self.name, VICTIM, 0o644)
        for number in range(5):
            photo = self.place / "uploads" / f"trie-{number:032x}"
            photo.write_bytes(b"a photo")
            os.truncate(photo, 100 << 20)
            os.chown(photo, VICTIM, VICTIM)
            os.utime(photo, (number, number))
        self.folder.symlink_to(self.place / "uploads")
        os.lchown(self.folder, STRANGER, STRANGER)


def tables(scene: Scene, owner: int, mode: int, file_owner: int, file_mode: int, root: int = VICTIM) -> None:
    scene.make(scene.root, root, 0o700 if root == VICTIM else 0o777)
    scene.plant(scene.make(scene.folder, owner, mode) / scene.name, file_owner, file_mode)


def behind_a_link(scene: Scene, kind: str) -> None:
    scene.make(scene.root, VICTIM, 0o700)
    scene.make(scene.folder, VICTIM, 0o700)
    if kind == "pipe":
        os.mkfifo(scene.folder / scene.name)
        os.chown(scene.folder / scene.name, VICTIM, VICTIM)
    else:
        scene.plant(scene.make(scene.place / "uploads", VICTIM, 0o755) / "x", VICTIM)
        (scene.folder / scene.name).symlink_to(scene.place / "uploads" / "x")


def above(scene: Scene, owner: int, mode: int) -> None:
    """All is the victim's own, but not the folder above."""
    scene.root = scene.make(scene.place / "above", owner, mode) / "cache"
    scene.folder = scene.root / store.FOLDER
    tables(scene, VICTIM, 0o700, VICTIM, 0o600)


USED, UNUSED = ["planted", "planted"], ["made", "made"]
REPLACED = ["made", "made"]  # the folder is the victim's: the file there is written anew
SCENES: dict[str, tuple[Callable[[Scene], None], list[str]]] = {
    "all of it the victim's": (lambda scene: tables(scene, VICTIM, 0o700, VICTIM, 0o600), USED),
    "all of it root's": (lambda scene: tables(scene, 0, 0o755, 0, 0o644, root=VICTIM), USED),
    "attacker's folder, attacker's file": (lambda scene: tables(scene, STRANGER, 0o755, STRANGER, 0o644), UNUSED),
    "attacker's folder, victim's file": (lambda scene: tables(scene, STRANGER, 0o777, VICTIM, 0o600), UNUSED),
    "victim's folder, attacker's file": (lambda scene: tables(scene, VICTIM, 0o700, STRANGER, 0o644), REPLACED),
    "victim's folder in attacker's root": (lambda scene: tables(scene, VICTIM, 0o700, VICTIM, 0o600, STRANGER), UNUSED),
    "victim's file 0664": (lambda scene: tables(scene, VICTIM, 0o700, VICTIM, 0o664), REPLACED),
    "root 0777 of the attacker, tables a link": (lambda scene: scene.uploads(0o777, STRANGER), UNUSED),
    "root 0755 of the attacker, tables a link": (lambda scene: scene.uploads(0o755, STRANGER), UNUSED),
    "sticky root as /tmp, tables a link": (lambda scene: scene.uploads(0o1777, 0), UNUSED),
    "root of the victim, tables a link": (lambda scene: scene.uploads(0o700, VICTIM), UNUSED),
    "a link for the file": (lambda scene: behind_a_link(scene, "link"), REPLACED),
    "a pipe for the file": (lambda scene: behind_a_link(scene, "pipe"), REPLACED),
    "a folder of the attacker above": (lambda scene: above(scene, STRANGER, 0o755), UNUSED),
    "a folder above that all may write": (lambda scene: above(scene, 0, 0o777), UNUSED),
    "a sticky folder above": (lambda scene: above(scene, 0, 0o1777), USED),
    "a file for the root": (lambda scene: scene.root.write_bytes(b""), UNUSED),
    "a dangling link for the root": (lambda scene: scene.root.symlink_to("/nonexistent/x"), UNUSED),
}


@pytest.mark.parametrize("arranged", SCENES)
def test_what_another_user_arranges_is_neither_read_nor_changed(place: Path, arranged: str) -> None:
    named = str(store.table_name("spec", b""))  # which anybody can compute
    scene = Scene(place, named)
    arrange, expected = SCENES[arranged]
    arrange(scene)
    uploads = place / "uploads"
    before = sorted(uploads.iterdir()) if uploads.exists() else []
    assert as_victim(str(scene.root)) == [named, *expected]
    assert (sorted(uploads.iterdir()) if uploads.exists() else []) == before
