#include "mujoco.h"

#ifdef HAVE_MUJOCO

#include "base/base.h"

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mujoco {
	mjModel *model;
	int copies;
	mjData *data[];
};

static _Noreturn void mujoco_die(const char *what, const char *why)
{
	fprintf(stderr, "bench: MuJoCo: %s: %s\n", what, why);
	exit(1);
}

const char *mujoco_name(void)
{
	static char name[40];
	(void)snprintf(name, sizeof name, "MuJoCo %s", mj_versionString());
	return name;
}

/* It reads files only. */
static mjModel *mujoco_load(const char *mjcf)
{
	char path[] = "/tmp/bench-mujoco-XXXXXX", why[300] = "";
	int file = mkstemp(path);
	FILE *out = file < 0 ? NULL : fdopen(file, "w");
	if (!out || fputs(mjcf, out) < 0 || fclose(out))
		mujoco_die(path, "cannot be written");
	mjModel *model = mj_loadXML(path, NULL, why, sizeof why);
	(void)unlink(path);
	if (!model)
		mujoco_die("the model", why);
	return model;
}

struct mujoco *mujoco_create(const char *mjcf, int copies)
{
	struct mujoco *mujoco = mem_alloc(sizeof *mujoco + (size_t)copies * sizeof *mujoco->data);
	mujoco->model = mujoco_load(mjcf);
	mujoco->copies = copies;
	for (int i = 0; i < copies; i++)
		if (!(mujoco->data[i] = mj_makeData(mujoco->model)))
			mujoco_die("its data", "no memory");
	return mujoco;
}

void mujoco_destroy(struct mujoco *mujoco)
{
	for (int i = 0; i < mujoco->copies; i++)
		mj_deleteData(mujoco->data[i]);
	mj_deleteModel(mujoco->model);
	free(mujoco);
}

static int mujoco_find(const struct mujoco *mujoco, mjtObj kind, const char *name)
{
	int id = mj_name2id(mujoco->model, kind, name);
	if (id < 0)
		mujoco_die(name, "is not in the model");
	return id;
}

void mujoco_set(struct mujoco *mujoco, const char *actuator, double value)
{
	int id = mujoco_find(mujoco, mjOBJ_ACTUATOR, actuator);
	for (int i = 0; i < mujoco->copies; i++)
		mujoco->data[i]->ctrl[id] = value;
}

void mujoco_run(struct mujoco *mujoco, int steps)
{
	for (int s = 0; s < steps; s++)
		for (int i = 0; i < mujoco->copies; i++)
			mj_step(mujoco->model, mujoco->data[i]);
}

double mujoco_height(const struct mujoco *mujoco, const char *body)
{
	int id = mujoco_find(mujoco, mjOBJ_BODY, body);
	double least = HUGE_VAL;
	for (int i = 0; i < mujoco->copies; i++)
		least = fmin(least, mujoco->data[i]->xpos[3 * id + 2]);
	return least;
}

#else

const char *mujoco_name(void)
{
	return 0;
}

struct mujoco *mujoco_create(const char *mjcf, int copies)
{
	(void)mjcf, (void)copies;
	return 0;
}

void mujoco_destroy(struct mujoco *mujoco)
{
	(void)mujoco;
}

void mujoco_set(struct mujoco *mujoco, const char *actuator, double value)
{
	(void)mujoco, (void)actuator, (void)value;
}

void mujoco_run(struct mujoco *mujoco, int steps)
{
	(void)mujoco, (void)steps;
}

double mujoco_height(const struct mujoco *mujoco, const char *body)
{
	(void)mujoco, (void)body;
	return 0;
}

#endif
