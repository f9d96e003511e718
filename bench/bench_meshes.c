/* Measures the reading of mesh files in a separate process (mesh/importer.h). The baseline is the same readers in this
 * process. The measured time is the processor time of both processes, from the start of the second process to its end.
 * A world has one such process for all of its files. */
#include "config.h"

#include "bench.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "mesh/import.h"
#include "mesh/importer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/* Of this process, and of its children that have ended. */
static uint64_t processor_ns(void)
{
	struct rusage ended;
	getrusage(RUSAGE_CHILDREN, &ended);
	return clock_process_ns(getpid()) + ns_of(&ended.ru_utime) + ns_of(&ended.ru_stime);
}

static void or_die(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "%s\n", error->text);
	exit(1);
}

/* A sheet of 2 * side * side triangles. */
static struct text make_sheet(int side)
{
	struct text out = {0};
	for (int y = 0; y <= side; y++)
		for (int x = 0; x <= side; x++)
			text_add(&out, "v %g %g %.6f\n", x * 0.1, y * 0.1, sin(x * 0.3) * cos(y * 0.2));
	for (int y = 0; y < side; y++)
		for (int x = 1; x <= side; x++) {
			int a = y * (side + 1) + x, b = a + side + 1;
			text_add(&out, "f %d %d %d\nf %d %d %d\n", a, a + 1, b + 1, a, b + 1, b);
		}
	return out;
}

/* Adds the same file under so many names. */
static void fill(struct files *files, const struct text *file, int count)
{
	files->closed = true;
	for (int i = 0; i < count; i++) {
		char *name = mem_printf("%d.obj", i);
		files_add(files, name, file->at, file->count);
		free(name);
	}
}

static uint64_t hash_of(const struct mesh *mesh)
{
	return hash_bytes(hash_bytes(1, mesh->points.at, mesh->points.count * sizeof *mesh->points.at),
		mesh->corners.at, mesh->corners.count * sizeof *mesh->corners.at);
}

/* ns per file; *hash is continued over all meshes. */
static double read_apart(struct files *files, uint64_t *hash)
{
	uint64_t begin = processor_ns();
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	for (uint32_t i = 0; i < files->all.count; i++) {
		struct mesh mesh = {0};
		struct troupe_error error;
		or_die(importer_mesh(importer, &losses, files, files->all.at[i].path, &mesh, &error), &error);
		*hash = hash_mix(*hash, hash_of(&mesh));
		mesh_fini(&mesh);
	}
	importer_destroy(importer);
	return (double)(processor_ns() - begin) / files->all.count;
}

static bool find(void *ctx, const char *path, const char **ret_bytes, size_t *ret_count)
{
	struct files *files = ctx;
	return files_look(files, path) == FILES_FILE &&
	       !files_read(files, path, MESH_FILE_BYTES_MAX, ret_bytes, ret_count, NULL);
}

static double read_here(struct files *files, uint64_t *hash)
{
	struct import_files from = {find, files};
	uint64_t begin = processor_ns();
	for (uint32_t i = 0; i < files->all.count; i++) {
		const struct files_entry *file = &files->all.at[i];
		struct mesh mesh = {0};
		struct troupe_error error;
		or_die(import_mesh(&from, file->path, file->bytes, file->count, &mesh, &error), &error);
		mesh_weld(&mesh);
		*hash = hash_mix(*hash, hash_of(&mesh));
		mesh_fini(&mesh);
	}
	return (double)(processor_ns() - begin) / files->all.count;
}

static void measure(const struct bench_options *options, int side, int count)
{
	char subject[64];
	struct files files = {0};
	struct text sheet = make_sheet(side);
	struct bench_samples apart = {0}, here = {0};
	uint64_t hash = 0;
	fill(&files, &sheet, count);
	snprintf(subject, sizeof subject, "%d x %d triangles", count, 2 * side * side);
	for (int r = -1; r < options->repeats; r++) {
		uint64_t first = 1, second = 1;
		bench_progress(options, subject, r);
		double a = read_apart(&files, &first), b = read_here(&files, &second);
		if (first != second) {
			fprintf(stderr, "the process reads another mesh\n");
			exit(1);
		}
		hash = first;
		if (r < 0)
			continue;
		bench_add(&apart, a / 1000);
		bench_add(&here, b / 1000);
	}
	bench_print(options,
		&(struct bench_row){
			.subject = subject, .unit = "us/file", .values = &apart, .baselines = &here, .hash = hash});
	text_fini(&sheet);
	files_fini(&files);
}

int main(int argc, char **argv)
{
	struct bench_options options =
		bench_parse(argc, argv, "bench_meshes: reading mesh files; baseline: in this process");
#ifdef HAVE_MESHES
	measure(&options, 5, 1);
	measure(&options, 5, options.smoke ? 5 : 200);
	measure(&options, options.smoke ? 20 : 220, 1);
	measure(&options, options.smoke ? 20 : 900, 1);
#else
	(void)measure;
	(void)options;
#endif
	return 0;
}
