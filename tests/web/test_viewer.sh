#!/bin/sh
# test limit: 600
# The page of the viewer in a real browser, Chromium: the demo's world is drawn, and the picture is the kept one within a
# tolerance; levels are seen to load; a cart is picked and driven; models are added, dragged and removed; hostile names
# are only text; the connection is cut and restored; sensors are shown; a recording is scrubbed back to the same state.
#
# test_viewer.sh --update makes the kept picture, worlds/viewer.png, anew; README shows it.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs 'the page of the viewer in a browser' playwright-core
why=
command -v chromium >/dev/null || why='no chromium'
"$troupe" run "$worlds/specification.sdf" --iterations 1 --no-gz --view-address 0 -v 0 >"$scratch/said" 2>&1 ||
	why=$(head -n 1 "$scratch/said")
if [ -n "$why" ]; then
	skip 'the page of the viewer in a browser' "$why"
	totals
	exit
fi
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/viewer.js" "$troupe" "$worlds" "$worlds/viewer.png" "$scratch" "$@"
