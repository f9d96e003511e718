/* The transport over MPI, for clusters: mpirun or srun starts the processes (ranks). Rank 0 is the primary; rank i is
 * secondary i. Frames are messages of MPI. */
#ifndef NET_MPI_MPI_H
#define NET_MPI_MPI_H

#include "net/end.h"
#include "net/gather.h"
#include "net/mpi/glue.h"

extern const struct transport_ops transport_mpi;
extern const struct gather_ops gather_mpi;

/* The ranks of this run. */
struct mpi_job {
	struct troupe_job job; /* the first member */
	void *module;
	const struct mpi_glue *glue;
	struct mpi_place place;
	struct carrier *carrier; /* until the link takes it */
	bool ended;              /* the other ranks have the message that the run is over, or have ended it */
};

extern const struct carrier_ops mpi_carrier_ops;
/* Creates a line for each of the ranks first, first + 1 and so on. */
troupe_status mpi_carrier_create(const struct mpi_glue *glue, int first, uint32_t count, struct carrier **ret_carrier,
	struct troupe_error *error);

/* join.c: the slots of gather_ops for the primary and for a secondary. */
troupe_status mpi_job_join(struct troupe_job **ret_job, struct troupe_error *error);
void mpi_job_leave(struct troupe_job *job, bool well);

#endif
