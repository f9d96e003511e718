/* Pictures against formulas: the depth of a plane and of a sphere in every pixel, lenses against their definition,
 * colours against the sum of the lights, labels and boxes against the shapes. A lens that is off by half a pixel, a
 * depth along the ray instead of the axis, a light or shadow of the wrong side would show. */
#include "base/hash.h"
#include "picture_world.h"
#include "scene/light.h"
#include "sensor/boxes.h"
#include "sensor/lens.h"
#include "sensor/measure.h"
#include "sensor/picture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(picture, .timeout = 120);

enum { W = 64, H = 48 };

static const struct sdf_camera usual = {.fov_rad = 1.2,
	.width = W,
	.height = H,
	.near_m = 0.1,
	.far_m = 50,
	.depth_near_m = 0.5,
	.depth_far_m = 20,
	.centre_x = 0.5,
	.centre_y = 0.5,
	.cutoff_rad = 1.5,
	.lens_to_fov = true,
	.c1 = 1,
	.c2 = 1,
	.f = 1,
	.visibility_mask = UINT32_MAX};

#define MODEL(name, pose, visual)                                                                                      \
	"<model name='" name "'><static>1</static><pose>" pose "</pose><link name='l'><visual name='v'>" visual        \
	"</visual></link></model>"
#define SHAPE(shape) "<geometry>" shape "</geometry>"

/* --- lenses ---------------------------------------------------------------------------------------------------------
 */

/* Where a direction falls, in pixels, by the pinhole and Brown's distortion. */
static void project(const struct sdf_camera *camera, struct vec3 d, double f, double *ret_column, double *ret_row)
{
	double x = -d.y / d.x, y = -d.z / d.x, r2 = x * x + y * y;
	double radial = 1 + camera->k1 * r2 + camera->k2 * r2 * r2 + camera->k3 * r2 * r2 * r2;
	double to_x = x * radial + 2 * camera->p1 * x * y + camera->p2 * (r2 + 2 * x * x);
	double to_y = y * radial + camera->p1 * (r2 + 2 * y * y) + 2 * camera->p2 * x * y;
	*ret_column = W / 2.0 + f * to_x;
	*ret_row = H / 2.0 + f * to_y;
}

Test(picture, rays_of_a_pinhole_go_through_the_middles_of_pixels)
{
	static struct vec3 directions[W * H];
	for (int kind = 0; kind < 2; kind++) {
		struct sdf_camera camera = usual;
		if (kind) {
			camera.k1 = -0.12, camera.k2 = 0.03, camera.k3 = 0.001, camera.p1 = 0.002, camera.p2 = -0.003;
		}
		double f = W / 2.0 / tan(0.6), column, row;
		lens_directions(&camera, false, directions);
		for (uint32_t r = 0; r < H; r++)
			for (uint32_t c = 0; c < W; c++) {
				struct vec3 d = directions[r * W + c];
				project(&camera, d, f, &column, &row);
				cr_assert(fabs(column - c - 0.5) < 1e-9 && fabs(row - r - 0.5) < 1e-9,
					"%u %u: %.12g %.12g", c, r, column, row);
				cr_assert_float_eq(vec3_length(d), 1, 1e-14);
			}
	}
}

/* A strong cushion, where steps of a fixed point run away, and barrels, which fold the picture: what lies beyond the
 * fold has no ray, and no direction is NaN (Embree ends the process for one). */
Test(picture, strong_distortions)
{
	static struct vec3 directions[W * H];
	static const struct {
		double k1, k2, p1,
			fold; /* fold: the radius in the picture beyond which nothing is seen, in focal lengths */
	} rows[] = {{0.5, 0, 0, INFINITY}, {5, 1, 0, INFINITY}, {1e9, 0, 0, INFINITY}, {0.2, 0, 0.1, INFINITY},
		{-0.3, 0, 0, 2 / 3.0 / 0.9486832980505138}, {-2, 0, 0, 2 / 3.0 / 2.449489742783178}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdf_camera camera = usual;
		camera.fov_rad = 1.8;
		camera.k1 = rows[i].k1, camera.k2 = rows[i].k2, camera.p1 = rows[i].p1;
		double f = W / 2.0 / tan(0.9), column, row;
		lens_directions(&camera, false, directions);
		for (uint32_t p = 0; p < W * H; p++) {
			double x = p % W + 0.5 - W / 2.0, y = p / W + 0.5 - H / 2.0, radius = sqrt(x * x + y * y) / f;
			bool seen = vec3_length(directions[p]) > 0;
			cr_assert(seen == (radius < rows[i].fold), "%zu: pixel %u, radius %g", i, p, radius);
			if (!seen)
				continue;
			project(&camera, directions[p], f, &column, &row);
			cr_assert(fabs(column - p % W - 0.5) < 1e-6 && fabs(row - p / W - 0.5) < 1e-6,
				"%zu: pixel %u: %.12g %.12g", i, p, column, row);
			if (rows[i].fold < 9) /* on this side of the fold */
				cr_assert_lt(directions[p].y * directions[p].y + directions[p].z * directions[p].z,
					directions[p].x * directions[p].x / (-3 * rows[i].k1) * (1 + 1e-9));
		}
	}
}

/* Lines are bent about the centre of the distortion, which need not be that of the picture, also with other intrinsics:
 * the ray of a pixel, bent forwards, leads back to the pixel. */
