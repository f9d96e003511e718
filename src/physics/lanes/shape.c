/* Shapes: what follows from the key of an island. The lists that a kernel walks are made here once, so that it decides
 * nothing while it computes.
 *
 * Which coordinates a row moves is a set that contains, with each coordinate, all coordinates on its way to the root.
 * That holds for intersections of such sets, too, and it is what makes the elimination of a row stay within its set. */
#include "physics/lanes/shape.h"

#include "base/hash.h"

#include <string.h>

/* --- keys ------------------------------------------------------------------------------------------------------------
 */

enum { KEY_BODIES, KEY_LINKS, KEY_SLOTS, KEY_HEAD };
static const uint8_t lanes_shape_dofs_of_joint[] = {[LANES_FREE] = 6,
	[LANES_HINGE] = 1,
	[LANES_SLIDER] = 1,
	[LANES_BALL] = 3,
	[LANES_UNIVERSAL] = 2,
	[LANES_FIXED] = 0,
	[LANES_SCREW] = 1};

enum { ROLLS = -4 }; /* body b of a slot that rolls is written as ROLLS - b */

static void lanes_shape_key_push(struct lanes_key *key, int word)
{
	if (key->count < LANES_KEY_MAX)
		key->words[key->count] = (int16_t)word;
	key->count++;
}

void lanes_key_begin(struct lanes_key *key)
{
	key->count = key->dofs = key->rows = 0;
	for (int i = 0; i < KEY_HEAD; i++)
		lanes_shape_key_push(key, 0);
}

void lanes_key_add_body(struct lanes_key *key, const struct lanes_key_body *body)
{
	key->words[KEY_BODIES]++;
	lanes_shape_key_push(key, body->parent);
	lanes_shape_key_push(key, (int)body->joint | (int)body->law << 8);
	key->dofs += lanes_shape_dofs_of_joint[body->joint];
	for (uint32_t law = body->law; law; law &= law - 1)
		key->rows++;
}

void lanes_key_add_link(struct lanes_key *key, const struct lanes_key_link *link)
{
	key->words[KEY_LINKS]++;
	lanes_shape_key_push(key, (int)(link->body_count | link->dof_count << 8));
	lanes_shape_key_push(key, (int)(link->equal_rows | link->law_rows << 8));
	key->rows += link->equal_rows + link->law_rows;
	for (uint32_t i = 0; i < link->body_count; i++)
		lanes_shape_key_push(key, link->bodies[i]);
	for (uint32_t i = 0; i < link->dof_count; i++)
		lanes_shape_key_push(key, link->dofs[i]);
}

void lanes_key_add_slot(struct lanes_key *key, const struct lanes_key_slot *slot)
{
	key->words[KEY_SLOTS]++;
	lanes_shape_key_push(key, slot->a);
	lanes_shape_key_push(key, slot->rolls ? ROLLS - slot->b : slot->b);
	key->rows += slot->rolls ? 6 : 3;
}

bool lanes_key_end(struct lanes_key *key)
{
	if (key->count > LANES_KEY_MAX || key->dofs > LANES_DOFS_MAX || key->rows > LANES_ROWS_MAX ||
		key->words[KEY_BODIES] > LANES_BODIES_MAX || key->words[KEY_LINKS] > LANES_LINKS_MAX)
		return false;
	key->hash = hash_bytes(0, key->words, key->count * sizeof *key->words);
	return true;
}

bool lanes_key_is_equal(const struct lanes_key *a, const struct lanes_key *b)
{
	return a->hash == b->hash && a->count == b->count && !memcmp(a->words, b->words, a->count * sizeof *a->words);
}

/* --- reading a key ---------------------------------------------------------------------------------------------------
 */

struct lanes_shape_reader {
	const int16_t *at;
};

static int lanes_shape_key_next(struct lanes_shape_reader *reader)
{
	return *reader->at++;
}

static void lanes_shape_key_read_bodies(
	struct lanes_shape_reader *reader, struct lanes_shape *s, struct arena *arena, uint32_t *ret_laws)
{
	size_t count = (size_t)s->body_count;
	s->parent = arena_array(arena, int16_t, count);
	s->joint = arena_array(arena, uint8_t, count);
	for (int i = 0; i < s->body_count; i++) {
		s->parent[i] = (int16_t)lanes_shape_key_next(reader);
		int word = lanes_shape_key_next(reader);
		s->joint[i] = (uint8_t)(word & 0xff);
		ret_laws[i] = (uint32_t)word >> 8;
	}
}

