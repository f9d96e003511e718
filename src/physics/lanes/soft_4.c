/* The solver of piles with four lanes. */
#pragma GCC optimize("O3")
#define LANES 4
#define SOFT_PASS lanes_soft_4
#ifdef __x86_64__
#pragma GCC target("avx2")
#endif
#include "physics/lanes/soft.inc"
