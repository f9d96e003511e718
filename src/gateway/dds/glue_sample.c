/* The library's interface for kinds of samples of one's own. A type has no description: the library has compared the
 * names of two types before it asks whether they are equal. */
#include "gateway/dds/glue_sample.h"

#include "gateway/dds/glue.h"

#include <dds/ddsi/q_radmin.h>

#include <stdlib.h>
#include <string.h>

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* NULL: there is no memory; the library drops the message. */
static struct glue_sample *glue_sample_new_sample(
	const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t count)
{
	struct glue_sample *sample = calloc(1, sizeof *sample + ((count + 3) & ~(size_t)3));
	if (!sample)
		return NULL;
	ddsi_serdata_init(&sample->base, type, kind);
	sample->base.hash = type->serdata_basehash;
	sample->count = count;
	return sample;
}

static bool glue_sample_is_equal(const struct ddsi_serdata *a, const struct ddsi_serdata *b)
{
	(void)a, (void)b;
	return true; /* no keys */
}

static uint32_t glue_sample_get_size(const struct ddsi_serdata *base)
{
	return (uint32_t)glue_sample_of(base)->count;
}

static struct ddsi_serdata *glue_sample_of_fragments(
	const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const struct nn_rdata *fragment, size_t count)
{
	struct glue_sample *sample =
		count >= 4 && count <= GLUE_HEAR_MAX ? glue_sample_new_sample(type, kind, count) : NULL;
	size_t at = 0;
	for (; sample && fragment; fragment = fragment->nextfrag) {
		if (fragment->maxp1 <= at || fragment->min > at)
			continue;
		const unsigned char *from = NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_PAYLOAD_OFF(fragment));
		size_t end = fragment->maxp1 < count ? fragment->maxp1 : count;
		if (end <= at)
			break;
		memcpy(sample->bytes + at, from + (at - fragment->min), end - at);
		at = end;
	}
	return sample ? &sample->base : NULL;
}

static struct ddsi_serdata *glue_sample_of_vectors(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
	ddsrt_msg_iovlen_t vector_count, const ddsrt_iovec_t *vectors, size_t count)
{
	struct glue_sample *sample =
		count >= 4 && count <= GLUE_HEAR_MAX ? glue_sample_new_sample(type, kind, count) : NULL;
	size_t at = 0;
	for (size_t i = 0; sample && i < (size_t)vector_count && at < count; i++) {
		size_t part = vectors[i].iov_len < count - at ? vectors[i].iov_len : count - at;
		memcpy(sample->bytes + at, vectors[i].iov_base, part);
		at += part;
	}
	return sample ? &sample->base : NULL;
}

static struct ddsi_serdata *glue_sample_of_keyhash(const struct ddsi_sertype *type, const struct ddsi_keyhash *hash)
{
	(void)hash;
	struct glue_sample *sample = glue_sample_new_sample(type, SDK_KEY, 0);
	return sample ? &sample->base : NULL;
}

static struct ddsi_serdata *glue_sample_of_application(
	const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const void *given)
{
	const struct glue_bytes *bytes = given;
	size_t count = kind == SDK_DATA ? bytes->count : 0;
	struct glue_sample *sample = glue_sample_new_sample(type, kind, count);
	if (!sample)
		return NULL;
	if (count)
		memcpy(sample->bytes, bytes->at, count);
	return &sample->base;
}

static void glue_sample_copy_out(const struct ddsi_serdata *base, size_t offset, size_t count, void *to)
{
	memcpy(to, glue_sample_of(base)->bytes + offset, count);
}

static struct ddsi_serdata *glue_sample_lend(
	const struct ddsi_serdata *base, size_t offset, size_t count, ddsrt_iovec_t *ret_vector)
{
	ret_vector->iov_base = glue_sample_of(base)->bytes + offset;
	ret_vector->iov_len = count;
	return ddsi_serdata_ref(base);
}

static void glue_sample_give_back(struct ddsi_serdata *base, const ddsrt_iovec_t *vector)
{
	(void)vector;
	ddsi_serdata_unref(base);
}

