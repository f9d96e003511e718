/* The rays of a chunk of pixels are cast together, then their shadow rays, light by light: both run alike and are
 * searched eight at a time. A transparent visual lets a ray go on behind it, layer after layer. */
#include "sensor/picture.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 };

/* --- lenses ------------------------------------------------------------------------------------------------------- */

/* Where a point of the undistorted picture comes to lie, in focal lengths, y down; and the derivatives of that place.
 */
struct bent {
	double x, y, xx, xy, yy; /* xy: of x by y, and of y by x */
};

/* Brown's model with the coefficients of <distortion>. */
static struct bent distort(const struct picture_pinhole *hole, double x, double y)
{
	double r2 = x * x + y * y, radial = 1 + r2 * (hole->k1 + r2 * (hole->k2 + r2 * hole->k3)),
	       slope = 2 * (hole->k1 + r2 * (2 * hole->k2 + 3 * r2 * hole->k3)), p1 = hole->p1, p2 = hole->p2;
	return (struct bent){.x = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
		.y = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y,
		.xx = radial + x * x * slope + 2 * p1 * y + 6 * p2 * x,
		.xy = x * y * slope + 2 * p1 * x + 2 * p2 * y,
		.yy = radial + y * y * slope + 6 * p1 * y + 2 * p2 * x};
}

static double determinant(const struct bent *at)
{
	return at->xx * at->yy - at->xy * at->xy;
}

static double miss(const struct bent *at, double x, double y)
{
	return sqrt((at->x - x) * (at->x - x) + (at->y - y) * (at->y - y));
}

/* The inverse, by Newton's method from the axis outwards, with shorter steps where a whole one leads away. A barrel
 * folds the picture over at some radius: a pixel beyond has no inverse, and a step never goes over the fold. False: the
 * pixel shows nothing. */
static bool straighten(const struct picture_pinhole *hole, double *x, double *y)
{
	enum { STEPS_MAX = 100, HALVINGS_MAX = 40 };
	double to_x = *x, to_y = *y, at_x = 0, at_y = 0, size = 1 + sqrt(to_x * to_x + to_y * to_y);
	struct bent at = distort(hole, at_x, at_y);
	double off = miss(&at, to_x, to_y);
	for (int i = 0; i < STEPS_MAX && off > 1e-15 * size; i++) {
		double ex = to_x - at.x, ey = to_y - at.y, by = determinant(&at);
		double dx = (at.yy * ex - at.xy * ey) / by, dy = (at.xx * ey - at.xy * ex) / by;
		bool nearer = false;
		for (int k = 0; k < HALVINGS_MAX && !nearer; k++, dx /= 2, dy /= 2) {
			struct bent next = distort(hole, at_x + dx, at_y + dy);
			nearer = determinant(&next) > 0 && miss(&next, to_x, to_y) < off;
			if (nearer)
				at = next, at_x += dx, at_y += dy, off = miss(&next, to_x, to_y);
		}
		if (!nearer)
			break;
	}
	*x = at_x, *y = at_y;
	return off <= 1e-9 * size;
}

struct picture_pinhole picture_pinhole_of(const struct sdf_camera *camera)
{
	double w = camera->width, h = camera->height, f = picture_focal(camera, false);
	struct picture_pinhole hole = {.fx = f,
		.fy = f,
		.cx = w / 2,
		.cy = h / 2,
		.k1 = camera->k1,
		.k2 = camera->k2,
		.k3 = camera->k3,
		.p1 = camera->p1,
		.p2 = camera->p2};
	if (camera->intrinsics_given) {
		hole.fx = camera->fx, hole.fy = camera->fy;
		hole.cx = camera->cx, hole.cy = camera->cy;
		hole.skew = camera->skew;
	}
	hole.off_x = (camera->centre_x - 0.5) * w / hole.fx;
	hole.off_y = (camera->centre_y - 0.5) * h / hole.fy;
	return hole;
}

