#!/bin/sh
# Gazebo's example and test worlds: the commands in their header comments are taken and have effects. The worlds are not
# a part of troupe: without them there is nothing to do.
set -u
worlds=$SOURCE_DIR/../shared/corpus
if [ ! -d "$worlds/gz-examples" ]; then
	echo 'skipped: the worlds of Gazebo: they are not here'
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
fi
exec python3 "$SOURCE_DIR/tests/conform/gz_worlds" "$TROUPE" "$worlds"/gz-examples/*.sdf "$worlds"/gz-test/*.sdf
