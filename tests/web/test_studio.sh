#!/bin/sh
# `troupe run --foxglove` with Foxglove Studio's own page in a real browser, Chromium: it connects without a complaint, its
# 3D panel shows models in their colours and at their places, its image panel shows what a camera sees, and its Teleop
# panel drives a cart. The page is 56 MB of script (npm's @foxglove/studio-base, version 1.48), so studio/package.json is
# apart from the other packages of this folder. .ci/run installs it into a folder that TROUPE_STUDIO_MODULES names, in the
# way that lib.sh describes.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs "Foxglove Studio's page in a browser" playwright-core @foxglove/ws-protocol ws @foxglove/rosmsg @foxglove/rosmsg2-serialization
why=
command -v chromium >/dev/null || why='no chromium'
[ -d "${TROUPE_STUDIO_MODULES:-/nothing}/@foxglove/studio-base" ] ||
	why='TROUPE_STUDIO_MODULES names no folder with the packages of tests/web/studio'
"$troupe" run "$worlds/specification.sdf" --iterations 1 --no-gz --foxglove 0 -v 0 >"$scratch/said" 2>&1 ||
	why=$(head -n 1 "$scratch/said")
[ -z "$why" ] || {
	skip "Foxglove Studio's page in a browser" "$why"
	totals
	exit
}
CHROMIUM=$(command -v chromium) web_node "$SOURCE_DIR/tests/web/studio.js" "$troupe" "$TROUPE_STUDIO_MODULES" "$scratch"
