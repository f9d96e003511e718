/* The wishes of the plug-ins LogRecord and LogPlayback of a world: Gazebo's systems that record a run, and that show a
 * recording in place of a run. Here they mean troupe's own recordings. A world may come from a stranger, so they are
 * obeyed only if the user says --recordings; the library warns of them otherwise.
 *
 * A recording is a folder, as in Gazebo, with RECORDING_FILE in it, and RECORDING_TOPICS if the world asks for
 * topics. */
#ifndef CLI_RECORDINGS_H
#define CLI_RECORDINGS_H

#include "cli/options.h"

#define RECORDING_FILE "recording.troupe"
#define RECORDING_TOPICS "topics.mcap"

struct recordings {                /* zeroed: the world asks for nothing */
	const char *playback;      /* a recording to show instead of a run */
	const char *folder;        /* of the recording to make; exists after recordings_open() */
	const char *record, *mcap; /* files in it; mcap NULL: no topics are asked for */
	struct option_list topics;
	uint64_t every;    /* steps between recorded states; 0: not said */
	const char *place; /* FILE:LINE of the plug-in that is obeyed */
	bool overwrite;
};

/* Reads the plug-ins of the world. text: see cli_load(). warn is called for each wish that cannot be fulfilled. All
 * that *ret_recordings points to is in the arena. False: *ret_exit is the exit status, and the error was printed. */
bool recordings_read(const char *world, const char *text, const char *const *resource_paths,
	void (*warn)(void *ctx, const char *text), void *ctx, struct arena *arena, struct recordings *ret_recordings,
	int *ret_exit);
/* Makes the folder, and sets `record` and `mcap`. A folder that exists is used only with <overwrite>; without it, the
 * new folder has the first number in parentheses that is free: "drive(1)". */
troupe_status recordings_open(struct recordings *recordings, struct arena *arena, struct troupe_error *error);
/* Removes the folder if nothing was written into it: the run was refused. */
void recordings_close(const struct recordings *recordings);

#endif
