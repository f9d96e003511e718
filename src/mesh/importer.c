/* The parent's side: it asks, and the child answers (importer_child.h). The parent checks the head before it receives
 * the rest, and allocates only as much memory as bytes have arrived.
 *
 * One child reads all files of a world: starting a child takes a millisecond, more if the parent uses much memory, and
 * a small mesh is read in a tenth of that. The price is that a damaged file may damage the child for the next file. So
 * if a child dies that has read other files before, a new child reads the file again, and only the second death
 * counts.
 *
 * The kernel ends a child with the thread that started it, so that no child outlives the process. Threads that create
 * models come and go, and the child stays: so it is started, asked and ended by a thread of the importer's own. A
 * thread that asks waits until that thread has the answer; a second one waits until the first is done.
 *
 * The death of a child is an error of its own kind (TROUPE_EINTERNAL). If a library refuses a file, it does so on all
 * peers, and the model goes on without the mesh. A death may depend on the machine, and all peers must have the same
 * shapes. */
#include "mesh/importer.h"

#include "base/hash.h"
#include "base/parse.h"
#include "base/sandbox.h"
#include "config.h"
#include "mesh/answer.h"
#include "mesh/importer_child.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifdef HAVE_MESHES
#define BUILT_WITH_MESHES true
#else
#define BUILT_WITH_MESHES false
#endif

enum {
	WALL_FACTOR = 10, /* time for a file, in units of the limit of processor time: the machine may be busy */
	IMPORTER_STILL_S = 5,
	TRIES = 20,               /* attempts to read a file in children that stand still */
	DEATHS_MAX = 50,          /* deaths of children after which no more files are read */
	IMPORTER_ASKED_MAX = 256, /* files that one file may ask for */
	PATH_BYTES_MAX = 4096,
};

/* A texture that was read, and of which bytes. */
struct importer_texture {
	uint64_t hash[2];
	size_t count;
	struct texture *texture;
	bool cube;
};

struct importer {
	struct sandbox_limits limits;
	struct troupe_error wrong; /* in the environment; status TROUPE_OK: nothing */
	_Atomic bool given_up;
	pthread_mutex_t lock;             /* held by the thread whose file is being read */
	bool has_thread;                  /* under the lock */
	pthread_t thread;                 /* started for the first file */
	sem_t asked, answered;            /* the request is there; it is answered */
	struct importer_request *request; /* NULL when asked: the thread ends */
	pthread_mutex_t textures_lock;
	VEC(struct importer_texture) textures; /* under textures_lock */
	/* the thread's */
	struct sandbox *sandbox; /* NULL: none at the moment */
	bool used;               /* the child has read a file */
};

/* A file that is being read. */
struct importer_request {
	enum importer_what what;
	struct files *files;
	struct importer_losses *losses;
	const char *path, *bytes;
	size_t count;
	size_t named, named_bytes; /* files that it has asked for */
	/* the answer */
	struct importer_head head;
	struct text *out;
	struct troupe_error *error;
	troupe_status status;
	bool distrusted; /* after the answer: its child is to be ended */
};

static const char importer_memory_name[] = "TROUPE_MESH_MEMORY_MIB", importer_cpu_name[] = "TROUPE_MESH_CPU_S";

/* The number of this name in the environment, or else the usual one. */
static uint32_t importer_limit(struct importer *importer, const char *name, uint32_t usual, uint32_t most)
{
	const char *text = getenv(name);
	int64_t number;
	if (!text || !*text)
		return usual;
	if (parse_int64(text, &number) && number >= 1 && number <= most)
		return (uint32_t)number;
	(void)fail(&importer->wrong, TROUPE_EINTERNAL, "%s in the environment: '%.40s': expected 1 to %u", name, text,
		most);
	return usual;
}

