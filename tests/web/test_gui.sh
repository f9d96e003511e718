#!/bin/sh
# The page of the viewer in a real browser, Chromium, is as the world's <gui> says: the first view, a model that the camera
# follows, the panels that are there and those that are not, pictures, plots, texts, driving and keys by their topics; what
# the page does not have is named once. <scene> decides about background, grid and shadows; fog, cube maps, clouds and the
# textures of heightmaps are those of the cameras. The user can open all again.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/gui.js" "$troupe" "$scratch"