bool picture_slopes(const struct picture_pinhole *hole, double column, double row, double *ret_x, double *ret_y)
{
	double y = (row - hole->cy) / hole->fy, x = (column - hole->cx - hole->skew * y) / hole->fx;
	if (hole->k1 != 0 || hole->k2 != 0 || hole->k3 != 0 || hole->p1 != 0 || hole->p2 != 0) {
		x -= hole->off_x, y -= hole->off_y;
		if (!straighten(hole, &x, &y))
			return false;
		x += hole->off_x, y += hole->off_y;
	}
	*ret_x = x, *ret_y = y;
	return true;
}

static struct vec3 pinhole_ray(const struct picture_pinhole *hole, double column, double row)
{
	double x, y;
	return picture_slopes(hole, column, row, &x, &y) ? vec3_unit((struct vec3){1, -x, -y}) : (struct vec3){0, 0, 0};
}

/* r = c1 f fun(angle / c2 + c3), the lenses of SDF by their numbers. */
struct lens {
	double c1, c2, c3, f;
	enum sdf_lens_function function;
};

static struct lens lens_of(const struct sdf_camera *camera)
{
	switch (camera->lens) {
	case SDF_LENS_GNOMONICAL:
		return (struct lens){1, 1, 0, 1, SDF_LENS_TAN};
	case SDF_LENS_STEREOGRAPHIC:
		return (struct lens){2, 2, 0, 1, SDF_LENS_TAN};
	case SDF_LENS_EQUIDISTANT:
		return (struct lens){1, 1, 0, 1, SDF_LENS_ID};
	case SDF_LENS_EQUISOLID:
		return (struct lens){2, 2, 0, 1, SDF_LENS_SIN};
	case SDF_LENS_ORTHOGRAPHIC:
		return (struct lens){1, 1, 0, 1, SDF_LENS_SIN};
	case SDF_LENS_CUSTOM:
		break;
	}
	return (struct lens){camera->c1, camera->c2, camera->c3, camera->f, camera->function};
}

static double lens_value(const struct lens *lens, double angle)
{
	double x = angle / lens->c2 + lens->c3;
	return lens->c1 * lens->f *
	       (lens->function == SDF_LENS_TAN          ? math_tan(x)
		       : lens->function == SDF_LENS_SIN ? math_sin(x)
							: x);
}

/* The derivative of the radius by the angle, on the axis. */
static double lens_slope(const struct lens *lens)
{
	double cos = math_cos(lens->c3), slope = lens->c1 * lens->f / lens->c2;
	return lens->function == SDF_LENS_TAN   ? slope / (cos * cos)
	       : lens->function == SDF_LENS_SIN ? slope * cos
						: slope;
}

/* The angle of a radius; above pi: none. */
static double lens_angle(const struct lens *lens, double r)
{
	double x = r / (lens->c1 * lens->f);
	if (lens->function == SDF_LENS_SIN && !(fabs(x) <= 1))
		return INFINITY;
	double angle = lens->function == SDF_LENS_TAN   ? math_atan2(x, 1)
		       : lens->function == SDF_LENS_SIN ? math_asin(x)
							: x;
	return (angle - lens->c3) * lens->c2;
}

/* Radii are in halves of the picture's width; the lens is scaled so that its border has the field of view, unless
 * scale_to_hfov is false. */
static double lens_scale(const struct sdf_camera *camera, const struct lens *lens)
{
	return camera->lens_to_fov ? lens_value(lens, camera->fov_rad / 2) : 1;
}

double picture_focal(const struct sdf_camera *camera, bool wide)
{
	const struct lens lens = lens_of(camera);
	double half = camera->width / 2.0;
	return wide ? half * lens_slope(&lens) / lens_scale(camera, &lens) : half / math_tan(camera->fov_rad / 2);
}

static struct vec3 wide_ray(const struct sdf_camera *camera, double column, double row)
{
	struct lens lens = lens_of(camera);
	double half = camera->width / 2.0, y = (row - camera->height / 2.0) / half, x = (column - half) / half;
	double r = sqrt(x * x + y * y), angle = lens_angle(&lens, r * lens_scale(camera, &lens)), sin, cos;
	if (!(angle >= 0 && angle <= camera->cutoff_rad))
		return r == 0 ? (struct vec3){1, 0, 0} : (struct vec3){0, 0, 0};
	if (r == 0)
		return (struct vec3){1, 0, 0};
	math_sincos(angle, &sin, &cos);
	return (struct vec3){cos, -sin * x / r, -sin * y / r};
}

