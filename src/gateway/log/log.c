/* One row for each entity and sample ("tidy data"), because models come and go: if columns were named after models,
 * all names would have to be known before the first row. The chosen entities, and the constant part of their rows,
 * change only when models change. So both are computed once for each scene.
 *
 * Rows are made between steps, so the run waits for them. They are collected, and written out twice a second or when
 * there are many; each write ends with a complete row. */
#include "gateway/log/log.h"

#include "base/clock.h"
#include "base/shown.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_BYTES = 1 << 16 };
#define ROWS_NS ((uint64_t)500000000)

enum row_kind { ROW_MODEL, ROW_ODOMETRY, ROW_JOINT, ROW_LINK };

struct log_row { /* an entity that is chosen */
	enum row_kind kind;
	uint32_t index, axis; /* in the scene */
	bool also;            /* a model's secondary or a joint's effort is written too */
	char *head;           /* ",world,kind,model,name,axis" */
};

enum { SENSED = 19 }; /* columns with numbers of sensors only */

struct log_sensor { /* a sensor that is chosen; it is held */
	troupe_sensor sensor;
	uint32_t count;
	uint32_t columns[TROUPE_READING_NUMBERS]; /* of each of its numbers, see log_find_column() */
	bool seen;
	uint64_t seen_step; /* of its sample that was written last */
	char *head;
};

struct log_world {
	uint64_t epoch; /* epoch of the scene that the other members are made for */
	VEC(struct log_row) rows;
	VEC(struct log_sensor) sensors;
	uint32_t shape_count;
	bool *shapes;       /* [shape_count] whether the shape's contacts are chosen */
	char **shape_names; /* [shape_count] "model,name", for such rows */
};

/* The columns after step, time, world, kind, model, name and axis, in their order. */
enum column {
	X,
	Y,
	Z,
	QW,
	QX,
	QY,
	QZ,
	VX,
	VY,
	VZ,
	WX,
	WY,
	WZ,
	LOG_YAW,
	LOG_POSITION,
	LOG_VELOCITY,
	LOG_EFFORT,
	DRIFT,
	DRIFT_YAW,
	TILT,
	LOG_DEPTH,
	NX,
	NY,
	NZ,
	LOG_NUMBERS, /* number of columns with numbers; texts follow */
};
static const char log_head[] =
	"step,time,world,kind,model,name,axis,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz,yaw,position,velocity,"
	"effort,drift,drift_yaw,tilt,depth,nx,ny,nz,model2,name2,loaded,asleep,secondary";
/* Behind them, in a log of sensors. Numbers of sensors that have a column above are written there. */
static const char *const log_sensed[SENSED] = {"ax", "ay", "az", "fx", "fy", "fz", "tx", "ty", "tz", "bx", "by", "bz",
	"latitude", "longitude", "altitude", "pressure", "temperature", "contacts", "range"};

/* --- the file ----------------------------------------------------------------------------------------------------- */

static void log_give_up(struct log *log, const char *why)
{
	struct troupe_error text;
	(void)fail(&log->why, TROUPE_EIO, "%s: the log ends at step %" PRIu64, why, log->sampled);
	(void)fail(&text, TROUPE_EIO, "%s, the run goes on", log->why.text);
	(void)outfile_close(&log->file);
	log->warn(log->ctx, text.text);
}

static void log_write_rows(struct log *log)
{
	struct troupe_error text;
	int code = outfile_write(&log->file, log->rows.at, log->rows.count);
	log->rows.count = 0;
	log->written_ns = clock_now_ns();
	if (!code)
		return;
	(void)fail(&text, TROUPE_EIO, "%s: cannot write: %s", log->path, outfile_why(code));
	log_give_up(log, text.text);
}

/* --- what is chosen ----------------------------------------------------------------------------------------------- */

