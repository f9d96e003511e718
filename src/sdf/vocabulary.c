/* The elements of SDF 1.12 and of earlier versions, if they had a meaning there. The contents of plug-ins, shapes,
 * actors and of worlds' gui are not in the table: only their readers know them. Sensors are ignored as a whole
 * (system/ignored.h); the elements that are read from a sensor count as used, so that a misspelt one is found. <wind>
 * and <enable_wind> are for systems such as WindEffects, as in Gazebo. */
#include "sdf/vocabulary.h"

#include "base/map.h"
#include "sdf/xml.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* sdf/lidar.c finds those beside them that begin with "troupe:" */
#define LIDAR_WORDS WORDS("scan", "range", "noise", "visibility_mask")

#define JOINT_PHYSICS "joint/physics" /* the <physics> of a joint has another <ode> than that of a world */

struct vocabulary_entry {
	const char *around, *name; /* around NULL: anything */
	const char *const *used;
	const char *const *idle;  /* ignored */
	const char *const *aside; /* ignored, and no motion depends on it */
};

static const struct vocabulary_entry vocabulary_table[] = {
	{NULL, "sdf", WORDS("world", "model", "light", "actor"), NULL, NULL},
	{NULL, "world",
		WORDS("rmf_charger_waypoints", "include", "gravity", "physics", "light", "frame", "model", "actor",
			"joint", "plugin", "pose", "wind", "magnetic_field", "atmosphere", "scene",
			"spherical_coordinates", "gui"),
		WORDS("state", "population"), WORDS("audio", "road")},
	{"world", "atmosphere", WORDS("temperature", "temperature_gradient", "pressure"), NULL, NULL},
	{"world", "scene", WORDS("ambient", "background", "shadows", "grid", "sky", "fog"), NULL,
		WORDS("origin_visual")},
	{"scene", "fog", WORDS("color", "type", "start", "end", "density"), NULL, NULL},
	{"scene", "sky", WORDS("time", "sunrise", "sunset", "clouds", "cubemap_uri"), NULL, NULL},
	{"sky", "clouds", WORDS("speed", "direction", "humidity", "mean_size", "ambient"), NULL, NULL},
	{"world", "spherical_coordinates",
		WORDS("surface_model", "surface_axis_equatorial", "surface_axis_polar", "world_frame_orientation",
			"latitude_deg", "longitude_deg", "elevation", "heading_deg"),
		NULL, NULL},
	{"world", "wind", WORDS("linear_velocity"), NULL, NULL},
	{"world", "physics", WORDS("max_step_size", "real_time_factor", "gravity", "ode"),
		WORDS("max_contacts", "dart", "simbody", "bullet"), WORDS("real_time_update_rate", "magnetic_field")},
	{"physics", "ode", WORDS("solver", "constraints"), NULL, NULL},
	{"ode", "solver", WORDS("type", "iters", "sor"),
		WORDS("min_step_size", "precon_iters", "use_dynamic_moi_rescaling", "friction_model"),
		WORDS("island_threads", "thread_position_correction")},
	{"ode", "constraints", WORDS("cfm", "erp", "contact_max_correcting_vel", "contact_surface_layer"), NULL, NULL},
	{NULL, "model",
		WORDS("static", "self_collide", "allow_auto_disable", "include", "frame", "pose", "link", "joint",
			"plugin", "model", "enable_wind"),
		WORDS("gripper", "model_state"), NULL},
	{NULL, "link",
		WORDS("gravity", "self_collide", "kinematic", "pose", "inertial", "velocity_decay", "collision",
			"visual", "sensor", "light", "plugin", "frame", "enable_wind"),
		WORDS("must_be_base_link", "battery"),
		WORDS("projector", "audio_sink", "audio_source", "particle_emitter")},
	{NULL, "velocity_decay", WORDS("linear", "angular"), NULL, NULL},
	{NULL, "inertial", WORDS("pose", "mass", "inertia", "density", "fluid_added_mass"),
		WORDS("auto_inertia_params", "frame"), NULL},
	{"inertial", "fluid_added_mass",
		WORDS("xx", "xy", "xz", "xp", "xq", "xr", "yy", "yz", "yp", "yq", "yr", "zz", "zp", "zq", "zr", "pp",
			"pq", "pr", "qq", "qr", "rr"),
		NULL, NULL},
	{NULL, "inertia", WORDS("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), NULL, NULL},
	{NULL, "collision", WORDS("pose", "geometry", "surface", "max_contacts", "density"),
		WORDS("auto_inertia_params", "frame"), WORDS("laser_retro")},
	{"collision", "surface", WORDS("bounce", "friction", "contact"), WORDS("soft_contact"), NULL},
	{NULL, "bounce", WORDS("restitution_coefficient", "threshold"), NULL, NULL},
	{NULL, "friction", WORDS("ode", "bullet", "torsional"), NULL, NULL},
	{"friction", "torsional", WORDS("coefficient", "patch_radius"),
		WORDS("use_patch_radius", "surface_radius", "ode"), NULL},
	{"friction", "ode", WORDS("mu", "mu2", "fdir1", "slip1", "slip2"), NULL, NULL},
	{"friction", "bullet", WORDS("friction", "friction2", "fdir1", "rolling_friction"), NULL, NULL},
	{"surface", "contact", WORDS("ode", "collide_bitmask", "category_bitmask"),
		WORDS("collide_without_contact", "collide_without_contact_bitmask", "poissons_ratio", "elastic_modulus",
			"bullet"),
		NULL},
	{"contact", "ode", WORDS("kp", "kd", "max_vel", "min_depth", "soft_cfm", "soft_erp"), NULL, NULL},
	{NULL, "joint",
		WORDS("parent", "child", "gearbox_ratio", "gearbox_reference_body", "thread_pitch",
			"screw_thread_pitch", "axis", "axis2", "sensor", "pose", "frame", "physics"),
		NULL, NULL},
	{"joint", "physics", WORDS("ode", "provide_feedback"), WORDS("simbody"), NULL},
	{JOINT_PHYSICS, "ode",
		WORDS("limit", "max_force", "velocity", "erp", "cfm", "cfm_damping", "implicit_spring_damper"),
		WORDS("fudge_factor", "bounce", "suspension"), NULL},
	{"ode", "limit", WORDS("erp", "cfm"), NULL, NULL},
	{NULL, "axis", WORDS("xyz", "dynamics", "limit", "use_parent_model_frame", "mimic", "initial_position"), NULL,
		NULL},
	{NULL, "axis2", WORDS("xyz", "dynamics", "limit", "use_parent_model_frame", "mimic", "initial_position"), NULL,
		NULL},
	{NULL, "mimic", WORDS("multiplier", "offset", "reference"), NULL, NULL},
	{NULL, "dynamics", WORDS("damping", "friction", "spring_reference", "spring_stiffness"), NULL, NULL},
	{NULL, "limit", WORDS("lower", "upper", "effort", "velocity", "stiffness", "dissipation"), NULL, NULL},
	{NULL, "frame", WORDS("pose"), NULL, NULL},
	{NULL, "visual",
		WORDS("pose", "geometry", "material", "cast_shadows", "transparency", "laser_retro", "visibility_flags",
			"meta", "plugin", "frame"),
		NULL, NULL},
	{"visual", "meta", WORDS("layer"), NULL, NULL},
	{NULL, "material",
		WORDS("ambient", "diffuse", "specular", "emissive", "shininess", "render_order", "lighting",
			"double_sided", "script", "shader", "pbr"),
		NULL, NULL},
	{"material", "script", WORDS("uri", "name"), NULL, NULL},
	{"material", "shader", WORDS("normal_map"), NULL, NULL},
	{"material", "pbr", WORDS("metal", "specular"), NULL, NULL},
	{"pbr", "metal",
		WORDS("albedo_map", "roughness_map", "roughness", "metalness_map", "metalness", "environment_map",
			"ambient_occlusion_map", "normal_map", "emissive_map", "light_map"),
		NULL, NULL},
	{"pbr", "specular",
		WORDS("albedo_map", "specular_map", "glossiness_map", "glossiness", "environment_map",
			"ambient_occlusion_map", "normal_map", "emissive_map", "light_map"),
		NULL, NULL},
	{NULL, "light",
		WORDS("pose", "cast_shadows", "light_on", "visualize", "intensity", "diffuse", "specular",
			"attenuation", "direction", "spot", "frame", "plugin"),
		NULL, NULL},
	{"light", "attenuation", WORDS("range", "constant", "linear", "quadratic"), NULL, NULL},
	{"light", "spot", WORDS("inner_angle", "outer_angle", "falloff"), NULL, NULL},
	{NULL, "sensor",
		WORDS("always_on", "update_rate", "visualize", "topic", "enable_metrics", "frame_id", "gz_frame_id",
			"ignition_frame_id", "pose", "plugin", "air_pressure", "air_speed", "altimeter", "camera",
			"contact", "force_torque", "gps", "imu", "lidar", "logical_camera", "magnetometer", "navsat",
			"ray", "gpu_lidar", "gpu_ray", "rfid", "rfidtag", "sonar", "transceiver", "frame"),
		NULL, NULL},
	{"sensor", "air_pressure", WORDS("reference_altitude", "pressure"), NULL, NULL},
	{"sensor", "air_speed", WORDS("pressure"), NULL, NULL},
	{"sensor", "altimeter", WORDS("vertical_position", "vertical_velocity"), NULL, NULL},
	{"sensor", "camera",
		WORDS("triggered", "camera_info_topic", "trigger_topic", "horizontal_fov", "image", "clip", "save",
			"depth_camera", "segmentation_type", "box_type", "noise", "distortion", "lens",
			"visibility_mask", "optical_frame_id", "pose", "frame"),
		NULL, NULL},
	{"camera", "image", WORDS("width", "height", "format", "anti_aliasing"), NULL, NULL},
	{NULL, "clip", WORDS("near", "far"), NULL, NULL},
	{"camera", "save", WORDS("path"), NULL, NULL},
	{"camera", "depth_camera", WORDS("output", "clip"), NULL, NULL},
	{"camera", "distortion", WORDS("k1", "k2", "k3", "p1", "p2", "center"), NULL, NULL},
	{"camera", "lens",
		WORDS("type", "scale_to_hfov", "custom_function", "cutoff_angle", "env_texture_size", "intrinsics",
			"projection"),
		NULL, NULL},
	{"lens", "custom_function", WORDS("c1", "c2", "c3", "f", "fun"), NULL, NULL},
	{"lens", "intrinsics", WORDS("fx", "fy", "cx", "cy", "s"), NULL, NULL},
	{"lens", "projection", WORDS("p_fx", "p_fy", "p_cx", "p_cy", "tx", "ty"), NULL, NULL},
	{"sensor", "contact", WORDS("collision", "topic"), NULL, NULL},
	{"sensor", "force_torque", WORDS("frame", "measure_direction", "force", "torque"), NULL, NULL},
	{"sensor", "gps", WORDS("position_sensing", "velocity_sensing"), NULL, NULL},
	{"sensor", "navsat", WORDS("position_sensing", "velocity_sensing"), NULL, NULL},
	{NULL, "position_sensing", WORDS("horizontal", "vertical"), NULL, NULL},
	{NULL, "velocity_sensing", WORDS("horizontal", "vertical"), NULL, NULL},
	{"sensor", "imu",
		WORDS("orientation_reference_frame", "angular_velocity", "linear_acceleration", "orientation",
			"enable_orientation"),
		WORDS("noise", "topic"), NULL},
	{"imu", "orientation_reference_frame", WORDS("localization", "custom_rpy", "grav_dir_x"), NULL, NULL},
	{"sensor", "lidar", LIDAR_WORDS, NULL, NULL},
	{"sensor", "ray", LIDAR_WORDS, NULL, NULL},
	{"sensor", "gpu_lidar", LIDAR_WORDS, NULL, NULL},
	{"sensor", "gpu_ray", LIDAR_WORDS, NULL, NULL},
	{NULL, "scan", WORDS("horizontal", "vertical"), NULL, NULL},
	{"scan", "horizontal", WORDS("samples", "resolution", "min_angle", "max_angle"), NULL, NULL},
	{"scan", "vertical", WORDS("samples", "resolution", "min_angle", "max_angle"), NULL, NULL},
	{"sensor", "logical_camera", WORDS("near", "far", "aspect_ratio", "horizontal_fov"), NULL, NULL},
	{"sensor", "magnetometer", WORDS("x", "y", "z"), NULL, NULL},
	{"sensor", "sonar", WORDS("geometry", "min", "max", "radius"), NULL, NULL},
	{"sensor", "transceiver",
		WORDS("essid", "frequency", "min_frequency", "max_frequency", "gain", "power", "sensitivity"), NULL,
		NULL},
	{NULL, "noise",
		WORDS("type", "mean", "stddev", "bias_mean", "bias_stddev", "dynamic_bias_stddev",
			"dynamic_bias_correlation_time", "precision"),
		NULL, NULL},
	{NULL, "range", WORDS("min", "max", "resolution"), NULL, NULL},
	{NULL, "include", WORDS("uri", "name", "pose", "static", "placement_frame", "plugin"), WORDS("model_state"),
		NULL},
};

/* The elements that may stand in an element `name` inside of an element `around` ("" if that does not matter). NULL:
 * the table does not say. */
static const struct vocabulary_entry *vocabulary_find(const char *around, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(vocabulary_table); i++)
		if (!strcmp(vocabulary_table[i].name, name) &&
			(!vocabulary_table[i].around || !strcmp(vocabulary_table[i].around, around)))
			return &vocabulary_table[i];
	return NULL;
}

static bool vocabulary_is_one_of(const char *const *words, const char *name)
{
	for (; words && *words; words++)
		if (!strcmp(*words, name))
			return true;
	return false;
}

static enum vocabulary_word vocabulary_look(const struct vocabulary_entry *entry, const char *name)
{
	if (vocabulary_is_one_of(entry->used, name))
		return VOCABULARY_USED;
	if (vocabulary_is_one_of(entry->idle, name))
		return VOCABULARY_IDLE;
	if (vocabulary_is_one_of(entry->aside, name))
		return VOCABULARY_ASIDE;
	return strchr(name, ':') ? VOCABULARY_FOREIGN : VOCABULARY_UNKNOWN;
}

/* --- what is ignored ---------------------------------------------------------------------------------------------- */

struct vocabulary_listing {
	VEC(struct sdf_ignored) all;
	struct map index;   /* "around/name" -> index in all */
	struct arena arena; /* the map's keys */
	bool unread;        /* the file could not be read as SDF: its own elements are walked */
};

static void vocabulary_count(struct vocabulary_listing *listing, const struct sdf_element *around,
	const struct sdf_element *element, enum vocabulary_word word)
{
	uint32_t index;
	if (listing->unread && word != VOCABULARY_UNKNOWN)
		return;
	const char *key = arena_printf(&listing->arena, "%.100s/%.100s", around->name, element->name);
	if (map_find(&listing->index, key, &index)) {
		listing->all.at[index].count++;
		return;
	}
	if (listing->all.count == SDF_IGNORED_MAX)
		return;
	map_add(&listing->index, key, listing->all.count);
	vec_push(&listing->all, (struct sdf_ignored){.parent = around->name,
					.name = element->name,
					.first = element,
					.count = 1,
					.known = word != VOCABULARY_UNKNOWN,
					.aside = word == VOCABULARY_ASIDE});
}

/* Walks as deep as the table goes. The models of a file that was read are walked one by one, as the loader left them.
 */
static void vocabulary_walk(struct vocabulary_listing *listing, const char *around, const struct sdf_element *element)
{
	const struct vocabulary_entry *entry = vocabulary_find(around, element->name);
	bool joint_physics = !strcmp(around, "joint") && xml_is(element, "physics");
	for (const struct sdf_element *child = entry ? element->child : NULL; child; child = child->next) {
		enum vocabulary_word word = vocabulary_look(entry, child->name);
		bool apart = !listing->unread && (xml_is(child, "model") || xml_is(child, "world"));
		if (word == VOCABULARY_USED && child->child && !apart)
			vocabulary_walk(listing, joint_physics ? JOINT_PHYSICS : element->name, child);
		else if (word != VOCABULARY_USED && word != VOCABULARY_FOREIGN)
			vocabulary_count(listing, element, child, word);
	}
}

struct sdf_ignored *sdf_list_ignored(const struct sdf *sdf, uint32_t *ret_count)
{
	struct vocabulary_listing listing = {.unread = !sdf->worlds.count};
	if (sdf->root)
		vocabulary_walk(&listing, "", sdf->root);
	for (uint32_t w = 0; w < sdf->worlds.count; w++) {
		const struct sdf_world *world = &sdf->worlds.at[w];
		if (world->element)
			vocabulary_walk(&listing, "", world->element);
		for (uint32_t i = 0; i < world->models.count; i++)
			vocabulary_walk(&listing, "", world->models.at[i].element);
	}
	map_fini(&listing.index);
	arena_fini(&listing.arena);
	*ret_count = listing.all.count;
	return listing.all.at;
}