static void lanes_shape_key_read_links(struct lanes_shape_reader *reader, struct lanes_shape *s, struct arena *arena)
{
	s->links = arena_array(arena, struct lanes_link, s->link_count + 1);
	for (int i = 0; i < s->link_count; i++) {
		struct lanes_key_link *link = &s->links[i].key;
		int counts = lanes_shape_key_next(reader), rows = lanes_shape_key_next(reader);
		link->body_count = (uint32_t)counts & 0xff;
		link->dof_count = (uint32_t)counts >> 8;
		link->equal_rows = (uint32_t)rows & 0xff;
		link->law_rows = (uint32_t)rows >> 8;
		for (uint32_t b = 0; b < link->body_count; b++)
			link->bodies[b] = (int16_t)lanes_shape_key_next(reader);
		for (uint32_t d = 0; d < link->dof_count; d++)
			link->dofs[d] = (int16_t)lanes_shape_key_next(reader);
	}
}

static void lanes_shape_key_read_slots(struct lanes_shape_reader *reader, struct lanes_shape *s, struct arena *arena)
{
	s->slots = arena_array(arena, struct lanes_key_slot, s->slot_count + 1);
	for (int i = 0; i < s->slot_count; i++) {
		s->slots[i].a = (int16_t)lanes_shape_key_next(reader);
		int b = lanes_shape_key_next(reader);
		s->slots[i].rolls = b < LANES_GROUND;
		s->slots[i].b = (int16_t)(s->slots[i].rolls ? ROLLS - b : b);
	}
}

/* --- coordinates -----------------------------------------------------------------------------------------------------
 */

static bool lanes_shape_has_axes(enum lanes_joint joint)
{
	return joint != LANES_FREE && joint != LANES_BALL && joint != LANES_FIXED;
}

int lanes_dof_of(const struct lanes_key_body *bodies, uint32_t body, uint32_t axis)
{
	int dof = (int)axis;
	for (uint32_t b = 0; b < body; b++)
		dof += lanes_shape_dofs_of_joint[bodies[b].joint];
	return dof;
}

/* The last coordinate of the nearest body on the way from `body` to the root that has coordinates; -1: none. */
static int lanes_shape_last_dof(const struct lanes_shape *s, int body)
{
	while (body >= 0 && !s->dofs[body])
		body = s->parent[body];
	return body < 0 ? -1 : s->dof[body] + s->dofs[body] - 1;
}

static void lanes_shape_number_dofs(struct lanes_shape *s, struct arena *arena)
{
	size_t bodies = (size_t)s->body_count;
	s->dof = arena_array(arena, int16_t, bodies);
	s->dofs = arena_array(arena, uint8_t, bodies);
	s->root = arena_array(arena, int16_t, bodies);
	for (int i = 0; i < s->body_count; i++) {
		bool rooted = s->joint[i] == LANES_FREE || s->parent[i] < 0;
		if (s->joint[i] == LANES_FREE)
			s->parent[i] = LANES_GROUND;
		s->root[i] = rooted ? (int16_t)i : s->root[s->parent[i]];
		s->dof[i] = (int16_t)s->dof_count;
		s->dofs[i] = lanes_shape_dofs_of_joint[s->joint[i]];
		s->dof_count += s->dofs[i];
	}
	s->up = arena_array(arena, int16_t, s->dof_count + 1);
	s->depth = arena_array(arena, uint8_t, s->dof_count + 1);
	s->run = arena_array(arena, int16_t, s->dof_count + 1);
	s->h_row = arena_array(arena, uint32_t, s->dof_count + 1);
	s->axis = arena_array(arena, int32_t, s->dof_count + 1);
	for (int i = 0; i < s->body_count; i++)
		for (int d = s->dof[i]; d < s->dof[i] + s->dofs[i]; d++) {
			int up = d > s->dof[i] ? d - 1 : lanes_shape_last_dof(s, s->parent[i]);
			s->up[d] = (int16_t)up;
			s->depth[d] = (uint8_t)(up < 0 ? 0 : s->depth[up] + 1);
			s->run[d] = up >= 0 && up == d - 1 ? s->run[up] : (int16_t)d;
			s->h_row[d] = s->h_count;
			s->h_count += s->depth[d] + 1u;
		}
}