Test(picture, distortions_about_another_centre)
{
	static struct vec3 directions[W * H];
	struct sdf_camera camera = usual;
	camera.intrinsics_given = true;
	camera.fx = 70, camera.fy = 60, camera.cx = 30, camera.cy = 25;
	camera.k1 = -0.1, camera.k2 = 0.02, camera.k3 = 0.003, camera.p1 = 0.004, camera.p2 = -0.005;
	camera.centre_x = 0.6, camera.centre_y = 0.3;
	double off_x = 0.1 * W / 70, off_y = -0.2 * H / 60;
	lens_directions(&camera, false, directions);
	for (uint32_t r = 0; r < H; r++)
		for (uint32_t c = 0; c < W; c++) {
			struct vec3 d = directions[r * W + c];
			double x = -d.y / d.x - off_x, y = -d.z / d.x - off_y, r2 = x * x + y * y;
			double radial = 1 + camera.k1 * r2 + camera.k2 * r2 * r2 + camera.k3 * r2 * r2 * r2;
			double to_x = x * radial + 2 * camera.p1 * x * y + camera.p2 * (r2 + 2 * x * x) + off_x;
			double to_y = y * radial + camera.p1 * (r2 + 2 * y * y) + 2 * camera.p2 * x * y + off_y;
			cr_assert_float_eq(70 * to_x + 30, c + 0.5, 1e-9, "%u %u", c, r);
			cr_assert_float_eq(60 * to_y + 25, r + 0.5, 1e-9, "%u %u", c, r);
		}
}

Test(picture, intrinsics_replace_the_field_of_view)
{
	static struct vec3 directions[W * H];
	struct sdf_camera camera = usual;
	camera.intrinsics_given = true;
	camera.fx = 70, camera.fy = 60, camera.cx = 30, camera.cy = 25, camera.skew = 2;
	lens_directions(&camera, false, directions);
	for (uint32_t r = 0; r < H; r++)
		for (uint32_t c = 0; c < W; c++) {
			struct vec3 d = directions[r * W + c];
			double x = -d.y / d.x, y = -d.z / d.x;
			cr_assert_float_eq(70 * x + 2 * y + 30, c + 0.5, 1e-9);
			cr_assert_float_eq(60 * y + 25, r + 0.5, 1e-9);
		}
}

Test(picture, wide_lenses)
{
	static struct vec3 directions[W * H];
	static const enum sdf_lens lenses[] = {SDF_LENS_GNOMONICAL, SDF_LENS_STEREOGRAPHIC, SDF_LENS_EQUIDISTANT,
		SDF_LENS_EQUISOLID, SDF_LENS_ORTHOGRAPHIC, SDF_LENS_CUSTOM};
	for (size_t i = 0; i < ARRAY_LEN(lenses); i++) {
		struct sdf_camera camera = usual;
		camera.lens = lenses[i];
		camera.function = SDF_LENS_ID;
		camera.fov_rad = i == 0 ? 2 : 2.8;
		camera.cutoff_rad = i == 0 ? 1.05 : 1.3;
		lens_directions(&camera, true, directions);
		uint32_t cut = 0;
		for (uint32_t r = 0; r < H; r++)
			for (uint32_t c = 0; c < W; c++) {
				struct vec3 d = directions[r * W + c];
				double x = c + 0.5 - W / 2.0, y = r + 0.5 - H / 2.0, radius = sqrt(x * x + y * y);
				double angle = acos(fmin(d.x, 1)), border = camera.fov_rad / 2, want = 0;
				if (vec3_length(d) == 0) {
					cut++;
					cr_assert_gt(radius, W / 4.0);
					continue;
				}
				switch (lenses[i]) {
				case SDF_LENS_GNOMONICAL:
					want = tan(angle) / tan(border);
					break;
				case SDF_LENS_STEREOGRAPHIC:
					want = tan(angle / 2) / tan(border / 2);
					break;
				case SDF_LENS_EQUISOLID:
					want = sin(angle / 2) / sin(border / 2);
					break;
				case SDF_LENS_ORTHOGRAPHIC:
					want = sin(angle) / sin(border);
					break;
				case SDF_LENS_EQUIDISTANT:
				case SDF_LENS_CUSTOM:
					want = angle / border;
					break;
				}
				cr_assert(angle <= camera.cutoff_rad + 1e-9);
				cr_assert_float_eq(want * W / 2, radius, 1e-6);
				cr_assert_float_eq(atan2(-d.z, -d.y), atan2(y, x), 1e-9);
			}
		cr_assert_gt(cut, 0);
	}
}

/* Where a picture shows a direction is where the pixel's ray of that direction goes through, with any lens, beside the
 * axis in both ways, and however long the direction is. */
Test(picture, directions_are_projected_to_where_they_are_seen)
{
	static struct vec3 directions[W * H];
	static const enum sdf_lens lenses[] = {SDF_LENS_GNOMONICAL, SDF_LENS_STEREOGRAPHIC, SDF_LENS_EQUIDISTANT,
		SDF_LENS_EQUISOLID, SDF_LENS_ORTHOGRAPHIC, SDF_LENS_CUSTOM, SDF_LENS_CUSTOM, SDF_LENS_CUSTOM};
	for (size_t i = 0; i < ARRAY_LEN(lenses) + 2; i++) {
		struct sdf_camera camera = usual;
		const bool wide = i < ARRAY_LEN(lenses);
		camera.lens = wide ? lenses[i] : SDF_LENS_GNOMONICAL;
		camera.function = (enum sdf_lens_function[]){SDF_LENS_ID, SDF_LENS_TAN, SDF_LENS_SIN}[i % 3];
		camera.c1 = 1.1, camera.c2 = 1.7, camera.f = 0.9;
		camera.lens_to_fov = i % 2;
		camera.cutoff_rad = i == 0 ? 1.05 : 1.3;
		const struct lens_pinhole hole = lens_pinhole_of(&camera);
		lens_directions(&camera, wide, directions);
		uint32_t seen = 0;
		for (uint32_t p = 0; p < W * H; p++) {
			double column = NAN, row = NAN;
			if (vec3_length(directions[p]) == 0)
				continue;
			seen++;
			cr_assert(lens_project(
				&camera, wide, &hole, vec3_scale(directions[p], 0.5 + p % 7), &column, &row));
			cr_assert_float_eq(column, p % W + 0.5, 1e-6, "lens %zu, pixel %u: column %g", i, p, column);
			cr_assert_float_eq(row, p / W + 0.5, 1e-6, "lens %zu, pixel %u: row %g", i, p, row);
		}
		cr_assert_gt(seen, W * H / 4);
	}
}

