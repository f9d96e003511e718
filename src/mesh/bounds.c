/* An OBJ is read line by line, and only lines of points are looked into: the others, which are most, are skipped at the
 * speed of memchr(). Of an STL only the coordinates are read. */
#include "mesh/bounds.h"

#include "mesh/mesh.h"

#include <string.h>
#include <strings.h>

enum { BOUNDS_STL_HEAD = 84, BOUNDS_STL_TRIANGLE = 50, BOUNDS_DIGITS_MAX = 18, BOUNDS_EXPONENT_MAX = 30 };
#define BOUNDS_MARGIN 1e-5 /* of the largest coordinate: readers of mesh files compute with single precision */

static bool bounds_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool bounds_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static double bounds_power(int exponent)
{
	double power = 1;
	for (int i = 0; i < (exponent < 0 ? -exponent : exponent); i++)
		power *= 10;
	return exponent < 0 ? 1 / power : power;
}

/* Digits before and behind a point. *ret_exponent: of ten. NULL: none, or too many. */
static const char *bounds_read_digits(const char *at, const char *end, int64_t *ret_digits, int *ret_exponent)
{
	int digits = 0, behind = 0;
	bool point = false;
	*ret_digits = 0;
	for (; at < end && (bounds_is_digit(*at) || (*at == '.' && !point)); at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		*ret_digits = 10 * *ret_digits + (*at - '0');
		behind += point;
		if (++digits > BOUNDS_DIGITS_MAX)
			return NULL;
	}
	*ret_exponent = -behind;
	return digits ? at : NULL;
}

/* Reads a plain decimal number that ends at a blank or at the end of the line. NULL: something else. */
static const char *bounds_read_number(const char *at, const char *end, double *ret_number)
{
	bool minus = at < end && *at == '-';
	int64_t digits;
	int exponent, more = 0;
	at += at < end && (*at == '-' || *at == '+');
	at = bounds_read_digits(at, end, &digits, &exponent);
	if (at && at < end && (*at == 'e' || *at == 'E')) {
		bool down = ++at < end && *at == '-';
		at += at < end && (*at == '-' || *at == '+');
		const char *first = at;
		for (; at < end && bounds_is_digit(*at) && more <= BOUNDS_EXPONENT_MAX; at++)
			more = 10 * more + (*at - '0');
		if (at == first || more > BOUNDS_EXPONENT_MAX)
			return NULL;
		exponent += down ? -more : more;
	}
	if (!at || (at < end && !bounds_is_blank(*at)))
		return NULL;
	*ret_number = (double)(minus ? -digits : digits) * bounds_power(exponent);
	return at;
}

static void bounds_add(struct aabb *box, struct vec3 p)
{
	box->lo = vec3_min(box->lo, p);
	box->hi = vec3_max(box->hi, p);
}

/* A line of a point, behind its "v": three numbers, or six with a colour. */
static bool bounds_read_point(const char *at, const char *end, struct aabb *box)
{
	enum { PLACE = 3, COLOURED = 6 };
	double numbers[COLOURED];
	int count = 0;
	for (;;) {
		while (at < end && bounds_is_blank(*at))
			at++;
		if (at == end)
			break;
		if (count == COLOURED || !(at = bounds_read_number(at, end, &numbers[count])))
			return false;
		count++;
	}
	if (count != PLACE && count != COLOURED)
		return false;
	bounds_add(box, vec3_from(numbers));
	return true;
}

static bool bounds_read_name(const char *at, const char *end, struct mesh_bounds *bounds)
{
	while (at < end && bounds_is_blank(*at))
		at++;
	if (at == end || bounds->name_count == BOUNDS_NAMES_MAX)
		return false;
	bounds->names[bounds->name_count++] = (struct mesh_bounds_name){at, (size_t)(end - at)};
	return true;
}

static bool bounds_read_line(const char *at, const char *end, struct mesh_bounds *bounds, bool *has_faces)
{
	static const char library[] = "mtllib";
	const size_t library_bytes = sizeof library - 1;
	while (at < end && bounds_is_blank(*at))
		at++;
	size_t count = (size_t)(end - at);
	if (count > 1 && at[0] == 'v' && bounds_is_blank(at[1]))
		return bounds_read_point(at + 1, end, &bounds->box);
	*has_faces |= count > 1 && at[0] == 'f' && bounds_is_blank(at[1]);
	if (count > library_bytes && !memcmp(at, library, library_bytes) && bounds_is_blank(at[library_bytes]))
		return bounds_read_name(at + library_bytes, end, bounds);
	return true;
}

/* Whether lines end at "\n" or "\r\n" alone, and none is continued. */
static bool bounds_has_plain_lines(const char *bytes, size_t count)
{
	static const char others[] = {'\\', '\f', '\0'};
	for (size_t i = 0; i < sizeof others; i++)
		if (memchr(bytes, others[i], count))
			return false;
	const char *end = bytes + count;
	for (const char *at = bytes; (at = memchr(at, '\r', (size_t)(end - at))); at++)
		if (at + 1 == end || at[1] != '\n')
			return false;
	return true;
}

static bool bounds_of_obj(const char *bytes, size_t count, struct mesh_bounds *bounds)
{
	const char *at = bytes, *end = bytes + count;
	bool has_faces = false;
	if (!bounds_has_plain_lines(bytes, count))
		return false;
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at)), *next = line ? line + 1 : end;
		line = line ? line : end;
		if (line > at && line[-1] == '\r')
			line--;
		if (!bounds_read_line(at, line, bounds, &has_faces))
			return false;
		at = next;
	}
	return has_faces;
}

static bool bounds_of_stl(const char *bytes, size_t count, struct mesh_bounds *bounds)
{
	uint32_t triangles;
	float corners[9];
	if (count < BOUNDS_STL_HEAD + BOUNDS_STL_TRIANGLE)
		return false;
	memcpy(&triangles, bytes + BOUNDS_STL_HEAD - sizeof triangles, sizeof triangles);
	if (triangles > MESH_TRIANGLES_MAX || count != BOUNDS_STL_HEAD + (size_t)BOUNDS_STL_TRIANGLE * triangles)
		return false;
	for (uint32_t t = 0; t < triangles; t++) {
		memcpy(corners, bytes + BOUNDS_STL_HEAD + (size_t)BOUNDS_STL_TRIANGLE * t + 12, sizeof corners);
		for (int c = 0; c < 9; c += 3) {
			struct vec3 p = {(double)corners[c], (double)corners[c + 1], (double)corners[c + 2]};
			if (!vec3_within(p, MESH_REACH_MAX))
				return false;
			bounds_add(&bounds->box, p);
		}
	}
	return triangles > 0;
}

bool bounds_find(const char *path, const char *bytes, size_t count, struct mesh_bounds *ret_bounds)
{
	const char *suffix = strrchr(path, '.');
	*ret_bounds = (struct mesh_bounds){.box = AABB_NONE};
	bool known = suffix && !strcasecmp(suffix, ".obj")   ? bounds_of_obj(bytes, count, ret_bounds)
		     : suffix && !strcasecmp(suffix, ".stl") ? bounds_of_stl(bytes, count, ret_bounds)
							     : false;
	struct aabb *box = &ret_bounds->box;
	if (!known || aabb_is_empty(box) || !vec3_within(box->lo, MESH_REACH_MAX) ||
		!vec3_within(box->hi, MESH_REACH_MAX))
		return false;
	struct vec3 reach = vec3_max(box->hi, vec3_scale(box->lo, -1));
	*box = aabb_grow(*box, BOUNDS_MARGIN * MAX(MAX(reach.x, reach.y), reach.z));
	return true;
}
