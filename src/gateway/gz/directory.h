/* The topics and services of other processes that a node knows: their topics and services, and since when each process
 * is silent. Pure: times come in, and gone records go out through a callback. One thread at a time.
 *
 * Limits: DIRECTORY_PROCESSES_MAX processes and DIRECTORY_RECORDS_MAX records; more are not taken. A process that stays
 * silent makes room after DIRECTORY_SILENCE_NS. */
#ifndef GATEWAY_GZ_DIRECTORY_H
#define GATEWAY_GZ_DIRECTORY_H

#include "gateway/gz/beacon.h"

enum {
	DIRECTORY_PROCESSES_MAX = 1024,
	DIRECTORY_RECORDS_MAX = 32768,
};
#define DIRECTORY_SILENCE_NS UINT64_C(3000000000)

struct directory_record {
	bool is_service;
	const char *full;    /* "@/PARTITION@/TOPIC" */
	const char *address; /* "tcp://A.B.C.D:PORT" */
	const char *process, *node;
	const char *type;                               /* topic */
	const char *socket, *request_type, *reply_type; /* service; "" in a topic */
	bool throttled;
	uint64_t rate_hz;
	bool used;         /* for the owner of the directory; false at first */
	uint32_t attempts; /* the same; 0 at first */
	char *key;         /* private */
};

typedef void directory_gone_fn(struct directory_record *record, void *ctx);

struct directory;

/* on_gone is called for each record before it is freed, also by directory_destroy(). */
struct directory *directory_create(directory_gone_fn *on_gone, void *ctx);
void directory_destroy(struct directory *directory);

/* A sign of life. *ret_new: the process was not known. False: there are too many processes, and this one is not taken.
 */
bool directory_hear(struct directory *directory, struct beacon_text process, uint64_t now_ns, bool *ret_new);
/* Takes an ADVERTISE. The record, which stays valid until it is gone; *ret_new: it was not known. A record whose
 * address or types changed is gone, and new. NULL: too many, or its process is not known. */
struct directory_record *directory_add(struct directory *directory, const struct beacon *beacon, bool *ret_new);
/* Takes an UNADVERTISE. */
void directory_remove(struct directory *directory, const struct beacon *beacon);
/* Takes a BYE. */
void directory_remove_process(struct directory *directory, struct beacon_text process);
/* Removes processes that have been silent for too long. */
void directory_expire(struct directory *directory, uint64_t now_ns);

uint32_t directory_count(const struct directory *directory);
uint32_t directory_process_count(const struct directory *directory);
/* In no order; index below directory_count(). */
struct directory_record *directory_at(const struct directory *directory, uint32_t index);

#endif
