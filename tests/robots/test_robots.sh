#!/bin/sh
# Robots like those of real files stand, hold and drive: drop says how, and each robot's file what is expected. Without
# it, parts that are right one by one could fail together: hulls, soft contacts, slips, mimic joints, controllers.
exec python3 "$SOURCE_DIR/tests/robots/drop" "$TROUPE"
