/* What sensors see, and how they see it: visuals of all shapes with materials and textures, lights, lidars as they are
 * built, cameras of all kinds. It has dice of its own, so that the rest of a world is the same with and without it.
 * Nothing here is a word of the state, but for the poses that a sensor keeps which measures while it moves, with the
 * simulated times of these.
 */
#include "make_internal.h"

#include <string.h>

static void make_sight_file(struct maker *maker, const char *name)
{
	(void)make_file(maker, name, arena_printf(maker->arena, "tests/data/mesh/%s", name));
}

/* --- visuals ------------------------------------------------------------------------------------------------------ */

static const char *make_sight_mesh(struct maker *maker)
{
	static const char *const files[] = {"painted.obj", "painted.mtl", "painted.png", "painted.glb"};
	for (uint32_t i = 0; i < ARRAY_LEN(files); i++)
		make_sight_file(maker, files[i]);
	return DICE_WORD(&maker->sight_dice, "painted.obj", "painted.glb");
}

static void make_sight_shape(struct maker *maker, struct part *visual, double size)
{
	struct dice *dice = &maker->sight_dice;
	double a = size * dice_between(dice, 0.3, 1.5), b = size * dice_between(dice, 0.3, 1.5);
	const char *kind = DICE_WORD(dice, "box", "wall", "cylinder", "cone", "capsule", "ellipsoid", "plane", "mesh");
	struct part *geometry = make_element(maker, visual, PART_NEEDED, "geometry");
	if (!strcmp(kind, "mesh"))
		part_add(maker->arena, geometry, PART_NEEDED, NULL,
			"<mesh><uri>%s</uri><scale>%.3g %.3g 0.3</scale></mesh>", make_sight_mesh(maker), a, b);
	else if (!strcmp(kind, "plane"))
		part_add(maker->arena, geometry, PART_NEEDED, NULL,
			"<plane><normal>0 0 1</normal><size>%.3g %.3g</size></plane>", a, b);
	else if (!strcmp(kind, "ellipsoid"))
		part_add(maker->arena, geometry, PART_NEEDED, NULL,
			"<ellipsoid><radii>%.3g %.3g 0.2</radii></ellipsoid>", a, b);
	else if (!strcmp(kind, "box") || !strcmp(kind, "wall"))
		part_add(maker->arena, geometry, PART_NEEDED, NULL, "<box><size>%.3g %.3g %.3g</size></box>", a,
			*kind == 'b' ? b : 0.05, *kind == 'b' ? 0.1 : b);
	else
		part_add(maker->arena, geometry, PART_NEEDED, NULL,
			"<%s><radius>%.3g</radius><length>%.3g</length></%s>", kind, a / 2, b, kind);
}

static void make_sight_material(struct maker *maker, struct part *visual)
{
	struct dice *dice = &maker->sight_dice;
	struct part *material = make_element(maker, visual, PART_OPTIONAL, "material");
	make_value(maker, material, "diffuse", "%s", DICE_WORD(dice, "1 0 0 1", "0.2 0.9 0.4 0.5", "0 0 1 0"));
	if (dice_chance(dice, 30))
		make_value(maker, material, "emissive", "0.3 0.1 0 1");
	if (dice_chance(dice, 30))
		make_value(maker, material, "double_sided", "true");
	if (dice_chance(dice, 50))
		return;
	struct part *pbr = make_element(maker, material, PART_OPTIONAL, "pbr");
	struct part *metal = make_element(maker, pbr, PART_NEEDED, "metal");
	make_sight_file(maker, "painted.png");
	make_sight_file(maker, "sound_colour.jpg");
	make_value(maker, metal, "albedo_map", "%s", DICE_WORD(dice, "painted.png", "sound_colour.jpg"));
	if (dice_chance(dice, 40))
		make_value(maker, metal, "normal_map", "painted.png");
	if (dice_chance(dice, 40))
		make_value(maker, metal, "emissive_map", "sound_colour.jpg");
	make_value(maker, metal, "roughness", "%g", DICE_OF(dice, 0, 0.3, 1));
	make_value(maker, metal, "metalness", "%g", DICE_OF(dice, 0, 0.5, 1));
}

