#!/bin/sh
# Stands for the unit tests in a build without Criterion: skipped if configure was told so, failed if Criterion was
# missing.
if [ "$UNIT_TESTS" = no ]; then
	echo 'skipped: unit tests: configured --without-criterion'
	echo '0 passed, 0 failed, 1 skipped'
else
	echo 'FAILED: unit tests: configure found no Criterion: install libcriterion-dev and configure again, or --without-criterion'
	echo '0 passed, 1 failed'
	exit 1
fi
