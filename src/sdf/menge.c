/* Of a scene counts what Open-RMF's building_crowdsim writes: profiles, groups of agents at given places, and a
 * navigation mesh as the set of obstacles. The first agents are the robots that the plug-in names, in their order; the
 * others are people called agentN, N the number of the agent. Skins and animations of <model_type> are not used: a
 * person is a cylinder that can be seen, and pushes nothing, as in Gazebo. */
#include "sdf/menge.h"

#include "base/parse.h"
#include "sdf/foreign_internal.h"
#include "sdf/xml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	MENGE_FILE_BYTES_MAX = 16 << 20,
	MENGE_AGENTS_MAX = 1000,
	MENGE_PROFILES_MAX = 1000,
	MENGE_MESHES_MAX = 16,
	MENGE_GROUPS = 24, /* topics on which people hear of their velocities */
};
#define MENGE_HEIGHT 1.75 /* m */
#define MENGE_ORIGIN 1.0  /* m above the feet at most: where skins have their origin */

struct menge_profile {
	const char *name;
	double numbers[9]; /* in the order of menge_numbers */
	double height;     /* of the feet of its people; NAN: nobody has asked for it */
};

static const struct menge_number {
	const char *of, *name; /* in which child of <AgentProfile> */
	double low, high, otherwise;
} menge_numbers[] = {
	{"Common", "r", 1e-3, 100, 0.19},
	{"Common", "neighbor_dist", 0, 1e3, 5},
	{"Common", "max_neighbors", 0, 1e6, 10},
	{"Common", "pref_speed", 0, 100, 1.04},
	{"Common", "max_speed", 0, 100, 2},
	{"Common", "max_accel", 0, 1e6, 5},
	{"Common", "max_angle_vel", 0, 1e6, 360},
	{"ORCA", "tau", 1e-3, 1e6, 2.5},
	{"ORCA", "tauObst", 1e-3, 1e6, 0.15},
};

struct menge {
	struct load *load;
	const struct sdf_element *plugin;
	struct load_builder made;               /* the plug-in */
	VEC(const struct sdf_element *) models; /* of people */
	VEC(const struct sdf_element *) robots; /* <external_agent> */
	VEC(struct menge_profile) profiles;
	VEC(const char *) meshes; /* names of those that are in the plug-in */
	uint32_t agents;
};

/* --- files -------------------------------------------------------------------------------------------------------- */

/* NULL: there is no such file. */
static const char *menge_find(struct menge *menge, const char *from, const char *name)
{
	const char *folder = sdf_child_text(menge->plugin, "resource_path"), *path = NULL;
	if (folder && *folder && *name != '/' &&
		places_find(menge->load, menge->plugin->file,
			arena_printf(&menge->load->sdf->arena, "%s/%s", folder, name), &path) == FILES_FILE)
		return path;
	return *name && places_find(menge->load, from, name, &path) == FILES_FILE ? path : NULL;
}

/* The file that a child of the plug-in names; NULL: there is none. */
static const char *menge_find_child(struct menge *menge, const char *child)
{
	const char *name = sdf_child_text(menge->plugin, child);
	return name ? menge_find(menge, menge->plugin->file, name) : NULL;
}

/* The root element, which must have the name; NULL, with an error: it cannot be read. */
static const struct sdf_element *menge_read(struct menge *menge, const char *path, const char *name)
{
	struct load *load = menge->load;
	const struct sdf_element *root;
	struct troupe_error error;
	const char *text;
	size_t bytes;
	if (files_read(load->disk, path, MENGE_FILE_BYTES_MAX, &text, &bytes, &error)) {
		load_error(load, menge->plugin, "%s", error.text);
		return NULL;
	}
	if (xml_parse(&load->sdf->arena, text, bytes, arena_strdup(&load->sdf->arena, path), &root, &error)) {
		load_report_value(load, &error, SDF_ERROR);
		return NULL;
	}
	if (xml_is(root, name))
		return root;
	load_error(load, root, "<%.40s>: expected <%s> as the root", root->name, name);
	return NULL;
}