/* What CameraInfo says of a wide lens: how many pixels a radian has on its axis. A pinhole has none at pi and beyond.
 */
Test(picture, the_focal_length_of_wide_lenses)
{
	struct sdf_camera camera = usual;
	camera.fov_rad = 4;
	camera.function = SDF_LENS_TAN;
	camera.c1 = 3, camera.c2 = 2.5, camera.c3 = 0.2, camera.f = 0.7;
	const struct {
		enum sdf_lens lens;
		double scaled, free; /* in halves of the width */
	} rows[] = {{SDF_LENS_STEREOGRAPHIC, 1 / (2 * tan(1)), 1}, {SDF_LENS_EQUIDISTANT, 0.5, 1},
		{SDF_LENS_EQUISOLID, 1 / (2 * sin(1)), 1}, {SDF_LENS_ORTHOGRAPHIC, 1 / sin(2), 1},
		{SDF_LENS_CUSTOM, 1 / (2.5 * cos(0.2) * cos(0.2) * tan(2 / 2.5 + 0.2)),
			3 * 0.7 / (2.5 * cos(0.2) * cos(0.2))}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		camera.lens = rows[i].lens;
		camera.lens_to_fov = true;
		cr_assert_float_eq(lens_focal(&camera, true), W / 2.0 * rows[i].scaled, 1e-9, "%zu", i);
		camera.lens_to_fov = false;
		cr_assert_float_eq(lens_focal(&camera, true), W / 2.0 * rows[i].free, 1e-9, "%zu", i);
	}
	cr_assert_float_eq(lens_focal(&usual, false), W / 2.0 / tan(usual.fov_rad / 2), 1e-9);
}

/* --- depth ----------------------------------------------------------------------------------------------------------
 */

Test(picture, depth_of_a_wall_a_sphere_and_their_limits)
{
	struct picture_world w = picture_world_load(
		MODEL("wall", "8.05 0 0 0 0 0", SHAPE("<box><size>0.1 40 3</size></box>"))
			MODEL("ball", "3 1 0 0 0 0", SHAPE("<sphere><radius>0.5</radius></sphere>"))
				MODEL("near", "0.4 -0.3 0.1 0 0 0", SHAPE("<box><size>0.1 0.2 0.1</size></box>")));
	static struct vec3 directions[W * H];
	static float depth[W * H];
	uint32_t walls = 0, balls = 0, near = 0, none = 0;
	struct pose pose = {{0, 0, 0}, quat_from_rpy(0, 0.1, 0)};
	lens_directions(&usual, false, directions);
	picture_take(w.rays, &w.lights, &usual, directions, pose, &(struct picture){.depth = depth});
	for (uint32_t i = 0; i < W * H; i++) {
		struct vec3 d = quat_rotate(pose.q, directions[i]), ball = {3, 1, 0};
		double t = 8 / d.x, along = vec3_dot(d, ball), square = along * along - vec3_dot(ball, ball) + 0.25;
		bool wall = fabs(t * d.z) < 1.5, hit = square >= 0;
		double face = 0.35 / d.x;
		bool close = fabs(face * d.y + 0.3) < 0.1 && fabs(face * d.z - 0.1) < 0.05;
		double want = close  ? (double)-INFINITY
			      : hit  ? (along - sqrt(square)) * directions[i].x
			      : wall ? t * directions[i].x
				     : (double)INFINITY;
		if (!close && isinf((double)depth[i]) && depth[i] < 0) /* a side of the near box */
			continue;
		cr_assert((double)depth[i] == want || fabs((double)depth[i] - want) < 1e-5, "pixel %u: %.9g, not %.9g",
			i, (double)depth[i], want);
		near += close, balls += hit, walls += wall, none += isinf(want) && want > 0;
	}
	cr_assert(walls > 100 && balls > 50 && near > 10 && none > 50, "%u %u %u %u", walls, balls, near, none);
	picture_world_drop(&w);
}

/* The far end is a plane, not a sphere: a wall across the view is before it, or behind it, in all pixels. */
Test(picture, the_far_end_is_a_plane)
{
	struct picture_world w =
		picture_world_load(MODEL("wall", "10.05 0 0 0 0 0", SHAPE("<box><size>0.1 99 99</size></box>")));
	static struct vec3 directions[W * H];
	static float depth[W * H];
	lens_directions(&usual, false, directions);
	for (int before = 0; before < 2; before++) {
		struct sdf_camera camera = usual;
		camera.depth_far_m = before ? 10.01 : 9.99;
		picture_take(w.rays, &w.lights, &camera, directions, POSE_IDENTITY, &(struct picture){.depth = depth});
		for (uint32_t i = 0; i < W * H; i++)
			cr_assert(before ? fabs((double)depth[i] - 10) < 1e-5 : isinf((double)depth[i]) && depth[i] > 0,
				"pixel %u, to %g m: %.9g", i, camera.depth_far_m, (double)depth[i]);
	}
	picture_world_drop(&w);
}

/* --- colours --------------------------------------------------------------------------------------------------------
 */

#define COLOURS(r)                                                                                                     \
	"<material><ambient>0.5 0.25 0 1</ambient><diffuse>" r                                                         \
	" 0.5 0.2 1</diffuse><specular>0 0 0 1</specular><emissive>0 0 0.1 1</emissive></material>"