/* Line feeds are quoted, as CSV has it; other characters that a person must not see as they are become escapes. */
static void log_add_shown(struct text *out, const char *name)
{
	for (size_t count = strlen(name); count;) {
		struct shown_character c = shown_at(name, count);
		char escape[SHOWN_ESCAPE_MAX];
		bool escaped = (c.hidden || !c.valid) && c.code != '\n';
		if (escaped)
			shown_escape(c, escape);
		if (escaped)
			text_add_bytes(out, escape, strlen(escape));
		else if (*name == '"')
			text_add_bytes(out, "\"\"", 2);
		else
			text_add_bytes(out, name, c.bytes);
		name += c.bytes;
		count -= c.bytes;
	}
}

static void log_add_name(struct text *out, const char *name)
{
	const char *quote = strpbrk(name, ",\"\r\n") ? "\"" : "";
	text_add_bytes(out, quote, strlen(quote));
	log_add_shown(out, name);
	text_add_bytes(out, quote, strlen(quote));
}

static void log_add_row(
	struct log_world *world, const char *of, const struct log_row *row, const char *model, const char *name)
{
	static const char *const kinds[] = {
		[ROW_MODEL] = "model", [ROW_ODOMETRY] = "odometry", [ROW_JOINT] = "joint", [ROW_LINK] = "link"};
	struct log_row added = *row;
	struct text text = {0};
	text_add(&text, ",");
	log_add_name(&text, of);
	text_add(&text, ",%s,", kinds[row->kind]);
	log_add_name(&text, model);
	text_add(&text, ",");
	log_add_name(&text, name);
	text_add(&text, row->kind == ROW_JOINT ? ",%u" : ",", row->axis + 1);
	added.head = text.at;
	vec_push(&world->rows, added);
}

static void log_choose_joint(
	struct log *log, struct log_world *world, const struct troupe_scene *scene, uint32_t joint, const char *model)
{
	const struct troupe_scene_joint *j = &scene->joints[joint];
	bool effort = choice_has(&log->choice, "effort", model, j->name);
	if (!effort && !choice_has(&log->choice, "joint", model, j->name))
		return;
	for (uint32_t axis = 0; axis < j->axis_count; axis++)
		log_add_row(
			world, scene->world, &(struct log_row){ROW_JOINT, joint, axis, effort, NULL}, model, j->name);
}

static void log_choose_model(struct log *log, struct log_world *world, const struct troupe_scene *scene, uint32_t model)
{
	const struct troupe_scene_model *m = &scene->models[model];
	bool secondary = choice_has(&log->choice, "secondary", m->name, "");
	if (secondary || choice_has(&log->choice, "model", m->name, ""))
		log_add_row(world, scene->world, &(struct log_row){ROW_MODEL, model, 0, secondary, NULL}, m->name, "");
	if (choice_has(&log->choice, "odometry", m->name, ""))
		log_add_row(world, scene->world, &(struct log_row){ROW_ODOMETRY, model, 0, false, NULL}, m->name, "");
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		log_choose_joint(log, world, scene, j, m->name);
	for (uint32_t l = m->link_first; l < m->link_first + m->link_count; l++)
		if (choice_has(&log->choice, "link", m->name, scene->links[l].name))
			log_add_row(world, scene->world, &(struct log_row){ROW_LINK, l, 0, false, NULL}, m->name,
				scene->links[l].name);
}

/* Joints of the world itself come after those of models; they belong to no model. */
static void log_choose_world_joints(struct log *log, struct log_world *world, const struct troupe_scene *scene)
{
	uint32_t first = 0;
	for (uint32_t m = 0; m < scene->mobile_count; m++)
		first = MAX(first, scene->models[m].joint_first + scene->models[m].joint_count);
	for (uint32_t j = first; j < scene->joint_count; j++)
		log_choose_joint(log, world, scene, j, "");
}

/* The number of a column: of a column of enum column, or of `sensed`, counted from LOG_NUMBERS. */
static uint32_t log_find_column(const char *name)
{
	const size_t length = strlen(name);
	uint32_t column = 0;
	for (uint32_t i = 0; i < SENSED; i++)
		if (!strcmp(log_sensed[i], name))
			return LOG_NUMBERS + i;
	for (const char *at = strstr(log_head, ",x,") + 1; strncmp(at, name, length) != 0 || at[length] != ',';
		column++)
		at = strchr(at, ',') + 1;
	return column;
}

