/* Columns and rows of the known lidars, from one table. A row is a laser, in the order of its ring; the data sheets of
 * Velodyne list lasers in the order of their firing, so the ring follows from the elevations. */
#include "sdf/lidar_heads.h"

#include "base/math.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define LIDAR_HEADS_DEGREE (3.14159265358979323846 / 180)
#define LIDAR_HEADS_TURN 6.28318530717958647693

enum lidar_heads_form { LIDAR_HEADS_TURNING, LIDAR_HEADS_FLAT, LIDAR_HEADS_SWINGING, LIDAR_HEADS_PRISMS };

struct lidar_head {
	const char *name;
	enum lidar_heads_form form;
	uint32_t channels;
	/* of the channels; NULL: even; none. Azimuths are as the makers have them: positive ones are fired later, to
	 * the right of the column where the head turns clockwise. */
	const double *elevations_deg, *azimuths_deg;
	double field_deg;            /* of even elevations: from +field / 2 down to -field / 2 */
	uint32_t together;           /* channels that fire at the same time */
	double between_us, cycle_us; /* from one of these groups to the next; from column to column */
	uint32_t columns;            /* cycle_us is 0: the usual number of them in a turn */
	bool anticlockwise;
	double rate_hz, min_m, max_m;
};

static const double lidar_heads_vlp16[] = {-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15};
static const double lidar_heads_vlp32[] = {-25, -1, -1.667, -15.639, -11.31, 0, -0.667, -8.843, -7.254, 0.333, -0.333,
	-6.148, -5.333, 1.333, 0.667, -4, -4.667, 1.667, 1, -3.667, -3.333, 3.333, 2.333, -2.667, -3, 7, 4.667, -2.333,
	-2, 15, 10.333, -1.333};
static const double lidar_heads_vlp32_aside[] = {1.4, -4.2, 1.4, -1.4, 1.4, -1.4, 4.2, -1.4, 1.4, -4.2, 1.4, -1.4, 4.2,
	-1.4, 4.2, -1.4, 1.4, -4.2, 1.4, -4.2, 4.2, -1.4, 1.4, -1.4, 1.4, -1.4, 1.4, -4.2, 4.2, -1.4, 1.4, -1.4};

#define LIDAR_HEADS_OUSTER(name, channels, field, least, most)                                                         \
	{                                                                                                              \
		name, LIDAR_HEADS_TURNING, channels, NULL, NULL, field, channels, 0, 0, 1024, false, 10, least, most   \
	}
#define LIDAR_HEADS_OUSTERS(name, field, least, most)                                                                  \
	LIDAR_HEADS_OUSTER(name "-32", 32, field, least, most),                                                        \
		LIDAR_HEADS_OUSTER(name "-64", 64, field, least, most),                                                \
		LIDAR_HEADS_OUSTER(name "-128", 128, field, least, most)

/* Of Ouster's heads, by their field: four channels below each other point to +outer, +inner, -inner and -outer, again
 * and again. Those of the OS0 spread towards the highest and the lowest, by 1 + more * (elevation / 45 degrees)^2.
 * Numbers: means of what units report of themselves (beam_azimuth_angles of an OS-0-128, OS-1-128 and OS-2-128), within
 * 0.4 degrees (OS0) and 0.05. */
static const struct lidar_heads_aside {
	double field_deg, outer_deg, inner_deg, more;
} lidar_heads_asides[] = {{90, 8.28, 2.76, 0.32}, {45, 4.22, 1.41, 0}, {22.5, 2.07, 0.69, 0}};

