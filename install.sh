#!/bin/sh
# Installs the released program piton for this user, after verifying its checksum.
#
#   curl -fsSL https://raw.githubusercontent.com/piton-dev/piton/main/install.sh | sh
#
# PITON_VERSION  the version to install, such as 0.3.0; the newest if unset
# PITON_BIN      the directory to install to; ~/.local/bin if unset
# PITON_RELEASES where releases are, for a mirror
set -eu

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# fetch URL FILE
fetch() {
	case $1 in
	https://*) secure=1 ;;
	*) secure= ;;
	esac
	if has curl; then
		curl -fsSL ${secure:+--proto =https --tlsv1.2} -o "$2" "$1"
	elif has wget; then
		wget -q ${secure:+--https-only} -O "$2" "$1"
	else
		fail "neither curl nor wget is here; install one of them"
	fi || fail "cannot download $1"
}

# sum FILE prints its SHA-256.
sum() {
	if has sha256sum; then
		sha256sum "$1"
	elif has shasum; then
		shasum -a 256 "$1"
	else
		fail "neither sha256sum nor shasum is here, so the download cannot be verified"
	fi | cut -d ' ' -f 1
}

system() {
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no release for $(uname -s) that this script can install; see https://github.com/piton-dev/piton/releases" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no release for $(uname -m); with Go: go install github.com/piton-dev/piton/cmd/piton@latest" ;;
	esac
}

main() {
	releases=${PITON_RELEASES:-https://github.com/piton-dev/piton/releases}
	bin=${PITON_BIN:-${HOME:?HOME is not set}/.local/bin}
	version=${PITON_VERSION:-}
	version=${version#v}
	from=$releases/latest/download
	if [ -n "$version" ]; then
		from=$releases/download/v$version
	fi
	system
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM

	fetch "$from/checksums.txt" "$work/checksums.txt"
	line=$(grep -E "^[0-9a-f]{64}  piton_[0-9A-Za-z.+-]+_${os}_${arch}\.tar\.gz\$" "$work/checksums.txt") ||
		fail "the release has no file for $os $arch"
	[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "the release has more than one file for $os $arch"
	want=${line%% *}
	file=${line##* }
	fetch "$from/$file" "$work/$file"
	have=$(sum "$work/$file")
	[ "$have" = "$want" ] || fail "$file has the checksum $have, not $want: nothing was installed"

	mkdir "$work/piton"
	tar -xzf "$work/$file" -C "$work/piton"
	[ -f "$work/piton/piton" ] || fail "$file does not hold the program"
	mkdir -p "$bin"
	chmod 755 "$work/piton/piton"
	cp "$work/piton/piton" "$bin/.piton.new.$$"
	mv -f "$bin/.piton.new.$$" "$bin/piton"
	echo "installed $bin/piton: $("$bin/piton" --version)"
	case :$PATH: in
	*:"$bin":*) ;;
	*) echo "add it to your PATH: export PATH=\"$bin:\$PATH\"" ;;
	esac
}

# The last line: a script that was cut off on its way does nothing.
main
