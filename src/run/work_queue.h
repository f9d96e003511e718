/* Parts of one runner's step that other runners may take. The owner takes parts from the front and other runners from
 * the back, so that other runners tend to take the same parts in each step. Lock-free.
 *
 * Threads: the owner calls work_queue_open(), work_queue_take(), work_queue_is_done() and work_queue_wait(); any thread
 * calls the others. */
#ifndef RUN_WORK_QUEUE_H
#define RUN_WORK_QUEUE_H

#include "base/eventcount.h"

enum { SHARE_PARTS_MAX = 1 << 20 };

struct work_queue {
	_Alignas(
		64) _Atomic uint64_t left; /* 24 bits: round; 20: the first part not taken; 20: end of the free parts */
	struct eventcount done;            /* counts the parts done, over all rounds */
	uint32_t due;                      /* the owner's: value of `done` at which this round is complete */
};

/* Opens a round of `count` parts, below SHARE_PARTS_MAX. All parts of the round before must be done. A runner that
 * takes a part sees what the owner wrote before this call. round: must differ from the number of the round before;
 * its low 24 bits are kept. */
void work_queue_open(struct work_queue *share, uint32_t count, uint32_t round);
bool work_queue_take(struct work_queue *share, uint32_t *ret_part);
bool work_queue_steal(struct work_queue *share, uint32_t *ret_part);
/* Reports a taken part as done. Once all parts are done, the owner sees what was written before these calls. */
void work_queue_done(struct work_queue *share);
bool work_queue_is_done(const struct work_queue *share);
/* Waits until another part is done; returns at once if all are. */
void work_queue_wait(struct work_queue *share, uint32_t spins);
/* The low 24 bits of the number of the last round; 0 before the first round. */
uint32_t work_queue_round(const struct work_queue *share);

#endif
