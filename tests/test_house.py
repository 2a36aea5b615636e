"""The house rules that a program can check: who imports what, who opens files, what is in the tree."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType

import pytest
from tools.plant_faults import FAULTS

import inside
import subwords
from inside import models_families as families
from subwords.machine import family_of, family_settings, segmenter_of

ROOT = Path(__file__).resolve().parents[1]
SPACES = ("adapt", "files", "research", "sampling", "scale", "study")
SOURCE = ROOT / "src" / "subwords"
FILES = sorted(SOURCE.rglob("*.py"))

# Calls that open or map files: by their last name, or by both where one name says too little.
OPENING = {
    *("open", "fdopen", "open_code", "mkstemp", "FileIO", "NamedTemporaryFile", "TemporaryFile", "memmap", "fromfile"),
    *("read_bytes", "read_text", "write_bytes", "write_text", "GzipFile", "OSFile", "ParquetFile", "ParquetWriter"),
    *("np.load", "np.save", "np.savez", "np.loadtxt", "np.savetxt", "pickle.load", "json.load", "tofile"),
}
RIM = (
    *("corpus/", "formats/", "tokens/", "cli/", "support/", "adapt/id_maps.py", "spec/unicode.py", "study/page.py"),
    *(
        "interop/evidence.py",
        "interop/lock.py",
        "scale/runners.py",
        "study/model_rows.py",
        "web/export.py",
        "web/page.py",
    ),
    *("kernels/entry.py", "kernels/machine_code.py", "kernels/stored.py", "engine/kept.py"),
)

MOST_FILES = 250  # with code
MOST_LINES = {"tokenizer.py": 1200}  # the face: each method with its docstring; others have 850
MACHINE_PATHS = [f"/{folder}/" for folder in ("work", "tmp", "root")]


def place(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place(file)}: expected absolute imports"
            yield node.module or ""


def importers(package: str) -> list[str]:
    return [place(file) for file in FILES if any(name.split(".")[0] == package for name in imports(file))]


def called(node: ast.Call) -> set[str]:
    """The names a call goes by: `open`, or for `np.load` also `load`."""
    if not isinstance(node.func, ast.Attribute):
        return {getattr(node.func, "id", "")}
    return {node.func.attr, f"{getattr(node.func.value, 'id', '')}.{node.func.attr}"}


def calls(names: set[str], allowed: str | tuple[str, ...]) -> list[str]:
    """Where one of these is called outside the allowed places."""
    return [
        f"{place(file)}:{node.lineno} {ast.unparse(node.func)}"
        for file in FILES
        if not place(file).startswith(allowed)
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and called(node) & names
    ]


PUBLIC = {"numba": {"cfunc", "njit", "types"}, "numba.extending": None, "llvmlite": {"__version__", "binding", "ir"}}


def private(file: Path) -> list[str]:
    """What a file imports from Numba and llvmlite beyond their public interfaces."""
    found = []
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if "." in alias.name]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = PUBLIC.get(node.module, set())
            found += [
                f"{node.module}.{alias.name}" for alias in node.names if names is not None and alias.name not in names
            ]
    return [name for name in found if name.split(".")[0] in ("numba", "llvmlite")]


def test_the_files_of_instructions_import_numba() -> None:
    assert importers("numba") == ["kernels/compile.py", "kernels/llvm.py"]


def test_one_file_uses_private_interfaces_of_numba() -> None:
    assert [place(file) for file in FILES if private(file)] == ["kernels/compile.py"]


def test_only_the_compiled_tier_imports_llvmlite() -> None:
    assert all(name.startswith("kernels/") for name in importers("llvmlite"))


def test_only_the_rim_opens_files() -> None:
    assert calls(OPENING, RIM) == []
    assert len(calls(OPENING, ())) > 3  # the rule sees what it looks for


def test_only_the_command_line_prints() -> None:
    assert calls({"print"}, "cli/") == []


def test_kernels_import_nothing_of_ours_but_kernels_and_errors() -> None:
    found = {name for file in FILES if place(file).startswith("kernels/") for name in imports(file)}
    ours = {name for name in found if name.split(".")[0] == "subwords"}
    assert {name for name in ours if not name.startswith("subwords.kernels")} == {"subwords.support.errors"}


def test_kernels_that_are_imported_by_name_are_declared() -> None:
    asked = {
        alias.name
        for file in FILES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.ImportFrom) and node.module == "subwords.kernels.named"
        for alias in node.names
    }
    asked |= {name for name, home in offered("machine.pyi").items() if home == "subwords.kernels.named"}
    declared = {
        node.name
        for file in FILES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.FunctionDef) and {*map(ast.unparse, node.decorator_list)} & {"kernel", "address_kernel"}
    }
    assert len(asked) > 90
    assert asked <= declared


def test_only_kernels_import_the_sources_of_kernels() -> None:
    jobs = {f"subwords.kernels.{folder.name}" for folder in (SOURCE / "kernels").iterdir() if folder.is_dir()}
    others = [file for file in FILES if not place(file).startswith(("kernels/", "reference/"))]
    found = {name for file in others for name in imports(file) if ".".join(name.split(".")[:3]) in jobs}
    assert found == set()


def test_the_package_does_not_use_its_oracles() -> None:
    users = {place(file) for file in FILES if any(name.startswith("subwords.reference") for name in imports(file))}
    assert {name for name in users if not name.startswith("reference/")} == {"study/training_steps.py"}  # watches them


def test_reference_imports_the_standard_library_and_regex() -> None:
    found = {name for file in FILES if place(file).startswith("reference/") for name in imports(file)}
    own = {name for name in found if name.startswith("subwords.reference")}
    assert {name for name in found - own if name.split(".")[0] not in {*sys.stdlib_module_names, "regex"}} == set()


# Floors, the highest first. A module imports rooms of lower floors, and rooms further right on its own floor.
FLOORS = (
    "cli",
    "study research",
    "adapt sampling scale files web prompts polars",
    "interop training chat",
    "tokenizer machine",
    "tokens formats",
    "engine",
    "models",
    "corpus",
    "normalize split",
    "spec",
    "kernels support",
)
# Functions that import a module of a higher room when they are called.
UPWARD = {
    "BPESegmenter._between_cuts": "engine.encoder",
    "BPESegmenter._lost": "engine.encoder",
    "BPESegmenter._unfused": "engine.encoder",
    "BPESegmenter.cuts": "engine.encoder",
    "Tokenizer._chatter": "chat.conversation",
    "Tokenizer.as_hf": "interop.hf",
    "Tokenizer.as_sentencepiece": "interop.sentencepiece",
    "Tokenizer.as_tiktoken": "interop.tiktoken",
    "Tokenizer.chat": "chat.chat",
    "Tokenizer.chats": "chat.chat",
    "Tokenizer.encode_files": "scale.job",
    "Tokenizer.reply_format": "chat.reply_format",
    "Tokenizer.to_transformers": "interop.hf",
    "_rule": "formats.hf.pre_tokenizers formats.json_node",
    "_steps_of_rule": "formats.hf.normalizers formats.json_node",
    "decoder": "formats.hf.decoders formats.json_node",
    "count": "scale.job",
    "encoder_of": "engine.encoder",
}
ROOMS = [room for floor in FLOORS for room in floor.split()]
RANK = {room: (-floor, -at) for floor, rooms in enumerate(FLOORS) for at, room in enumerate(rooms.split())}
FACE = ("__init__", "__main__")  # the public names, and the program


def room_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(file: Path, *, types: bool = True) -> Iterator[tuple[str, str]]:
    """The modules of ours that a file imports, each after the name of the function that imports it, or "".

    Without `types`, those that it imports when it runs.
    """
    yield from _imported(tree(file), "", types)


def _imported(node: ast.AST, inside: str, types: bool) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        inside = f"{inside}.{node.name}".lstrip(".")
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("subwords"):
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            yield inside, whole if whole in MODULES else OFFERED.get(whole, node.module or "")
    for child in ast.iter_child_nodes(node):
        if types or not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _imported(child, inside, types)


def offered(stub: str) -> dict[str, str]:
    """The names that a stub lists, each with the module that defines it."""
    lines = re.findall(r"^from (\S+) import (\S+) as \2\b", (SOURCE / stub).read_text("utf-8"), re.MULTILINE)
    return {name: home for home, name in lines}


MODULES = {".".join(["subwords", *file.relative_to(SOURCE).with_suffix("").parts]): file for file in FILES}
OFFERED = {
    f"{package}.{name}": home
    for package, stub in (("subwords", "__init__.pyi"), ("subwords.machine", "machine.pyi"))
    for name, home in offered(stub).items()
}
MODULES = {name.removesuffix(".__init__"): file for name, file in MODULES.items()}


def test_every_room_has_a_rank() -> None:
    assert {room_of(file) for file in FILES} - {*FACE, "reference"} == {*RANK}


def is_below(module: str, room: str) -> bool:
    other = module.partition(".")[2].partition(".")[0]
    return other in ("", "reference", room) or RANK[other] < RANK[room]  # "": the version


def test_imports_point_down_but_for_those_named() -> None:
    rooms = {file: room_of(file) for file in FILES if room_of(file) not in (*FACE, "reference")}
    upward = [found for file, room in rooms.items() for found in imported_modules(file) if not is_below(found[1], room)]
    named = {(name, f"subwords.{module}") for name, modules in UPWARD.items() for module in modules.split()}
    assert {found for found in upward if found[0]} == named
    # The types of what these functions take and return.
    assert {found[1].split(".")[1] for found in upward if not found[0]} <= {module.split(".")[1] for _, module in named}


# Modules that import each other, if types and imports inside functions count too, and why.
CIRCLES = {
    "methods of Tokenizer, count() and their types reach rooms of the shop, which need a Tokenizer": [
        "chat.chat chat.conversation chat.reply chat.reply_format chat.reply_reading interop.hf interop.sentencepiece "
        "interop.tiktoken interop.verify scale.job "
        "scale.runners scale.work tokenizer training.count"
    ],
    "a model's segmenter, its encoder and the engine hold each other: types, and the exact slow ways": [
        "engine.batch engine.encoder engine.fast_path models.bpe.plain models.bpe.segmenter models.families",
        "engine.engine engine.spans engine.unknown",
        "models.bpe.merges models.bpe.model",
    ],
    "a kernel is compiled, stored or shipped, and what does so takes a kernel": [
        "kernels.compile kernels.entry kernels.llvm kernels.machine_code kernels.stored"
    ],
    "a reader hands what it meets to the reader of another format, and methods of WordCounts are in two files": [
        "corpus.columns corpus.read",
        "corpus.counts corpus.mix",
        "formats.hf.folder formats.read formats.tiktoken",
        "formats.hf.tokenizer_json formats.hf.unigram",
    ],
    "a route by masks leaves to the machine of its rule what masks cannot": [
        "split.finders split.routes split.selection"
    ],
}


@pytest.mark.parametrize("every", [False, True])
def test_no_modules_import_each_other_in_a_circle(every: bool) -> None:
    graph = {
        name: {other for inside, other in imported_modules(file, types=every) if every or not inside}
        for name, file in MODULES.items()
    }
    told = sorted([f"subwords.{name}" for name in one.split()] for group in CIRCLES.values() for one in group)
    assert circles(graph) == (told if every else [])
    assert len(CIRCLES) <= 5
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules each of which imports all others of its group, directly or not."""
    reached = {name: set(others) for name, others in graph.items()}
    for _ in range(len(graph)):
        larger = {name: others.union(*(reached.get(other, ()) for other in others)) for name, others in reached.items()}
        if larger == reached:
            break
        reached = larger
    groups = {
        tuple(sorted(other for other in others if name in reached.get(other, ())))
        for name, others in reached.items()
        if name in others
    }
    return [list(group) for group in sorted(groups)]