/* Adds the coordinates that move a body to a set. */
static void lanes_shape_set_add_path(const struct lanes_shape *s, int body, bool *set)
{
	for (int d = body < 0 ? -1 : lanes_shape_last_dof(s, body); d >= 0; d = s->up[d])
		set[d] = true;
}

/* The set as a list, children first. */
static uint16_t lanes_shape_set_list(const struct lanes_shape *s, const bool *set, uint8_t *ret)
{
	uint16_t count = 0;
	for (int d = s->dof_count - 1; d >= 0; d--)
		if (set[d])
			ret[count++] = (uint8_t)d;
	return count;
}

static void lanes_shape_list_paths(struct lanes_shape *s, struct arena *arena)
{
	uint32_t total = 0;
	s->path_first = arena_array(arena, uint32_t, s->body_count + 1);
	for (int i = 0; i < s->body_count; i++) {
		int last = lanes_shape_last_dof(s, i);
		s->path_first[i] = total;
		total += last < 0 ? 0u : s->depth[last] + 1u;
	}
	s->path_first[s->body_count] = total;
	s->path = arena_array(arena, uint8_t, total + 1);
	for (int i = 0; i < s->body_count; i++) {
		uint8_t *at = s->path + s->path_first[i];
		for (int d = lanes_shape_last_dof(s, i); d >= 0; d = s->up[d])
			*at++ = (uint8_t)d;
	}
}

/* --- rows ------------------------------------------------------------------------------------------------------------
 */

/* The axes of the tree that have a law, then the laws of links; equalities; contacts. */
static void lanes_shape_number_rows(struct lanes_shape *s, const uint32_t *laws, struct arena *arena)
{
	int rolling = 0;
	for (int i = 0; i < s->body_count; i++)
		for (int a = 0; a < s->dofs[i]; a++)
			s->law_count += lanes_shape_has_axes(s->joint[i]) && laws[i] >> a & 1;
	for (int i = 0; i < s->link_count; i++) {
		s->links[i].law_row = (uint32_t)s->law_count;
		s->law_count += (int)s->links[i].key.law_rows;
	}
	for (int i = 0; i < s->link_count; i++) {
		s->links[i].equal_row = (uint32_t)(s->law_count + s->equal_count);
		s->equal_count += (int)s->links[i].key.equal_rows;
	}
	for (int i = 0; i < s->slot_count; i++)
		rolling += s->slots[i].rolls;
	s->normal_first = s->law_count + s->equal_count;
	s->friction_first = s->normal_first + s->slot_count;
	s->rolling_first = s->friction_first + 2 * s->slot_count;
	s->row_count = s->rolling_first + 3 * rolling;
	s->law_dof = arena_array(arena, int16_t, s->law_count + 1);
	int row = 0;
	for (int i = 0; i < s->body_count; i++)
		for (int a = 0; a < s->dofs[i]; a++)
			if (lanes_shape_has_axes(s->joint[i]) && laws[i] >> a & 1)
				s->law_dof[row++] = (int16_t)(s->dof[i] + a);
	for (; row < s->law_count; row++)
		s->law_dof[row] = -1;
}

static void lanes_shape_owner_begin(struct lanes_owner *owner, int rows, struct arena *arena)
{
	owner->row = arena_array(arena, uint16_t, rows);
	owner->rows = 0;
}

static void lanes_shape_owner_add_row(struct lanes_owner *owner, int row)
{
	owner->row[owner->rows++] = (uint16_t)row;
}

static void lanes_shape_owner_end(
	const struct lanes_shape *s, struct lanes_owner *owner, const bool *set, struct arena *arena)
{
	uint8_t dofs[LANES_DOFS_MAX];
	owner->support = lanes_shape_set_list(s, set, dofs);
	owner->dofs = arena_array(arena, uint8_t, owner->support + 1);
	memcpy(owner->dofs, dofs, owner->support);
}

