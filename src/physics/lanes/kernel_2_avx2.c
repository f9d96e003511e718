/* The kernel with two lanes in the three-operand instructions of AVX2: a robot alone takes 0.94 of the time. */
#pragma GCC optimize("O3")
#define LANES 2
#define KERNEL_STEP lanes_step_2_avx2
#ifdef __x86_64__
#pragma GCC target("avx2")
#endif
#include "physics/lanes/kernel.inc"
