/* Both lists are in order, so the numbers of geoms and joints are sent as distances from the number before. A list
 * out of order, or with a joint twice, cannot be encoded. */
#include "run/wire_notes.h"

#include "geom/pack.h"

/* --- putting ------------------------------------------------------------------------------------------------------ */

/* The number from which the second geom is counted. */
static uint32_t wire_notes_second_after(const uint32_t last[2], uint32_t first)
{
	return first == last[0] ? last[1] : first + 1;
}

static void wire_notes_put_contacts(struct text *out, const contact_notes *contacts, bool forces)
{
	uint32_t last[2] = {0, 0};
	pack_var(out, contacts->count);
	for (uint32_t i = 0; i < contacts->count; i++) {
		const struct contact_note *note = &contacts->at[i];
		pack_var(out, note->geoms[0] - last[0]);
		pack_var(out, note->geoms[1] - wire_notes_second_after(last, note->geoms[0]));
		pack_vec3(out, note->position);
		pack_vec3(out, note->normal);
		pack_double(out, note->depth);
		if (forces)
			pack_vec3(out, note->force);
		last[0] = note->geoms[0];
		last[1] = note->geoms[1];
	}
}

static void wire_notes_put_efforts(struct text *out, const struct scene *scene, const effort_notes *efforts)
{
	uint32_t next = 0;
	pack_var(out, efforts->count);
	for (uint32_t i = 0; i < efforts->count; i++) {
		const struct effort_note *note = &efforts->at[i];
		pack_var(out, note->joint - next);
		for (uint32_t a = 0; a < notes_axes(&scene->joints[note->joint]); a++)
			pack_double(out, note->effort[a]);
		next = note->joint + 1;
	}
}

static void wire_notes_put_reactions(struct text *out, const reaction_notes *reactions)
{
	uint32_t next = 0;
	pack_var(out, reactions->count);
	for (uint32_t i = 0; i < reactions->count; i++) {
		const struct reaction_note *note = &reactions->at[i];
		pack_var(out, note->joint - next);
		pack_vec3(out, note->reaction.force);
		pack_vec3(out, note->reaction.torque);
		next = note->joint + 1;
	}
}

void wire_put_notes(struct text *out, uint32_t what, const struct scene *scene, const struct ack *ack)
{
	static const struct notes none;
	const struct notes *notes = ack->notes ? ack->notes : &none;
	pack_var(out, ack->stepped);
	if (what & OBSERVE_CONTACTS)
		wire_notes_put_contacts(out, &notes->contacts, what & OBSERVE_FORCES);
	if (what & OBSERVE_EFFORTS)
		wire_notes_put_efforts(out, scene, &notes->efforts);
	if (what & OBSERVE_FORCES)
		wire_notes_put_reactions(out, &notes->reactions);
}

/* --- getting ------------------------------------------------------------------------------------------------------ */

/* first plus the decoded distance; a sum out of range sets in->bad. */
static uint32_t wire_notes_get_from(struct unpack *in, uint32_t first, uint32_t count)
{
	if (first >= count) {
		in->bad = true;
		return 0;
	}
	return first + unpack_var_count(in, count - 1u - first);
}

static bool wire_notes_has_changed(const struct wire_changed *changed, uint32_t model)
{
	return changed->met[model] == changed->number;
}

/* Both geoms must exist. */
static bool wire_notes_have_changed(const struct wire_changed *changed, const struct contact_note *note)
{
	const struct scene_geom *a = &changed->scene->geoms[note->geoms[0]],
				*b = &changed->scene->geoms[note->geoms[1]];
	return (a->body == SCENE_NONE || wire_notes_has_changed(changed, a->model)) &&
	       (b->body == SCENE_NONE || wire_notes_has_changed(changed, b->model));
}

static troupe_status wire_notes_check_contact(const struct wire_changed *changed, const contact_notes *before,
	const struct contact_note *note, struct troupe_error *error)
{
	uint32_t a = note->geoms[0], b = note->geoms[1];
	if (!notes_contact_sane(changed->scene, note))
		return fail(error, TROUPE_EPROTOCOL, "a contact of shapes %u and %u is not valid", a, b);
	if (!wire_notes_have_changed(changed, note))
		return fail(error, TROUPE_EPROTOCOL, "a contact of shapes %u and %u, which did not move", a, b);
	if (before->count >= NOTES_PAIR_MAX &&
		notes_contact_key(&before->at[before->count - NOTES_PAIR_MAX]) == notes_contact_key(note))
		return fail(error, TROUPE_EPROTOCOL, "more than %d contacts of shapes %u and %u", NOTES_PAIR_MAX, a, b);
	return TROUPE_OK;
}

