/* What is left to do of one runner's step, in parts that other runners may take: the owner from the front, others from
 * the back, so that what they take tends to be the same in each step. Lock-free.
 *
 * Threads: share_open(), share_take(), share_is_done() and share_wait() are the owner's; anybody may call the others.
 */
#ifndef RUN_SHARE_H
#define RUN_SHARE_H

#include "base/gate.h"

enum { SHARE_PARTS_MAX = 1 << 20 };

struct share {
	_Alignas(
		64) _Atomic uint64_t left; /* 24 bits: round; 20: the first part that nobody has; 20: the end of them */
	struct gate done;                  /* parts done, of all rounds */
	uint32_t due;                      /* the owner's: when all parts of this round are done */
};

/* A round of so many parts, below SHARE_PARTS_MAX; all of the round before are done. Who takes one sees what was
 * written before. round: another number than that of the round before; 24 bits of it count. */
void share_open(struct share *share, uint32_t count, uint32_t round);
bool share_take(struct share *share, uint32_t *ret_part);
bool share_steal(struct share *share, uint32_t *ret_part);
/* A part that was taken is done. The owner sees what was written until then once all are. */
void share_done(struct share *share);
bool share_is_done(const struct share *share);
/* Until another part is done, or all are. */
void share_wait(struct share *share, uint32_t spins);
/* 24 bits of the number of the last round; 0 at first. */
uint32_t share_round(const struct share *share);

#endif
