/* Networked mode on the command line: the choice of the mode, secondaries that are started as child processes, and
 * the secondary itself. */
#ifndef CLI_NETWORK_H
#define CLI_NETWORK_H

#include "base/arena.h"
#include "cli/options.h"

#include <troupe/network.h>

struct network_settings {
	const char *transport, *role, *address, *listen, *partition, *interface, *key_file, *save_on_stop;
	const char *name;           /* of a robot client */
	struct option_list clients; /* names that the primary waits for */
	int64_t clients_max;        /* 0: only those */
	const char *client_lost;    /* NULL: not given */
	const char *client_rights;  /* the same */
	int64_t secondaries;        /* 0: not given */
	const char *on_loss;        /* NULL: not given */
	int64_t most, spares;       /* 0: not given */
	int64_t stale_ms;           /* 0: not given */
	int64_t threads;            /* of a secondary; 0: not given */
	int64_t socket;             /* descriptor, for a secondary that was started here; negative: none */
	double wait_s;
	bool insecure, distributed;
	bool standby;           /* of a secondary: start a standby beside it */
	char role_variable[64]; /* environment variable that gave the role; "": none did */
	struct troupe_job *job; /* NULL: none */
	bool taken_back;        /* the role is "none": network settings of the configuration file are not used */
};

enum network_mode {
	NETWORK_NONE,
	NETWORK_PRIMARY,
	NETWORK_SECONDARY,
	NETWORK_CHILDREN, /* a primary that starts its secondaries on this machine */
	NETWORK_CLIENT,   /* a secondary with a name, through which models are created */
	NETWORK_RANKS,    /* one of the processes that a launcher started together */
	NETWORK_STANDBY,  /* follows a primary, and becomes NETWORK_PRIMARY when that is lost */
};

/* network_choose() finds the mode, also from environment variables. Then the caller refuses options that do not fit
 * the mode. Then network_settle() sets the number of secondaries; `secondaries` is that of --secondaries, negative
 * when not given. Both return false for wrong usage; the error has been printed. */
bool network_choose(struct network_settings *settings, enum network_mode *ret_mode);
bool network_settle(struct network_settings *settings, enum network_mode mode, int64_t secondaries);
/* The names of all transports, separated by blanks; `here`: of those without a launcher. */
const char *network_transports(struct arena *arena);
const char *network_transports_here(struct arena *arena);
/* Whether the secondaries of this transport, given by name, are processes that this one starts. NULL: no. */
bool network_is_children(const char *transport);

/* NETWORK_RANKS: joins the other processes, and fills in settings->job; then, for the primary, the number of
 * secondaries, which `secondaries` must not contradict. False: the processes cannot join, and *ret_exit is the exit
 * status; the error has been printed, once for all processes if they can be told apart. */
bool network_join(struct network_settings *settings, int64_t secondaries, int *ret_exit);
/* Call it at the end with this process's exit status. settings->job may be NULL. */
void network_leave(struct network_settings *settings, int exit_status);

/* Whether robot clients can take part in the primary's run. */
bool network_awaits_clients(const struct network_settings *settings);
/* What becomes of the models of a client that is gone. */
enum troupe_client_lost network_client_lost(const struct network_settings *settings);
enum troupe_client_rights network_client_rights(const struct network_settings *settings);
enum troupe_on_loss network_on_loss(const struct network_settings *settings);

struct network_hooks {                                      /* of a robot client */
	void (*on_welcome)(void *ctx, const char *address); /* as in troupe_secondary_def */
	void *ctx;
	struct troupe_secondary *secondary; /* set before on_welcome() is called */
	struct troupe_error why;            /* with which it failed; status TROUPE_OK: it did not */
};

/* Runs this process as a secondary, or with hooks as a robot client. verbosity: that of the command line. Returns the
 * exit status. */
int network_be_secondary(const struct network_settings *settings, const char *const *plugin_paths,
	const char *break_rule, int64_t verbosity, struct network_hooks *hooks);

/* As cli_exit_status(), but TROUPE_EINVAL is bad input: a wrong address or interface is detected late. */
int network_exit_status(troupe_status status);

struct children {
	int *pids, *sockets; /* [count]; pid 0: ended or not started; socket -1: none, or passed on */
	uint32_t count;
};

/* The number of children for the value of --secondaries; one per core when that is negative (not given). */
uint32_t children_count(int64_t secondaries);
/* Starts `count` secondaries as processes of this program, each with one end of a socket pair. They end when this
 * process ends, for any reason. children->sockets are the other ends; a caller that passes one on sets it to -1.
 * threads: of each secondary; 0: all cores but one are divided among them. */
troupe_status children_start(struct children *children, uint32_t count, uint32_t threads,
	const char *const *plugin_paths, const char *break_rule, struct troupe_error *error);
/* Waits a limited time for all children to end, and then kills the remaining ones. */
void children_end(struct children *children);

#endif