/* Puts a mesh into the plug-in, one element for each line that is not empty. */
static void menge_add_mesh(struct menge *menge, const struct sdf_element *at, const char *name)
{
	struct load *load = menge->load;
	struct arena *arena = &load->sdf->arena;
	struct troupe_error error;
	const char *text, *path;
	size_t bytes;
	for (uint32_t i = 0; i < menge->meshes.count; i++)
		if (!strcmp(menge->meshes.at[i], name))
			return;
	if (menge->meshes.count == MENGE_MESHES_MAX) {
		load_limit(load, at, "too many navigation meshes: expected at most %d", MENGE_MESHES_MAX);
		return;
	}
	vec_push(&menge->meshes, name);
	if (!(path = menge_find(menge, at->file, name))) {
		load_error(load, at, "the navigation mesh \"%.200s\" is not found", name);
		return;
	}
	if (files_read(load->disk, path, MENGE_FILE_BYTES_MAX, &text, &bytes, &error)) {
		load_error(load, at, "%s", error.text);
		return;
	}
	if (strlen(text) != bytes) {
		load_error(load, at, "%s: a zero byte: expected text", path);
		return;
	}
	struct sdf_element line = {.name = "l", .file = arena_strdup(arena, path)};
	const struct sdf_element top = {.name = "nav_mesh", .text = "", .file = line.file, .line = 1};
	struct load_builder mesh = load_build(load, &top);
	load_build_attribute(load, &mesh, "name", name);
	for (const char *end; *text; text = end + (*end == '\n')) {
		line.line++;
		end = text + strcspn(text, "\n");
		const char *first = text + strspn(text, " \t\r");
		if (first >= end)
			continue;
		line.text = arena_text(arena, first, (size_t)(end - first));
		load_build_add(load, &mesh, &line);
	}
	load_build_add(load, &menge->made, mesh.element);
}

/* Parts that are used, or of which the reference says that they have no effect. */
static const struct menge_part {
	const char *of, *name;
} menge_parts[] = {
	{"Experiment", "SpatialQuery"},
	{"Experiment", "Common"},
	{"Experiment", "ObstacleSet"},
	{"Experiment", "AgentProfile"},
	{"Experiment", "AgentGroup"},
	{"AgentProfile", "Common"},
	{"AgentProfile", "ORCA"},
	{"AgentProfile", "PedVO"},
	{"Common", "Property"}, /* has a warning of its own */
	{"AgentGroup", "ProfileSelector"},
	{"AgentGroup", "StateSelector"},
	{"AgentGroup", "Generator"},
	{"Generator", "Agent"},
	{"BFSM", "State"},
	{"BFSM", "Transition"},
	{"BFSM", "GoalSet"},
	{"State", "GoalSelector"},
	{"State", "VelComponent"},
	{"Transition", "Condition"},
	{"Transition", "Target"},
	{"Condition", "Condition"},
	{"Target", "State"},
	{"GoalSet", "Goal"},
};

static bool menge_is_part(const char *of, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(menge_parts); i++)
		if (!strcmp(menge_parts[i].of, of) && !strcmp(menge_parts[i].name, name))
			return true;
	return false;
}

/* Warns of other parts, once for each name and where it is. */
static void menge_check_parts(struct load *load, const struct sdf_element *element)
{
	for (const struct sdf_element *at = element->child; at; at = at->next) {
		char kind[64];
		snprintf(kind, sizeof kind, "Menge/%s/%.40s", element->name, at->name);
		if (menge_is_part(element->name, at->name))
			menge_check_parts(load, at);
		else
			load_warn_once(load, kind, at, "<%.40s> in <%s> has no effect", at->name, element->name);
	}
}

/* --- the scene ---------------------------------------------------------------------------------------------------- */

/* An element with the file and line of another one, from its text. */
static const struct sdf_element *menge_element(
	struct menge *menge, const struct sdf_element *at, const struct text *text)
{
	const struct sdf_element *root = NULL;
	struct troupe_error error;
	if (xml_parse(&menge->load->sdf->arena, text->at, text->count, at->file, &root, &error)) {
		load_error(menge->load, at, "%s", error.text);
		return NULL;
	}
	struct load_builder copy = load_build(menge->load, root);
	copy.element->child = root->child;
	copy.element->line = at->line;
	return copy.element;
}

static double menge_attribute(
	struct menge *menge, const struct sdf_element *at, const char *name, double low, double high, double otherwise)
{
	const char *text = sdf_attribute(at, name);
	double value;
	if (!text)
		return otherwise;
	if (parse_double(text, &value) && value >= low && value <= high)
		return value;
	load_error(menge->load, at, "%s of <%s> is \"%.40s\": expected a number from %g to %g", name, at->name, text,
		low, high);
	return otherwise;
}