static void lanes_shape_own_axes(struct lanes_shape *s, struct arena *arena)
{
	for (int r = 0; r < s->law_count; r++) {
		bool set[LANES_DOFS_MAX] = {false};
		if (s->law_dof[r] < 0)
			continue;
		struct lanes_owner *owner = &s->owners[s->owner_count++];
		for (int d = s->law_dof[r]; d >= 0; d = s->up[d])
			set[d] = true;
		lanes_shape_owner_begin(owner, 1, arena);
		lanes_shape_owner_add_row(owner, r);
		lanes_shape_owner_end(s, owner, set, arena);
	}
}

static void lanes_shape_own_links(struct lanes_shape *s, struct arena *arena)
{
	for (int i = 0; i < s->link_count; i++) {
		const struct lanes_link *link = &s->links[i];
		struct lanes_owner *owner = &s->owners[s->owner_count++];
		bool set[LANES_DOFS_MAX] = {false};
		for (uint32_t b = 0; b < link->key.body_count; b++)
			lanes_shape_set_add_path(s, link->key.bodies[b], set);
		for (uint32_t k = 0; k < link->key.dof_count; k++)
			for (int d = link->key.dofs[k]; d >= 0; d = s->up[d])
				set[d] = true;
		lanes_shape_owner_begin(owner, (int)(link->key.law_rows + link->key.equal_rows), arena);
		for (uint32_t r = 0; r < link->key.law_rows; r++)
			lanes_shape_owner_add_row(owner, (int)(link->law_row + r));
		for (uint32_t r = 0; r < link->key.equal_rows; r++)
			lanes_shape_owner_add_row(owner, (int)(link->equal_row + r));
		lanes_shape_owner_end(s, owner, set, arena);
	}
}

static void lanes_shape_own_slots(struct lanes_shape *s, struct arena *arena)
{
	int rolling = s->rolling_first;
	for (int i = 0; i < s->slot_count; i++) {
		struct lanes_owner *owner = &s->owners[s->owner_count++];
		bool set[LANES_DOFS_MAX] = {false};
		lanes_shape_set_add_path(s, s->slots[i].a, set);
		lanes_shape_set_add_path(s, s->slots[i].b, set);
		lanes_shape_owner_begin(owner, 6, arena);
		lanes_shape_owner_add_row(owner, s->normal_first + i);
		lanes_shape_owner_add_row(owner, s->friction_first + 2 * i);
		lanes_shape_owner_add_row(owner, s->friction_first + 2 * i + 1);
		for (int k = 0; k < 3 && s->slots[i].rolls; k++)
			lanes_shape_owner_add_row(owner, rolling++);
		lanes_shape_owner_end(s, owner, set, arena);
	}
}

static uint32_t lanes_shape_common_of(const struct lanes_owner *a, const struct lanes_owner *b, uint8_t *ret)
{
	uint32_t count = 0;
	for (int i = 0, j = 0; i < a->support && j < b->support;) {
		if (a->dofs[i] == b->dofs[j]) {
			if (ret)
				ret[count] = a->dofs[i];
			count++;
			i++;
			j++;
		} else if (a->dofs[i] > b->dofs[j]) {
			i++;
		} else {
			j++;
		}
	}
	return count;
}

static void lanes_shape_list_common(struct lanes_shape *s, struct arena *arena)
{
	uint32_t pair = 0, total = 0, pairs = (uint32_t)(s->owner_count * (s->owner_count + 1) / 2);
	s->common_first = arena_array(arena, uint32_t, pairs + 1);
	for (int i = 0; i < s->owner_count; i++)
		for (int j = 0; j <= i; j++) {
			s->common_first[pair++] = total;
			total += lanes_shape_common_of(&s->owners[i], &s->owners[j], NULL);
		}
	s->common_first[pair] = total;
	s->common = arena_array(arena, uint8_t, total + 1);
	pair = 0;
	for (int i = 0; i < s->owner_count; i++)
		for (int j = 0; j <= i; j++)
			lanes_shape_common_of(&s->owners[i], &s->owners[j], s->common + s->common_first[pair++]);
}

/* --- layout ----------------------------------------------------------------------------------------------------------
 */

