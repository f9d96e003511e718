#!/bin/sh
# Every block of commands of README, as it stands there.
exec python3 "$SOURCE_DIR/tests/doc/run_blocks.py" README
