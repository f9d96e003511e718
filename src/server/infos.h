/* Facts about the models of a world that programs tell one another: category, description, tags. No bit of a state
 * depends on it, so a recording and a saved state do not have it. It is kept by the id of the model, until the run
 * ends.
 *
 * Thread: any, except for infos_create() and infos_destroy(). */
#ifndef SERVER_INFOS_H
#define SERVER_INFOS_H

#include "server/clients.h"

struct Troupe__Msgs__EntityInfo;

enum {
	INFOS_MAX = 10000, /* models */
	INFOS_DESCRIPTION_MAX = 2000,
	INFOS_TAG_MAX = 200, /* bytes */
	INFOS_TAGS_MAX = 64,
};

struct infos *infos_create(void);
void infos_destroy(struct infos *infos); /* NULL is fine */

/* A copy in the arena; NULL: nothing was said of the model of that id and name. */
struct Troupe__Msgs__EntityInfo *infos_copy(struct infos *infos, uint64_t id, const char *name, struct arena *arena);

/* troupe.msgs.EntityInfo: replaces what was said of the model. */
extern const struct query_ops act_set_entity_info;

#endif
