# For the scripts of this folder, which read what troupe writes with libraries of other projects, from npm. .ci/run
# installs those of package.json into a folder outside of the tree and names it in TROUPE_WEB_MODULES; to do it by hand:
#
#   mkdir FOLDER && cp tests/web/package*.json FOLDER && (cd FOLDER && npm ci --ignore-scripts)
#   export TROUPE_WEB_MODULES=FOLDER/node_modules
#
# Without node or the folder a script prints a line that it is skipped.
#
# optional commands: node

# web_needs WHAT PACKAGE...: ends the script with status 77 if node or a package is not there.
web_needs()
{
	web_what=$1
	shift
	web_why=
	if ! command -v node >/dev/null; then
		web_why='no node'
	elif [ -z "${TROUPE_WEB_MODULES:-}" ]; then
		web_why='TROUPE_WEB_MODULES names no folder with packages of npm'
	else
		for web_package in "$@"; do
			[ -d "$TROUPE_WEB_MODULES/$web_package" ] || web_why="no package $web_package in $TROUPE_WEB_MODULES"
		done
	fi
	[ -z "$web_why" ] || {
		echo "skipped: $web_what: $web_why"
		echo '0 passed, 0 failed, 1 skipped'
		exit 0
	}
	export NODE_PATH="$TROUPE_WEB_MODULES"
}

web_node()
{
	node "$@"
}
