"""Puts a stamp of the sources and an SBOM into a wheel, and machine code if there is some for these sources."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement
from packaging.version import Version

MACHINE_CODE = "subwords/kernels/machine/"  # the folder in a wheel


class MachineCodeHook(BuildHookInterface):  # type: ignore[type-arg]
    """With SUBWORDS_MACHINE_CODE=build the code is compiled; otherwise it names a folder that has it.

    Without it, the code is that of a wheel in `dist` whose kernels have the same sources, if there is one.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the stamp of the sources, the SBOM, and the folder of machine code to the wheel."""
        if version == "editable":
            return
        sys.path[:0] = [self.root, str(Path(self.root) / "src")]
        from subwords.kernels.stored import stamped

        made = Path(tempfile.mkdtemp(prefix="subwords-build-"))
        stamp, bill = made / "stamp", made / "subwords.cdx.json"
        stamp.write_text(stamped(), "ascii")
        build_data["force_include"][str(stamp)] = "subwords/kernels/stamp"
        code = self._machine_code()
        for file in sorted(code.iterdir()) if code else ():
            build_data["force_include"][str(file)] = f"subwords/kernels/machine/{file.name}"
        compilers = json.loads((code / "code.json").read_text("utf-8"))["compilers"] if code else {}
        bill.write_text(json.dumps(self._bill(compilers), indent=1) + "\n", "utf-8")
        build_data["sbom_files"].append(str(bill))

    def _machine_code(self) -> Path | None:
        asked = os.environ.get("SUBWORDS_MACHINE_CODE")
        if not asked:
            return self._code_of_wheel()
        if asked != "build":
            return Path(asked)
        from tools.machine_code import TARGETS, build

        self.app.display_waiting("compiling the machine code of all systems, for 2 to 6 minutes")
        folder = Path(tempfile.mkdtemp(prefix="subwords-machine-code-"))
        build(folder, [*TARGETS])
        return folder

    def _code_of_wheel(self) -> Path | None:
        from subwords.kernels.stored import KERNELS, digest_folder

        for wheel in sorted(Path(self.root, "dist").glob("subwords-*.whl")):
            try:
                with ZipFile(wheel) as archive:
                    names = [name for name in archive.namelist() if name.startswith(MACHINE_CODE)]
                    if json.loads(archive.read(f"{MACHINE_CODE}code.json"))["sources"] != digest_folder(KERNELS):
                        continue
                    folder = Path(tempfile.mkdtemp(prefix="subwords-machine-code-"))
                    for name in names:
                        (folder / Path(name).name).write_bytes(archive.read(name))
            except (BadZipFile, KeyError, OSError, ValueError):
                continue
            self.app.display_info(f"with the machine code of {wheel.name}")
            return folder
        return None

    def _bill(self, compilers: dict[str, str]) -> dict[str, Any]:
        """Return the SBOM, CycloneDX 1.7: no time and no serial number, so that two builds are equal."""
        core = self.metadata.core
        extras = [line for lines in core.optional_dependencies.values() for line in lines]
        needed = _external(core.dependencies, "required")
        optional = _external(extras, "optional")
        # `excluded`: not there when the package runs. Their output is.
        used = [_component(name, "excluded", version=version) for name, version in sorted(compilers.items())]
        itself = _component(core.name, "required", version=core.version)
        licence = {"licenses": [{"expression": core.license_expression}], "description": core.description}
        return {
            "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.7",
            "version": 1,
            "metadata": {"component": {**itself, **licence}},
            "components": [*needed, *optional, *used],
            "dependencies": [{"ref": itself["bom-ref"], "dependsOn": [each["bom-ref"] for each in needed]}],
        }


def _external(lines: list[str], scope: str) -> list[dict[str, Any]]:
    """Return what requirements ask for, each once, with its bounds."""
    found = {}
    for requirement in map(Requirement, lines):
        bounds = "|".join(str(each) for each in sorted(requirement.specifier, key=lambda each: Version(each.version)))
        ref = f"{requirement.name} {scope} {bounds}"
        external = {"isExternal": True, "versionRange": f"vers:pypi/{bounds}"} if bounds else {"isExternal": True}
        found[ref] = _component(requirement.name, scope, **{"bom-ref": ref}, **external)
    return [found[ref] for ref in sorted(found)]


def _component(name: str, scope: str, **fields: Any) -> dict[str, Any]:
    purl = f"pkg:pypi/{name.lower().replace('_', '-')}"
    purl += f"@{fields['version']}" if "version" in fields else ""
    return {"type": "library", "bom-ref": purl, "name": name, "scope": scope, "purl": purl, **fields}
