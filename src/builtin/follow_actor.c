/* Lets an actor walk towards a model, in the plane, instead of along its script. With d from the actor's origin to that
 * of the target, without its height, in each step of dt
 *
 *     min_distance < |d| <= max_distance:  the actor moves by velocity dt along d, and faces along d
 *     else:                                it stands
 *
 * So it keeps its height, and loses roll and pitch when it first walks. As in Gazebo, but for two things: the target
 * may come and go while the world runs, and an actor that has a script, too, begins where the script does. */
#include "builtin/parts.h"

enum mode { STANDS, WALKS, FOLLOW_ACTOR_FAR, FOLLOW_ACTOR_ALONE }; /* FOLLOW_ACTOR_ALONE: there is no such model */

struct follow_actor_config {
	const char *target;
	double velocity, nearest, farthest;
};

struct follow_actor_words {
	uint64_t mode;
	double x, y, yaw; /* where the actor is to be after the step, if it walks */
};

static const struct troupe_words follow_actor_words_of[] = {
	{"mode", TROUPE_WORD_INTEGER},
	{"x", TROUPE_WORD_DOUBLE},
	{"y", TROUPE_WORD_DOUBLE},
	{"yaw", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(
	sizeof(struct follow_actor_words) == (sizeof follow_actor_words_of / sizeof *follow_actor_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter follow_actor_parameters[] = {
	BUILTIN_TEXT("target", "the model to follow; needed"),
	BUILTIN_BETWEEN("velocity", 0, BUILTIN_VELOCITY_MAX, "m/s, default 0.8"),
	BUILTIN_BETWEEN("min_distance", 0, BUILTIN_NUMBER_MAX, "m, nearer it stands; default 1.2"),
	BUILTIN_BETWEEN("max_distance", 0, BUILTIN_NUMBER_MAX, "m, farther it stands; default 4"),
	/* no warning: no motion depends on them, as on the animations of scripts */
	BUILTIN_TEXT("animation", "has no effect: actors have no animations"),
	BUILTIN_NUMBER("animation_x_vel", "has no effect"),
	BUILTIN_END,
};

static bool follow_actor_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct follow_actor_config *config = self->config = host->alloc(self, sizeof *config);
	config->target = host->text(plugin, "target", NULL);
	config->velocity = host->number(self, plugin, "velocity", 0.8);
	config->nearest = host->number(self, plugin, "min_distance", 1.2);
	config->farthest = host->number(self, plugin, "max_distance", 4);
	if (!config->target)
		return host->leave_out(self, plugin, "the plugin has no <target>");
	if (config->farthest <= config->nearest)
		host->warn(self, plugin, "max_distance %g m is not above min_distance %g m: the actor never walks",
			config->farthest, config->nearest);
	return true;
}

static void follow_actor_tell(const struct troupe_system *self, enum mode mode)
{
	const struct follow_actor_config *config = self->config;
	if (mode == FOLLOW_ACTOR_FAR)
		self->host->log_line(
			self, "target '%s' is farther than %g m: the actor stands", config->target, config->farthest);
	if (mode == FOLLOW_ACTOR_ALONE)
		self->host->log_line(self, "there is no target '%s': the actor stands", config->target);
}

/* Walks for a step, if the target is neither too near nor too far. */
static enum mode follow_actor_walk(
	const struct troupe_system *self, const struct troupe_step *step, uint32_t target, struct follow_actor_words *w)
{
	const struct follow_actor_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct troupe_pose own = host->model_pose(step, self->model, TROUPE_NOW);
	struct troupe_pose other = host->model_pose(step, target, TROUPE_NOW);
	double x = other.x - own.x, y = other.y - own.y, distance = sqrt(x * x + y * y);
	if (!(distance > config->nearest))
		return STANDS;
	if (distance > config->farthest)
		return FOLLOW_ACTOR_FAR;
	w->x = own.x + x / distance * config->velocity * step->dt;
	w->y = own.y + y / distance * config->velocity * step->dt;
	w->yaw = host->atan2(y, x);
	return WALKS;
}

static void follow_actor_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct follow_actor_words *w = words;
	uint32_t target = self->host->find_model(step, ((const struct follow_actor_config *)self->config)->target);
	enum mode mode = target == TROUPE_NOTHING ? FOLLOW_ACTOR_ALONE : follow_actor_walk(self, step, target, w);
	if (mode != w->mode)
		follow_actor_tell(self, mode);
	w->mode = mode;
}

static void follow_actor_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct follow_actor_words *w = words;
	struct troupe_pose pose = host->model_pose(step, self->model, TROUPE_NOW);
	if (w->mode == WALKS) {
		pose.x = w->x;
		pose.y = w->y;
		pose.qx = pose.qy = 0;
		host->sincos(w->yaw / 2, &pose.qz, &pose.qw);
	}
	host->actor_place(step, self->model, pose);
}

const struct troupe_kind builtin_follow_actor = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_ACTOR | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("FollowActor"),
	.parameters = follow_actor_parameters,
	.words = follow_actor_words_of,
	.configure = follow_actor_configure,
	.pre_update = follow_actor_pre_update,
	.update = follow_actor_update,
};
