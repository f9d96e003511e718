/* Facts about the models of a world that programs tell one another: category, description, tags. No bit of a state
 * depends on it, so a recording and a saved state do not have it. It is kept by the id of the model, until the run
 * ends.
 *
 * Thread: any, except for model_info_create() and model_info_destroy(). */
#ifndef SERVER_MODEL_INFO_H
#define SERVER_MODEL_INFO_H

#include "server/clients.h"

struct Troupe__Msgs__EntityInfo;

enum {
	MODEL_INFO_MAX = 10000, /* models */
	MODEL_INFO_DESCRIPTION_MAX = 2000,
	MODEL_INFO_TAG_MAX = 200, /* bytes */
	MODEL_INFO_TAGS_MAX = 64,
};

struct model_info *model_info_create(void);
void model_info_destroy(struct model_info *model_info); /* NULL is fine */

/* A copy in the arena; NULL: nothing was said of the model of that id and name. */
struct Troupe__Msgs__EntityInfo *model_info_copy(
	struct model_info *model_info, uint64_t id, const char *name, struct arena *arena);

/* troupe.msgs.EntityInfo: replaces what was said of the model. */
extern const struct query_ops act_set_entity_info;

#endif
