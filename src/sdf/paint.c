/* Worlds made for Gazebo Classic name materials of an OGRE script instead of colours, and Gazebo still knows the names
 * of that one script. No script is read here: a table of its materials takes its place.
 *
 * Source: media/materials/scripts/gazebo.material of gazebosim/gazebo-classic, and src/rendering/MaterialParser/
 * gazebo.material of gazebosim/gz-sim, which has a few more. Materials that serve only tools of the GUI and shaders are
 * left out. Gazebo reads only the first pass of a material and no emissive colours; here all passes count, as in OGRE.
 * OGRE's default for a diffuse colour is white, and that for a specular colour black. */
#include "sdf/paint.h"

#include <string.h>

#define RGB(r, g, b)                                                                                                   \
	{                                                                                                              \
		r, g, b, 1                                                                                             \
	}
#define GREY(v) RGB(v, v, v)
#define PAINT_NONE GREY(0)
/* Transparent materials of the script have no specular colour. */
#define CLEAR(r, g, b, alpha)                                                                                          \
	.ambient = RGB(r, g, b), .diffuse = {r, g, b, alpha}, .specular = PAINT_NONE, .emissive = PAINT_NONE
#define PLAIN(r, g, b, s, shine)                                                                                       \
	.ambient = RGB(r, g, b), .diffuse = RGB(r, g, b), .specular = GREY(s), .emissive = PAINT_NONE,                 \
	.shininess = shine
#define GLOW(r, g, b, s, shine)                                                                                        \
	.ambient = RGB(r, g, b), .diffuse = RGB(r, g, b), .specular = GREY(s), .emissive = RGB(r, g, b),               \
	.shininess = shine
#define PAINT_WHOLE(file) PLAIN(1, 1, 1, 0.2, 12.5), .texture = file
#define FLOOR(ambience, file)                                                                                          \
	.ambient = GREY(ambience), .diffuse = GREY(1), .specular = PAINT_NONE, .emissive = PAINT_NONE, .texture = file
#define STREET(file)                                                                                                   \
	.ambient = GREY(0.1), .diffuse = GREY(0.8), .specular = GREY(0.01), .emissive = PAINT_NONE, .shininess = 2,    \
	.texture = file

