# Shared by the launcher's commands; sourced, not run. Needs SELARI_ROOT.
# shellcheck shell=bash
set -euo pipefail

: "${SELARI_ROOT:=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}"
readonly STATE_DIR="$SELARI_ROOT/.selari"
readonly EXIT_USAGE=2 EXIT_UNAVAILABLE=69 EXIT_BUILD_FAILED=70

say() { printf 'selari: %s\n' "$*" >&2; }

# fail CODE MESSAGE...
fail() {
  local code=$1
  shift
  say "$@"
  exit "$code"
}

# The packages of the named sections of deploy/packages.txt: "NAME # why".
listed_packages() {
  local sections=" $* "
  awk -v sections="$sections" '
    /^\[/ { gsub(/[][]/, ""); wanted = index(sections, " " $1 " "); next }
    wanted && !/^ *(#|$)/ { print }' "$SELARI_ROOT/deploy/packages.txt"
}

# True when /usr/bin/bazel came with a package of another origin, which
# bazel-bootstrap cannot be installed beside.
has_foreign_bazel_package() {
  local owner
  owner=$(dpkg-query -S /usr/bin/bazel 2>/dev/null) || return 1
  [ "${owner%%:*}" != bazel-bootstrap ]
}

# The lines of listed_packages whose package is not installed.
missing_packages() {
  local name why installed
  installed=$(listed_packages "$@" | awk '{ print $1 }' |
    xargs -r dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null |
    awk '$2 == "installed" { print $1 }') || true
  while read -r name why; do
    if grep -qxF -- "$name" <<<"$installed"; then continue; fi
    if [ "$name" = bazel-bootstrap ] && has_foreign_bazel_package; then
      continue
    fi
    printf '%s %s\n' "$name" "$why"
  done < <(listed_packages "$@")
}

# Runs apt-get with the rights to install. On a terminal one sees its progress;
# elsewhere its thousand lines go to a file, and here only if it fails.
apt_get() {
  # dpkg's lock may be held by an automatic upgrade: wait for it, but not for
  # ever.
  local command=(env DEBIAN_FRONTEND=noninteractive
    apt-get -q -o DPkg::Lock::Timeout=300 "$@")
  [ "$(id -u)" = 0 ] || command=(sudo "${command[@]}")
  if [ -t 2 ]; then
    "${command[@]}" >&2
    return
  fi
  mkdir -p "$STATE_DIR"
  "${command[@]}" >"$STATE_DIR/apt.log" 2>&1 </dev/null && return
  tail -n 20 "$STATE_DIR/apt.log" >&2
  return 1
}

# Installs what is missing of the named sections. Ends the process with
# EXIT_UNAVAILABLE, saying which package and what to do, when that fails.
require_packages() {
  [ -z "${SELARI_SKIP_PACKAGES:-}" ] || return 0
  command -v dpkg-query >/dev/null ||
    fail $EXIT_UNAVAILABLE "this system has no dpkg-query, so it is not" \
      "Debian or Ubuntu. Install the libraries that deploy/packages.txt lists" \
      "by your own means, then set SELARI_SKIP_PACKAGES=1."
  local missing names
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  mapfile -t names < <(awk '{ print $1 }' <<<"$missing")

  say "installing ${#names[@]} missing Debian package(s):"
  sed 's/^/  /' <<<"$missing" >&2
  local by_hand="sudo apt-get install --no-install-recommends ${names[*]}"
  command -v apt-get >/dev/null ||
    fail $EXIT_UNAVAILABLE "there is no apt-get here. Install by hand: ${names[*]}"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
    fail $EXIT_UNAVAILABLE "you are not root and there is no sudo. Ask an" \
      "administrator to run: ${by_hand#sudo }"

  local install=(install -y --no-install-recommends)
  if apt_get "${install[@]}" "${names[@]}"; then
    return 0
  fi
  # The package index may be missing or old.
  if apt_get update && apt_get "${install[@]}" "${names[@]}"; then
    return 0
  fi
  local still
  still=$(missing_packages "$@" | awk '{ print $1 }' | paste -sd' ')
  [ -n "$still" ] || return 0
  fail $EXIT_UNAVAILABLE "could not install: $still. See apt-get's own message" \
    "above. Check the network and that /etc/apt lists Debian's main archive" \
    "(release 12 or newer), or install by hand: $by_hand. Then run this again."
}

# Sets BAZEL, the program, and BAZEL_COMPATIBILITY, flags it needs to behave
# like the version that this project is built with.
choose_bazel() {
  BAZEL_COMPATIBILITY=()
  # Debian's own is preferred under its versioned name: /usr/bin/bazel and
  # whatever comes first on PATH may be newer, or a wrapper that downloads.
  BAZEL=${SELARI_BAZEL:-/usr/bin/bazel-4}
  [ -x "$BAZEL" ] || BAZEL=$(command -v bazel) ||
    fail $EXIT_UNAVAILABLE "found no Bazel, neither /usr/bin/bazel-4 (package" \
      "bazel-bootstrap) nor \`bazel\` on PATH."
  local version
  version=$("$BAZEL" --version 2>/dev/null | awk '{ print $2 }') || true
  case "$version" in
    4.* | no_version*) ;;
    [0-9]*)
      say "building with $BAZEL $version; this project is made for 4.2.3" \
        "(package bazel-bootstrap)."
      # Dependencies are system libraries named in WORKSPACE, which newer
      # versions read only when asked.
      local major=${version%%.*}
      if [ "$major" -ge 6 ]; then BAZEL_COMPATIBILITY+=(--noenable_bzlmod); fi
      if [ "$major" -ge 8 ]; then BAZEL_COMPATIBILITY+=(--enable_workspace); fi
      ;;
    *) fail $EXIT_UNAVAILABLE "$BAZEL --version printed no version" ;;
  esac
}

