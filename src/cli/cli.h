/* The command `troupe`: declarations that its sub-commands share. Only this folder prints, and only main() ends the
 * process. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/base.h"
#include "sdf/sdf.h"

/* The exit statuses, documented in the manual page troupe(1). */
enum cli_exit {
	CLI_DONE = 0,
	CLI_BAD_INPUT = 1, /* world, commands, configuration; or output that cannot be written */
	CLI_BAD_USAGE = 2,
	CLI_PEER_LOST = 3,
	CLI_BROKEN = 4,     /* internal error, out of memory, or a model that diverged */
	CLI_INCOMPLETE = 5, /* a recording that is the same as far as it can be read, but is cut off or damaged */
};
_Static_assert((int)CLI_BROKEN == (int)MEM_EXIT_STATUS, "running out of memory ends the process below the command");

/* Each takes the arguments after its name on the command line and returns the exit status. */
int cli_run(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_bisect(int argc, char **argv);
int cli_diff(int argc, char **argv);
int cli_mcap(int argc, char **argv);
int cli_plot(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_print(int argc, char **argv);
int cli_view(int argc, char **argv);
int cli_topics(int argc, char **argv);
int cli_worlds(int argc, char **argv);
int cli_keygen(int argc, char **argv);
int cli_topic(int argc, char **argv);
int cli_service(int argc, char **argv);

int cli_exit_status(troupe_status status);

/* Writes to standard output, and flushes it. EIO: it cannot be written. */
troupe_status cli_write(const char *bytes, size_t count, struct troupe_error *error);

/* One line on standard error, "troupe COMMAND: ..."; command may be NULL. Control characters are shown as escapes. */
void cli_complain(const char *command, const char *format, ...) TROUPE_PRINTF(2, 3);
/* The same for "error: TEXT" or "warning: TEXT"; in colour on a terminal unless NO_COLOR is set. */
void cli_finding(enum sdf_severity severity, const char *text);
/* The same for "ignored: TEXT", without colour. */
void cli_ignored(const char *text);

/* Loads a world. text: what counts as the content of the file; NULL: what is in it. On failure prints the reason and
 * sets *ret_exit; *ret_sdf may be set even then. */
bool cli_load(const char *command, const char *path, const char *text, const char *const *resource_paths,
	struct sdf **ret_sdf, int *ret_exit);

#endif
