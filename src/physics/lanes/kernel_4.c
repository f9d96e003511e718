/* The kernel with four lanes. */
#pragma GCC optimize("O3")
#define LANES 4
#define KERNEL_STEP lanes_step_4
#ifdef __x86_64__
#pragma GCC target("avx2")
#endif
#include "physics/lanes/kernel.inc"
