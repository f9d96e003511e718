/* A name stays in the list when its client has gone: models may still belong to it, and it may come back. So the list
 * is bounded by OWNERS_MAX names, and a place in it never changes its meaning. */
#include "run/owners.h"

#include "topic/plain.pb-c.h"

#include <stdlib.h>
#include <string.h>

void owners_fini(struct owners *owners)
{
	for (uint32_t i = 0; i < owners->all.count; i++)
		free(owners->all.at[i].name);
	vec_free(&owners->all);
}

static bool owners_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool owner_name_is_valid(const char *name)
{
	size_t count = strlen(name);
	if (!owners_is_letter(*name) || count > OWNER_NAME_MAX)
		return false;
	for (size_t i = 1; i < count; i++)
		if (!owners_is_letter(name[i]) && name[i] != '_' && !(name[i] >= '0' && name[i] <= '9'))
			return false;
	return true;
}

uint32_t owners_find(const struct owners *owners, const char *name)
{
	for (uint32_t i = 0; i < owners->all.count; i++)
		if (!strcmp(owners->all.at[i].name, name))
			return i + 1;
	return 0;
}

troupe_status owners_add(struct owners *owners, const char *name, uint32_t *ret_owner, struct troupe_error *error)
{
	uint32_t owner = owners_find(owners, name);
	if (!owner && !owner_name_is_valid(name))
		return fail(error, TROUPE_ECOMMAND,
			"client '%.80s': expected a letter, then letters, digits and _, at most %d in all", name,
			OWNER_NAME_MAX);
	if (!owner && owners->all.count == OWNERS_MAX)
		return fail(error, TROUPE_ELIMIT, "client '%.80s': the run has had %d clients: expected no more", name,
			OWNERS_MAX);
	if (!owner) {
		vec_push(&owners->all, (struct owner){.name = mem_strdup(name)});
		owner = owners->all.count;
	}
	*ret_owner = owner;
	return TROUPE_OK;
}

bool owners_may_act(const struct owners *owners, uint32_t from, uint32_t to)
{
	return !from || from == to || owners->rights == OWNERS_ALL || (!to && owners->rights == OWNERS_WORLD);
}

const char *owners_name(const struct owners *owners, uint32_t owner)
{
	return owner ? owners->all.at[owner - 1].name : NULL;
}

/* Both pins: a reset of the model does not take it from its client. */
void owners_take(const struct owners *owners, struct scene_model *model, uint32_t owner)
{
	if (!owner)
		return;
	model->owner = owner;
	model->pin = model->home_pin = owners->all.at[owner - 1].secondary;
}

void owners_place(struct owners *owners, struct scene *scene, const char *name, uint32_t secondary)
{
	uint32_t owner;
	if (owners_add(owners, name, &owner, NULL))
		return;
	owners->all.at[owner - 1].secondary = secondary;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].owner == owner)
			owners_take(owners, &scene->models[m], owner);
}

const char *owner_of_message(const ProtobufCMessage *message)
{
	const ProtobufCFieldDescriptor *field =
		protobuf_c_message_descriptor_get_field_by_name(message->descriptor, "header");
	const Gz__Msgs__Header *header;
	if (!field || field->descriptor != &gz__msgs__header__descriptor)
		return NULL;
	memcpy(&header, (const char *)message + field->offset, sizeof header);
	for (size_t i = header ? header->n_data : 0; i-- > 0;)
		if (!strcmp(header->data[i]->key, "client"))
			return header->data[i]->n_value ? header->data[i]->value[0] : "";
	return NULL;
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

void owners_pack(const struct owners *owners, const struct scene *scene, struct text *out)
{
	uint32_t count = 0;
	pack_u64(out, owners->rights);
	pack_u64(out, owners->all.count);
	for (uint32_t i = 0; i < owners->all.count; i++)
		pack_string(out, owners->all.at[i].name);
	for (uint32_t m = 0; m < scene->model_count; m++)
		count += scene->models[m].id && scene->models[m].owner;
	pack_u64(out, count);
	for (uint32_t m = 0; m < scene->model_count; m++) {
		if (!scene->models[m].id || !scene->models[m].owner)
			continue;
		pack_u64(out, m);
		pack_u64(out, scene->models[m].owner);
	}
}

/* Places of names may differ from the saved ones, when clients have joined already. */
static bool owners_unpack_names(struct owners *owners, struct unpack *in, uint32_t *ret_places, uint32_t count)
{
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		char *name = unpack_string(in);
		in->bad |= owners_add(owners, name, &ret_places[i], NULL) != TROUPE_OK;
		free(name);
	}
	return !in->bad;
}

bool owners_unpack(struct owners *owners, struct scene *scene, struct unpack *in)
{
	owners->rights = (enum owner_rights)unpack_count(in, OWNERS_ALL);
	uint32_t names = unpack_count(in, OWNERS_MAX);
	uint32_t *places = mem_alloc((names + 1) * sizeof *places);
	bool good = !in->bad && owners_unpack_names(owners, in, places, names);
	uint32_t count = good ? unpack_count(in, scene->model_count) : 0;
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		uint64_t model = unpack_u64(in), owner = unpack_u64(in);
		if (model >= scene->model_count || !scene->models[model].id || !owner || owner > names)
			in->bad = true;
		else
			owners_take(owners, &scene->models[model], places[owner - 1]);
	}
	free(places);
	return !in->bad;
}