void picture_directions(const struct sdf_camera *camera, bool wide, struct vec3 *directions)
{
	struct picture_pinhole hole = picture_pinhole_of(camera);
	for (uint32_t r = 0; r < camera->height; r++)
		for (uint32_t c = 0; c < camera->width; c++)
			*directions++ =
				wide ? wide_ray(camera, c + 0.5, r + 0.5) : pinhole_ray(&hole, c + 0.5, r + 0.5);
}

/* --- lights ------------------------------------------------------------------------------------------------------- */

static void add_light(struct picture_lights *to, struct pose pose, const struct sdf_shine *shine)
{
	if (!shine->on || to->count == PICTURE_LIGHTS_MAX)
		return;
	to->at[to->count++] = (struct picture_light){pose.p, vec3_unit(quat_rotate(pose.q, shine->direction)), *shine};
}

static void add_links_lights(const struct state *state, uint32_t model, struct picture_lights *to)
{
	const struct scene *scene = state->scene;
	const struct scene_model *m = &scene->models[model];
	if (m->sdf == SDF_NONE)
		return;
	uint32_t first = m->from->models.at[m->sdf].link_first;
	for (uint32_t l = 0; l < m->link_count; l++) {
		const struct sdf_link *link = &m->from->links.at[first + l];
		for (uint32_t i = link->light_first; i < link->light_first + link->light_count; i++) {
			uint32_t place = scene_link_light(scene, model, i);
			const struct scene_light *now = place == SCENE_NONE ? NULL : &scene->lights[place];
			struct pose in_link = now ? now->pose : scene_light_in_link(m->from, i);
			add_light(to, pose_mul(state_link_pose(state, m->link_first + l, false), in_link),
				now ? &now->shine : &m->from->lights.at[i].shine);
		}
	}
}

void picture_lights(const struct state *state, struct picture_lights *lights)
{
	const struct scene *scene = state->scene;
	lights->count = 0;
	for (uint32_t i = 0; i < scene->light_count; i++)
		if (!scene->lights[i].absent && scene->lights[i].model == SCENE_NONE)
			add_light(lights, scene->lights[i].pose, &scene->lights[i].shine);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].id && !scene->models[m].absent)
			add_links_lights(state, m, lights);
}

/* --- colours ------------------------------------------------------------------------------------------------------ */

struct rgb {
	double r, g, b;
};

static struct rgb rgb_of(struct sdf_colour c)
{
	return (struct rgb){c.r, c.g, c.b};
}

static void add_rgb(struct rgb *to, struct rgb a, struct rgb b, double scale)
{
	to->r += a.r * b.r * scale;
	to->g += a.g * b.g * scale;
	to->b += a.b * b.b * scale;
}

static const struct sdf_material grey = {.ambient = {0.3, 0.3, 0.3, 1},
	.diffuse = {0.7, 0.7, 0.7, 1},
	.specular = {0.4, 0.4, 0.4, 1},
	.emissive = {0, 0, 0, 1},
	.lighting = true};

/* How much of the light comes to the point; *ret_to and *ret_far: its direction and distance from there. */
static double reach(const struct picture_light *light, struct vec3 point, struct vec3 *ret_to, double *ret_far)
{
	const struct sdf_shine *shine = &light->shine;
	*ret_to = vec3_scale(light->direction, -1);
	*ret_far = INFINITY;
	if (shine->kind == SDF_DIRECTIONAL_LIGHT)
		return shine->intensity;
	struct vec3 way = vec3_sub(light->p, point);
	double far = vec3_length(way), spot = 1;
	if (!(far > 0 && far <= shine->range_m))
		return 0;
	*ret_to = vec3_scale(way, 1 / far);
	*ret_far = far;
	if (shine->kind == SDF_SPOT_LIGHT) {
		double angle = -vec3_dot(*ret_to, light->direction), inner = math_cos(shine->inner_rad / 2),
		       outer = math_cos(shine->outer_rad / 2);
		if (!(angle > outer))
			return 0;
		double part = angle < inner ? (angle - outer) / (inner - outer) : 1;
		spot = part < 1 ? math_exp(shine->falloff * math_log(part)) : 1;
	}
	double weaker = shine->constant + far * (shine->linear + far * shine->quadratic);
	return weaker > 0 ? shine->intensity * spot / weaker : 0;
}

