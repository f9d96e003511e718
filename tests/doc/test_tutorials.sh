#!/bin/sh
# Every block of commands of the tutorials that need no other machine and no ROS 2.
exec python3 "$SOURCE_DIR/tests/doc/run_blocks.py" src/doc/tutorial/first-robot.md \
	src/doc/tutorial/fifty-robots-python.md \
	src/doc/tutorial/plugin.md \
	src/doc/tutorial/bag-to-picture.md \
	src/doc/tutorial/what-went-wrong.md \
	src/doc/tutorial/planner.md
