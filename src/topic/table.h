/* The table of topics and services of a run: one row for each topic that is published, each topic that is taken, and
 * each service. Systems, the server and gateways add rows; there is no second list of names. Rows come and go with
 * models; the epoch grows with each change.
 *
 * A published topic may have several rows of one name: several systems publish on it, as in Gazebo. A service has one.
 *
 *                    add, remove   X needs outside exclusion
 *    add, remove           X        one thread, the primary's, between steps
 *    find, next, row       X        that thread
 *    read, copy, epoch     -        any thread, at any time */
#ifndef TOPIC_TABLE_H
#define TOPIC_TABLE_H

#include "base/base.h"

enum { TOPIC_NAME_BYTES_MAX = 512, TOPIC_ROWS_MAX = 1 << 22, TOPIC_NONE = INT32_MAX };

enum topic_kind {
	TOPIC_PUBLISHED, /* by this run */
	TOPIC_TAKEN,     /* messages from it are commands */
	TOPIC_SERVICE,
	TOPIC_KINDS,
};

struct topic_row {
	enum topic_kind kind;
	const char *name;  /* "/world/w/clock" */
	const char *type;  /* "gz.msgs.Clock"; of a service: of its request */
	const char *reply; /* of a service: the type of its reply; else NULL */
	const char *owner; /* the part that added it, for people: "server", or a system and its model */
	const char *model; /* the name of the model whose system or sensor it is; NULL: none */
	double rate_hz;    /* messages per simulated second, at most; 0: one in each step, or on changes */
	const void *ops;   /* the owner's: the functions that serve it */
	uint64_t object;   /* the owner's: the object that it is for */
	const char *frame, *child_frame; /* names for the header of messages; NULL: none */
	const char *only; /* names, each enclosed in '\n': the parts of a message that are published; NULL: all */
	/* The clients that may see the row. NULL: all; "": all but robot clients; a name: only this robot client,
	 * because its model belongs to it. */
	const char *client;
	uint32_t part;  /* the owner's: what of the object */
	uint32_t how;   /* the owner's: how that is encoded; the same for all rows of one part */
	uint32_t world; /* of the run's worlds */
	bool is_twin;   /* set by topic_add(): see twins.h */
};

struct topic_table;

struct topic_table *topic_table_create(void);
void topic_table_destroy(struct topic_table *table);

/* Whether a topic or service can have this name: it begins with '/', has no blank, control character, '@', '~' or two
 * '/' in a row, and does not end with '/' (gz-transport's rules). */
bool topic_name_is_valid(const char *name);

/* Makes a name valid as Gazebo does, in place: blanks and control characters become '_'; '@', '~', ":=", a '/' after
 * another and a '/' at the end are removed. A name that does not begin with '/', has nothing after it or is too long
 * stays invalid. */
void topic_name_clean(char *name);

/* The part of a name after "/world/NAME/", where NAME is the name of the world, as it is or cleaned; NULL: the topic or
 * service is of no world, or of another one. */
const char *topic_in_world(const char *name, const char *world);
/* Whether this is the name of the world, as it is or cleaned. */
bool topic_is_of_world(const char *name, const char *world);

/* Adds a row; the texts are copied. Returns its id, which no other row has. TOPIC_NONE: the table is full, or the name
 * is not valid, or a service has the name already. */
uint32_t topic_add(struct topic_table *table, const struct topic_row *row);
void topic_remove(struct topic_table *table, uint32_t id);

/* The first row of that kind and name in the order of adding; TOPIC_NONE: there is none. Then the next one of the same
 * kind and name. */
uint32_t topic_find(const struct topic_table *table, enum topic_kind kind, const char *name);
uint32_t topic_next(const struct topic_table *table, uint32_t id);
/* Valid until a row is added or removed: for the primary's thread. */
const struct topic_row *topic_row(const struct topic_table *table, uint32_t id);
/* Whether this robot client may see the row; NULL: the asker is no robot client. */
bool topic_row_is_for(const struct topic_row *row, const char *client);
/* For other threads: a copy of the first row of this kind and name that the client (NULL: none) may see; free it with
 * topic_row_fini(). False: there is no such row. */
bool topic_copy(struct topic_table *table, enum topic_kind kind, const char *name, const char *client,
	struct topic_row *ret_row);

/* Copies a row with its texts; frees the texts of a copy. */
void topic_row_copy(const struct topic_row *row, struct topic_row *ret_row);
void topic_row_fini(struct topic_row *row);

uint64_t topic_epoch(const struct topic_table *table);
/* Calls fn for each row, by name and then by id. The table does not change meanwhile, so fn must be quick. Returns the
 * epoch. */
uint64_t topic_read(
	struct topic_table *table, void (*fn)(void *ctx, uint32_t id, const struct topic_row *row), void *ctx);

#endif
