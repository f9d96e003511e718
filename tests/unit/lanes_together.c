/* A kernel with lanes that do not go on alone: test_lanes must notice. */
#define LANES 2
#define SIMD_BROKEN SIMD_TOGETHER
#define KERNEL_STEP lanes_step_together
#include "physics/lanes/kernel.h"

lanes_step_fn lanes_step_together;

#include "physics/lanes/kernel.inc"