/* Messages are taken as samples (dds_takecdr). */
static bool glue_sample_to_application(const struct ddsi_serdata *base, void *given, void **room, void *room_end)
{
	(void)base, (void)given, (void)room, (void)room_end;
	return false;
}

static bool glue_sample_key_to_application(
	const struct ddsi_sertype *type, const struct ddsi_serdata *base, void *given, void **room, void *room_end)
{
	(void)type, (void)base, (void)given, (void)room, (void)room_end;
	return true;
}

static struct ddsi_serdata *glue_sample_to_untyped(const struct ddsi_serdata *base)
{
	struct glue_sample *sample = glue_sample_new_sample(base->type, SDK_KEY, 0);
	if (!sample)
		return NULL;
	sample->base.type = NULL;
	return &sample->base;
}

static void glue_sample_free_sample(struct ddsi_serdata *base)
{
	free(glue_sample_of(base));
}

static size_t glue_sample_print(
	const struct ddsi_sertype *type, const struct ddsi_serdata *base, char *text, size_t size)
{
	(void)type;
	return (size_t)snprintf(text, size, "%zu bytes", glue_sample_of(base)->count);
}

static void glue_sample_get_keyhash(const struct ddsi_serdata *base, struct ddsi_keyhash *hash, bool force_md5)
{
	(void)base, (void)force_md5;
	memset(hash, 0, sizeof *hash);
}

const struct ddsi_serdata_ops glue_sample_ops = {
	.eqkey = glue_sample_is_equal,
	.get_size = glue_sample_get_size,
	.from_ser = glue_sample_of_fragments,
	.from_ser_iov = glue_sample_of_vectors,
	.from_keyhash = glue_sample_of_keyhash,
	.from_sample = glue_sample_of_application,
	.to_ser = glue_sample_copy_out,
	.to_ser_ref = glue_sample_lend,
	.to_ser_unref = glue_sample_give_back,
	.to_sample = glue_sample_to_application,
	.to_untyped = glue_sample_to_untyped,
	.untyped_to_sample = glue_sample_key_to_application,
	.free = glue_sample_free_sample,
	.print = glue_sample_print,
	.get_keyhash = glue_sample_get_keyhash,
};

/* --- types -------------------------------------------------------------------------------------------------------- */

static void glue_sample_free_type(struct ddsi_sertype *type)
{
	ddsi_sertype_fini(type);
	free(type);
}

static void glue_sample_zero_samples(const struct ddsi_sertype *type, void *samples, size_t count)
{
	(void)type;
	memset(samples, 0, count * sizeof(struct glue_bytes));
}

static void glue_sample_realloc_samples(
	void **pointers, const struct ddsi_sertype *type, void *old, size_t old_count, size_t count)
{
	(void)type;
	struct glue_bytes *samples = realloc(old, (count ? count : 1) * sizeof *samples);
	for (size_t i = 0; samples && i < count; i++) {
		if (i >= old_count)
			samples[i] = (struct glue_bytes){0};
		pointers[i] = samples + i;
	}
}

static void glue_sample_free_samples(const struct ddsi_sertype *type, void **pointers, size_t count, dds_free_op_t op)
{
	(void)type;
	if (count && op == DDS_FREE_ALL)
		free(pointers[0]);
}

static bool glue_sample_types_are_equal(const struct ddsi_sertype *a, const struct ddsi_sertype *b)
{
	(void)a, (void)b;
	return true; /* the library has compared the names */
}

static uint32_t glue_sample_hash_type(const struct ddsi_sertype *type)
{
	(void)type;
	return 0;
}

const struct ddsi_sertype_ops glue_sample_type_ops = {
	.version = ddsi_sertype_v0,
	.free = glue_sample_free_type,
	.zero_samples = glue_sample_zero_samples,
	.realloc_samples = glue_sample_realloc_samples,
	.free_samples = glue_sample_free_samples,
	.equal = glue_sample_types_are_equal,
	.hash = glue_sample_hash_type,
};