static const struct lidar_head lidar_heads[] = {
	{"VLP-16", LIDAR_HEADS_TURNING, 16, lidar_heads_vlp16, NULL, 0, 1, 2.304, 55.296, 0, false, 10, 0.4, 100},
	{"VLP-32", LIDAR_HEADS_TURNING, 32, lidar_heads_vlp32, lidar_heads_vlp32_aside, 0, 2, 2.304, 55.296, 0, false,
		10, 0.5, 200},
	{"HDL-64", LIDAR_HEADS_TURNING, 64, NULL, NULL, 0, 2, 1.5, 48, 0, false, 10, 0.9, 120},
	LIDAR_HEADS_OUSTERS("OS0", 90, 0.3, 50),
	LIDAR_HEADS_OUSTERS("OS1", 45, 0.3, 120),
	LIDAR_HEADS_OUSTERS("OS2", 22.5, 0.8, 240),
	{"RPLIDAR", LIDAR_HEADS_FLAT, 1, NULL, NULL, 0, 1, 0, 125, 0, false, 10, 0.15, 12},
	{"LDS-01", LIDAR_HEADS_FLAT, 1, NULL, NULL, 0, 1, 0, 0, 360, true, 5, 0.12, 3.5},
	{"Mid-360", LIDAR_HEADS_SWINGING, 4, NULL, NULL, 0, 4, 0, 20, 0, true, 10, 0.1, 70},
	{"Avia", LIDAR_HEADS_PRISMS, 6, NULL, NULL, 0, 6, 0, 25, 0, true, 10, 1, 450},
};

const struct lidar_head *lidar_head_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(lidar_heads); i++)
		if (!strcmp(lidar_heads[i].name, name))
			return &lidar_heads[i];
	return NULL;
}

const char *lidar_head_names(struct arena *arena)
{
	struct text out = {0};
	for (size_t i = 0; i < ARRAY_LEN(lidar_heads); i++)
		text_add(&out, "%s%s", i ? ", " : "", lidar_heads[i].name);
	const char *names = arena_strdup(arena, out.at);
	text_fini(&out);
	return names;
}

double lidar_head_rate(const struct lidar_head *head)
{
	return head->rate_hz;
}

void lidar_head_range(const struct lidar_head *head, double *ret_min_m, double *ret_max_m)
{
	*ret_min_m = head->min_m;
	*ret_max_m = head->max_m;
}

bool lidar_head_has_columns(const struct lidar_head *head)
{
	return head->form == LIDAR_HEADS_TURNING && head->cycle_us <= 0;
}

/* The data sheet of the HDL-64E: the upper block from 2 down in steps of 1/3, the lower from -8.83 in steps of 1/2. One
 * laser of each fires at the same time. */
static double lidar_heads_hdl64(uint32_t laser)
{
	uint32_t in_block = laser / 2;
	return laser % 2 ? -8.83 - in_block / 2.0 : 2 - in_block / 3.0;
}

static double lidar_heads_elevation(const struct lidar_head *head, uint32_t laser)
{
	if (head->elevations_deg)
		return head->elevations_deg[laser];
	if (head->field_deg > 0)
		return head->field_deg / 2 - laser * head->field_deg / (head->channels - 1);
	return head->channels == 64 ? lidar_heads_hdl64(laser) : 0;
}

/* How many lasers are lower. */
static uint32_t lidar_heads_ring(const struct lidar_head *head, uint32_t laser)
{
	uint32_t ring = 0;
	for (uint32_t i = 0; i < head->channels; i++)
		ring += lidar_heads_elevation(head, i) < lidar_heads_elevation(head, laser);
	return ring;
}

static double lidar_heads_aside(const struct lidar_head *head, uint32_t laser)
{
	const struct lidar_heads_aside *aside = lidar_heads_asides;
	while (aside->field_deg > head->field_deg)
		aside++;
	bool outer = laser % 4 == 0 || laser % 4 == 3;
	double up = lidar_heads_elevation(head, laser) / 45;
	double size = (outer ? aside->outer_deg : aside->inner_deg) * (1 + aside->more * up * up);
	return laser % 4 < 2 ? size : -size;
}

static void lidar_heads_add_lasers(const struct lidar_head *head, double turn_rad_s, struct troupe_scan_firing *rows)
{
	for (uint32_t laser = 0; laser < head->channels; laser++) {
		bool even = head->field_deg > 0;
		uint32_t ring = even ? laser : lidar_heads_ring(head, laser);
		double aside = head->azimuths_deg ? head->azimuths_deg[laser]
			       : even             ? lidar_heads_aside(head, laser)
						  : 0;
		double time_s = laser / head->together * head->between_us * 1e-6;
		rows[ring] = (struct troupe_scan_firing){turn_rad_s * time_s - aside * LIDAR_HEADS_DEGREE,
			lidar_heads_elevation(head, laser) * LIDAR_HEADS_DEGREE, time_s, ring};
	}
}

