"""The public surface: `python -m tools.surface` writes tests/surface.txt, one line for each public name and attribute.

The names are those of the package, of its namespaces and of the command line, and the types that their signatures name.
All but the commands is read from the sources, so that the lines do not depend on how a Python prints types.
`python -m tools.surface types` asks pyright whether it knows the types of all of them, which it cannot without node.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "tests" / "surface.txt"
NAMESPACES = ("adapt", "files", "research", "sampling", "scale", "study")
METHODS = ("__call__", "__contains__", "__enter__", "__getitem__", "__init__", "__iter__", "__len__", "__next__")
# Left out, of the types that signatures name: what the package itself does with models and engines.
INSIDE = ("spec.model", "spec.vocab", "engine.added_tokens", "engine.decode.decoding", "engine.decode.joined")
INSIDE += ("chat.conversation", "chat.owned_text", "chat.pieces", "chat.template")
HEAD = "# The public surface, written by `python -m tools.surface`. A changed line is a line in CHANGELOG.md.\n"

Definition = ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign


def main(arguments: list[str]) -> int:
    """Write the file, or check the types."""
    if arguments == ["types"]:
        return check_types()
    PLACE.write_text(text(), encoding="utf-8", newline="\n")
    return 0


def check_types() -> int:
    """Print the public names whose types pyright does not know for certain; 1 if there are any."""
    command = [sys.executable, "-m", "pyright", "--verifytypes", "subwords", "--ignoreexternal", "--outputjson"]
    # With --verifytypes, pyright asks the first Python of PATH where packages are, whatever --pythonpath says.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if not found.stdout.startswith("{"):
        print(f"skipped: pyright does not run here: {found.stderr[-200:]}")
        return 0
    places = [f"{'.'.join(home)}." for home in _homes()]
    symbols = json.loads(found.stdout)["typeCompleteness"]["symbols"]
    public = [one for one in symbols if f"{one['name']}.".startswith(tuple(places))]
    unknown = [one for one in public if not one["isTypeKnown"] or one["isTypeAmbiguous"]]
    for one in unknown:
        print(one["name"], *(each["message"] for each in one["diagnostics"]), sep="\n    ")
    print(f"types of public names: {len(public) - len(unknown)} of {len(public)} known")
    return 1 if unknown or not public else 0


def text() -> str:
    """Return what the file should hold."""
    return HEAD + "".join(f"{line}\n" for line in [*names(), *commands()])


def names() -> Iterator[str]:
    """Return the lines of all public names, then those of the types which these lines name."""
    for home, name in _homes().items():
        yield from _lines(name, home, {})


def _homes() -> dict[tuple[str, str], str]:
    """Return the public names by where they are defined."""
    told, types = dict[tuple[str, str], str](), dict[tuple[str, str], None]()
    for space in ("subwords", *(f"subwords.{name}" for name in NAMESPACES)):
        for name in _exported(space):
            if space != "subwords" or name not in NAMESPACES:
                told[_home(space, name)] = f"{space}.{name}"
    for home, name in told.items():
        list(_lines(name, home, types))
    return told | {home: ".".join(home) for home in sorted(_reached(types, {*told}))}


def _reached(types: dict[tuple[str, str], None], told: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the types of the package that the lines name, and those that their own lines name."""
    found, more = set[tuple[str, str]](), [*types]
    while more:
        home = more.pop()
        inside = home[1].startswith("_") or home[0].removeprefix("subwords.") in INSIDE
        if home not in found | told and not inside:
            found.add(home)
            named = dict[tuple[str, str], None]()
            list(_lines("", home, named))
            more += named
    return found


@cache
def _tree(module: str) -> ast.Module:
    place = ROOT / "src" / Path(*module.split("."))
    for file in (place / "__init__.pyi", place.with_suffix(".pyi"), place / "__init__.py", place.with_suffix(".py")):
        if file.exists():
            return ast.parse(file.read_text("utf-8"))
    raise SystemExit(f"no source of {module}")


def _exported(space: str) -> list[str]:
    """Return `__all__`: of a stub, the names that it imports."""
    for node in _tree(space).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return sorted(ast.literal_eval(node.value))
    return sorted(each.name for node in _tree(space).body if isinstance(node, ast.ImportFrom) for each in node.names)


