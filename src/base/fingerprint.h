/* The fingerprint of floating-point arithmetic, and its parts: physics/fingerprint.c computes them, and two processes
 * compare them when they meet (net/hello.h), so that a refusal can name what differs. */
#ifndef BASE_FINGERPRINT_H
#define BASE_FINGERPRINT_H

#include <stdint.h>

enum fingerprint_part {
	FINGERPRINT_ARITHMETIC, /* sums, products, rounding */
	FINGERPRINT_FUNCTIONS,  /* of mathematics, in double precision: base/math.h */
	FINGERPRINT_LIBM,       /* libm's of single precision, which assimp calls */
	FINGERPRINT_ODE,        /* its colliders and solvers */
	FINGERPRINT_SOLVER,     /* troupe's own */
	FINGERPRINT_PARTS
};

struct fingerprint {
	uint64_t all; /* of all parts together: the number that people see, and that files carry */
	uint64_t of[FINGERPRINT_PARTS];
};

#endif
