/* The pictures of --camera-out, with --camera-format with annotations of what they show (annotate.h): one PNG file for
 * each message on a topic of images, in one folder. Colours have 8 bits; depths are written in mm, with 16 bits, and 0
 * where there is none; normals as (n + 1) / 2 * 255. Flow becomes a file of the Middlebury format, NAME.flo. The name
 * of a file is that of the topic with '_' for '/', and the simulated time in us:
 * "world_w_model_m_link_l_sensor_s_image-000000100000.png". When a topic comes to a time for the second time, after a
 * reset, its names end with "-2" from there on, then with "-3": no file replaces another one of the run.
 *
 * The run waits until a picture is written, so that none is lost: which pictures there are, and their pixels, depend on
 * the world and the seed only.
 *
 * Thread: camera_out_step() from on_step; the others by the thread that runs the server, while it does not run. */
#ifndef CLI_CAMERA_OUT_H
#define CLI_CAMERA_OUT_H

#include "base/map.h"
#include "cli/annotate.h"

#include <troupe/client.h>
#include <troupe/server.h>

enum { CAMERA_OUT_FILES_MAX = 1000000 }; /* then a warning, and no more */

struct camera_out_pass;

struct camera_out { /* zeroed: nothing is written */
	const char *folder;
	void (*warn)(void *ctx, const char *text);
	void *ctx;
	struct outfile_claim claim; /* of the folder */
	struct troupe_client *client;
	uint64_t epoch; /* of the topics to which it has subscribed */
	uint64_t files;
	struct map stems; /* names of files without their times; the values are places in `passes` */
	VEC(struct camera_out_pass *) passes;
	struct annotate annotate;
	struct troupe_error why; /* the error that ended it */
};

/* The folder must live as long as the run; it is made if it does not exist. format: that of a data set, as in
 * dataset_format_of(). */
troupe_status camera_out_begin(struct camera_out *out, const char *folder, const char *format,
	struct troupe_server *server, void (*warn)(void *ctx, const char *text), void *ctx, struct troupe_error *error);
/* After each step. An error ends the writing, but not the run. */
void camera_out_step(struct camera_out *out, struct troupe_server *server);
/* Before the server is destroyed. The error that ended the writing is returned once. */
troupe_status camera_out_end(struct camera_out *out, struct troupe_error *error);

#endif
