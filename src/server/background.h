/* A thread of the server for work of clients that takes time, such as reading files and making models: threads of
 * gateways have many clients, and must not wait for the work of one. The jobs of one client are done in their order;
 * clients take turns. */
#ifndef SERVER_BACKGROUND_H
#define SERVER_BACKGROUND_H

#include "server/client.h"

struct background;

struct background_job {
	struct background_job *next;
	struct troupe_client *client; /* whose it is; lent until run() is called */
	size_t bytes;                 /* that it keeps */
	/* Frees the job. dropped: the server ends, so it is not to be done. */
	void (*run)(struct background_job *job, bool dropped);
};

struct background *background_create(void);
/* Waits for the job that is being done, and drops the others. NULL is fine. */
void background_destroy(struct background *background);
/* Any thread. TROUPE_ELIMIT: the jobs that wait keep too much memory; the job stays the caller's. */
troupe_status background_add(struct background *background, struct background_job *job, struct troupe_error *error);
/* Whether a job of the client waits or is being done. Any thread. */
bool background_has(struct background *background, const struct troupe_client *client);
/* Whether any does. Any thread. */
bool background_is_busy(struct background *background);

#endif
