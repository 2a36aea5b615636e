"""The machine code of all kernels for other processors: one shared library for each, made on one machine.

`wasm32` is a module for WebAssembly with the kernels that encode and decode; see `src/subwords/kernels/web.py`.

    python -m tools.machine_code FOLDER [TARGET ...]
    python -m tools.machine_code --web FILE

Numba compiles every kernel to LLVM's intermediate code once for each set of features, in a process of its own. LLVM
makes objects of it for each target, and ziglang, which has a linker for every system, links them. The folder gets the
libraries, `code.json`: the digest of the sources of kernels, and the checksum of each library; and `tables`, see
`tools/tables.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SSE = "+cx16,+crc32,+popcnt,+sahf,+sse3,+ssse3,+sse4.1,+sse4.2"
AVX2 = f"{SSE},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
AVX512 = f"{AVX2},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
VBMI2 = f"{AVX512},+avx512bitalg,+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512vnni,+avx512vpopcntdq"

COMPILERS = ("llvmlite", "numba", "numpy", "ziglang")


class Source(NamedTuple):
    """What Numba is told to compile for."""

    processor: str
    features: str


SOURCES = {
    "v2": Source("x86-64-v2", SSE),
    "v3": Source("x86-64-v3", AVX2),
    "v4": Source("x86-64-v4", AVX512),
    "v4-vbmi2": Source("x86-64-v4", VBMI2),
    "web": Source("x86-64-v2", SSE),  # Numba knows no WebAssembly: see `compile_for_web`
}


WEB_FEATURES = "+simd128,+bulk-memory,+sign-ext,+mutable-globals,+nontrapping-fptoint"


class Target(NamedTuple):
    """A kind of processor and system: the code that Numba makes for it, and what LLVM and the linker call it."""

    source: str
    triple: str
    processor: str
    features: str
    linker: str
    suffix: str


def _x86(level: str, triple: str, linker: str, suffix: str) -> Target:
    return Target(level, triple, *SOURCES[level], linker, suffix)


TARGETS = {
    **{
        f"linux-x86_64-{level}": _x86(level, "x86_64-unknown-linux-gnu", "x86_64-linux-gnu.2.28", "so")
        for level in SOURCES
        if level != "web"
    },
    **{
        f"windows-x86_64-{level}": _x86(level, "x86_64-pc-windows-gnu", "x86_64-windows-gnu", "dll")
        for level in ("v2", "v3")
    },
    # Code made for x86-64-v2 has no instruction of its own in the intermediate code.
    "linux-aarch64": Target("v2", "aarch64-unknown-linux-gnu", "generic", "+neon", "aarch64-linux-gnu.2.28", "so"),
    "macos-arm64": Target("v2", "arm64-apple-macosx11.0.0", "apple-m1", "", "aarch64-macos.11.0", "dylib"),
    "wasm32": Target("web", "wasm32-unknown-unknown", "mvp", WEB_FEATURES, "wasm32", "wasm"),
}
WEB_STACK = 1 << 15  # bytes of the stack of a WebAssembly module, which the data of the module follows
# Kernels of all targets read the heads of Python's objects from these variables, which the loader sets.
HEADS = """
@subwords_array_head = hidden global i64 0
@subwords_tuple_head = hidden global i64 0
define void @subwords_set_heads(i64 %array, i64 %tuple) {
  store i64 %array, ptr @subwords_array_head
  store i64 %tuple, ptr @subwords_tuple_head
  ret void
}
"""
ATTRIBUTES = re.compile(r' "(?:target-cpu|target-features|tune-cpu)"="[^"]*"')
NAME = re.compile(r'@(?:[\w.$-]+|"[^"]*")')
VARIABLE = re.compile(rf"({NAME.pattern}) = (?!.*\bexternal\b|hidden)")
# A function that is passed to another is, to Numba, the address of an object in the process that compiles. No code
# reads it, since calls are resolved; kernels of the cache have the address of another process.
OBJECT = re.compile(r"^(@numba\.dynamic\.globals\.\w+ = .*global ptr )inttoptr \(i64 \d+ to ptr\)", re.MULTILINE)
# WebAssembly adds an offset to an address only if the sum does not wrap around: no array begins or ends there.
OFFSET = re.compile(r"getelementptr (i\d+), ptr (%\S+), i32 (\d+)$", re.MULTILINE)
HEADER = re.compile(r'^target (?:datalayout|triple) = ".*"\n', re.MULTILINE)


def main() -> None:
    if sys.argv[1:2] == ["--intermediate"]:
        _write_intermediate(Path(sys.argv[2]), web=sys.argv[3] == "web")
        return
    if sys.argv[1:2] == ["--web"]:
        file = Path(sys.argv[2])
        with tempfile.TemporaryDirectory() as work:
            _make("wasm32", Path(work), file)
        return
    folder, names = Path(sys.argv[1]), sys.argv[2:] or [*TARGETS]
    build(folder, names)


def build(folder: Path, names: list[str]) -> None:
    """Write the libraries of these targets, and `code.json`, into a folder."""
    from tools.tables import content as table_file

    from subwords.kernels.fastpath import every_address_kernel
    from subwords.kernels.jit import every_kernel
    from subwords.kernels.stored import KERNELS, digest_folder

    folder.mkdir(parents=True, exist_ok=True)
    sources = digest_folder(KERNELS)  # before, so that an edit meanwhile is noticed
    with tempfile.TemporaryDirectory() as work:
        needed = sorted({TARGETS[name].source for name in names})
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda source: _compile(source, Path(work)), needed))
        libraries = {}
        for name in names:
            file = folder / f"{name}.{TARGETS[name].suffix}"
            _make(name, Path(work), file)
            libraries[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
            print(f"{file.name}: {file.stat().st_size:,} bytes")
    kernels = {kernel.name: kernel.kinds for kernel in every_kernel() + every_address_kernel()}
    compilers = {name: version(name) for name in COMPILERS}
    (folder / "tables").write_bytes(table_file())
    content = {"sources": sources, "libraries": libraries, "kernels": kernels, "compilers": compilers}
    (folder / "code.json").write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


def _make(name: str, work: Path, file: Path) -> None:
    """Write the library of a target."""
    target = TARGETS[name]
    if not (work / target.source).exists():
        _compile(target.source, work)
    _link(target, _objects(target, work), file)


def _compile(source: str, work: Path) -> None:
    """Have Numba compile every kernel for a set of features, in a process of its own."""
    folder = work / source
    folder.mkdir()
    processor, features = SOURCES[source]
    chosen = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features, "SUBWORDS_KERNELS": "jit"}
    environment = {**os.environ, **chosen, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "tools.machine_code", "--intermediate", str(folder), source]
    subprocess.run(command, check=True, env=environment, cwd=ROOT)


def _write_intermediate(folder: Path, *, web: bool) -> None:
    from subwords.kernels import compile as compiler
    from subwords.kernels import llvm
    from subwords.kernels.fastpath import every_address_kernel
    from subwords.kernels.jit import every_kernel
    from subwords.kernels.web import every_web_kernel

    llvm.PORTABLE = True
    if web:
        compiler.compile_for_web(_machine(TARGETS["wasm32"]))
    for kernel in every_web_kernel() if web else every_kernel() + every_address_kernel():
        (folder / f"{kernel.name}.ll").write_text(compiler.intermediate_code(kernel), "utf-8")


def _machine(target: Target) -> Any:
    """Return what LLVM makes code with."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    reloc = "static" if target.suffix == "wasm" else "pic"
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.processor, features=target.features, opt=3, reloc=reloc, codemodel="small"
    )


