#!/usr/bin/env bash
# The core of the tests on the newest Numba, or on another one: tools/newest_numba.sh "==0.61.0". In an environment and a
# cache of its own. If it passes, raise the upper bounds of numba and llvmlite in pyproject.toml, and TESTED in
# src/subwords/kernels/machine_code.py. Needs python3 with venv and pip.
set -euo pipefail
cd "$(dirname "$0")/.."

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export SUBWORDS_CACHE_DIR="$place/cache" PYTHONPATH="$PWD/src" PIP_DISABLE_PIP_VERSION_CHECK=1

python3 -m venv --upgrade-deps "$place/venv"
"$place/venv/bin/pip" install --quiet --group test "numba${1:-}" numpy regex click rich
"$place/venv/bin/pip" list | grep -E "^(numba|llvmlite|numpy) "
"$place/venv/bin/python" -m pytest -q -n auto -p no:cacheprovider tests/unit/test_kernels_object_cache.py \
    tests/unit/test_layout.py tests/test_*_reference.py
