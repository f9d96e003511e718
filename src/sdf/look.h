/* Constant descriptions of what can be seen: materials, lights, the scene around, and the place on earth.
 *
 * Format and defaults: sdformat.org/spec, <visual>, <material>, <light>, <scene>, <spherical_coordinates>,
 * <magnetic_field> and <atmosphere> of SDF 1.6 to 1.12. Beside a field stands its default. A value that is not
 * physical is refused with file:line; a colour above 1 is taken as 1, with a warning.
 *
 * Ownership: struct sdf. Units: metres, radians unless a name ends in _deg. */
#ifndef SDF_LOOK_H
#define SDF_LOOK_H

#include "base/text.h"
#include "geom/geom.h"
#include "mesh/material.h"

struct sdf_element;
struct texture;

struct sdf_colour {
	double r, g, b, a; /* 0 .. 1; a, the opacity, is 1 if the file gives three numbers */
};

/* <pbr>: names of files as written, NULL: none */
struct sdf_pbr {
	bool specular;               /* the workflow: <specular>; false: <metal> */
	double roughness, metalness; /* metal, 0.5 */
	double glossiness;           /* specular, 0 */
	const char *albedo_map, *roughness_map, *metalness_map, *environment_map, *ambient_occlusion_map, *normal_map,
		*emissive_map, *light_map, *specular_map, *glossiness_map;
	const char *paths[MESH_MAPS]; /* the local files that the maps mean; NULL: none was found */
};

struct sdf_material {
	struct sdf_colour ambient, diffuse, specular, emissive; /* 0 0 0 1, or those of the <script> (sdf/paint.h) */
	bool ambient_given, diffuse_given;    /* by the file or its script; an albedo map makes both white */
	double shininess;                     /* 0 */
	double render_order;                  /* 0 */
	bool lighting;                        /* true */
	bool double_sided;                    /* false */
	const char *script_uri, *script_name; /* NULL: none */
	const char *shader, *normal_map;      /* shader: "pixel" and so on; NULL: none */
	const struct sdf_pbr *pbr;            /* NULL: none */
};

/* The textures of a material; a surface has those of which it has texture coordinates. */
struct sdf_maps {
	const struct texture *map[MESH_MAPS]; /* NULL: none */
	unsigned char channel[MESH_MAPS];     /* of roughness and metalness: which of the texture's colours */
	bool scaled; /* roughness and metalness of the material multiply the map; else the map takes their place */
	enum mesh_alpha alpha;
	double cutoff;
};

/* The local files of the <texture>s of a heightmap; NULL: none was found. */
enum { SDF_GROUND_LAYERS_MAX = 16 };
struct sdf_ground_paths {
	uint32_t count;
	const char *diffuse[SDF_GROUND_LAYERS_MAX], *normal[SDF_GROUND_LAYERS_MAX];
};

/* The <texture>s of a heightmap, which lie one over the other: each from its <blend> on, which fades it in from
 * min_height to min_height + fade_dist above the lowest height that the heightmap can have. A texture repeats itself
 * every `size_m`, from the least x and the greatest y on. */
struct sdf_ground {
	uint32_t count;
	struct sdf_ground_layer {
		const struct texture *diffuse, *normal; /* NULL: none was found: white, and flat */
		double size_m;                          /* 10 */
		double from_m, fade_m;                  /* of the <blend>; not of the first layer */
	} layers[SDF_GROUND_LAYERS_MAX];
};

enum { SDF_LABEL_MAX = 255 }; /* messages have a byte for a label */

/* Whether a plug-in is Gazebo's Label; NULL: not given. */
bool sdf_is_label(const char *name, const char *filename);
/* The label that such a <plugin> gives; 0: none, or a wrong one. */
uint32_t sdf_label(const struct sdf_element *plugin);

#define SDF_TEMPERATURE_MAX 1e5

/* <heat_signature> of the plug-in Thermal of a visual: red of the picture is from min_K (0) to max_K (1), the lower and
 * the higher of the two that are given. */
struct sdf_heat {
	const struct texture *texture;
	double min_K, max_K; /* NAN: the temperature of the air */
};

