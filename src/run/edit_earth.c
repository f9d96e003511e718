/* The place of the world on the globe, as a command gives it. Nothing moves by it: sensors of place read it, and a
 * model is created or placed at a latitude and longitude by it. Like gravity it outlives a reset. The reference of an
 * IMU's orientation is computed when the IMU is made, from the place in the file, so it stays. */
#include "run/edit_internal.h"

#include "base/hash.h"
#include "scene/earth.h"

#include <math.h>

enum { EDIT_EARTH_NUMBERS = 4 };

troupe_status edit_check_globe(const Gz__Msgs__SphericalCoordinates *place, struct troupe_error *error)
{
	if (fabs(place->latitude_deg) <= 90 && fabs(place->longitude_deg) <= 180 &&
		fabs(place->elevation) <= SDF_LENGTH_MAX && fabs(place->heading_deg) <= 360)
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND,
		"spherical_coordinates: expected a latitude_deg from -90 to 90, a longitude_deg from -180 to 180, an "
		"elevation of at most 1e9 m, and a heading_deg from -360 to 360");
}

struct pose edit_pose_on_globe(const struct scene *scene, const Gz__Msgs__SphericalCoordinates *place, struct pose pose)
{
	struct earth earth = earth_of(&scene->earth);
	struct earth_place at = {place->latitude_deg, place->longitude_deg, place->elevation};
	struct quat turn = quat_from_rpy(0, 0, place->heading_deg * (M_PI / 180));
	return (struct pose){earth_point(&earth, at), quat_mul(turn, pose.q)};
}

/* The entity of the message is placed there. */
static troupe_status edit_earth_place_entity(struct edit *edit, const Gz__Msgs__SphericalCoordinates *message,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct pose to = edit_pose_on_globe(edit->shared->scene, message, POSE_IDENTITY);
	Gz__Msgs__Vector3d position = GZ__MSGS__VECTOR3D__INIT;
	Gz__Msgs__Quaternion orientation = GZ__MSGS__QUATERNION__INIT;
	Gz__Msgs__Pose pose = GZ__MSGS__POSE__INIT;
	position.x = to.p.x;
	position.y = to.p.y;
	position.z = to.p.z;
	orientation.w = to.q.w;
	orientation.x = to.q.x;
	orientation.y = to.q.y;
	orientation.z = to.q.z;
	pose.id = (uint32_t)message->entity->id;
	pose.name = message->entity->name;
	pose.position = &position;
	pose.orientation = &orientation;
	return edit_set_pose(edit, &pose, note, error);
}

static void edit_earth_numbers_of(const struct sdf_earth *earth, double numbers[EDIT_EARTH_NUMBERS])
{
	numbers[0] = earth->latitude_deg;
	numbers[1] = earth->longitude_deg;
	numbers[2] = earth->elevation_m;
	numbers[3] = earth->heading_deg;
}

/* As Gazebo does: the surface is the one that the message can name, whatever the file has. */
static struct sdf_earth edit_earth_at(const double numbers[EDIT_EARTH_NUMBERS])
{
	return (struct sdf_earth){.given = true,
		.model = SDF_EARTH_WGS84,
		.equatorial_m = SDF_WGS84_EQUATORIAL_M,
		.polar_m = SDF_WGS84_POLAR_M,
		.latitude_deg = numbers[0],
		.longitude_deg = numbers[1],
		.elevation_m = numbers[2],
		.heading_deg = numbers[3]};
}

troupe_status edit_set_spherical_coordinates(struct edit *edit, const Gz__Msgs__SphericalCoordinates *message,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	troupe_status status = edit_check_globe(message, error);
	if (status)
		return status;
	if (message->surface_model != GZ__MSGS__SPHERICAL_COORDINATES__SURFACE_MODEL__EARTH_WGS84)
		return fail(error, TROUPE_ECOMMAND, "surface_model %d: expected EARTH_WGS84", message->surface_model);
	if (message->entity)
		return edit_earth_place_entity(edit, message, note, error);
	scene->earth = edit_earth_at((const double[EDIT_EARTH_NUMBERS]){
		message->latitude_deg, message->longitude_deg, message->elevation, message->heading_deg});
	scene->earth_set = true;
	edit_note(edit, EDIT_EARTH, 0);
	edit_say(note, "the world's origin is at latitude %g, longitude %g, elevation %g m, heading %g",
		message->latitude_deg, message->longitude_deg, message->elevation, message->heading_deg);
	return TROUPE_OK;
}

uint64_t edit_hash_earth(const struct scene *scene)
{
	double numbers[EDIT_EARTH_NUMBERS];
	uint64_t hash = UINT64_C(0x6561727468); /* "earth" */
	if (!scene->earth_set)
		return 0;
	edit_earth_numbers_of(&scene->earth, numbers);
	return hash_words(hash, (const uint64_t *)(const void *)numbers, EDIT_EARTH_NUMBERS);
}

void edit_pack_earth(const struct scene *scene, struct text *out)
{
	double numbers[EDIT_EARTH_NUMBERS];
	edit_earth_numbers_of(&scene->earth, numbers);
	pack_u64(out, scene->earth_set);
	for (uint32_t i = 0; i < EDIT_EARTH_NUMBERS && scene->earth_set; i++)
		pack_double(out, numbers[i]);
}

struct edit_earth edit_unpack_earth(struct unpack *in)
{
	struct edit_earth earth = {.set = unpack_count(in, 1)};
	double numbers[EDIT_EARTH_NUMBERS] = {0};
	static const double most[EDIT_EARTH_NUMBERS] = {90, 180, SDF_LENGTH_MAX, 360};
	for (uint32_t i = 0; i < EDIT_EARTH_NUMBERS && earth.set; i++) {
		numbers[i] = unpack_double(in);
		in->bad |= !(fabs(numbers[i]) <= most[i]);
	}
	earth.earth = edit_earth_at(numbers);
	return earth;
}

void edit_put_earth(struct scene *scene, const struct edit_earth *earth)
{
	scene->earth_set = earth->set;
	scene->earth = earth->set ? earth->earth : scene->sdf->surroundings.earth;
}
