/* `troupe run --network-role standby`, before it takes over. */
#ifndef CLI_STANDBY_H
#define CLI_STANDBY_H

#include "cli/run_settings.h"

#include <troupe/standby.h>

/* Follows the primary. *ret_standby: this process is to take over: the settings have become those of the primary that
 * goes on, with the limits of the run that was followed where the command line gives none. Destroy it when the server
 * has been created. NULL: the process ends, with the exit status that is returned. */
int standby_follow(struct run_settings *settings, struct troupe_standby **ret_standby);
/* Saves a state of a lost primary with which the run does not go on. Says what fails. */
void standby_save(const struct run_settings *settings, const char *state, size_t bytes);

/* Starts a standby with the settings of this secondary, as a process that ends with this one. 0: it cannot be started;
 * the reason was printed. */
int standby_start_beside(const struct network_settings *settings, int64_t verbosity);
/* The secondary has ended with this status: waits for the standby, which the end of the run ends, too. Returns the exit
 * status of both: the first that is not 0. */
int standby_end_beside(int process, int exit_status);

#endif
