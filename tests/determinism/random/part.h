/* A scenario: a world, its commands and files, as trees of parts. A part that is not needed can be left out, and the
 * rest is still a scenario. The generator adds parts, the writer prints them, and the shrinker leaves them out. */
#ifndef RANDOM_PART_H
#define RANDOM_PART_H

#include "base/arena.h"
#include "base/text.h"

enum part_kind {
	PART_NEEDED,   /* left out only with the part around it */
	PART_OPTIONAL, /* an element of the world that can be left out */
	PART_COMMAND,  /* a line of the commands file */
};

enum command_kind {
	COMMAND_EDIT,      /* changes the world: repeating it repeats its effect */
	COMMAND_GIVE,      /* a command to a plug-in */
	COMMAND_CREATES,   /* in the step of a reset, the places of the models before it are not free yet */
	COMMAND_STEP_SIZE, /* value: the new length of a step in seconds */
	COMMAND_GRAVITY,
	COMMAND_LASTING, /* another change that a reset does not undo */
	COMMAND_RESET_ALL,
	COMMAND_RESET_TIME,
	COMMAND_RESET_MODELS,
	COMMAND_PAUSE, /* value: 1 or 0 */
	COMMAND_MULTI, /* value: steps until the next pause */
};

struct part;
typedef VEC(struct part *) part_list;

struct part {
	enum part_kind kind;
	const char *before, *after; /* text around the children; after may be NULL */
	part_list children;
	bool dropped;

	/* of a command */
	uint64_t step;
	uint32_t world;
	enum command_kind command;
	double value;
};

struct scenario_file {
	const char *name;
	struct part *part;   /* NULL: a file of the source folder, which is copied */
	const char *copy_of; /* relative to the source folder */
};

enum scenario_kind {
	KIND_MIXED,   /* some of everything */
	KIND_LEVELS,  /* levels that load and unload under fast performers */
	KIND_JOINTS,  /* mechanisms, driven to their stops */
	KIND_PILE,    /* islands above the exact solver's rows */
	KIND_EDITS,   /* models that are created, removed and placed, several in one step and place */
	KIND_SLEEP,   /* models that come to rest, and commands that wake them */
	KIND_RESET,   /* the same commands before and after a reset */
	KIND_FLOOR,   /* no model may sink below z = 0 */
	KIND_TIED,    /* models that joints of the world tie overlap, and must not touch */
	KIND_HIT,     /* models that sleep until another one hits them, and a third one that comes there */
	KIND_SYSTEMS, /* systems of all kinds; some worlds of the other kinds have them as well */
	KIND_END,
};

struct scenario {
	struct arena arena;
	uint64_t seed;
	enum scenario_kind kind;
	uint32_t world_count;
	struct part *world;    /* the file's root */
	struct part *commands; /* its children are commands, by step */
	VEC(struct scenario_file) files;
	VEC(const char *) performers; /* names that --pin takes */
	uint64_t steps;
	double step_s[2]; /* as the file has it, by world */
	bool actors;      /* the state depends on simulated time, because of actors, systems or moving lidars */
	/* options of each run */
	bool sleepless, paused;
	bool senses;      /* models have sensors, and all of them measure */
	bool has_systems; /* of all kinds, and not only those that drive joints and carts */
	double initial_time_s;
};

/* The name of a kind on the command line; NULL for KIND_END. */
const char *scenario_kind_name(enum scenario_kind kind);
void scenario_fini(struct scenario *scenario);

/* Whether the world has only what its kind puts there, and only the commands that this makes. */
static inline bool scenario_has_own_layout(const struct scenario *scenario)
{
	return scenario->kind == KIND_FLOOR || scenario->kind == KIND_TIED || scenario->kind == KIND_HIT;
}

/* A new last child of parent (NULL: a root). */
struct part *part_add(struct arena *arena, struct part *parent, enum part_kind kind, const char *after,
	const char *format, ...) TROUPE_PRINTF(5, 6);
/* Whether a command is left; commands have no children that matter here. */
static inline bool part_is_there(const struct part *part)
{
	return !part->dropped;
}
void part_print(const struct part *part, struct text *out);
/* Sorts commands by their steps; those of one step keep their order. */
void part_sort_commands(struct part *commands);
/* The options of each run of the scenario. */
void scenario_options(const struct scenario *scenario, struct text *out);
/* Writes world.sdf, commands and all other files into the folder. source_dir: the folder from which files are copied.
 * Ends the process when a file cannot be written. */
void scenario_write(const struct scenario *scenario, const char *source_dir, const char *folder);
/* Writes the commands of steps before `step`, and the other commands, to two files. */
void scenario_write_halves(const struct scenario *scenario, const char *folder, uint64_t step);
/* Ends the process when the file cannot be written. */
void scenario_write_text(const char *folder, const char *name, const struct text *text);
/* The number of optional parts and commands that are left. */
uint32_t scenario_count(const struct scenario *scenario);

#endif
