/* The forces of water on a link that moves in it (T. I. Fossen, Guidance and Control of Ocean Vehicles, pp. 37, 43).
 *
 * s = (u v w p q r): the velocity of the link's origin relative to the current, and its angular velocity, both in the
 * link's frame. Force and torque in the same order (x y z k m n) are
 *
 *     f_i = sum_j (<iJ> + sum_k <iJabsK> |s_k| + <iJK> s_k) s_j    damping: <xU> below 0 slows
 *         + sum_j <iDotJ> ds_j/dt                                  added mass: <xDotU> below 0 is inertia
 *
 * and, with A the matrix of the added mass, v and w the linear and angular parts of s, and P and L those of A s, the
 * Coriolis force -w x P with the torque -v x P - w x L (Kirchhoff's equations; Gazebo takes the diagonal of A alone,
 * with the wrong sign in two elements). Parameters, their signs and topics are those of Gazebo's Hydrodynamics.
 *
 * The added mass is a part of the link's mass (link_add_mass()), so it takes part in the solution of the step and may
 * be larger than the mass of the link. Its motion is then that in the world, with the Coriolis forces; what the current
 * makes different is a force of state k, without accelerations. Damping is a force of state k, too. However strong, it
 * takes the link no farther in a step than to the least energy. */
#include "builtin/parts.h"

#include <string.h>

enum { HYDRODYNAMICS_WAYS = 6 };

struct hydrodynamics_config {
	uint32_t link;
	double linear[HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS],
		added[HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS]; /* added: with the sign of inertia */
	double square[HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS],
		absolute[HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS];
	double mobility[HYDRODYNAMICS_WAYS]
		       [HYDRODYNAMICS_WAYS]; /* the inverse of the mass of body and fluid; 0: it is not known */
	bool has_square, adds_mass, turns_mass;
	struct troupe_vec3 current;
	const struct troupe_field *field[3];
};

struct hydrodynamics_words {
	struct troupe_vec3 current; /* m/s, in the world's axes */
};

