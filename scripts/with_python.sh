#!/usr/bin/env bash
# Run the tests in an environment of their own: with_python.sh VERSION FOLDER PACKAGE... -- ARGUMENTS OF PYTHON...
# An interpreter that is not installed is passed over with a line. The environment is made once for the same packages.
set -euo pipefail
version=$1 folder=$2
shift 2
packages=()
while [ "$1" != -- ]; do packages+=("$1"); shift; done
shift

interpreter=
for candidate in "python$version" "$HOME/.pyenv/versions/$version".*/bin/python; do
    if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null; then
        interpreter=$candidate
        break
    fi
done
if [ -z "$interpreter" ]; then
    echo "Python $version is not installed; passed over"
    exit 0
fi

wanted="$version ${packages[*]} $(cksum < pyproject.toml)"
if [ "$(cat "$folder/wanted" 2>/dev/null || true)" != "$wanted" ]; then
    echo "Python $version: an environment in $folder"
    rm -rf "$folder"
    "$interpreter" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --editable '.[engine]' "${packages[@]}" 2>&1 | grep -v '^WARNING: Location' || true
    "$folder/bin/python" -c 'import boto3, pytest, redrive'
    echo "$wanted" > "$folder/wanted"
fi
"$folder/bin/python" -c 'import boto3, sys; print("Python", sys.version.split()[0], "with boto3", boto3.__version__)'
"$folder/bin/python" "$@"