/* The index; MENGE_PROFILES_MAX: there is none. */
static uint32_t menge_profile_of(const struct menge *menge, const char *name)
{
	for (uint32_t i = 0; name && i < menge->profiles.count; i++)
		if (!strcmp(menge->profiles.at[i].name, name))
			return i;
	return MENGE_PROFILES_MAX;
}

static void menge_read_profile(struct menge *menge, const struct sdf_element *at)
{
	const char *name = sdf_attribute(at, "name"), *from = sdf_attribute(at, "inherits");
	uint32_t parent = menge_profile_of(menge, from);
	struct menge_profile profile = {.name = name ? name : "", .height = NAN};
	struct text text = {0};
	if (menge->profiles.count == MENGE_PROFILES_MAX) {
		load_limit(menge->load, at, "too many profiles: expected at most %d", MENGE_PROFILES_MAX);
		return;
	}
	if (from && parent == MENGE_PROFILES_MAX)
		load_error(
			menge->load, at, "inherits is \"%.80s\": expected the name of a profile before this one", from);
	text_add(&text, "<profile>");
	for (size_t i = 0; i < ARRAY_LEN(menge_numbers); i++) {
		const struct menge_number *number = &menge_numbers[i];
		double otherwise =
			parent < MENGE_PROFILES_MAX ? menge->profiles.at[parent].numbers[i] : number->otherwise;
		const struct sdf_element *of = sdf_child(at, number->of, NULL);
		profile.numbers[i] =
			of ? menge_attribute(menge, of, number->name, number->low, number->high, otherwise) : otherwise;
		text_add(&text, "<%s>", number->name);
		text_add_double(&text, profile.numbers[i]);
		text_add(&text, "</%s>", number->name);
	}
	text_add(&text, "</profile>");
	const struct sdf_element *of = sdf_child(at, "Common", NULL);
	if (sdf_child(of, "Property", NULL))
		load_warn(menge->load, sdf_child(of, "Property", NULL),
			"<Property> has no effect: all people of a profile are alike");
	vec_push(&menge->profiles, profile);
	const struct sdf_element *made = menge_element(menge, at, &text);
	if (made)
		load_build_add(menge->load, &menge->made, made);
	text_fini(&text);
}

static void menge_add_child(struct text *text, const char *name, const char *value)
{
	text_add(text, "<%s>", name);
	xml_add_escaped(text, value);
	text_add(text, "</%s>", name);
}

/* The height of the feet, which are the origin of a person, by the <initial_pose> of the type. */
static double menge_height(struct menge *menge, const char *profile)
{
	const struct sdf_element *type = NULL;
	double numbers[6];
	while ((type = sdf_child(menge->plugin, "model_type", type))) {
		const char *name = sdf_child_text(type, "typename"), *pose = sdf_child_text(type, "initial_pose");
		if (!name)
			name = sdf_attribute(type, "typename");
		if (!name || strcmp(name, profile) != 0)
			continue;
		if (!pose || !*pose)
			return 0;
		if (parse_doubles(pose, numbers, 6) == 6 && numbers[2] >= -1e6 && numbers[2] <= 1e6)
			return numbers[2] > MENGE_ORIGIN ? numbers[2] - MENGE_ORIGIN : fmin(numbers[2], 0);
		load_error(menge->load, sdf_child(type, "initial_pose", NULL),
			"<initial_pose> is \"%.80s\": expected six numbers", pose);
		return 0;
	}
	load_error(menge->load, menge->plugin, "no <model_type> has the <typename> \"%.80s\", a profile of people",
		profile);
	return 0;
}