static troupe_status wire_notes_get_contacts(struct unpack *in, const struct wire_changed *changed, bool forces,
	contact_notes *ret, struct troupe_error *error)
{
	uint64_t count = unpack_var(in);
	uint32_t geoms = changed->scene->geom_count, last[2] = {0, 0};
	troupe_status status = TROUPE_OK;
	for (uint64_t i = 0; i < count && !in->bad && !status; i++) {
		struct contact_note note = {0};
		note.geoms[0] = wire_notes_get_from(in, last[0], geoms);
		note.geoms[1] =
			wire_notes_get_from(in, in->bad ? 0 : wire_notes_second_after(last, note.geoms[0]), geoms);
		note.position = unpack_vec3(in);
		note.normal = unpack_vec3(in);
		note.depth = unpack_double(in);
		note.force = forces ? unpack_vec3(in) : (struct vec3){0, 0, 0};
		if (in->bad)
			break;
		status = wire_notes_check_contact(changed, ret, &note, error);
		vec_push(ret, note);
		last[0] = note.geoms[0];
		last[1] = note.geoms[1];
	}
	return status;
}

static troupe_status wire_notes_get_efforts(
	struct unpack *in, const struct wire_changed *changed, effort_notes *ret, struct troupe_error *error)
{
	uint64_t count = unpack_var(in);
	uint32_t next = 0;
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct effort_note note = {.joint = wire_notes_get_from(in, next, changed->scene->joint_count)};
		if (in->bad)
			break;
		if (!notes_effort_sane(changed->scene, &note))
			return fail(error, TROUPE_EPROTOCOL, "an effort of joint %u, which has none", note.joint);
		if (!wire_notes_has_changed(changed, changed->scene->joints[note.joint].model))
			return fail(error, TROUPE_EPROTOCOL, "an effort of joint %u, which did not move", note.joint);
		for (uint32_t a = 0; a < notes_axes(&changed->scene->joints[note.joint]); a++)
			note.effort[a] = unpack_double(in);
		vec_push(ret, note);
		next = note.joint + 1;
	}
	return TROUPE_OK;
}

static troupe_status wire_notes_get_reactions(
	struct unpack *in, const struct wire_changed *changed, reaction_notes *ret, struct troupe_error *error)
{
	uint64_t count = unpack_var(in);
	uint32_t next = 0;
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct reaction_note note = {.joint = wire_notes_get_from(in, next, changed->scene->joint_count)};
		note.reaction.force = unpack_vec3(in);
		note.reaction.torque = unpack_vec3(in);
		if (in->bad)
			break;
		if (!notes_reaction_sane(changed->scene, &note))
			return fail(error, TROUPE_EPROTOCOL, "a reaction of joint %u, which no sensor measures",
				note.joint);
		if (!wire_notes_has_changed(changed, changed->scene->joints[note.joint].model))
			return fail(error, TROUPE_EPROTOCOL, "a reaction of joint %u, which did not move", note.joint);
		vec_push(ret, note);
		next = note.joint + 1;
	}
	return TROUPE_OK;
}

troupe_status wire_get_notes(struct unpack *in, uint32_t what, const struct wire_changed *changed, struct ack *ack,
	struct notes *ret, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	ret->contacts.count = ret->efforts.count = ret->reactions.count = 0;
	ack->notes = ret;
	ack->stepped = unpack_var_count(in, ack->changed.count);
	if (what & OBSERVE_CONTACTS)
		status = wire_notes_get_contacts(in, changed, what & OBSERVE_FORCES, &ret->contacts, error);
	if (!status && !in->bad && (what & OBSERVE_EFFORTS))
		status = wire_notes_get_efforts(in, changed, &ret->efforts, error);
	if (!status && !in->bad && (what & OBSERVE_FORCES))
		status = wire_notes_get_reactions(in, changed, &ret->reactions, error);
	return status;
}
