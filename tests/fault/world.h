/* A world for the tests of this folder: tiles in a row, each a level with a static floor and a loose box, and
 * performers that VelocityControl pushes along the row. */
#ifndef TESTS_FAULT_WORLD_H
#define TESTS_FAULT_WORLD_H

#include "base/text.h"

static inline void add_link(struct text *out, const char *size, double mass)
{
	text_add(out,
		"<link name='l'><inertial><mass>%g</mass><inertia><ixx>0.2</ixx><iyy>0.2</iyy><izz>0.2</izz></inertia>"
		"</inertial><collision name='c'><geometry><box><size>%s</size></box></geometry></collision></link>",
		mass, size);
}

/* tiles of 10 m along x, from 0; sliders: the number of performers, side by side, at x = 5. */
static inline char *tiles_world(int tiles, int sliders)
{
	struct text out = {0}, levels = {0};
	text_add(&out,
		"<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.001</max_step_size>"
		"<real_time_factor>0</real_time_factor></physics><light name='sun' type='directional'/>");
	for (int i = 0; i < tiles; i++) {
		text_add(&out, "<model name='floor_%d'><static>true</static><pose>%d 0 -0.5 0 0 0</pose>", i,
			i * 10 + 5);
		add_link(&out, "10 20 1", 1);
		text_add(&out, "</model><model name='box_%d'><pose>%d 8 0.25 0 0 0</pose>", i, i * 10 + 5);
		add_link(&out, "0.5 0.5 0.5", 2);
		text_add(&out, "</model>");
		text_add(&levels,
			"<level name='tile_%d'><pose>%d 0 2 0 0 0</pose><geometry><box><size>10 20 "
			"6</size></box></geometry>"
			"<buffer>1</buffer><ref>floor_%d</ref><ref>box_%d</ref></level>",
			i, i * 10 + 5, i, i);
	}
	for (int i = 0; i < sliders; i++) {
		text_add(&out, "<model name='slider_%d'><pose>5 %g 0.5 0 0 0</pose>", i, i * 1.5 - 4);
		add_link(&out, "0.8 0.8 0.8", 5);
		text_add(&out, "<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>");
		text_add(&levels,
			"<performer name='p%d'><ref>slider_%d</ref><geometry><box><size>1 1 1</size></box></geometry>"
			"</performer>",
			i, i);
	}
	text_add(&out, "<plugin name='gz::sim' filename='x'>%s</plugin></world></sdf>", levels.at);
	text_fini(&levels);
	return out.at;
}

#endif
