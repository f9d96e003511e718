/* A transport in a simulated network, for tests. The protocol of the primary and of each secondary is the one used over
 * TCP (net/peers.h, with the same frames). Time is virtual; delays, slow runners and faults follow from a seed. One
 * process, with a thread for each secondary as with inproc. Virtual time passes only while a peer is waited for, and
 * never beyond the time at which a computing secondary may act next, so the result does not depend on how threads are
 * scheduled.
 *
 * With a codec, steps and acks travel as bytes; without one, as pointers. */
#ifndef TESTS_NET_SIM_H
#define TESTS_NET_SIM_H

#include "net/hello.h"
#include "net/transport.h"

enum { SIM_SECONDARIES_MAX = 16, SIM_FAULTS_MAX = 8 };

enum sim_fault_kind {
	SIM_KILL,    /* stops at once; its connections break */
	SIM_FREEZE,  /* does nothing for `ns`, then goes on */
	SIM_HANG,    /* never ends the current step, or the next one; its heartbeats go on */
	SIM_CUT,     /* all frames to it and from it are lost */
	SIM_LEAVE,   /* reports that it leaves */
	SIM_RUBBISH, /* one bit of its next frame is flipped; only with a codec */
	SIM_SLOW,    /* each of its actions takes `ns` longer */
	SIM_ASK,     /* a secondary asks to leave */
	SIM_FAULT_KINDS,
};

struct sim_fault {
	enum sim_fault_kind kind;
	uint32_t node; /* 0: the primary; else a secondary, from 1 */
	uint64_t at_ns;
	uint64_t ns;
};

/* transport_options.link. NULL: no delay, no fault. */
struct transport_link {
	uint64_t seed;
	uint64_t delay_ns;                       /* the greatest delay of a frame; delays are drawn from 0 to this */
	uint64_t work_ns;                        /* the greatest time of a step on a secondary, drawn in the same way */
	uint64_t step_ns;                        /* deadline of a step; 0: none */
	uint64_t wait_ns;                        /* for all secondaries to join; 0: no limit */
	bool goes_on;                            /* the run goes on when a secondary is lost or leaves (regroups()) */
	bool again;                              /* it does so now, with these secondaries */
	struct sim_fault faults[SIM_FAULTS_MAX]; /* by at_ns */
	uint32_t fault_count;

	/* Written by the transport; read after all threads have left it. How the run ended for each node; kind 0: it
	 * did not end there (the node was killed, or the transport was destroyed before). */
	struct stop ends[SIM_SECONDARIES_MAX + 1];
	uint64_t now_ns;  /* virtual time at the end */
	bool began;       /* all secondaries joined and were ready */
	uint32_t staying; /* when the run ended at the primary and goes on: so many secondaries are to join again */
	/* written by the transport, for the threads of secondaries; NULL before and after its life */
	struct transport *transport;
};

/* stop() and is_done() are those of the primary's end; call stop() between steps. The wait() of a killed secondary
 * fails. The code of a killed primary learns of it from gave_up() or publish(). */
extern const struct transport_ops transport_sim;
/* Lets a fault happen now, of a kind that needs no time. Any thread, after the first step was
 * published; not inside a call-back. */
void sim_strike(struct transport *transport, enum sim_fault_kind kind, uint32_t node);

#endif