/* A light of a link, as the file has it, as a command changed it, off, and as the file has it again. */
Test(picture, a_light_of_a_link_is_as_commands_left_it)
{
	struct picture_world w =
		picture_world_load("<model name='m'><static>1</static><pose>1 0 0 0 0 0</pose><link name='l'><light "
				   "name='a' type='point'><pose>0 2 0 0 0 0</pose></light><light name='b' "
				   "type='point'><pose>0 0 3 0 0 0</pose></light></link></model>");
	cr_assert_eq(w.lights.count, 2u);
	cr_assert(w.lights.at[0].p.x == 1 && w.lights.at[0].p.y == 2 && w.lights.at[1].p.z == 3);
	uint32_t place = scene_add_link_light(w.scene, 0, 1);
	cr_assert_neq(place, SCENE_NONE);
	w.scene->lights[place].pose.p.z = 5;
	w.scene->lights[place].shine.intensity = 4;
	lights_find(w.state, &w.lights);
	cr_assert_eq(w.lights.count, 2u);
	cr_assert(w.lights.at[0].p.y == 2 && w.lights.at[0].shine.intensity == 1);
	cr_assert(w.lights.at[1].p.x == 1 && w.lights.at[1].p.z == 5 && w.lights.at[1].shine.intensity == 4);
	w.scene->lights[place].shine.on = false;
	lights_find(w.state, &w.lights);
	cr_assert(w.lights.count == 1 && w.lights.at[0].p.y == 2);
	scene_drop_light(w.scene, place);
	lights_find(w.state, &w.lights);
	cr_assert(w.lights.count == 2 && w.lights.at[1].p.z == 3 && w.lights.at[1].shine.intensity == 1);
	picture_world_drop(&w);
}

/* A floor under a lamp, with the shadow of a plate, and a window before the camera. */
Test(picture, lights_shadows_and_transparency)
{
	struct picture_world w = picture_world_load(
		"<scene><ambient>0.4 0.4 0.4 1</ambient><background>0.1 0.2 0.3 "
		"1</background><shadows>1</shadows></scene><light name='sun' "
		"type='directional'><cast_shadows>1</cast_shadows><diffuse>0.5 0.5 0.5 1</diffuse><specular>0 0 0 "
		"1</specular><direction>0 0 -1</direction></light><light name='lamp' type='point'><pose>0 0 3 0 0 "
		"0</pose><diffuse>1 0 0 1</diffuse><specular>0 0 0 "
		"1</specular><attenuation><range>10</range><constant>1</constant><linear>0.1</linear><quadratic>0.05</"
		"quadratic></attenuation></light>" MODEL("floor", "0 0 -0.5 0 0 0",
			SHAPE("<box><size>6 6 1</size></box>") COLOURS("0.8")) MODEL("plate", "1 0 1 0 0 0",
			SHAPE("<box><size>1 1 0.01</size></box>") COLOURS("0.3")) MODEL("window", "0 -1.5 4 0 0 0",
			"<transparency>0.75</transparency>" SHAPE(
				"<box><size>6 1 0.01</size></box>") "<material><ambient>0 0 0 1</ambient><diffuse>0 0 "
								    "0 1</diffuse><specular>0 0 0 "
								    "1</specular><emissive>0 1 0 "
								    "1</emissive></material>"));
	static struct vec3 directions[W * H];
	static float colour[3 * W * H];
	struct pose pose = {{0, 0, 6}, quat_from_rpy(0, M_PI / 2, 0)};
	uint32_t lit = 0, dark = 0, behind = 0, empty = 0;
	cr_assert_eq(w.lights.count, 2);
	lens_directions(&usual, false, directions);
	picture_take(w.rays, &w.lights, &usual, directions, pose, &(struct picture){.colour = colour});
	for (uint32_t i = 0; i + 5 <= W * H; i += 333) { /* a few pixels are those of the whole */
		float some[15];
		picture_take(w.rays, &w.lights, &usual, directions, pose,
			&(struct picture){.colour = some, .first = i, .count = 5});
		cr_assert(!memcmp(some, &colour[3 * (size_t)i], sizeof some), "pixels from %u on", i);
	}
	for (uint32_t i = 0; i < W * H; i++) {
		struct vec3 d = quat_rotate(pose.q, directions[i]);
		double t = -6 / d.z, top = -(6 - 1.005) / d.z, pane = -(6 - 4.005) / d.z;
		struct vec3 p = vec3_add(pose.p, vec3_scale(d, t));
		double x = pose.p.x + d.x * top, y = d.y * top, high = 0, red = 0.8;
		if (fabs(fabs(x - 1) - 0.5) < 0.02 || fabs(fabs(y) - 0.5) < 0.02 || fabs(fabs(p.x - 1) - 0.5) < 0.02 ||
			fabs(fabs(d.y * pane + 1.5) - 0.5) < 0.02 || fabs(fabs(p.y + 1.5) - 0.5) < 0.02)
			continue; /* edges: their sides may be seen */
		bool plate = fabs(x - 1) < 0.5 && fabs(y) < 0.5;
		if (plate) {
			p = (struct vec3){x, y, 1.005};
			high = 1.005, red = 0.3;
		}
		bool floor = plate || (fabs(p.x) < 3 && fabs(p.y) < 3);
		double r = 0.1, g = 0.2, b = 0.3;
		if (floor) {
			struct vec3 to = vec3_sub((struct vec3){0, 0, 3}, p);
			double far = vec3_length(to), strength = to.z / far / (1 + 0.1 * far + 0.05 * far * far);
			/* the sun is above the plate and above the window, the lamp (without shadows) is not */
			bool sun = plate || !(fabs(p.x - 1) < 0.5 && fabs(p.y) < 0.5);
			sun = sun && !(fabs(p.y + 1.5) < 0.5 && fabs(p.x) < 3);
			r = 0.2 + red * (sun ? 0.5 : 0) + red * strength, g = 0.1 + (sun ? 0.25 : 0),
			b = 0.1 + (sun ? 0.1 : 0);
			lit += sun, dark += !sun;
			cr_assert(high >= 0);
		} else {
			empty++;
		}
		if (fabs(d.y * pane + 1.5) < 0.5) {
			r *= 0.75, g = 0.75 * g + 0.25, b *= 0.75;
			behind++;
		}
		const float *at = &colour[3 * i];
		cr_assert(fabs((double)at[0] - fmin(r, 1)) < 1e-5 && fabs((double)at[1] - fmin(g, 1)) < 1e-5 &&
				  fabs((double)at[2] - fmin(b, 1)) < 1e-5,
			"pixel %u (%g %g): %g %g %g, not %g %g %g", i, p.x, p.y, (double)at[0], (double)at[1],
			(double)at[2], r, g, b);
	}
	cr_assert(lit > 100 && dark > 20 && behind > 50 && empty > 0, "%u %u %u %u", lit, dark, behind, empty);
	picture_world_drop(&w);
}

