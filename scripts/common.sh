# shellcheck shell=bash
# What the scripts share. Each script sources this file first; from then on the
# working directory is the project root.

set -euo pipefail

# Where the user stood.
# shellcheck disable=SC2034
CALLER_DIR=$PWD
SELF=$(readlink -f -- "$0")
ROOT=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
cd -- "$ROOT"

# Prints the comment that opens the calling script: its help.
usage() {
  sed -n '2,/^[^#]/{s/^# \{0,1\}//;t print;b;:print;p}' "$SELF"
}

say() { printf '== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "${SELF##*/}" "$*" >&2
  exit 2
}

# check_arguments PROGRAM ARGUMENT...: has a Python program look at this script's
# arguments before anything is installed or built. It ends with 3 if they are in order; if
# it refuses them or prints help, this script ends too.
check_arguments() {
  local status=0
  (cd -- "$CALLER_DIR" && exec python3 -B "$ROOT/$1" "${@:2}") || status=$?
  ((status == 3)) || exit "$status"
}

# build PRESET [-DOPTION=VALUE...] [TARGET...]: configures and builds into build/PRESET.
# Ninja uses every core.
build() {
  local preset=$1 options=()
  shift
  while [[ ${1:-} == -D* ]]; do
    options+=("$1")
    shift
  done
  say "Building preset $preset into build/$preset"
  cmake --preset "$preset" "${options[@]}"
  cmake --build "build/$preset" ${1:+--target "$@"}
}

# step WHAT COMMAND...: says what is done and, after it, how long that took.
step() {
  local what=$1 start=$SECONDS
  shift
  say "$what"
  "$@"
  local took=$((SECONDS - start))
  if ((took < 60)); then
    printf -- '-- %s: took %d s\n\n' "$what" "$took"
  else
    printf -- '-- %s: took %d:%02d minutes\n\n' "$what" $((took / 60)) $((took % 60))
  fi
}
