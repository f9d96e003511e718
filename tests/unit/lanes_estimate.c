/* A kernel with estimated reciprocals: test_lanes must notice. */
#define LANES 2
#define SIMD_BROKEN SIMD_ESTIMATE
#define KERNEL_STEP lanes_step_estimate
#include "physics/lanes/kernel.h"

lanes_step_fn lanes_step_estimate;

#include "physics/lanes/kernel.inc"
