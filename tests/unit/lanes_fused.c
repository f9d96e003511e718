/* A kernel with products that are fused: test_lanes must notice. */
#define LANES 2
#define SIMD_BROKEN SIMD_FUSED
#define KERNEL_STEP lanes_step_fused
#include "physics/lanes/kernel.h"

lanes_step_fn lanes_step_fused;

#include "physics/lanes/kernel.inc"
