/* What there is in the partition, as other nodes have told it, and this one offers: a list that does not change. */
#include "gateway/gz/node_internal.h"

#include <stdlib.h>
#include <string.h>

static struct node_record node_records_record_of(const struct directory_record *from, const char *name)
{
	return (struct node_record){.is_service = from->is_service,
		.name = name,
		.address = from->address,
		.process = from->process,
		.node = from->node,
		.type = from->is_service ? from->request_type : from->type,
		.reply_type = from->reply_type,
		.throttled = from->throttled,
		.rate_hz = from->rate_hz};
}

typedef VEC(struct node_record) node_records_vec;

static void node_records_list_own(const struct node *node, node_records_vec *out)
{
	struct node_record record = {.is_own = true, .process = node->process, .node = node->id, .reply_type = ""};
	record.address = node->listeners[LISTENER_PUBLISH].endpoint;
	for (uint32_t i = 0; i < node->publishers.count; i++) {
		const struct node_publisher *publisher = node->publishers.at[i];
		record.name = strrchr(publisher->full, '@') + 1;
		record.type = publisher->type;
		record.throttled = publisher->rate_hz;
		record.rate_hz = publisher->rate_hz;
		vec_push(out, record);
	}
	record.is_service = true;
	record.throttled = false;
	record.rate_hz = 0;
	record.address = node->listeners[LISTENER_SERVE].endpoint;
	for (uint32_t i = 0; i < node->offers.count; i++) {
		const struct node_service *service = node->offers.at[i];
		record.name = strrchr(service->full, '@') + 1;
		record.type = service->request_type;
		record.reply_type = service->reply_type;
		vec_push(out, record);
	}
}

static int node_records_compare_records(const void *a, const void *b)
{
	const struct node_record *x = a, *y = b;
	if (x->is_service != y->is_service)
		return x->is_service - y->is_service;
	int order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->address, y->address);
	return order ? order : strcmp(x->node, y->node);
}

enum { RECORD_TEXTS = 6 };

static void node_records_texts_of(struct node_record *record, const char **ret_texts[RECORD_TEXTS])
{
	ret_texts[0] = &record->name;
	ret_texts[1] = &record->address;
	ret_texts[2] = &record->process;
	ret_texts[3] = &record->node;
	ret_texts[4] = &record->type;
	ret_texts[5] = &record->reply_type;
}

/* The texts move into one piece of memory that does not change. */
static char *node_records_copy_texts(node_records_vec *records)
{
	const char **texts[RECORD_TEXTS];
	size_t bytes = 1;
	for (uint32_t i = 0; i < records->count; i++) {
		node_records_texts_of(&records->at[i], texts);
		for (int t = 0; t < RECORD_TEXTS; t++)
			bytes += strlen(*texts[t]) + 1;
	}
	char *memory = mem_realloc(NULL, bytes), *at = memory;
	for (uint32_t i = 0; i < records->count; i++) {
		node_records_texts_of(&records->at[i], texts);
		for (int t = 0; t < RECORD_TEXTS; t++) {
			size_t length = strlen(*texts[t]) + 1;
			*texts[t] = memcpy(at, *texts[t], length);
			at += length;
		}
	}
	return memory;
}

void node_list(struct node *node, struct node_records *ret_records)
{
	node_records_vec records = {0};
	pthread_mutex_lock(&node->guard);
	node_records_list_own(node, &records);
	for (uint32_t i = 0; i < directory_count(node->directory); i++) {
		const struct directory_record *record = directory_at(node->directory, i);
		vec_push(&records, node_records_record_of(record, strrchr(record->full, '@') + 1));
	}
	char *memory = node_records_copy_texts(&records);
	pthread_mutex_unlock(&node->guard);
	if (records.count)
		qsort(records.at, records.count, sizeof *records.at, node_records_compare_records);
	*ret_records = (struct node_records){records.at, records.count, memory};
}

void node_records_fini(struct node_records *records)
{
	free(records->at);
	free(records->memory);
	*records = (struct node_records){0};
}
