/* A small world with many hand-overs: levels, performers that meet, ghosts, and a controller with memory. */
#ifndef TESTS_FAULT_THREE_LEVELS_H
#define TESTS_FAULT_THREE_LEVELS_H

#include "base/text.h"

static inline void three_levels_add_link(
	struct text *out, const char *name, double z, const char *shape, const char *size)
{
	text_add(out,
		"<link name='%s'><pose>0 0 %g 0 0 0</pose><collision name='c'><geometry><%s>%s</%s></geometry>"
		"</collision></link>",
		name, z, shape, size, shape);
}

static inline void three_levels_add_box(
	struct text *out, const char *name, bool is_static, const char *pose, const char *size)
{
	char box[64];
	snprintf(box, sizeof box, "<size>%s</size>", size);
	text_add(out, "<model name='%s'><static>%d</static><pose>%s</pose>", name, is_static, pose);
	three_levels_add_link(out, "l", 0, "box", box);
	text_add(out, "</model>");
}

static inline void three_levels_add_driver(
	struct text *out, const char *name, const char *pose, const char *shape, const char *size, int v)
{
	text_add(out, "<model name='%s'><pose>%s</pose>", name, pose);
	three_levels_add_link(out, "l", 0, shape, size);
	text_add(out,
		"<plugin name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>%d 0 0</initial_linear>"
		"</plugin></model>",
		v);
}

/* An arm whose controller has memory. */
static inline void three_levels_add_arm(struct text *out)
{
	text_add(out, "<model name='arm'><pose>0 9 5 0 0 0</pose>");
	three_levels_add_link(out, "base", 0, "box", "<size>0.6 0.6 0.3</size>");
	three_levels_add_link(out, "bar", 0.4, "box", "<size>0.8 0.2 0.2</size>");
	text_add(out, "<joint name='j' type='revolute'><parent>base</parent><child>bar</child>"
		      "<axis><xyz>0 0 1</xyz></axis></joint>"
		      "<plugin name='gz::sim::systems::JointPositionController' filename='x'><joint_name>j</joint_name>"
		      "<p_gain>2</p_gain><i_gain>0.5</i_gain><i_max>1</i_max><i_min>-1</i_min>"
		      "<initial_position>1</initial_position></plugin></model>");
}

/* Three levels in a row, each with a floor and a crate; `a` and `b` drive towards each other through the levels, and
 * push each other and `c`; an arm belongs to no level. */
static inline char *three_levels_world(void)
{
	static const char *const performers[] = {"a", "b", "c"};
	struct text out = {0}, levels = {0};
	text_add(&out, "<sdf version='1.9'><world name='w'><physics type='ode'><max_step_size>0.01</max_step_size>"
		       "</physics><light name='sun' type='directional'/>");
	three_levels_add_box(&out, "floor_0", true, "0 0 -0.25 0 0 0", "2 4 0.5");
	three_levels_add_box(&out, "floor_1", true, "2 0 -0.25 0 0 0", "2 4 0.5");
	three_levels_add_box(&out, "floor_2", true, "4 0 -0.25 0 0 0", "2 4 0.5");
	three_levels_add_box(&out, "crate_0", false, "0 0.4 0.16 0 0 0", "0.3 0.3 0.3");
	three_levels_add_box(&out, "crate_1", false, "2 0.4 0.16 0 0 0", "0.3 0.3 0.3");
	three_levels_add_box(&out, "crate_2", false, "4 0.4 0.16 0 0 0", "0.3 0.3 0.3");
	three_levels_add_driver(&out, "a", "0 0 0.26 0 0 0", "box", "<size>0.5 0.5 0.5</size>", 6);
	three_levels_add_driver(&out, "b", "4 0.1 0.26 0 0 0", "box", "<size>0.5 0.5 0.5</size>", -5);
	three_levels_add_driver(&out, "c", "2 -0.4 0.3 0 0 0.2", "sphere", "<radius>0.25</radius>", 0);
	three_levels_add_arm(&out);
	for (int i = 0; i < 3; i++)
		text_add(&levels,
			"<performer name='%s'><ref>%s</ref><geometry><box><size>0.5 0.5 0.5</size></box></geometry>"
			"</performer><level name='level_%d'><pose>%d 0 0 0 0 0</pose><geometry><box><size>2 4 4</size>"
			"</box></geometry><buffer>0.3</buffer><ref>floor_%d</ref><ref>crate_%d</ref></level>",
			performers[i], performers[i], i, 2 * i, i, i);
	text_add(&out, "<plugin name='gz::sim' filename='x'>%s</plugin></world></sdf>", levels.at);
	text_fini(&levels);
	return out.at;
}

#endif
