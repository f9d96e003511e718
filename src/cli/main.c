/* The program `troupe`: selects the sub-command, and has what the sub-commands share: exit statuses, messages on
 * standard error, loading a world. The result of the program must not be lost without an error: so a closed standard
 * file is replaced before a file is opened, a write error is an error code and not a signal, and standard output is
 * checked at the end. */
#include "cli/cli.h"
#include "cli/signals.h"

#include <troupe/server.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct subcommand main_subcommands[] = {
	{"run", cli_run, "run a world"},
	{"replay", cli_replay, "run a recording again, and compare the states"},
	{"bisect", cli_bisect, "find the first step at which something is true"},
	{"diff", cli_diff, "find the first difference of two recordings"},
	{"mcap", cli_mcap, "make an MCAP file from a recording"},
	{"view", cli_view, "show a recording in a browser"},
	{"plot", cli_plot, "draw a log of a run as a chart"},
	{"check", cli_check, "list all errors and warnings of a world"},
	{"print", cli_print, "print a world as troupe understands it"},
	{"worlds", cli_worlds, "list the worlds that can be run by name"},
	{"topics", cli_topics, "list the topics and services of a world"},
	{"keygen", cli_keygen, "write a new key for networked mode"},
	{"topic", cli_topic, "list, echo, measure or publish topics"},
	{"service", cli_service, "list, describe or call services"},
};

/* --- what the sub-commands share ---------------------------------------------------------------------------------- */

int cli_exit_status(troupe_status status)
{
	switch (status) {
	case TROUPE_OK:
		return CLI_DONE;
	case TROUPE_EIO:
	case TROUPE_EWORLD:
	case TROUPE_ECOMMAND:
	case TROUPE_ELIMIT:
		return CLI_BAD_INPUT;
	case TROUPE_EPROTOCOL:
	case TROUPE_EPEER:
		return CLI_PEER_LOST;
	case TROUPE_EINVAL: /* options were checked before: an internal error */
	case TROUPE_EDIVERGED:
	case TROUPE_EINTERNAL:
		break;
	}
	return CLI_BROKEN;
}

/* Writes one line with one write. */
static void main_say(const char *first, const char *second, const char *text)
{
	const struct outfile_options options = {.urgency = signals_urgency};
	struct text line = {0};
	text_add(&line, "%s%s%s\n", first, second, text);
	fflush(stdout); /* keeps the order if both go to one file */
	(void)outfile_put(STDERR_FILENO, line.at, line.count, &options);
	text_fini(&line);
}

void cli_complain(const char *command, const char *format, ...)
{
	struct troupe_error error;
	char name[40] = "troupe: ";
	va_list args;
	va_start(args, format);
	fail_v(&error, TROUPE_EINVAL, format, args);
	va_end(args);
	if (command)
		(void)snprintf(name, sizeof name, "troupe %s: ", command);
	main_say(name, "", error.text);
}

/* errno is of use only at once. main() finds the errors of all other writes, and their reason if they are the last. */
troupe_status cli_write(const char *bytes, size_t count, struct troupe_error *error)
{
	if (fwrite(bytes, 1, count, stdout) == count && !fflush(stdout))
		return TROUPE_OK;
	return fail(error, TROUPE_EIO, "standard output: cannot write: %s", strerror(errno));
}

static bool main_coloured(void)
{
	const char *refused = getenv("NO_COLOR");
	return isatty(STDERR_FILENO) && !(refused && *refused);
}

void cli_finding(enum sdf_severity severity, const char *text)
{
	const char *word = severity == SDF_ERROR ? "error:" : "warning:";
	const char *colour = severity == SDF_ERROR ? "\033[1;31m" : "\033[1;33m";
	char coloured_word[40];
	(void)snprintf(coloured_word, sizeof coloured_word, "%s%s\033[0m", colour, word);
	main_say(main_coloured() ? coloured_word : word, " ", text);
}

void cli_ignored(const char *text)
{
	struct troupe_error line; /* names from files may contain control characters */
	(void)fail(&line, TROUPE_EWORLD, "%s", text);
	main_say("ignored: ", "", line.text);
}

