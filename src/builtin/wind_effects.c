/* Wind on links with <enable_wind>:
 *
 *     force = mass factor (wind - velocity of the link)      at the centre of
 * mass of the link
 *
 * with <force_approximation_scaling_factor>, a number, or a function of the
 * place in the world. The wind follows the <wind> of the world, or the topic,
 * with first-order lags <time_for_rise>, apart for its horizontal magnitude,
 * its direction and its vertical part; magnitude and direction swing like a
 * sine of the simulated time, and may have noise. Parameters and the topic
 * /world/W/wind are those of Gazebo's WindEffects. There is a wind for each
 * model: it rises from 0 when the model is made, and its noise is that of the
 * model. */
#include "builtin/parts.h"

#include <stdlib.h>
#include <string.h>

enum { NOISE_MAGNITUDE, NOISE_DIRECTION, NOISE_VERTICAL, NOISES };
enum { PIECES_MAX = 64, TERMS = 4 };

struct noise {
	double mean, deviation;
};

struct varying {                       /* horizontal magnitude or direction */
	double lag, amplitude, period; /* s, part or degrees, s */
};

struct wind_effects_piece { /* where the place is between low and high: k (p(x) + q(y) +
		  r(z)), polynomials of degree 3 */
	double low[3], high[3];
	bool open_low[3], open_high[3];
	double k, terms[3][TERMS];
};

struct blown {
	uint32_t link;
	double mass;
	struct troupe_vec3 centre;
};

struct wind_effects_config {
	struct varying magnitude, direction;
	double vertical_lag;
	struct noise noise[NOISES];
	struct wind_effects_piece *pieces;
	uint32_t piece_count, link_count;
	struct blown *links;
	struct troupe_vec3 wind;
	const struct troupe_field *field[3], *enable;
};

struct wind_effects_words {
	struct troupe_vec3 seed;               /* m/s: what the wind rises to */
	double magnitude, direction, vertical; /* m/s, degrees, m/s */
	uint64_t begun, disabled;
};