def test_the_map_in_contributing_is_the_house() -> None:
    told = (
        (ROOT / "CONTRIBUTING.md")
        .read_text("utf-8")
        .partition("## The house")[2]
        .partition("```")[2]
        .partition("```")[0]
    )
    assert re.findall(r"^ *\d* +(\w+)(?:/|\.py) ", told, re.MULTILINE) == [*ROOMS, "reference"]


def test_imports_that_point_up_are_told() -> None:
    told = (
        (ROOT / "CONTRIBUTING.md")
        .read_text("utf-8")
        .partition("import a higher room when they are called:")[2]
        .partition(".\n")[0]
    )
    assert re.findall(r"`([\w.]+)`", told) == sorted(UPWARD)


def test_the_house_fits_in_a_head() -> None:
    with_code = [file for file in FILES if len(file.read_text("utf-8").splitlines()) > 1]
    assert len(with_code) <= MOST_FILES
    assert (
        len({*ROOMS} - {"files", "machine", "polars", "prompts", "research", "sampling", "tokenizer"}) <= 18
    )  # folders; the others are one file each


# The most lines that a room may have. Who raises one says in the commit what was tried to stay below.
BUDGETS = {
    "adapt": 2000,
    "chat": 5000,
    "cli": 3950,
    "corpus": 3700,
    "engine": 9450,
    "formats": 6800,
    "interop": 3400,
    "kernels": 15800,
    "models": 5300,
    "normalize": 2350,
    "prompts": 350,
    "reference": 2350,
    "research": 600,
    "sampling": 400,
    "scale": 950,
    "spec": 3300,
    "split": 3450,
    "study": 7450,
    "support": 2550,
    "tokenizer": 1200,
    "tokens": 1600,
    "training": 1050,
    "web": 350,
}


