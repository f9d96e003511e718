/* Shared by primary.c (the turn), primary_save.c (its state as bytes) and services.c (what a command does to the
 * primary itself). */
#ifndef RUN_PRIMARY_INTERNAL_H
#define RUN_PRIMARY_INTERNAL_H

#include "run/primary.h"

/* Takes no further step until told otherwise; callers that wait for steps are told. */
void primary_pause(struct primary *primary);
/* Tells the callers that wait for steps to be taken. */
void primary_answer_waiting(struct primary *primary, uint64_t step, troupe_status status, const char *text);
/* Gives a message for systems to each listener of the topic that can take it, and that `owner` may act on
 * (run/owners.h). Fails when none does, or there is none. */
troupe_status primary_give(struct primary *primary, uint32_t owner, const char *topic, const ProtobufCMessage *message,
	struct troupe_error *error);
/* Whether the topic has a listener on which `owner` may act. */
bool primary_reaches(const struct primary *primary, uint32_t owner, const char *topic);
/* Call it before simulated time jumps; and after that set passed_from_s to the new time. */
void primary_sum_time(struct primary *primary);
/* Whether the steps add up to this time, within a millionth of a step. */
bool primary_has_reached(const struct primary *primary, double time_s);
/* How many steps, at most `most`, may be taken together from step k on, whose commands were obeyed already; at least 1.
 * Commands that are posted from now on are for steps after those. */
uint64_t primary_horizon(struct primary *primary, uint64_t k, uint64_t most);
/* Whether a window must not go on where a performer comes near a level or leaves it. */
bool primary_minds_levels(struct primary *primary);
/* The notes, bits OBSERVE_..., that are wanted of the coming step. */
uint32_t primary_observes(const struct primary *primary);
/* Calls update() of all systems that have it. What they ask for is in primary->decided then; the caller obeys it in
 * this step, in that order. */
void primary_update_systems(struct primary *primary);
/* Takes what a command did so far into the plan. Called after each command; by the command, if it needs the plan before
 * its end. */
void primary_plan_effects(struct primary *primary);
/* Replaces the state of the world by another state, which primary_pack() wrote for a primary of the same world; the
 * step number goes on. Commands that wait in that state are taken as many steps after this step as they were after the
 * state. Commands that wait here stay, except for commands that came with a state that was taken up before: they are
 * dropped. Call it when no secondary has a model or a level: primary->emptied. On failure nothing has changed. *note:
 * what was done. TROUPE_EWORLD: damaged; TROUPE_ELIMIT: too many commands would wait. */
troupe_status primary_adopt_state(struct primary *primary, const char *bytes, size_t count, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error);
#endif
