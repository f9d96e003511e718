#!/bin/sh
# The page of the viewer in a real browser, Chromium, with worlds made for it: the inspector lists the sensors of a model,
# and shows pictures, point clouds and plots at their places; point and spot lights shine; a texture that is not there;
# spheres, cylinders and SDF files are added; a robot is driven by touch; speed, steps and reset; several worlds in one
# file; contacts and components; addresses with a token, and with TLS; ten thousand boxes are a few draw calls.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/sights.js" "$troupe" "$worlds" "$scratch"
