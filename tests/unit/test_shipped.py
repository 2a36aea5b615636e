"""Machine code that came with the package: which library is taken, and what is done without one."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

from inside import kernels_machine_code as machine_code
from inside import kernels_stored as store
from inside import normalize_characters as characters
from inside import route_of
from subwords import SubwordsWarning
from subwords.machine import NOTICES

OLD = dict.fromkeys(("SSSE3", "SSE41", "SSE42", "POPCNT"), True)
HASWELL = OLD | dict.fromkeys(("AVX", "AVX2", "F16C", "FMA3", "BMI", "BMI2", "LZCNT", "MOVBE"), True)
SKYLAKE = HASWELL | dict.fromkeys(("AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL"), True)
ZEN4 = SKYLAKE | dict.fromkeys(
    ("AVX512BITALG", "AVX512IFMA", "AVX512VBMI", "AVX512VBMI2", "AVX512VNNI", "AVX512VPOPCNTDQ"), True
)


def names(
    monkeypatch: pytest.MonkeyPatch, features: dict[str, bool], machine: str = "x86_64", system: str = "linux"
) -> list[str]:
    monkeypatch.setattr(machine_code, "processor_kind", lambda: machine)
    monkeypatch.setattr(machine_code.sys, "platform", system)
    monkeypatch.setattr(machine_code, "processor_features", lambda: features)
    return [name.removeprefix("linux-x86_64-") for name in machine_code._names()]


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({}, []),
        (OLD, ["v2"]),
        (HASWELL, ["v3", "v2"]),
        (SKYLAKE, ["v4", "v3", "v2"]),
        (ZEN4, ["v4-vbmi2", "v4", "v3", "v2"]),
        (ZEN4 | {"BMI2": False}, ["v2"]),
        (SKYLAKE | {"AVX2": False}, ["v2"]),
        ({name: has for name, has in HASWELL.items() if name not in machine_code.BESIDES}, ["v3", "v2"]),
    ],
)
def test_a_level_needs_all_its_features(
    monkeypatch: pytest.MonkeyPatch, features: dict[str, bool], expected: list[str]
) -> None:
    assert names(monkeypatch, features) == [f"{level}.so" for level in expected]


def test_other_systems_and_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert names(monkeypatch, HASWELL, "AMD64", "win32") == ["windows-x86_64-v3.dll", "windows-x86_64-v2.dll"]
    assert names(monkeypatch, {}, "arm64", "darwin") == ["macos-arm64.dylib"]
    assert names(monkeypatch, {}, "aarch64") == ["linux-aarch64.so"]
    for machine, system in (("x86_64", "darwin"), ("ppc64le", "linux"), ("aarch64", "win32"), ("x86_64", "freebsd14")):
        assert names(monkeypatch, ZEN4, machine, system) == []


def test_a_level_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "ASKED", "v3")
    assert names(monkeypatch, ZEN4) == ["v3.so"]
    assert names(monkeypatch, OLD) == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of machine code whose libraries are two that the system has."""
    monkeypatch.setattr(machine_code, "FOLDER", tmp_path)
    monkeypatch.setattr(machine_code, "_names", lambda: ["best.so", "other.so"])
    monkeypatch.setattr(NOTICES, "without", "")
    (tmp_path / "best.so").write_bytes(b"no library")
    (tmp_path / "other.so").write_bytes(b"neither")
    checksums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.iterdir()}
    content = {"sources": machine_code.sources_digest(), "libraries": checksums, "kernels": {}}
    (tmp_path / "code.json").write_text(json.dumps(content), "utf-8")
    return tmp_path


def library() -> tuple[ctypes.CDLL, dict[str, str]] | None:
    return machine_code._library.__wrapped__()


def test_without_machine_code_nothing_is_said(folder: Path) -> None:
    (folder / "code.json").unlink()
    assert library() is None and NOTICES.without == ""


def test_a_library_that_cannot_be_loaded_is_reported(folder: Path) -> None:
    assert library() is None
    assert NOTICES.without.startswith("other.so cannot be loaded: ")


def test_a_damaged_library_is_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "best.so").write_bytes(b"changed")
    (folder / "other.so").write_bytes(b"changed too")
    monkeypatch.setattr(machine_code.ctypes, "CDLL", lambda path: pytest.fail("loaded"))
    assert library() is None
    assert NOTICES.without == "other.so is damaged: its checksum is another"


def test_in_place_of_a_damaged_library_the_next_one_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Loaded:
        subwords_set_heads = staticmethod(lambda *heads: None)

    monkeypatch.setattr(NOTICES, "instead", "")
    (folder / "best.so").write_bytes(b"changed")
    monkeypatch.setattr(machine_code.ctypes, "CDLL", lambda path: Loaded())
    found = library()
    assert found and isinstance(found[0], Loaded)
    assert (NOTICES.without, NOTICES.instead) == ("best.so is damaged: its checksum is another", "other.so")
    monkeypatch.setattr(NOTICES, "_told", False)
    with pytest.warns(
        SubwordsWarning, match=r"best\.so is damaged: its checksum is another\. other\.so is used instead"
    ):
        NOTICES.warn()


