#include "crowd.h"

#include "base/base.h"
#include "base/hash.h"
#include "base/infile.h"
#include "base/map.h"
#include "base/parse.h"
#include "joined.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BYTES_MAX ((size_t)2 << 30)
enum { PER_LEVEL = 20, HOT_LEVELS = 16, COST_NS = 10000, NONE = UINT32_MAX };

const char *const crowd_kinds[CROWD_KINDS] = {"uniform", "uneven", "half", "skewed", "gathering"};

struct row { /* a line of a table: a model or level in a step */
	uint32_t component, node, cost, secondary;
	bool is_level, is_mover;
};

struct crowd_more {
	int kind;
	uint32_t *level_of, *home; /* [models] of a generated crowd */
	uint32_t *level_members;   /* [levels] performers in each */
	struct joined components;
	bool *loaded_levels;

	/* of a recorded crowd: the rows of step i are from first[i] to first[i + 1] */
	VEC(struct row) rows;
	VEC(uint32_t) first;
	char *table;
	struct map model_names, level_names;

	/* memory to which crowd.input points */
	uint32_t *model_component, *level_component, *cost, *level_near, *was;
	bool *mover, *entered, *level_has, *loaded;
	uint64_t *component_cost; /* [models + levels] */
};

/* --- common ----------------------------------------------------------------------------------------------------------
 */

static void make_arrays(struct crowd *crowd)
{
	struct crowd_more *more = crowd->more;
	uint32_t models = crowd->models, levels = crowd->levels + 1;
	more->model_component = mem_alloc(models * sizeof *more->model_component);
	more->level_component = mem_alloc(levels * sizeof *more->level_component);
	more->cost = mem_alloc(models * sizeof *more->cost);
	more->level_near = mem_alloc(levels * sizeof *more->level_near);
	more->mover = mem_alloc(models * sizeof *more->mover);
	more->entered = mem_alloc(models * sizeof *more->entered);
	more->loaded = mem_alloc(models * sizeof *more->loaded);
	more->level_has = mem_alloc(levels * sizeof *more->level_has);
	more->loaded_levels = mem_alloc(levels * sizeof *more->loaded_levels);
	more->component_cost = mem_alloc(((size_t)models + levels) * sizeof *more->component_cost);
	more->was = mem_alloc(models * sizeof *more->was);
	crowd->cost = more->cost;
	crowd->was = more->was;
	crowd->input = (struct assign_input){
		.model_count = models,
		.level_count = crowd->levels,
		.model_component = more->model_component,
		.level_component = more->level_component,
		.model_is_mover = more->mover,
		.model_entered = more->entered,
		.level_has_performer = more->level_has,
		.level_near = more->level_near,
	};
}

static void sum_costs(struct crowd *crowd)
{
	struct crowd_more *more = crowd->more;
	memset(more->component_cost, 0, crowd->input.component_count * sizeof *more->component_cost);
	crowd->all = crowd->greatest = 0;
	for (uint32_t m = 0; m < crowd->models; m++) {
		if (more->model_component[m] == NONE)
			continue;
		uint64_t *sum = &more->component_cost[more->model_component[m]];
		*sum += more->cost[m];
		crowd->all += more->cost[m];
		crowd->greatest = MAX(crowd->greatest, *sum);
	}
}

void crowd_destroy(struct crowd *crowd)
{
	struct crowd_more *more = crowd->more;
	joined_fini(&more->components);
	map_fini(&more->model_names);
	map_fini(&more->level_names);
	vec_free(&more->rows);
	vec_free(&more->first);
	free(more->level_of);
	free(more->home);
	free(more->level_members);
	free(more->table);
	free(more->model_component);
	free(more->level_component);
	free(more->cost);
	free(more->level_near);
	free(more->was);
	free(more->mover);
	free(more->entered);
	free(more->loaded);
	free(more->level_has);
	free(more->loaded_levels);
	free(more->component_cost);
	free(more);
	free(crowd);
}

/* --- generated -------------------------------------------------------------------------------------------------------
 */

static double random_unit(uint64_t a, uint64_t b)
{
	return (double)(hash_mix(a, b) >> 11) * 0x1p-53;
}

static uint32_t random_level(const struct crowd *crowd, uint64_t a, uint64_t b)
{
	double unit = random_unit(a, b), levels = crowd->levels;
	switch (crowd->more->kind) {
	case 2:
		return unit < 0.5 ? 0 : (uint32_t)((unit - 0.5) * 2 * levels);
	case 3:
		return (uint32_t)exp(unit * log(levels)) - 1;
	default:
		return (uint32_t)(unit * levels);
	}
}

