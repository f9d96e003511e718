#!/bin/sh
# Every block of commands of the tutorial about several processes and machines: a secondary is killed, another
# leaves, and a standby takes the place of the primary.
exec python3 "$SOURCE_DIR/tests/doc/run_blocks.py" src/doc/tutorial/cluster.md
