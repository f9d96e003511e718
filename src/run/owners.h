/* The robot clients of a run and the models that they own. A model belongs to the client through which it was created;
 * it is pinned to that client's secondary while the client takes part. Owners are saved and recorded, so that a client
 * that comes back under the same name has its models. Which commands are obeyed depends on them, and nothing else.
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

/* What a robot client may act on, and what the systems of its models may act on. */
enum owner_rights {
	OWNERS_OWN,   /* its own models */
	OWNERS_WORLD, /* also models that belong to no client, and the systems of the world */
	OWNERS_ALL,   /* everything, as the run's own programs */
};

struct owners {
	VEC(struct owner) all;
	enum owner_rights rights; /* of all clients; saved with them, because later states depend on it */
};

void owners_fini(struct owners *owners);

/* Whether a client can have this name, which begins its topics: a letter, then letters, digits and underscores, at most
 * OWNER_NAME_MAX bytes. */
bool owner_name_is_valid(const char *name);
/* The place of the name plus 1, which is added if it is new. TROUPE_ECOMMAND: not valid; TROUPE_ELIMIT. */
troupe_status owners_add(struct owners *owners, const char *name, uint32_t *ret_owner, struct troupe_error *error);
/* The place of the name plus 1; 0: no client of the run has had it. */
uint32_t owners_find(const struct owners *owners, const char *name);
/* Whether what acts for the owner `from` may act on what belongs to `to`. 0: the run's own, which may act on all. */
bool owners_may_act(const struct owners *owners, uint32_t from, uint32_t to);
/* The name; NULL: owner is 0. */
const char *owners_name(const struct owners *owners, uint32_t owner);
/* The client takes part as this secondary, from 1, or with 0 does not. Its models are pinned accordingly; the caller
 * has the plan learn the pins (plan_regroup()). */
void owners_place(struct owners *owners, struct scene *scene, const char *name, uint32_t secondary);
/* Gives the model to the client, and pins it. owner 0: nothing is done. */
void owners_take(const struct owners *owners, struct scene_model *model, uint32_t owner);

/* The client that a message names as the one for which it acts: the value of "client" in its header. NULL: it names
 * none. A name takes rights away and gives none: only the run's own programs and files can send such a message. */
const char *owner_of_message(const ProtobufCMessage *message);

/* Pack and unpack the rights, the names, and the owner of each model that has one. False: damaged. */
void owners_pack(const struct owners *owners, const struct scene *scene, struct text *out);
bool owners_unpack(struct owners *owners, struct scene *scene, struct unpack *in);

#endif