static void enter(struct crowd *crowd, uint32_t model, uint32_t level)
{
	struct crowd_more *more = crowd->more;
	more->entered[model] = more->level_of[model] != level;
	if (more->level_of[model] != NONE)
		more->level_members[more->level_of[model]]--;
	more->level_of[model] = level;
	more->level_members[level]++;
}

void crowd_restart(struct crowd *crowd)
{
	struct crowd_more *more = crowd->more;
	if (crowd->steps)
		return;
	memset(more->level_members, 0, crowd->levels * sizeof *more->level_members);
	for (uint32_t m = 0; m < crowd->models; m++) {
		more->level_of[m] = NONE;
		enter(crowd, m, random_level(crowd, 1, m));
		more->home[m] = more->level_of[m];
		more->cost[m] =
			more->kind == 1 ? (uint32_t)(COST_NS / 10 * exp(random_unit(2, m) * log(100))) : COST_NS;
	}
}

/* Twice in the run the performers with even numbers go to the hot levels and back, each at its own time. */
static void gather(struct crowd *crowd, uint64_t step, uint64_t steps)
{
	struct crowd_more *more = crowd->more;
	double phase = fmod(2.0 * (double)step / (double)steps, 1) * 2; /* 0..1 gathering, 1..2 dispersing */
	for (uint32_t m = 0; m < crowd->models; m += 2) {
		double when = random_unit(3, m);
		bool there = phase < 1 ? when < phase : when > phase - 1;
		uint32_t level = there ? (uint32_t)(hash_mix(4, m) % MIN(HOT_LEVELS, crowd->levels)) : more->home[m];
		if (level != more->level_of[m])
			enter(crowd, m, level);
	}
}

static void wander(struct crowd *crowd, uint64_t step)
{
	uint32_t movers = MAX(crowd->models / 1000, 1u);
	for (uint32_t i = 0; i < movers; i++) {
		uint32_t model = (uint32_t)(hash_mix(step, i) % crowd->models);
		enter(crowd, model, random_level(crowd, step + 10, i));
	}
}

static void join_generated(struct crowd *crowd)
{
	struct crowd_more *more = crowd->more;
	joined_begin(&more->components, crowd->models, crowd->levels);
	for (uint32_t m = 0; m < crowd->models; m++)
		joined_level(&more->components, m, more->level_of[m]);
	for (uint32_t l = 0; l < crowd->levels; l++) {
		more->loaded_levels[l] = more->level_has[l] = more->level_members[l] > 0;
		more->level_near[l] = NONE;
	}
	crowd->input.component_count = joined_finish(&more->components, more->loaded, more->loaded_levels);
	crowd->input.model_component = more->components.model_component;
	crowd->input.level_component = more->components.level_component;
	memcpy(more->model_component, more->components.model_component, crowd->models * sizeof *more->model_component);
}

struct crowd *crowd_generate(const char *kind, uint32_t performers)
{
	struct crowd *crowd = mem_alloc(sizeof *crowd);
	struct crowd_more *more = crowd->more = mem_alloc(sizeof *more);
	for (int i = 0; i < CROWD_KINDS; i++)
		if (!strcmp(kind, crowd_kinds[i]))
			more->kind = i;
	crowd->name = crowd_kinds[more->kind];
	crowd->models = performers;
	crowd->levels = performers / PER_LEVEL + 1;
	make_arrays(crowd);
	more->level_of = mem_alloc(performers * sizeof *more->level_of);
	more->home = mem_alloc(performers * sizeof *more->home);
	more->level_members = mem_alloc(crowd->levels * sizeof *more->level_members);
	for (uint32_t m = 0; m < performers; m++)
		more->mover[m] = more->loaded[m] = true;
	return crowd;
}

/* --- recorded --------------------------------------------------------------------------------------------------------
 */

static _Noreturn void refuse(const char *path, uint32_t line, const char *what)
{
	fprintf(stderr, "levels: %s:%u: %s: expected a table of troupe run --costs\n", path, line, what);
	exit(1);
}

static uint32_t number_of(struct map *names, const char *name)
{
	uint32_t number = names->count;
	if (!map_find(names, name, &number))
		map_add(names, name, number);
	return number;
}

