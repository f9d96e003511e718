#!/bin/sh
# The page of the viewer in a real browser, Chromium, draws seven worlds as in the kept pictures of tests/web/kept, but
# for few pixels: shapes, a hill, mechanisms, a warehouse, a world with sky, textures, metal and glass, a hall with racks,
# lamps and fog, and a small robot with two wheels. With TROUPE_UPDATE=1 it writes them.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/kept.js" "$troupe" "$worlds" "$scratch"