struct spot { /* a point of a visual that a pixel shows */
	uint32_t pixel;
	const struct sdf_material *material;
	struct vec3 point, normal, view; /* view: to the camera */
	double weight;                   /* of this layer in the pixel */
	struct rgb colour;
};

struct chunk {
	const struct rays *rays;
	const struct picture_lights *lights;
	const struct sdf_scene *scene;
	uint32_t mask;
	struct ray cast[CHUNK], shadow[CHUNK];
	struct ray_hit hits[CHUNK];
	struct spot spots[CHUNK];
	bool blocked[CHUNK];
	uint32_t lit[CHUNK]; /* by shadow ray: the spot */
};

static void shade(struct spot *spot, const struct picture_light *light, struct vec3 to, double strength)
{
	const struct sdf_material *m = spot->material;
	double steep = vec3_dot(spot->normal, to);
	add_rgb(&spot->colour, rgb_of(m->diffuse), rgb_of(light->shine.diffuse), strength * steep);
	double half = vec3_dot(spot->normal, vec3_unit(vec3_add(to, spot->view)));
	if (half > 0) {
		double shine = m->shininess > 0 ? math_exp(m->shininess * math_log(half)) : half;
		add_rgb(&spot->colour, rgb_of(m->specular), rgb_of(light->shine.specular), strength * shine);
	}
}

/* A shadow ray begins a little above the surface, which it must not hit again. */
enum { ABOVE_UM = 10 };

static void shine_on(struct chunk *c, uint32_t count, const struct picture_light *light)
{
	bool shadows = light->shine.cast_shadows && c->scene->shadows;
	double strength[CHUNK];
	uint32_t rays = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct spot *spot = &c->spots[i];
		struct vec3 to;
		double far;
		if (!spot->material->lighting)
			continue;
		strength[rays] = reach(light, spot->point, &to, &far);
		if (!(strength[rays] > 0 && vec3_dot(spot->normal, to) > 0))
			continue;
		struct vec3 above = vec3_add(spot->point, vec3_scale(spot->normal, ABOVE_UM * 1e-6));
		c->shadow[rays] = (struct ray){above, to, 0, far};
		c->blocked[rays] = false;
		c->lit[rays++] = i;
	}
	if (shadows)
		rays_blocked(c->rays, c->shadow, rays, c->mask, c->blocked);
	for (uint32_t k = 0; k < rays; k++)
		if (!c->blocked[k])
			shade(&c->spots[c->lit[k]], light, c->shadow[k].direction, strength[k]);
}

/* The visuals that the rays have hit, with their colours. Returns their number. */
static uint32_t light_up(struct chunk *c, const uint32_t *pixels, const double *left, uint32_t count)
{
	uint32_t spots = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct ray_hit *hit = &c->hits[i];
		if (hit->model == SCENE_NONE)
			continue;
		const struct sdf_visual *visual = rays_visual(c->rays, hit);
		const struct sdf_material *material = visual->material ? visual->material : &grey;
		struct spot *spot = &c->spots[spots++];
		*spot = (struct spot){.pixel = pixels[i],
			.material = material,
			.point = ray_point(&c->cast[i], hit),
			.normal = rays_normal(c->rays, &c->cast[i], hit),
			.view = vec3_scale(c->cast[i].direction, -1),
			.weight = left[i] * (1 - visual->transparency) * material->diffuse.a,
			.colour = rgb_of(material->emissive)};
		if (material->lighting)
			add_rgb(&spot->colour, rgb_of(material->ambient), rgb_of(c->scene->ambient), 1);
		else
			add_rgb(&spot->colour, rgb_of(material->diffuse), (struct rgb){1, 1, 1}, 1);
	}
	for (uint32_t l = 0; l < c->lights->count; l++)
		shine_on(c, spots, &c->lights->at[l]);
	return spots;
}

