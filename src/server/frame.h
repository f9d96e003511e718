/* A frame: what a step boundary looked like, as far as clients need it. The thread that takes a step fills it in; then
 * it is immutable and shared by reference counting, so that other threads encode messages from it while the
 * simulation goes on. A snapshot (snapshots.h) is for one reader at a time and always whole; a frame has only the parts
 * that a client asked for, and as many frames wait as clients have room for.
 *
 * Thread: frame_make() between steps, on the thread that does the primary's part; the rest on any thread. */
#ifndef SERVER_FRAME_H
#define SERVER_FRAME_H

#include "server/encode_fast.h"
#include "server/internal.h"

#include <troupe/report.h>

enum frame_part {
	FRAME_MODELS = 1, /* snapshot.models */
	FRAME_LINKS = 2,
	FRAME_JOINTS = 4, /* while a subscription has it, efforts are noted in each step */
	FRAME_ODOMETRY = 8,
	FRAME_CONTACTS = 16,
	FRAME_LEVELS = 32, /* levels, ghosts, moves, places, changes */
	FRAME_SCENE = 64,  /* snapshot.scene; every other part brings it, too */
	FRAME_BEFORE = 128,
	FRAME_HASH = 256,
	FRAME_SDF = 512, /* gravity, added, link_lights */
	FRAME_READINGS = 1024,
	FRAME_WORK = 2048, /* work */
	/* of systems; model_topics_report() adds them after frame_make(), before any client has the frame */
	FRAME_REPORTS = 4096,
	FRAME_MEMBERS = 8192, /* members; while a subscription has it, contacts are noted in each step */
	FRAME_PICTURE = 16384,
};

#define FRAME_BYTES_MAX (UINT64_C(512) << 20) /* of all frames of a world that are in use */

struct frame_level {
	const char *name;   /* the world's, which outlives all clients */
	uint32_t secondary; /* the secondary that has it loaded; 0: none, or the single runner */
	bool loaded;
};

struct frame_ghost {
	uint32_t model, secondary; /* model: index in snapshot.scene */
};

struct frame_move { /* in the step that led to this state */
	uint32_t model, from, to;
};

struct frame_work { /* of a secondary, since the run began */
	uint64_t busy_ns, waited_ns, steps;
	uint32_t models; /* that it simulates now */
};

struct frame_member {              /* of a component with other members */
	uint32_t model, component; /* index in snapshot.scene; a number from 0 */
};

struct frame_place { /* a performer in a level, or near it */
	uint32_t model, level;
	bool in;
};

struct frame_report {        /* a message of a system */
	uint64_t key;        /* of the row: its model */
	uint32_t of;         /* of the row: the system and its output */
	size_t first, count; /* in report_bytes */
};

struct frame {
	_Atomic uint32_t refs;
	uint32_t parts;
	struct frame_pool *pool;
	struct frame *unused; /* link of the pool's list */
	size_t bytes;         /* of its buffers */

	int64_t time_ns;   /* simulated time of the state */
	int64_t real_ns;   /* since the run began */
	int64_t system_ns; /* since 1970 */
	double rtf;        /* real-time factor that was reached lately */
	double pace;       /* real-time factor that the run keeps to; 0: as fast as possible */
	double step_s;
	uint64_t hash; /* of the state of all worlds */
	struct troupe_server *server;
	bool stepping; /* it takes a given number of steps, then pauses */
	/* Arrays of parts that the frame does not have are empty. busy is NULL. */
	struct troupe_snapshot snapshot;
	uint32_t level_count;
	struct frame_level *levels;     /* [level_count] of the world's scene, in order */
	VEC(struct frame_ghost) ghosts; /* by model */
	VEC(struct frame_move) moves;
	uint64_t shares;                          /* of struct placement */
	VEC(struct frame_place) places;           /* by model, then level */
	VEC(struct troupe_report_member) changes; /* the last ones, in order; their texts are the frame's */
	VEC(struct frame_work) work;              /* of each secondary */
	VEC(struct frame_member) members; /* by model; components are numbered in the order of their first models */
	VEC(struct frame_report) reports; /* by key, then `of` */
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
	const struct troupe_scene *before; /* the scene that the last frame with FRAME_BEFORE had; NULL: none */

	/* private */
	struct snapshots_arrays arrays;
	uint32_t model_room, odometry_room, link_room, joint_room, contact_room, level_room, status_room, pose_room;
};

struct frame_pool;

/* The notes of physics/notes.h, bits OBSERVE_..., that messages of these parts are made of. */
static inline uint32_t frame_notes(uint32_t parts)
{
	return (parts & FRAME_MEMBERS ? (uint32_t)OBSERVE_CONTACTS : 0u) |
	       (parts & FRAME_JOINTS ? (uint32_t)OBSERVE_EFFORTS : 0u);
}

struct frame_pool *frame_pool_create(void);
/* Call it when no frame is in use. NULL is fine. */
void frame_pool_destroy(struct frame_pool *pool);

/* A frame of the present state with one reference. NULL: frames that are in use have too many bytes. */
struct frame *frame_make(struct frame_pool *pool, struct server_world *world, uint32_t parts);
struct frame *frame_hold(struct frame *frame);
void frame_release(struct frame *frame);

#endif