/* --- sky and fog ----------------------------------------------------------------------------------------------------
 */

/* Of a wall in 12 m, before a background, the colour of the pixel in the middle, or of the first one. */
static void look_at_wall(const char *scene, struct pose pose, float wall[3], float first[3])
{
	char *inside =
		mem_printf("<scene><ambient>1 1 1 1</ambient><background>0.2 0.2 0.2</background>%s</scene>"
			   "<model name='wall'><static>1</static><pose>12.5 0 0 0 0 0</pose><link name='l'><visual "
			   "name='v'><geometry><box><size>1 2 2</size></box></geometry><material><ambient>0.8 0.4 0"
			   "</ambient></material></visual></link></model>",
			scene);
	struct picture_world w = picture_world_load(inside);
	static float colour[3 * W * H];
	picture_world_take(&w, &usual, pose, colour);
	memcpy(wall, &colour[3 * (W * (H / 2) + W / 2)], 3 * sizeof *wall);
	memcpy(first, colour, 3 * sizeof *first);
	picture_world_drop(&w);
	free(inside);
}

static void assert_mix(const float found[3], double part, const double of[3], const double fog[3], const char *what)
{
	for (int i = 0; i < 3; i++)
		cr_assert_float_eq(
			(double)found[i], of[i] + part * (fog[i] - of[i]), 1e-4, "%s: %g", what, (double)found[i]);
}

/* The middle of the wall is 12 m away, but for the half pixel beside the axis: fog begins at 2 m and ends at 22 m. */
Test(picture, fog)
{
	static const double wall[3] = {0.8, 0.4, 0}, fog[3] = {0.1, 0.9, 0.5}, behind[3] = {0.2, 0.2, 0.2};
	const struct {
		const char *type;
		double near, far;
	} rows[] = {{"linear", 0.8 * 0.5, 0.8}, {"quadratic", 0.8 * 0.25, 0.8}, {"constant", 0.8, 0.8}, {"none", 0, 0}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *scene = mem_printf("<fog><type>%s</type><color>0.1 0.9 0.5</color><start>2</start><end>22</end>"
					 "<density>0.8</density></fog>",
			rows[i].type);
		float found[3], first[3];
		look_at_wall(scene, POSE_IDENTITY, found, first);
		double f = W / 2.0 / tan(0.6), far = 12 * sqrt(1 + 0.5 / (f * f)), way = (far - 2) / 20;
		double part = i == 0 ? 0.8 * way : i == 1 ? 0.8 * way * way : rows[i].near;
		cr_assert_float_eq(part, rows[i].near, 0.001);
		assert_mix(found, part, wall, fog, rows[i].type);
		assert_mix(first, rows[i].far, behind, fog, "background");
		free(scene);
	}
}

Test(picture, sky)
{
	static const double dark[3] = {0}, horizon[3] = {0.75, 0.85, 0.95}, zenith[3] = {0.25, 0.45, 0.85},
			    wall[3] = {0.8, 0.4, 0};
	const struct {
		const char *sky;
		double pitch, light;
	} rows[] = {{"<sky/>", 0, 1}, {"<sky/>", -1, 1}, {"<sky/>", 1, 1},
		{"<sky><time>23</time></sky><fog><type>linear</type></fog>", -1, 0.05},
		{"<sky><time>6.1</time></sky>", -1, 0.05 + 0.95 * 4 * sin(M_PI * 0.1 / 14)}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		float found[3], first[3];
		double f = W / 2.0 / tan(0.6), mixed[3];
		struct pose pose = {{0, 0, 0}, quat_from_rpy(0, rows[i].pitch, 0)};
		struct vec3 up =
			quat_rotate(pose.q, vec3_unit((struct vec3){1, (W / 2.0 - 0.5) / f, (H / 2.0 - 0.5) / f}));
		look_at_wall(rows[i].sky, pose, found, first);
		for (int k = 0; k < 3; k++)
			mixed[k] = horizon[k] + fmin(fmax(up.z, 0), 1) * (zenith[k] - horizon[k]);
		assert_mix(first, 1 - rows[i].light, mixed, dark, rows[i].sky);
		if (i == 0)
			assert_mix(found, 0, wall, dark, "wall");
	}
}

/* --- labels and boxes -----------------------------------------------------------------------------------------------
 */

#define LABELLED(name, pose, label, size)                                                                              \
	"<model name='" name "'><static>1</static><pose>" pose "</pose><link name='l'><visual name='v'>" SHAPE(        \
		"<box><size>" size "</size></box>") "</visual></link><plugin name='gz::sim::systems::Label' "          \
						    "filename='gz-sim-label-system'><label>" label                     \
						    "</label></plugin></model>"

