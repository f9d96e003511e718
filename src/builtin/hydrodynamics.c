/* The forces of water on a link that moves in it (T. I. Fossen, Guidance and
 * Control of Ocean Vehicles, pp. 37, 43).
 *
 * s = (u v w p q r): the velocity of the link's origin relative to the current,
 * and its angular velocity, both in the link's frame. Force and torque in the
 * same order (x y z k m n) are
 *
 *     f_i = sum_j (<iJ> + sum_k <iJabsK> |s_k| + <iJK> s_k) s_j    damping:
 * <xU> below 0 slows
 *         + sum_j <iDotJ> ds_j/dt                                  added mass:
 * <xDotU> below 0 is inertia
 *
 * and, of the diagonal D of the added mass and the linear and angular parts v
 * and w of s, the Coriolis force w x Dv with the torque v x Dv + w x Dw
 * (Kirchhoff's equations, which Gazebo's matrix gives but for the signs of two
 * elements).
 *
 * Parameters, their signs and topics are those of Gazebo's Hydrodynamics. The
 * derivative is that of the last step, so the added mass must stay below the
 * mass of the body; <fluid_added_mass> in the <inertial> has no such limit. */
#include "builtin/parts.h"

#include <string.h>

enum { WAYS = 6 };

struct config {
	uint32_t link;
	double linear[WAYS][WAYS], added[WAYS][WAYS];
	double square[WAYS][WAYS][WAYS], absolute[WAYS][WAYS][WAYS];
	bool has_square, adds_mass, turns_mass;
	struct troupe_vec3 current;
	const struct troupe_field *field[3];
};

struct words {
	struct troupe_vec3 current; /* m/s, in the world's axes */
	double last[WAYS];
	uint64_t begun;
};

static const struct troupe_words words_of[] = {
	{"current x", TROUPE_WORD_DOUBLE},
	{"current y", TROUPE_WORD_DOUBLE},
	{"current z", TROUPE_WORD_DOUBLE},
	{"last u", TROUPE_WORD_DOUBLE},
	{"last v", TROUPE_WORD_DOUBLE},
	{"last w", TROUPE_WORD_DOUBLE},
	{"last p", TROUPE_WORD_DOUBLE},
	{"last q", TROUPE_WORD_DOUBLE},
	{"last r", TROUPE_WORD_DOUBLE},
	{"begun", TROUPE_WORD_INTEGER},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(sizeof(struct words) == (sizeof words_of / sizeof *words_of - 1) * 8, "each word has a name");

#define EACH(stem, what)                                                                                               \
	BUILTIN_NUMBER(stem "U", what), BUILTIN_NUMBER(stem "V", what), BUILTIN_NUMBER(stem "W", what),                \
		BUILTIN_NUMBER(stem "P", what), BUILTIN_NUMBER(stem "Q", what), BUILTIN_NUMBER(stem "R", what)
#define TWICE(stem, between, what)                                                                                     \
	EACH(stem "U" between, what), EACH(stem "V" between, what), EACH(stem "W" between, what),                      \
		EACH(stem "P" between, what), EACH(stem "Q" between, what), EACH(stem "R" between, what)
#define OF(way)                                                                                                        \
	EACH(way, "linear damping, default 0"), EACH(way "Dot", "added mass, default 0"),                              \
		TWICE(way, "abs", "quadratic damping, default 0"),                                                     \
		TWICE(way, "", "quadratic damping with the sign of the speed, default 0")

static const struct troupe_parameter parameters[] = {
	BUILTIN_TEXT("link_name", "the link in the water"),
	BUILTIN_TEXT("namespace", "the topic of the current is /model/NAMESPACE/ocean_current; "
				  "default: /ocean_current"),
	BUILTIN_VECTOR("default_current", "m/s, in the world's axes, default 0 0 0"),
	BUILTIN_BOOL("disable_coriolis", "default false"),
	BUILTIN_BOOL("disable_added_mass", "default false"),
	BUILTIN_NUMBER("water_density", "has no effect, as in Gazebo"),
	BUILTIN_NUMBER("waterDensity", "the same"),
	BUILTIN_UNUSED("lookup_current_x", "there are no files of the environment"),
	BUILTIN_UNUSED("lookup_current_y", "there are no files of the environment"),
	BUILTIN_UNUSED("lookup_current_z", "there are no files of the environment"),
	OF("x"),
	OF("y"),
	OF("z"),
	OF("k"),
	OF("m"),
	OF("n"),
	BUILTIN_END,
};

/* Names are those of the SNAME convention of 1950. */
static const char moments[] = "xyzkmn", speeds[] = "UVWPQR";

static void read_squares(
	struct troupe_system *self, const struct troupe_element *plugin, struct config *config, int i, int j)
{
	const struct troupe_host *host = self->host;
	char name[] = "xUU", absolute[] = "xUabsU";
	name[0] = absolute[0] = moments[i];
	name[1] = absolute[1] = speeds[j];
	for (int k = 0; k < WAYS; k++) {
		name[2] = absolute[5] = speeds[k];
		config->square[i][j][k] = host->number(self, plugin, name, 0);
		config->absolute[i][j][k] = host->number(self, plugin, absolute, 0);
		config->has_square |= config->square[i][j][k] != 0 || config->absolute[i][j][k] != 0;
	}
}

static void read_numbers(struct troupe_system *self, const struct troupe_element *plugin, struct config *config)
{
	char linear[] = "xU", added[] = "xDotU";
	for (int i = 0; i < WAYS; i++)
		for (int j = 0; j < WAYS; j++) {
			linear[0] = added[0] = moments[i];
			linear[1] = added[4] = speeds[j];
			config->linear[i][j] = self->host->number(self, plugin, linear, 0);
			config->added[i][j] = self->host->number(self, plugin, added, 0);
			read_squares(self, plugin, config, i, j);
		}
	config->adds_mass = !self->host->boolean(self, plugin, "disable_added_mass", false);
	config->turns_mass = !self->host->boolean(self, plugin, "disable_coriolis", false);
}

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const names[] = {"x", "y", "z"};
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	const char *space = host->text(plugin, "namespace", "");
	if (!host->must_move(self) || !builtin_find_link(self, plugin, "link_name", &config->link))
		return false;
	for (int i = 0; i < 3; i++)
		config->field[i] = host->field(self, "gz.msgs.Vector3d", names[i]);
	config->current = host->vector(self, plugin, "default_current", troupe_vec3_make(0, 0, 0));
	read_numbers(self, plugin, config);
	return host->take(self, plugin, *space ? host->print(self, "model/%s/ocean_current", space) : "ocean_current",
		"gz.msgs.Vector3d", 0, TROUPE_NOTHING);
}

