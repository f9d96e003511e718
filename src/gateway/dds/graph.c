/* The id of an end is its GUID in DDS, with zeros behind where there is more room. */
#include "gateway/dds/graph.h"

#include "base/base.h"
#include "gateway/ros/cdr.h"

#include <string.h>

enum { GID_BYTES = 16, GID_BYTES_HUMBLE = 24 };

static void graph_add_gid(struct cdr_out *out, const unsigned char guid[GLUE_GUID_BYTES], bool humble)
{
	unsigned char *at = cdr_room(out, 1, humble ? GID_BYTES_HUMBLE : GID_BYTES);
	memset(at, 0, humble ? GID_BYTES_HUMBLE : GID_BYTES);
	memcpy(at, guid, GLUE_GUID_BYTES);
}

static void graph_add_gids(
	struct cdr_out *out, troupe_topic_kind kind, const struct graph_end *ends, uint32_t count, bool humble)
{
	uint32_t of_kind = 0;
	for (uint32_t i = 0; i < count; i++)
		of_kind += ends[i].kind == kind;
	cdr_count(out, of_kind);
	for (uint32_t i = 0; i < count; i++)
		if (ends[i].kind == kind)
			graph_add_gid(out, ends[i].guid, humble);
}

void graph_add(struct text *out, const unsigned char participant[GLUE_GUID_BYTES], const char *space, const char *node,
	const struct graph_end *ends, uint32_t count, bool humble)
{
	struct cdr_out cdr = cdr_begin(out);
	graph_add_gid(&cdr, participant, humble);
	cdr_count(&cdr, 1);
	cdr_string(&cdr, space);
	cdr_string(&cdr, node);
	graph_add_gids(&cdr, TROUPE_TOPIC_TAKEN, ends, count, humble);
	graph_add_gids(&cdr, TROUPE_TOPIC_PUBLISHED, ends, count, humble);
}

char *graph_topic(const char *name)
{
	return mem_printf("rt%s", name);
}

char *graph_type(const char *type)
{
	const char *kind = strchr(type, '/') + 1, *name = strrchr(type, '/') + 1;
	return mem_printf("%.*s::%.*s::dds_::%.*s_", (int)(kind - type - 1), type, (int)(name - kind - 1), kind,
		(int)strcspn(name, "@"), name);
}
