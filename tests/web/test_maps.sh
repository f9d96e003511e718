#!/bin/sh
# The page of the viewer in a real browser, Chromium, draws maps of normals, roughness, metalness and what is emitted by the
# formulas of light: pixels of walls whose maps have two halves are those that the formulas give.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/maps.js" "$troupe" "$scratch"
