/* The solver of piles with two lanes. */
#pragma GCC optimize("O3")
#define LANES 2
#define SOFT_PASS lanes_soft_2
#include "physics/lanes/soft.inc"
