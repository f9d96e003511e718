/* Items are one user geometry: Embree calls back for each leaf that rays reach. Embree's own triangles and instances
 * would be a little faster, but their hits have the errors of single precision, and other ones with each instruction
 * set; a second, exact pass over such a hit cannot find the surface that Embree has wrongly left out.
 *
 * The library has 40 MiB and takes more than a millisecond to load. So it is loaded by dlopen(), in a process whose
 * world has a sensor that needs it, and never unloaded: it has threads' data that outlive its last user. With one
 * thread it builds trees on the calling thread, and starts none of its own. It may change MXCSR while it builds: the
 * floating-point environment of the caller is kept. A search changes nothing in it.
 *
 * Out of memory: the error function ends the process, as base/base.h says. */
#include "sensor/tree.h"

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#ifdef HAVE_EMBREE

#include "sensor/embree.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdatomic.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                   \
	X(rtcAttachGeometry)                                                                                           \
	X(rtcCommitGeometry)                                                                                           \
	X(rtcCommitScene)                                                                                              \
	X(rtcGetDeviceError)                                                                                           \
	X(rtcGetDeviceProperty)                                                                                        \
	X(rtcIntersect8)                                                                                               \
	X(rtcNewDevice)                                                                                                \
	X(rtcNewGeometry)                                                                                              \
	X(rtcNewScene)                                                                                                 \
	X(rtcReleaseDevice)                                                                                            \
	X(rtcReleaseGeometry)                                                                                          \
	X(rtcReleaseScene)                                                                                             \
	X(rtcSetDeviceErrorFunction)                                                                                   \
	X(rtcSetGeometryBoundsFunction)                                                                                \
	X(rtcSetGeometryBuildQuality)                                                                                  \
	X(rtcSetGeometryIntersectFunction)                                                                             \
	X(rtcSetGeometryUserData)                                                                                      \
	X(rtcSetGeometryUserPrimitiveCount)                                                                            \
	X(rtcSetSceneBuildQuality)

struct library {
#define X(name) __typeof__(name) *name;
	FUNCTIONS(X)
#undef X
};

struct tree_maker {
	struct library call;
	RTCDevice device;
};

struct tree {
	const struct library *call;
	struct tree_maker *maker;
	RTCScene scene;
	RTCGeometry items;
	const struct tree_box *boxes; /* only during tree_build() */
	uint32_t count;
};

struct tree_search { /* what Embree hands through to tree_meet_items() */
	struct embree_query query;
	tree_meet_fn *meet;
	void *ctx;
};

