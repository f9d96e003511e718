#!/bin/sh
# Messages as CDR of ROS 2, and the schemas of their types, read by @foxglove/rosmsg and @foxglove/rosmsg2-serialization:
# the schemas are those of ROS 2 Humble as another project ships them, and a decoder that knows only the schema reads the
# values of tests/data/ros/cases.
#
# test_ros.sh --update FILE writes the cases with the present bytes and values to FILE.
set -u
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs "CDR read by another project's decoder" @foxglove/rosmsg @foxglove/rosmsg2-serialization @foxglove/rosmsg-msgs-common
cases=$SOURCE_DIR/tests/data/ros/cases
"$BUILD_DIR/tests/gateway/test_ros" --print "$cases" | web_node "$SOURCE_DIR/tests/web/ros.js" "$cases" ${2:+"$2"}
