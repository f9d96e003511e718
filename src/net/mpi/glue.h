/* The calls to an MPI library, as one table. The functions are in a module of their own, troupe_mpi.so, which is loaded
 * when a run asks for it: so no other run waits until the MPI library is loaded, or needs it. Any MPI library will do:
 * its types do not leave the module. */
#ifndef NET_MPI_GLUE_H
#define NET_MPI_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GLUE_VERSION = 1, GLUE_WHY_BYTES = 256 };

struct mpi_place {
	int rank, ranks;
	int neighbours; /* ranks on this machine, this one included */
};

struct glue_message {      /* zeroed: no message. May be moved in memory. */
	bool out;          /* it is being sent or received */
	uint64_t words[4]; /* used by the module only */
};

/* Functions that can fail return false, with one line in why[GLUE_WHY_BYTES]. */
struct mpi_glue {
	uint32_t version; /* GLUE_VERSION */
	/* Once in a process. Errors of MPI do not end the process afterwards. */
	bool (*init)(struct mpi_place *ret_place, char *why);
	/* Whether the process was continued (SIGCONT) since init(): mpirun does so to all ranks when one has died, a
	 * second before it asks them to end, and another second before it kills them. */
	bool (*continued)(void);
	/* Waits until all ranks call it. */
	void (*finalize)(void);
	/* Begins to send. bytes: lent until done() returns true. */
	bool (*send)(int rank, const void *bytes, size_t count, struct glue_message *ret_message, char *why);
	/* Whether the next message from this rank has come; *ret_count: its bytes. If so, it is taken, and receive()
	 * must follow. */
	bool (*next)(int rank, bool *ret_there, size_t *ret_count, struct glue_message *ret_message, char *why);
	/* Begins to receive the message that next() took. bytes: lent until done() returns true. */
	bool (*receive)(void *bytes, size_t count, struct glue_message *message, char *why);
	bool (*done)(struct glue_message *message, bool *ret_done, char *why);
};

#define GLUE_SYMBOL "troupe_mpi_glue"

#endif
