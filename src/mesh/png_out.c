/* Only libpng's simplified interface is used: it reports errors without longjmp. */
#include "mesh/png_out.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_MESHES
#include <png.h>

#include <stdlib.h>

bool png_out_is_available(void)
{
	return true;
}

static png_image png_out_image(enum png_out_kind kind, uint32_t width, uint32_t height)
{
	static const png_uint_32 formats[] = {[PNG_OUT_RGB8] = PNG_FORMAT_RGB,
		[PNG_OUT_GREY8] = PNG_FORMAT_GRAY,
		[PNG_OUT_GREY16] = PNG_FORMAT_LINEAR_Y};
	return (png_image){.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = formats[kind]};
}

troupe_status png_out_write(const char *path, enum png_out_kind kind, uint32_t width, uint32_t height,
	const void *pixels, struct troupe_error *error)
{
	png_image image = png_out_image(kind, width, height);
	bool written = png_image_write_to_file(&image, path, 0, pixels, 0, NULL);
	troupe_status status = written ? TROUPE_OK
				       : fail(error, TROUPE_EIO, "%s: cannot write: %s", path,
						 *image.message ? image.message : "libpng gives no reason");
	png_image_free(&image);
	return status;
}

troupe_status png_out_add(struct text *out, enum png_out_kind kind, uint32_t width, uint32_t height, const void *pixels,
	struct troupe_error *error)
{
	png_image image = png_out_image(kind, width, height);
	png_alloc_size_t count = PNG_IMAGE_PNG_SIZE_MAX(image);
	unsigned char *bytes = mem_alloc(count);
	bool written = png_image_write_to_memory(&image, bytes, &count, 0, pixels, 0, NULL);
	if (written)
		text_add_bytes(out, (const char *)bytes, count);
	troupe_status status = written ? TROUPE_OK
				       : fail(error, TROUPE_EINVAL, "no PNG can be made: %s",
						 *image.message ? image.message : "libpng gives no reason");
	png_image_free(&image);
	free(bytes);
	return status;
}
#else
bool png_out_is_available(void)
{
	return false;
}

troupe_status png_out_write(const char *path, enum png_out_kind kind, uint32_t width, uint32_t height,
	const void *pixels, struct troupe_error *error)
{
	(void)kind, (void)width, (void)height, (void)pixels;
	return fail(error, TROUPE_EINVAL, "%s: this troupe was built without libpng", path);
}

troupe_status png_out_add(struct text *out, enum png_out_kind kind, uint32_t width, uint32_t height, const void *pixels,
	struct troupe_error *error)
{
	(void)out, (void)kind, (void)width, (void)height, (void)pixels;
	return fail(error, TROUPE_EINVAL, "this troupe was built without libpng");
}
#endif