static void lidar_heads_turn(const struct lidar_head *head, struct sdf_pattern *to)
{
	double turn = head->anticlockwise ? LIDAR_HEADS_TURN : -LIDAR_HEADS_TURN;
	double each_s = head->cycle_us > 0 ? head->cycle_us * 1e-6 : to->scan_s / to->columns;
	for (uint32_t c = 0; c < to->columns; c++) {
		uint32_t fired = head->form == LIDAR_HEADS_FLAT && turn < 0 ? to->columns - 1 - c : c;
		double begin = head->form == LIDAR_HEADS_FLAT && turn > 0 ? 0 : LIDAR_HEADS_TURN / 2;
		to->by_column[c].time_s = fired * each_s;
		to->by_column[c].azimuth_rad = begin + turn * (fired * each_s / to->scan_s);
	}
	lidar_heads_add_lasers(head, turn / to->scan_s, to->by_row);
}

static double lidar_heads_sin(double turns)
{
	return math_sin(LIDAR_HEADS_TURN * (turns - floor(turns)));
}

static double lidar_heads_cos(double turns)
{
	return math_cos(LIDAR_HEADS_TURN * (turns - floor(turns)));
}

/* The lines of a head point a little apart. */
static void lidar_heads_swing(const struct lidar_head *head, struct sdf_pattern *to)
{
	bool prisms = head->form == LIDAR_HEADS_PRISMS;
	for (uint32_t c = 0; c < to->columns * to->scans; c++) {
		struct troupe_scan_firing *at = &to->by_column[c];
		at->time_s = c % to->columns * head->cycle_us * 1e-6;
		double t = c / to->columns * to->scan_s + at->time_s, a = t * 7294 / 60, b = t * -4664 / 60;
		if (prisms) {
			at->azimuth_rad = 17.6 * LIDAR_HEADS_DEGREE * (lidar_heads_cos(a) + lidar_heads_cos(b));
			at->elevation_rad = 18.95 * LIDAR_HEADS_DEGREE * (lidar_heads_sin(a) + lidar_heads_sin(b));
		} else {
			double turns = t * 29.53;
			at->azimuth_rad = LIDAR_HEADS_TURN * (turns - floor(turns));
			at->elevation_rad = (22.5 + 28.6 * lidar_heads_sin(t * 107.19)) * LIDAR_HEADS_DEGREE;
		}
	}
	for (uint32_t r = 0; r < to->rows; r++)
		to->by_row[r] = (struct troupe_scan_firing){
			.elevation_rad = (r - (to->rows - 1) / 2.0) * (prisms ? 0.28 : 0.6) * LIDAR_HEADS_DEGREE,
			.ring = r};
}

static double lidar_heads_columns(const struct lidar_head *head, double scan_s, uint32_t columns)
{
	if (head->cycle_us > 0)
		return floor(scan_s * 1e6 / head->cycle_us + 1e-9);
	return columns ? columns : head->columns;
}

struct sdf_pattern lidar_head_pattern(
	const struct lidar_head *head, double scan_s, uint32_t columns, struct arena *arena, double *ret_rays)
{
	bool curve = head->form == LIDAR_HEADS_SWINGING || head->form == LIDAR_HEADS_PRISMS;
	struct sdf_pattern to = {.rows = head->channels, .scans = curve ? LIDAR_HEADS_SCANS : 1, .scan_s = scan_s};
	double count = lidar_heads_columns(head, scan_s, columns);
	*ret_rays = count * to.rows * to.scans;
	if (!(*ret_rays <= SDF_RAYS_MAX) || count < 1)
		return to;
	to.columns = (uint32_t)count;
	to.by_column = arena_array(arena, struct troupe_scan_firing, (size_t)to.columns * to.scans);
	to.by_row = arena_array(arena, struct troupe_scan_firing, to.rows);
	if (curve)
		lidar_heads_swing(head, &to);
	else
		lidar_heads_turn(head, &to);
	return to;
}