void make_sight_visuals(struct maker *maker, struct part *link, double size)
{
	struct dice *dice = &maker->sight_dice;
	if (!maker->scenario->senses || dice_chance(dice, 40))
		return;
	for (uint32_t i = dice_from(dice, 1, 2); i > 0; i--) {
		struct part *visual =
			part_add(maker->arena, link, PART_OPTIONAL, "</visual>", "<visual name='seen%u'>", i);
		part_add(maker->arena, visual, PART_OPTIONAL, NULL, "<pose>%.3g %.3g %.3g %.3g 0 %.3g</pose>",
			dice_between(dice, -size, size), dice_between(dice, -size, size),
			dice_between(dice, -size, size), DICE_OF(dice, 0, 0, 1.5707963267948966, 0.4),
			DICE_OF(dice, 0, 0, 1, 3));
		if (dice_chance(dice, 40))
			make_value(maker, visual, "transparency", "%g", DICE_OF(dice, 0.3, 0.8, 1));
		if (dice_chance(dice, 40))
			make_value(maker, visual, "laser_retro", "%g", DICE_OF(dice, 1, 100, 2000));
		if (dice_chance(dice, 30))
			make_value(maker, visual, "cast_shadows", "false");
		make_sight_shape(maker, visual, size);
		if (dice_chance(dice, 70))
			make_sight_material(maker, visual);
		if (dice_chance(dice, 30)) {
			make_sight_file(maker, "painted.png");
			part_add(maker->arena, visual, PART_OPTIONAL, NULL,
				"<plugin name='gz::sim::systems::Thermal' "
				"filename='gz-sim-thermal-system'><%s</plugin>",
				DICE_WORD(dice, "temperature>320</temperature>",
					"heat_signature>painted.png</heat_signature><max_temp>400</max_temp>"));
		}
	}
}

/* Lights by which cameras see; commands move them (make_commands.c). */
void make_sight_lights(struct maker *maker, struct part *world)
{
	struct dice *dice = &maker->sight_dice;
	static const char *const names[] = {"sun", "lamp", "torch"};
	static const char *const kinds[] = {"directional", "point", "spot"};
	if (!maker->scenario->senses)
		return;
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
		if (dice_chance(dice, 50))
			continue;
		struct part *light = part_add(maker->arena, world, PART_OPTIONAL, "</light>\n",
			"<light name='%s' type='%s'><pose>%.3g 0 %.3g 0 %.3g 0</pose>", names[i], kinds[i],
			dice_between(dice, -2, 2), dice_between(dice, 0.5, 6), dice_between(dice, 0, 0.5));
		make_value(maker, light, "cast_shadows", "%s", DICE_WORD(dice, "true", "false"));
		make_value(maker, light, "diffuse", "%s", DICE_WORD(dice, "1 1 1 1", "1 0.5 0.2 1"));
		part_add(maker->arena, light, PART_OPTIONAL, NULL,
			"<attenuation><range>%g</range><linear>0.1</linear></attenuation>", DICE_OF(dice, 2, 20));
		if (i == 2)
			part_add(maker->arena, light, PART_OPTIONAL, NULL,
				"<spot><inner_angle>0.3</inner_angle><outer_angle>0.9</outer_angle>"
				"<falloff>0.8</falloff></spot>");
	}
}

/* --- sensors ------------------------------------------------------------------------------------------------------ */

static const char *make_sight_table(struct maker *maker)
{
	static const char *const texts[] = {
		"rays\n-20 -170 0\n0 -90 50\n10 -10 200\n0 0 300 7\n-5 80 500\n-30 170 900\n",
		"channels 12 anticlockwise\n-15 0.5 0\n-2 -0.5 30\n9 0 70 0\n"};
	uint32_t which = dice_below(&maker->sight_dice, (uint32_t)ARRAY_LEN(texts));
	const char *name = which ? "lasers.txt" : "rays.txt";
	struct part *file = make_file(maker, name, NULL);
	if (file)
		part_add(maker->arena, file, PART_NEEDED, NULL, "%s", texts[which]);
	return name;
}

