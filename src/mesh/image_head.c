/* PNG (ISO/IEC 15948): the signature, then the chunk IHDR, which begins with width and height. JPEG (ITU-T T.81, annex
 * B): segments of a marker and a length; the one of a frame (SOF) has height and width. */
#include "mesh/image_head.h"

#include <string.h>

enum { IMAGE_HEAD_PNG_BYTES = 24, IMAGE_HEAD_SOF_BYTES = 9 };

static uint32_t image_head_number(const unsigned char *at, int bytes)
{
	uint32_t number = 0;
	for (int i = 0; i < bytes; i++)
		number = number << 8 | at[i];
	return number;
}

/* Markers 0xc0 to 0xcf begin a frame, except for those of tables and of arithmetic coding. */
static bool image_head_is_frame(unsigned char marker)
{
	return (marker & 0xf0) == 0xc0 && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static bool image_head_of_jpeg(const unsigned char *bytes, size_t count, struct image_head *ret_head)
{
	size_t at = 2;
	while (at + IMAGE_HEAD_SOF_BYTES <= count && bytes[at] == 0xff) {
		if (image_head_is_frame(bytes[at + 1])) {
			*ret_head = (struct image_head){"image/jpeg", image_head_number(bytes + at + 7, 2),
				image_head_number(bytes + at + 5, 2)};
			return true;
		}
		/* 0xff may be repeated in front of a marker */
		at += bytes[at + 1] == 0xff ? 1 : 2 + image_head_number(bytes + at + 2, 2);
	}
	return false;
}

bool image_head(const void *bytes, size_t count, struct image_head *ret_head)
{
	static const unsigned char png[] = {
		0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'};
	static const unsigned char jpeg[] = {0xff, 0xd8, 0xff};
	const unsigned char *at = bytes;
	if (count >= IMAGE_HEAD_PNG_BYTES && !memcmp(at, png, sizeof png)) {
		*ret_head =
			(struct image_head){"image/png", image_head_number(at + 16, 4), image_head_number(at + 20, 4)};
		return true;
	}
	return count >= sizeof jpeg && !memcmp(at, jpeg, sizeof jpeg) && image_head_of_jpeg(at, count, ret_head);
}
