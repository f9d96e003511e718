/* A flat contact of two polygons has many points, and each contact costs the solver rows. Four points carry as much:
 * the deepest; the one farthest from it; the one farthest from the line through these two; and the one farthest
 * outside of the triangle of these three. Equal scores go to the contact that comes first, so the choice depends on
 * the order given. */
#include "collide/internal.h"

static void reduce_swap(struct collide_contact *contacts, uint32_t a, uint32_t b)
{
	struct collide_contact kept = contacts[a];
	contacts[a] = contacts[b];
	contacts[b] = kept;
}

/* Moves the contact with the greatest score among [first, count) to the front; false when none is above least. */
#define REDUCE_PICK(first, least, score)                                                                               \
	do {                                                                                                           \
		uint32_t best_ = count;                                                                                \
		double most_ = (least);                                                                                \
		for (uint32_t i = (first); i < count; i++) {                                                           \
			double score_ = (score);                                                                       \
			if (score_ > most_)                                                                            \
				most_ = score_, best_ = i;                                                             \
		}                                                                                                      \
		if (best_ == count)                                                                                    \
			return (first);                                                                                \
		reduce_swap(contacts, (first), best_);                                                                 \
	} while (0)

uint32_t reduce_flat(struct collide_contact *contacts, uint32_t count)
{
	if (count <= 1)
		return count;
	REDUCE_PICK(0, -1, contacts[i].depth);
	struct vec3 n = contacts[0].normal, a = contacts[0].at, d;
	REDUCE_PICK(1, 1e-18, (d = vec3_sub(contacts[i].at, a), vec3_dot(d, d)));
	struct vec3 ab = vec3_sub(contacts[1].at, a), side = vec3_cross(n, ab);
	double least = 1e-9 * vec3_dot(ab, ab);
	REDUCE_PICK(2, least, fabs(vec3_dot(side, vec3_sub(contacts[i].at, a))));
	/* the fourth: the contact that lies farthest outside the triangle of the first three */
	struct vec3 t[3] = {contacts[0].at, contacts[1].at, contacts[2].at};
	if (vec3_dot(side, vec3_sub(t[2], t[0])) < 0) {
		struct vec3 s = t[1];
		t[1] = t[2], t[2] = s;
	}
	REDUCE_PICK(3, least,
		MAX(MAX(vec3_dot(vec3_cross(vec3_sub(t[1], t[0]), n), vec3_sub(contacts[i].at, t[0])),
			    vec3_dot(vec3_cross(vec3_sub(t[2], t[1]), n), vec3_sub(contacts[i].at, t[1]))),
			vec3_dot(vec3_cross(vec3_sub(t[0], t[2]), n), vec3_sub(contacts[i].at, t[2]))));
	return 4;
}