/* What a real lidar has, as elements of <lidar>. */
void make_sight_lidar(struct maker *maker, struct part *lidar)
{
	struct dice *dice = &maker->sight_dice;
	if (dice_chance(dice, 60)) {
		make_value(maker, lidar, "troupe:motion", "true");
		maker->scenario->actors = true; /* the poses that it keeps have simulated times */
	}
	if (dice_chance(dice, 40))
		make_value(maker, lidar, "troupe:table", "%s", make_sight_table(maker));
	if (dice_chance(dice, 40))
		make_value(maker, lidar, "troupe:scan_time", "%g", DICE_OF(dice, 0.001, 0.02, 0.1, 0.5));
	if (dice_chance(dice, 40)) {
		make_value(maker, lidar, "troupe:divergence", "%g", DICE_OF(dice, 0.003, 0.05));
		make_value(maker, lidar, "troupe:returns", "%u", dice_from(dice, 1, 3));
		make_value(maker, lidar, "troupe:separation", "%g", DICE_OF(dice, 0.01, 0.3));
	}
	if (dice_chance(dice, 30))
		make_value(maker, lidar, "troupe:dropout_intensity", "%g", DICE_OF(dice, 0.1, 10));
	if (dice_chance(dice, 30))
		make_value(maker, lidar, "troupe:noise_intensity", "5");
	if (dice_chance(dice, 20))
		make_value(maker, lidar, "troupe:fog", "%g", DICE_OF(dice, 5, 50));
	if (dice_chance(dice, 20))
		make_value(maker, lidar, "troupe:stamp", "start");
}

/* Rolling shutter, exposure and gain. */
static void make_sight_shutter(struct maker *maker, struct part *camera)
{
	struct dice *dice = &maker->sight_dice;
	bool rolls = dice_chance(dice, 30), exposes = dice_chance(dice, 30);
	maker->scenario->actors |= rolls || exposes; /* as with lidars */
	if (rolls)
		make_value(maker, camera, "troupe:readout_time", "%g", DICE_OF(dice, 0.001, 0.02, 0.3));
	if (exposes)
		make_value(maker, camera, "troupe:exposure_time", "%g", DICE_OF(dice, 0.0005, 0.01, 0.1));
	if (exposes && dice_chance(dice, 30))
		make_value(maker, camera, "troupe:exposure_samples", "%u", dice_from(dice, 1, 20));
	if (dice_chance(dice, 20))
		make_value(maker, camera, "troupe:gain", "%g", DICE_OF(dice, 0, 0.7, 4));
}

/* What any camera may have, as elements of <camera>; image: its <image>. */
void make_sight_camera(struct maker *maker, struct part *camera, struct part *image)
{
	struct dice *dice = &maker->sight_dice;
	if (dice_chance(dice, 40))
		make_value(maker, image, "anti_aliasing", "%g", DICE_OF(dice, 2, 4, 8));
	if (dice_chance(dice, 40))
		make_value(maker, camera, "horizontal_fov", "%g", DICE_OF(dice, 0.3, 1.2, 2.5));
	if (dice_chance(dice, 20))
		part_add(maker->arena, camera, PART_OPTIONAL, NULL,
			"<distortion><k1>-0.2</k1><k2>0.05</k2><p1>0.001</p1><center>0.5 0.4</center></distortion>");
	make_sight_shutter(maker, camera);
	if (dice_chance(dice, 30)) {
		make_value(maker, camera, "troupe:truth", "%s",
			DICE_WORD(dice, "flow", "normals segments", "flow normals segments"));
		maker->scenario->actors = true; /* the poses that it keeps for its flow have simulated times */
	}
}