static void log_choose_sensor(struct log *log, struct log_world *world, const struct troupe_scene *scene,
	struct troupe_server *server, uint32_t i)
{
	const struct troupe_scene_sensor *sensor = &scene->sensors[i];
	const char *model = scene->models[sensor->model].name;
	struct log_sensor added = {.sensor = sensor->handle, .count = sensor->number_count};
	struct troupe_reading last;
	struct text text = {0};
	if (!sensor->number_count || !choice_has(&log->choice, "sensor", model, sensor->name) ||
		!troupe_hold_sensor(server, sensor->handle, true))
		return;
	for (uint32_t k = 0; k < added.count; k++)
		added.columns[k] = log_find_column(sensor->numbers[k]);
	added.seen = troupe_get_sensor(server, sensor->handle, &last);
	added.seen_step = added.seen ? last.step : 0;
	text_add(&text, ",");
	log_add_name(&text, scene->world);
	text_add(&text, ",sensor,");
	log_add_name(&text, model);
	text_add(&text, ",");
	log_add_name(&text, sensor->name);
	text_add(&text, ",");
	added.head = text.at;
	vec_push(&world->sensors, added);
}

static void log_choose_shapes(struct log *log, struct log_world *world, const struct troupe_scene *scene)
{
	if (!choice_may_have(&log->choice, "contact"))
		return;
	world->shape_count = scene->shape_count;
	world->shapes = mem_alloc(scene->shape_count * sizeof *world->shapes);
	world->shape_names = mem_alloc(scene->shape_count * sizeof *world->shape_names);
	for (uint32_t i = 0; i < scene->shape_count; i++) {
		const struct troupe_form *shape = scene->shapes[i].form;
		const struct troupe_scene_link *link = &scene->links[scene->shapes[i].link];
		const char *model = scene->models[link->model].name;
		struct text name = {0}, cells = {0};
		if (!shape->collision)
			continue;
		text_add(&name, "%s::%s", link->name, shape->name);
		world->shapes[i] = choice_has(&log->choice, "contact", model, name.at);
		log_add_name(&cells, model);
		text_add(&cells, ",");
		log_add_name(&cells, name.at);
		world->shape_names[i] = cells.at;
		text_fini(&name);
	}
}

static void log_forget(struct log_world *world)
{
	for (uint32_t i = 0; i < world->rows.count; i++)
		free(world->rows.at[i].head);
	world->rows.count = 0;
	for (uint32_t i = 0; i < world->sensors.count; i++)
		free(world->sensors.at[i].head);
	world->sensors.count = 0;
	for (uint32_t i = 0; i < world->shape_count; i++)
		free(world->shape_names[i]);
	free(world->shape_names);
	free(world->shapes);
	world->shape_names = NULL;
	world->shapes = NULL;
	world->shape_count = 0;
}

