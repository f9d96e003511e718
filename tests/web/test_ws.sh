#!/bin/sh
# The page of the examples (tests/examples/drive.html) drives a robot through --serve ws, in a real browser: without it the
# page, or the protocol that a page without a library needs, could be broken.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
page=$(cd "$SOURCE_DIR" && pwd)/tests/examples/drive.html
web_begin ws.js
web_start WebSocket "$named_worlds/cart.sdf" --serve ws=0
CHROMIUM=$(command -v chromium) web_node "$script" "$page" "$port"