static void mix(float *pixel, struct rgb colour, double weight)
{
	pixel[0] += (float)(weight * fmin(colour.r, 1));
	pixel[1] += (float)(weight * fmin(colour.g, 1));
	pixel[2] += (float)(weight * fmin(colour.b, 1));
}

/* colour: of the pixels of the chunk; hits: of its first layer. pixels: of each ray, its pixel in the chunk. */
static void paint(struct chunk *c, float *colour, uint32_t pixels_count, uint32_t *pixels, uint32_t count)
{
	double left[CHUNK]; /* by ray: the part of the pixel that is still to be seen */
	double rest[CHUNK]; /* by pixel: the same */
	memset(colour, 0, pixels_count * 3 * sizeof *colour);
	for (uint32_t i = 0; i < pixels_count; i++)
		rest[i] = 1;
	for (uint32_t i = 0; i < count; i++)
		left[i] = 1;
	for (int layer = 0; count; layer++) {
		uint32_t spots = light_up(c, pixels, left, count), on = 0;
		for (uint32_t s = 0; s < spots; s++) {
			double weight = layer + 1 < PICTURE_LAYERS ? c->spots[s].weight : rest[c->spots[s].pixel];
			mix(&colour[3 * c->spots[s].pixel], c->spots[s].colour, weight);
			rest[c->spots[s].pixel] -= weight;
		}
		for (uint32_t i = 0; i < count; i++) {
			if (c->hits[i].model == SCENE_NONE || !(rest[pixels[i]] > 1e-3))
				continue;
			c->cast[on] = c->cast[i];
			c->cast[on].min = nextafter(c->hits[i].distance, INFINITY);
			left[on] = rest[pixels[i]];
			pixels[on++] = pixels[i];
		}
		count = on;
		rays_cast(c->rays, c->cast, count, c->mask, c->hits);
	}
	for (uint32_t i = 0; i < pixels_count; i++)
		mix(&colour[3 * i], rgb_of(c->scene->background), rest[i]);
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */

static struct vec3 turned(const struct mat3 *m, struct vec3 d)
{
	return (struct vec3){m->m[0][0] * d.x + m->m[0][1] * d.y + m->m[0][2] * d.z,
		m->m[1][0] * d.x + m->m[1][1] * d.y + m->m[1][2] * d.z,
		m->m[2][0] * d.x + m->m[2][1] * d.y + m->m[2][2] * d.z};
}

/* Makes the rays of all pixels of the chunk that have a ray, from near to far along the camera's axis (for a ray that
 * does not go ahead, along the ray). Returns their number. */
static uint32_t aim(struct chunk *c, const struct vec3 *directions, uint32_t count, struct pose pose, double near,
	double far, uint32_t *pixels)
{
	struct mat3 m = quat_matrix(quat_unit(pose.q));
	uint32_t rays = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct vec3 d = directions[i];
		double slant = d.x > 0.01 ? d.x : 1;
		if (d.x == 0 && d.y == 0 && d.z == 0)
			continue;
		c->cast[rays] = (struct ray){pose.p, turned(&m, d), near / slant, far / slant};
		pixels[rays++] = i;
	}
	return rays;
}

static void measure_depth(struct chunk *c, const struct sdf_camera *camera, const struct vec3 *directions,
	uint32_t count, struct pose pose, float *depth)
{
	uint32_t pixels[CHUNK];
	uint32_t rays = aim(c, directions, count, pose, 0, camera->depth_far_m, pixels);
	rays_cast(c->rays, c->cast, rays, c->mask, c->hits);
	for (uint32_t i = 0; i < count; i++)
		depth[i] = INFINITY;
	for (uint32_t i = 0; i < rays; i++) {
		double along = c->hits[i].distance * directions[pixels[i]].x;
		if (c->hits[i].model != SCENE_NONE)
			depth[pixels[i]] = along < camera->depth_near_m ? -INFINITY : (float)along;
	}
}

