/* The solver of piles with eight lanes. */
#pragma GCC optimize("O3")
#define LANES 8
#define SOFT_PASS lanes_soft_8
#ifdef __x86_64__
#pragma GCC target("avx512f")
#endif
#include "physics/lanes/soft.inc"