bool cli_load(const char *command, const char *path, const char *text, const char *const *resource_paths,
	struct sdf **ret_sdf, int *ret_exit)
{
	struct files_places places = {0};
	struct files files = {.places = &places};
	struct sdf_options options = {
		.resource_paths = resource_paths, .use_environment = true, .find = !text, .files = &files};
	struct troupe_error error;
	sdf_allow(path, &options, &places);
	if (text)
		files_add(&files, path, text, strlen(text));
	troupe_status status = sdf_load_file(path, &options, ret_sdf, &error);
	files_fini(&files);
	files_places_fini(&places);
	if (!status)
		return true;
	uint32_t said = 0;
	for (uint32_t i = 0; *ret_sdf && i < (*ret_sdf)->messages.count; i++) {
		if ((*ret_sdf)->messages.at[i].severity != SDF_ERROR)
			continue;
		cli_finding(SDF_ERROR, (*ret_sdf)->messages.at[i].text);
		said++;
	}
	if (!said)
		cli_complain(command, "%s", error.text);
	*ret_exit = cli_exit_status(status);
	return false;
}

/* --- the command itself ------------------------------------------------------------------------------------------- */

static void main_print_help(void)
{
	printf("usage: troupe COMMAND [OPTIONS] [ARGUMENTS]\n\n"
	       "A lockstep robot simulator. Runs an SDF world on all cores of this machine, or\n"
	       "on several machines. The bits of the result are the same however the work is\n"
	       "distributed.\n\nCommands\n");
	for (size_t i = 0; i < ARRAY_LEN(main_subcommands); i++)
		printf("  %-28s%s\n", main_subcommands[i].name, main_subcommands[i].help);
	printf("\nOptions\n"
	       "  -h, --help                  print this help, or after COMMAND its help\n"
	       "  --version                   print the version; the fingerprint of this\n"
	       "                              machine's floating-point arithmetic: under\n"
	       "                              another fingerprint the same run may have other\n"
	       "                              bits; and the library of mathematical functions\n\n"
	       "Exit status\n"
	       "  0  done\n"
	       "  1  bad world or other input, a command that could not be obeyed, or output\n"
	       "     that could not be written\n"
	       "  2  wrong usage\n"
	       "  3  networked mode: a process was lost, did not come, or turned this one away\n"
	       "  4  internal error, out of memory, or a model diverged\n"
	       "  5  replay, mcap: a recording that was cut off or is damaged\n\n"
	       "The manual pages (man troupe, man troupe-COMMAND) say more.\n");
}

static int main_complain_of_command(const char *word)
{
	struct text names = {0};
	for (size_t i = 0; i < ARRAY_LEN(main_subcommands); i++) {
		const char *joint = i + 1 < ARRAY_LEN(main_subcommands) ? ", " : " or ";
		text_add(&names, "%s%s", i ? joint : "", main_subcommands[i].name);
	}
	if (word)
		cli_complain(NULL, "'%.100s': no such %s: expected %s; see troupe --help", word,
			*word == '-' ? "option" : "command", names.at);
	else
		cli_complain(NULL, "no command given: expected %s; see troupe --help", names.at);
	text_fini(&names);
	return CLI_BAD_USAGE;
}

static int main_dispatch(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	if (word && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
		main_print_help();
		return CLI_DONE;
	}
	if (word && !strcmp(word, "--version")) {
		printf("troupe %s\nfingerprint %016" PRIx64 "\nmathematics %s\n", troupe_version(),
			troupe_fingerprint(), troupe_math());
		return CLI_DONE;
	}
	for (size_t i = 0; word && i < ARRAY_LEN(main_subcommands); i++)
		if (!strcmp(word, main_subcommands[i].name))
			return main_subcommands[i].run(argc - 2, argv + 2);
	return main_complain_of_command(word);
}

/* Opens /dev/null for closed standard files: otherwise the next opened file would get their number. Each is opened
 * with the wrong access mode, so that reading or writing still fails. */
static void main_fill_standard_files(void)
{
	for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
		if (fcntl(file, F_GETFD) < 0)
			(void)!open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	main_fill_standard_files();
	signal(SIGPIPE, SIG_IGN); /* a reader that has closed its end is an error of write(), */
	signal(SIGXFSZ, SIG_IGN); /* and so is a file that is larger than the limit */
	signals_name_plugins();
	int status = main_dispatch(argc, argv);
	errno = 0;
	if ((fflush(stdout) || ferror(stdout)) && status == CLI_DONE) {
		cli_complain(NULL, "standard output: cannot write: %s", errno ? strerror(errno) : "closed");
		status = CLI_BAD_INPUT;
	}
	return status;
}