def _places() -> str:
    """Return a table of the places of kernels in the table of functions of a WebAssembly module."""
    from subwords.kernels.web import NAMED

    declared = "\n".join(f"declare i64 @subwords_{name}()" for name in NAMED)
    places = ", ".join(f"ptr @subwords_{name}" for name in NAMED)
    return f"{declared}\n@subwords_kernels = constant [{len(NAMED)} x ptr] [{places}]\n"


def _objects(target: Target, work: Path) -> list[Path]:
    """Return object files of a target's kernels."""
    from llvmlite import binding

    machine, others = _machine(target), {"places": _places()} if target.suffix == "wasm" else {"heads": HEADS}
    header = f'target datalayout = "{machine.target_data}"\ntarget triple = "{target.triple}"\n'
    made = []
    texts = {path.stem: path.read_text("utf-8") for path in sorted((work / target.source).glob("*.ll"))}
    for name, text in {**texts, **others}.items():
        text = header + HEADER.sub("", ATTRIBUTES.sub("", text))
        text = re.sub(r"^(@subwords_\w+_head) = external ", r"\1 = external hidden ", text, flags=re.MULTILINE)
        text = OBJECT.sub(r"\1null", text if name == "places" else _without_unused(text))
        if target.suffix == "wasm":
            text = OFFSET.sub(r"getelementptr nuw \1, ptr \2, i32 \3", text)
        module = binding.parse_assembly(text)
        values = [*module.functions, *module.global_variables]
        own = [one for one in values if not one.is_declaration and not one.name.startswith("subwords_")]
        for number, value in enumerate(own):
            # A library for macOS keeps these names, and Numba's hold addresses of the process that compiled.
            value.linkage, value.name = "internal", f"{name}.{number}"
        if target.suffix == "wasm":
            _narrow(module, machine)
        path = work / f"{target.linker}-{target.source}-{name}.o"
        path.write_bytes(machine.emit_object(module))
        made.append(path)
    return made


def _narrow(module: Any, machine: Any) -> None:
    """Remove the parameters that functions do not use: Numba passes all that is in a tuple."""
    from llvmlite import binding

    passes = binding.create_new_module_pass_manager()
    passes.add_ipsccp_pass()
    passes.add_dead_arg_elimination_pass()
    passes.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options()))


def _without_unused(text: str) -> str:
    """Leave out variables that nothing mentions."""
    mentions = Counter(NAME.findall(text))
    lines = text.split("\n")
    return "\n".join(line for line in lines if not (found := VARIABLE.match(line)) or mentions[found[1]] > 1)


def _link(target: Target, objects: list[Path], file: Path) -> None:
    """Link objects, all of one folder, to one shared library, or module, without debugging information.

    A module keeps the names of functions: an export leaves out those of kernels that it does not need.
    """
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target.linker, "-shared", "-s", "-O2"]
    if target.suffix == "wasm":
        from subwords.kernels.web import CALLED

        exported = ["__heap_base", "subwords_kernels", *(kernel.symbol for kernel in CALLED)]
        command = [sys.executable, "-m", "ziglang", "wasm-ld", "--no-entry", "-O2", "--strip-debug", "--gc-sections"]
        command += ["--import-memory", "-z", f"stack-size={WEB_STACK}", "--stack-first"]
        command += [f"--export={name}" for name in exported]
    # Names without folders: a library for macOS has its own in it.
    work = objects[0].parent
    subprocess.run([*command, "-o", file.name, *(path.name for path in objects)], check=True, cwd=work)
    file.write_bytes((work / file.name).read_bytes())


if __name__ == "__main__":
    main()
