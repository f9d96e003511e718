# A root of Debian for tests: made by debootstrap from the mirror that this machine's apt uses, with a clean copy of the source
# in /src/troupe. Sourced by bare_root and arm64. The caller sets $source, $folder (temporary), $root (below it), $release
# ("" for this machine's own) and $subject: what is skipped where there can be no root.
# optional commands: git debootstrap

# skip WHY: ends the test
skip()
{
	echo "skipped: $subject${release:+, Debian $release}: $1"
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
}

# quietly COMMAND...: the output goes to $folder/log
quietly() { "$@" >>"$folder/log" 2>&1; }
last_line() { grep . "$folder/log" | tail -n 1; }

# --- the mirror, as apt has it ---------------------------------------------------------------------------------------------

# $folder/parts: one line for each part of the distribution: RELEASE COMPONENT URI. Other repositories are left out, because
# a bare root does not have their packages. Another release is expected to have the parts that this machine's has.
list_parts()
{
	# apt's own variables, not the shell's
	# shellcheck disable=SC2016
	apt-get indextargets 'Created-By: Packages' --format '$(RELEASE) $(COMPONENT) $(REPO_URI) $(ORIGIN)' 2>&1 |
		awk -v name="$codename" -v wanted="$release" '
			$1 == name && $2 == "main" { origin = $4 }
			{ line[NR] = $0 }
			END {
				for (i = 1; i <= NR; i++) {
					split(line[i], word, " ")
					if (word[4] == origin && (word[1] == name || index(word[1], name "-") == 1))
						print wanted substr(word[1], length(name) + 1), word[2], word[3]
				}
			}' | sort -u >"$folder/parts"
}
find_mirror()
{
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	release=${release:-$codename}
	list_parts
	if [ ! -s "$folder/parts" ]; then # apt names only parts of which it has an index
		quietly apt-get update -q
		list_parts
	fi
	mirror=$(awk -v name="$release" '$1 == name && $2 == "main" { print $3; exit }' "$folder/parts")
	case $mirror in
	http://* | https://*) ;;
	*) skip "apt knows no mirror of '$release' that can be reached by http: '$mirror'" ;;
	esac
}

# Apt's settings for reaching the mirror, above all proxies, are used in the root, too.
copy_apt_settings()
{
	awk '{ print "deb", $3, $1, $2 }' "$folder/parts" >"$root/etc/apt/sources.list"
	apt-config dump | grep -E '^Acquire::(http|https|Retries|ForceIPv4|ForceIPv6|Check-Valid-Until)' |
		grep -v Proxy-Auto-Detect >"$root/etc/apt/apt.conf.d/10bare-root"
	echo 'Acquire::Languages "none";' >>"$root/etc/apt/apt.conf.d/10bare-root"
	for name in auth.conf auth.conf.d keyrings trusted.gpg trusted.gpg.d; do
		[ ! -e "/etc/apt/$name" ] || cp -RL "/etc/apt/$name" "$root/etc/apt/"
	done
	for name in /etc/resolv.conf /etc/hosts; do
		[ ! -e $name ] || cat $name >"$root$name"
	done
	# the mirror's certificate is known as it is on this machine
	if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
		mkdir -p "$root/etc/ssl/certs"
		cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
	fi
}

# --- the root --------------------------------------------------------------------------------------------------------------

find_debootstrap()
{
	command -v debootstrap >/dev/null && return
	quietly apt-get update -q
	quietly env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qy --no-install-recommends debootstrap ||
		skip "no debootstrap, and it cannot be installed: $(last_line)"
}

make_root()
{
	unset proxy
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	if [ -n "${proxy:-}" ]; then
		http_proxy=$proxy
		export http_proxy
	fi
	# the root is removed after the test: its files need not reach the disk
	mkdir -p "$root/etc/dpkg/dpkg.cfg.d" "$root/etc/apt/apt.conf.d"
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/bare-root"
	quietly debootstrap --variant=minbase "$release" "$root" "$mirror" || skip "debootstrap: $(last_line)"
	copy_apt_settings
}

# Copies the files that git knows, as they are now, or, without git, all files but those that builds make.
copy_source()
{
	mkdir -p "$root/src/troupe"
	if command -v git >/dev/null && [ "$(git -C "$source" rev-parse --show-toplevel 2>/dev/null)" = "$source" ]; then
		(cd "$source" && git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=-) | tar -x --no-same-owner -C "$root/src/troupe"
	else
		(cd "$source" && tar -c --exclude=./build --exclude='./build-*' --exclude='*.o' --exclude=./configure .) |
			tar -x --no-same-owner -C "$root/src/troupe"
	fi
}

# inside COMMAND...: runs the command in the root, in its folder, with no variables but those of the network,
# TROUPE_TEST_QUICK, JOBS and CFLAGS (one word). The root becomes a mount of its own, as a machine's is: network namespaces need that.
inside()
{
	# word splitting is meant: one word per variable
	# shellcheck disable=SC2046
	unshare --mount --pid --fork --kill-child sh -c '
		mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && exec chroot "$0" env -i "$@"' "$root" \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		$(env | grep -iE '^(http|https|no)_proxy=|^(TROUPE_TEST_QUICK|JOBS|CFLAGS)=') sh -c 'cd /src/troupe && exec "$@"' sh "$@" </dev/null
}

# root_make: all of it; where it cannot be, the test is skipped
root_make()
{
	[ "$(id -u)" = 0 ] || skip 'only root can make one'
	command -v apt-get >/dev/null || skip 'no apt-get here'
	find_mirror
	find_debootstrap
	make_root
	copy_source
	quietly inside true || skip "it cannot be entered: $(last_line)"
}
