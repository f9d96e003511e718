#!/bin/sh
# Every block of the other pages. All pages are run by some test: a new page that none names is a failure, and so are a
# block that is not run and does not say why, and a command in a block of text. The numbers of formats in the policy are
# those of the sources.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
SOURCE_DIR=$source TROUPE=$troupe
export SOURCE_DIR TROUPE
runner=$source/tests/doc/run_blocks.py

# pages ARGUMENT...: adds the totals of the runner
pages()
{
	python3 "$runner" "$@" >out 2>err
	grep -v '^[0-9]* passed' out
	# shellcheck disable=SC2046
	set -- $(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)*$/\1 \2 \4/p' out)
	[ $# -ge 2 ]
	report $? 'the runner ends'
	passed=$((passed + ${1:-0})) failed=$((failed + ${2:-0})) skipped=$((skipped + ${3:-0}))
}
pages src/doc/README.md src/doc/CONTRIBUTING.md src/doc/CHANGELOG.md src/doc/policy.md \
	src/doc/inside/architecture.md src/doc/inside/determinism.md src/doc/inside/style.md \
	src/doc/reference/gazebo.md src/doc/reference/plugins.md src/doc/reference/protocols.md src/doc/reference/rights.md \
	src/doc/reference/cameras.md src/doc/reference/lidars.md src/doc/reference/speed.md src/doc/reference/urdf.md
pages --every-page

# number NAME FILE PATTERN: the number behind the pattern in the sources, after | in the row of the policy
number()
{
	want=$(sed -n "s/.*$3 *\([0-9][0-9:]*\).*/\1/p" "$source/$2" | head -n 1)
	[ -n "$want" ] && grep "^| $1" "$source/src/doc/policy.md" | grep -qE "(\|| )$want(,| |;|:|$)"
	report $? "src/doc/policy.md: $1: expected '$want'"
}
number 'saved states' src/server/save.c 'enum { VERSION ='
number recordings src/server/record.h 'RECORD_VERSION ='
number 'networked mode' src/net/hello.h 'HELLO_PROTOCOL ='
number 'barrier clients' src/gateway/lockstep/packet.h 'PACKET_VERSION ='
number plug-ins include/troupe/plugin.h 'define TROUPE_PLUGIN_ABI'
number libtroupe Makefile.am '-version-info'

# The runner itself: what it must not let pass.
mkdir -p tree/tests/doc tree/tests/python tree/tests/gateway tree/src/doc
cp "$source/tests/gateway/rosbridge_client.py" "$source/tests/gateway/web_socket.py" tree/tests/gateway
cp -r "$source/tests/examples" tree/tests
ln -s "$source/worlds" tree/worlds
# finds PAGE WHAT PATTERN: a page with this text, for printf, fails, and the line says why
finds()
{
	# shellcheck disable=SC2059 # a format is meant
	printf "$1" >tree/src/doc/page.md
	shift
	SOURCE_DIR=$folder/tree python3 "$runner" src/doc/page.md >out 2>err
	[ $? = 1 ] && grep -qE "^FAILED: .*$2" out
	report $? "the runner finds $1"
}
finds 'x\n\n    troupe run x\n' 'an indented block' 'page.md:3: an indented block'
finds '```\nls\n```\n' 'a block of no kind' "'' is not known"
finds '```text\nbuild/troupe run x\n```\n' 'a command in a text' 'a command in a block that is not run'
finds '```sh-other\nros2 topic list\n```\n' 'a block without a reason' 'without a reason'
finds '<!-- not run: x -->\n\nWords.\n\n```sh-other\nros2 topic list\n```\n' 'a reason that belongs to another block' 'without a reason'
finds '```sh\nfalse\ntrue\n```\n' 'a command that fails' 'status 1'
finds '```sh\nfalse &\ntrue\n```\n' 'a command in the background that fails' 'status 1'
finds '```sh\nbuild/troupe run hill --view --iterations x &\n```\n' 'a wrong option' 'ended with status'
finds '```sh\nbuild/troupe worlds --foxglove; echo build/troupe run hill\n```\n' 'a run that does not run' 'status 2|expected one that waits'
finds '```python\nassert False\n```\n' 'an exception' 'AssertionError|Traceback'
finds '```xml\n<a>\n```\n' 'XML that is damaged' 'mismatched tag'
finds '<!-- then: false -->\n```sh\ntrue\n```\n' 'an effect that is not there' 'then .false. ended'
finds '```sh\ntrue\n' 'a block without an end' 'has no end'
printf 'Words.\n' >tree/src/doc/page.md
: >tree/README
echo 'run README' >tree/tests/doc/test_readme.sh
echo '# src/doc/page.md' >tree/tests/doc/test_pages.sh
SOURCE_DIR=$folder/tree python3 "$runner" --every-page >out 2>err
grep -q '^FAILED: src/doc/page.md: no test' out && grep -q '^1 passed, 1 failed$' out
report $? 'the runner finds a page without a test'
totals