/* world,step,component,secondary,pin,kind,ns,name; only of world 0, because each world has its own assignment. */
static void read_row(struct crowd *crowd, char *text, const char *path, uint32_t line, char *last_step)
{
	enum { WORLD, STEP, COMPONENT, SECONDARY, PIN, KIND, NS, NAME, FIELDS };
	struct crowd_more *more = crowd->more;
	char *field[FIELDS] = {text};
	for (int i = 1; i < FIELDS; i++) {
		field[i] = strchr(field[i - 1], ',');
		if (!field[i])
			refuse(path, line, "a line of fewer than 8 fields");
		*field[i]++ = '\0';
	}
	uint64_t component, secondary, ns;
	if (!parse_uint64(field[COMPONENT], &component) || !parse_uint64(field[NS], &ns) ||
		!parse_uint64(field[SECONDARY], &secondary) || secondary > TROUPE_SECONDARIES_MAX ||
		component >= NONE || ns >= NONE)
		refuse(path, line, "no number where one should be");
	if (strcmp(field[WORLD], "0"))
		return;
	if (strcmp(field[STEP], last_step)) {
		vec_push(&more->first, more->rows.count);
		snprintf(last_step, 24, "%s", field[STEP]);
	}
	bool is_level = !strcmp(field[KIND], "level");
	struct row row = {.component = (uint32_t)component,
		.node = number_of(is_level ? &more->level_names : &more->model_names, field[NAME]),
		.cost = (uint32_t)ns,
		.secondary = (uint32_t)secondary,
		.is_level = is_level,
		.is_mover = !strcmp(field[KIND], "performer")};
	vec_push(&more->rows, row);
}

struct crowd *crowd_read(const char *path)
{
	struct crowd *crowd = mem_alloc(sizeof *crowd);
	struct crowd_more *more = crowd->more = mem_alloc(sizeof *more);
	struct troupe_error error;
	size_t bytes;
	if (infile_read(path, TABLE_BYTES_MAX, &more->table, &bytes, &error)) {
		fprintf(stderr, "levels: %s\n", error.text);
		exit(1);
	}
	char *rest, last_step[24] = "";
	uint32_t line = 1;
	char *text = strtok_r(more->table, "\n", &rest);
	if (!text || strcmp(text, "world,step,component,secondary,pin,kind,ns,name"))
		refuse(path, line, "another first line");
	while ((text = strtok_r(NULL, "\n", &rest)))
		read_row(crowd, text, path, ++line, last_step);
	if (!more->rows.count)
		refuse(path, line, "no rows");
	crowd->steps = more->first.count;
	vec_push(&more->first, more->rows.count);
	crowd->name = "recorded";
	crowd->models = more->model_names.count;
	crowd->levels = more->level_names.count;
	make_arrays(crowd);
	return crowd;
}

static void take_sample(struct crowd *crowd, uint64_t step)
{
	struct crowd_more *more = crowd->more;
	uint32_t components = 0;
	memset(more->model_component, 0xff, crowd->models * sizeof *more->model_component);
	memset(more->level_component, 0xff, crowd->levels * sizeof *more->level_component);
	memset(more->cost, 0, crowd->models * sizeof *more->cost);
	memset(more->was, 0, crowd->models * sizeof *more->was);
	memset(more->level_has, 0, crowd->levels * sizeof *more->level_has);
	memset(more->level_near, 0xff, crowd->levels * sizeof *more->level_near);
	/* the policies need components without gaps: components of other worlds leave gaps */
	uint32_t *number_of_component =
		mem_alloc(((size_t)crowd->models + crowd->levels) * sizeof *number_of_component);
	for (uint32_t i = more->first.at[step]; i < more->first.at[step + 1]; i++) {
		const struct row *row = &more->rows.at[i];
		if (row->component >= crowd->models + crowd->levels)
			refuse("table", i, "a component of a number beyond all models and levels");
		uint32_t *number = &number_of_component[row->component];
		if (!*number)
			*number = ++components;
		(row->is_level ? more->level_component : more->model_component)[row->node] = *number - 1;
		if (row->is_level)
			continue;
		more->cost[row->node] = row->cost;
		more->was[row->node] = row->secondary;
		more->mover[row->node] = row->is_mover;
	}
	free(number_of_component);
	crowd->input.component_count = components;
	for (uint32_t l = 0; l < crowd->levels; l++)
		more->level_has[l] = more->level_component[l] != NONE;
}

bool crowd_step(struct crowd *crowd, uint64_t step, uint64_t steps)
{
	if (crowd->steps) {
		if (step >= crowd->steps)
			return false;
		take_sample(crowd, step);
		sum_costs(crowd);
		return true;
	}
	memset(crowd->more->entered, 0, crowd->models * sizeof *crowd->more->entered);
	if (crowd->more->kind == 4)
		gather(crowd, step, steps);
	else if (step)
		wander(crowd, step);
	join_generated(crowd);
	sum_costs(crowd);
	return true;
}
