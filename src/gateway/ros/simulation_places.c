/* Places that have names: the <frame>s of the world, and its levels, which have bounds. SDF has no tags, so their kind
 * is their tag. */
#include "gateway/ros/simulation_job.h"

#include "geom/geom.h"
#include "topic/convert.h"

#include <string.h>

typedef Troupe__Msgs__NamedPoses__NamedPose named_t;

/* NULL: it is answered. */
static const Troupe__Msgs__NamedPoses *poses_of(struct job *job)
{
	const struct job_sent *sent = &job->sent.at[0];
	if (!sent->status && sent->reply && sent->reply->descriptor == &troupe__msgs__named_poses__descriptor)
		return (const void *)sent->reply;
	job_answer(job, JOB_FAILED, "%s", sent->text);
	return NULL;
}

static void ask_poses(struct job *job, job_fn *next)
{
	Gz__Msgs__Empty empty = GZ__MSGS__EMPTY__INIT;
	job->next = next;
	(void)job_ask(job, "named_poses", &empty.base);
}

static const char *kind_of(const named_t *named)
{
	return named->level ? "level" : "frame";
}

static void add_numbers(struct text *out, const double *numbers, int count)
{
	static const char *const axes[] = {"x", "y", "z", "w"};
	for (int i = 0; i < count; i++) {
		text_add(out, "%s\"%s\":", i ? "," : "{", axes[i]);
		text_add_double(out, numbers[i]);
	}
	text_add(out, "}");
}

static void add_pose(struct text *out, const named_t *named)
{
	struct pose pose = POSE_IDENTITY;
	if (named->pose)
		(void)message_pose(named->pose, &pose, NULL);
	text_add(out, "{\"name\":");
	text_add_json(out, named->name);
	text_add(out,
		",\"description\":\"a %s of the world\",\"tags\":[\"%s\"],\"pose\":{\"position\":", kind_of(named),
		kind_of(named));
	add_numbers(out, (const double[]){pose.p.x, pose.p.y, pose.p.z}, 3);
	text_add(out, ",\"orientation\":");
	add_numbers(out, (const double[]){pose.q.x, pose.q.y, pose.q.z, pose.q.w}, 4);
	text_add(out, "}}");
}

static void finish_poses(struct job *job)
{
	const Troupe__Msgs__NamedPoses *poses = poses_of(job);
	struct job_tags tags;
	struct text members = {0};
	const char *between = "";
	if (!poses || !job_read_tags(job, "tags", job_arg(job, "tags"), &tags))
		return;
	text_add(&members, ",\"poses\":[");
	for (size_t i = 0; i < poses->n_pose; i++) {
		char kind[8];
		(void)snprintf(kind, sizeof kind, "%s", kind_of(poses->pose[i]));
		if (!job_has_tags(&tags, &(char *){kind}, 1))
			continue;
		text_add(&members, "%s", between);
		add_pose(&members, poses->pose[i]);
		between = ",";
	}
	text_add(&members, "]");
	job_answer_with(job, JOB_OK, "", &members);
}

static void get_poses(struct job *job)
{
	ask_poses(job, finish_poses);
}

static void add_corner(struct text *out, const Gz__Msgs__Vector3d *from)
{
	const struct vec3 corner = message_vec3(from);
	add_numbers(out, (const double[]){corner.x, corner.y, corner.z}, 3);
}

/* Without bounds any entity fits. */
static void finish_bounds(struct job *job)
{
	const char *name = job_text(job->args, "name");
	const Troupe__Msgs__NamedPoses *poses = poses_of(job);
	const named_t *named = NULL;
	struct text members = {0};
	if (!poses)
		return;
	for (size_t i = 0; i < poses->n_pose && !named; i++)
		if (!strcmp(poses->pose[i]->name, name))
			named = poses->pose[i];
	if (!named) {
		job_answer(job, JOB_NOT_FOUND, "pose '%.100s': there is none of this name", name);
		return;
	}
	text_add(&members, ",\"bounds\":{\"type\":%d,\"points\":[", named->level ? JOB_BOUNDS_BOX : JOB_BOUNDS_EMPTY);
	if (named->level) {
		add_corner(&members, named->upper);
		text_add(&members, ",");
		add_corner(&members, named->lower);
	}
	text_add(&members, "]}");
	job_answer_with(job, JOB_OK, "", &members);
}

static void get_bounds(struct job *job)
{
	ask_poses(job, finish_bounds);
}

#define STANDARD(type) "simulation_interfaces/srv/" type

const struct job_row job_place_rows[] = {
	{"get_named_poses", STANDARD("GetNamedPoses"), 2, JOB_MODELS, get_poses},
	{"get_named_pose_bounds", STANDARD("GetNamedPoseBounds"), 3, JOB_MODELS, get_bounds},
	{NULL, NULL, 0, JOB_ALONE, NULL},
};