static const struct troupe_words hydrodynamics_words_of[] = {
	{"current x", TROUPE_WORD_DOUBLE},
	{"current y", TROUPE_WORD_DOUBLE},
	{"current z", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(
	sizeof(struct hydrodynamics_words) == (sizeof hydrodynamics_words_of / sizeof *hydrodynamics_words_of - 1) * 8,
	"each word has a name");

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

static const struct troupe_parameter hydrodynamics_parameters[] = {
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
static const char hydrodynamics_moments[] = "xyzkmn", hydrodynamics_speeds[] = "UVWPQR";

static void hydrodynamics_read_squares(struct troupe_system *self, const struct troupe_element *plugin,
	struct hydrodynamics_config *config, int i, int j)
{
	const struct troupe_host *host = self->host;
	char name[] = "xUU", absolute[] = "xUabsU";
	name[0] = absolute[0] = hydrodynamics_moments[i];
	name[1] = absolute[1] = hydrodynamics_speeds[j];
	for (int k = 0; k < HYDRODYNAMICS_WAYS; k++) {
		name[2] = absolute[5] = hydrodynamics_speeds[k];
		config->square[i][j][k] = host->number(self, plugin, name, 0);
		config->absolute[i][j][k] = host->number(self, plugin, absolute, 0);
		config->has_square |= config->square[i][j][k] != 0 || config->absolute[i][j][k] != 0;
	}
}

static void hydrodynamics_read_numbers(
	struct troupe_system *self, const struct troupe_element *plugin, struct hydrodynamics_config *config)
{
	char linear[] = "xU", added[] = "xDotU";
	for (int i = 0; i < HYDRODYNAMICS_WAYS; i++)
		for (int j = 0; j < HYDRODYNAMICS_WAYS; j++) {
			linear[0] = added[0] = hydrodynamics_moments[i];
			linear[1] = added[4] = hydrodynamics_speeds[j];
			config->linear[i][j] = self->host->number(self, plugin, linear, 0);
			config->added[i][j] = -self->host->number(self, plugin, added, 0);
			hydrodynamics_read_squares(self, plugin, config, i, j);
		}
	config->adds_mass = !self->host->boolean(self, plugin, "disable_added_mass", false);
	config->turns_mass = !self->host->boolean(self, plugin, "disable_coriolis", false);
}

/* A matrix of mass is symmetric. */
static void hydrodynamics_even_out(
	struct troupe_system *self, const struct troupe_element *plugin, struct hydrodynamics_config *config)
{
	for (int i = 0; i < HYDRODYNAMICS_WAYS; i++)
		for (int j = 0; j < i; j++) {
			double *a = &config->added[i][j], *b = &config->added[j][i];
			if (*a != *b)
				self->host->warn(self, plugin,
					"<%cDot%c> is %g and <%cDot%c> is %g: expected the same; their mean is used",
					hydrodynamics_moments[i], hydrodynamics_speeds[j], -*a,
					hydrodynamics_moments[j], hydrodynamics_speeds[i], -*b);
			*a = *b = (*a + *b) / 2;
		}
}

static void hydrodynamics_add_mass(
	struct troupe_system *self, const struct troupe_element *plugin, struct hydrodynamics_config *config)
{
	double matrix[HYDRODYNAMICS_WAYS * HYDRODYNAMICS_WAYS];
	bool some = false;
	for (int i = 0; i < HYDRODYNAMICS_WAYS * HYDRODYNAMICS_WAYS; i++) {
		matrix[i] = config->added[i / HYDRODYNAMICS_WAYS][i % HYDRODYNAMICS_WAYS];
		some = some || matrix[i] != 0;
	}
	if (!some || (config->adds_mass && !self->host->link_add_mass(self, plugin, config->link, matrix)))
		config->adds_mass = config->turns_mass = false;
}

/* The mass of the body that the link is a part of, for velocities of the link's origin. */
static void hydrodynamics_body(const struct troupe_inertia *of, double mass[HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS])
{
	const double c[3] = {of->centre.x, of->centre.y, of->centre.z}, m = of->mass;
	const double d[3] = {of->diagonal.x, of->diagonal.y, of->diagonal.z}, o[3] = {of->off.x, of->off.y, of->off.z};
	const double square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
	for (int i = 0; i < 3; i++) {
		int j = (i + 1) % 3, k = (i + 2) % 3; /* i x j is k */
		mass[i][i] += m;
		mass[i][3 + j] += m * c[k];
		mass[i][3 + k] -= m * c[j];
		mass[3 + j][i] += m * c[k];
		mass[3 + k][i] -= m * c[j];
		mass[3 + i][3 + i] += d[i] + m * (square - c[i] * c[i]);
		double product = o[i + j - 1] - m * c[i] * c[j]; /* off: xy, xz, yz */
		mass[3 + i][3 + j] += product;
		mass[3 + j][3 + i] += product;
	}
}

/* Gauss and Jordan's elimination, which needs no pivots where the matrix is positive definite. False: it is not. */
static bool hydrodynamics_invert(
	double a[HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS], double ret[HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS])
{
	for (int i = 0; i < HYDRODYNAMICS_WAYS * HYDRODYNAMICS_WAYS; i++)
		ret[i / HYDRODYNAMICS_WAYS][i % HYDRODYNAMICS_WAYS] = i / HYDRODYNAMICS_WAYS == i % HYDRODYNAMICS_WAYS;
	for (int k = 0; k < HYDRODYNAMICS_WAYS; k++) {
		double pivot = a[k][k];
		if (!(pivot > 0))
			return false;
		for (int j = 0; j < HYDRODYNAMICS_WAYS; j++)
			a[k][j] /= pivot, ret[k][j] /= pivot;
		for (int i = 0; i < HYDRODYNAMICS_WAYS; i++) {
			double times = a[i][k];
			for (int j = 0; j < HYDRODYNAMICS_WAYS && i != k; j++)
				a[i][j] -= times * a[k][j], ret[i][j] -= times * ret[k][j];
		}
	}
	return true;
}

static void hydrodynamics_find_mobility(const struct troupe_system *self, struct hydrodynamics_config *config)
{
	double mass[HYDRODYNAMICS_WAYS][HYDRODYNAMICS_WAYS] = {{0}};
	struct troupe_inertia inertia = self->host->link_inertia(self, config->link);
	hydrodynamics_body(&inertia, mass);
	for (int i = 0; i < HYDRODYNAMICS_WAYS && config->adds_mass; i++)
		for (int j = 0; j < HYDRODYNAMICS_WAYS; j++)
			mass[i][j] += config->added[i][j];
	if (!hydrodynamics_invert(mass, config->mobility))
		memset(config->mobility, 0, sizeof config->mobility);
}

static bool hydrodynamics_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const names[] = {"x", "y", "z"};
	const struct troupe_host *host = self->host;
	struct hydrodynamics_config *config = self->config = host->alloc(self, sizeof *config);
	const char *space = host->text(plugin, "namespace", "");
	if (!host->must_move(self) || !builtin_find_link(self, plugin, "link_name", &config->link))
		return false;
	for (int i = 0; i < 3; i++)
		config->field[i] = host->field(self, "gz.msgs.Vector3d", names[i]);
	config->current = host->vector(self, plugin, "default_current", troupe_vec3_make(0, 0, 0));
	hydrodynamics_read_numbers(self, plugin, config);
	hydrodynamics_even_out(self, plugin, config);
	hydrodynamics_add_mass(self, plugin, config);
	hydrodynamics_find_mobility(self, config);
	return host->take(self, plugin, *space ? host->print(self, "model/%s/ocean_current", space) : "ocean_current",
		"gz.msgs.Vector3d", 0, TROUPE_NOTHING);
}

static void hydrodynamics_init(const struct troupe_system *self, void *words)
{
	((struct hydrodynamics_words *)words)->current = ((const struct hydrodynamics_config *)self->config)->current;
}

static void hydrodynamics_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct hydrodynamics_config *config = self->config;
	const double most = BUILTIN_VELOCITY_MAX;
	double v[3];
	(void)input;
	for (int i = 0; i < 3; i++)
		v[i] = builtin_clamp(self->host->get(message, config->field[i], 0), -most, most);
	((struct hydrodynamics_words *)words)->current = troupe_vec3_make(v[0], v[1], v[2]);
}

static void hydrodynamics_damp(
	const struct hydrodynamics_config *config, const double s[HYDRODYNAMICS_WAYS], double f[HYDRODYNAMICS_WAYS])
{
	for (int i = 0; i < HYDRODYNAMICS_WAYS; i++)
		for (int j = 0; j < HYDRODYNAMICS_WAYS; j++) {
			double rate = config->linear[i][j];
			for (int k = 0; config->has_square && k < HYDRODYNAMICS_WAYS; k++)
				rate += config->absolute[i][j][k] * fabs(s[k]) + config->square[i][j][k] * s[k];
			f[i] += rate * s[j];
		}
}

/* Weakens a force that would bring the link beyond the least energy, where it would gain energy again. */
static void hydrodynamics_bound(const struct hydrodynamics_config *config, const double s[HYDRODYNAMICS_WAYS],
	double dt, double f[HYDRODYNAMICS_WAYS])
{
	double power = 0, gain = 0;
	for (int i = 0; i < HYDRODYNAMICS_WAYS; i++) {
		double rate = 0;
		for (int j = 0; j < HYDRODYNAMICS_WAYS; j++)
			rate += config->mobility[i][j] * f[j];
		power += s[i] * f[i];
		gain += f[i] * rate * dt;
	}
	double part = power < 0 && gain > -power ? -power / gain : 1;
	for (int i = 0; i < HYDRODYNAMICS_WAYS && part < 1; i++)
		f[i] *= part;
}

/* Adds scale times the rate at which the momentum of the fluid turns with the link. */
static void hydrodynamics_turn(const struct hydrodynamics_config *config, const double s[HYDRODYNAMICS_WAYS],
	double scale, double f[HYDRODYNAMICS_WAYS])
{
	double momentum[HYDRODYNAMICS_WAYS] = {0};
	for (int i = 0; i < HYDRODYNAMICS_WAYS; i++)
		for (int j = 0; j < HYDRODYNAMICS_WAYS; j++)
			momentum[i] += config->added[i][j] * s[j];
	struct troupe_vec3 v = {s[0], s[1], s[2]}, w = {s[3], s[4], s[5]};
	struct troupe_vec3 p = {momentum[0], momentum[1], momentum[2]}, l = {momentum[3], momentum[4], momentum[5]};
	struct troupe_vec3 force = troupe_vec3_cross(w, p);
	struct troupe_vec3 torque = troupe_vec3_add(troupe_vec3_cross(v, p), troupe_vec3_cross(w, l));
	const double more[HYDRODYNAMICS_WAYS] = {force.x, force.y, force.z, torque.x, torque.y, torque.z};
	for (int i = 0; i < HYDRODYNAMICS_WAYS; i++)
		f[i] += scale * more[i];
}

/* The added mass of the link resists the motion in the world, s plus the current. What is wanted is
 * -A ds/dt - turn(s), what the link has is -A d(s + current)/dt - turn(s + current). */
static void hydrodynamics_correct(const struct hydrodynamics_config *config, const double s[HYDRODYNAMICS_WAYS],
	struct troupe_vec3 current, double f[HYDRODYNAMICS_WAYS])
{
	const double in_world[HYDRODYNAMICS_WAYS] = {
		s[0] + current.x, s[1] + current.y, s[2] + current.z, s[3], s[4], s[5]};
	struct troupe_vec3 turned = troupe_vec3_cross(current, troupe_vec3_make(s[3], s[4], s[5]));
	const double rate[3] = {turned.x, turned.y, turned.z}; /* of the current, in the turning frame */
	bool still = current.x == 0 && current.y == 0 && current.z == 0;
	if (config->adds_mass && still && config->turns_mass)
		return;
	for (int i = 0; i < HYDRODYNAMICS_WAYS && config->adds_mass; i++)
		for (int j = 0; j < 3; j++)
			f[i] += config->added[i][j] * rate[j];
	if (config->adds_mass)
		hydrodynamics_turn(config, in_world, 1, f);
	if (config->turns_mass)
		hydrodynamics_turn(config, s, -1, f);
}

static void hydrodynamics_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct hydrodynamics_config *config = self->config;
	const struct hydrodynamics_words *w = words;
	struct troupe_twist twist = host->link_twist(step, config->link, TROUPE_NOW);
	struct troupe_quat q = troupe_pose_turn(host->link_pose(step, config->link, TROUPE_NOW));
	struct troupe_quat back = troupe_quat_inverse(q);
	struct troupe_vec3 v = troupe_quat_rotate(back, troupe_vec3_sub(twist.linear, w->current));
	struct troupe_vec3 turn = troupe_quat_rotate(back, twist.angular);
	const double s[HYDRODYNAMICS_WAYS] = {v.x, v.y, v.z, turn.x, turn.y, turn.z};
	double f[HYDRODYNAMICS_WAYS] = {0};
	hydrodynamics_damp(config, s, f);
	hydrodynamics_bound(config, s, step->dt, f);
	hydrodynamics_correct(config, s, troupe_quat_rotate(back, w->current), f);
	host->link_force(step, config->link, troupe_vec3_make(0, 0, 0),
		(struct troupe_wrench){troupe_quat_rotate(q, troupe_vec3_make(f[0], f[1], f[2])),
			troupe_quat_rotate(q, troupe_vec3_make(f[3], f[4], f[5]))});
}

const struct troupe_kind builtin_hydrodynamics = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("Hydrodynamics"),
	.parameters = hydrodynamics_parameters,
	.words = hydrodynamics_words_of,
	.configure = hydrodynamics_configure,
	.init = hydrodynamics_init,
	.command = hydrodynamics_command,
	.pre_update = hydrodynamics_pre_update,
};
