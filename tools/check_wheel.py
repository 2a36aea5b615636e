"""Check a wheel where nothing else is installed: no Numba, no compiler, no folder to write to.

    python -m tools.check_wheel WHEEL [PYTHON ...]

Each Python (the present one unless others are given) gets an environment with the wheel and what it depends on. There
`tools/results.py` runs with the machine code of every level that this processor has. All results must equal those of
kernels that Numba compiles here. A tokenizer that was used before must start without NumPy, and one is exported for
JavaScript. No library may hold an address of the process that compiled it: two builds would differ. Exit code 1 if one
of these does not hold.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from subwords.kernels.machine_code import FEATURES, processor_features
from subwords.kernels.modes import LEVELS

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [str(ROOT / "tools" / "results.py"), str(ROOT / "examples" / "opticks.txt")]
GPT2 = ROOT.parent / "shared" / "data" / "tokenizers" / "gpt2" / "tokenizer.json"
ADDRESS = re.compile(rb"0x[0-9a-f]{9,}")
FIRST_ID = "import subwords, sys; subwords.load(sys.argv[1]).encode('Hello')"
EXPORT = "import subwords; print(*subwords.files.export('demo', 'web').compressed.items())"
AGAIN = FIRST_ID + "; print('with' if 'numpy' in sys.modules else 'without', 'NumPy')"


def main() -> int:
    wheel, pythons = Path(sys.argv[1]), sys.argv[2:] or [sys.executable]
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    expected = _run([sys.executable, *PROGRAM], {"SUBWORDS_KERNELS": "jit", "PYTHONPATH": str(ROOT / "src")})
    print(f"compiled here: {expected}")
    right = [_check(wheel, python, expected.split()[0]) for python in pythons]  # all, also after one that is wrong
    with zipfile.ZipFile(wheel) as files:
        bound = [name for name in files.namelist() if "/machine/" in name and ADDRESS.search(files.read(name))]
    if bound:
        print(f"these hold addresses of the process that compiled them: {', '.join(bound)}")
    return 0 if all(right) and not bound else 1


def _check(wheel: Path, python: str, expected: str) -> bool:
    features = processor_features()
    levels = [level for level in LEVELS if all(map(features.get, FEATURES[level]))]
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([python, "-m", "venv", f"{place}/venv"], check=True)
        own = f"{place}/venv/bin/python" if os.name == "posix" else rf"{place}\venv\Scripts\python.exe"
        subprocess.run([own, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        size = sum(file.stat().st_size for file in Path(place, "venv").rglob("site-packages/**/*") if file.is_file())
        print(f"{python}: {size / 1e6:.0f} MB installed, pip included")
        found = []
        for level in levels or ["compiled"]:
            got = _run([own, *PROGRAM], {"SUBWORDS_KERNELS": level, "SUBWORDS_CACHE_DIR": "/dev/null"}, place)
            print(f"  {level}: {got}")
            found.append(got.split()[0] == expected and "neither" in got)
        folder = {"SUBWORDS_CACHE_DIR": f"{place}/cache"}
        starts = [_run([own, "-c", AGAIN, "demo"], folder, place).strip() for _ in range(2)]
        print(f"  the first start of a tokenizer: {starts[0]}; the second: {starts[1]}")
        found.append(starts == ["with NumPy", "without NumPy"])
        print(f"  exported for JavaScript: {(exported := _run([own, '-c', EXPORT], folder, place))}")
        found.append("subwords.wasm" in exported)
        if GPT2.exists():
            begin = time.perf_counter()
            _run([own, "-c", FIRST_ID, str(GPT2)], {"SUBWORDS_CACHE_DIR": "/dev/null"}, place)
            print(f"  process start to the first id of GPT-2's file: {time.perf_counter() - begin:.3f} s")
        return all(found)


def _run(command: list[str], variables: dict[str, str], folder: str | None = None) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SUBWORDS_", "PYTHONPATH"))}
    done = subprocess.run(
        command, env={**kept, **variables}, cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    return " ".join(done.stdout.split("\n")) if done.returncode == 0 else f"failed: {done.stderr[-1500:]}"


if __name__ == "__main__":
    sys.exit(main())
