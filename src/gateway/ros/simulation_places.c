/* Places that have names: the <frame>s of the world, and its levels, which have bounds. SDF has no tags, so their kind
 * is their tag. */
#include "gateway/ros/simulation_job.h"

#include "geom/geom.h"
#include "topic/convert.h"

#include <string.h>

typedef Troupe__Msgs__NamedPoses__NamedPose sim_places_named_t;

/* NULL: it is answered. */
static const Troupe__Msgs__NamedPoses *sim_places_poses_of(struct job *job)
{
	const struct job_sent *sent = &job->sent.at[0];
	if (!sent->status && sent->reply && sent->reply->descriptor == &troupe__msgs__named_poses__descriptor)
		return (const void *)sent->reply;
	job_answer(job, JOB_FAILED, "%s", sent->text);
	return NULL;
}

static void sim_places_ask_poses(struct job *job, job_fn *next)
{
	Gz__Msgs__Empty empty = GZ__MSGS__EMPTY__INIT;
	job->next = next;
	(void)job_ask(job, "named_poses", &empty.base);
}

static const char *sim_places_kind_of(const sim_places_named_t *named)
{
	return named->level ? "level" : "frame";
}

static void sim_places_add_numbers(struct json_out *out, const char *key, const double *numbers, int count)
{
	static const char *const axes[] = {"x", "y", "z", "w"};
	json_out_object(out, key);
	for (int i = 0; i < count; i++)
		json_out_double(out, axes[i], numbers[i]);
	json_out_end(out);
}

static void sim_places_add_pose(struct json_out *out, const sim_places_named_t *named)
{
	const char *kind = sim_places_kind_of(named);
	struct pose pose = POSE_IDENTITY;
	if (named->pose)
		(void)message_pose(named->pose, &pose, NULL);
	json_out_object(out, NULL);
	json_out_string(out, "name", named->name);
	json_out_printf(out, "description", "a %s of the world", kind);
	json_out_strings(out, "tags", &kind, 1);
	json_out_object(out, "pose");
	sim_places_add_numbers(out, "position", (const double[]){pose.p.x, pose.p.y, pose.p.z}, 3);
	sim_places_add_numbers(out, "orientation", (const double[]){pose.q.x, pose.q.y, pose.q.z, pose.q.w}, 4);
	json_out_end(out);
	json_out_end(out);
}

static void sim_places_finish_poses(struct job *job)
{
	const Troupe__Msgs__NamedPoses *poses = sim_places_poses_of(job);
	struct job_tags tags;
	if (!poses || !job_read_tags(job, "tags", job_arg(job, "tags"), &tags))
		return;
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_array(out, "poses");
	for (size_t i = 0; i < poses->n_pose; i++) {
		char kind[8];
		(void)snprintf(kind, sizeof kind, "%s", sim_places_kind_of(poses->pose[i]));
		if (!job_has_tags(&tags, &(char *){kind}, 1))
			continue;
		sim_places_add_pose(out, poses->pose[i]);
	}
	json_out_end(out);
	job_send(job);
}

static void sim_places_get_poses(struct job *job)
{
	sim_places_ask_poses(job, sim_places_finish_poses);
}

static void sim_places_add_corner(struct json_out *out, const Gz__Msgs__Vector3d *from)
{
	const struct vec3 corner = message_vec3(from);
	sim_places_add_numbers(out, NULL, (const double[]){corner.x, corner.y, corner.z}, 3);
}

/* Without bounds any entity fits. */
static void sim_places_finish_bounds(struct job *job)
{
	const char *name = job_text(job->args, "name");
	const Troupe__Msgs__NamedPoses *poses = sim_places_poses_of(job);
	const sim_places_named_t *named = NULL;
	if (!poses)
		return;
	for (size_t i = 0; i < poses->n_pose && !named; i++)
		if (!strcmp(poses->pose[i]->name, name))
			named = poses->pose[i];
	if (!named) {
		job_answer(job, JOB_NOT_FOUND, "pose '%.100s': there is none of this name", name);
		return;
	}
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_object(out, "bounds");
	json_out_int(out, "type", named->level ? JOB_BOUNDS_BOX : JOB_BOUNDS_EMPTY);
	json_out_array(out, "points");
	if (named->level) {
		sim_places_add_corner(out, named->upper);
		sim_places_add_corner(out, named->lower);
	}
	json_out_end(out);
	json_out_end(out);
	job_send(job);
}

static void sim_places_get_bounds(struct job *job)
{
	sim_places_ask_poses(job, sim_places_finish_bounds);
}

#define SIM_PLACES_STANDARD(type) "simulation_interfaces/srv/" type

const struct job_row job_place_rows[] = {
	{"get_named_poses", SIM_PLACES_STANDARD("GetNamedPoses"), 2, JOB_MODELS, sim_places_get_poses},
	{"get_named_pose_bounds", SIM_PLACES_STANDARD("GetNamedPoseBounds"), 3, JOB_MODELS, sim_places_get_bounds},
	{NULL, NULL, 0, JOB_ALONE, NULL},
};
