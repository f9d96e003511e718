/* It writes after each step in which the body moved. A sleeping model does not move: its words stay as they are. */
#include "system/sensor_trail.h"

#include "scene/trail.h"

struct sensor_trail { /* of a system */
	uint32_t body;
	double scan_s;
};

static void sensor_trail_post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct sensor_trail *own = self->config;
	const struct system_step *of = (const struct system_step *)(const void *)step;
	trail_add(words, own->scan_s, step->time_s, body_pose(state_body(of->state, own->body, false)),
		step->time_s + step->dt, body_pose(state_body(of->state, own->body, true)));
}

const struct troupe_kind sensor_trail_kind = {
	.size = sizeof(struct troupe_kind),
	.names = (const char *const[]){"the trail of a sensor", NULL},
	.post_update = sensor_trail_post_update,
};

void sensor_trail_configure(struct system *system, const struct sdf_sensor *sensor, struct arena *arena)
{
	struct sensor_trail *own = arena_new(arena, struct sensor_trail);
	uint32_t link = trail_link(system->scene, system->self.model, sensor);
	own->body = system->scene->links[link].body;
	own->scan_s = trail_span_s(sensor);
	system->self.config = own;
	system->words = TRAIL_WORDS;
	vec_push(&system->names, (struct system_words){"knots", TROUPE_WORD_INTEGER, 1});
	vec_push(&system->names, (struct system_words){"poses", TROUPE_WORD_DOUBLE, TRAIL_WORDS - 1});
}
