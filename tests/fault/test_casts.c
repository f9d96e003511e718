/* Threads cast rays at the same time, between steps in which everything moves. With ThreadSanitizer a search that wrote
 * to what threads share would be reported; without it, a hit that depends on other threads shows as another hash. */
#include "../random.h"
#include "check.h"

#include "base/hash.h"
#include "sensor/rays.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS = 200, THREADS = 4, STEPS = 5, CHUNKS = 50, RAYS = 61 };

static uint64_t add_double(uint64_t hash, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return hash_mix(hash, bits);
}

struct job {
	const struct rays *rays;
	uint64_t hash, hits;
};

static void *cast(void *ctx)
{
	struct job *job = ctx;
	struct ray rays[RAYS];
	struct ray_hit hits[RAYS];
	bool blocked[RAYS];
	uint64_t seed = 1;
	job->hash = 1;
	for (int c = 0; c < CHUNKS; c++) {
		for (int i = 0; i < RAYS; i++) {
			struct vec3 from = random_vec3(&seed, 6);
			rays[i] = (struct ray){from, vec3_unit(random_vec3(&seed, 1)), 0, INFINITY};
		}
		rays_cast(job->rays, rays, RAYS, UINT32_MAX, hits);
		rays_blocked(job->rays, rays, RAYS, UINT32_MAX, blocked);
		for (int i = 0; i < RAYS; i++) {
			job->hash =
				hash_mix(add_double(job->hash, hits[i].distance), hits[i].model * 2ull + blocked[i]);
			if (hits[i].model == SCENE_NONE)
				continue;
			job->hash = add_double(job->hash, rays_normal(job->rays, &rays[i], &hits[i]).x);
			job->hits++;
		}
	}
	return NULL;
}

static char *make_world(void)
{
	static const char *const shapes[] = {"<box><size>1 1 1</size></box>", "<sphere><radius>0.5</radius></sphere>",
		"<polyline><point>0 0</point><point>2 0</point><point>1 1</point><height>0.7</height></polyline>",
		"<cone><radius>0.5</radius><length>1</length></cone>"};
	struct text out = {0};
	uint64_t seed = 3;
	text_add(&out, "<sdf version='1.9'><world name='w'>");
	for (int i = 0; i < MODELS; i++) {
		struct vec3 p = random_vec3(&seed, 6);
		text_add(&out,
			"<model name='m%d'><pose>%g %g %g 1 2 3</pose><link name='l'><visual name='v'><geometry>%s"
			"</geometry></visual></link></model>",
			i, p.x, p.y, p.z, shapes[i % 4]);
	}
	text_add(&out, "</world></sdf>");
	return out.at;
}

static void run(struct rays *rays, struct state *state)
{
	uint64_t last = 0;
	for (int step = 0; step < STEPS; step++) {
		struct job jobs[THREADS] = {0};
		pthread_t threads[THREADS];
		for (uint32_t b = 0; b < state->scene->body_count; b++)
			state_body(state, b, false)->p.x += 0.1;
		rays_follow(rays, state);
		for (int i = 0; i < THREADS; i++) {
			jobs[i].rays = rays;
			if (pthread_create(&threads[i], NULL, cast, &jobs[i]))
				abort();
		}
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		for (int i = 1; i < THREADS; i++)
			check(jobs[i].hash == jobs[0].hash, "step %d: thread %d has other hits", step, i);
		check(jobs[0].hits > CHUNKS * RAYS / 4, "step %d: %llu hits", step, (unsigned long long)jobs[0].hits);
		check(jobs[0].hash != last, "step %d: nothing moved", step);
		last = jobs[0].hash;
	}
}

int main(void)
{
	struct sdf *sdf;
	struct scene *scene;
	struct rays *rays;
	struct troupe_error error;
	char *text = make_world();
	if (!rays_available()) {
		printf("skipped: rays of several threads: built without Embree\n0 passed, 0 failed\n");
		return 0;
	}
	if (sdf_load_text(
		    text, strlen(text), "t.sdf", &(struct sdf_options){.visuals = SDF_VISUALS_READ}, &sdf, &error) ||
		scene_create(&sdf->worlds.at[0], NULL, &scene, &error) || rays_create(scene, NULL, &rays, &error)) {
		printf("%s\n0 passed, 1 failed\n", error.text);
		return 1;
	}
	struct state *state = state_create(scene, NULL);
	run(rays, state);
	rays_destroy(rays);
	state_destroy(state);
	scene_destroy(scene);
	sdf_free(sdf);
	free(text);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
