/* The last step of each pair of models that has ever touched is kept, in order, so that a state costs a search for each
 * of its contacts. New pairs go to the end of the list, and are put in order when the whole state was taken. */
#include "gateway/contacts.h"

#include <troupe/world.h>

#include <math.h>
#include <stdlib.h>

uint64_t contacts_apart_steps(double step_s)
{
	return (uint64_t)llround(CONTACTS_APART_S / step_s);
}

void contacts_forget(struct contacts *contacts)
{
	contacts->pairs.count = 0;
	contacts->known = false;
}

void contacts_fini(struct contacts *contacts)
{
	vec_free(&contacts->pairs);
}

static int contacts_compare(const void *a, const void *b)
{
	const struct contacts_pair *x = a, *y = b;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

static const struct troupe_scene_model *contacts_model_of(
	const struct troupe_scene *scene, const struct troupe_contact *contact, uint32_t side)
{
	return &scene->models[scene->links[scene->shapes[contact->shapes[side]].link].model];
}

/* The pair of a contact; a model with itself, or an actor, is none. */
static bool contacts_pair_of(
	const struct troupe_scene *scene, const struct troupe_contact *contact, struct contacts_pair *ret_pair)
{
	uint64_t ids[2];
	for (uint32_t i = 0; i < 2; i++) {
		if (contact->shapes[i] == TROUPE_NONE)
			return false;
		ids[i] = contacts_model_of(scene, contact, i)->id;
	}
	*ret_pair = (struct contacts_pair){.a = MIN(ids[0], ids[1]), .b = MAX(ids[0], ids[1])};
	return ids[0] != ids[1];
}

/* Notes that the two touch at pair->last. sorted: pairs that are in order. Returns whether their contact begins. */
static bool contacts_note(
	struct contacts *contacts, const struct contacts_pair *pair, uint64_t apart_steps, uint32_t sorted)
{
	struct contacts_pair *old =
		sorted ? bsearch(pair, contacts->pairs.at, sorted, sizeof *pair, contacts_compare) : NULL;
	if (!old) {
		vec_push(&contacts->pairs, *pair);
		return true;
	}
	bool begins = pair->last - old->last > apart_steps;
	old->last = pair->last;
	return begins;
}

/* Pairs with several contacts were noted more than once. */
static void contacts_put_in_order(struct contacts *contacts)
{
	struct contacts_pair *at = contacts->pairs.at;
	uint32_t kept = 0;
	qsort(at, contacts->pairs.count, sizeof *at, contacts_compare);
	for (uint32_t i = 1; i < contacts->pairs.count; i++)
		if (contacts_compare(&at[kept], &at[i]))
			at[++kept] = at[i];
	contacts->pairs.count = kept + 1;
}

bool contacts_take(struct contacts *contacts, const struct troupe_snapshot *snapshot, double step_s)
{
	uint64_t apart_steps = contacts_apart_steps(step_s);
	uint32_t sorted = contacts->pairs.count;
	bool begins = false;
	for (uint32_t i = 0; i < snapshot->contact_count; i++) {
		struct contacts_pair pair;
		if (!contacts_pair_of(snapshot->scene, &snapshot->contacts[i], &pair))
			continue;
		pair.last = snapshot->step;
		bool here = contacts_note(contacts, &pair, apart_steps, sorted);
		if (here && contacts->known && contacts->on_begin)
			contacts->on_begin(contacts->ctx,
				contacts_model_of(snapshot->scene, &snapshot->contacts[i], 0)->name,
				contacts_model_of(snapshot->scene, &snapshot->contacts[i], 1)->name);
		begins |= here;
	}
	if (contacts->pairs.count > sorted)
		contacts_put_in_order(contacts);
	begins &= contacts->known;
	contacts->known = true;
	return begins;
}
