/* --recordings: `troupe run` obeys the plug-ins LogRecord and LogPlayback of its world (cli/recordings.h).
 *
 * Thread: the one of main(), before the run. */
#ifndef CLI_RUN_RECORDINGS_H
#define CLI_RUN_RECORDINGS_H

#include "cli/complaints.h"
#include "cli/recordings.h"
#include "cli/run_settings.h"

/* LogRecord sets the settings that record the run; what the user has given has priority. LogPlayback replays its
 * recording instead of the run, or shows it to a browser or to Foxglove. False: there is no run, and *ret_exit is the
 * exit status; an error was printed. Everything that *ret_recordings points to is in the arena. */
bool run_recordings_obey(struct run_settings *settings, struct complaints *complaints, struct arena *arena,
	struct recordings *ret_recordings, int *ret_exit);

#endif
