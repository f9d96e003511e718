/* `troupe keygen`: writes a new key for networked mode. An existing file is never replaced, because other machines
 * may have a copy of its key. Only the path is printed, not the key. */
#include "cli/cli.h"
#include "cli/options.h"
#include "net/key.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct settings {
	const char *path;
};

static const struct option_spec specs[] = {
	{OPTION_HEADING, .help = "Options"},
	{OPTION_TEXT, .name = "output", .argument = "FILE", .offset = offsetof(struct settings, path),
		.help = "write it there"},
	{OPTION_HELP, 'h', "help", .help = "print this help"},
};

static const struct options_command command = {
	.name = "keygen",
	.usage = "troupe keygen [OPTIONS]",
	.about = "Write a new random key for networked mode, and print where it is: in its default place, where run "
		 "looks for it ($XDG_CONFIG_HOME/troupe/key, or else $HOME/.config/troupe/key), unless told otherwise. "
		 "A "
		 "file that is there already is left as it is. Copy the file to each machine that is to take part, "
		 "with a mode of "
		 "0600 (scp -p keeps it): whoever has it can take part, and nobody else.",
	.after = "Exit status\n  0 the key is written; 1 it cannot be, or a file is there; 2 wrong usage\n",
	.specs = specs,
	.spec_count = ARRAY_LEN(specs),
};

static int make_key(const char *given)
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
	struct settings settings = {0};
	struct arena arena = {0};
	int status = CLI_DONE;
	if (options_parse(&command, argc, argv, &settings, &arena, NULL, &status))
		status = make_key(settings.path);
	arena_fini(&arena);
	return status;
}
