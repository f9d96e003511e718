/* Samples of Cyclone DDS that are bytes, and types that are only names: one kind for all messages. Any thread; where
 * there is no memory for a sample, the library drops the message. */
#ifndef GATEWAY_DDS_GLUE_SAMPLE_H
#define GATEWAY_DDS_GLUE_SAMPLE_H

#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>

#include <stddef.h>
#include <stdint.h>

struct glue_sample {
	struct ddsi_serdata base; /* first: a sample is its base */
	size_t count;
	unsigned char bytes[]; /* and zeros up to a multiple of 4 */
};

struct glue_bytes { /* what an application gives to dds_write() */
	const void *at;
	size_t count;
};

/* For dds_create_topic_sertype(). */
extern const struct ddsi_serdata_ops glue_sample_ops;
extern const struct ddsi_sertype_ops glue_sample_type_ops;

static inline struct glue_sample *glue_sample_of(const struct ddsi_serdata *base)
{
	return (struct glue_sample *)(uintptr_t)base;
}

#endif
