"""Known vulnerabilities of the packages in this environment, by pip-audit: `python -m tools.audit`.

Exit code 1 if there is one. If the advisories cannot be had, for all or for some packages, it says so: pip-audit alone
calls a package that it found nothing about free of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--local", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = (done.stderr.strip() or "no output").splitlines()[-1]
        print(f"skipped: pip-audit has no advisories here: {last:.200}")
        return 0
    lines, code = told(packages)
    print(*lines, sep="\n")
    return code


def told(packages: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Return what to print about packages as pip-audit reports them, and the exit code."""
    known = [each for each in packages if "vulns" in each]
    unknown = sorted(each["name"] for each in packages if "vulns" not in each)
    lines = [f"skipped: no advisories about {', '.join(unknown)}"] if unknown else []
    found = [
        f"{each['name']} {each['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'no version'}"
        for each in known
        for flaw in each["vulns"]
    ]
    return [*lines, f"{len(known)} packages have advisories to look in; {len(found)} apply", *found], int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
