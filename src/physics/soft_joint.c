/* The joints of piles. Here a joint of the forest is a link (assembly.h) like any other: rows of link.c, and of the
 * laws of its axes, which the solver satisfies step by step beside the contacts.
 *
 * An axis has up to four rows: its spring and damper, its motor (or friction), whose impulse is bounded, and two stops,
 * which only push. */
#include "physics/soft_internal.h"

#include <math.h>
#include <string.h>

#define SOFT_JOINT_BACK 0.25     /* part of ERP by which drift is corrected: more, and impulses build up */
#define SOFT_JOINT_ENDLESS 1e299 /* bounds beyond this are none */
#define SOFT_JOINT_BOUNDLESS 1e300

/* --- the rows of a link ------------------------------------------------------------------------------------------- */

static void soft_joint_add_row(struct soft *soft, struct soft_link *link, const struct soft_link_row *row)
{
	vec_push(&soft->link_rows, *row);
	link->row_count++;
}

static void soft_joint_add_equalities(struct worker *worker, struct soft_link *link, double dt)
{
	struct soft *soft = worker->exact->soft;
	const struct exact_part *part = &worker->exact->parts.at[link->part];
	uint32_t equality = part->link_row_first;
	for (uint32_t i = 0; link->own != SCENE_NONE && i < link->own; i++)
		equality += part->assembly->links.at[i].key.equal_rows;
	struct link_rows rows;
	link_equalities(worker, &link->of, dt, &rows);
	for (uint32_t r = 0; r < rows.count; r++) {
		struct soft_link_row row = {.row = rows.row[r],
			.lo = -SOFT_JOINT_BOUNDLESS,
			.hi = SOFT_JOINT_BOUNDLESS,
			.law = SCENE_NONE,
			.equality = link->own == SCENE_NONE ? SCENE_NONE : equality + r};
		row.row.soft *= soft->substeps;
		row.row.target -= (1 - SOFT_JOINT_BACK) * row.row.back;
		row.row.back *= SOFT_JOINT_BACK;
		soft_joint_add_row(soft, link, &row);
	}
}

struct soft_joint_law { /* in a step */
	double target, back, soft, lo, hi;
};

/* row: of the axis, without its law. */
static void soft_joint_add_axis_row(
	struct soft *soft, struct soft_link *link, struct soft_link_row row, const struct soft_joint_law *law)
{
	row.row.target += law->target;
	row.row.back = law->back;
	row.row.soft = law->soft * soft->substeps;
	row.lo = law->lo < -SOFT_JOINT_ENDLESS ? law->lo : law->lo / soft->substeps;
	row.hi = law->hi > SOFT_JOINT_ENDLESS ? law->hi : law->hi / soft->substeps;
	soft_joint_add_row(soft, link, &row);
}

/* axis: of the assembly. which: of the joint. A stop that brings the axis back corrects its position. */
static void soft_joint_add_law(struct worker *worker, struct soft_link *link, uint32_t axis, uint32_t which)
{
	struct soft *soft = worker->exact->soft;
	const uint32_t index = worker->exact->parts.at[link->part].law_first + axis;
	const struct axis_law *law = &worker->exact->laws.at[index];
	struct soft_link_row row = {.law = index, .equality = SCENE_NONE};
	if (!exact_has_link_law(law))
		return;
	link_axis(worker, &link->of, which, &row.row);
	if (law->mass > 0)
		soft_joint_add_axis_row(soft, link, row,
			&(struct soft_joint_law){
				law->push / law->mass, 0, 1 / law->mass, -SOFT_JOINT_BOUNDLESS, SOFT_JOINT_BOUNDLESS});
	else if (law->push != 0)
		soft_joint_add_axis_row(soft, link, row, &(struct soft_joint_law){0, 0, 0, law->push, law->push});
	if (!law->row)
		return;
	if (law->lo < law->hi)
		soft_joint_add_axis_row(
			soft, link, row, &(struct soft_joint_law){law->target, 0, law->soft, law->lo, law->hi});
	if (law->low > -SOFT_JOINT_ENDLESS)
		soft_joint_add_axis_row(soft, link, row,
			&(struct soft_joint_law){law->low, fmax(law->low, 0), law->low_soft, 0, SOFT_JOINT_BOUNDLESS});
	if (law->high < SOFT_JOINT_ENDLESS)
		soft_joint_add_axis_row(soft, link, row,
			&(struct soft_joint_law){
				law->high, fmin(law->high, 0), law->high_soft, -SOFT_JOINT_BOUNDLESS, 0});
}