static troupe_status tree_load(struct library *call, struct troupe_error *error)
{
	void *library = dlopen(EMBREE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return fail(error, TROUPE_EINVAL,
			"Embree cannot be loaded: %.300s: expected " EMBREE_LIBRARY
			" (on Debian: " EMBREE_PACKAGE ")",
			dlerror());
#define X(name)                                                                                                        \
	*(void **)&call->name = dlsym(library, #name);                                                                 \
	if (!call->name)                                                                                               \
		return fail(error, TROUPE_EINVAL,                                                                      \
			"Embree: " EMBREE_LIBRARY " has no function " #name ": expected version " EMBREE_OLDEST);
	FUNCTIONS(X)
#undef X
	return TROUPE_OK;
}

/* The answer does not change during a process: two threads that ask at the same time both find it out. */
bool tree_available(void)
{
	static _Atomic int known; /* 0: not known yet, 1: yes, -1: no */
	struct troupe_error error;
	struct library call;
	int now = atomic_load(&known);
	if (!now) {
		now = tree_load(&call, &error) ? -1 : 1;
		atomic_store(&known, now);
	}
	return now > 0;
}

static void tree_on_error(void *ctx, enum RTCError code, const char *text)
{
	(void)ctx, (void)text;
	if (code == RTC_ERROR_OUT_OF_MEMORY)
		mem_run_out(0);
}

troupe_status tree_maker_create(const char *set, struct tree_maker **ret_maker, struct troupe_error *error)
{
	struct tree_maker *maker = mem_alloc(sizeof *maker);
	char *settings = mem_printf("threads=1,start_threads=0,set_affinity=0,ignore_config_files=1%s%s",
		set ? ",isa=" : "", set ? set : "");
	fenv_t before;
	troupe_status status = tree_load(&maker->call, error);
	fegetenv(&before);
	if (!status) {
		maker->device = maker->call.rtcNewDevice(settings);
		if (!maker->device)
			status = fail(error, TROUPE_EINVAL,
				"Embree does not start: error %d: expected a CPU for which it was built",
				maker->call.rtcGetDeviceError(NULL));
	}
	fesetenv(&before);
	free(settings);
	if (status) {
		free(maker);
		return status;
	}
	maker->call.rtcSetDeviceErrorFunction(maker->device, tree_on_error, NULL);
	*ret_maker = maker;
	return TROUPE_OK;
}

void tree_maker_destroy(struct tree_maker *maker)
{
	if (!maker)
		return;
	maker->call.rtcReleaseDevice(maker->device);
	free(maker);
}

/* Embree asks the CPU, and troupe does not have to. */
bool tree_maker_has_avx(const struct tree_maker *maker)
{
	return maker->call.rtcGetDeviceProperty(maker->device, RTC_DEVICE_PROPERTY_NATIVE_RAY8_SUPPORTED) > 0;
}

struct tree *tree_create(struct tree_maker *maker)
{
	struct tree *tree = mem_alloc(sizeof *tree);
	tree->maker = maker;
	tree->call = &maker->call;
	return tree;
}

static void tree_drop(struct tree *tree)
{
	if (tree->items)
		tree->call->rtcReleaseGeometry(tree->items);
	if (tree->scene)
		tree->call->rtcReleaseScene(tree->scene);
	tree->items = NULL;
	tree->scene = NULL;
	tree->count = 0;
}

void tree_destroy(struct tree *tree)
{
	if (!tree)
		return;
	tree_drop(tree);
	free(tree);
}

static void tree_bound_item(const struct RTCBoundsFunctionArguments *args)
{
	const struct tree *tree = args->geometryUserPtr;
	const struct tree_box *box = &tree->boxes[args->primID];
	struct RTCBounds *to = args->bounds_o;
	to->lower_x = box->lo[0], to->lower_y = box->lo[1], to->lower_z = box->lo[2];
	to->upper_x = box->hi[0], to->upper_y = box->hi[1], to->upper_z = box->hi[2];
}

/* Eight rays as they were given. */
static void tree_meet_all(const struct RTCIntersectFunctionNArguments *args, const struct tree_search *search)
{
	struct RTCRayHit8 *rays = (struct RTCRayHit8 *)(void *)args->rayhit;
	search->meet(search->ctx, args->primID, args->valid, rays->ray.tfar);
}

/* Embree may hand on fewer rays at a time: it has no packets of eight for an instruction set without AVX. For N rays
 * the members of struct RTCRay follow each other as arrays of N. */
static void tree_meet_some(const struct RTCIntersectFunctionNArguments *args, const struct tree_search *search)
{
	enum { FAR = offsetof(struct RTCRay, tfar) / sizeof(float), ID = offsetof(struct RTCRay, id) / sizeof(float) };
	int32_t valid[TREE_LANES] = {0};
	float far[TREE_LANES] = {0};
	float *fars = (float *)(void *)args->rayhit + FAR * args->N;
	const unsigned *lanes = (const unsigned *)(const void *)args->rayhit + ID * args->N;
	for (unsigned i = 0; i < args->N; i++)
		if (args->valid[i]) {
			valid[lanes[i]] = -1;
			far[lanes[i]] = fars[i];
		}
	search->meet(search->ctx, args->primID, valid, far);
	for (unsigned i = 0; i < args->N; i++)
		if (args->valid[i])
			fars[i] = far[lanes[i]];
}

static void tree_meet_items(const struct RTCIntersectFunctionNArguments *args)
{
	const struct tree_search *search = (const struct tree_search *)(const void *)args->context;
	if (args->N == TREE_LANES)
		tree_meet_all(args, search);
	else
		tree_meet_some(args, search);
}

/* A scene whose number of items changes is made anew. */
static void tree_make_scene(struct tree *tree, uint32_t count)
{
	const struct library *call = tree->call;
	tree_drop(tree);
	tree->count = count;
	if (!count)
		return;
	tree->scene = call->rtcNewScene(tree->maker->device);
	tree->items = call->rtcNewGeometry(tree->maker->device, RTC_GEOMETRY_TYPE_USER);
	call->rtcSetGeometryUserPrimitiveCount(tree->items, count);
	call->rtcSetGeometryUserData(tree->items, tree);
	call->rtcSetGeometryBoundsFunction(tree->items, tree_bound_item, NULL);
	call->rtcSetGeometryIntersectFunction(tree->items, tree_meet_items);
	call->rtcAttachGeometry(tree->scene, tree->items);
}

void tree_build(struct tree *tree, const struct tree_box *boxes, uint32_t count, bool quick)
{
	const struct library *call = tree->call;
	enum RTCBuildQuality quality = quick ? RTC_BUILD_QUALITY_LOW : RTC_BUILD_QUALITY_MEDIUM;
	fenv_t before;
	fegetenv(&before);
	if (count != tree->count)
		tree_make_scene(tree, count);
	if (count) {
		tree->boxes = boxes;
		call->rtcSetGeometryBuildQuality(tree->items, quality);
		call->rtcSetSceneBuildQuality(tree->scene, quality);
		call->rtcCommitGeometry(tree->items);
		call->rtcCommitScene(tree->scene);
		tree->boxes = NULL;
	}
	fesetenv(&before);
}

void tree_search(const struct tree *tree, struct tree_rays *rays, tree_meet_fn *meet, void *ctx)
{
	static const unsigned lanes[TREE_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct tree_search search = {.meet = meet, .ctx = ctx};
	struct RTCRayHit8 packet;
	if (!tree->count)
		return;
	memcpy(packet.ray.org_x, rays->origin[0], sizeof rays->origin[0]);
	memcpy(packet.ray.org_y, rays->origin[1], sizeof rays->origin[1]);
	memcpy(packet.ray.org_z, rays->origin[2], sizeof rays->origin[2]);
	memcpy(packet.ray.dir_x, rays->direction[0], sizeof rays->direction[0]);
	memcpy(packet.ray.dir_y, rays->direction[1], sizeof rays->direction[1]);
	memcpy(packet.ray.dir_z, rays->direction[2], sizeof rays->direction[2]);
	memcpy(packet.ray.tfar, rays->far, sizeof rays->far);
	memcpy(packet.ray.id, lanes, sizeof lanes);
	memset(packet.ray.tnear, 0, sizeof packet.ray.tnear);
	memset(packet.ray.time, 0, sizeof packet.ray.time);
	memset(packet.ray.mask, 0xff, sizeof packet.ray.mask);
	memset(packet.ray.flags, 0, sizeof packet.ray.flags);
	memset(packet.hit.geomID, 0xff, sizeof packet.hit.geomID);
	embree_query_init(&search.query);
	embree_intersect8(tree->call->rtcIntersect8, &search.query, rays->valid, tree->scene, &packet);
	memcpy(rays->far, packet.ray.tfar, sizeof rays->far);
}

#else

bool tree_available(void)
{
	return false;
}

troupe_status tree_maker_create(const char *set, struct tree_maker **ret_maker, struct troupe_error *error)
{
	(void)set, (void)ret_maker;
	return fail(error, TROUPE_EINVAL, "troupe was built without Embree: expected a build with libembree-dev");
}

/* without a maker there is no tree */
void tree_maker_destroy(struct tree_maker *maker)
{
	assert(!maker);
}

bool tree_maker_has_avx(const struct tree_maker *maker)
{
	(void)maker;
	return false;
}

struct tree *tree_create(struct tree_maker *maker)
{
	(void)maker;
	abort();
}

void tree_destroy(struct tree *tree)
{
	assert(!tree);
}

void tree_build(struct tree *tree, const struct tree_box *boxes, uint32_t count, bool quick)
{
	(void)tree, (void)boxes, (void)count, (void)quick;
	abort();
}

void tree_search(const struct tree *tree, struct tree_rays *rays, tree_meet_fn *meet, void *ctx)
{
	(void)tree, (void)rays, (void)meet, (void)ctx;
	abort();
}

#endif