static void label(struct chunk *c, const struct picture *picture, uint32_t first, uint32_t count,
	const uint32_t *pixels, uint32_t rays)
{
	if (picture->labels)
		memset(&picture->labels[first], 0, count * sizeof *picture->labels);
	if (picture->instances)
		memset(&picture->instances[first], 0, count * sizeof *picture->instances);
	for (uint32_t i = 0; i < rays; i++) {
		if (c->hits[i].model == SCENE_NONE)
			continue;
		struct rays_label label = rays_label(c->rays, &c->hits[i]);
		if (picture->labels)
			picture->labels[first + pixels[i]] = label.label;
		if (picture->instances)
			picture->instances[first + pixels[i]] = label.instance;
	}
}

void picture_take(const struct rays *rays, const struct picture_lights *lights, const struct sdf_camera *camera,
	const struct vec3 *directions, struct pose pose, const struct picture *picture)
{
	struct chunk *c = mem_alloc(sizeof *c);
	uint32_t total = picture->count ? picture->count : camera->width * camera->height, pixels[CHUNK];
	c->rays = rays;
	c->lights = lights;
	c->scene = rays_surroundings(rays);
	c->mask = camera->visibility_mask;
	for (uint32_t first = 0; first < total; first += CHUNK) {
		uint32_t count = MIN(total - first, (uint32_t)CHUNK);
		if (picture->depth)
			measure_depth(c, camera, &directions[first], count, pose, &picture->depth[first]);
		if (!picture->colour && !picture->labels && !picture->instances)
			continue;
		uint32_t aimed = aim(c, &directions[first], count, pose, camera->near_m, camera->far_m, pixels);
		rays_cast(rays, c->cast, aimed, c->mask, c->hits);
		label(c, picture, first, count, pixels, aimed);
		if (picture->colour)
			paint(c, &picture->colour[3 * (size_t)first], count, pixels, aimed);
	}
	free(c);
}

/* --- boxes and frustums ------------------------------------------------------------------------------------------- */

static bool box_before(const struct picture_box *a, uint32_t label, uint32_t instance)
{
	return a->label != label ? a->label < label : a->instance < instance;
}

/* The place of a model's box among boxes in order, or where it would be. */
static uint32_t find_box(
	const struct picture_box *boxes, uint32_t count, uint32_t label, uint32_t instance, bool *ret_found)
{
	uint32_t lo = 0, hi = count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (box_before(&boxes[middle], label, instance))
			lo = middle + 1;
		else
			hi = middle;
	}
	*ret_found = lo < count && boxes[lo].label == label && boxes[lo].instance == instance;
	return lo;
}

/* The box of a model; it is made in its place, which keeps the order. NULL: there is no more room. */
static struct picture_box *box_of(
	struct picture_box *boxes, uint32_t *count, uint32_t room, uint32_t label, uint32_t instance)
{
	bool found;
	uint32_t at = find_box(boxes, *count, label, instance, &found);
	if (found)
		return &boxes[at];
	if (*count == room)
		return NULL;
	memmove(&boxes[at + 1], &boxes[at], (*count - at) * sizeof *boxes);
	(*count)++;
	boxes[at] = (struct picture_box){label, instance, UINT32_MAX, UINT32_MAX, 0, 0};
	return &boxes[at];
}

uint32_t picture_boxes(const uint32_t *labels, const uint32_t *instances, uint32_t width, uint32_t height,
	struct picture_box *boxes, uint32_t room)
{
	uint32_t count = 0;
	for (uint32_t r = 0; r < height; r++)
		for (uint32_t c = 0; c < width; c++) {
			size_t i = (size_t)r * width + c;
			struct picture_box *box =
				labels[i] ? box_of(boxes, &count, room, labels[i], instances[i]) : NULL;
			if (!box)
				continue;
			box->left = MIN(box->left, c);
			box->top = MIN(box->top, r);
			box->right = MAX(box->right, c);
			box->bottom = MAX(box->bottom, r);
		}
	return count;
}

