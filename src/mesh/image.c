/* libpng and libjpeg report errors by longjmp. So the data that must be freed after an error are in a struct that is
 * still valid after the jump. */
#include "mesh/import.h"

#include "config.h"
#include "mesh/cube.h"
#include "mesh/cube_file.h"
#include "mesh/image_head.h"
#include "mesh/texture.h"

#ifdef HAVE_MESHES

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>
#include <png.h>

struct image_reading {
	FILE *file;
	jmp_buf out;
	char why[200];
	struct image image; /* one of these two */
	struct image_texels texels;
	bool coloured;      /* the second */
	unsigned char *row; /* png: all rows */
	png_bytep *rows;
	png_structp png;
	png_infop info;
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr jpeg_errors;
};

static bool image_fits_texels(struct image_reading *r, uint32_t columns, uint32_t rows)
{
	if (columns >= 1 && rows >= 1 && columns <= TEXTURE_SIDE_MAX && rows <= TEXTURE_SIDE_MAX &&
		(uint64_t)columns * rows <= TEXTURE_PIXELS_MAX) {
		r->texels = (struct image_texels){columns, rows, mem_alloc(4 * (size_t)columns * rows)};
		return true;
	}
	snprintf(r->why, sizeof r->why, "the texture has %u x %u pixels: expected at most %d each way and %d in all",
		columns, rows, TEXTURE_SIDE_MAX, TEXTURE_PIXELS_MAX);
	return false;
}

static bool image_fits(struct image_reading *r, uint32_t columns, uint32_t rows)
{
	if (r->coloured)
		return image_fits_texels(r, columns, rows);
	if (columns >= 2 && rows >= 2 && columns <= IMAGE_SIDE_MAX && rows <= IMAGE_SIDE_MAX) {
		r->image.columns = columns;
		r->image.rows = rows;
		r->image.values = mem_alloc((size_t)columns * rows * sizeof *r->image.values);
		return true;
	}
	snprintf(r->why, sizeof r->why, "the image has %u x %u pixels: expected 2 to %d each way", columns, rows,
		IMAGE_SIDE_MAX);
	return false;
}

/* --- png -------------------------------------------------------------------------------------------------------- */

static void image_png_fails(png_structp png, png_const_charp text)
{
	struct image_reading *r = png_get_error_ptr(png);
	snprintf(r->why, sizeof r->why, "not a readable PNG: %.150s", text);
	longjmp(r->out, 1);
}

static void image_png_warns(png_structp png, png_const_charp text)
{
	(void)png, (void)text;
}

/* libpng would report a lack of memory as a bad image. */
static png_voidp image_png_memory(png_structp png, png_alloc_size_t bytes)
{
	(void)png;
	return mem_alloc(bytes);
}

static void image_png_release(png_structp png, png_voidp memory)
{
	(void)png;
	free(memory);
}

static void image_take_png_greys(struct image_reading *r)
{
	size_t bytes = png_get_rowbytes(r->png, r->info), channels = png_get_channels(r->png, r->info);
	bool wide = png_get_bit_depth(r->png, r->info) == 16;
	r->row = mem_alloc(bytes * r->image.rows);
	for (uint32_t i = 0; i < r->image.rows; i++)
		r->rows[i] = r->row + bytes * i;
	png_read_image(r->png, r->rows);
	for (uint32_t i = 0; i < r->image.rows; i++)
		for (uint32_t k = 0; k < r->image.columns; k++) {
			const unsigned char *at = r->rows[i] + k * channels * (wide ? 2 : 1);
			double value = wide ? (at[0] * 256 + at[1]) / 65535.0 : at[0] / 255.0;
			r->image.values[(size_t)i * r->image.columns + k] = (float)value;
		}
}

static void image_take_png_texels(struct image_reading *r)
{
	size_t bytes = 4 * (size_t)r->texels.width;
	if (png_get_rowbytes(r->png, r->info) != bytes)
		png_error(r->png, "a row of another length");
	for (uint32_t i = 0; i < r->texels.height; i++)
		r->rows[i] = r->texels.rgba + bytes * i;
	png_read_image(r->png, r->rows);
}

