/* The report of a run as numbers; `troupe run` prints from it. All numbers are of the same moment between two steps:
 * when the report was made. */
#ifndef TROUPE_REPORT_H
#define TROUPE_REPORT_H

#include <troupe/world.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_report_secondary {
	uint32_t number; /* from 1; 0: the single runner */
	uint32_t level_count, performer_count;
	const char *const *levels;     /* loaded on this runner */
	const char *const *performers; /* that this runner simulates */
	uint64_t steps;
	double busy_s, waiting_s; /* time at work, and time waiting for work */
	double critical_share;    /* 0 .. 1: the share of the steps' time in which this runner was the slowest */
	uint64_t contacts, regroups, helped;
	/* Islands (bodies that touch or are joined) that troupe's own solver has stepped, summed over steps: exactly,
	 * or in soft steps, as piles; and those that it left to ODE, because the world asks for iterations, because
	 * they were too large, or because no solution was found. */
	uint64_t exact, soft, by_ode_asked, by_ode_large, by_ode_unsolved;
	uint32_t groups;
};

struct troupe_report_tuning { /* if the number of secondaries was found by trials */
	bool given;
	uint32_t working, secondaries, trials, changes;
	/* The last trial that compared one secondary with several: the number of these, and how long a step took with
	 * one secondary and with all of them. 0: there was no such trial. */
	uint32_t together;
	double alone_step_s, together_step_s;
};

enum troupe_member_change {
	TROUPE_MEMBER_CAME, /* it takes part from this step on */
	TROUPE_MEMBER_LEFT, /* it asked to leave */
	TROUPE_MEMBER_LOST, /* it was killed, hung, cut off, or sent invalid data */
};

/* "came", "left" or "lost". */
TROUPE_API const char *troupe_member_change_name(enum troupe_member_change change);

struct troupe_report_member { /* a change of the members of a networked run, while the world ran */
	enum troupe_member_change change;
	const char *who;
	uint64_t step;           /* the state from which the run went on */
	uint64_t repeated_steps; /* that were out when it was lost, and were taken again */
	double stood_still_s;    /* from when the change was noticed to the next step */
};

struct troupe_report_network { /* if secondaries are other processes */
	bool given;
	uint64_t bytes_sent, bytes_received; /* by the primary, on all connections */
	uint64_t step_bytes, ack_bytes;      /* before encryption */
	uint64_t robot_steps;                /* steps of models, summed over models */
	double largest_part_s; /* the most processor time of a secondary's stepping thread, summed over windows */
	uint64_t term;         /* of the primary: 1 more each time that a standby has taken over (standby.h) */
	uint32_t change_count;
	const struct troupe_report_member *changes; /* of the members, in the order of time */
};

struct troupe_report_world {
	const char *name;
	uint64_t steps;
	double simulated_s;      /* simulated time */
	double begun_s;          /* simulated time of state 0 */
	uint64_t first_step;     /* the state from which this run began: not 0 if it was resumed */
	double first_s;          /* simulated time of this state */
	double wall_s;           /* from the first step of this run to the last */
	double serial_s;         /* time in which no secondary worked */
	double paused_s;         /* of this time, in which the world was paused */
	double passed_s;         /* simulated time that passed since first_step, also when time was reset meanwhile */
	uint64_t paused_steps;   /* of the steps since first_step */
	double rtf, steps_per_s; /* of the steps since first_step that were not paused, in the time without pauses */
	uint64_t hash;
	uint64_t moves, meetings;
	uint64_t loads; /* loads of levels that were not loaded before */
	/* Mesh files and heightmaps that were left unread when the world was loaded (troupe_server_def.load_all): all;
	 * how often one was read in this process, and given up; those that it holds now, and the memory that they
	 * take. */
	uint64_t unread_meshes, meshes_read, meshes_given_up, meshes_held, mesh_bytes;
	uint64_t created, removed, refused_commands, waiting_commands;
	/* Windows of steps that the secondaries took between two exchanges, and the steps of windows that were taken
	 * again because a guess about them had been wrong. */
	uint64_t windows, repeated_steps;
	uint32_t longest_window; /* steps */
	/* The readings of sensors since state 0: their number, and the sum of a hash of each. It does not depend on the
	 * number of secondaries, if the same sensors measured. */
	uint64_t readings, readings_digest;
	struct troupe_report_tuning tuning;
	struct troupe_report_network network;
	const struct troupe_scene *scene;
	const struct troupe_model_state *models; /* of scene->models[i], i < scene->mobile_count */
	const struct troupe_odometry *odometry;  /* likewise */
	const struct troupe_joint_state *joints; /* of scene->joints[i] */
	uint32_t secondary_count;
	const struct troupe_report_secondary *secondaries;
};

struct troupe_report {
	uint64_t steps;
	double wall_s;
	uint64_t hash; /* of all worlds */
	uint64_t peak_memory_bytes;
	uint32_t observed; /* TROUPE_OBSERVE_...; without TROUPE_OBSERVE_EFFORTS, efforts of joints are 0 */
	uint32_t world_count;
	const struct troupe_report_world *worlds;
	uint32_t textures;      /* that cameras see, each counted once, however many models have it */
	uint64_t texture_bytes; /* of memory that they take, with their smaller copies */
};

/* Only while the server does not run. The caller calls troupe_report_free(); it may outlive the server. */
TROUPE_API struct troupe_report *troupe_server_report(struct troupe_server *server);
/* NULL is fine. */
TROUPE_API void troupe_report_free(struct troupe_report *report);
/* As JSON, ends with a newline; free() it. See troupe-report(5) for its members. */
TROUPE_API char *troupe_report_json(const struct troupe_report *report);

#ifdef __cplusplus
}
#endif
#endif
