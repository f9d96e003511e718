/* The settings of `troupe run`: the table of its options, and the struct that they fill.
 *
 * Each option says in which modes it has an effect, and is refused in the others. Thread: the one of main(), before
 * the run. Texts live as long as argv and the arena. */
#ifndef CLI_RUN_SETTINGS_H
#define CLI_RUN_SETTINGS_H

#include "cli/gateways.h"
#include "cli/lockstep.h"
#include "cli/network.h"
#include "cli/options.h"
#include "cli/xacro.h"

struct run_settings {
	const char *world_text; /* the world itself, and `world` is only its name; NULL: it is in a file */
	const char *world, *resume, *save_dir, *distribution, *commands, *commands_out, *report, *config, *break_rule,
		*record, *costs, *solver, *lanes, *log, *log_what, *camera_out, *camera_format, *mcap, *mcap_names,
		*mcap_robot;
	struct option_list resource_paths, plugin_paths, pins, save_at, save_every, topics;
	int64_t secondaries, iterations, seed, chaos, chaos_moves, window, hash_every, verbosity, record_every,
		costs_every, log_every;
	double until_s, initial_time_s;
	double rate_hz; /* 0: not given */
	double rtf;     /* negative: not given */
	bool paused, no_levels, load_all, no_sleep, sense_all, trace, anew, strict, programs, recordings;
	struct xacro_settings xacro;
	struct network_settings network;
	struct gateways_settings gateways;
	struct lockstep_settings lockstep;
	enum network_mode mode;                  /* run_settings_choose() sets it */
	enum option_source sources[OPTIONS_MAX]; /* of each option of run_command: where it was given */
};

/* Tags of an option beside the modes in which it has an effect (run_settings_modes()). */
enum {
	/* The run keeps its world and seed: a file tells of one run, a saved state has its world, pins are names of
	 * models, and programs that the run waits for or has started belong to it (next_run.h). */
	RUN_BOUND = 1 << 16,
	/* LogPlayback hands the option on to troupe replay or troupe view (run_recordings.h). */
	RUN_PLAYED = 1 << 17,
	RUN_LIMIT = 1 << 18,      /* only to troupe replay, as --until-step */
	RUN_NOT_PLAYED = 1 << 19, /* no effect there: it may be given */
};

extern const struct options_command run_command;

/* Reads the command line into *ret_settings. False: the help or an error was printed, and *ret_exit is the exit
 * status. */
bool run_settings_parse(int argc, char **argv, struct arena *arena, struct run_settings *ret_settings, int *ret_exit);
/* Finds the mode, refuses options that do not fit it, and settles the number of secondaries. False: wrong usage; the
 * error was printed. */
bool run_settings_choose(struct run_settings *settings, struct arena *arena);
/* The modes in which the option has an effect: a sum of 1 << enum network_mode. */
unsigned run_settings_modes(const struct option_spec *spec);
/* Whether commands are read from standard input while the world runs. */
bool run_settings_from_input(const struct run_settings *settings);

#endif
