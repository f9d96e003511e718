/* Programs that a world names: <plugin name="troupe::Program"> in a world or in a model. This module reads and checks
 * them; it starts none. The command starts them (cli/keeper.h), and only if it was told to.
 *
 *     <plugin filename="troupe" name="troupe::Program">
 *       <executable>bin/drive</executable>   required; with a slash: a file, relative to the folder of the SDF file
 *                                            that has this element; without: searched for in PATH
 *       <arg>--speed</arg> <arg>3</arg>      any number up to TROUPE_PROGRAM_ARGS_MAX, also empty ones
 *       <name>drive</name>                   default: the last part of the executable
 *       <restart>on-failure</restart>        or never, the default
 *     </plugin>
 *
 * The name of a program in a model is MODEL.NAME. Characters that a barrier client's name (troupe/barrier.h) cannot
 * have become '_', and a default name that another program has gets a number: "drive-2". So each program of a file has
 * a name of its own, by which it can join the lockstep.
 *
 * Thread: any. */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "base/arena.h"
#include "sdf/sdf.h"

#include <troupe/server.h>

#define PROGRAM_PLUGIN "troupe::Program"

enum { PROGRAM_TEXT_MAX = 4095 }; /* bytes of an executable or of an argument */

struct program_list { /* zeroed is empty */
	const struct troupe_program *at;
	uint32_t count;
	struct arena arena; /* owns all that the members point to */
};

bool program_is(const struct sdf_plugin *plugin);
/* Reads the programs of all worlds of the file. TROUPE_EWORLD with file:line for the first plug-in that is wrong or one
 * too many. on_error: if it is not NULL, it is called for the error of each plug-in. */
troupe_status programs_read(const struct sdf *sdf, void (*on_error)(void *ctx, const char *text), void *ctx,
	struct program_list *ret_list, struct troupe_error *error);
void programs_fini(struct program_list *list);

#endif