@cache
def _home(module: str, name: str) -> tuple[str, str]:
    """Return the module in which a name is defined, and its name there; "" if that is not one of the package."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                if name == (each.asname or each.name):
                    ours = (node.module or "").split(".")[0] == "subwords"
                    return _home(node.module or "", each.name) if ours else ("", "")
    return (module, name) if _definition(module, name) else ("", "")


def _definition(module: str, name: str) -> Definition | None:
    for node in _tree(module).body:
        if name in _defined(node):
            assert isinstance(node, Definition)
            return node
    return None


def _defined(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _lines(name: str, home: tuple[str, str], types: dict[tuple[str, str], None]) -> Iterator[str]:
    """Return the lines of a name; add what they name of the package to `types`."""
    node = _definition(*home)
    if isinstance(node, ast.FunctionDef):
        for each in _overloads(_tree(home[0]).body, node):
            yield name + _signature(each, home[0], types)
    elif isinstance(node, ast.ClassDef):
        bases = ", ".join(_shown(base, home[0], types) for base in node.bases)
        yield f"{name}: class({bases})"
        for key, line in sorted(_members(home, types).items()):
            yield from (f"{name}.{key}{each}" for each in line)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        assert node.value is not None
        yield f"{name} = {_shown(node.value, home[0], types)}"


def _members(home: tuple[str, str], types: dict[tuple[str, str], None]) -> dict[str, list[str]]:
    """Return the lines of the public attributes of a class, with those of its bases."""
    node, module, found = _definition(*home), home[0], dict[str, list[str]]()
    assert isinstance(node, ast.ClassDef)
    for base in reversed(node.bases):
        of = _home(module, ast.unparse(base).split("[")[0])
        if isinstance(_definition(*of) if of[0] else None, ast.ClassDef):
            found |= _members(of, types)
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name not in METHODS and child.name.startswith("_"):
            continue
        if isinstance(child, ast.FunctionDef):
            kinds = {ast.unparse(mark).split(".")[-1] for mark in child.decorator_list}
            if kinds & {"property", "cached_property"}:
                found[child.name] = [f": {_shown(child.returns, module, types)}"]
            else:
                kind = "".join(f" {kind}" for kind in ("classmethod", "staticmethod") if kind in kinds)
                found[child.name] = [kind + _signature(each, module, types) for each in _overloads(node.body, child)]
            if child.name == "__init__":
                for part in ast.walk(child):
                    if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                        _add_attribute(found, part.attr, None, module, types)
                    if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Attribute):
                        _add_attribute(found, part.target.attr, part.annotation, module, types)
        elif isinstance(child, ast.AnnAssign):
            value = "" if child.value is None else f" = {ast.unparse(child.value)}"
            _add_attribute(found, ast.unparse(child.target), child.annotation, module, types, value)
        elif isinstance(child, ast.Assign):
            for key in _defined(child):
                _add_attribute(found, key, None, module, types, f" = {ast.unparse(child.value)}")
    return found


def _add_attribute(
    found: dict[str, list[str]],
    key: str,
    annotation: ast.expr | None,
    module: str,
    types: dict[tuple[str, str], None],
    value: str = "",
) -> None:
    if not key.startswith("_") and (annotation or key not in found):
        found[key] = [(f": {_shown(annotation, module, types)}" if annotation else "") + value]


def _overloads(body: list[ast.stmt], node: ast.FunctionDef) -> list[ast.FunctionDef]:
    """Return the overloads of a function, or the function."""
    same = [each for each in body if isinstance(each, ast.FunctionDef) and each.name == node.name]
    return [each for each in same if "overload" in map(ast.unparse, each.decorator_list)] or [node]


def _signature(node: ast.FunctionDef, module: str, types: dict[tuple[str, str], None]) -> str:
    for part in (*ast.walk(node.args), node.returns):
        if isinstance(part, ast.arg) and part.annotation:
            _shown(part.annotation, module, types)
    return f"({ast.unparse(node.args)}) -> {_shown(node.returns, module, types)}"


def _shown(node: ast.expr | None, module: str, types: dict[tuple[str, str], None]) -> str:
    """Return the text of a type, and add the types of the package that it names."""
    if node is None:
        return "?"
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            with suppress(SyntaxError):  # a type in quotes; or one of the words of a Literal
                _shown(ast.parse(part.value, mode="eval").body, module, types)
        elif isinstance(part, ast.Name) and (home := _home(module, part.id))[0]:
            types[home] = None
    return ast.unparse(node)


def commands() -> Iterator[str]:
    """Return a line for each command, and for each of its arguments and options."""
    import click

    from subwords.cli import main as program

    def lines(command: click.Command, path: str) -> Iterator[str]:
        yield f"$ {path}"
        for one in command.params:
            named = ", ".join([*one.opts, *one.secondary_opts]) if isinstance(one, click.Option) else one.name
            kind = "" if getattr(one, "is_flag", False) else f" {one.metavar or one.type.name}"
            choices = one.type.choices if isinstance(one.type, click.Choice) else []
            kind += f" [{'|'.join(map(str, choices))}]" if choices else ""
            how = " required" * one.required + " repeated" * (getattr(one, "multiple", False) or one.nargs == -1)
            yield f"$ {path} {named}{kind}{how}"
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in sorted(command.list_commands(context)):
                found = command.get_command(context, name)
                assert found is not None
                yield from lines(found, f"{path} {name}")

    yield from lines(program, "subwords")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