static bool image_read_png(struct image_reading *r)
{
	if (setjmp(r->out))
		return false;
	r->png = png_create_read_struct_2(
		PNG_LIBPNG_VER_STRING, r, image_png_fails, image_png_warns, NULL, image_png_memory, image_png_release);
	r->info = png_create_info_struct(r->png);
	png_init_io(r->png, r->file);
	png_set_user_limits(r->png, r->coloured ? TEXTURE_SIDE_MAX : IMAGE_SIDE_MAX,
		r->coloured ? TEXTURE_SIDE_MAX : IMAGE_SIDE_MAX);
	png_read_info(r->png, r->info);
	uint32_t columns = png_get_image_width(r->png, r->info), rows = png_get_image_height(r->png, r->info);
	if (!image_fits(r, columns, rows))
		return false;
	png_set_expand(r->png);
	if (r->coloured) {
		png_set_scale_16(r->png);
		png_set_gray_to_rgb(r->png);
		png_set_add_alpha(r->png, 0xff, PNG_FILLER_AFTER);
	} else {
		png_set_strip_alpha(r->png);
	}
	png_set_interlace_handling(r->png);
	png_read_update_info(r->png, r->info);
	r->rows = mem_alloc(rows * sizeof *r->rows);
	if (r->coloured)
		image_take_png_texels(r);
	else
		image_take_png_greys(r);
	return true;
}

/* --- jpeg ------------------------------------------------------------------------------------------------------- */

static void image_jpeg_fails(j_common_ptr jpeg)
{
	struct image_reading *r = jpeg->client_data;
	char text[JMSG_LENGTH_MAX];
	if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY)
		mem_run_out(0);
	jpeg->err->format_message(jpeg, text);
	snprintf(r->why, sizeof r->why, "not a readable JPEG: %.150s", text);
	longjmp(r->out, 1);
}

static void image_jpeg_warns(j_common_ptr jpeg)
{
	(void)jpeg;
}

static void image_take_jpeg_row(struct image_reading *r, uint32_t row)
{
	size_t columns = r->jpeg.output_width, channels = (size_t)r->jpeg.output_components;
	unsigned char *rgba = r->texels.rgba + 4 * (size_t)row * r->texels.width;
	for (size_t k = 0; k < columns && r->coloured; k++) {
		memcpy(&rgba[4 * k], &r->row[3 * k], 3);
		rgba[4 * k + 3] = 255;
	}
	for (size_t k = 0; k < columns && !r->coloured; k++)
		r->image.values[(size_t)row * r->image.columns + k] = (float)(r->row[k * channels] / 255.0);
}

static bool image_read_jpeg(struct image_reading *r)
{
	r->jpeg.err = jpeg_std_error(&r->jpeg_errors);
	r->jpeg_errors.error_exit = image_jpeg_fails;
	r->jpeg_errors.output_message = image_jpeg_warns;
	r->jpeg.client_data = r;
	if (setjmp(r->out))
		return false;
	jpeg_create_decompress(&r->jpeg);
	jpeg_stdio_src(&r->jpeg, r->file);
	jpeg_read_header(&r->jpeg, TRUE);
	uint32_t columns = r->jpeg.image_width, rows = r->jpeg.image_height;
	if (!image_fits(r, columns, rows))
		return false;
	bool grey = !r->coloured && r->jpeg.jpeg_color_space == JCS_GRAYSCALE;
	r->jpeg.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
	r->jpeg.dct_method = JDCT_ISLOW; /* the exact one: the same on any machine */
	jpeg_start_decompress(&r->jpeg);
	r->row = mem_alloc(columns * (size_t)r->jpeg.output_components);
	for (uint32_t i = 0; i < rows; i++) {
		JSAMPROW row = r->row;
		jpeg_read_scanlines(&r->jpeg, &row, 1);
		image_take_jpeg_row(r, i);
	}
	return true;
}

/* --- both ------------------------------------------------------------------------------------------------------- */