# Bazel refuses workspaces and is unreliable with output folders whose path has
# a blank. Prints a folder without blanks that shows the same tree.
workspace_without_blanks() {
  case "$SELARI_ROOT" in
    *[[:space:]]*) ;;
    *)
      printf '%s\n' "$SELARI_ROOT"
      return
      ;;
  esac
  local mirror entry
  mirror="/var/tmp/selari-$(id -u)-$(cksum <<<"$SELARI_ROOT" | cut -d' ' -f1)"
  mkdir -p -m 700 "$mirror"
  [ -O "$mirror" ] || fail $EXIT_BUILD_FAILED "$mirror belongs to another user"
  find "$mirror" -maxdepth 1 -type l ! -name 'bazel-*' -delete
  for entry in "$SELARI_ROOT"/* "$SELARI_ROOT"/.bazel*; do
    case "$(basename "$entry")" in
      bazel-*) ;;
      *) ln -s "$entry" "$mirror/" ;;
    esac
  done
  printf '%s\n' "$mirror"
}

# Where Bazel keeps its output when the home folder is no good for that.
startup_flags() {
  case "${HOME:-}" in
    "" | *[[:space:]]*) ;;
    *) if [ -w "$HOME" ]; then return; fi ;;
  esac
  printf -- '--output_user_root=/var/tmp/selari-bazel-%s\n' "$(id -u)"
}

# run_bazel COMMAND ARGS...: in this project, whatever the current folder.
run_bazel() {
  local command=$1 workspace flags startup
  shift
  [ -n "${BAZEL:-}" ] || choose_bazel
  workspace=$(workspace_without_blanks)
  mapfile -t startup < <(startup_flags)
  # These two are lists of flags: split on blanks.
  # shellcheck disable=SC2206
  startup+=(${SELARI_BAZEL_STARTUP_FLAGS:-})
  # shellcheck disable=SC2206
  flags=("${BAZEL_COMPATIBILITY[@]}" ${SELARI_BAZEL_FLAGS:-})
  # A query builds nothing and refuses flags about building.
  [ "$command" != query ] || flags=("${BAZEL_COMPATIBILITY[@]}")
  (
    cd "$workspace"
    # Bazel 4 reads no HOME but insists on one.
    export HOME="${HOME:-/nonexistent}"
    "$BAZEL" "${startup[@]}" "$command" "${flags[@]}" "$@"
  ) || return
  if [ "$workspace" != "$SELARI_ROOT" ]; then
    local link
    for link in "$workspace"/bazel-*; do
      ln -sfn "$(readlink "$link")" "$SELARI_ROOT/$(basename "$link")"
    done
  fi
}

# The project's files whose name matches one of the patterns, one a line:
# tracked ones and new ones that git does not ignore.
project_files() {
  (cd "$SELARI_ROOT" &&
    git ls-files --cached --others --exclude-standard -- "$@" | sort -u |
    while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done)
}
