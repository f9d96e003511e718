/* A capture: what a step boundary looked like, as far as clients need it. The thread that takes a step fills it in;
 * then it is immutable and shared by reference counting, so that other threads encode messages from it while the
 * simulation goes on. A snapshot (snapshots.h) is for one reader at a time and always whole; a capture has only the
 * parts that a client asked for, and as many captures wait as clients have room for.
 *
 * Thread: capture_make() between steps, on the thread that does the primary's part; the rest on any thread. */
#ifndef SERVER_CAPTURE_H
#define SERVER_CAPTURE_H

#include "server/encode_fast.h"
#include "server/internal.h"

#include <troupe/report.h>

enum capture_part {
	CAPTURE_MODELS = 1, /* snapshot.models */
	CAPTURE_LINKS = 2,
	CAPTURE_JOINTS = 4, /* while a subscription has it, efforts are noted in each step */
	CAPTURE_ODOMETRY = 8,
	CAPTURE_CONTACTS = 16,
	CAPTURE_LEVELS = 32, /* levels, ghosts, moves, places, changes */
	CAPTURE_SCENE = 64,  /* snapshot.scene; every other part brings it, too */
	CAPTURE_BEFORE = 128,
	CAPTURE_HASH = 256,
	CAPTURE_SDF = 512, /* gravity, added, link_lights */
	CAPTURE_READINGS = 1024,
	CAPTURE_WORK = 2048, /* work */
	/* of systems; model_topics_report() adds them after capture_make(), before any client has the capture */
	CAPTURE_REPORTS = 4096,
	CAPTURE_MEMBERS = 8192, /* members; while a subscription has it, contacts are noted in each step */
	CAPTURE_PICTURE = 16384,
};

#define CAPTURE_BYTES_MAX (UINT64_C(512) << 20) /* of all captures of a world that are in use */

struct capture_level {
	const char *name;   /* the world's, which outlives all clients */
	uint32_t secondary; /* the secondary that has it loaded; 0: none, or the single runner */
	bool loaded;
};

struct capture_ghost {
	uint32_t model, secondary; /* model: index in snapshot.scene */
};

struct capture_move { /* in the step that led to this state */
	uint32_t model, from, to;
};

struct capture_work { /* of a secondary, since the run began */
	uint64_t busy_ns, waited_ns, steps;
	uint32_t models; /* that it simulates now */
};

struct capture_member {            /* of a component with other members */
	uint32_t model, component; /* index in snapshot.scene; a number from 0 */
};

struct capture_place { /* a performer in a level, or near it */
	uint32_t model, level;
	bool in;
};

struct capture_report {      /* a message of a system */
	uint64_t object;     /* of the row: its model */
	uint32_t part;       /* of the row: the system and its output */
	size_t first, count; /* in report_bytes */
};

struct capture {
	_Atomic uint32_t refs;
	uint32_t parts;
	struct capture_pool *pool;
	struct capture *unused; /* link of the pool's list */
	size_t bytes;           /* of its buffers */

	int64_t time_ns;   /* simulated time of the state */
	int64_t real_ns;   /* since the run began */
	int64_t system_ns; /* since 1970 */
	double rtf;        /* real-time factor that was reached lately */
	double pace;       /* real-time factor that the run keeps to; 0: as fast as possible */
	double step_s;
	uint64_t hash; /* of the state of all worlds */
	struct troupe_server *server;
	bool stepping; /* it takes a given number of steps, then pauses */
	/* Arrays of parts that the capture does not have are empty. busy is NULL. */
	struct troupe_snapshot snapshot;
	uint32_t level_count;
	struct capture_level *levels;     /* [level_count] of the world's scene, in order */
	VEC(struct capture_ghost) ghosts; /* by model */
	VEC(struct capture_move) moves;
	uint64_t shares;                          /* of struct placement */
	VEC(struct capture_place) places;         /* by model, then level */
	VEC(struct troupe_report_member) changes; /* the last ones, in order; their texts are the capture's */
	VEC(struct capture_work) work;            /* of each secondary */
	VEC(struct capture_member) members; /* by model; components are numbered in the order of their first models */
	VEC(struct capture_report) reports; /* by key, then `of` */
	struct text report_bytes;
	struct vec3 gravity;
	struct text added;          /* SDF of created models, and of the lights of the world */
	sdf_lights_now link_lights; /* of models of the file: those that a command changed */
	struct readings readings;   /* of the last step */
	struct encode_picture picture;
	/* The outcome of a request; NULL: no request. `service` is the start of one piece of memory. */
	char *service, *reply_text;
	uint64_t reply_step;
	bool reply_ok;
	const struct troupe_scene *before; /* the scene that the last capture with CAPTURE_BEFORE had; NULL: none */

	/* private */
	struct snapshots_arrays arrays;
	uint32_t model_room, odometry_room, link_room, joint_room, contact_room, level_room, status_room, pose_room;
};

struct capture_pool;

/* The notes of physics/notes.h, bits OBSERVE_..., that messages of these parts are made of. */
static inline uint32_t capture_notes(uint32_t parts)
{
	return (parts & CAPTURE_MEMBERS ? (uint32_t)OBSERVE_CONTACTS : 0u) |
	       (parts & CAPTURE_JOINTS ? (uint32_t)OBSERVE_EFFORTS : 0u);
}

struct capture_pool *capture_pool_create(void);
/* Call it when no capture is in use. NULL is fine. */
void capture_pool_destroy(struct capture_pool *pool);

/* A capture of the present state with one reference. NULL: captures that are in use have too many bytes. */
struct capture *capture_make(struct capture_pool *pool, struct server_world *world, uint32_t parts);
struct capture *capture_hold(struct capture *capture);
void capture_release(struct capture *capture);

#endif