struct fit { /* boxes that grow around the points of models */
	const struct picture_box *boxes;
	uint32_t count;
	struct pose from_world; /* into the camera's frame */
	struct picture_pinhole hole;
	struct aabb *around; /* 2d: x, y are pixels; 3d: in the model's frame */
	struct pose *models; /* 3d: the models' poses; NULL: 2d */
};

static void fit_points(void *ctx, struct rays_label label, struct pose model, const struct vec3 *points, uint32_t count)
{
	struct fit *fit = ctx;
	bool found;
	uint32_t at = find_box(fit->boxes, fit->count, label.label, label.instance, &found);
	struct pose back = pose_inverse(model);
	for (uint32_t i = 0; found && i < count; i++) {
		struct vec3 p = pose_point(fit->models ? back : fit->from_world, points[i]);
		if (!fit->models) {
			if (!(p.x > 1e-6))
				continue;
			double x = -p.y / p.x, y = -p.z / p.x;
			p = (struct vec3){fit->hole.cx + fit->hole.fx * x + fit->hole.skew * y,
				fit->hole.cy + fit->hole.fy * y, 0};
		}
		fit->around[at] = aabb_join(fit->around[at], (struct aabb){p, p});
	}
	if (found && fit->models)
		fit->models[at] = model;
}

static void fit_all(struct fit *fit, const struct rays *rays)
{
	fit->around = mem_alloc((fit->count + 1) * sizeof *fit->around);
	for (uint32_t i = 0; i < fit->count; i++)
		fit->around[i] = AABB_NONE;
	rays_outlines(rays, fit_points, fit);
}

/* The pixel that holds the place, in the picture. */
static uint32_t pixel_at(double place, uint32_t size)
{
	return place < 0 ? 0 : place >= size ? size - 1 : (uint32_t)place;
}

void picture_full_boxes(const struct rays *rays, const struct sdf_camera *camera, struct pose pose,
	struct picture_box *boxes, uint32_t count)
{
	struct fit fit = {
		.boxes = boxes, .count = count, .from_world = pose_inverse(pose), .hole = picture_pinhole_of(camera)};
	fit_all(&fit, rays);
	for (uint32_t i = 0; i < count; i++) {
		const struct aabb *around = &fit.around[i];
		if (aabb_is_empty(around))
			continue;
		boxes[i].left = pixel_at(around->lo.x, camera->width);
		boxes[i].right = pixel_at(around->hi.x, camera->width);
		boxes[i].top = pixel_at(around->lo.y, camera->height);
		boxes[i].bottom = pixel_at(around->hi.y, camera->height);
	}
	free(fit.around);
}

void picture_solids(const struct rays *rays, struct pose pose, const struct picture_box *boxes, uint32_t count,
	struct picture_solid *solids)
{
	struct fit fit = {.boxes = boxes, .count = count, .from_world = pose_inverse(pose)};
	fit.models = mem_alloc((count + 1) * sizeof *fit.models);
	fit_all(&fit, rays);
	for (uint32_t i = 0; i < count; i++) {
		struct aabb around = fit.around[i];
		if (aabb_is_empty(&around)) {
			solids[i] = (struct picture_solid){POSE_IDENTITY, {0, 0, 0}};
			continue;
		}
		struct vec3 size = vec3_sub(around.hi, around.lo), middle = vec3_add(around.lo, vec3_scale(size, 0.5));
		struct pose in_world = pose_mul(fit.models[i], (struct pose){middle, QUAT_IDENTITY});
		solids[i] = (struct picture_solid){pose_mul(fit.from_world, in_world), size};
	}
	free(fit.around);
	free(fit.models);
}

bool picture_frustum_holds(const struct sdf_logical_camera *camera, struct pose pose, struct vec3 point)
{
	struct vec3 p = pose_point(pose_inverse(pose), point);
	double wide = math_tan(camera->fov_rad / 2), high = wide / camera->aspect_ratio;
	return p.x >= camera->near_m && p.x <= camera->far_m && fabs(p.y) <= wide * p.x && fabs(p.z) <= high * p.x;
}