def test_rooms_keep_their_budgets() -> None:
    sizes: dict[str, int] = {}
    for file in FILES:
        sizes[room_of(file)] = sizes.get(room_of(file), 0) + file.read_text("utf-8").count("\n")
    over = {room: (size, BUDGETS.get(room, 100)) for room, size in sizes.items() if size > BUDGETS.get(room, 100)}
    assert not over, f"lines and budget: {over}"
    wide = {room for room, most in BUDGETS.items() if most > sizes[room] + 200}
    assert not wide, f"expected budgets at most 200 lines above what rooms have: lower those of {sorted(wide)}"


# The same for the tests, and for the names that they reach past the public ones.
TEST_LINES = 53_680
INSIDE_NAMES = 240


def test_tests_keep_their_budgets() -> None:
    lines = sum(file.read_text("utf-8").count("\n") for file in (ROOT / "tests").rglob("*.py"))
    names = len({*inside.HOMES, *inside.TWICE, *inside.MODULES})
    assert TEST_LINES - 200 <= lines <= TEST_LINES
    assert INSIDE_NAMES - 20 <= names <= INSIDE_NAMES


def test_names_of_internals_are_in_use() -> None:
    asked = {
        alias.name
        for file in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "inside"
        for alias in node.names
    }
    assert {*inside.HOMES, *inside.TWICE, *inside.MODULES} == asked