static void menge_add_model(struct menge *menge, const struct sdf_element *at, double x, double y,
	struct menge_profile *profile, uint32_t person)
{
	struct text text = {0};
	if (isnan(profile->height)) /* so that an error is told once */
		profile->height = menge_height(menge, profile->name);
	text_add(&text, "<model name='agent%u'><pose>", menge->agents);
	text_add_double(&text, x);
	text_add(&text, " ");
	text_add_double(&text, y);
	text_add(&text, " ");
	text_add_double(&text, profile->height);
	text_add(&text, " 0 0 0</pose><link name='body'><kinematic>true</kinematic><visual name='body'><pose>0 0 ");
	text_add_double(&text, MENGE_HEIGHT / 2);
	text_add(&text, " 0 0 0</pose><geometry><cylinder><radius>");
	text_add_double(&text, profile->numbers[0]);
	text_add(&text, "</radius><length>");
	text_add_double(&text, MENGE_HEIGHT);
	text_add(&text,
		"</length></cylinder></geometry></visual></link><plugin name='troupe::RmfPerson' filename='troupe'>"
		"<topic>/crowd/%u</topic><entry>%u</entry></plugin></model>",
		person % MENGE_GROUPS, person / MENGE_GROUPS);
	const struct sdf_element *model = menge_element(menge, at, &text);
	if (model)
		vec_push(&menge->models, model);
	text_fini(&text);
}

static void menge_add_agent(struct menge *menge, const struct sdf_element *at, uint32_t profile, const char *state)
{
	uint32_t number = menge->agents, robots = menge->robots.count;
	bool external = number < robots;
	uint32_t person = external ? 0 : number - robots;
	double x = menge_attribute(menge, at, "p_x", -1e6, 1e6, 0), y = menge_attribute(menge, at, "p_y", -1e6, 1e6, 0);
	struct text text = {0};
	if (number == MENGE_AGENTS_MAX) {
		if (menge->load->status != TROUPE_ELIMIT)
			load_limit(menge->load, at, "too many agents: expected at most %d", MENGE_AGENTS_MAX);
		return;
	}
	text_add(&text, "<agent>");
	if (external)
		menge_add_child(&text, "name", menge->robots.at[number]->text);
	else
		text_add(&text, "<name>agent%u</name>", number);
	text_add(&text, "<profile>%u</profile>", profile);
	menge_add_child(&text, "state", state);
	text_add(&text, "<external>%s</external><group>%u</group><entry>%u</entry></agent>",
		external ? "true" : "false", person % MENGE_GROUPS, person / MENGE_GROUPS);
	const struct sdf_element *agent = menge_element(menge, at, &text);
	if (agent)
		load_build_add(menge->load, &menge->made, agent);
	if (!external)
		menge_add_model(menge, at, x, y, &menge->profiles.at[profile], person);
	menge->agents++;
	text_fini(&text);
}

/* Whether the type is the only one that is known. */
static bool menge_has_type(struct menge *menge, const struct sdf_element *parent, const struct sdf_element *at,
	const char *name, const char *type)
{
	const char *is = at ? sdf_attribute(at, "type") : NULL;
	if (is && !strcmp(is, type))
		return true;
	load_error(menge->load, at ? at : parent, "<%s> is of the type \"%.40s\": expected \"%s\"", name, is ? is : "",
		type);
	return false;
}

static void menge_read_group(struct menge *menge, const struct sdf_element *group)
{
	const struct sdf_element *profile = sdf_child(group, "ProfileSelector", NULL), *at = NULL;
	const struct sdf_element *state = sdf_child(group, "StateSelector", NULL);
	const struct sdf_element *generator = sdf_child(group, "Generator", NULL);
	if (!menge_has_type(menge, group, profile, "ProfileSelector", "const") ||
		!menge_has_type(menge, group, state, "StateSelector", "const") ||
		!menge_has_type(menge, group, generator, "Generator", "explicit"))
		return;
	const char *name = sdf_attribute(profile, "name"), *begins = sdf_attribute(state, "name");
	uint32_t index = menge_profile_of(menge, name);
	if (index == MENGE_PROFILES_MAX) {
		load_error(menge->load, profile, "name is \"%.80s\": expected that of an <AgentProfile>",
			name ? name : "");
		return;
	}
	while ((at = sdf_child(generator, "Agent", at)) && menge->load->status != TROUPE_ELIMIT)
		menge_add_agent(menge, at, index, begins ? begins : "");
}

static void menge_read_obstacles(struct menge *menge, const struct sdf_element *at)
{
	const char *name = sdf_attribute(at, "file_name");
	if (!menge_has_type(menge, at, at, "ObstacleSet", "nav_mesh"))
		return;
	menge_add_mesh(menge, at, name ? name : "");
	const struct sdf_element obstacles = {
		.name = "obstacles", .text = name ? name : "", .file = at->file, .line = at->line};
	load_build_add(menge->load, &menge->made, &obstacles);
}