static const struct paint paint_paints[] = {
	{"Gazebo/Grey", GREY(0.3), GREY(0.7), GREY(0.01), PAINT_NONE, 1.5, false, NULL},
	{"Gazebo/Gray", GREY(0.3), GREY(0.7), GREY(0.01), PAINT_NONE, 1.5, false, NULL},
	{"Gazebo/DarkGrey", PLAIN(0.175, 0.175, 0.175, 0.175, 1.5)},
	{"Gazebo/DarkGray", PLAIN(0.175, 0.175, 0.175, 0.175, 1.5)},
	{"Gazebo/White", PLAIN(1, 1, 1, 0.1, 128)},
	{"Gazebo/FlatBlack", PLAIN(0.1, 0.1, 0.1, 0.01, 1)},
	{"Gazebo/Black", PLAIN(0, 0, 0, 0.1, 5)},
	{"Gazebo/Red", PLAIN(1, 0, 0, 0.1, 1)},
	{"Gazebo/RedBright", RGB(0.87, 0.26, 0.07), RGB(0.87, 0.26, 0.07), RGB(0.87, 0.26, 0.07), PAINT_NONE, 1, false,
		NULL},
	{"Gazebo/Green", PLAIN(0, 1, 0, 0.1, 1)},
	{"Gazebo/Blue", PLAIN(0, 0, 1, 0.1, 1)},
	{"Gazebo/SkyBlue", RGB(0.13, 0.44, 0.7), RGB(0, 0, 1), GREY(0.1), PAINT_NONE, 1, false, NULL},
	{"Gazebo/Yellow", PLAIN(1, 1, 0, 0, 0)},
	{"Gazebo/DarkYellow", PLAIN(0.7, 0.7, 0, 0, 0)},
	{"Gazebo/ZincYellow", RGB(0.9725, 0.9529, 0.2078), RGB(0.9725, 0.9529, 0.2078), RGB(0.9725, 0.9529, 0.2078),
		PAINT_NONE, 1, false, NULL},
	{"Gazebo/Purple", PLAIN(1, 0, 1, 0.1, 1)},
	{"Gazebo/Turquoise", PLAIN(0, 1, 1, 0.1, 1)},
	{"Gazebo/Orange", PLAIN(1, 0.5088, 0.0468, 0.5, 128)},
	{"Gazebo/Indigo", PLAIN(0.33, 0, 0.5, 0.1, 1)},
	{"Gazebo/Gold", RGB(0.4, 0.24869, 0.020759), RGB(0.8, 0.64869, 0.120759), GREY(0.4), PAINT_NONE, 12.5, false,
		NULL},
	{"Gazebo/Pioneer2Body", RGB(0.481193, 0.000123, 0.000123), RGB(0.681193, 0.000923, 0.000923), GREY(0.5),
		PAINT_NONE, 12.5, false, NULL},

	{"Gazebo/WhiteGlow", GLOW(1, 1, 1, 0.1, 128)},
	{"Gazebo/RedGlow", RGB(1, 0, 0), RGB(1, 0, 0), RGB(1, 0, 0), RGB(1, 0, 0), 128, false, NULL},
	{"Gazebo/GreenGlow", GLOW(0, 1, 0, 0.1, 1)},
	{"Gazebo/BlueGlow", GLOW(0, 0, 1, 0.1, 1)},
	{"Gazebo/YellowGlow", GLOW(1, 1, 0, 0, 0)},
	{"Gazebo/PurpleGlow", GLOW(1, 0, 1, 0.1, 1)},
	{"Gazebo/TurquoiseGlow", GLOW(0, 1, 1, 0.1, 1)},
	{"Gazebo/TurquoiseGlowOutline", GLOW(0, 1, 1, 0.1, 128)},
	{"Gazebo/LightOn", GLOW(0, 1, 0, 0, 0)},
	{"Gazebo/LightOff", GLOW(1, 0, 0, 0, 0)},

	{"Gazebo/RedTransparent", CLEAR(1, 0, 0, 0.5), .unlit = true},
	{"Gazebo/GreenTransparent", CLEAR(0, 1, 0, 0.5)},
	{"Gazebo/BlueTransparent", CLEAR(0, 0, 1, 0.5)},
	{"Gazebo/YellowTransparent", CLEAR(1, 1, 0, 0.5)},
	{"Gazebo/GreyTransparent", CLEAR(0.5, 0.5, 0.5, 0.5)},
	{"Gazebo/BlackTransparent", CLEAR(0, 0, 0, 0.5)},
	{"Gazebo/DarkMagentaTransparent", CLEAR(0.6, 0, 0.6, 0.5)},
	{"Gazebo/OrangeTransparent", CLEAR(1, 0.44, 0, 0.4)},
	{"Gazebo/BlueLaser", CLEAR(0, 0, 1, 0.4)},
	{"Gazebo/LightBlueLaser", CLEAR(0.5, 0.5, 1, 0.4)},
	{"Gazebo/RedTransparentOverlay", CLEAR(1, 0, 0, 0.5), .unlit = true},
	{"Gazebo/GreenTransparentOverlay", CLEAR(0, 1, 0, 0.5), .unlit = true},
	{"Gazebo/BlueTransparentOverlay", CLEAR(0, 0, 1, 0.5), .unlit = true},
	{"Gazebo/OrangeTransparentOverlay", CLEAR(1, 0.5088, 0.0468, 0.8), .unlit = true},
	{"Gazebo/DarkOrangeTransparentOverlay", CLEAR(0.6, 0.305, 0.028, 0.8), .unlit = true},

	{"Gazebo/Wood", PAINT_WHOLE("wood.jpg")},
	{"Gazebo/Bricks", PAINT_WHOLE("bricks.png")},
	{"Gazebo/WindowFrame", PAINT_WHOLE("window_frame.png")},
	{"Gazebo/BuildingFrame", PAINT_WHOLE("building_frame.png")},
	{"Gazebo/WoodPallet", .ambient = GREY(0.5), .diffuse = GREY(1), .specular = PAINT_NONE, .emissive = PAINT_NONE,
		.shininess = 0.5, .texture = "WoodPallet.png"},
	{"Gazebo/PioneerBody", RGB(0.5, 0, 0), RGB(1, 0, 0), RGB(0.5, 0, 0), PAINT_NONE, 10, false, "pioneerBody.jpg"},
	{"Gazebo/WoodFloor", FLOOR(0.5, "hardwood_floor.jpg")},
	{"Gazebo/CeilingTiled", FLOOR(0.5, "ceiling_tiled.jpg")},
	{"Gazebo/PaintedWall", FLOOR(1, "paintedWall.jpg")},
	{"Gazebo/Runway", FLOOR(0.5, "runway.png")},
	{"Gazebo/Grass", FLOOR(0.5, "grass.jpg")},
	{"Gazebo/Road", STREET("road1.jpg")},
	{"Gazebo/Residential", STREET("residential.jpg")},
	{"Gazebo/Tertiary", STREET("residential.jpg")},
	{"Gazebo/Pedestrian", STREET("sidewalk.jpg")},
	{"Gazebo/Footway", STREET("sidewalk.jpg")},
	{"Gazebo/Motorway", STREET("motorway.jpg")},
	{"Gazebo/Lanes_6", STREET("motorway.jpg")},
	{"Gazebo/Trunk", STREET("trunk.jpg")},
	{"Gazebo/Lanes_4", STREET("trunk.jpg")},
	{"Gazebo/Primary", STREET("primary.jpg")},
	{"Gazebo/Lanes_2", STREET("primary.jpg")},
	{"Gazebo/Secondary", STREET("secondary.jpg")},
	{"Gazebo/Lane_1", STREET("secondary.jpg")},
	{"Gazebo/Steps", STREET("steps.jpeg")},
	{"drc/san_fauxcity_sign", .ambient = GREY(0.8), .diffuse = GREY(0.8), .specular = GREY(0.1),
		.emissive = PAINT_NONE, .shininess = 2, .texture = "san_fauxcity.png"},
};

const struct paint *paint_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(paint_paints); i++)
		if (!strcmp(paint_paints[i].name, name))
			return &paint_paints[i];
	return NULL;
}
