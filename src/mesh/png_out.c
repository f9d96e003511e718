/* Only libpng's simplified interface is used: it reports errors without longjmp. */
#include "mesh/png_out.h"

#include "base/base.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_MESHES
#include <png.h>

troupe_status png_out_write(const char *path, enum png_out_kind kind, uint32_t width, uint32_t height,
	const void *pixels, struct troupe_error *error)
{
	static const png_uint_32 formats[] = {[PNG_OUT_RGB8] = PNG_FORMAT_RGB,
		[PNG_OUT_GREY8] = PNG_FORMAT_GRAY,
		[PNG_OUT_GREY16] = PNG_FORMAT_LINEAR_Y};
	png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = formats[kind]};
	bool written = png_image_write_to_file(&image, path, 0, pixels, 0, NULL);
	troupe_status status = written ? TROUPE_OK
				       : fail(error, TROUPE_EIO, "%s: cannot write: %s", path,
						 *image.message ? image.message : "libpng gives no reason");
	png_image_free(&image);
	return status;
}
#else
troupe_status png_out_write(const char *path, enum png_out_kind kind, uint32_t width, uint32_t height,
	const void *pixels, struct troupe_error *error)
{
	(void)kind, (void)width, (void)height, (void)pixels;
	return fail(error, TROUPE_EINVAL, "%s: this troupe was built without libpng", path);
}
#endif