static void init(const struct troupe_system *self, void *words)
{
	((struct words *)words)->current = ((const struct config *)self->config)->current;
}

static void command(const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct config *config = self->config;
	const double most = BUILTIN_VELOCITY_MAX;
	double v[3];
	(void)input;
	for (int i = 0; i < 3; i++)
		v[i] = builtin_clamp(self->host->get(message, config->field[i], 0), -most, most);
	((struct words *)words)->current = troupe_vec3_make(v[0], v[1], v[2]);
}

static void damp(const struct config *config, const double s[WAYS], double f[WAYS])
{
	for (int i = 0; i < WAYS; i++)
		for (int j = 0; j < WAYS; j++) {
			double rate = config->linear[i][j];
			for (int k = 0; config->has_square && k < WAYS; k++)
				rate += config->absolute[i][j][k] * fabs(s[k]) + config->square[i][j][k] * s[k];
			f[i] += rate * s[j];
		}
}

/* a, b: linear and angular momentum of the water, with the sign of the added
 * mass. */
static void turn_mass(const struct config *config, const double s[WAYS], double f[WAYS])
{
	struct troupe_vec3 v = {s[0], s[1], s[2]}, w = {s[3], s[4], s[5]};
	struct troupe_vec3 a = {config->added[0][0] * v.x, config->added[1][1] * v.y, config->added[2][2] * v.z};
	struct troupe_vec3 b = {config->added[3][3] * w.x, config->added[4][4] * w.y, config->added[5][5] * w.z};
	struct troupe_vec3 force = troupe_vec3_cross(w, a);
	struct troupe_vec3 torque = troupe_vec3_add(troupe_vec3_cross(v, a), troupe_vec3_cross(w, b));
	const double more[WAYS] = {force.x, force.y, force.z, torque.x, torque.y, torque.z};
	for (int i = 0; i < WAYS; i++)
		f[i] += more[i];
}

static void add_mass(const struct config *config, const double rate[WAYS], double f[WAYS])
{
	for (int i = 0; i < WAYS; i++)
		for (int j = 0; j < WAYS; j++)
			f[i] += config->added[i][j] * rate[j];
}

static void pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct config *config = self->config;
	struct words *w = words;
	struct troupe_twist twist = host->link_twist(step, config->link, TROUPE_NOW);
	struct troupe_quat q = troupe_pose_turn(host->link_pose(step, config->link, TROUPE_NOW));
	struct troupe_quat back = troupe_quat_inverse(q);
	struct troupe_vec3 v = troupe_quat_rotate(back, troupe_vec3_sub(twist.linear, w->current));
	struct troupe_vec3 turn = troupe_quat_rotate(back, twist.angular);
	const double s[WAYS] = {v.x, v.y, v.z, turn.x, turn.y, turn.z};
	double f[WAYS] = {0}, rate[WAYS];
	for (int i = 0; i < WAYS; i++)
		rate[i] = w->begun ? (s[i] - w->last[i]) / step->dt : 0;
	damp(config, s, f);
	if (config->adds_mass)
		add_mass(config, rate, f);
	if (config->turns_mass)
		turn_mass(config, s, f);
	memcpy(w->last, s, sizeof s);
	w->begun = 1;
	host->link_force(step, config->link, troupe_vec3_make(0, 0, 0),
		(struct troupe_wrench){troupe_quat_rotate(q, troupe_vec3_make(f[0], f[1], f[2])),
			troupe_quat_rotate(q, troupe_vec3_make(f[3], f[4], f[5]))});
}

const struct troupe_kind builtin_hydrodynamics = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("Hydrodynamics"),
	.parameters = parameters,
	.words = words_of,
	.configure = configure,
	.init = init,
	.command = command,
	.pre_update = pre_update,
};
