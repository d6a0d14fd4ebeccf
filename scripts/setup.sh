#!/bin/sh
# Installs what the tests need and this machine lacks, from Debian packages.
# Elsewhere, or without the right to install, it says what is missing.
set -eu

missing=""
need() { # command, package
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need gcc gcc        # the race detector links with cgo
need flock util-linux
need ps procps
need bash bash
need redis-server redis-server
need redis-sentinel redis-sentinel
need redis-cli redis-tools
need python3 python3
need node nodejs       # other libraries contend with us
need npm npm
[ -e /usr/include/stdlib.h ] || missing="$missing libc6-dev"
/usr/bin/python3 -c "import redis" 2>/dev/null || missing="$missing python3-redis"

[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing, named as Debian packages:$missing" >&2
	echo "install them with this system's package manager and run make again" >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "missing Debian packages:$missing" >&2
	echo "run: sudo apt-get install$missing" >&2
	exit 1
fi

# The tests start servers of their own: an answer of 101 keeps the packages from
# starting theirs. Whoever has such a policy already keeps it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
echo "installing:$missing"
apt-get update -q >/dev/null
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >/dev/null