Test(picture, labels_instances_and_boxes)
{
	struct picture_world w = picture_world_load(
		LABELLED("a", "5 1 0 0 0 0", "7", "1 1 1") LABELLED("b", "5 -1 0 0 0 0", "7", "1 1 1")
			LABELLED("c", "4 0 1 0 0 0", "3", "1 0.5 0.5") LABELLED("d", "8 0 0 0 0 0", "9", "1 0.4 0.4")
				MODEL("none", "9 0 0 0 0 0", SHAPE("<box><size>0.1 9 9</size></box>")));
	static struct vec3 directions[W * H];
	static uint32_t labels[W * H], instances[W * H];
	struct boxes_flat boxes[8];
	lens_directions(&usual, false, directions);
	picture_take(w.rays, &w.lights, &usual, directions, POSE_IDENTITY,
		&(struct picture){.labels = labels, .instances = instances});
	uint32_t count = boxes_find(labels, instances, W, H, boxes, 8);
	static const uint32_t want[4][2] = {{3, 1}, {7, 1}, {7, 2}, {9, 1}};
	cr_assert_eq(count, 4);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert(boxes[i].label == want[i][0] && boxes[i].instance == want[i][1]);
	double f = W / 2.0 / tan(0.6);
	/* the front of a: y from 0.5 to 1.5 in 4.5 m */
	cr_assert_eq(boxes[1].left, (uint32_t)ceil(W / 2.0 - f * 1.5 / 4.5 - 0.5));
	cr_assert_eq(boxes[1].top, (uint32_t)ceil(H / 2.0 - f * 0.5 / 4.5 - 0.5));
	cr_assert_eq(boxes[1].bottom, (uint32_t)floor(H / 2.0 + f * 0.5 / 4.5 - 0.5));
	/* b lies to the right of a, and at most mirrored */
	cr_assert_eq(boxes[2].right, W - 1 - boxes[1].left);
	cr_assert_eq(boxes_find(labels, instances, W, H, boxes, 2), 2);
	/* a goes: b is now the first of its label */
	scene_set_absent(w.scene, 0, true);
	rays_follow(w.rays, w.state);
	picture_take(w.rays, &w.lights, &usual, directions, POSE_IDENTITY,
		&(struct picture){.labels = labels, .instances = instances});
	cr_assert_eq(boxes_find(labels, instances, W, H, boxes, 8), 3);
	cr_assert(boxes[1].label == 7 && boxes[1].instance == 1 && boxes[1].left > W / 2);
	picture_world_drop(&w);
}

/* A ball behind a wall that hides its lower half, and a crate that the border of the picture cuts. */
Test(picture, boxes_of_whole_models)
{
	struct picture_world w = picture_world_load(
		"<model name='ball'><static>1</static><pose>6 1 0 0.3 0.2 0.1</pose><link name='l'><visual "
		"name='v'><pose>0.5 0 0 0 0 0</pose>" SHAPE(
			"<sphere><radius>0.75</radius></sphere>") "</visual></link><plugin "
								  "name='gz::sim::systems::Label' "
								  "filename='gz-sim-label-system'><label>5</label></"
								  "plugin></model>" LABELLED("crate",
									  "4 -2.5 0 0 0 0.5", "6",
									  "1 1.5 0.5") MODEL("wall", "3 0 -1 0 0 0",
									  SHAPE("<box><size>0.1 9 2</size></box>")));
	static struct vec3 directions[W * H];
	static uint32_t labels[W * H], instances[W * H];
	struct boxes_flat boxes[4];
	struct boxes_solid solids[4];
	lens_directions(&usual, false, directions);
	picture_take(w.rays, &w.lights, &usual, directions, POSE_IDENTITY,
		&(struct picture){.labels = labels, .instances = instances});
	cr_assert_eq(boxes_find(labels, instances, W, H, boxes, 4), 2);
	cr_assert_lt(boxes[0].bottom, H / 2 + 1);
	boxes_full(w.rays, &usual, POSE_IDENTITY, boxes, 2);
	struct pose ball = {{6, 1, 0}, quat_from_rpy(0.3, 0.2, 0.1)};
	struct vec3 middle = pose_point(ball, (struct vec3){0.5, 0, 0});
	/* the border of a ball: the angle of its middle, plus and minus that of its radius */
	double f = W / 2.0 / tan(0.6), far = sqrt(middle.x * middle.x + middle.z * middle.z),
	       up = atan2(middle.z, middle.x), radius = asin(0.75 / far);
	cr_assert(fabs(boxes[0].top + 0.5 - (H / 2.0 - f * tan(up + radius))) <= 0.6, "%u", boxes[0].top);
	cr_assert(fabs(boxes[0].bottom + 0.5 - (H / 2.0 - f * tan(up - radius))) <= 0.6, "%u", boxes[0].bottom);
	cr_assert_eq(boxes[1].right, W - 1);
	struct pose crate = {{4, -2.5, 0}, quat_from_rpy(0, 0, 0.5)};
	double left = 0;
	for (int i = 0; i < 8; i++) {
		struct vec3 p = pose_point(
			crate, (struct vec3){i & 1 ? 0.5 : -0.5, i & 2 ? 0.75 : -0.75, i & 4 ? 0.25 : -0.25});
		left = fmax(left, p.y / p.x + 2);
	}
	cr_assert_eq(boxes[1].left, (uint32_t)(W / 2.0 - f * (left - 2)));

	struct pose eye = {{1, 2, 3}, quat_from_rpy(0.1, -0.2, 2)};
	boxes_solid(w.rays, eye, boxes, 2, solids);
	struct vec3 size = {1, 1.5, 0.5}, wide = {1.5, 1.5, 1.5};
	cr_assert(vec3_length(vec3_sub(solids[1].size, size)) < 1e-9 &&
		  vec3_length(vec3_sub(solids[0].size, wide)) < 1e-9);
	cr_assert(vec3_length(vec3_sub(pose_point(eye, solids[1].pose.p), crate.p)) < 1e-9);
	cr_assert(vec3_length(vec3_sub(pose_point(eye, solids[0].pose.p), middle)) < 1e-9);
	struct vec3 x = {1, 0, 0};
	cr_assert(vec3_length(vec3_sub(quat_rotate(quat_mul(eye.q, solids[1].pose.q), x), quat_rotate(crate.q, x))) <
		  1e-12);
	picture_world_drop(&w);
}

