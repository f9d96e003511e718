/* A picture becomes JPEG or PNG on the thread of the client that wants it. */
#include "server/encode_sensor.h"

#include "mesh/jpeg_out.h"
#include "mesh/png_out.h"
#include "server/sensor_topics.h"
#include "topic/troupe.pb-c.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The samples of a sensor are counted from time 0; row->rate_hz is that of the compressed pictures. */
static bool encode_packed_is_due(const struct sensor_source *source, uint32_t every)
{
	double sample = (double)source->reading->time_ns * 1e-9 * source->row->rate_hz * every;
	return every < 2 || llround(sample) % every == 0;
}

/* image_transport's compressedDepth: 16 bits for A / depth + B. A is that of its depth_quantization, 100, and B follows
 * from the largest depth of the picture, which becomes 1. */
static bool encode_packed_depth(const uint8_t *data, uint32_t width, uint32_t height, struct text *out)
{
	size_t pixels = (size_t)width * height;
	float depth, most = 0, a = 100 * 101;
	uint16_t *values = mem_alloc(pixels * sizeof *values);
	const int32_t inverse = 0;
	struct troupe_error error;
	for (size_t i = 0; i < pixels; i++) {
		memcpy(&depth, data + i * sizeof depth, sizeof depth);
		most = isfinite(depth) && depth > most ? depth : most;
	}
	float b = most > 0 ? 1 - a / most : 0;
	for (size_t i = 0; i < pixels; i++) {
		memcpy(&depth, data + i * sizeof depth, sizeof depth);
		float value = isfinite(depth) && depth > 0 ? a / depth + b : 0;
		values[i] = (uint16_t)(value < 65535 ? value + 0.5F : 65535);
	}
	text_add_bytes(out, (const char *)&inverse, sizeof inverse);
	text_add_bytes(out, (const char *)&a, sizeof a);
	text_add_bytes(out, (const char *)&b, sizeof b);
	troupe_status status = png_out_add(out, PNG_OUT_GREY16, width, height, values, &error);
	free(values);
	return !status;
}

/* red, green, blue from blue, green, red; or 16 bits in this machine's order. The caller frees them. */
static uint8_t *encode_packed_swap(const uint8_t *data, bool grey, size_t pixels)
{
	uint8_t *to = mem_alloc((grey ? 2 : 3) * pixels);
	uint16_t *words = (uint16_t *)(void *)to;
	for (size_t i = 0; i < pixels; i++)
		if (grey)
			words[i] = (uint16_t)(data[2 * i] | data[2 * i + 1] << 8);
		else
			to[3 * i] = data[3 * i + 2], to[3 * i + 1] = data[3 * i + 1], to[3 * i + 2] = data[3 * i];
	return to;
}

static bool encode_packed_colour(const struct sensor_topics_packing *packing, Gz__Msgs__PixelFormatType format,
	const uint8_t *data, uint32_t width, uint32_t height, struct text *out)
{
	struct troupe_error error;
	bool blue = format == GZ__MSGS__PIXEL_FORMAT_TYPE__BGR_INT8,
	     words = format == GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16;
	bool colour = blue || format == GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8;
	uint8_t *swapped = blue || words ? encode_packed_swap(data, words, (size_t)width * height) : NULL;
	const uint8_t *pixels = swapped ? swapped : data;
	troupe_status status =
		packing->png ? png_out_add(out,
				       words    ? PNG_OUT_GREY16
				       : colour ? PNG_OUT_RGB8
						: PNG_OUT_GREY8,
				       width, height, pixels, &error)
			     : jpeg_out_add(out, colour ? 3 : 1, width, height, pixels, packing->quality, &error);
	free(swapped);
	return !status;
}

bool encode_packed(
	const struct sensor_source *source, Gz__Msgs__PixelFormatType format, const uint8_t *data, struct text *out)
{
	const struct reading_picture *picture = READINGS_AS(reading_picture, source->numbers);
	const struct sensor_topics_packing packing = sensor_topics_packing(source->row);
	uint32_t width = (uint32_t)picture->width, height = (uint32_t)picture->height;
	Troupe__Msgs__CompressedImage message = TROUPE__MSGS__COMPRESSED_IMAGE__INIT;
	struct text bytes = {0};
	bool depth = format == GZ__MSGS__PIXEL_FORMAT_TYPE__R_FLOAT32;
	bool made = encode_packed_is_due(source, packing.every) &&
		    (depth ? encode_packed_depth(data, width, height, &bytes)
			   : encode_packed_colour(&packing, format, data, width, height, &bytes));
	if (made) {
		message.header = encode_sensor_header(source);
		message.pixel_format_type = format;
		message.format = encode_text(packing.png || depth ? "png" : "jpeg");
		message.data = (ProtobufCBinaryData){bytes.count, (uint8_t *)bytes.at};
		encode_end(&message.base, source->arena, out);
	}
	text_fini(&bytes);
	return made;
}
