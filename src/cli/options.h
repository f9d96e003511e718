/* Options of a sub-command. One table for each sub-command defines the command line, --help and the configuration
 * file; a test compares the table with the manual page of the command.
 *
 * Accepted forms: "--name value", "--name=value", "-n value", "-nvalue" and clusters of letters, before and after the
 * operand. "--" ends the options. If an option is given twice, the last one counts. Choices are not case-sensitive.
 * The command line overrides the configuration file. That is an XML file whose elements have the names of the long
 * options (and of the operand). */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/arena.h"

enum { OPTIONS_MAX = 192, OPTION_LIST_MAX = 64 };

enum option_kind {
	OPTION_HEADING, /* heads the options that follow, in --help */
	OPTION_OPERAND, /* const char *; the argument without an option; several take theirs in turn */
	OPTION_FLAG,    /* bool: set */
	OPTION_UNFLAG,  /* bool: cleared */
	OPTION_WHOLE,   /* int64_t in [lo, hi] */
	OPTION_REAL,    /* double in [lo, hi], finite */
	OPTION_TEXT,    /* const char *, not empty */
	OPTION_CHOICE,  /* const char *, one of choices, spelled as there */
	OPTION_LIST,    /* struct option_list, may be repeated */
	OPTION_PAIR,    /* the same, of two words: "FIRST SECOND"; two arguments on the command line */
	OPTION_CONFIG,  /* const char *: the configuration file; not allowed in one */
	OPTION_HELP,    /* prints the help; not allowed in a configuration file */
	OPTION_NOTHING, /* accepted, without effect: scripts for Gazebo use it */
	OPTION_ABSENT,  /* an option of Gazebo that troupe lacks: refused; help gives the reason; not in --help */
};

/* Where an option was given. */
enum option_source { OPTION_NOWHERE, OPTION_IN_FILE, OPTION_ON_LINE };

struct option_list {
	const char *at[OPTION_LIST_MAX + 1]; /* NULL-terminated */
	uint32_t count;
};

struct option_spec {
	enum option_kind kind;
	char letter;          /* 0: none */
	const char *name;     /* without dashes; NULL: only the letter */
	const char *argument; /* its name in --help; NULL: takes no argument */
	size_t offset;        /* offset of its value in the command's settings */
	double lo, hi;
	const char *bare;    /* value without an argument; NULL: the argument is required (OPTION_WHOLE) */
	const char *choices; /* separated by blanks */
	const char *(*list)(struct arena *arena); /* the choices, made when they are needed; NULL: see `choices` */
	const char *with;                         /* of a flag: name of the option that has the address behind it */
	const char *excludes;                     /* name of an option that must not be given with this one */
	const char *needs;                        /* name of an option that must be given with this one */
	unsigned tags;                            /* meaning defined by the command */
	const char *unless;                       /* OPTION_OPERAND: name of an option that replaces it; not both */
	bool optional;                            /* OPTION_OPERAND: the command checks whether it is required */
	const char *help;
};

/* Rows that several commands have. `at`...: the offsets of the members; `what`: what the folders are searched for
 * besides, "" or with a comma at the end. */
#define OPTIONS_HELP                                                                                                   \
	{                                                                                                              \
		OPTION_HELP, 'h', "help", .help = "print this help"                                                    \
	}
#define OPTIONS_RESOURCE_PATH(at, what)                                                                                \
	{                                                                                                              \
		OPTION_LIST,                                                                                           \
			.name = "resource-path", .argument = "DIR", .offset = (at),                                    \
			.help = "search this folder for " what "model:// and relative file names; may be repeated"     \
	}
#define OPTIONS_PATHS(at, at_plugins, what)                                                                            \
	OPTIONS_RESOURCE_PATH(at, what),                                                                               \
	{                                                                                                              \
		OPTION_LIST, .name = "plugin-path", .argument = "DIR", .offset = (at_plugins),                         \
			     .help = "search this folder, or these folders with colons between, for the libraries of " \
				     "plug-ins; may be repeated"                                                       \
	}

struct options_command {
	const char *name;  /* "run" */
	const char *usage; /* "troupe run [OPTIONS] WORLD.sdf" */
	const char *about;
	const char *after; /* text at the end of --help; NULL: none */
	const struct option_spec *specs;
	uint32_t spec_count;
};

/* Fills *settings, which holds the defaults before the call, and sources[OPTIONS_MAX], which says where each option
 * was given (NULL: not needed). True: continue. False: the help or an error was printed, and *ret_exit is the exit
 * status. Texts live as long as argv and arena. */
bool options_parse(const struct options_command *command, int argc, char **argv, void *settings, struct arena *arena,
	enum option_source *sources, int *ret_exit);
/* The name of an option: "--seed", "-r". */
const char *option_name(const struct option_spec *spec, struct arena *arena);

#endif