static void image_finish(struct image_reading *r)
{
	if (r->png)
		png_destroy_read_struct(&r->png, &r->info, NULL);
	jpeg_destroy_decompress(&r->jpeg); /* does nothing if it was never created */
	free(r->row);
	free(r->rows);
	fclose(r->file);
}

static bool image_read_any(struct image_reading *r)
{
	unsigned char head[8] = {0};
	size_t got = fread(head, 1, sizeof head, r->file);
	rewind(r->file);
	if (got == sizeof head && !png_sig_cmp(head, 0, sizeof head))
		return image_read_png(r);
	if (got >= 3 && head[0] == 0xff && head[1] == 0xd8 && head[2] == 0xff)
		return image_read_jpeg(r);
	snprintf(r->why, sizeof r->why, "unknown kind of image: expected PNG or JPEG");
	return false;
}

/* *ret_reading: its file and its parts are freed already, and its result is the caller's. */
static troupe_status image_read_bytes(
	const char *bytes, size_t count, bool coloured, struct image_reading **ret_reading, struct troupe_error *error)
{
	struct image_reading *r = mem_alloc(sizeof *r);
	void *memory;
	memcpy(&memory, &bytes, sizeof memory); /* the stream is opened for reading only */
	r->coloured = coloured;
	r->file = count ? fmemopen(memory, count, "rb") : NULL;
	if (count && !r->file)
		mem_run_out(0);
	if (!r->file) {
		free(r);
		return fail(error, TROUPE_EWORLD, "not a readable image");
	}
	bool ok = image_read_any(r);
	image_finish(r);
	if (ok) {
		*ret_reading = r;
		return TROUPE_OK;
	}
	free(r->image.values);
	free(r->texels.rgba);
	troupe_status status = fail(error, TROUPE_EWORLD, "%s", *r->why ? r->why : "not a readable image");
	free(r);
	return status;
}

troupe_status import_image(const char *bytes, size_t count, struct image *ret_image, struct troupe_error *error)
{
	struct image_reading *r;
	troupe_status status = image_read_bytes(bytes, count, false, &r, error);
	if (status)
		return status;
	*ret_image = r->image;
	free(r);
	return TROUPE_OK;
}

troupe_status import_texels(
	const char *bytes, size_t count, struct image_texels *ret_texels, struct troupe_error *error)
{
	struct image_reading *r;
	troupe_status status = image_read_bytes(bytes, count, true, &r, error);
	if (status)
		return status;
	*ret_texels = r->texels;
	free(r);
	return TROUPE_OK;
}

troupe_status import_cube(const char *bytes, size_t count, struct image_texels *ret_texels, struct troupe_error *error)
{
	struct image_head head;
	if (cube_file_is_dds(bytes, count))
		return cube_file_read(bytes, count, ret_texels, error);
	if (!image_head(bytes, count, &head))
		return fail(error, TROUPE_EWORLD, "unknown kind of image: expected DDS, PNG or JPEG");
	troupe_status status = import_texels(bytes, count, ret_texels, error);
	if (status || cube_fits(ret_texels->width, ret_texels->height))
		return status;
	free(ret_texels->rgba);
	return fail(error, TROUPE_EWORLD,
		"a cube map of %u x %u pixels: expected a DDS file, or six squares one below the other",
		ret_texels->width, ret_texels->height);
}

#else

troupe_status import_image(const char *bytes, size_t count, struct image *ret_image, struct troupe_error *error)
{
	(void)bytes, (void)count, (void)ret_image;
	return fail(error, TROUPE_EWORLD, "this troupe was built without meshes");
}

troupe_status import_texels(
	const char *bytes, size_t count, struct image_texels *ret_texels, struct troupe_error *error)
{
	(void)bytes, (void)count, (void)ret_texels;
	return fail(error, TROUPE_EWORLD, "this troupe was built without meshes");
}

troupe_status import_cube(const char *bytes, size_t count, struct image_texels *ret_texels, struct troupe_error *error)
{
	return import_texels(bytes, count, ret_texels, error);
}

#endif
