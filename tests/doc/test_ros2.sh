#!/bin/sh
# Every block of commands of the pages about ROS 2.
exec python3 "$SOURCE_DIR/tests/doc/run_blocks.py" src/doc/tutorial/several-robots-nav2.md \
	src/doc/reference/ros2.md