struct importer *importer_create(void)
{
	struct importer *importer = mem_alloc(sizeof *importer);
	uint32_t memory_mib =
		importer_limit(importer, importer_memory_name, IMPORTER_MEMORY_MIB, IMPORTER_MEMORY_MIB_MAX);
	uint32_t cpu_s = importer_limit(importer, importer_cpu_name, IMPORTER_CPU_S, IMPORTER_CPU_S_MAX);
	importer->limits = (struct sandbox_limits){.memory_bytes = (size_t)memory_mib << 20,
		.cpu_s = cpu_s,
		.wall_s = WALL_FACTOR * cpu_s,
		.still_s = IMPORTER_STILL_S,
		.given_up = &importer->given_up};
	pthread_mutex_init(&importer->lock, NULL);
	pthread_mutex_init(&importer->textures_lock, NULL);
	(void)sem_init(&importer->asked, 0, 0);
	(void)sem_init(&importer->answered, 0, 0);
	return importer;
}

void importer_destroy(struct importer *importer)
{
	if (!importer)
		return;
	if (importer->has_thread) {
		importer->request = NULL;
		(void)sem_post(&importer->asked);
		(void)pthread_join(importer->thread, NULL);
	}
	(void)sem_destroy(&importer->asked);
	(void)sem_destroy(&importer->answered);
	pthread_mutex_destroy(&importer->lock);
	pthread_mutex_destroy(&importer->textures_lock);
	for (uint32_t i = 0; i < importer->textures.count; i++)
		texture_release(importer->textures.at[i].texture);
	vec_free(&importer->textures);
	free(importer);
}

void importer_give_up(struct importer *importer)
{
	if (importer)
		atomic_store(&importer->given_up, true);
}

static troupe_status importer_start(struct importer *importer, struct troupe_error *error)
{
	struct troupe_error why;
	importer->used = false;
	if (importer->wrong.status)
		return fail(error, TROUPE_EINTERNAL, "%s", importer->wrong.text);
	if (!sandbox_create(&importer->limits, importer_serve, NULL, &importer->sandbox, &why))
		return TROUPE_OK;
	return fail(error, TROUPE_EINTERNAL, "%s", why.text);
}

static void importer_stop(struct importer *importer)
{
	sandbox_destroy(importer->sandbox);
	importer->sandbox = NULL;
}

/* Receives count bytes; memory grows as they arrive. */
static troupe_status importer_receive(
	struct importer *importer, uint64_t count, struct text *out, struct troupe_error *error)
{
	char some[65536];
	troupe_status status = TROUPE_OK;
	while (count && !status) {
		size_t now = (size_t)MIN(count, (uint64_t)sizeof some);
		status = sandbox_receive(importer->sandbox, some, now, error);
		if (!status)
			text_add_bytes(out, some, now);
		count -= now;
	}
	return status;
}

static troupe_status importer_send_file(
	struct importer *importer, struct importer_request *request, uint64_t path_bytes, struct troupe_error *error)
{
	char path[PATH_BYTES_MAX + 1] = {0};
	const char *bytes = NULL;
	size_t count = 0;
	troupe_status status = sandbox_receive(importer->sandbox, path, path_bytes, error);
	if (status)
		return status;
	bool there =
		request->files && ++request->named <= IMPORTER_ASKED_MAX &&
		files_look(request->files, path) == FILES_FILE &&
		!files_read(request->files, path, MESH_FILE_BYTES_MAX - request->named_bytes, &bytes, &count, NULL);
	request->named_bytes += count;
	struct importer_head head = {.what = GIVE_FILE, .status = there ? TROUPE_OK : TROUPE_EIO, .bytes = count};
	status = sandbox_send(importer->sandbox, &head, sizeof head, error);
	return status ? status : sandbox_send(importer->sandbox, bytes, count, error);
}

static troupe_status importer_send_request(
	struct importer *importer, const struct importer_request *request, struct troupe_error *error)
{
	struct importer_head head = {
		.what = request->what, .path_bytes = (uint32_t)strlen(request->path), .bytes = request->count};
	troupe_status status = sandbox_send(importer->sandbox, &head, sizeof head, error);
	if (!status)
		status = sandbox_send(importer->sandbox, request->path, head.path_bytes, error);
	return status ? status : sandbox_send(importer->sandbox, request->bytes, request->count, error);
}