static void log_choose(
	struct log *log, struct troupe_server *server, struct log_world *world, const struct troupe_scene *scene)
{
	if (world->epoch == scene->epoch)
		return;
	log_forget(world);
	world->epoch = scene->epoch;
	for (uint32_t m = 0; m < scene->mobile_count; m++)
		log_choose_model(log, world, scene, m);
	log_choose_world_joints(log, world, scene);
	log_choose_shapes(log, world, scene);
	for (uint32_t i = 0; i < scene->sensor_count && log->sensors; i++)
		log_choose_sensor(log, world, scene, server, i);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void log_put_pose(double numbers[LOG_NUMBERS], const struct troupe_pose *pose, const struct troupe_twist *twist)
{
	const double values[13] = {pose->x, pose->y, pose->z, pose->qw, pose->qx, pose->qy, pose->qz, twist->linear.x,
		twist->linear.y, twist->linear.z, twist->angular.x, twist->angular.y, twist->angular.z};
	memcpy(&numbers[X], values, sizeof values);
}

static void log_put_odometry(double numbers[LOG_NUMBERS], const struct troupe_odometry *odometry)
{
	numbers[X] = odometry->x;
	numbers[Y] = odometry->y;
	numbers[LOG_YAW] = odometry->yaw;
	numbers[VX] = odometry->linear;
	numbers[WZ] = odometry->angular;
	numbers[DRIFT] = odometry->drift_m;
	numbers[DRIFT_YAW] = odometry->drift_rad;
	numbers[TILT] = odometry->tilt_rad;
}

/* NAN: the cell is empty. `first` is the part of the row before its numbers, `last` the part after them.
 * more: NULL, or [SENSED]. */
static void log_put_row(
	struct log *log, const char *first, const double numbers[LOG_NUMBERS], const char *last, const double *more)
{
	struct text *out = &log->rows;
	log->has_rows = true;
	text_add_bytes(out, log->line.at, log->line.count);
	text_add_bytes(out, first, strlen(first));
	for (int i = 0; i < LOG_NUMBERS; i++) {
		text_add_bytes(out, ",", 1);
		if (!isnan(numbers[i]))
			text_add_double(out, numbers[i]);
	}
	text_add_bytes(out, last, strlen(last));
	for (int i = 0; i < SENSED && log->sensors; i++) {
		text_add_bytes(out, ",", 1);
		if (more && !isnan(more[i]))
			text_add_double(out, more[i]);
	}
	text_add_bytes(out, "\n", 1);
}

static void log_put_entity(struct log *log, const struct log_row *row, const struct troupe_snapshot *snapshot)
{
	double numbers[LOG_NUMBERS];
	char last[64] = ",,,,,";
	for (int i = 0; i < LOG_NUMBERS; i++)
		numbers[i] = NAN;
	switch (row->kind) {
	case ROW_MODEL: {
		const struct troupe_model_state *model = &snapshot->models[row->index];
		log_put_pose(numbers, &model->pose, &model->twist);
		(void)snprintf(last, sizeof last, row->also ? ",,,%d,%d,%u" : ",,,%d,%d,", model->loaded, model->asleep,
			model->secondary);
		break;
	}
	case ROW_ODOMETRY:
		if (!snapshot->odometry[row->index].given)
			return;
		log_put_odometry(numbers, &snapshot->odometry[row->index]);
		break;
	case ROW_JOINT:
		numbers[LOG_POSITION] = snapshot->joints[row->index].position[row->axis];
		numbers[LOG_VELOCITY] = snapshot->joints[row->index].velocity[row->axis];
		if (row->also)
			numbers[LOG_EFFORT] = snapshot->joints[row->index].effort[row->axis];
		break;
	case ROW_LINK:
		log_put_pose(numbers, &snapshot->links[row->index].pose, &snapshot->links[row->index].twist);
		break;
	}
	log_put_row(log, row->head, numbers, last, NULL);
}

/* A shape that the scene does not know belongs to an actor. */
static bool log_is_chosen(const struct log_world *world, uint32_t shape)
{
	return shape < world->shape_count && world->shapes[shape];
}

static const char *log_name_cells(const struct log_world *world, uint32_t shape)
{
	return shape < world->shape_count ? world->shape_names[shape] : ",";
}

static void log_put_contact(struct log *log, const struct log_world *world, const struct troupe_snapshot *snapshot,
	const struct troupe_contact *contact)
{
	double numbers[LOG_NUMBERS];
	struct text first = {0}, last = {0};
	const uint32_t a = contact->shapes[0], b = contact->shapes[1];
	if (!log_is_chosen(world, a) && !log_is_chosen(world, b))
		return;
	for (int i = 0; i < LOG_NUMBERS; i++)
		numbers[i] = NAN;
	numbers[X] = contact->position.x;
	numbers[Y] = contact->position.y;
	numbers[Z] = contact->position.z;
	numbers[NX] = contact->normal.x;
	numbers[NY] = contact->normal.y;
	numbers[NZ] = contact->normal.z;
	numbers[LOG_DEPTH] = contact->depth;
	text_add(&first, ",");
	log_add_name(&first, snapshot->scene->world);
	text_add(&first, ",contact,%s,", log_name_cells(world, a));
	text_add(&last, ",%s,,,", log_name_cells(world, b));
	log_put_row(log, first.at, numbers, last.at, NULL);
	text_fini(&first);
	text_fini(&last);
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

struct sampling {
	struct log *log;
	struct troupe_server *server;
	bool only_choose;
	uint32_t world; /* index of the next world */
	uint64_t step;
};

static void log_begin_line(struct log *log, uint64_t step, double time_s)
{
	log->line.count = 0;
	text_add(&log->line, "%" PRIu64 ",", step);
	text_add_double(&log->line, time_s);
}

static void log_put_reading(struct log *log, const struct log_sensor *sensor, const struct troupe_reading *reading)
{
	double numbers[LOG_NUMBERS + SENSED];
	for (int i = 0; i < LOG_NUMBERS + SENSED; i++)
		numbers[i] = NAN;
	for (uint32_t i = 0; i < sensor->count; i++)
		numbers[sensor->columns[i]] = reading->numbers[i];
	log_begin_line(log, reading->step, reading->time_s);
	log_put_row(log, sensor->head, numbers, ",,,,,", numbers + LOG_NUMBERS);
}

/* The samples that were taken since the last call, of this state or of earlier ones. */
static void log_put_readings(
	struct log *log, struct log_world *world, struct troupe_server *server, uint64_t step, bool of_this)
{
	for (uint32_t i = 0; i < world->sensors.count; i++) {
		struct log_sensor *sensor = &world->sensors.at[i];
		struct troupe_reading reading;
		if (!troupe_get_sensor(server, sensor->sensor, &reading) || (reading.step == step) != of_this ||
			(sensor->seen && sensor->seen_step == reading.step))
			continue;
		log_put_reading(log, sensor, &reading);
		sensor->seen = true;
		sensor->seen_step = reading.step;
	}
}

static void log_sample_world(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct sampling *sampling = ctx;
	struct log *log = sampling->log;
	while (log->worlds.count <= sampling->world)
		(void)vec_append(&log->worlds, 1);
	struct log_world *world = &log->worlds.at[sampling->world++];
	if (snapshot->step != sampling->step) /* this world has ended earlier */
		return;
	log_choose(log, sampling->server, world, snapshot->scene);
	if (sampling->only_choose)
		return;
	log_begin_line(log, snapshot->step, snapshot->time_s);
	for (uint32_t i = 0; i < world->rows.count; i++)
		log_put_entity(log, &world->rows.at[i], snapshot);
	for (uint32_t i = 0; i < snapshot->contact_count; i++)
		log_put_contact(log, world, snapshot, &snapshot->contacts[i]);
}

/* A sensor measures when it is due, and not when a sample of the states is taken: so its rows are written at each step.
 * The rows of a sensor of a new model begin with the step after its creation. */
static void log_sample_sensors(struct log *log, struct troupe_server *server, uint64_t step)
{
	struct sampling sampling = {log, server, true, 0, step};
	bool changed = !log->worlds.count;
	for (int of_this = 0; of_this < 2; of_this++)
		for (uint32_t w = 0; w < log->worlds.count; w++)
			log_put_readings(log, &log->worlds.at[w], server, step, of_this);
	for (uint32_t w = 0; w < log->worlds.count; w++)
		changed |= troupe_server_scene_epoch(server, w) != log->worlds.at[w].epoch;
	if (changed)
		troupe_server_look(server, log_sample_world, &sampling);
}

/* The default follows from the present step, so that a run has the same rows after it was resumed, and rows of 10 ms
 * after the step has changed. */
static uint64_t log_every(const struct log *log, const struct troupe_server *server)
{
	double step_s = troupe_server_step_s(server, 0);
	if (log->every)
		return log->every;
	return step_s > 0 ? (uint64_t)MAX(1.0, round(1.0 / LOG_PER_SECOND / step_s)) : 1;
}

static void log_sample(struct log *log, struct troupe_server *server, uint64_t step)
{
	struct sampling sampling = {log, server, false, 0, step};
	if (log->sensors)
		log_sample_sensors(log, server, step);
	if (step % log_every(log, server) == 0)
		troupe_server_look(server, log_sample_world, &sampling);
	log->sampled = step;
	if (log->rows.count > ROWS_BYTES || clock_now_ns() - log->written_ns > ROWS_NS)
		log_write_rows(log);
}

void log_step(struct log *log, struct troupe_server *server, uint64_t step)
{
	if (outfile_is_open(&log->file) && step != log->sampled)
		log_sample(log, server, step);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

troupe_status log_init(struct log *log, const char *path, uint64_t every, const char *name, const char *what,
	void (*warn)(void *ctx, const char *text), void *ctx, struct troupe_error *error)
{
	what = what ? what : "model,joint,odometry";
	*log = (struct log){.path = path, .every = every, .name = name, .what = what, .warn = warn, .ctx = ctx};
	troupe_status status = path ? choice_read(&log->choice, name, what, true, error) : TROUPE_OK;
	log->sensors = choice_may_have(&log->choice, "sensor");
	return status;
}

uint32_t log_observes(const struct log *log)
{
	uint32_t bits = 0;
	if (choice_may_have(&log->choice, "contact"))
		bits |= TROUPE_OBSERVE_CONTACTS;
	if (choice_may_have(&log->choice, "effort"))
		bits |= TROUPE_OBSERVE_EFFORTS;
	return bits;
}

uint64_t log_step_every(const struct log *log)
{
	return !log->path ? 0 : log->every && !log->sensors ? log->every : 1;
}

void log_begin(struct log *log, struct troupe_server *server, outfile_urgency_fn urgency)
{
	struct troupe_error why;
	if (!log->path)
		return;
	if (outfile_open(&log->file, log->path, &(struct outfile_options){.urgency = urgency}, &why)) {
		log_give_up(log, why.text);
		return;
	}
	log->written_ns = clock_now_ns();
	text_add_bytes(&log->rows, log_head, strlen(log_head));
	for (int i = 0; i < SENSED && log->sensors; i++)
		text_add(&log->rows, ",%s", log_sensed[i]);
	text_add_bytes(&log->rows, "\n", 1);
	log_sample(log, server, troupe_server_progress(server).steps);
}

/* A name that is wrong in the pattern would else be found only when the table is used. */
static void log_say_empty(const struct log *log)
{
	struct text text = {0};
	text_add(&text, "%s: the log has no row: the run had nothing that %s '%.200s' chooses", log->path, log->name,
		log->what);
	log->warn(log->ctx, text.at);
	text_fini(&text);
}

troupe_status log_end(struct log *log, struct troupe_error *error)
{
	if (outfile_is_open(&log->file))
		log_write_rows(log);
	if (outfile_is_open(&log->file) && !log->has_rows)
		log_say_empty(log);
	int code = outfile_close(&log->file);
	if (code && !log->why.status)
		(void)fail(&log->why, TROUPE_EIO, "%s: cannot write: %s: the log ends at step %" PRIu64, log->path,
			outfile_why(code), log->sampled);
	return log->why.status ? fail(error, log->why.status, "%s", log->why.text) : TROUPE_OK;
}

void log_fini(struct log *log)
{
	(void)outfile_close(&log->file);
	for (uint32_t i = 0; i < log->worlds.count; i++) {
		log_forget(&log->worlds.at[i]);
		vec_free(&log->worlds.at[i].rows);
		vec_free(&log->worlds.at[i].sensors);
	}
	vec_free(&log->worlds);
	choice_fini(&log->choice);
	text_fini(&log->rows);
	text_fini(&log->line);
}
