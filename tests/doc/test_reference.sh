#!/bin/sh
# Every block of commands of the pages that say what runs, programs and the library can do.
exec python3 "$SOURCE_DIR/tests/doc/run_blocks.py" src/doc/reference/runs.md \
	src/doc/reference/programs.md \
	src/doc/reference/library.md