/* Receives the head of the next message, and checks that a child may send it. */
static troupe_status importer_receive_head(
	struct importer *importer, struct importer_head *head, struct troupe_error *error)
{
	troupe_status status = sandbox_receive(importer->sandbox, head, sizeof *head, error);
	if (status)
		return status;
	uint64_t most = head->what == WANT_FILE ? PATH_BYTES_MAX
			: head->what == ANSWER  ? ANSWER_BYTES_MAX
						: TROUPE_ERROR_TEXT_BYTES;
	if (head->what < WANT_FILE || head->what > ANSWER_REFUSED || head->bytes > most)
		return fail(error, TROUPE_EPROTOCOL, "sent no answer");
	return TROUPE_OK;
}

/* Exchanges messages from the request to the answer. */
static troupe_status importer_converse(struct importer *importer, struct importer_request *request,
	struct importer_head *ret_head, struct text *out, struct troupe_error *error)
{
	struct importer_head head;
	troupe_status status = importer_send_request(importer, request, error);
	if (!status)
		status = importer_receive_head(importer, &head, error);
	while (!status && head.what == WANT_FILE) {
		status = importer_send_file(importer, request, head.bytes, error);
		if (!status)
			status = importer_receive_head(importer, &head, error);
	}
	if (status)
		return status;
	if (head.what == ANSWER_REFUSED && head.status == TROUPE_EINTERNAL)
		return fail(error, TROUPE_EINTERNAL, "needs more than %zu MiB of memory",
			importer->limits.memory_bytes >> 20);
	*ret_head = head;
	return importer_receive(importer, head.bytes, out, error);
}

/* Whether another child may succeed: this child has read other files before, or waited for a lock. */
static bool importer_failed_by_chance(struct importer *importer, struct importer_losses *losses)
{
	enum sandbox_state state = sandbox_state(importer->sandbox);
	if (state != SANDBOX_OVER_TIME && state != SANDBOX_GIVEN_UP && (importer->used || state == SANDBOX_STILL))
		return true;
	losses->deaths++;
	losses->over = state == SANDBOX_OVER_TIME || losses->deaths >= DEATHS_MAX;
	return false;
}

/* How the user can change the limit that the child has reached. */
static const char *importer_hint(const struct importer *importer, const struct troupe_error *why)
{
	if (importer->sandbox && sandbox_state(importer->sandbox) == SANDBOX_OVER_TIME)
		return "; TROUPE_MESH_CPU_S in the environment changes this limit";
	return strstr(why->text, "MiB of memory") ? "; TROUPE_MESH_MEMORY_MIB in the environment changes this limit"
						  : "";
}

/* TROUPE_OK: request->head and *request->out are an answer. The thread's. */
static troupe_status importer_ask(struct importer *importer, struct importer_request *request)
{
	struct troupe_error why = {0};
	const char *hint = "";
	bool again = true;
	for (int tries = TRIES; again && tries; tries--) {
		troupe_status status = importer->sandbox ? TROUPE_OK : importer_start(importer, request->error);
		if (status)
			return status;
		sandbox_begin(importer->sandbox);
		request->named = request->named_bytes = request->out->count = 0;
		status = importer_converse(importer, request, &request->head, request->out, &why);
		again = status && importer_failed_by_chance(importer, request->losses);
		importer->used = true;
		hint = status ? importer_hint(importer, &why) : "";
		if (status || sandbox_is_worn(importer->sandbox))
			importer_stop(importer);
		if (!status)
			return TROUPE_OK;
	}
	return fail(request->error, TROUPE_EINTERNAL, "the process that reads it %.200s%s", why.text, hint);
}

static void *importer_work(void *ctx)
{
	struct importer *importer = ctx;
	for (;;) {
		(void)AGAIN(sem_wait(&importer->asked));
		struct importer_request *request = importer->request;
		if (!request)
			break;
		if (request->distrusted)
			importer_stop(importer);
		else
			request->status = importer_ask(importer, request);
		(void)sem_post(&importer->answered);
	}
	importer_stop(importer);
	return NULL;
}