# What people do with tokenizers. None of it is needed to train, encode, decode, read and write.
SHOP = "adapt chat cli files.py files.pyi interop polars.py prompts.py research.py sampling.py scale study tokens web"
MACHINE = """
import subwords

texts = ["the low lower lowest, the newer widest"] * 3
for algorithm, size in (("bpe", 270), ("wordpiece", 32), ("unigram", 30), ("wordlevel", 11)):
    special = ["[PAD]", "<pad>", "[UNK]", "<unk>"]
    tok = subwords.train(texts, algorithm=algorithm, vocab_size=size, special_tokens=special)
    ids = tok.encode(texts[0])
    assert ids and tok.encode_batch(texts, threads=2).to_lists() == [ids] * 3 and tok.decode(ids)
    assert tok(texts[0]).spans[0].tolist()[0] == 0 and len(tok(texts[0]).tokens) == len(ids)
    assert tok(texts, padding=subwords.Padding(3), truncation=3).to_numpy()["input_ids"].shape == (3, 3)
    tok.save("tokenizer.json")
    assert subwords.load("tokenizer.json").encode(texts[0]) == ids
counts = subwords.count(texts)
assert subwords.train(counts, vocab_size=270).encode("low")
"""


def test_the_machine_works_without_the_shop(tmp_path: Path) -> None:
    def left_out(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name == "__pycache__" or (Path(folder) == SOURCE and name in SHOP.split())]

    shutil.copytree(SOURCE, tmp_path / "subwords", ignore=left_out)
    found = subprocess.run(
        [sys.executable, "-c", MACHINE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr


# Rooms of the shop that use more of the machine than `subwords.machine` offers.
INSIDE = {
    "cli/files.py": "tells where machine code of kernels comes from, and where it is kept",
    "prompts.py": "a tree of growing texts, made of their parts",
    "research.py": "a trainer of its own: it runs the kernels of BPE's",
    "scale/": "its processes run the parts of counting and encoding, each on a shard",
    "study/training_steps.py": "watches the trainers",
}
MOST_OFFERED = 145  # names


def test_the_shop_uses_what_the_machine_offers() -> None:
    shop = {name.partition(".")[0] for name in SHOP.split()}
    machine = {*ROOMS} - shop - {"machine", "support"}
    asked, inside = set[str](), set[str]()
    for file in (file for file in FILES if room_of(file) in shop):
        inside |= {
            place(file) for name in imports(file) if name.startswith("subwords.") and name.split(".")[1] in machine
        }
        asked |= {
            alias.name
            for node in ast.walk(tree(file))
            if isinstance(node, ast.ImportFrom) and node.module == "subwords.machine"
            for alias in node.names
        }
    assert {name for name in inside if not name.startswith((*INSIDE,))} == set()
    assert all(any(name.startswith(start) for name in inside) for start in INSIDE)
    assert sorted(asked) == sorted(offered("machine.pyi"))
    assert len(asked) <= MOST_OFFERED and len(INSIDE) <= 5
    assert not {*asked} & {*subwords.__all__}


# The fast paths: second ways to a result that another way gives too. Each names, in its docstring or in a comment, the
# row of the benchmark of this name that falls without it: `Row: calls, "encode(line) to a list"`.
PRICES = {
    "calls": "engine/decode/joined.py:Joined.fast_path engine/fast_path.py:FastPath engine/spans.py:SpanSizes",
    "calls_batch": "engine/batch.py:encode_places kernels/fastpath.py:make_lists",
    "calls_load": "split/routes.py:MachineRoute.kept",
    "calls_special": """
        engine/call.py:QuickCalls
        engine/decode/joined.py:Joined.fast_paths engine/engine.py:Engine.fast_path engine/fast_path.py:FastPath.rows
        engine/rows.py:IdRows engine/text_parts.py:TextParts.cut_in_place
    """,
    "encode_bert": "kernels/split/words.py: normalize/normalizer.py:_fused",
    "encode_cl100k": "kernels/bpe/lanes.py:merge_known",
    "encode_gpt2": "engine/encoder.py:safe_cuts",
    "encode_sentencepiece": "engine/engine.py:PlainSpaces",
    "growing": "engine/growing.py:ProvedCuts",
    "requests": """
        engine/encoder.py:EncoderState.enter_tokens kernels/bpe/lanes.py: kernels/fastpath.py:gains_at
        kernels/layout.py: kernels/objects.py:write_utf8
    """,
    "requests_lists": "engine/fast_path.py:FastPath.listed",
    "split": """
        kernels/split/transducer.py: split/routes.py:CasedRoute split/routes.py:GapsRoute split/routes.py:MaskRoute
    """,
    "startup_encode": "engine/kept.py: formats/hf/by_kernel.py:",
    "train": """
        corpus/blocks.py:invalid_place kernels/bpe/pairs.py: split/routes.py:Scanner.texts
    """,
    "train_wordpiece": "kernels/wordpiece/train.py:",
}


def rows_named(file: Path) -> Iterator[tuple[str, str, str]]:
    """The rows of benchmarks that a file names: the benchmark, how the name of the row begins, and where."""
    text = file.read_text("utf-8")
    for found in re.finditer(r'Row: (\w+),[\s#]+"([^"]+)"', text):
        line = text.count("\n", 0, found.start()) + 1
        kinds = (node for node in ast.walk(tree(file)) if isinstance(node, ast.ClassDef | ast.FunctionDef))
        around = [node.name for node in kinds if node.lineno <= line <= (node.end_lineno or 0)]  # the outer one first
        yield found[1], found[2], f"{place(file)}:{'.'.join(around)}"


def test_fast_paths_name_the_rows_that_fall_without_them() -> None:
    named = [row for file in FILES for row in rows_named(file)]
    told = [(benchmark, where) for benchmark, places in PRICES.items() for where in places.split()]
    assert sorted((benchmark, where) for benchmark, _, where in named) == sorted(told)
    for benchmark, row, where in named:
        definition = (ROOT / "benchmarks" / "definitions" / f"{benchmark}.toml").read_text("utf-8")
        cases = [case["name"].replace("`", "") for case in tomllib.loads(definition)["cases"]]
        assert any(case.startswith(row) for case in cases), (where, benchmark, row)


# Why some names are defined in several modules. All other classes and public functions are defined once.
TWICE = {
    ("cli/", ""): "a command has the name of the function that it runs",
    ("formats/hf/", "read_model write_model write_vocab token_texts"): "what the file of each family has",
    ("spec/", "Replace Strip"): "steps of normalizers, splitters and decoders, whose names are part of their identity",
    ("reference/", ""): "textbook versions",
}


def test_a_name_is_defined_once() -> None:
    homes: dict[str, set[str]] = {}
    for file in FILES:
        for node in tree(file).body:
            public = isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and node.name[0] != "_")
            if public and not any(
                place(file).startswith(start) and (not names or node.name in names.split()) for start, names in TWICE
            ):
                homes.setdefault(node.name, set()).add(place(file))
    assert {name: sorted(files) for name, files in homes.items() if len(files) > 1} == {}
    assert len(homes) > 1000  # the rule sees what it looks for


# What takes more than two arguments by position, and why.
BY_POSITION = {
    "study.align": "two tokenizers, as in diff, and the text as in a call of them",
    "study.boundary_difference": "a tokenizer, and the two texts as in a call of it",
    **dict.fromkeys(("WordCounts", "adapt.Adapted", "adapt.IdMap"), "a result, which the package makes"),
    **dict.fromkeys(("files.Export", "research.LanguageCost"), "a result, which the package makes"),
    "research.Parity": "a result, which the package makes",
}


def public_functions() -> Iterator[tuple[str, list[inspect.Parameter]]]:
    """The public functions, classes and methods, with their parameters but for `self`."""
    homes = {"": subwords, **{f"{space}.": getattr(subwords, space) for space in SPACES}}
    values = {f"{home}{name}": getattr(module, name) for home, module in homes.items() for name in module.__all__}
    for whole, value in values.items():
        kind = inspect.isclass(value) and not issubclass(value, BaseException)
        if kind or inspect.isfunction(value):
            yield whole, [*inspect.signature(value).parameters.values()]
        for key, method in vars(value).items() if kind else ():
            if (key == "__call__" or key[0] != "_") and isinstance(method, FunctionType | classmethod):
                first = isinstance(method, FunctionType)
                yield f"{whole}.{key}", [*inspect.signature(getattr(value, key)).parameters.values()][first:]


def test_functions_take_two_arguments_by_position() -> None:
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    many = {name for name, all_of in public_functions() if sum(one.kind not in named for one in all_of) > 2}
    assert many == {*BY_POSITION}
    assert len([*public_functions()]) > 100  # the rule sees what it looks for


# Where private names of other classes are read: of libraries, and what Jupyter calls.
FOREIGN = {
    "chat/limits.py": "_Namespace__attrs",
    "interop/verify.py": "_tokenizer",
    "kernels/compile.py": "_data_layout _final_module _library_class _target_data _tm _tm_features",
    "kernels/modes.py": "_getframe",
}


def foreign_names(file: Path) -> set[str]:
    """The private attributes that a file reads and that no class of this file has."""
    own, read = {"_replace", "_asdict", "_fields", "_make"}, set[str]()  # those of named tuples are public
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Attribute) and re.match("_(?!_)", node.attr):
            of = ast.unparse(node.value)
            (own if of in ("self", "cls", "super()") else read).add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            own.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            own.add(ast.unparse(node.target))
    return read - own


