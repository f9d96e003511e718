/* What the primary does with the commands of a step, and with what systems decide for it. The primary's, between steps.
 *
 * A command that replaces the world must wait for a step in which no secondary has anything; the commands behind it
 * wait with it. */
#ifndef RUN_PRIMARY_COMMANDS_H
#define RUN_PRIMARY_COMMANDS_H

#include "run/primary.h"

/* Takes the commands that are due at step k, the timed ones last. What they give to systems waits in primary->due. */
void primary_take_commands(struct primary *primary, uint64_t k);
/* After it: has the systems decide, and takes what they ask for, unless they have decided for this step already. */
void primary_take_decisions(struct primary *primary, uint64_t k);
/* The next command that is due by step k, if it must wait until no secondary has anything; NULL: there is none. */
struct command *primary_waits_for_empty(struct primary *primary, uint64_t k);
/* Tells once of a command that is taken at step k, or begins to wait for an empty step. */
void primary_tell_taken(struct primary *primary, uint64_t k, struct command *command, troupe_status status);
/* Each secondary's part of the step gets the commands for its models. */
void primary_deal_commands(struct primary *primary);
/* Obeys commands on the primary's own state: those to the world, and to models that no secondary simulates. If the
 * secondaries are in other processes, they obey theirs on copies, so the primary obeys all. all: no secondary will get
 * the step. */
void primary_obey_due(struct primary *primary, bool all);
/* Frees the commands of the step that is over. */
void primary_free_taken(struct primary *primary);

/* Gives a message for systems to each listener of the topic that can take it, and that `owner` may act on
 * (run/owners.h). Fails when none does, or there is none. */
troupe_status primary_give(struct primary *primary, uint32_t owner, const char *topic, const ProtobufCMessage *message,
	struct troupe_error *error);
/* Whether the topic has a listener on which `owner` may act. */
bool primary_reaches(const struct primary *primary, uint32_t owner, const char *topic);
/* Takes what a command did so far into the plan. Called after each command; by the command, if it needs the plan before
 * its end. */
void primary_plan_effects(struct primary *primary);

#endif