/* The thread takes no signals: the process has others for that. */
static troupe_status importer_start_thread(struct importer *importer, struct troupe_error *error)
{
	sigset_t all, before;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int code = pthread_create(&importer->thread, NULL, importer_work, importer);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	mem_check_thread(code);
	importer->has_thread = !code;
	return code ? fail(error, TROUPE_EINTERNAL, "is not read: cannot start a thread: %s", strerror(code))
		    : TROUPE_OK;
}

/* Has the thread do what the request says. */
static troupe_status importer_submit(struct importer *importer, struct importer_request *request)
{
	if (request->losses->over)
		return fail(request->error, TROUPE_EINTERNAL,
			"not read, because reading other files took too long or failed too often");
	pthread_mutex_lock(&importer->lock);
	troupe_status status = importer->has_thread ? TROUPE_OK : importer_start_thread(importer, request->error);
	if (!status) {
		importer->request = request;
		(void)sem_post(&importer->asked);
		(void)AGAIN(sem_wait(&importer->answered));
		status = request->status;
	}
	pthread_mutex_unlock(&importer->lock);
	return status;
}

static troupe_status importer_submit_bytes(struct importer *importer, struct importer_request *request)
{
	struct troupe_error *error = request->error;
	struct text *out = request->out;
	troupe_status status = BUILT_WITH_MESHES ? importer_submit(importer, request)
						 : fail(error, TROUPE_EWORLD, "this troupe was built without meshes");
	if (!status && request->head.what == ANSWER_REFUSED)
		status = fail(error, request->head.status == TROUPE_ELIMIT ? TROUPE_ELIMIT : TROUPE_EWORLD, "%.300s",
			out->at ? out->at : "no reason");
	return status;
}

static troupe_status importer_read_file(struct importer *importer, struct importer_request *request, size_t bytes_max)
{
	struct troupe_error *error = request->error;
	if (strlen(request->path) > PATH_BYTES_MAX)
		return fail(error, TROUPE_ELIMIT, "a path of more than %d bytes", PATH_BYTES_MAX);
	if (files_look(request->files, request->path) != FILES_FILE)
		return fail(error, TROUPE_EIO, "not a plain file");
	troupe_status status =
		files_read(request->files, request->path, bytes_max, &request->bytes, &request->count, error);
	return status ? status : importer_submit_bytes(importer, request);
}

/* An inconsistent answer: the file has taken over the child. */
static troupe_status importer_distrust(
	struct importer *importer, struct importer_request *request, const struct troupe_error *why)
{
	request->distrusted = true;
	request->status = TROUPE_OK;
	(void)importer_submit(importer, request);
	return fail(request->error, TROUPE_EINTERNAL, "the process that reads it sent %s", why->text);
}

/* --- files ------------------------------------------------------------------------------------------------------ */

static bool importer_is_known(const char *path)
{
	static const char *const known[] = {".obj", ".stl", ".dae", ".glb", ".gltf"};
	const char *suffix = strrchr(path, '.');
	for (size_t i = 0; suffix && i < ARRAY_LEN(known); i++)
		if (!strcasecmp(suffix, known[i]))
			return true;
	return false;
}

troupe_status importer_mesh(struct importer *importer, struct importer_losses *losses, struct files *files,
	const char *path, struct mesh *ret_mesh, struct troupe_error *error)
{
	struct text answer = {0};
	struct importer_request request = {
		.what = ASK_MESH, .files = files, .losses = losses, .path = path, .out = &answer, .error = error};
	struct troupe_error why;
	if (!importer_is_known(path))
		return fail(error, TROUPE_EWORLD, "unknown suffix: expected .obj, .stl, .dae, .glb or .gltf");
	troupe_status status = importer_read_file(importer, &request, MESH_FILE_BYTES_MAX);
	if (!status && answer_unpack_mesh(answer.at, answer.count, ret_mesh, &why))
		status = importer_distrust(importer, &request, &why);
	text_fini(&answer);
	return status;
}

troupe_status importer_image(struct importer *importer, struct importer_losses *losses, struct files *files,
	const char *path, struct image *ret_image, struct troupe_error *error)
{
	struct text answer = {0};
	struct importer_request request = {
		.what = ASK_IMAGE, .files = files, .losses = losses, .path = path, .out = &answer, .error = error};
	struct troupe_error why;
	troupe_status status = importer_read_file(importer, &request, IMAGE_FILE_BYTES_MAX);
	if (!status && answer_unpack_image(answer.at, answer.count, ret_image, &why))
		status = importer_distrust(importer, &request, &why);
	text_fini(&answer);
	return status;
}

