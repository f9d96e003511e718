/* Worlds of Gazebo Classic begin with model://sun and model://ground_plane, which came with Gazebo; worlds of today
 * name the same two on Fuel. Without them a world has no floor. Their values are those of Gazebo's models. They count
 * only where no file has their name, so a user can replace them. */
#include "sdf/stock.h"

#include <string.h>
#include <strings.h>

static const char stock_sun[] =
	"<sdf version='1.6'><light name='sun' type='directional'>"
	"<cast_shadows>true</cast_shadows><pose>0 0 10 0 0 0</pose>"
	"<diffuse>0.8 0.8 0.8 1</diffuse><specular>0.2 0.2 0.2 1</specular>"
	"<attenuation><range>1000</range><constant>0.9</constant><linear>0.01</linear><quadratic>0.001</quadratic>"
	"</attenuation><direction>-0.5 0.1 -0.9</direction></light></sdf>";

static const char stock_ground_plane[] =
	"<sdf version='1.6'><model name='ground_plane'><static>true</static><link name='link'>"
	"<collision name='collision'><geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>"
	"<surface><friction><ode><mu>100</mu><mu2>50</mu2></ode></friction></surface></collision>"
	"<visual name='visual'><cast_shadows>false</cast_shadows>"
	"<geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>"
	"<material><script><uri>file://media/materials/scripts/gazebo.material</uri><name>Gazebo/Grey</name></script>"
	"</material></visual></link></model></sdf>";

static const struct {
	const char *name, *path, *text;
} stock_models[] = {{"sun", "model://sun/model.sdf", stock_sun},
	{"ground_plane", "model://ground_plane/model.sdf", stock_ground_plane}};

/* On Fuel a blank stands where Gazebo Classic has '_'. */
static bool stock_is(const char *name, size_t length, const char *model)
{
	if (length != strlen(model))
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = name[i] == ' ' ? '_' : name[i];
		if (strncasecmp(&c, &model[i], 1))
			return false;
	}
	return true;
}

const char *stock_find(const char *name)
{
	size_t length = strcspn(name, "/"), rest = length + strspn(name + length, "/");
	if (name[rest] && strcmp(name + rest, "model.sdf"))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(stock_models); i++)
		if (stock_is(name, length, stock_models[i].name))
			return stock_models[i].path;
	return NULL;
}

const char *stock_find_address(const struct fuel_address *address)
{
	bool is_model = fuel_is_gazebo(address) && !strcmp(address->kind, "models") && !address->rest;
	return is_model ? stock_find(address->name) : NULL;
}

const char *stock_text(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(stock_models); i++)
		if (!strcmp(path, stock_models[i].path))
			return stock_models[i].text;
	return NULL;
}

const char *stock_name(uint32_t index)
{
	return index < ARRAY_LEN(stock_models) ? stock_models[index].name : NULL;
}
