/* Two lists under one lock: what is asked for, and what is done. The thread sleeps on a condition while there is
 * nothing to do; no thread of the simulation or of the web server waits for it.
 *
 * All robots of a kind have the same meshes, and all browsers ask for them. So a frame is kept under the bytes of its
 * geometry; when there are too many, all are dropped. */
#include "gateway/view/meshes.h"

#include "base/json_out.h"
#include "base/map.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_NS = 100000000, MESHES_DEPTH = 4 };

struct meshes_wish {
	struct meshes_wish *next;
	uint64_t page, id;
	char *service;
	bool image;
	struct text request;
};

struct meshes_kept {
	char *key;         /* service and request, in hexadecimal */
	struct text frame; /* without the id */
};

struct meshes {
	struct bus *client; /* the thread's */
	struct images *images;
	void (*on_done)(void *ctx);
	void *ctx;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* under the lock */
	struct meshes_wish *first, *last;
	struct meshes_result *done, *done_last;
	uint32_t waiting;
	bool stop;
	/* the thread's */
	struct map index; /* key -> index in kept */
	VEC(struct meshes_kept) kept;
	size_t kept_bytes;
};

void meshes_result_free(struct meshes_result *result)
{
	text_fini(&result->bytes);
	free(result);
}

static void meshes_free_wish(struct meshes_wish *wish)
{
	free(wish->service);
	text_fini(&wish->request);
	free(wish);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static void meshes_add_32(struct text *out, uint32_t value)
{
	const char bytes[4] = {(char)value, (char)(value >> 8), (char)(value >> 16), (char)(value >> 24)};
	text_add_bytes(out, bytes, sizeof bytes);
}

static void meshes_add_float(struct text *out, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	meshes_add_32(out, bits);
}

static troupe_status meshes_decode(const struct troupe_message *message, message_type type,
	ProtobufCMessage **ret_decoded, struct troupe_error *error)
{
	static const struct message_limits limits = {.bytes_max = MESSAGE_MEMORY_MAX, .items_max = UINT32_MAX};
	return message_of_bytes(type, message->bytes, message->count, &limits, ret_decoded, error);
}

static void meshes_add_map(
	struct meshes *meshes, const Troupe__Msgs__Mesh *mesh, uint32_t number, const char *key, struct json_out *out)
{
	char path[IMAGES_PATH_BYTES];
	if (!number || number > mesh->n_image)
		return;
	const Troupe__Msgs__ImageFile *image = mesh->image[number - 1];
	if (images_put(meshes->images, image->type, image->data.data, image->data.len, path))
		json_out_string(out, key, path);
}

static void meshes_add_floats(struct json_out *out, const char *key, const float *numbers, size_t count)
{
	json_out_array(out, key);
	for (size_t i = 0; i < count; i++)
		json_out_double(out, NULL, isfinite(numbers[i]) ? (double)numbers[i] : 0);
	json_out_end(out);
}

static void meshes_add_material(struct meshes *meshes, const Troupe__Msgs__Mesh *mesh,
	const Troupe__Msgs__Mesh__Material *from, struct json_out *out)
{
	json_out_object(out, NULL);
	meshes_add_floats(out, "diffuse", from->diffuse, from->n_diffuse);
	meshes_add_floats(out, "specular", from->specular, from->n_specular);
	meshes_add_floats(out, "emissive", from->emissive, from->n_emissive);
	json_out_double(out, "shininess", (double)from->shininess);
	json_out_bool(out, "metallic", from->metallic);
	json_out_double(out, "roughness", (double)from->roughness);
	json_out_double(out, "metalness", (double)from->metalness);
	json_out_bool(out, "doubleSided", from->double_sided);
	json_out_string(out, "alpha", from->cut ? "cut" : from->opaque ? "opaque" : "blended");
	json_out_double(out, "cutoff", (double)from->cutoff);
	meshes_add_map(meshes, mesh, from->albedo_map, "albedoMap", out);
	meshes_add_map(meshes, mesh, from->normal_map, "normalMap", out);
	meshes_add_map(meshes, mesh, from->roughness_map, "roughnessMap", out);
	meshes_add_map(meshes, mesh, from->metalness_map, "metalnessMap", out);
	meshes_add_map(meshes, mesh, from->emissive_map, "emissiveMap", out);
	json_out_end(out);
}

static void meshes_add_look(struct meshes *meshes, const Troupe__Msgs__Mesh *mesh, struct text *out)
{
	struct text text = {0};
	struct json_out json = {.text = &text};
	json_out_object(&json, NULL);
	json_out_array(&json, "parts");
	for (size_t i = 0; i < mesh->n_part; i++) {
		json_out_object(&json, NULL);
		json_out_uint(&json, "first", mesh->part[i]->first);
		json_out_uint(&json, "count", mesh->part[i]->count);
		json_out_uint(&json, "material", mesh->part[i]->material);
		json_out_end(&json);
	}
	json_out_end(&json);
	json_out_array(&json, "materials");
	for (size_t i = 0; i < mesh->n_material; i++)
		meshes_add_material(meshes, mesh, mesh->material[i], &json);
	json_out_end(&json);
	json_out_end(&json);
	text_add_bytes(out, text.at, text.count);
	text_fini(&text);
}

/* The frame from the number of points on. */
static troupe_status meshes_make_frame(
	struct meshes *meshes, const struct troupe_message *message, struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *decoded;
	troupe_status status = meshes_decode(message, &troupe__msgs__mesh__descriptor, &decoded, error);
	if (status)
		return status;
	const Troupe__Msgs__Mesh *mesh = (const Troupe__Msgs__Mesh *)(const void *)decoded;
	uint32_t points = (uint32_t)(mesh->n_point / 3), triangles = (uint32_t)(mesh->n_corner / 3);
	uint32_t texcoords = mesh->n_texcoord / 6 == triangles ? 3 * triangles : 0;
	text_reserve(out, 16 + 12 * ((size_t)points + triangles) + 8 * (size_t)texcoords);
	meshes_add_32(out, points);
	meshes_add_32(out, triangles);
	meshes_add_32(out, texcoords);
	for (size_t i = 0; i < 3 * (size_t)points; i++)
		meshes_add_float(out, mesh->point[i]);
	for (size_t i = 0; i < 3 * (size_t)triangles; i++)
		meshes_add_32(out, mesh->corner[i]);
	for (size_t i = 0; i < 2 * (size_t)texcoords; i++)
		meshes_add_float(out, mesh->texcoord[i]);
	meshes_add_look(meshes, mesh, out);
	message_free(decoded);
	return TROUPE_OK;
}

static troupe_status meshes_make_path(
	struct meshes *meshes, const struct troupe_message *message, struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *decoded;
	char path[IMAGES_PATH_BYTES];
	troupe_status status = meshes_decode(message, &troupe__msgs__image_file__descriptor, &decoded, error);
	if (status)
		return status;
	const Troupe__Msgs__ImageFile *image = (const Troupe__Msgs__ImageFile *)(const void *)decoded;
	if (images_put(meshes->images, image->type, image->data.data, image->data.len, path))
		text_add(out, "%s", path);
	else
		status = fail(error, TROUPE_ELIMIT, "the images of the world have more than %d MiB, or this is none",
			IMAGES_BYTES_MAX >> 20);
	message_free(decoded);
	return status;
}

static bool meshes_is_stopping(struct meshes *meshes)
{
	pthread_mutex_lock(&meshes->lock);
	bool stop = meshes->stop;
	pthread_mutex_unlock(&meshes->lock);
	return stop;
}

static troupe_status meshes_fetch(
	struct meshes *meshes, const struct meshes_wish *wish, struct text *ret_frame, struct troupe_error *error)
{
	struct troupe_message message;
	troupe_status status = meshes->client->ops->call(
		meshes->client, wish->service, NULL, wish->request.at, wish->request.count, 0, error);
	if (status)
		return status;
	while (!meshes->client->ops->take(meshes->client, WAIT_NS, &message))
		if (meshes_is_stopping(meshes))
			return fail(error, TROUPE_EIO, "the run has ended");
	if (message.status)
		return fail(error, message.status, "%s", message.text);
	return wish->image ? meshes_make_path(meshes, &message, ret_frame, error)
			   : meshes_make_frame(meshes, &message, ret_frame, error);
}

/* --- what is kept ------------------------------------------------------------------------------------------------- */

static void meshes_drop_kept(struct meshes *meshes)
{
	for (uint32_t i = 0; i < meshes->kept.count; i++) {
		free(meshes->kept.at[i].key);
		text_fini(&meshes->kept.at[i].frame);
	}
	vec_free(&meshes->kept);
	map_fini(&meshes->index);
	meshes->kept_bytes = 0;
}

static char *meshes_key_of(const struct meshes_wish *wish)
{
	struct text key = {0};
	text_add(&key, "%s ", wish->service);
	for (size_t i = 0; i < wish->request.count; i++)
		text_add(&key, "%02x", (unsigned char)wish->request.at[i]);
	return key.at;
}

/* Takes both over. */
static const struct text *meshes_keep(struct meshes *meshes, char *key, struct text frame)
{
	if (meshes->kept_bytes + frame.count > MESHES_KEPT_BYTES_MAX)
		meshes_drop_kept(meshes);
	meshes->kept_bytes += frame.count;
	map_add(&meshes->index, key, meshes->kept.count);
	vec_push(&meshes->kept, (struct meshes_kept){key, frame});
	return &meshes->kept.at[meshes->kept.count - 1].frame;
}

static const struct text *meshes_find(struct meshes *meshes, const struct meshes_wish *wish, struct troupe_error *error)
{
	const struct text *frame = NULL;
	struct text made = {0};
	uint32_t at;
	char *key = meshes_key_of(wish);
	if (!map_find(&meshes->index, key, &at) && !meshes_fetch(meshes, wish, &made, error))
		return meshes_keep(meshes, key, made);
	if (map_find(&meshes->index, key, &at))
		frame = &meshes->kept.at[at].frame;
	free(key);
	text_fini(&made);
	return frame;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static struct meshes_result *meshes_answer(struct meshes *meshes, const struct meshes_wish *wish)
{
	struct meshes_result *result = mem_alloc(sizeof *result);
	struct troupe_error error;
	const struct text *frame = meshes_find(meshes, wish, &error);
	*result = (struct meshes_result){
		.page = wish->page, .id = wish->id, .good = frame, .is_path = frame && wish->image};
	if (!frame) {
		text_add(&result->bytes, "%s", error.text);
		return result;
	}
	if (wish->image) {
		text_add_bytes(&result->bytes, frame->at, frame->count);
		return result;
	}
	text_reserve(&result->bytes, 8 + frame->count);
	meshes_add_32(&result->bytes, MESHES_KIND);
	meshes_add_32(&result->bytes, (uint32_t)wish->id);
	text_add_bytes(&result->bytes, frame->at, frame->count);
	return result;
}

static struct meshes_wish *meshes_next_wish(struct meshes *meshes)
{
	pthread_mutex_lock(&meshes->lock);
	while (!meshes->first && !meshes->stop)
		pthread_cond_wait(&meshes->more, &meshes->lock);
	struct meshes_wish *wish = meshes->stop ? NULL : meshes->first;
	if (wish) {
		meshes->first = wish->next;
		meshes->last = meshes->first ? meshes->last : NULL;
	}
	pthread_mutex_unlock(&meshes->lock);
	return wish;
}

static void *meshes_work(void *arg)
{
	struct meshes *meshes = arg;
	for (struct meshes_wish *wish = meshes_next_wish(meshes); wish; wish = meshes_next_wish(meshes)) {
		struct meshes_result *result = meshes_answer(meshes, wish);
		meshes_free_wish(wish);
		pthread_mutex_lock(&meshes->lock);
		if (meshes->done_last)
			meshes->done_last->next = result;
		else
			meshes->done = result;
		meshes->done_last = result;
		pthread_mutex_unlock(&meshes->lock);
		meshes->on_done(meshes->ctx);
	}
	return NULL;
}

troupe_status meshes_ask(struct meshes *meshes, const struct meshes_question *question, struct troupe_error *error)
{
	pthread_mutex_lock(&meshes->lock);
	bool full = meshes->waiting >= MESHES_WAITING_MAX;
	pthread_mutex_unlock(&meshes->lock);
	if (full)
		return fail(error, TROUPE_ELIMIT, "%d meshes wait to be read: expected no more", MESHES_WAITING_MAX);
	struct meshes_wish *wish = mem_alloc(sizeof *wish);
	*wish = (struct meshes_wish){.page = question->page,
		.id = question->id,
		.service = mem_printf("%s/scene/%s", question->world, question->image ? "image" : "mesh"),
		.image = question->image};
	text_add_bytes(&wish->request, question->bytes, question->count);
	pthread_mutex_lock(&meshes->lock);
	if (meshes->last)
		meshes->last->next = wish;
	else
		meshes->first = wish;
	meshes->last = wish;
	meshes->waiting++;
	pthread_cond_signal(&meshes->more);
	pthread_mutex_unlock(&meshes->lock);
	return TROUPE_OK;
}

struct meshes_result *meshes_take(struct meshes *meshes)
{
	pthread_mutex_lock(&meshes->lock);
	struct meshes_result *result = meshes->done;
	if (result) {
		meshes->done = result->next;
		meshes->done_last = meshes->done ? meshes->done_last : NULL;
		meshes->waiting--;
	}
	pthread_mutex_unlock(&meshes->lock);
	return result;
}

troupe_status meshes_create(const struct bus_place *place, struct images *images, void (*on_done)(void *ctx), void *ctx,
	struct meshes **ret_meshes, struct troupe_error *error)
{
	struct meshes *meshes = mem_alloc(sizeof *meshes);
	*meshes = (struct meshes){.images = images, .on_done = on_done, .ctx = ctx};
	pthread_mutex_init(&meshes->lock, NULL);
	pthread_cond_init(&meshes->more, NULL);
	troupe_status status = bus_open(place, MESHES_DEPTH, NULL, NULL, &meshes->client, error);
	int failed = status ? 0 : pthread_create(&meshes->thread, NULL, meshes_work, meshes);
	mem_check_thread(failed);
	if (failed)
		status = fail(error, TROUPE_ELIMIT, "the viewer: cannot start a thread: %s", strerror(failed));
	if (!status) {
		*ret_meshes = meshes;
		return TROUPE_OK;
	}
	bus_destroy(meshes->client);
	pthread_cond_destroy(&meshes->more);
	pthread_mutex_destroy(&meshes->lock);
	free(meshes);
	return status;
}

void meshes_destroy(struct meshes *meshes)
{
	if (!meshes)
		return;
	pthread_mutex_lock(&meshes->lock);
	meshes->stop = true;
	pthread_cond_signal(&meshes->more);
	pthread_mutex_unlock(&meshes->lock);
	pthread_join(meshes->thread, NULL);
	for (struct meshes_wish *wish = meshes->first, *next; wish; wish = next) {
		next = wish->next;
		meshes_free_wish(wish);
	}
	for (struct meshes_result *result = meshes->done, *next; result; result = next) {
		next = result->next;
		meshes_result_free(result);
	}
	meshes_drop_kept(meshes);
	bus_destroy(meshes->client);
	pthread_cond_destroy(&meshes->more);
	pthread_mutex_destroy(&meshes->lock);
	free(meshes);
}
