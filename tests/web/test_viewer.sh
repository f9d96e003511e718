#!/bin/sh
# The page of the viewer in a real browser, Chromium: the demo's world is drawn, and the picture is the kept one within a
# tolerance; levels are seen to load; a cart is picked and driven; models are added, dragged and removed; hostile names
# are only text; the connection is cut and restored; sensors are shown; a recording is scrubbed back to the same state.
#
# test_viewer.sh --update makes the kept picture, worlds/viewer.png, anew; README shows it.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/viewer.js" "$troupe" "$worlds" "$worlds/viewer.png" "$scratch" "$@"
