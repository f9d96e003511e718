/* Networked mode on the command line: what was asked for, secondaries that are started here, and being one. */
#ifndef CLI_NETWORK_H
#define CLI_NETWORK_H

#include "base/arena.h"

#include <troupe/network.h>

struct network_settings {
	const char *transport, *role, *address, *listen, *partition, *interface, *key_file, *save_on_stop;
	int64_t secondaries; /* 0: not given */
	int64_t stale_ms;    /* 0: not given */
	int64_t socket;      /* of a secondary that was started here; negative: none */
	double wait_s;
	bool insecure, distributed;
	char role_variable[64]; /* of the environment, which gave the role; "": none did */
	bool taken_back;        /* the role is "none": what a file says of roles is set aside */
};

enum network_mode {
	NETWORK_NONE,
	NETWORK_PRIMARY,
	NETWORK_SECONDARY,
	NETWORK_CHILDREN, /* a primary, of secondaries that it starts here itself */
};

/* What is asked for, the variables of the environment included; then, options that do not fit having been
 * refused, how many secondaries, where `secondaries` is that of --secondaries, negative when not given. False: it makes
 * no sense; all has been said, and it is wrong usage. */
bool network_choose(struct network_settings *settings, enum network_mode *ret_mode);
bool network_settle(struct network_settings *settings, enum network_mode mode, int64_t secondaries);
/* verbosity: that of the command line. Returns the exit status. */
int network_be_secondary(const struct network_settings *settings, const char *break_rule, int64_t verbosity);

/* What an address or an interface may be is found out late: that it is not is bad input. */
int network_exit_status(troupe_status status);

struct children {
	int *pids, *sockets; /* [count]: 0, -1 when there is none (any more) */
	uint32_t count;
};

/* How many, of --secondaries: one per core when it is not given, negative. */
uint32_t children_count(int64_t secondaries);
/* Starts secondaries of this same program, each with an end of a connection of its own; they end with this process,
 * however it ends. children->sockets are the other ends: whoever takes them sets them to -1. */
troupe_status children_start(
	struct children *children, uint32_t count, const char *break_rule, struct troupe_error *error);
/* Waits for a while until all have ended, and ends those that have not. */
void children_end(struct children *children);

#endif