/* --- textures --------------------------------------------------------------------------------------------------- */

/* Under the lock. Textures that only the importer has are dropped. NULL: these bytes have no texture yet. */
static struct texture *importer_find_texture(struct importer *importer, const struct importer_texture *wanted)
{
	struct texture *found = NULL;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < importer->textures.count; i++) {
		struct importer_texture *at = &importer->textures.at[i];
		if (at->cube == wanted->cube && at->count == wanted->count &&
			!memcmp(at->hash, wanted->hash, sizeof at->hash))
			found = texture_share(at->texture);
		if (texture_users(at->texture) > 1)
			importer->textures.at[kept++] = *at;
		else
			texture_release(at->texture);
	}
	importer->textures.count = kept;
	return found;
}

static troupe_status importer_read_texture(struct importer *importer, struct importer_losses *losses, const char *bytes,
	size_t count, bool cube, struct texture **ret_texture, struct troupe_error *error)
{
	struct text answer = {0};
	struct importer_request request = {.what = cube ? ASK_CUBE : ASK_TEXELS,
		.losses = losses,
		.path = "texture",
		.bytes = bytes,
		.count = count,
		.out = &answer,
		.error = error};
	struct image_texels texels;
	struct troupe_error why;
	if (count > TEXTURE_FILE_BYTES_MAX)
		return fail(error, TROUPE_ELIMIT, "larger than %d bytes", TEXTURE_FILE_BYTES_MAX);
	troupe_status status = importer_submit_bytes(importer, &request);
	if (!status && answer_unpack_texels(answer.at, answer.count, cube, &texels, &why))
		status = importer_distrust(importer, &request, &why);
	else if (!status)
		*ret_texture = texture_create(texels.width, texels.height, texels.rgba);
	text_fini(&answer);
	return status;
}

static troupe_status importer_get_texture(struct importer *importer, struct importer_losses *losses, const char *bytes,
	size_t count, bool cube, struct texture **ret_texture, struct troupe_error *error)
{
	struct importer_texture wanted = {
		{hash_bytes(1, bytes, count), hash_bytes(2, bytes, count)}, count, NULL, cube};
	pthread_mutex_lock(&importer->textures_lock);
	*ret_texture = importer_find_texture(importer, &wanted);
	pthread_mutex_unlock(&importer->textures_lock);
	if (*ret_texture)
		return TROUPE_OK;
	troupe_status status = importer_read_texture(importer, losses, bytes, count, cube, &wanted.texture, error);
	if (status)
		return status;
	*ret_texture = texture_share(wanted.texture);
	pthread_mutex_lock(&importer->textures_lock);
	vec_push(&importer->textures, wanted);
	pthread_mutex_unlock(&importer->textures_lock);
	return TROUPE_OK;
}

troupe_status importer_texture(struct importer *importer, struct importer_losses *losses, const char *bytes,
	size_t count, struct texture **ret_texture, struct troupe_error *error)
{
	return importer_get_texture(importer, losses, bytes, count, false, ret_texture, error);
}

troupe_status importer_cube(struct importer *importer, struct importer_losses *losses, const char *bytes, size_t count,
	struct texture **ret_texture, struct troupe_error *error)
{
	return importer_get_texture(importer, losses, bytes, count, true, ret_texture, error);
}

uint32_t importer_count_textures(struct importer *importer, uint64_t *ret_bytes)
{
	uint32_t count = 0;
	*ret_bytes = 0;
	pthread_mutex_lock(&importer->textures_lock);
	for (uint32_t i = 0; i < importer->textures.count; i++)
		if (texture_users(importer->textures.at[i].texture) > 1) {
			count++;
			*ret_bytes += texture_bytes(importer->textures.at[i].texture);
		}
	pthread_mutex_unlock(&importer->textures_lock);
	return count;
}
