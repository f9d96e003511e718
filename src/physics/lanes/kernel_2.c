/* The kernel with two lanes. */
#pragma GCC optimize("O3")
#define LANES 2
#define KERNEL_STEP lanes_step_2
#include "physics/lanes/kernel.inc"
