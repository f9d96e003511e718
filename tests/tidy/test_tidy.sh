#!/bin/sh
# tests/tidy/tidy must see what is planted, and only that.
exec "$SOURCE_DIR/tests/tidy/tidy" --self-test
