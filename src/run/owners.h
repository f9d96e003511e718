/* The robot clients of a run and the models that they own. A model belongs to the client through which it was created;
 * it is pinned to that client's secondary while the client takes part. Owners are saved and recorded, so that a client
 * that comes back under the same name has its models. No bit of a state depends on them.
 *
 * The owner of a model stands in struct scene_model: 0, or the place of its name here plus 1.
 *
 * Thread: the primary's, between steps. */
#ifndef RUN_OWNERS_H
#define RUN_OWNERS_H

#include "base/pack.h"
#include "scene/scene.h"

#include <protobuf-c/protobuf-c.h>

enum { OWNERS_MAX = 4096, OWNER_NAME_MAX = 63 };

struct owner {
	char *name;
	uint32_t secondary; /* from 1; 0: the client does not take part */
};

struct owners {
	VEC(struct owner) all;
};

void owners_fini(struct owners *owners);

/* Whether a client can have this name, which begins its topics: a letter, then letters, digits and underscores, at most
 * OWNER_NAME_MAX bytes. */
bool owner_name_is_valid(const char *name);
/* The place of the name plus 1, which is added if it is new. TROUPE_ECOMMAND: not valid; TROUPE_ELIMIT. */
troupe_status owners_add(struct owners *owners, const char *name, uint32_t *ret_owner, struct troupe_error *error);
/* The name; NULL: owner is 0. */
const char *owners_name(const struct owners *owners, uint32_t owner);
/* The client takes part as this secondary, from 1, or with 0 does not. Its models are pinned accordingly; the caller
 * has the plan learn the pins (plan_regroup()). */
void owners_place(struct owners *owners, struct scene *scene, const char *name, uint32_t secondary);
/* Gives the model to the client, and pins it. owner 0: nothing is done. */
void owners_take(const struct owners *owners, struct scene_model *model, uint32_t owner);

/* The client that a request comes from: the value of "client" in the header of its message, where the run that takes
 * the client's requests has written it. NULL: the message has none. */
const char *owner_of_message(const ProtobufCMessage *message);

/* Pack and unpack the names, and the owner of each model that has one. False: damaged. */
void owners_pack(const struct owners *owners, const struct scene *scene, struct text *out);
bool owners_unpack(struct owners *owners, struct scene *scene, struct unpack *in);

#endif
