"""Mutation testing of modules in which a silent error does most harm: `python -m tools.mutants [MODULE...] --count 40`.

A mutant is one small change, by an operator of cosmic-ray (`pip install cosmic-ray`), or a statement that is left out.
What passes the tests of its module is printed: a test is missing, code is needless, or the mutant means the same.
"""

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from difflib import unified_diff
from functools import partial
from pathlib import Path
from shutil import copytree, ignore_patterns

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "chat/owned_text": "unit/test_chat_trust.py unit/test_chat.py",
    "chat/reply": "unit/test_reply.py",
    "chat/reply_format": "unit/test_reply.py",
    "chat/reply_reading": "unit/test_reply.py",
    "chat/passes": "unit/test_chat_trust.py unit/test_chat.py parity/test_chat_templates.py",
    "corpus/counts": "unit/test_counts.py behaviour/test_weighted_texts.py",
    "engine/added_tokens": "unit/test_special.py test_find_equals_reference.py parity/test_added_tokens.py",
    "engine/call": "unit/test_call.py unit/test_encoding.py behaviour/test_every_way_to_ids.py",
    "engine/decode/joined": "unit/test_stream.py parity/test_decoders.py",
    "engine/decode/stream": "unit/test_stream.py behaviour/test_streams_and_token_bytes.py parity/test_decoders.py",
    "engine/kept": "unit/test_kept.py unit/test_cache_folders.py",
    "engine/rows": "unit/test_call.py parity/test_truncation_and_padding.py test_rows_equal_reference.py",
    "engine/spans": "unit/test_encoding.py behaviour/test_every_way_to_ids.py",
    "formats/hf/folder": "unit/test_hub.py behaviour/test_folders_with_every_key.py parity/test_folders.py",
    "interop/evidence": "unit/test_fuzz.py",
    "models/bpe/merges": "unit/test_rank_merges.py parity/test_byte_fallback.py test_encode_equals_reference.py",
    "support/files": "unit/test_atomic.py unit/test_remote.py unit/test_faults.py",
    "tokens/manifest": "unit/test_token_files.py unit/test_fuzz.py",
    "tokens/write": "unit/test_token_files.py behaviour/test_shards_of_ids.py unit/test_chat_files.py",
}


def meaning(code: str) -> str:  # without annotations, which are not evaluated
    tree = ast.parse(code)
    for node in ast.walk(tree):
        for name in {"annotation", "returns"} & {*node._fields}:
            setattr(node, name, None)
    return ast.dump(tree)


def without(code: str, node: ast.stmt) -> str:
    lines = code.split("\n")
    lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + "pass"]
    return "\n".join(lines)


def sample(code: str, count: int) -> list[str]:
    tree, places = get_ast(code), dict[object, list[Callable[[], str]]]()
    for name in sorted(each for each in operator_names() if "Variable" not in each):  # those need arguments
        operator = get_operator(name)()
        for at, spot in enumerate(spot for node in ast_nodes(tree) for spot in operator.mutation_positions(node)):
            places.setdefault((name.split("_")[0], spot), []).append(partial(mutate_code, code, operator, at))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.AugAssign | ast.Raise | ast.Return | ast.Expr) and ast.unparse(node)[0] not in "\"'":
            places["statement", node.lineno] = [partial(without, code, node)]
    chance, found = random.Random(1), {meaning(code): code}
    for key in chance.sample(sorted(places, key=repr), len(places)):
        with suppress(SyntaxError, AttributeError):  # of cosmic-ray, for exceptions with a dot in their name
            found.setdefault(meaning(mutant := chance.choice(places[key])()), mutant)
    return [*found.values()][1 : count + 1]


def passes(tests: str, tree: Path, limit: float) -> bool:
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-x", "--tb=no"]
    command += [f"tests/{file}" for file in tests.split()]
    with suppress(subprocess.TimeoutExpired), open(os.devnull, "w") as null:
        variables = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        return not subprocess.run(command, cwd=tree, env=variables, stdout=null, timeout=limit, check=False).returncode
    return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=[*TESTS])
    parser.add_argument("--count", type=int, default=40)
    for module in (options := parser.parse_args()).modules:
        with tempfile.TemporaryDirectory() as place:
            survived, tree = 0, Path(place) / "tree"
            copytree(ROOT, tree, ignore=ignore_patterns(".git", ".venv", ".*_cache"))
            (tree.parent / "shared").symlink_to(ROOT.parent / "shared")
            passes(TESTS[module], tree, 3600)  # compiles what is missing
            file, start = tree / f"src/subwords/{module}.py", time.monotonic()
            if not passes(TESTS[module], tree, 3600):
                raise SystemExit(f"{module}: its tests fail without a mutant")
            limit, code = 3 * (time.monotonic() - start) + 5, file.read_text("utf-8")
            for mutant in (mutants := sample(code, options.count)):
                file.write_text(mutant, "utf-8")
                if passes(TESTS[module], tree, limit):
                    survived += 1
                    print(*[*unified_diff(code.splitlines(), mutant.splitlines(), n=0, lineterm="")][2:], sep="\n")
            print(f"{module}: {len(mutants)} mutants, {survived} survived", flush=True)