static void menge_read_scene(struct menge *menge, const struct sdf_element *scene)
{
	const struct sdf_element *at = NULL;
	while ((at = sdf_child(scene, "AgentProfile", at)))
		menge_read_profile(menge, at);
	while ((at = sdf_child(scene, "AgentGroup", at)) && menge->load->status != TROUPE_ELIMIT)
		menge_read_group(menge, at);
	if (menge->agents < menge->robots.count)
		load_error(menge->load, menge->robots.at[menge->agents],
			"<external_agent> \"%.80s\": expected an <Agent> of the scene for each, but there are %u",
			menge->robots.at[menge->agents]->text, menge->agents);
	if ((at = sdf_child(scene, "ObstacleSet", NULL)))
		menge_read_obstacles(menge, at);
	if (at && (at = sdf_child(scene, "ObstacleSet", at)))
		load_warn(menge->load, at, "a second <ObstacleSet> has no effect");
}

/* Meshes on which people walk. */
static void menge_read_behavior(struct menge *menge, const struct sdf_element *root)
{
	const struct sdf_element *state = NULL;
	while ((state = sdf_child(root, "State", state))) {
		const struct sdf_element *at = sdf_child(state, "VelComponent", NULL);
		const char *type = at ? sdf_attribute(at, "type") : NULL,
			   *name = at ? sdf_attribute(at, "file_name") : NULL;
		if (type && name && !strcmp(type, "nav_mesh"))
			menge_add_mesh(menge, at, name);
	}
	const struct sdf_element wrapper = {.name = "behavior", .text = "", .file = root->file, .line = root->line};
	struct load_builder behavior = load_build(menge->load, &wrapper);
	load_build_add(menge->load, &behavior, root);
	load_build_add(menge->load, &menge->made, behavior.element);
}

/* --- the world ---------------------------------------------------------------------------------------------------- */

static bool menge_is_plugin(const struct sdf_element *element)
{
	const char *filename = xml_is(element, "plugin") ? sdf_attribute(element, "filename") : NULL;
	return filename && !sdf_child(element, "behavior", NULL) &&
	       (foreign_is_file(filename, "crowd_simulation") || foreign_is_file(filename, "crowd_simulator") ||
		       foreign_is_file(filename, "crowd_simulator_ign"));
}

/* Adds the plug-in with its crowd; as it is, if its files are not there: the system says so. */
static void menge_add(struct load *load, const struct sdf_element *plugin, struct load_builder *world)
{
	struct menge menge = {.load = load, .plugin = plugin, .made = load_build(load, plugin)};
	const char *scene_path = menge_find_child(&menge, "scene_file");
	const char *behavior_path = menge_find_child(&menge, "behavior_file");
	const struct sdf_element *at = NULL, *scene = NULL, *behavior = NULL;
	if (scene_path && behavior_path) {
		scene = menge_read(&menge, scene_path, "Experiment");
		behavior = menge_read(&menge, behavior_path, "BFSM");
	}
	if (!scene || !behavior) {
		load_build_add(load, world, plugin);
		return;
	}
	for (at = plugin->child; at; at = at->next) {
		load_build_add(load, &menge.made, at);
		if (xml_is(at, "external_agent"))
			vec_push(&menge.robots, at);
	}
	menge_check_parts(load, scene);
	menge_check_parts(load, behavior);
	menge_read_scene(&menge, scene);
	menge_read_behavior(&menge, behavior);
	for (uint32_t i = 0; i < menge.models.count; i++)
		load_build_add(load, world, menge.models.at[i]);
	load_build_add(load, world, menge.made.element);
	vec_free(&menge.models);
	vec_free(&menge.robots);
	vec_free(&menge.profiles);
	vec_free(&menge.meshes);
}

const struct sdf_element *menge_world(struct load *load, const struct sdf_element *world)
{
	bool found = false;
	for (const struct sdf_element *at = world->child; at && !found; at = at->next)
		found = menge_is_plugin(at);
	if (!found)
		return world;
	struct load_builder copy = load_build(load, world);
	for (const struct sdf_element *at = world->child; at; at = at->next) {
		if (!menge_is_plugin(at)) {
			load_build_add(load, &copy, at);
		} else if (found) {
			found = false;
			menge_add(load, at, &copy);
		} else {
			load_error(load, at, "a second crowd: expected one in a world");
		}
	}
	return copy.element;
}