static const struct troupe_words wind_effects_words_of[] = {
	{"wind x", TROUPE_WORD_DOUBLE},
	{"wind y", TROUPE_WORD_DOUBLE},
	{"wind z", TROUPE_WORD_DOUBLE},
	{"mean magnitude", TROUPE_WORD_DOUBLE},
	{"mean direction", TROUPE_WORD_DOUBLE},
	{"mean vertical", TROUPE_WORD_DOUBLE},
	{"begun", TROUPE_WORD_INTEGER},
	{"disabled", TROUPE_WORD_INTEGER},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(
	sizeof(struct wind_effects_words) == (sizeof wind_effects_words_of / sizeof *wind_effects_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter wind_effects_parameters[] = {
	BUILTIN_PARTS("horizontal", "<magnitude> and <direction>, each with "
				    "<time_for_rise> (s), <sin> and <noise>"),
	BUILTIN_PARTS("vertical", "<time_for_rise> (s) and <noise>"),
	BUILTIN_PARTS("force_approximation_scaling_factor", "1/s, default 1; or pieces <when xgt='0' ...>"),
	BUILTIN_END,
};

/* --- setup ------------------------------------------------------------------------------------------------------ */

static bool wind_effects_read_noise(
	struct troupe_system *self, const struct troupe_element *parent, struct noise *ret_noise)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *noise = parent ? host->child(parent, "noise", NULL) : NULL;
	if (!noise)
		return true;
	const char *type = host->attribute(noise, "type");
	type = host->text(noise, "type", type ? type : "gaussian");
	if (strcmp(type, "gaussian") != 0 && strcmp(type, "none") != 0)
		return host->refuse(self, noise, "<noise> is of type '%.80s': expected gaussian or none", type);
	if (*type == 'g')
		*ret_noise =
			(struct noise){host->number(self, noise, "mean", 0), host->number(self, noise, "stddev", 0)};
	return true;
}

static bool wind_effects_read_lag(struct troupe_system *self, const struct troupe_element *parent, double *ret_lag)
{
	*ret_lag = parent ? self->host->number(self, parent, "time_for_rise", 1) : 1;
	return (*ret_lag >= 1e-6 && *ret_lag <= BUILTIN_NUMBER_MAX) ||
	       self->host->refuse(self, parent, "<time_for_rise> is %g: expected at least 1e-6 s", *ret_lag);
}

static bool wind_effects_read_varying(struct troupe_system *self, const struct troupe_element *parent,
	const char *amplitude, struct varying *ret_varying, struct noise *ret_noise)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *sine = parent ? host->child(parent, "sin", NULL) : NULL;
	*ret_varying = (struct varying){1, 0, 1};
	if (sine) {
		ret_varying->amplitude = host->number(self, sine, amplitude, 0);
		ret_varying->period = host->number(self, sine, "period", 1);
	}
	if (!(ret_varying->period >= 1e-6))
		return host->refuse(self, sine, "<period> is %g: expected at least 1e-6 s", ret_varying->period);
	return wind_effects_read_lag(self, parent, &ret_varying->lag) &&
	       wind_effects_read_noise(self, parent, ret_noise);
}

/* Reads `count` numbers that are separated by blanks. */
static bool wind_effects_read_list(const char *text, double *ret_numbers, int count)
{
	for (int i = 0; i < count; i++) {
		char *end;
		ret_numbers[i] = strtod(text, &end);
		if (end == text || !(fabs(ret_numbers[i]) <= BUILTIN_NUMBER_MAX))
			return false;
		text = end;
	}
	return !text[strspn(text, " \t\r\n")];
}

/* One bound of the place: "xgt" and so on; or no such attribute. */
static bool wind_effects_read_bound(struct troupe_system *self, const struct troupe_element *when, const char *suffix,
	int axis, double *ret_bound, bool *ret_given)
{
	const char *name = self->host->print(self, "%c%s", "xyz"[axis], suffix);
	const char *text = self->host->attribute(when, name);
	*ret_given = text && wind_effects_read_list(text, ret_bound, 1);
	return !text || *ret_given || self->host->refuse(self, when, "%s is '%.80s': expected a number", name, text);
}

static bool wind_effects_read_bounds(
	struct troupe_system *self, const struct troupe_element *when, struct wind_effects_piece *piece)
{
	for (int a = 0; a < 3; a++) {
		bool given;
		piece->low[a] = -HUGE_VAL;
		piece->high[a] = HUGE_VAL;
		if (!wind_effects_read_bound(self, when, "ge", a, &piece->low[a], &given) ||
			!wind_effects_read_bound(self, when, "gt", a, &piece->low[a], &piece->open_low[a]) ||
			!wind_effects_read_bound(self, when, "le", a, &piece->high[a], &given) ||
			!wind_effects_read_bound(self, when, "lt", a, &piece->high[a], &piece->open_high[a]))
			return false;
	}
	return true;
}

static bool wind_effects_read_piece(
	struct troupe_system *self, const struct troupe_element *when, struct wind_effects_piece *piece)
{
	static const char *const names[] = {"px", "qy", "rz"};
	const struct troupe_host *host = self->host;
	double constant;
	piece->k = 1;
	if (!wind_effects_read_bounds(self, when, piece))
		return false;
	if (!host->child(when, NULL, NULL)) {
		if (!wind_effects_read_list(host->text_of(when), &constant, 1))
			return host->refuse(self, when,
				"<when> has '%.80s': expected a number, or <k>, <px>, <qy>, <rz>", host->text_of(when));
		piece->terms[0][TERMS - 1] = constant;
		return true;
	}
	piece->k = host->number(self, when, "k", 1);
	for (int a = 0; a < 3; a++) {
		const struct troupe_element *e = host->child(when, names[a], NULL);
		if (e && !wind_effects_read_list(host->text_of(e), piece->terms[a], TERMS))
			return host->refuse(
				self, e, "<%s> is '%.80s': expected four numbers", names[a], host->text_of(e));
	}
	return true;
}

static bool wind_effects_read_factor(
	struct troupe_system *self, const struct troupe_element *plugin, struct wind_effects_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *factor = host->child(plugin, "force_approximation_scaling_factor", NULL);
	const struct troupe_element *when = factor ? host->child(factor, "when", NULL) : NULL;
	config->pieces = host->alloc(self, PIECES_MAX * sizeof *config->pieces);
	if (!when) {
		struct wind_effects_piece *all = &config->pieces[config->piece_count++];
		*all = (struct wind_effects_piece){
			{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL, HUGE_VAL}, {0}, {0}, 1, {{0}}};
		all->terms[0][TERMS - 1] = 1;
		return !factor ||
		       (wind_effects_read_list(host->text_of(factor), &all->terms[0][TERMS - 1], 1) &&
			       all->terms[0][TERMS - 1] > 0) ||
		       host->refuse(self, factor,
			       "<force_approximation_scaling_factor> is '%.80s': "
			       "expected a number above 0",
			       host->text_of(factor));
	}
	for (; when; when = host->child(factor, "when", when)) {
		if (config->piece_count == PIECES_MAX)
			return host->refuse(self, when, "more than %d <when>", PIECES_MAX);
		if (!wind_effects_read_piece(self, when, &config->pieces[config->piece_count++]))
			return false;
	}
	return true;
}

static bool wind_effects_read(
	struct troupe_system *self, const struct troupe_element *plugin, struct wind_effects_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *flat = host->child(plugin, "horizontal", NULL);
	const struct troupe_element *up = host->child(plugin, "vertical", NULL);
	return wind_effects_read_varying(self, flat ? host->child(flat, "magnitude", NULL) : NULL, "amplitude_percent",
		       &config->magnitude, &config->noise[NOISE_MAGNITUDE]) &&
	       wind_effects_read_varying(self, flat ? host->child(flat, "direction", NULL) : NULL, "amplitude",
		       &config->direction, &config->noise[NOISE_DIRECTION]) &&
	       wind_effects_read_lag(self, up, &config->vertical_lag) &&
	       wind_effects_read_noise(self, up, &config->noise[NOISE_VERTICAL]);
}

static bool wind_effects_find_links(struct troupe_system *self, struct wind_effects_config *config)
{
	const struct troupe_host *host = self->host;
	uint32_t count, first = host->links(self, &count);
	config->links = host->alloc(self, (count + 1) * sizeof *config->links);
	for (uint32_t link = first; link < first + count; link++)
		if (host->link_wind(self, link)) {
			struct troupe_inertia own = host->link_own_inertia(self, link);
			config->links[config->link_count++] = (struct blown){link, own.mass, own.centre};
		}
	return config->link_count || host->pass(self);
}

static bool wind_effects_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const paths[] = {"linear_velocity.x", "linear_velocity.y", "linear_velocity.z"};
	const struct troupe_host *host = self->host;
	struct wind_effects_config *config = self->config = host->alloc(self, sizeof *config);
	for (int i = 0; i < 3; i++)
		config->field[i] = host->field(self, "gz.msgs.Wind", paths[i]);
	config->enable = host->field(self, "gz.msgs.Wind", "enable_wind");
	config->wind = host->wind(self);
	return wind_effects_read(self, plugin, config) && wind_effects_read_factor(self, plugin, config) &&
	       wind_effects_find_links(self, config) &&
	       host->take(self, plugin, host->print(self, "world/%s/wind", host->world_name(self)), "gz.msgs.Wind", 0,
		       TROUPE_NOTHING);
}

