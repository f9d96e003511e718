/* Xacro files: robots and worlds as macros of ROS. The option --xacro lets the user's own program `xacro` expand the
 * file that the command line names. Nothing else starts that program: a world may come from a stranger, and xacro reads
 * files and evaluates expressions. So a file that a world includes is not expanded. */
#ifndef CLI_XACRO_H
#define CLI_XACRO_H

#include "cli/options.h"

enum {
	XACRO_LIMIT_S = 60,
	XACRO_BYTES_MAX = 64 << 20, /* of the output */
	XACRO_LINES_MAX = 20,       /* of standard error that are shown */
};

struct xacro_settings {
	bool expand;
	struct option_list arguments; /* "NAME:=VALUE" */
};

/* Rows of a table of options. `at`, `at_arguments`: the offsets of the members. `instead`: the name of an option that
 * replaces the world's file, or NULL. */
#define XACRO_OPTIONS(at, at_arguments, instead)                                                                       \
	{OPTION_FLAG, .name = "xacro", .excludes = (instead), .offset = (at),                                          \
		.help = "let the program xacro of ROS expand WORLD.sdf if it is a xacro file (default: such a file "   \
			"is refused)"},                                                                                \
	{                                                                                                              \
		OPTION_LIST, .name = "xacro-arg", .argument = "NAME:=VALUE", .needs = "xacro",                         \
			     .offset = (at_arguments),                                                                 \
			     .help = "with --xacro: an argument of the file; may be repeated"                          \
	}

/* The path and the text of the world, which live as long as the arena. *ret_text is NULL, and *ret_path is `world`, if
 * the file is to be read as it is: --xacro was not given, or it is no xacro file. What the program writes to its
 * standard error is shown as lines of `command`. False: the error was printed, and *ret_exit is the exit status.
 * Blocks, at most XACRO_LIMIT_S; for a process with one thread. */
bool xacro_expand(const struct xacro_settings *settings, const char *command, const char *world,
	const char *const *resource_paths, struct arena *arena, const char **ret_path, const char **ret_text,
	int *ret_exit);

#endif