static void soft_joint_add_rows(struct worker *worker, struct soft_link *link, double dt)
{
	const struct assembly *assembly = worker->exact->parts.at[link->part].assembly;
	link->row_first = worker->exact->soft->link_rows.count;
	soft_joint_add_equalities(worker, link, dt);
	if (link->own != SCENE_NONE) {
		for (uint32_t a = 0; a < link->of.axes; a++)
			soft_joint_add_law(worker, link, link->of.law_first + a, a);
		return;
	}
	for (uint32_t a = 0; a < assembly->axis_count; a++)
		if (assembly->axes.at[a].joint == link->of.joint.index)
			soft_joint_add_law(worker, link, a, assembly->axes.at[a].axis);
}

/* --- links -------------------------------------------------------------------------------------------------------- */

static void soft_joint_add_body(struct worker *worker, struct soft_link *link, uint32_t body)
{
	struct lanes_key_link *key = &link->of.key;
	if (!exact_moves(worker, body))
		return;
	for (uint32_t i = 0; i < key->body_count; i++)
		if (link->of.bodies[i] == body)
			return;
	link->bodies[key->body_count] = soft_number_of(worker->exact->soft, body);
	link->of.bodies[key->body_count++] = body;
}

/* The impulses of attachments begin at 0: an attachment has no number that stays. */
static void soft_joint_set_key(struct worker *worker, struct soft_link *link)
{
	const struct assembly_joint *joint = &link->of.joint;
	link->owner = SCENE_NONE;
	if (joint->kind == ASSEMBLY_ATTACHMENT)
		return;
	link->owner = worker->scene->joints[joint->index].model;
	link->key = SOFT_KEY_OF_JOINT | (uint64_t)joint->kind << 48 | (uint64_t)link->of.axis << 40 | joint->index;
	worker->exact->soft->found[link->owner] = 0;
}

static struct soft_link *soft_joint_add(struct worker *worker, struct soft_link link)
{
	struct soft *soft = worker->exact->soft;
	soft_joint_set_key(worker, &link);
	vec_push(&soft->links, link);
	return &soft->links.at[soft->links.count - 1];
}

/* A joint or an attachment by which the forest grows. */
static void soft_joint_add_edge(
	struct worker *worker, uint32_t part, uint32_t island, const struct assembly_joint *joint, double dt)
{
	struct soft_link *link = soft_joint_add(
		worker, (struct soft_link){.of = {.joint = *joint}, .part = part, .island = island, .own = SCENE_NONE});
	soft_joint_add_body(worker, link, joint->child);
	soft_joint_add_body(worker, link, joint->parent);
	soft_joint_add_rows(worker, link, dt);
}

static void soft_joint_add_own(
	struct worker *worker, uint32_t part, uint32_t island, const struct assembly_link *of, uint32_t own, double dt)
{
	const struct scene_joint *joints = worker->scene->joints;
	struct soft_link *link =
		soft_joint_add(worker, (struct soft_link){.of = *of, .part = part, .island = island, .own = own});
	if (of->by_dofs) { /* here bodies are all that there is */
		const struct scene_joint *joint = &joints[of->joint.index],
					 *leader = &joints[joint->mimic[of->axis].joint];
		link->of.by_dofs = false;
		link->of.key.dof_count = link->of.key.body_count = 0;
		soft_joint_add_body(worker, link, joint->child);
		soft_joint_add_body(worker, link, joint->parent);
		soft_joint_add_body(worker, link, leader->child);
		soft_joint_add_body(worker, link, leader->parent);
	}
	for (uint32_t i = 0; i < link->of.key.body_count; i++)
		link->bodies[i] = soft_number_of(worker->exact->soft, link->of.bodies[i]);
	soft_joint_add_rows(worker, link, dt);
}

static void soft_joint_list_part(struct worker *worker, uint32_t part, uint32_t island, double dt)
{
	const struct assembly *assembly = worker->exact->parts.at[part].assembly;
	for (uint32_t i = 0; i < assembly->count; i++)
		if (assembly->edges[i].joint.motion != LANES_FREE)
			soft_joint_add_edge(worker, part, island, &assembly->edges[i].joint, dt);
	for (uint32_t i = 0; i < assembly->links.count; i++)
		soft_joint_add_own(worker, part, island, &assembly->links.at[i], i, dt);
}