def test_private_attributes_are_read_where_their_class_is() -> None:
    found = {place(file): " ".join(sorted(foreign_names(file))) for file in FILES}
    assert {file: names for file, names in found.items() if names} == FOREIGN


# Words that say how much, not of what: the name of a constant needs a noun too.
QUANTITIES = (
    "AHEAD ENOUGH EVERY EXACT FAR FEW FEWER HUGE LARGE LARGER LARGEST LEAST LEFT LITTLE LONG LONGER LONGEST LOWEST "
    "HIGHEST MANY MORE MOST MUCH NEAR RARE READ ROOM SHORT SHORTER SHORTEST SMALL SMALLEST SPARE"
)


def constants(file: Path) -> list[str]:
    """The names that a module assigns, but for those of range(), which number the fields of a table."""
    return [
        name.id
        for node in tree(file).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and not ast.unparse(node.value or node).startswith("range(")
        for name in ast.walk(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name.id.isupper()
    ]


def test_constants_have_a_noun() -> None:
    names = [f"{place(file)} {name}" for file in FILES for name in constants(file)]
    found = {name for name in names if name.split()[1].strip("_") in QUANTITIES.split()}
    assert found == set()
    # Of two constants of one name in one file the later value would hold for both.
    assert {name for name, times in Counter(names).items() if times > 1} == set()


def test_files_stay_short() -> None:
    sizes = {place(file): len(file.read_text("utf-8").splitlines()) for file in FILES}
    assert [name for name, size in sizes.items() if size >= MOST_LINES.get(name, 850)] == []


def test_public_definitions_have_docstrings() -> None:
    assert [place(file) for file in FILES if not ast.get_docstring(tree(file))] == []
    lacking = [
        (place(file), node.name) for file in FILES for node in _public(tree(file)) if not ast.get_docstring(node)
    ]
    assert lacking == []


def _public(node: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and not child.name.startswith("_"):
            if not any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in child.decorator_list):
                yield child
            if isinstance(child, ast.ClassDef):
                yield from _public(child)


# The classes of the four families, and what may ask whether a model is of one of them: the folders of the families, the
# registry, and the files named here.
CLASSES = {f"{family.model_class}{kind}" for family in families.FAMILIES.values() for kind in ("", "Segmenter")} | {
    "Model"
}
FOLDERS = ("models/", "spec/model.py")
MAY_ASK = {"spec/tokenizer.py": "a spec needs a model of any family: the only check of its type"}


def family_questions(file: Path) -> Iterator[str]:
    """Where a file asks for the family of a model by its class, or for an attribute that models may lack."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.MatchClass) and ast.unparse(node.cls) in CLASSES:
            yield f"{place(file)}:{node.lineno} case {ast.unparse(node.cls)}"
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        name, (first, second, *_) = ast.unparse(node.func), node.args
        by_class = name in ("isinstance", "issubclass") and {*re.findall(r"\w+", ast.unparse(second))} & CLASSES
        by_name = name in ("getattr", "hasattr") and ast.unparse(first).split(".")[-1].strip("_") == "model"
        if by_class or by_name:
            yield f"{place(file)}:{node.lineno} {ast.unparse(node)}"


def test_code_asks_models_and_the_registry_not_classes() -> None:
    asking = {place(file) for file in FILES if [*family_questions(file)]}
    found = [
        line for file in FILES if not place(file).startswith((*FOLDERS, *MAY_ASK)) for line in family_questions(file)
    ]
    assert found == []
    assert {*MAY_ASK} <= asking  # the rule sees what it looks for


@pytest.mark.parametrize("family", families.FAMILIES.values(), ids=families.FAMILIES)
def test_the_registry_names_what_exists(family: families.Family) -> None:
    assert all(callable(family.tool(name)) for name in family.tools)
    model = family.untrained(family_settings(family.name, {"vocab_size": 300}))
    assert family_of(model) is family
    assert type(segmenter_of(model)) is family.segmenter


def repository_files() -> Iterator[Path]:
    built = {"build", "dist", "out", "__pycache__"}
    for path in sorted(ROOT.iterdir()):
        if path.name in (".ci", ".github") or (not path.name.startswith(".") and path.name not in built):
            yield from (path.rglob("*") if path.is_dir() else [path])


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in repository_files()
        if path.is_file() and path.suffix in {"", ".py", ".md", ".toml", ".json", ".txt", ".yml", ".cfg"}
        for word in MACHINE_PATHS
        if word in path.read_text("utf-8")
    ]
    assert found == []


def test_only_one_file_of_tests_names_internal_modules() -> None:
    tests = ROOT / "tests"
    offered = ("machine", "reference", "cli", "polars", *SPACES)  # the machine's names hold for the shop, and for tests
    public = tuple(f"subwords.{name}" for name in offered)
    found = [
        f"{file.relative_to(tests)}: {name}"
        for file in tests.rglob("*.py")
        if "programs" not in file.parts
        for name in imports(file)
        if name.startswith("subwords.") and not name.startswith(public)
    ]
    assert found == []


def test_faults_to_plant_are_in_the_code() -> None:
    source = "".join(file.read_text("utf-8") for file in FILES)
    assert [fault.name for fault in FAULTS if source.count(fault.old) != 1] == []
