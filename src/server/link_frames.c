/* Where nothing else names the links of a robot, these frames are what its software expects: base_link, base_footprint,
 * laser. Odometry leads to a frame that a plug-in names, which need not be a link: then it is the model's own frame,
 * moved by the offset that OdometryPublisher takes. */
#include "server/link_frames.h"

#include "base/arena.h"
#include "server/scene_info.h"

#include <stdlib.h>
#include <string.h>

void link_frames_look(struct link_frames_index *index, const struct sdf_world *of)
{
	if (index->of == of)
		return;
	link_frames_fini(index);
	index->of = of;
	index->first = mem_alloc(of->links.count * sizeof *index->first + 1);
	index->next = mem_alloc(of->frames.count * sizeof *index->next + 1);
	for (uint32_t l = 0; l < of->links.count; l++)
		index->first[l] = SDF_NONE;
	for (uint32_t i = of->frames.count; i-- > 0;) {
		uint32_t link = of->frames.at[i].link;
		if (of->frames.at[i].model == SDF_NONE || link == SDF_NONE)
			continue;
		index->next[i] = index->first[link];
		index->first[link] = i;
	}
}

void link_frames_fini(struct link_frames_index *index)
{
	free(index->first);
	free(index->next);
	*index = (struct link_frames_index){0};
}

/* The frame by which a merged model keeps its place is none that a file has. */
static bool link_frames_is_shown(const char *name)
{
	return strncmp(name, "_merged__", 9) != 0;
}

static void link_frames_add_own(const struct link_frames_index *index, uint32_t top, uint32_t link, uint32_t frame,
	struct link_frame *to, struct arena *arena)
{
	const struct sdf_world *of = index->of;
	const struct sdf_frame *from = &of->frames.at[frame];
	const char *within = of->models.at[from->model].scoped + strlen(of->models.at[top].scoped);
	within += 2 * (*within != '\0'); /* "::" */
	to->name = *within ? arena_printf(arena, "%s::%s", within, from->name) : arena_strdup(arena, from->name);
	to->in_link = pose_flat(pose_mul(pose_inverse(sdf_link_in_world(of, link)), from->in_world));
	to->is_odometry = false;
}

/* Whether a system publishes the poses of links, and none a transform of odometry: then those are the links' frames. */
static bool link_frames_has_told_links(const struct system_set *set)
{
	bool tells_links = false, tells_odometry = false;
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t o = 0; o < set->at[i].outputs.count; o++) {
			const struct troupe_output *output = &set->at[i].outputs.at[o].def;
			tells_links |= output->gives == TROUPE_GIVES_POSES && (output->of & TROUPE_OF_LINKS);
			tells_odometry |= output->gives == TROUPE_GIVES_TF;
		}
	return tells_links && !tells_odometry;
}

struct link_frames_odometry {
	const char *child;
	const struct system *system; /* NULL: there is none */
	uint32_t model;              /* whose frame moves */
};

/* The first system that publishes a transform to the frame of a model, nested or not, whose canonical link this is. */
static struct link_frames_odometry link_frames_find_odometry(
	const struct sdf_world *of, uint32_t top, uint32_t link, const struct system_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		const struct system *system = &set->at[i];
		uint32_t model = system->plugin && system->plugin->model != SDF_NONE ? system->plugin->model : top;
		if (of->models.at[model].canonical_link != link)
			continue;
		for (uint32_t o = 0; o < system->outputs.count; o++) {
			const struct troupe_output *output = &system->outputs.at[o].def;
			bool leads = output->gives == TROUPE_GIVES_TF || output->gives == TROUPE_GIVES_REPORT;
			if (leads && output->child_frame && *output->child_frame)
				return (struct link_frames_odometry){output->child_frame, system, model};
		}
	}
	return (struct link_frames_odometry){.system = NULL};
}

static struct pose link_frames_offset(const struct system *system)
{
	const struct sdf_element *element = system->plugin ? system->plugin->element : NULL;
	struct vec3 rpy = {0, 0, 0};
	struct pose offset = POSE_IDENTITY;
	if (!element)
		return offset;
	(void)sdf_child_vec3(element, "xyz_offset", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &offset.p, NULL);
	(void)sdf_child_vec3(element, "rpy_offset", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &rpy, NULL);
	offset.q = quat_from_rpy(rpy.x, rpy.y, rpy.z);
	return offset;
}

struct link_frames link_frames_of(const struct link_frames_index *index, const struct scene_model *model, uint32_t link,
	const struct system_set *set, struct arena *arena)
{
	const struct sdf_world *of = index->of;
	struct link_frames_odometry odometry = link_frames_find_odometry(of, model->sdf, link, set);
	uint32_t count = odometry.system != NULL;
	for (uint32_t i = index->first[link]; i != SDF_NONE; i = index->next[i])
		count++;
	if (!count)
		return (struct link_frames){.count = 0};
	struct link_frame *at = arena_array(arena, struct link_frame, count);
	struct link_frames frames = {at, 0};
	for (uint32_t i = index->first[link]; i != SDF_NONE; i = index->next[i])
		if (link_frames_is_shown(of->frames.at[i].name))
			link_frames_add_own(index, model->sdf, link, i, &at[frames.count++], arena);
	if (odometry.system && !link_frames_has_told_links(set)) {
		struct pose in_model =
			pose_mul(pose_inverse(of->models.at[odometry.model].in_world), sdf_link_in_world(of, link));
		at[frames.count++] = (struct link_frame){arena_strdup(arena, odometry.child),
			pose_flat(pose_mul(pose_inverse(in_model), link_frames_offset(odometry.system))), true};
	}
	return frames;
}
