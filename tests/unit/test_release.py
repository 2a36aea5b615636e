"""What a release needs besides the code: workflows, the citation, forms for issues, hints that can be followed."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tools import audit

import subwords

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
SOURCE = Path(subwords.__file__).parent

in_a_clone = pytest.mark.skipif(not GITHUB.exists(), reason="a distribution of the sources has no workflows")


def read(file: Path) -> Any:
    return pytest.importorskip("yaml").safe_load(file.read_text("utf-8"))


def sections() -> set[str]:
    return set(re.findall(r"^if section (\w+) ", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE))


# ------------------------------------------------------------------ workflows


@in_a_clone
def test_workflows_run_the_sections_of_ci() -> None:
    asked = set[str]()
    for file in WORKFLOWS:
        for job in read(file)["jobs"].values():
            of_matrix = job.get("strategy", {}).get("matrix", {}).get("section", [])
            for step in job["steps"]:
                if "run" in step:
                    command, *names = step["run"].replace("${{ matrix.section }}", " ".join(of_matrix)).split()
                    assert command == ".ci/run", f"{file.name}: {step['run']}"
                    asked.update(names)
    assert asked == sections()  # and none of them is left out


@in_a_clone
@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_have_few_rights_and_end(file: Path) -> None:
    told = read(file)
    assert told["permissions"] == {"contents": "read"}
    assert "group" in told["concurrency"]
    for name, job in told["jobs"].items():
        assert job["timeout-minutes"] <= 90, name
        checked_out = False
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                checked_out = step["with"] == {"persist-credentials": False}
            assert checked_out or "run" not in step, f"{name}: expected a checkout without credentials first"
        rights = job.get("permissions", {})
        assert not rights or not checked_out, f"{name}: a job with rights runs no code of the repository"
    assert "secrets." not in file.read_text("utf-8")


@in_a_clone
@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("custom.github-workflows-require-timeout", ".github/workflows/*.yml"),
        ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("vendor.github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("vendor.citation-file-format", "CITATION.cff"),
    ],
)
def test_files_have_the_form_of_their_schemas(schema: str, pattern: str) -> None:
    pytest.importorskip("check_jsonschema")
    files = [str(file) for file in sorted(ROOT.glob(pattern))]
    assert files
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@in_a_clone
def test_actionlint_accepts_the_workflows() -> None:
    program = Path(sys.executable).with_name("actionlint")
    if not program.exists() and not program.with_suffix(".exe").exists():
        pytest.skip("actionlint is not installed: pip install --group workflows")
    found = subprocess.run([program, *WORKFLOWS], capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.returncode == 0, found.stdout


# ------------------------------------------------------------------ what is in a wheel, and what it needs


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The SBOM of a wheel with machine code: only the list of the code exists."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "code").mkdir()
    (folder / "code" / "code.json").write_text('{"compilers": {"ziglang": "0.17.1", "numba": "0.68.1"}}', "utf-8")
    command = [sys.executable, "-m", "tools.build_wheels", str(folder), "--code", str(folder / "code")]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        names = [name for name in wheel.namelist() if "/sboms/" in name]
        assert names == [f"subwords-{subwords.__version__}.dist-info/sboms/subwords.cdx.json"]
        return json.loads(wheel.read(names[0]))


def test_a_wheel_says_what_it_needs_and_what_compiled_it(bill: dict[str, Any]) -> None:
    itself = bill["metadata"]["component"]
    assert (itself["name"], itself["version"]) == ("subwords", subwords.__version__)
    assert itself["licenses"] == [{"expression": PROJECT["project"]["license"]}]
    needed = {each["name"]: each["versionRange"] for each in bill["components"] if each["scope"] == "required"}
    assert {f"{name}{bounds.removeprefix('vers:pypi/')}" for name, bounds in needed.items()} == {
        *PROJECT["project"]["dependencies"]
    }
    optional = {each["name"] for each in bill["components"] if each["scope"] == "optional"}
    assert optional == {name for extra in EXTRAS for name in required(extra)}
    assert next(each["versionRange"] for each in bill["components"] if each["name"] == "numba") == (
        "vers:pypi/>=0.61|<0.69"
    )
    used = {each["name"]: each["version"] for each in bill["components"] if each["scope"] == "excluded"}
    assert used == {"numba": "0.68.1", "ziglang": "0.17.1"}
    assert not {"serialNumber", "timestamp"} & {*bill, *bill["metadata"]}  # two builds are equal


def test_an_audit_tells_what_it_knows_nothing_about() -> None:
    flaw = {"id": "CVE-1", "fix_versions": ["2"]}
    assert audit.told([{"name": "a", "skip_reason": "not found"}, {"name": "b", "version": "1", "vulns": [flaw]}]) == (
        ["skipped: no advisories about a", "1 packages have advisories to look in; 1 apply", "b 1: CVE-1, fixed in 2"],
        1,
    )
    assert audit.told([{"name": "b", "version": "1", "vulns": []}])[1] == 0


# ------------------------------------------------------------------ versions, citation, forms


def test_one_version_is_told_everywhere() -> None:
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert citation
    assert subwords.__version__ == PROJECT["project"]["version"] == citation[1]


# ------------------------------------------------------------------ hints

# Packages whose modules have another name.
PACKAGES = {"google": "protobuf", "upath": "universal-pathlib", "distributed": "distributed"}


def hints() -> list[tuple[str, str, set[str]]]:
    """Where the package says how to install an extra: the place, the extra, the modules that are imported there."""
    found = []
    for file in SOURCE.rglob("*.py"):
        source = file.read_text("utf-8")
        for function in ast.walk(ast.parse(source)) if "install_hint" in source else ():
            if isinstance(function, ast.FunctionDef):
                place = f"{file.relative_to(SOURCE)}: {function.name}"
                nodes = [*ast.walk(function)]
                modules = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
                modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
                outside = {name.split(".")[0] for name in modules} - {*sys.stdlib_module_names, "subwords"}
                found += [
                    (place, node.args[0].value, outside)
                    for node in nodes
                    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "install_hint"
                    if isinstance(node.args[0], ast.Constant)
                ]
    return found


def required(extra: str) -> set[str]:
    return {re.split(r"[^\w.-]", line)[0].lower().replace("_", "-") for line in EXTRAS[extra]}


def test_hints_name_extras_that_exist_and_that_bring_what_is_missing() -> None:
    found = hints()
    assert len(found) > 8  # the rule sees what it looks for
    for place, extra, modules in found:
        assert extra in EXTRAS, place
        packages = {PACKAGES.get(name, name).replace("_", "-") for name in modules} - {"numpy"}
        assert packages <= required(extra), place


def test_extra_verify_brings_all_that_it_is_named_for() -> None:
    calls = [
        node
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "needed"
    ]
    named = {node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant)}
    assert named <= required("verify")
    assert {"sentencepiece", "tiktoken", "tokenizers", "transformers"} <= required("verify")


def test_extras_that_documents_and_messages_name_exist() -> None:
    places = [*SOURCE.rglob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    named = {
        extra
        for file in places
        for several in re.findall(r"""["'`](?:subwords|\.|PATH)\[([a-z,]+)\]""", file.read_text("utf-8"))
        for extra in several.split(",")
    }
    assert {"jit", "files", "chat", "all"} <= named  # the rule sees what it looks for
    assert named <= {*EXTRAS}


def test_groups_that_documents_name_exist() -> None:
    named = {
        group
        for file in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / ".ci" / "run"]
        if file.exists()
        for group in re.findall(r"--group ([a-z]+)", file.read_text("utf-8"))
    }
    assert named <= {*PROJECT["dependency-groups"]}
