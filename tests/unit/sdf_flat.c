/* Prints what the loader reads from a file, to compare it with another loader. sdf_flat [--flat|--sdf|--check] FILE
 * ...; messages go to standard error; the exit status is 1 when a file is refused. */
#include "sdf/sdf.h"

#include <stdio.h>
#include <string.h>

static bool show(const char *mode, const char *path)
{
	const struct sdf_options options = {.use_environment = true};
	struct troupe_error error;
	struct sdf *sdf;
	struct text out = {0};
	troupe_status status = sdf_load_file(path, &options, &sdf, &error);
	for (uint32_t i = 0; i < sdf->messages.count; i++)
		fprintf(stderr, "%s: %s\n", sdf->messages.at[i].severity == SDF_ERROR ? "error" : "warning",
			sdf->messages.at[i].text);
	if (!status && !strcmp(mode, "--flat"))
		sdf_print_flat(sdf, &out);
	else if (!status && !strcmp(mode, "--sdf"))
		sdf_print(sdf, &out);
	if (out.at)
		fwrite(out.at, 1, out.count, stdout);
	text_fini(&out);
	sdf_free(sdf);
	return status == TROUPE_OK;
}

int main(int argc, char **argv)
{
	const char *mode = "--flat";
	bool good = true;
	int i = 1;
	if (i < argc && !strncmp(argv[i], "--", 2))
		mode = argv[i++];
	if (i == argc) {
		fprintf(stderr, "usage: sdf_flat [--flat|--sdf|--check] FILE ...\n");
		return 2;
	}
	for (; i < argc; i++)
		good = show(mode, argv[i]) && good;
	return !good;
}
