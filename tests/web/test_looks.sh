#!/bin/sh
# The page of the viewer in a real browser, Chromium, shows materials and textures as the cameras of the run see them: the
# picture of a page that looks from where a camera stands, and that of the camera, differ in few pixels, for each kind of
# shape, for mesh files with textures beside and inside of them, and with maps that shine or can be seen through. Images
# come from the run's own server, once each; other files of the disk are not sent. What is small on the screen is drawn with
# fewer triangles; hundreds of images come, too.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/looks.js" "$troupe" "$scratch"