static void lanes_shape_lay_out(struct lanes_shape *s, struct arena *arena)
{
	uint32_t at = (uint32_t)s->body_count * LANES_BODY_FIELDS;
	s->edge = arena_array(arena, uint32_t, s->body_count + 1);
	s->slot_at = arena_array(arena, uint32_t, s->slot_count + 1);
	for (int i = 0; i < s->body_count; i++) {
		s->edge[i] = at;
		at += s->joint[i] == LANES_FREE ? 0 : LANES_EDGE_FIELDS;
		for (int d = s->dof[i]; d < s->dof[i] + s->dofs[i]; d++) {
			s->axis[d] = lanes_shape_has_axes(s->joint[i]) ? (int32_t)at : -1;
			at += lanes_shape_has_axes(s->joint[i]) ? LANES_AXIS_FIELDS : 0;
		}
	}
	s->law_at = at;
	at += (uint32_t)s->law_count * LANES_LAW_FIELDS;
	s->equal_at = at;
	at += (uint32_t)s->equal_count * LANES_EQUAL_FIELDS;
	for (int i = 0; i < s->link_count; i++) {
		const struct lanes_key_link *key = &s->links[i].key;
		s->links[i].at = at;
		at += (key->law_rows + key->equal_rows) * (key->body_count * LANES_LINK_BODY_FIELDS + key->dof_count);
	}
	for (int i = 0; i < s->slot_count; i++) {
		s->slot_at[i] = at;
		at += s->slots[i].rolls ? LANES_ROLLING_FIELDS : LANES_SLOT_FIELDS;
	}
	s->in_count = at;
	s->impulses_at = at;
	s->failed_at = at + (uint32_t)s->row_count;
	s->batch_count = s->failed_at + 1;
}

/* As kernel_lay_out() of kernel.inc hands it out. */
static uint32_t lanes_shape_work_count(const struct lanes_shape *s)
{
	enum { BY_BODY = 3 * 3 + 9 + 3 * 6 + 10, BY_DOF = 6 + 3, BY_ROW = 9 + 4 + 1 };
	uint32_t bodies = (uint32_t)s->body_count, dofs = (uint32_t)s->dof_count, rows = (uint32_t)s->row_count;
	return bodies * BY_BODY + dofs * BY_DOF + s->h_count + (rows + LANES_OWNER_ROWS_MAX) * dofs + 2 * rows * rows +
	       rows * BY_ROW;
}

enum { SHAPE_BLOCK_BYTES = 4096 };

struct lanes_shape *lanes_shape_create(const struct lanes_key *key)
{
	struct arena arena = {.block_bytes = SHAPE_BLOCK_BYTES};
	struct lanes_shape_reader reader = {key->words + KEY_HEAD};
	uint32_t laws[LANES_BODIES_MAX];
	struct lanes_shape *s = arena_new(&arena, struct lanes_shape);
	s->key = arena_alloc(&arena, offsetof(struct lanes_key, words) + key->count * sizeof *key->words);
	memcpy(s->key, key, offsetof(struct lanes_key, words) + key->count * sizeof *key->words);
	s->body_count = key->words[KEY_BODIES];
	s->link_count = key->words[KEY_LINKS];
	s->slot_count = key->words[KEY_SLOTS];
	lanes_shape_key_read_bodies(&reader, s, &arena, laws);
	lanes_shape_key_read_links(&reader, s, &arena);
	lanes_shape_key_read_slots(&reader, s, &arena);
	lanes_shape_number_dofs(s, &arena);
	lanes_shape_number_rows(s, laws, &arena);
	s->owners = arena_array(&arena, struct lanes_owner, s->law_count + s->link_count + s->slot_count + 1);
	lanes_shape_list_paths(s, &arena);
	lanes_shape_own_axes(s, &arena);
	lanes_shape_own_links(s, &arena);
	lanes_shape_own_slots(s, &arena);
	lanes_shape_list_common(s, &arena);
	lanes_shape_lay_out(s, &arena);
	s->work_count = lanes_shape_work_count(s);
	s->arena = arena;
	return s;
}

void lanes_shape_destroy(struct lanes_shape *shape)
{
	if (!shape)
		return;
	struct arena arena = shape->arena;
	arena_fini(&arena);
}