/* --- outlines ------------------------------------------------------------------------------------------------------
 */

#define OUTLINED(label, shape)                                                                                         \
	"<model name='m" label "'><static>1</static><pose>3 -2 1 0.5 0.6 0.7</pose><link name='l'><pose>1 0 2 0 1 0"   \
	"</pose><visual name='v'><pose>0.5 -1 0 1 0 0.5</pose>" SHAPE(                                                 \
		shape) "</visual></link><plugin "                                                                      \
		       "name='gz::sim::systems::Label' filename='x'><label>" label "</label></plugin></model>"

/* How far each shape reaches in a direction of its own frame, by its definition: the number is its label. */
static double outline_reach(uint32_t label, struct vec3 d)
{
	double across = hypot(d.x, d.y);
	switch (label) {
	case 1:
		return fabs(d.x) * 0.5 + fabs(d.y) + fabs(d.z) * 1.5;
	case 2:
		return 0.75;
	case 3:
		return sqrt(d.x * d.x * 0.25 + d.y * d.y + d.z * d.z * 2.25);
	case 4:
		return 0.5 * across + fabs(d.z) * 1.5;
	case 5:
		return 0.5 + fabs(d.z) * 1.5;
	case 6:
		return fmax(d.z * 1.5, 0.5 * across - d.z * 1.5);
	default:
		return -INFINITY;
	}
}

struct outlines {
	uint32_t seen[8];
	struct pose shape, model;
};

static void check_outline(
	void *ctx, struct rays_label label, struct pose model, const struct vec3 *points, uint32_t count)
{
	struct outlines *outlines = ctx;
	uint64_t dice = label.label;
	cr_assert(label.label >= 1 && label.label <= 6 && label.instance == 1);
	outlines->seen[label.label]++;
	cr_assert(vec3_length(vec3_sub(model.p, outlines->model.p)) < 1e-12 &&
		  fabs(model.q.w) == fabs(outlines->model.q.w));
	for (int i = 0; i < 200; i++) {
		double part[3];
		for (int k = 0; k < 3; k++)
			part[k] = (double)(hash_mix(dice, (uint64_t)(3 * i + k)) % 2001) / 1000 - 1;
		struct vec3 d = i < 6 ? (struct vec3){(i / 2 == 0) * (1 - i % 2 * 2), (i / 2 == 1) * (1 - i % 2 * 2),
						(i / 2 == 2) * (1 - i % 2 * 2)}
				      : vec3_from(part);
		d = vec3_scale(d, 1 / vec3_length(d));
		struct vec3 in_world = quat_rotate(outlines->shape.q, d);
		double reach = -INFINITY, wanted = outline_reach(label.label, d);
		for (uint32_t k = 0; k < count; k++)
			reach = fmax(reach, vec3_dot(in_world, vec3_sub(points[k], outlines->shape.p)));
		cr_assert(reach < wanted + 1e-9 && reach > wanted - 0.0076, "%u reaches %g along %g %g %g: expected %g",
			label.label, reach, d.x, d.y, d.z, wanted);
	}
}

/* Of one shape of each kind, turned and shifted three times: the points reach as far as the shape, in each direction.
 */
Test(picture, outlines_reach_as_far_as_their_shapes)
{
	struct picture_world w = picture_world_load(
		OUTLINED("1", "<box><size>1 2 3</size></box>") OUTLINED("2", "<sphere><radius>0.75</radius></sphere>")
			OUTLINED("3", "<ellipsoid><radii>0.5 1 1.5</radii></ellipsoid>")
				OUTLINED("4", "<cylinder><radius>0.5</radius><length>3</length></cylinder>") OUTLINED(
					"5", "<capsule><radius>0.5</radius><length>3</length></capsule>")
					OUTLINED("6", "<cone><radius>0.5</radius><length>3</length></cone>") MODEL(
						"none", "0 0 0 0 0 0", SHAPE("<sphere><radius>1</radius></sphere>")));
	struct pose link = {{1, 0, 2}, quat_from_rpy(0, 1, 0)}, visual = {{0.5, -1, 0}, quat_from_rpy(1, 0, 0.5)};
	struct outlines outlines = {.model = {{3, -2, 1}, quat_from_rpy(0.5, 0.6, 0.7)}};
	outlines.shape = pose_mul(pose_mul(outlines.model, link), visual);
	rays_outlines(w.rays, check_outline, &outlines);
	for (int i = 1; i <= 6; i++)
		cr_assert_eq(outlines.seen[i], 1, "%d", i);
	picture_world_drop(&w);
}

/* A wall hides exactly one half of a crate, one crate the middle of another, and the border of the picture cuts a ball
 * off. A crate behind all others is looked through to. */
