"""Print the lower bounds of dependencies and of small extras, for pip: numpy==2.0 regex==2024.5.15 ..."""

import re
import tomllib
from pathlib import Path

EXTRAS = ("jit", "arrow", "chat", "spm", "weights")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *(each for name in EXTRAS for each in extras[name])]:
    name, bound = re.match(r"([\w.-]+)>=([\w.]+)", requirement).groups()
    print(f"{name}=={bound}")
