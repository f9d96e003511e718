/* The hash is that of the world's files (base/hash.h), which somebody could make collide; so the bytes are compared,
 * too, and an image whose hash another one has gets the hash of another seed. */
#include "gateway/view/images.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES_SEEDS_MAX = 8 };

struct images_one {
	char *path; /* with "/" at its begin */
	const char *type;
	char *bytes;
	size_t count;
};

struct images {
	pthread_mutex_t lock;
	/* under the lock */
	VEC(struct images_one) all;
	struct map by_path;
	size_t bytes;
};

struct images *images_create(void)
{
	struct images *images = mem_alloc(sizeof *images);
	*images = (struct images){0};
	pthread_mutex_init(&images->lock, NULL);
	return images;
}

void images_destroy(struct images *images)
{
	if (!images)
		return;
	for (uint32_t i = 0; i < images->all.count; i++) {
		free(images->all.at[i].path);
		free(images->all.at[i].bytes);
	}
	vec_free(&images->all);
	map_fini(&images->by_path);
	pthread_mutex_destroy(&images->lock);
	free(images);
}

static const char *images_type(const char *type)
{
	return !strcmp(type, "image/png") ? "image/png" : !strcmp(type, "image/jpeg") ? "image/jpeg" : NULL;
}

static bool images_add(struct images *images, const char *path, const char *type, const void *bytes, size_t count)
{
	if (images->all.count >= IMAGES_COUNT_MAX || count > IMAGES_BYTES_MAX - images->bytes)
		return false;
	struct images_one one = {mem_strdup(path), type, mem_alloc(count + 1), count};
	memcpy(one.bytes, bytes, count);
	map_add(&images->by_path, one.path, images->all.count);
	vec_push(&images->all, one);
	images->bytes += count;
	return true;
}

bool images_put(
	struct images *images, const char *type, const void *bytes, size_t count, char ret_path[IMAGES_PATH_BYTES])
{
	const char *known = images_type(type);
	char path[IMAGES_PATH_BYTES];
	bool there = false, taken = true;
	if (!known || !count)
		return false;
	pthread_mutex_lock(&images->lock);
	for (uint64_t seed = 0; seed < IMAGES_SEEDS_MAX && taken && !there; seed++) {
		uint32_t index;
		(void)snprintf(path, sizeof path, "/images/%016" PRIx64, hash_bytes(seed, bytes, count));
		taken = map_find(&images->by_path, path, &index);
		there = taken && images->all.at[index].count == count &&
			!memcmp(images->all.at[index].bytes, bytes, count);
	}
	there = there || (!taken && images_add(images, path, known, bytes, count));
	pthread_mutex_unlock(&images->lock);
	if (there)
		memcpy(ret_path, path + 1, strlen(path));
	return there;
}

bool images_find(struct images *images, const char *path, struct web_file *ret_file)
{
	uint32_t index;
	pthread_mutex_lock(&images->lock);
	bool found = map_find(&images->by_path, path, &index);
	if (found) {
		const struct images_one *one = &images->all.at[index];
		*ret_file = (struct web_file){
			.path = one->path, .type = one->type, .bytes = one->bytes, .count = one->count, .lasts = true};
	}
	pthread_mutex_unlock(&images->lock);
	return found;
}
