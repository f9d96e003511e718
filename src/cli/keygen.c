/* `troupe keygen`: writes a new key for networked mode. An existing file is never replaced, because other machines
 * may have a copy of its key. Only the path is printed, not the key. */
#include "cli/cli.h"
#include "cli/options.h"
#include "net/key.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct keygen_settings {
	const char *path;
};

static const struct option_spec keygen_specs[] = {
	{OPTION_HEADING, .help = "Options"},
	{OPTION_TEXT, .name = "output", .argument = "FILE", .offset = offsetof(struct keygen_settings, path),
		.help = "write the key to this file (default: $XDG_CONFIG_HOME/troupe/key, or "
			"$HOME/.config/troupe/key if XDG_CONFIG_HOME is not set)"},
	OPTIONS_HELP,
};

static const struct options_command keygen_command = {
	.name = "keygen",
	.usage = "troupe keygen [OPTIONS]",
	.about = "Writes a new random key for networked mode to a file, and prints the name of the file. In "
		 "its default place run finds the key. A file that exists is not replaced. Copy the file to "
		 "each machine of the run, and keep its mode 0600 (scp -p does). Every process that has the "
		 "key can take part in the run; no other process can.",
	.after = "Exit status\n"
		 "  0  the key is written\n"
		 "  1  the file exists, or cannot be written\n"
		 "  2  wrong usage\n",
	.specs = keygen_specs,
	.spec_count = ARRAY_LEN(keygen_specs),
};

static int keygen_make_key(const char *given)
{
	char *path = given ? mem_strdup(given) : key_default_path();
	struct troupe_error error;
	troupe_status status;
	if (path)
		status = key_create(path, &error);
	else
		status = fail(&error, TROUPE_EIO, "neither XDG_CONFIG_HOME nor HOME is set: expected --output FILE");
	if (status)
		cli_complain("keygen", "%s", error.text);
	else
		printf("%s\n", path);
	free(path);
	return cli_exit_status(status);
}

int cli_keygen(int argc, char **argv)
{
	struct keygen_settings settings = {0};
	struct arena arena = {0};
	int status = CLI_DONE;
	if (options_parse(&keygen_command, argc, argv, &settings, &arena, NULL, &status))
		status = keygen_make_key(settings.path);
	arena_fini(&arena);
	return status;
}
