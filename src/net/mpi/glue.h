/* What troupe calls of an MPI library, as one table. The functions are in a module of their own, troupe_mpi.so, which
 * is loaded when a run asks for it: so nobody else waits for the MPI library to be loaded, or needs it. Any MPI will
 * do: its types do not leave the module.
 *
 * Thread: one call at a time (MPI_THREAD_SERIALIZED). Nothing blocks, except init and finalize. */
#ifndef NET_MPI_GLUE_H
#define NET_MPI_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GLUE_VERSION = 1, GLUE_WHY_BYTES = 256 };

struct glue_place {
	int rank, ranks;
	int neighbours; /* ranks on this machine, this one included */
};

struct glue_message {      /* zeroed: no message. May be moved in memory. */
	bool out;          /* it is on its way */
	uint64_t words[4]; /* the module's */
};

/* Functions that can fail return false, with one line in why[GLUE_WHY_BYTES]. */
struct glue {
	uint32_t version; /* GLUE_VERSION */
	/* Once in a process. Errors of MPI do not end the process afterwards. */
	bool (*init)(struct glue_place *ret_place, char *why);
	/* Whether the process was continued (SIGCONT) since init(): mpirun does so to all ranks when one has died, a
	 * second before it asks them to end, and another second before it kills them. */
	bool (*continued)(void);
	/* Waits for all ranks to do the same. */
	void (*finalize)(void);
	/* Begins to send. bytes: lent until done() says that it is done. */
	bool (*send)(int rank, const void *bytes, size_t count, struct glue_message *ret_message, char *why);
	/* Whether the next message from that rank is there; *ret_count: its bytes. It is then taken: receive() must
	 * follow. */
	bool (*next)(int rank, bool *ret_there, size_t *ret_count, struct glue_message *ret_message, char *why);
	/* Begins to receive what next() took into bytes, which are lent until done() says that it is done. */
	bool (*receive)(void *bytes, size_t count, struct glue_message *message, char *why);
	bool (*done)(struct glue_message *message, bool *ret_done, char *why);
};

#define GLUE_SYMBOL "troupe_mpi_glue"

#endif
