/* The visible parts of a world: materials, lights, and the surroundings of the models. Numbers, defaults and names are
 * those of SDF (<material>, <light>, <scene>). Colours are red, green, blue, alpha, each 0 .. 1. Names of files are as
 * written in the world's file; NULL: none. */
#ifndef TROUPE_LOOK_H
#define TROUPE_LOOK_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_pbr {    /* <pbr> */
	bool specular; /* the workflow <specular>; otherwise <metal> */
	double roughness, metalness, glossiness;
	const char *albedo_map, *roughness_map, *metalness_map, *environment_map, *ambient_occlusion_map, *normal_map,
		*emissive_map, *light_map, *specular_map, *glossiness_map;
	/* the local files that they mean; NULL: none was found */
	const char *albedo_path, *normal_path, *roughness_path, *metalness_path, *emissive_path;
};

struct troupe_material {
	float ambient[4], diffuse[4], specular[4], emissive[4];
	double shininess, render_order;
	bool lighting, double_sided;
	const char *script_uri, *script_name;
	const char *shader, *normal_map; /* shader: vertex, pixel, normal_map_object_space, normal_map_tangent_space */
	const struct troupe_pbr *pbr;    /* NULL: none */
};

typedef enum troupe_light_kind {
	TROUPE_LIGHT_POINT,
	TROUPE_LIGHT_DIRECTIONAL,
	TROUPE_LIGHT_SPOT,
} troupe_light_kind;

struct troupe_light {
	troupe_light_kind kind;
	bool on, cast_shadows, visualize;
	double intensity;
	float diffuse[4], specular[4];
	double range_m, constant, linear, quadratic; /* attenuation */
	double direction[3];                         /* in the light's frame */
	double inner_rad, outer_rad, falloff;        /* of a spot */
};

struct troupe_sky {
	double time_h, sunrise_h, sunset_h; /* hours of the day */
	double cloud_speed, cloud_direction_rad, cloud_humidity, cloud_size;
	float cloud_ambient[4];
	const char *cubemap_uri;
	bool clouds;              /* <clouds> is given */
	const char *cubemap_path; /* the local file that cubemap_uri means; NULL: none was found */
};

/* The textures of a heightmap, one over the other: each from from_m above the lowest height that the heightmap can
 * have, fading in over fade_m; not of the first one. A texture repeats itself every size_m, from the least x and the
 * greatest y on. */
struct troupe_ground_layer {
	const char *diffuse_path, *normal_path; /* local files; NULL: none was found */
	double size_m, from_m, fade_m;
};

typedef enum troupe_fog_kind {
	TROUPE_FOG_NONE,
	TROUPE_FOG_CONSTANT,
	TROUPE_FOG_LINEAR,
	TROUPE_FOG_QUADRATIC,
} troupe_fog_kind;

struct troupe_fog {
	troupe_fog_kind kind;
	float colour[4];
	double start_m, end_m, density;
};

struct troupe_surroundings {
	float ambient[4], background[4];
	bool shadows, grid, origin_visual;
	const struct troupe_sky *sky; /* NULL: none */
	const struct troupe_fog *fog; /* NULL: none */
};

#ifdef __cplusplus
}
#endif
#endif
