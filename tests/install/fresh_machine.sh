#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs both commands of the README on a machine that has nothing: a minimal Debian 12 root without
# Python, compiler, sudo or locales, and a fresh clone of this repository's HEAD. Needs root, git and
# about 5 GB. Slow, so not part of tools/check.
#   tests/install/fresh_machine.sh [--root DIR] [--keep] [COMMAND...]
# --root: where to make it (default: a new directory under ${TMPDIR:-/var/tmp}); an existing one is
# used as it is. --keep: leave it there. COMMAND: shell commands instead of the README's two.
# Mirror, proxy and resolver are those of this machine.
set -eu

say() { printf '\n#### %s\n' "$*"; }
fail() { printf 'fresh_machine: error: %s\n' "$*" >&2; exit 2; }

# Within a mount namespace of its own: the mounts end with it, whatever happens.
if [ "${1-}" = --inside ]; then
  root=$2
  shift 2
  mount --bind "$root" "$root"  # a mount point, as the root of a machine is
  mount --bind /proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount -t tmpfs -o nosuid,nodev,mode=1777 shm "$root/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  failed=0
  for command in "$@"; do
    say "$command"
    started=$(date +%s)
    status=0
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
      ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
      chroot "$root" sh -c "cd /root/cppless && $command" || status=$?
    say "$command: status $status after $(($(date +%s) - started)) s"
    [ "$status" = 0 ] || failed=1
  done
  exit "$failed"
fi

root=
keep=
while [ $# -gt 0 ]; do
  case $1 in
    --root) root=${2?"--root needs a directory"}; shift 2 ;;
    --keep) keep=yes; shift ;;
    -h | --help) sed -n '3,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) fail "unknown option $1" ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || set -- './cppless run examples/pi.cpp' 'tools/check'
[ "$(id -u)" = 0 ] || fail "making a root needs root"
repository=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
"$repository/tools/setup" fresh

sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' | grep ' bookworm' | sort -u) ||
  fail "this machine's apt knows no mirror of Debian 12 (apt-get update?)"
mirror=$(printf '%s\n' "$sources" | awk '$3 == "bookworm" { print $2; exit }')
[ -n "$root" ] || root=$(mktemp -d "${TMPDIR:-/var/tmp}/cppless-fresh-XXXXXX")
if [ ! -e "$root/etc/debian_version" ]; then
  say "debootstrap into $root"
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
    { tail -20 "$root.log" >&2; fail "debootstrap failed"; }
  rm -f "$root.log"
fi
printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
apt-config dump Acquire | grep -E '^Acquire::(https?[: ]|Check-|Retries)' \
  >"$root/etc/apt/apt.conf.d/90like-this-machine" || true
case $mirror in https*) cp -rL /etc/ssl/certs "$root/etc/ssl/" ;; esac
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
rm -rf "$root/root/cppless"
git clone --quiet --depth 1 "file://$repository" "$root/root/cppless"

status=0
unshare --mount --propagation private "$0" --inside "$root" "$@" || status=$?
# Here none of the mounts exist: what is removed is the root alone.
[ -n "$keep" ] || rm -rf --one-file-system "$root"
exit "$status"