Test(picture, how_much_of_a_model_is_visible)
{
	struct picture_world w = picture_world_load(LABELLED("half", "5 0 0 0 0 0", "1", "1 1 1") MODEL(
		"wall", "3 1 0 0 0 0", SHAPE("<box><size>0.1 2 4</size></box>")) LABELLED("behind", "9 0 0 0 0 0", "2",
		"1 3 1") LABELLED("whole", "4 -0.9 0.5 0 0 0", "3",
		"0.2 0.2 0.2") "<model name='ball'><static>1</static><pose>6 -4.2 0 0 0 0</pose><link name='l'><visual "
			       "name='v'>" SHAPE("<sphere><radius>0.75</radius></sphere>") "</visual></link><plugin "
											   "name='gz::sim::systems::"
											   "Label' "
											   "filename='l'><label>4</"
											   "label></plugin></model>");
	static struct vec3 directions[W * H];
	static uint32_t labels[W * H], instances[W * H];
	struct boxes_flat boxes[4];
	lens_directions(&usual, false, directions);
	picture_take(w.rays, &w.lights, &usual, directions, POSE_IDENTITY,
		&(struct picture){.labels = labels, .instances = instances});
	cr_assert_eq(boxes_find(labels, instances, W, H, boxes, 4), 4);
	boxes_measure(w.rays, &usual, directions, POSE_IDENTITY, boxes, 4);
	cr_assert_eq(2 * boxes[0].pixels, boxes[0].pixels_alone);
	cr_assert_eq(boxes[2].pixels, boxes[2].pixels_alone);
	/* pixels whose middles lie on the front of what is behind: y within 1.5 and z within 0.5 in 8.5 m */
	double f = W / 2.0 / tan(0.6);
	uint32_t wide = 2 * (uint32_t)floor(f * 1.5 / 8.5 + 0.5), high = 2 * (uint32_t)floor(f * 0.5 / 8.5 + 0.5);
	cr_assert_eq(boxes[1].pixels_alone, wide * high, "%u, not %u", boxes[1].pixels_alone, wide * high);
	/* seen to the right of the wall and of the first crate, which is y < -0.5 in 4.5 m */
	uint32_t hidden = (uint32_t)floor(f * 0.5 / 4.5 + 0.5);
	cr_assert_eq(boxes[1].pixels, (wide / 2 - hidden) * high, "%u", boxes[1].pixels);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(boxes[i].truncated, 0);
	double at = atan2(4.2, 6), radius = asin(0.75 / hypot(4.2, 6)), left = f * tan(at - radius),
	       right = f * tan(at + radius), beyond = (right - W / 2.0) / (right - left);
	cr_assert(beyond > 0.2 && beyond < 0.9);
	cr_assert_float_eq(boxes[3].truncated, beyond, 0.005, "%g, not %g", boxes[3].truncated, beyond);
	picture_world_drop(&w);
}

Test(picture, the_frustum_of_a_logical_camera)
{
	struct sdf_logical_camera camera = {1, 10, 2, M_PI / 2};
	struct pose pose = {{5, 0, 1}, quat_from_rpy(0, 0, M_PI / 2)}; /* along y */
	cr_assert(measure_frustum_holds(&camera, pose, (struct vec3){5, 2, 1}));
	cr_assert(measure_frustum_holds(&camera, pose, (struct vec3){6.9, 2, 1.9}));
	cr_assert(!measure_frustum_holds(&camera, pose, (struct vec3){7.1, 2, 1}));
	cr_assert(!measure_frustum_holds(&camera, pose, (struct vec3){5, 2, 2.1}));
	cr_assert(!measure_frustum_holds(&camera, pose, (struct vec3){5, 0.9, 1}));
	cr_assert(!measure_frustum_holds(&camera, pose, (struct vec3){5, 10.1, 1}));
	cr_assert(!measure_frustum_holds(&camera, pose, (struct vec3){5, -2, 1}));
}

/* A picture that is kept: whatever changes a pixel must say why. */
Test(picture, a_kept_picture)
{
	struct picture_world w = picture_world_load(
		"<scene><ambient>0.3 0.3 0.35 1</ambient><background>0.6 0.8 1 1</background></scene><light name='sun' "
		"type='directional'><cast_shadows>1</cast_shadows><direction>-0.4 0.3 -0.9</direction></light><light "
		"name='lamp' type='spot'><pose>1 1 4 0 0 0</pose><diffuse>1 0.9 0.5 1</diffuse><direction>0.5 -0.2 "
		"-1</direction><spot><inner_angle>0.6</inner_angle><outer_angle>1.1</outer_angle><falloff>1</falloff></"
		"spot></light>" MODEL("ground", "0 0 0 0 0 0", SHAPE("<plane><size>40 40</size></plane>")) MODEL(
			"box", "4 1 0.5 0 0 0.4", SHAPE("<box><size>1 1 1</size></box>") COLOURS("0.9")) MODEL("ball",
			"3 -0.5 0.4 0 0 0",
			SHAPE("<sphere><radius>0.4</radius></sphere>") "<material><ambient>0.1 0.1 0.6 "
								       "1</ambient><diffuse>0.2 0.2 0.9 "
								       "1</diffuse><specular>1 1 1 "
								       "1</specular><shininess>20</shininess></"
								       "material>") MODEL("can", "5 -1.5 0.6 0 0 0",
			SHAPE("<cylinder><radius>0.3</radius><length>1.2</length></cylinder>")) MODEL("cone",
			"6 0 0.7 0 0 0", SHAPE("<cone><radius>0.6</radius><length>1.4</length></cone>") COLOURS("0.4"))
			MODEL("glass", "2.2 0.6 0.5 0 0 0",
				"<transparency>0.6</transparency>" SHAPE(
					"<capsule><radius>0.2</radius><length>0.6</length></capsule>") COLOURS("0.1")));
	static struct vec3 directions[W * H];
	static float colour[3 * W * H];
	uint64_t hash = 1;
	lens_directions(&usual, false, directions);
	picture_take(w.rays, &w.lights, &usual, directions, (struct pose){{0, 0, 1.2}, quat_from_rpy(0, 0.2, 0)},
		&(struct picture){.colour = colour});
	for (uint32_t i = 0; i < 3 * W * H; i++)
		hash = hash_mix(hash, (uint64_t)((double)colour[i] * 255 + 0.5));
	const char *path = getenv("TROUPE_PICTURE"); /* to look at it */
	if (path) {
		FILE *out = fopen(path, "w");
		fprintf(out, "P6 %d %d 255\n", W, H);
		for (uint32_t i = 0; i < 3 * W * H; i++)
			fputc((int)((double)colour[i] * 255 + 0.5), out);
		fclose(out);
	}
	cr_assert_eq(hash, UINT64_C(0xd0e06379e9319b2d), "%#llx", (unsigned long long)hash);
	picture_world_drop(&w);
}