static void wind_effects_init(const struct troupe_system *self, void *words)
{
	((struct wind_effects_words *)words)->seed = ((const struct wind_effects_config *)self->config)->wind;
}

static void wind_effects_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct wind_effects_config *config = self->config;
	const double most = BUILTIN_VELOCITY_MAX;
	struct wind_effects_words *w = words;
	double v[3];
	(void)input;
	for (int i = 0; i < 3; i++)
		v[i] = builtin_clamp(self->host->get(message, config->field[i], 0), -most, most);
	w->seed = troupe_vec3_make(v[0], v[1], v[2]);
	w->disabled = self->host->get(message, config->enable, 0) == 0;
}

/* --- the step --------------------------------------------------------------------------------------------------- */

static double wind_effects_noise_of(const struct troupe_system *self, const struct wind_effects_config *config,
	uint32_t sequence, const struct troupe_step *step)
{
	const struct noise *noise = &config->noise[sequence];
	if (!noise->deviation)
		return noise->mean;
	return noise->mean + noise->deviation * self->host->random_normal(self, sequence, troupe_random_index(step));
}

static double wind_effects_swing(const struct troupe_host *host, const struct varying *varying, double time_s)
{
	return varying->amplitude * host->sin(2 * M_PI * time_s / varying->period);
}

