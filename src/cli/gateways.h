/* The gateways of a run: adapters through which other programs see the running world and act on it. */
#ifndef CLI_GATEWAYS_H
#define CLI_GATEWAYS_H

#include "base/arena.h"
#include "cli/options.h"

#include <troupe/gateway.h>

struct troupe_server;

enum { GATEWAYS_MAX = 16 };

struct gateways_settings {
	struct option_list serve; /* as serve_parse() (cli/serve.h) takes them, beside those of the other fields */
	bool no_gz;               /* no gz-transport */
	const char *gz_address;   /* of the interface through which other hosts are served; NULL: this machine only */
	bool view;                /* a page for browsers, on this machine, at the usual port or any free one */
	const char *view_address; /* "[ADDRESS:]PORT": the page at this address; NULL: not given */
	const char *view_cert, *view_key; /* PEM files: the page with TLS; NULL: without */
	struct option_list view_panels;   /* folders, each a panel of the page; they ask for the page, too */
	struct option_list view_marks;    /* "STEP[:TEXT]", of the time line of a recording */
	struct troupe_watch_def watch;    /* listen: NULL: no viewers of other processes */
	bool clients;               /* robot clients are served, also when `watch` listens nowhere; its key counts */
	const char *clients_listen; /* "[HOST][:PORT]": then at this HOST, at any free port; NULL: not given */
	const char *foxglove;       /* "[ADDRESS:]PORT"; NULL: no Foxglove */
	const char *foxglove_cert, *foxglove_key; /* as view_cert and view_key */
	const char *foxglove_origin;
	bool foxglove_insecure;
	const char *rosbridge;                      /* "[ADDRESS:]PORT"; NULL: no rosbridge */
	const char *rosbridge_cert, *rosbridge_key; /* as view_cert and view_key */
	const char *rosbridge_origin;
	const char *rosbridge_robot;                               /* NULL: the only one */
	const char *view_token, *foxglove_token, *rosbridge_token; /* NULL: the gateway makes one if it needs one */
	bool rosbridge_insecure;
	bool token;               /* the page, Foxglove and rosbridge ask for a token on this machine, too */
	bool ros2;                /* a node of ROS 2 */
	int64_t ros2_domain;      /* -1: the one that ROS_DOMAIN_ID says, or 0 */
	const char *ros2_address; /* as gz_address */
	const char *ros2_robot;   /* NULL: the only one */
	const char *ros2_distro;  /* a name of a release of ROS 2; NULL: not Humble */
};

struct gateways;

/* Starts the gateways; *ret_gateways is NULL if there is none. say: called for each line that is for people; loud: also
 * without -v. A gateway that no option asks for and that cannot work is left out, with a line that has the reason.
 * A gateway that an option asks for cannot work: TROUPE_EIO; TROUPE_EINVAL: because of the option, or because this
 * build has no such gateway, which is wrong usage, too. */
troupe_status gateways_start(const struct gateways_settings *settings, struct troupe_server *server,
	void (*say)(void *ctx, bool loud, const char *text), void *ctx, struct gateways **ret_gateways,
	struct troupe_error *error);
/* The same in the process of a robot client, for the run of another process. TROUPE_EPEER, TROUPE_EPROTOCOL: the run
 * cannot be joined; other errors as above. */
troupe_status gateways_connect(const struct gateways_settings *settings, const struct troupe_view_run *run,
	void (*say)(void *ctx, bool loud, const char *text), void *ctx, struct gateways **ret_gateways,
	struct troupe_error *error);
/* Shows instead the recording of def through the gateway that is asked for, or to browsers if none is, or the run of
 * another process (def or run is NULL): prints the address, and shows it until a signal asks the process to
 * stop, or that run is over. Sets on_warning and ctx of def. command: of troupe, for messages; verbosity: its -v.
 * Returns the exit status: CLI_BAD_USAGE for a wrong address, and where this build has no such gateway. */
struct troupe_server_def;
int gateways_show(const char *command, const struct gateways_settings *settings, struct troupe_server_def *def,
	const struct troupe_view_run *run, int64_t verbosity);
/* The addresses by which programs reach those that are on; "": it is off. */
struct gateways_addresses {
	char view[512], foxglove[512], rosbridge[512], watch[128];
	char gz[256], ros2[128]; /* what troupe_gateway_describe() says */
};
struct gateways_addresses gateways_addresses(const struct gateways *gateways);
/* Has a later start with these settings serve at the same ports, with the same tokens. Texts are in the arena. */
void gateways_keep_places(const struct gateways *gateways, struct gateways_settings *settings, struct arena *arena);
/* Whether barrier clients can join through a gateway that is on. NULL: no. */
bool gateways_can_be_joined(const struct gateways *gateways);
/* Whether a program has commanded the run through a gateway. NULL: no. */
bool gateways_commanded(const struct gateways *gateways);
/* Call it before the server is destroyed. why: the reason if the run has failed; NULL: it has ended. gateways may be
 * NULL. */
void gateways_end(struct gateways *gateways, const struct troupe_error *why);

#endif
