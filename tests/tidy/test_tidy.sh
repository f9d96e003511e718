#!/bin/sh
# tests/tidy/tidy must find each planted fault, and nothing else.
exec "$SOURCE_DIR/tests/tidy/tidy" --self-test
