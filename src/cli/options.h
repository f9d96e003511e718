/* Options of a sub-command. One table per sub-command drives the command line, --help and the configuration file; a
 * test compares it with the manual page.
 *
 * "--name value", "--name=value", "-n value", "-nvalue" and clusters of letters are taken, before and after the
 * operand; "--" ends the options; of an option given twice the last counts. Of words to choose from capitals do not
 * matter. The command line goes before the configuration file, an XML file of elements named like the long options (and
 * like the operand). */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/arena.h"

enum { OPTIONS_MAX = 128, OPTION_LIST_MAX = 64 };

enum option_kind {
	OPTION_HEADING, /* of the options that follow, for --help */
	OPTION_OPERAND, /* const char *; what stands alone on the command line */
	OPTION_FLAG,    /* bool: set */
	OPTION_UNFLAG,  /* bool: cleared */
	OPTION_WHOLE,   /* int64_t in [lo, hi] */
	OPTION_REAL,    /* double in [lo, hi], finite */
	OPTION_TEXT,    /* const char *, not empty */
	OPTION_CHOICE,  /* const char *, one of choices, as it is written there */
	OPTION_LIST,    /* struct option_list, may be repeated */
	OPTION_PAIR,    /* the same, of two words each: "FIRST SECOND"; two arguments on the command line */
	OPTION_CONFIG,  /* const char *: the configuration file; not allowed in one */
	OPTION_HELP,    /* prints the help; not allowed in a configuration file */
	OPTION_NOTHING, /* accepted, without effect: users of Gazebo have it in their scripts */
	OPTION_ABSENT,  /* Gazebo's, which we do not have: refused, help says why; not listed in --help */
};

/* Where it was said. */
enum option_source { OPTION_NOWHERE, OPTION_IN_FILE, OPTION_ON_LINE };

struct option_list {
	const char *at[OPTION_LIST_MAX + 1]; /* NULL-terminated */
	uint32_t count;
};

struct option_spec {
	enum option_kind kind;
	char letter;          /* 0: none */
	const char *name;     /* without dashes; NULL: only the letter */
	const char *argument; /* what --help calls it; NULL when it takes none */
	size_t offset;        /* of its value in the command's settings */
	double lo, hi;
	const char *bare;     /* value when no argument follows; only then is the argument optional (OPTION_WHOLE) */
	const char *choices;  /* separated by blanks */
	const char *excludes; /* name of an option that must not be given as well */
	const char *needs;    /* name of an option without which it means nothing */
	unsigned tags;        /* the command's own */
	const char *unless;   /* OPTION_OPERAND: name of an option that stands for it; not both */
	bool optional;        /* OPTION_OPERAND: the command sees to it that it is there when it must be */
	const char *help;
};

struct options_command {
	const char *name;  /* "run" */
	const char *usage; /* "troupe run [OPTIONS] WORLD.sdf" */
	const char *about;
	const char *after; /* what --help says at the end; NULL: nothing */
	const struct option_spec *specs;
	uint32_t spec_count;
};

/* Fills *settings, which holds the defaults before, and sources[OPTIONS_MAX], where each option was given (NULL: of no
 * interest). True: go on. False: everything that is to be said has been said (help, or what is wrong) and *ret_exit is
 * the exit status. Texts live as long as argv and arena. */
bool options_parse(const struct options_command *command, int argc, char **argv, void *settings, struct arena *arena,
	enum option_source *sources, int *ret_exit);
/* "--seed", "-r": what an option is called. */
const char *option_name(const struct option_spec *spec, struct arena *arena);

#endif
