/* A transport in a simulated network, for tests: the primary's and each secondary's protocol as over TCP (net/peers.h,
 * with the same frames), in virtual time, with delays, slow runners and faults that follow from a seed. One process, a
 * thread for each secondary as with inproc; time passes only while somebody is waited for, and never beyond what those
 * who compute may still do, so that what happens does not depend on how threads are scheduled.
 *
 * With a codec steps and acks travel as bytes, without one as the pointers that they are. */
#ifndef NET_SIM_H
#define NET_SIM_H

#include "net/hello.h"
#include "net/transport.h"

enum { SIM_SECONDARIES_MAX = 16, SIM_FAULTS_MAX = 8 };

enum sim_fault_kind {
	SIM_KILL,    /* gone from one moment to the next; its connections break */
	SIM_FREEZE,  /* does nothing for `ns`, and is there again */
	SIM_HANG,    /* never ends the step that it works on, or the next; its heart beats on */
	SIM_CUT,     /* what is sent to it and by it is lost */
	SIM_LEAVE,   /* says that it leaves */
	SIM_RUBBISH, /* a bit of the next frame that it sends is another; only with a codec */
	SIM_SLOW,    /* whatever it does takes `ns` longer */
	SIM_FAULT_KINDS,
};

struct sim_fault {
	enum sim_fault_kind kind;
	uint32_t node; /* 0: the primary; else a secondary, from 1 */
	uint64_t at_ns;
	uint64_t ns;
};

/* transport_options.link. NULL: no delay, no fault. */
struct sim_link {
	uint64_t seed;
	uint64_t delay_ns;                       /* of a frame: from nothing to this */
	uint64_t work_ns;                        /* that a step takes a secondary: likewise */
	uint64_t step_ns;                        /* deadline of a step; 0: none */
	uint64_t wait_ns;                        /* for all to be there; 0: for ever */
	struct sim_fault faults[SIM_FAULTS_MAX]; /* by at_ns */
	uint32_t fault_count;

	/* Written by the transport, read when all threads have left it: how it ended for each node; kind 0: it has not
	 * (it was killed, or all was destroyed before). */
	struct stop ends[SIM_SECONDARIES_MAX + 1];
	uint64_t now_ns; /* virtual time at the end */
	bool began;      /* all were there and ready */
	/* likewise, for sim_stop(); NULL before and after its life */
	struct transport *transport;
};

/* The primary tells all that the run is over and why, as tcp_stop(). Between steps; any thread. */
void sim_stop(struct sim_link *link, enum stop_kind kind, const char *why);

/* A secondary that is killed has its wait() fail; of a primary that is, gave_up() or publish() has to know. */
extern const struct transport_ops transport_sim;

#endif
