/* A condition on the state of a world, as `troupe bisect` takes it: "cart.z < 0.1 and contact(cart, wall)". The manual
 * page troupe-bisect(1) has the grammar and the names of all quantities.
 *
 * A condition is true, false or not known: not known is what depends on a model that does not exist at present, on a
 * sensor that has not measured yet, or on the contacts of a first state (world.h). "and", "or" and "not" have the rules
 * of such a logic: false and unknown is false, true or unknown is true.
 *
 * Reads the server, changes nothing but that sensors which the condition names are held. One thread. */
#ifndef CLI_PREDICATE_H
#define CLI_PREDICATE_H

#include "base/arena.h"
#include "base/text.h"

#include <troupe/server.h>

enum { PREDICATE_BYTES_MAX = 1 << 16, PREDICATE_NODES_MAX = 4096, PREDICATE_DEPTH_MAX = 200 };

enum predicate_op {
	PREDICATE_NUMBER,
	PREDICATE_STEP,
	PREDICATE_TIME,
	PREDICATE_QUANTITY, /* MODEL.WORD, MODEL/PART.WORD */
	PREDICATE_MINUS,
	PREDICATE_ADD,
	PREDICATE_SUBTRACT,
	PREDICATE_MULTIPLY,
	PREDICATE_DIVIDE,
	PREDICATE_ABS,
	PREDICATE_SQRT,
	PREDICATE_MIN,
	PREDICATE_MAX,
	PREDICATE_DISTANCE,
	PREDICATE_DEPTH,
	/* true or false: */
	PREDICATE_LESS,
	PREDICATE_AT_MOST,
	PREDICATE_MORE,
	PREDICATE_AT_LEAST,
	PREDICATE_EQUAL,
	PREDICATE_UNEQUAL,
	PREDICATE_AND,
	PREDICATE_OR,
	PREDICATE_NOT,
	PREDICATE_CONTACT,
	PREDICATE_EXISTS,
	PREDICATE_FLAG, /* MODEL.asleep, MODEL.loaded */
};

struct predicate_name { /* what stands for models or their parts; * and ? in it stand for any text, any character */
	const char *model, *part; /* part NULL: the model itself */
	uint32_t column;
	bool pattern;
	bool seen; /* something of this name has existed */
};

struct predicate_node {
	enum predicate_op op;
	uint32_t column, bytes; /* its text: where it begins, from 1, and how long it is */
	double number;
	uint32_t first, count; /* operands: in predicate.operands */
	uint32_t names[2];     /* in predicate.names; TROUPE_NONE */
	const char *word;      /* of a quantity */
};

struct predicate_place; /* what a name means in the present scene */

struct predicate {          /* zeroed */
	const char *option; /* begins each message: "--when" */
	const char *text;
	struct arena arena;
	VEC(struct predicate_node) nodes;
	VEC(uint32_t) operands;
	VEC(struct predicate_name) names;
	uint32_t root;
	bool contacts, efforts; /* it depends on them: see predicate_observes() */
	/* of the scene in which it was looked up last */
	uint64_t epoch;
	struct predicate_place *places; /* [names.count]; NULL: it was not looked up */
	double time_s;                  /* simulated, of the state that was looked at last */
	bool observed; /* the contacts of the present state are known: the caller sets it after each step */
};

/* Reads a condition; `option` and `text` must live as long as it. TROUPE_EINVAL: the message names the column. Call
 * predicate_fini() in any case. */
troupe_status predicate_read(
	struct predicate *predicate, const char *option, const char *text, struct troupe_error *error);
/* The TROUPE_OBSERVE_... that the server needs. */
uint32_t predicate_observes(const struct predicate *predicate);
void predicate_fini(struct predicate *predicate);

/* --- evaluating (predicate_look.c, predicate_names.c): between steps --------------------------------------------- */

/* Another server, or another state of one, is looked at from now on. */
void predicate_renew(struct predicate *predicate);
/* 1, 0 or NAN (not known). values: [nodes.count]: the value of each node. TROUPE_ECOMMAND: a model exists, but it has
 * no such part or quantity; the message has the column and the names that exist. */
troupe_status predicate_look(struct predicate *predicate, struct troupe_server *server, uint32_t world, double *values,
	double *ret_truth, struct troupe_error *error);
/* The first name that nothing has had so far in any state that was looked at; NULL: there is none. */
const struct predicate_name *predicate_unseen(const struct predicate *predicate);
/* Says that nothing has this name, with the names of the present scene that are like it. */
troupe_status predicate_complain(const struct predicate *predicate, const struct predicate_name *name,
	struct troupe_server *server, uint32_t world, struct troupe_error *error);
/* Appends the text of a node that reads the state: "cart/wheel.velocity", "distance(a, b)". False: it is another. */
bool predicate_shown(const struct predicate *predicate, uint32_t node, struct text *out);
/* Appends the names of the models that the value of a node with a pattern belongs to, in the state that was looked at
 * last, which must be the present one. False: no pattern is in it. */
bool predicate_whose(const struct predicate *predicate, uint32_t node, struct troupe_server *server, uint32_t world,
	struct text *out);

#endif
