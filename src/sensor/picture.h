/* Pictures without noise: depth, colour and segments of what a camera sees. There is one ray for each pixel, which the
 * lens gives (lens.h). Textures are filtered (mesh/texture.h). Of a camera whose file asks for it, pixels at the edges
 * of visuals and of their sides take the mean of 2, 4 or 8 rays (<anti_aliasing>).
 *
 * Colours are numbers from 0 to 1 as files have them, without gamma. The material is that of the visual, else the one
 * that the mesh file gives this part; else the visual is grey. An albedo map multiplies ambient and diffuse colour, an
 * emissive map the emissive colour (of a material without one it takes its place), and a normal map turns the normal.
 * A light adds, divided by its attenuation,
 *   diffuse * N.L + specular * (N.H)^shininess                       (Blinn), or, with <pbr><metal> or glTF,
 *   (1 - metalness) * diffuse * N.L + pi * D * V * F * N.L * its specular colour
 * with D of GGX for alpha = roughness^2, V of Smith, and F of Schlick from 0.04, or from the diffuse colour of metal. A
 * light and a scene that cast shadows have hard ones. A visual is as opaque as (1 - transparency) * the alpha of its
 * diffuse colour * that of its albedo map; at most PICTURE_LAYERS visuals are seen one behind the other.
 *
 * Behind them is the sky, or else the background. The sky is a gradient from the horizon (0.75 0.85 0.95) to the zenith
 * (0.25 0.45 0.85), by the sine of the elevation, times 0.05 at night and 0.05 + 0.95 min(4 sin(pi (time - sunrise) /
 * (sunset - sunrise)), 1) by day. A cube map (mesh/cube.h) takes its place. <clouds> lie before it in a plane 1000 m
 * above the camera: the part of the sky that one hides is smooth(T - 0.08, T + 0.12, sum of V(2^o p) / 2^(o+1), o = 0
 * .. 4) smooth(0.02, 0.25, elevation's sine) with T = 0.8 - 0.6 humidity, V smooth noise of random numbers at whole
 * numbers, p the place in the plane in units of (200 + 1600 mean_size) m, less the way that they have drifted: speed *
 * time in the direction; smooth(a, b, x) = t^2 (3 - 2 t), t = (x - a) / (b - a) in 0 .. 1. Their colour is <ambient>
 * times the same light. Fog takes a part of the colour of a visual in the distance r from the camera: density * t^n, at
 * most 1, with t = (r - start) / (end - start) in 0 .. 1 and n = 1 (linear) or 2 (quadratic), or density from start on
 * (constant); of the background, too, but not of the sky.
 *
 * Thread: as rays_cast(). Units: metres. */
#ifndef SENSOR_PICTURE_H
#define SENSOR_PICTURE_H

#include "sensor/lights.h"
#include "sensor/rays.h"
#include "sensor/scan.h"

enum { PICTURE_LAYERS = 8 };

/* How a picture is taken while things move. It ends at state k: the row r of H is read (H - 1 - r) / H * readout_s
 * before, and what it shows is from exposure_s before that until then. The camera was where its path says, all of a row
 * at one place; what it sees is where rays_cast_swept() says, and its own model moves as one with it. Light and shadow
 * are those of state k. The colour is the mean of several times, in the middle of equal parts of the exposure: of
 * `samples`, or, if that is 0, of f (turn + way / 2 m), at least 4 and at most 16, where f is the width in pixels by
 * the field of view, and turn (rad) and way (m) are those of the camera in the exposure that ends the picture. All else
 * is from the middle of the exposure. Where neither the camera nor any visual moves the bits are those of a picture
 * without motion. */
struct picture_motion {
	const struct scan_path *path; /* of the camera, for readout_s + exposure_s */
	uint32_t model;               /* that of the camera */
	double readout_s, exposure_s;
	uint32_t samples;
};
enum { PICTURE_TIMES_MIN = 4, PICTURE_TIMES_MAX = 16 };
/* Flow: how far what a pixel shows has moved in the picture since another one was taken, in pixels to the right and
 * down: the place of the point now less its place then. The point moves with its body, which has moved with the
 * velocity of state `now` as in rays_cast_swept(); what lies behind all visuals is infinitely far away. NAN: a pixel
 * that shows nothing, and where the point was not before the camera. */
struct picture_past {
	const struct state *state;
	const struct scan_path *path; /* of the camera, for the duration of a reading and ago_s */
	double ago_s;                 /* 0: there is none before, and flow is 0 */
	uint32_t body;                /* that carries the camera, and does not move in the picture; SCENE_NONE: none */
	bool wide;                    /* the camera's lens is that of a wide_angle_camera */
};

/* One value for each pixel, of the whole picture or of `count` pixels in a row from `first` on; NULL: not wanted. */
struct picture {
	/* Along the axis of the camera: -INFINITY nearer than depth_near_m, INFINITY beyond depth_far_m. */
	float *depth;
	float *colour; /* r, g, b from 0 to 1; of what lies between near_m and far_m */
	/* Of the first visual between near_m and far_m: the label (struct rays_label), and a number of its model among
	 * the models of this label, from 1. 0: no label. */
	uint32_t *labels, *instances;
	uint16_t *heat; /* the temperature of the first visual between near_m and far_m, in heat_step_K of the camera */
	/* x, y, z: the unit normal of the first visual between near_m and far_m, in the frame of the camera's optics: x
	 * to the right, y down, z ahead; towards the camera. Normal maps do not count. 0 0 0: there is none. */
	float *normals;
	float *flow;                         /* two numbers; of the first visual between near_m and far_m */
	const struct picture_past *past;     /* of flow */
	double time_s;                       /* of state k: clouds drift */
	double air_K;                        /* heat: of visuals that have none, and of what lies behind all of them */
	uint32_t first, count;               /* count 0: all pixels */
	const struct picture_motion *motion; /* NULL: all is taken at once, in state k */
};

/* directions: of all pixels, as lens_directions() gives them. What a pixel shows does not depend on which pixels are
 * taken together. */
void picture_take(const struct rays *rays, const struct lights *lights, const struct sdf_camera *camera,
	const struct vec3 *directions, struct pose pose, const struct picture *picture);

#endif
