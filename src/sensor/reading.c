/* Bytes are kept as doubles, because nearly all of them are. */
#include "sensor/reading.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

void readings_fini(struct readings *readings)
{
	vec_free(&readings->list);
	vec_free(&readings->numbers);
}

double *readings_add(struct readings *readings, const struct sensor *sensor, uint64_t id, int64_t time_ns, size_t bytes)
{
	uint32_t numbers = (uint32_t)((bytes + sizeof(double) - 1) / sizeof(double));
	vec_push(&readings->list, (struct reading){.id = id,
					  .model = sensor->model,
					  .index = sensor->index,
					  .kind = sensor->sdf->kind,
					  .time_ns = time_ns,
					  .first = readings->numbers.count,
					  .count = (uint32_t)bytes});
	return vec_append(&readings->numbers, numbers);
}

void readings_append(struct readings *to, const struct readings *from)
{
	uint32_t base = to->numbers.count;
	if (from->numbers.count)
		memcpy(vec_append(&to->numbers, from->numbers.count), from->numbers.at,
			from->numbers.count * sizeof *from->numbers.at);
	for (uint32_t i = 0; i < from->list.count; i++) {
		struct reading reading = from->list.at[i];
		reading.first += base;
		vec_push(&to->list, reading);
	}
}

size_t readings_part_at(enum sdf_sensor_kind kind, uint32_t parts, size_t pixels, uint32_t part)
{
	static const struct {
		uint32_t part, bytes;
	} rows[] = {{SENSOR_DEPTH, 4}, {SENSOR_LABELS, 8}, {SENSOR_NORMALS, 12}, {SENSOR_FLOW, 8}, {SENSOR_SEGMENTS, 8},
		{SENSOR_HEAT, 2}, {SENSOR_COLOUR, 3}};
	size_t at = sizeof(struct reading_picture);
	if (kind == SDF_BOUNDINGBOX_CAMERA)
		parts &= ~(uint32_t)SENSOR_LABELS; /* boxes are made of them */
	for (size_t i = 0; i < ARRAY_LEN(rows) && rows[i].part != part; i++)
		at += parts & rows[i].part ? rows[i].bytes * pixels : 0;
	return at;
}

const struct reading_box *readings_boxes(const struct reading *reading, const double *numbers, uint32_t *ret_count)
{
	const struct reading_picture *head = READINGS_AS(reading_picture, numbers);
	size_t pixels = (size_t)head->width * (size_t)head->height;
	size_t bytes = (readings_part_at(reading->kind, (uint32_t)head->parts, pixels, 0) + 7) / 8 * 8;
	*ret_count = (uint32_t)((reading->count - bytes) / sizeof(struct reading_box));
	return READINGS_AS(reading_box, (const char *)numbers + bytes);
}

static int reading_compare_places(uint32_t model_a, uint32_t index_a, uint32_t model_b, uint32_t index_b)
{
	return model_a != model_b ? (model_a > model_b) - (model_a < model_b)
				  : (index_a > index_b) - (index_a < index_b);
}

static int reading_compare(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;
	return reading_compare_places(x->model, x->index, y->model, y->index);
}

void readings_sort(struct readings *readings)
{
	if (readings->list.count > 1)
		qsort(readings->list.at, readings->list.count, sizeof *readings->list.at, reading_compare);
}

const struct reading *readings_find(const struct readings *readings, uint32_t model, uint32_t index)
{
	const struct reading key = {.model = model, .index = index};
	if (!readings->list.count)
		return NULL;
	return bsearch(&key, readings->list.at, readings->list.count, sizeof key, reading_compare);
}

uint64_t readings_digest(const struct readings *readings)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < readings->list.count; i++) {
		const struct reading *reading = &readings->list.at[i];
		uint64_t of = hash_mix(hash_mix(reading->id, reading->index), (uint64_t)reading->time_ns);
		sum += hash_bytes(of, readings_numbers(readings, reading), reading->count);
	}
	return sum;
}