void soft_list_joints(struct worker *worker, double dt)
{
	struct exact *exact = worker->exact;
	struct soft *soft = exact->soft;
	soft->links.count = soft->link_rows.count = 0;
	for (uint32_t i = 0; i < soft->islands.count; i++)
		for (uint32_t p = soft->islands.at[i].root; soft_is_at_hand(soft, i) && p != SCENE_NONE;
			p = exact->parts.at[p].next)
			soft_joint_list_part(worker, p, i, dt);
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */

/* The parent of a joint, if it moves. */
static uint32_t soft_joint_last(const struct soft_link *link)
{
	bool to_parent = link->of.key.body_count == 2 && link->of.joint.kind != ASSEMBLY_MIMIC;
	return to_parent ? link->bodies[1] : 0;
}

static void soft_joint_fill_blocks(struct soft *soft, uint32_t colour, uint32_t lanes)
{
	uint32_t lane = lanes;
	for (uint32_t i = soft->queue.head[colour]; i != SCENE_NONE; i = soft->queue.next.at[i]) {
		struct soft_link *link = &soft->links.at[i];
		if (lane == lanes || colour == SOFT_COLOURS) {
			vec_push(&soft->link_blocks, (struct lanes_soft_links){0});
			lane = 0;
		}
		struct lanes_soft_links *block = &soft->link_blocks.at[soft->link_blocks.count - 1];
		for (uint32_t b = 0; b < link->of.key.body_count; b++)
			block->body[b][lane] = link->bodies[b];
		block->last[lane] = soft_joint_last(link);
		block->rows = MAX(block->rows, link->row_count);
		block->body_count = MAX(block->body_count, link->of.key.body_count);
		link->block = soft->link_blocks.count - 1;
		link->lane = lane++;
	}
}

void soft_deal_joints(struct worker *worker)
{
	struct soft *soft = worker->exact->soft;
	soft->link_blocks.count = 0;
	soft_begin_queue(soft);
	for (uint32_t i = 0; i < soft->links.count; i++)
		soft_enqueue(soft, soft->links.at[i].bodies, soft->links.at[i].of.key.body_count);
	for (uint32_t colour = 0; colour <= SOFT_COLOURS; colour++)
		soft_joint_fill_blocks(soft, colour, worker->exact->kernel->lanes);
	for (uint32_t i = 0; i < soft->link_blocks.count; i++) {
		soft->link_blocks.at[i].at = (uint32_t)soft->group_count;
		soft->group_count += LANES_SOFT_LINK_FIELDS + soft->link_blocks.at[i].rows * LANES_SOFT_ROW_FIELDS;
	}
}

static struct soft_lane soft_joint_lane(const struct worker *worker, const struct soft_link *link)
{
	return soft_lane_at(worker, worker->exact->soft->link_blocks.at[link->block].at, link->lane);
}

static struct soft_lane soft_joint_row(const struct soft_lane *lane, uint32_t row)
{
	return soft_lane_after(lane, LANES_SOFT_LINK_FIELDS + row * LANES_SOFT_ROW_FIELDS);
}

enum { SOFT_JOINT_NUMBERS = 6, SOFT_JOINT_ROWS_MAX = 24 };
_Static_assert(SOFT_JOINT_ROWS_MAX >= LINK_ROWS_MAX + 4 * LANES_AXES_MAX, "every row of a link has its impulse");

static void soft_joint_fill(struct worker *worker, const struct soft_link *link)
{
	const struct soft *soft = worker->exact->soft;
	struct soft_lane lane = soft_joint_lane(worker, link);
	struct soft_impulse before[SOFT_JOINT_ROWS_MAX / SOFT_JOINT_NUMBERS];
	uint32_t known =
		link->owner == SCENE_NONE ? 0 : soft_recall(worker, link->owner, link->key, before, ARRAY_LEN(before));
	for (uint32_t b = 0; b < link->of.key.body_count; b++)
		soft_set_body(soft, &lane, 7 * b, link->bodies[b]);
	for (uint32_t r = 0; r < link->row_count; r++) {
		const struct soft_link_row *row = &soft->link_rows.at[link->row_first + r];
		struct soft_lane to = soft_joint_row(&lane, r);
		for (uint32_t b = 0; b < link->of.key.body_count; b++) {
			soft_set3(&to, LANES_SOFT_LINEAR + 6 * b, row->row.linear[b]);
			soft_set3(&to, LANES_SOFT_ANGULAR + 6 * b, row->row.angular[b]);
		}
		double impulse = 0;
		if (r < known * SOFT_JOINT_NUMBERS)
			impulse = before[r / SOFT_JOINT_NUMBERS].numbers[r % SOFT_JOINT_NUMBERS];
		soft_set(&to, LANES_SOFT_TARGET, row->row.target);
		soft_set(&to, LANES_SOFT_BACK, row->row.back);
		soft_set(&to, LANES_SOFT_YIELD, row->row.soft);
		soft_set(&to, LANES_SOFT_LO, row->lo);
		soft_set(&to, LANES_SOFT_HI, row->hi);
		soft_set(&to, LANES_SOFT_ROW_IMPULSE, fmin(fmax(impulse, row->lo), row->hi));
	}
}

void soft_fill_joints(struct worker *worker)
{
	const struct soft *soft = worker->exact->soft;
	for (uint32_t i = 0; i < soft->links.count; i++)
		soft_joint_fill(worker, &soft->links.at[i]);
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static void soft_joint_keep(struct worker *worker, const struct soft_link *link, const struct soft_lane *lane)
{
	for (uint32_t first = 0; first < link->row_count; first += SOFT_JOINT_NUMBERS) {
		struct soft_impulse kept = {.key = link->key};
		for (uint32_t k = 0; k < SOFT_JOINT_NUMBERS && first + k < link->row_count; k++) {
			struct soft_lane row = soft_joint_row(lane, first + k);
			kept.numbers[k] = (float)(soft_of(&row, LANES_SOFT_ROW_IMPULSE) + 0.0);
		}
		soft_keep(worker, link->owner, &kept);
	}
}

/* The word of a coupling is its mean force, as couple.c has it: against its function. */
static void soft_joint_keep_coupling(
	struct worker *worker, const struct soft_link *link, const struct soft_lane *lane, double dt)
{
	struct state *state = worker->owner->state;
	struct soft_lane row = soft_joint_row(lane, 0);
	double force = -soft_of(&row, LANES_SOFT_ROW_SUM) / dt + 0.0;
	uint32_t word = state->joint_coupling[link->of.joint.index] + link->of.which;
	memcpy(state_words(state, worker->scene->joints[link->of.joint.index].model, true) + word, &force,
		sizeof force);
}

static void soft_joint_note(struct worker *worker, const struct soft_link *link, const struct soft_lane *lane)
{
	struct exact *exact = worker->exact;
	for (uint32_t r = 0; r < link->row_count; r++) {
		const struct soft_link_row *row = &exact->soft->link_rows.at[link->row_first + r];
		struct soft_lane from = soft_joint_row(lane, r);
		double sum = soft_of(&from, LANES_SOFT_ROW_SUM);
		if (row->law != SCENE_NONE)
			exact->law_impulses.at[row->law] += sum;
		if (row->equality != SCENE_NONE)
			exact->link_impulses.at[row->equality] += sum;
	}
}

/* exact_notes.c adds springs and forces to what the row of an axis of the forest does; here they are in it. */
static void soft_joint_note_springs(struct worker *worker, const struct soft_link *link)
{
	struct exact *exact = worker->exact;
	const struct exact_part *part = &exact->parts.at[link->part];
	for (uint32_t a = 0; a < part->assembly->axis_count; a++) {
		const struct assembly_axis *axis = &part->assembly->axes.at[a];
		const struct axis_law *law = &exact->laws.at[part->law_first + a];
		if (axis->joint != link->of.joint.index)
			continue;
		double *sum = &exact->law_impulses.at[part->law_first + a];
		*sum -= law->push;
		if (law->mass != 0)
			*sum += law->mass * exact_rate_after(worker, axis->joint, axis->axis);
	}
}

void soft_store_joints(struct worker *worker, double dt)
{
	const struct soft *soft = worker->exact->soft;
	for (uint32_t i = 0; i < soft->links.count; i++) {
		const struct soft_link *link = &soft->links.at[i];
		struct soft_lane lane = soft_joint_lane(worker, link);
		if (!soft->islands.at[link->island].sane)
			continue;
		if (link->owner != SCENE_NONE)
			soft_joint_keep(worker, link, &lane);
		if (link->of.joint.kind == ASSEMBLY_GEARS || link->of.joint.kind == ASSEMBLY_MIMIC)
			soft_joint_keep_coupling(worker, link, &lane, dt);
		if (!(worker->observe & OBSERVE_JOINTS))
			continue;
		soft_joint_note(worker, link, &lane);
		if (link->own == SCENE_NONE && link->of.joint.kind != ASSEMBLY_ATTACHMENT)
			soft_joint_note_springs(worker, link);
	}
}
