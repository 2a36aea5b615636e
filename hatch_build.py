"""Puts a stamp of the sources into a wheel, and machine code of the kernels if SUBWORDS_MACHINE_CODE asks for it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCodeHook(BuildHookInterface):  # type: ignore[type-arg]
    """With SUBWORDS_MACHINE_CODE=build the code is compiled; otherwise it names a folder that has it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the stamp of the sources, and the folder of machine code, to the wheel."""
        if version == "editable":
            return
        sys.path[:0] = [self.root, str(Path(self.root) / "src")]
        from subwords.kernels.stored import stamped

        stamp = Path(tempfile.mkdtemp(prefix="subwords-stamp-")) / "stamp"
        stamp.write_text(stamped(), "ascii")
        build_data["force_include"][str(stamp)] = "subwords/kernels/stamp"
        asked = os.environ.get("SUBWORDS_MACHINE_CODE")
        if not asked:
            return
        if asked == "build":
            from tools.machine_code import TARGETS, build

            self.app.display_waiting("compiling the machine code of all systems, for 2 to 6 minutes")
            asked = tempfile.mkdtemp(prefix="subwords-machine-code-")
            build(Path(asked), [*TARGETS])
        for file in sorted(Path(asked).iterdir()):
            build_data["force_include"][str(file)] = f"subwords/kernels/machine/{file.name}"
