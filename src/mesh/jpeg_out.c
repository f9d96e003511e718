/* libjpeg reports errors by longjmp: what must be freed then is in a struct that does not change in between. */
#include "mesh/jpeg_out.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_MESHES
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

struct jpeg_writing {
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	jmp_buf out;
	unsigned char *bytes;
	unsigned long count;
	char why[JMSG_LENGTH_MAX];
};

static void jpeg_out_fails(j_common_ptr jpeg)
{
	struct jpeg_writing *w = jpeg->client_data;
	jpeg->err->format_message(jpeg, w->why);
	longjmp(w->out, 1);
}

static void jpeg_out_warns(j_common_ptr jpeg)
{
	(void)jpeg;
}

static bool jpeg_out_write(struct jpeg_writing *w, uint32_t channels, uint32_t width, uint32_t height,
	const unsigned char *pixels, uint32_t quality)
{
	if (setjmp(w->out))
		return false;
	jpeg_create_compress(&w->jpeg); /* keeps err and client_data */
	w->jpeg.image_width = width;
	w->jpeg.image_height = height;
	jpeg_mem_dest(&w->jpeg, &w->bytes, &w->count);
	w->jpeg.input_components = (int)channels;
	w->jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_set_defaults(&w->jpeg);
	w->jpeg.dct_method = JDCT_ISLOW; /* in whole numbers: the same on any machine */
	jpeg_set_quality(&w->jpeg, (int)quality, TRUE);
	jpeg_start_compress(&w->jpeg, TRUE);
	while (w->jpeg.next_scanline < w->jpeg.image_height) {
		JSAMPROW row =
			(JSAMPROW)(uintptr_t)(pixels + (size_t)w->jpeg.next_scanline * channels * w->jpeg.image_width);
		jpeg_write_scanlines(&w->jpeg, &row, 1);
	}
	jpeg_finish_compress(&w->jpeg);
	return true;
}

troupe_status jpeg_out_add(struct text *out, uint32_t channels, uint32_t width, uint32_t height, const void *pixels,
	uint32_t quality, struct troupe_error *error)
{
	struct jpeg_writing *w = mem_alloc(sizeof *w);
	w->jpeg.err = jpeg_std_error(&w->errors);
	w->errors.error_exit = jpeg_out_fails;
	w->errors.output_message = jpeg_out_warns;
	w->jpeg.client_data = w;
	bool written = jpeg_out_write(w, channels, width, height, pixels, quality);
	if (written)
		text_add_bytes(out, (const char *)w->bytes, w->count);
	troupe_status status = written ? TROUPE_OK : fail(error, TROUPE_EINVAL, "no JPEG can be made: %.150s", w->why);
	jpeg_destroy_compress(&w->jpeg);
	free(w->bytes);
	free(w);
	return status;
}
#else
troupe_status jpeg_out_add(struct text *out, uint32_t channels, uint32_t width, uint32_t height, const void *pixels,
	uint32_t quality, struct troupe_error *error)
{
	(void)out, (void)channels, (void)width, (void)height, (void)pixels, (void)quality;
	return fail(error, TROUPE_EINVAL, "this troupe was built without libjpeg");
}
#endif