/* Whether a plug-in is Gazebo's Thermal; NULL: not given. */
bool sdf_is_thermal(const char *name, const char *filename);
/* The temperature that such a <plugin> gives, in K; 0: none. */
double sdf_temperature_K(const struct sdf_element *plugin);

enum sdf_light_kind { SDF_POINT_LIGHT, SDF_DIRECTIONAL_LIGHT, SDF_SPOT_LIGHT };

struct sdf_shine { /* the parameters of a <light> */
	enum sdf_light_kind kind;
	bool cast_shadows;                           /* false */
	bool on;                                     /* light_on, true */
	bool visualize;                              /* true */
	double intensity;                            /* 1 */
	struct sdf_colour diffuse, specular;         /* 1 1 1 1 and 0.1 0.1 0.1 1 */
	double range_m, constant, linear, quadratic; /* <attenuation>, 10 1 1 0 */
	struct vec3 direction;                       /* 0 0 -1, in the light's frame, as written */
	double inner_rad, outer_rad, falloff;        /* <spot>, 0 */
};

#define SDF_SHINE_DEFAULT                                                                                              \
	((struct sdf_shine){.on = true,                                                                                \
		.visualize = true,                                                                                     \
		.intensity = 1,                                                                                        \
		.diffuse = {1, 1, 1, 1},                                                                               \
		.specular = {0.1, 0.1, 0.1, 1},                                                                        \
		.range_m = 10,                                                                                         \
		.constant = 1,                                                                                         \
		.linear = 1,                                                                                           \
		.direction = {0, 0, -1}})

enum sdf_fog_kind { SDF_FOG_NONE, SDF_FOG_CONSTANT, SDF_FOG_LINEAR, SDF_FOG_QUADRATIC };

struct sdf_sky {
	double time_h, sunrise_h, sunset_h;                                  /* 10 6 20, hours of the day */
	double cloud_speed, cloud_direction_rad, cloud_humidity, cloud_size; /* 0.6 m/s, 0, 0.5, 0.5 */
	struct sdf_colour cloud_ambient;                                     /* 0.8 0.8 0.8 1 */
	bool clouds;                                                         /* <clouds> is given */
	const char *cubemap_uri;                                             /* NULL: none */
	const char *cubemap_path; /* the local file that it means; NULL: none was found */
	const struct sdf_element *element;
};

struct sdf_fog {
	enum sdf_fog_kind kind;
	struct sdf_colour colour;       /* 1 1 1 1 */
	double start_m, end_m, density; /* 1 100 1 */
};

struct sdf_scene {
	struct sdf_colour ambient, background; /* 0.4 0.4 0.4 1 and 0.7 0.7 0.7 1 */
	bool shadows, grid, origin_visual;     /* true */
	const struct sdf_sky *sky;             /* NULL: none */
	const struct texture *sky_cube;        /* of its cube map (mesh/cube.h); NULL: none, or not read */
	const struct sdf_fog *fog;             /* NULL: none */
};

/* the axes of EARTH_WGS84, m */
#define SDF_WGS84_EQUATORIAL_M 6378137.0
#define SDF_WGS84_POLAR_M 6356752.314245

enum sdf_surface_model { SDF_EARTH_WGS84, SDF_MOON_SCS, SDF_CUSTOM_SURFACE };

struct sdf_earth { /* <spherical_coordinates>: the place of the world's origin; the world's axes are east, north, up */
	bool given;
	enum sdf_surface_model model;
	double equatorial_m, polar_m; /* axes of the surface; for a custom one as in the file */
	double latitude_deg, longitude_deg, elevation_m, heading_deg; /* 0 */
};

struct sdf_air {                     /* <atmosphere type="adiabatic"> at sea level */
	double temperature_K;        /* 288.15 */
	double temperature_gradient; /* K/m, -0.0065 */
	double pressure_Pa;          /* 101325 */
};

/* The surroundings of the models, as the world describes them. */
struct sdf_surroundings {
	struct sdf_scene scene;
	struct sdf_earth earth;
	struct vec3 magnetic_field; /* T, 5.5645e-6 22.8758e-6 -42.3884e-6 */
	struct sdf_air air;
};

#endif
