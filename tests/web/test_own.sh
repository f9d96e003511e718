#!/bin/sh
# Panels of the user (--view-panel) in a real browser, Chromium: the example of src/doc/tutorial/panel shows the time, the
# selection, stops a robot and pauses the run, also where a token is asked for; a panel that tries to reach the page, its
# storage, its connection, other files or other hosts cannot; folders that are none, too large, or with links that lead out
# are refused with one line.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/own.js" "$troupe" "$SOURCE_DIR/src/doc/tutorial/panel" "$scratch"
