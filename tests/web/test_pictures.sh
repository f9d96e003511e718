#!/bin/sh
# The page of the viewer in a real browser, Chromium: the first picture shows what moves, also in a hall with a roof; what
# has fallen out of the world spoils neither it nor the key H; bodies have the colours of their materials, and with the key
# K those of their secondaries; shadows have no stripes and no gaps; the figures of the run are right and the same
# everywhere, however busy the browser is; trials of another number of secondaries are not in the list of moves.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/pictures.js" "$troupe" "$scratch"