def test_code_of_other_sources_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "sources_digest", lambda: "another")
    assert library() is None
    assert NOTICES.without == "the sources of kernels were changed after it was made"


def test_a_processor_that_no_library_is_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "_names", list)
    assert library() is None
    assert NOTICES.without.startswith("it has none for this processor (")


def test_jit_takes_no_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "ASKED", "jit")
    assert library() is None and NOTICES.without == ""


def test_a_reason_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NOTICES, "without", "it has none for this processor")
    monkeypatch.setattr(NOTICES, "_told", False)
    with pytest.warns(SubwordsWarning, match="is not used: it has none for this processor. Numba compiles"):
        NOTICES.warn()
    NOTICES.warn()


def test_without_code_and_without_numba_the_error_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['llvmlite'] = sys.modules['numba'] = None\n"
        "import subwords\n"
        "subwords.splitter('gpt2').split('a b')\n"
    )
    package = str(Path(machine_code.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": package, "SUBWORDS_CACHE_DIR": str(tmp_path), "SUBWORDS_KERNELS": "jit"}
    got = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert got.returncode == 1
    assert "SubwordsError: SUBWORDS_KERNELS=jit asks to compile the kernels here, and llvmlite is not" in got.stderr
    assert "pip install 'subwords[jit]'" in got.stderr


def test_every_library_of_the_tool_can_be_chosen() -> None:
    tool = pytest.importorskip("tools.machine_code")
    assert {name.removeprefix("linux-x86_64-") for name in tool.TARGETS if "linux-x86_64" in name} == {
        *machine_code.FEATURES
    }


def content(route: object) -> object:
    try:
        return store.packed(route)
    except TypeError:  # it is not data, and is made each time
        return type(route)


def test_tables_of_names_come_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = pytest.importorskip("tools.tables")
    file, refused = tmp_path / "tables", lambda: pytest.fail("a table is made that comes with the package")
    # In a process of its own: here other tests have made some of them, which are not asked for again.
    subprocess.run([sys.executable, "-m", "tools.tables", file], check=True, cwd=Path(tool.__file__).parents[1])
    head = json.loads(file.read_bytes().partition(b"\n")[0])
    monkeypatch.setattr(store, "SHIPPED", str(file))
    monkeypatch.setattr(store, "_read_table", lambda _name: None)
    monkeypatch.setenv(store.SWITCH, "on")
    for sources, found in ((head["sources"], True), ("of another version", False)):
        monkeypatch.setattr(store, "stamp", lambda sources=sources: (sources, ""))
        store._shipped.cache_clear()
        assert (store._shipped_table(next(iter(head["tables"]))) is not None) == found
    monkeypatch.setattr(store, "stamp", lambda: (head["sources"], ""))
    store._shipped.cache_clear()
    for name, map_of in (("NFD", characters._decomposed), ("NFKD", characters._decomposed)):
        codes, chars, bounds = store.stored("characters", name.encode(), refused)
        made = characters.CharMap.of(map_of(name))
        assert [codes.tolist(), chars.tolist(), bounds.tolist()] == [
            each.tolist() for each in (made.codes, made.chars, made.bounds)
        ]
    rules = tool.rules()[::3]
    with monkeypatch.context() as patch:
        patch.setattr("subwords.split.splitter._machine_route", lambda _rule: refused())
        found_routes = [route_of.__wrapped__(rule) for rule in rules]
    monkeypatch.setenv(store.SWITCH, "off")
    for rule, route in zip(rules, found_routes, strict=True):
        assert content(route) == content(route_of.__wrapped__(rule))
    store._shipped.cache_clear()


def wheel_in(folder: Path, sources: str) -> None:
    (folder / "dist").mkdir(exist_ok=True)
    with ZipFile(folder / "dist" / "subwords-0-py3-none-any.whl", "w") as archive:
        archive.writestr("subwords/kernels/machine/code.json", json.dumps({"sources": sources}))
        archive.writestr("subwords/kernels/machine/linux-x86_64-v3.so", b"code")
        archive.writestr("subwords/demo.json", "{}")


def test_a_clone_takes_the_code_of_a_wheel_with_the_same_kernels(tmp_path: Path) -> None:
    build = pytest.importorskip("hatch_build", reason="hatchling builds the package").MachineCodeHook._code_of_wheel
    hook = SimpleNamespace(root=tmp_path, app=SimpleNamespace(display_info=print))
    assert build(hook) is None
    wheel_in(tmp_path, store.digest_folder(store.KERNELS))
    assert {file.name: file.read_bytes() for file in build(hook).iterdir()}["linux-x86_64-v3.so"] == b"code"
    wheel_in(tmp_path, "of other sources")
    (tmp_path / "dist" / "subwords-1-py3-none-any.whl").write_bytes(b"no archive")
    assert build(hook) is None