/* A first-order lag; a time constant below the time step is that of the step. */
static double wind_effects_follow(double value, double target, double lag, double dt)
{
	return value + fmin(dt / lag, 1) * (target - value);
}

static struct troupe_vec3 wind_effects_now(
	const struct troupe_system *self, const struct troupe_step *step, struct wind_effects_words *w)
{
	const struct troupe_host *host = self->host;
	const struct wind_effects_config *config = self->config;
	double magnitude = sqrt(w->seed.x * w->seed.x + w->seed.y * w->seed.y);
	double direction = host->atan2(w->seed.y, w->seed.x) * (180 / M_PI), sine, cosine;
	w->magnitude = wind_effects_follow(w->magnitude, magnitude, config->magnitude.lag, step->dt);
	w->vertical = wind_effects_follow(w->vertical, w->seed.z, config->vertical_lag, step->dt);
	w->direction =
		w->begun ? wind_effects_follow(w->direction, direction, config->direction.lag, step->dt) : direction;
	w->begun = 1;
	magnitude = w->magnitude * (1 + wind_effects_swing(host, &config->magnitude, step->time_s)) +
		    wind_effects_noise_of(self, config, NOISE_MAGNITUDE, step);
	direction = w->direction + wind_effects_swing(host, &config->direction, step->time_s) +
		    wind_effects_noise_of(self, config, NOISE_DIRECTION, step);
	host->sincos(direction * (M_PI / 180), &sine, &cosine);
	return troupe_vec3_make(magnitude * cosine, magnitude * sine,
		w->vertical + wind_effects_noise_of(self, config, NOISE_VERTICAL, step));
}

static bool wind_effects_is_in(const struct wind_effects_piece *piece, const double at[3])
{
	bool in = true;
	for (int a = 0; a < 3; a++)
		in = in && at[a] >= piece->low[a] && at[a] <= piece->high[a] &&
		     !(piece->open_low[a] && at[a] == piece->low[a]) &&
		     !(piece->open_high[a] && at[a] == piece->high[a]);
	return in;
}

/* The factor of the first piece that has the place; 0: none has. */
static double wind_effects_factor_at(const struct wind_effects_config *config, struct troupe_pose place)
{
	const double at[3] = {place.x, place.y, place.z};
	for (uint32_t i = 0; i < config->piece_count; i++) {
		const struct wind_effects_piece *piece = &config->pieces[i];
		double sum = 0;
		for (int a = 0; a < 3; a++) {
			const double *c = piece->terms[a];
			sum += ((c[0] * at[a] + c[1]) * at[a] + c[2]) * at[a] + c[3];
		}
		if (wind_effects_is_in(piece, at))
			return piece->k * sum;
	}
	return 0;
}

static void wind_effects_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct wind_effects_config *config = self->config;
	struct wind_effects_words *w = words;
	if (w->disabled)
		return;
	struct troupe_vec3 wind = wind_effects_now(self, step, w);
	for (uint32_t i = 0; i < config->link_count; i++) {
		const struct blown *blown = &config->links[i];
		struct troupe_vec3 relative =
			troupe_vec3_sub(wind, host->link_twist(step, blown->link, TROUPE_NOW).linear);
		double factor = wind_effects_factor_at(config, host->link_pose(step, blown->link, TROUPE_NOW));
		if (factor)
			host->link_force(step, blown->link, blown->centre,
				(struct troupe_wrench){troupe_vec3_scale(relative, blown->mass * factor), {0, 0, 0}});
	}
}

const struct troupe_kind builtin_wind_effects = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_FOR_EACH_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("WindEffects"),
	.parameters = wind_effects_parameters,
	.words = wind_effects_words_of,
	.configure = wind_effects_configure,
	.init = wind_effects_init,
	.command = wind_effects_command,
	.pre_update = wind_effects_pre_update,
};
