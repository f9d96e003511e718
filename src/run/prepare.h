/* Prepares commands that create models: SDF is parsed, and meshes are read, before the step of the command, and not in
 * its turn. The results of a command do not depend on when or where it was prepared.
 *
 * A command that is due soon is prepared by the thread that posts it, before it is bound to its step. A command that
 * is due later is prepared by a thread of the preparer's own, in the order of steps: so is any command while many
 * prepared ones wait (PREPARE_COMMANDS_MAX, PREPARE_BYTES_MAX). A turn waits for a command that is not ready; then the
 * limits do not hold the preparer up.
 *
 *                give  wait  release     X needs outside exclusion
 *   give          -     -       -        give: any thread; takes as long as to load the model
 *   wait          -     X       X        wait: the primary, in the turn
 *   release       -     X       -        release: any thread; waits for a command that is being prepared */
#ifndef RUN_PREPARE_H
#define RUN_PREPARE_H

#include "run/edit.h"

/* Limits on commands that are prepared and wait for their steps. More commands are prepared when their steps come. */
enum { PREPARE_COMMANDS_MAX = 256 };
#define PREPARE_BYTES_MAX (UINT64_C(256) << 20)
/* A command that is due within so many steps is prepared by the thread that gives it. */
enum { PREPARE_SOON_STEPS = 100 };

struct command;
struct preparer;
/* The prepared models of a command; they belong to the command, which must keep its message until
 * prepared_release(). */
struct prepared;

/* The options must stay valid. Starts no thread yet. */
struct preparer *preparer_create(const struct edit_options *options);
/* All prepared commands must have been released. NULL is fine. */
void preparer_destroy(struct preparer *preparer);

/* Call it before the command is posted, once: sets command->prepared. soon: see above. */
void preparer_give(struct preparer *preparer, struct command *command, bool soon);
/* The models of the command, one for each item (an EntityFactory is one item): see edit_prepare(). Waits until they are
 * ready. */
struct edit_source *const *prepared_wait(struct prepared *prepared);
/* Adds the files from which the models were made. The files of a command that is not ready are read now. */
void prepared_collect(struct prepared *prepared, struct files *files);
/* The same for a command that was not given to the preparer: reads its files now. */
void preparer_collect(struct preparer *preparer, const struct command *command, struct files *files);
void prepared_release(struct prepared *prepared); /* NULL is fine */

/* From now on no command reads a file: all that they need is in options->files. Before any command. */
void preparer_close(struct preparer *preparer);
/* Returns when all commands that were given are ready. For a change of what options->files has, which may not change
 * them. No turn may be taken meanwhile. */
void preparer_finish(struct preparer *preparer);
/* rest: returns when the preparer's own thread is idle, and it stays idle until preparer_rest(preparer, false). For a
 * change of options->files. No turn may be taken meanwhile. */
void preparer_rest(struct preparer *preparer, bool rest);

#endif
