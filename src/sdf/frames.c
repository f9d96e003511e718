/* Two graphs over the same frames. "relative to" gives poses: each frame has at most two edges (to its target, and to
 * the placement frame inside a model). The edges are followed depth-first with an explicit stack, because a hostile
 * file can make a chain of any length. "attached to" gives links: each frame has one edge, so the search is a walk,
 * and its end is then written into all frames on the walk. */
#include "sdf/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_NEW, FRAMES_OPEN, DONE };
enum { END_NONE = 3, END_MISSING = 4 }; /* values of end_state after FRAMES_NEW, FRAMES_OPEN, DONE */

uint32_t frames_open(struct frames *frames, uint32_t parent, uint32_t model_frame, const struct sdf_element *element)
{
	uint32_t scope = frames->scopes.count;
	vec_push(&frames->scopes,
		(struct frames_scope){.parent = parent, .model_frame = model_frame, .canonical = SDF_NONE});
	uint32_t root;
	frames_add(frames,
		(struct frames_frame){.kind = FRAMES_ROOT,
			.name = model_frame == SDF_NONE ? "world" : "__model__",
			.element = element,
			.scope = scope},
		&root);
	frames->scopes.at[scope].root = root;
	if (model_frame != SDF_NONE)
		frames->frames.at[model_frame].inner = scope;
	return scope;
}

bool frames_add(struct frames *frames, struct frames_frame frame, uint32_t *ret_frame)
{
	frame.target = frame.placement_target = frame.attached = SDF_NONE;
	frame.state = frame.end_state = FRAMES_NEW;
	frame.in_scope = frame.kind == FRAMES_ROOT || frame.kind == FRAMES_MISSING ? POSE_IDENTITY : frame.raw;
	*ret_frame = frames->frames.count;
	vec_push(&frames->frames, frame);
	if (frame.kind == FRAMES_MISSING)
		for (uint32_t scope = frame.scope; scope != SDF_NONE; scope = frames->scopes.at[scope].parent)
			frames->scopes.at[scope].missing = true;
	return map_add(&frames->scopes.at[frame.scope].names, frame.name, *ret_frame);
}

/* "a::b" may be one name (files before SDF 1.8), or the name b in the model a. */
uint32_t frames_find(const struct frames *frames, uint32_t scope, const char *name)
{
	const struct frames_scope *at = &frames->scopes.at[scope];
	uint32_t found;
	if (map_find(&at->names, name, &found))
		return found;
	for (const char *colons = strstr(name, "::"); colons; colons = strstr(colons + 1, "::")) {
		char head[256];
		size_t length = (size_t)(colons - name);
		if (length >= sizeof head)
			break;
		memcpy(head, name, length);
		head[length] = '\0';
		if (!map_find(&at->names, head, &found))
			continue;
		if (frames->frames.at[found].kind == FRAMES_MISSING)
			return found;
		if (frames->frames.at[found].kind == FRAMES_MODEL)
			return frames_find(frames, frames->frames.at[found].inner, colons + 2);
	}
	return SDF_NONE;
}

static const char *frames_kind_text(enum frames_kind kind)
{
	static const char *const text[] = {"scope", "model", "link", "joint", "frame", "include"};
	return text[kind];
}

/* In the order of the map's slots, which depends on the names alone. */
const char *frames_such_as(struct frames *frames, uint32_t scope, const char *name, struct near *near)
{
	const struct map *names = &frames->scopes.at[scope].names;
	*near = near_to(name);
	if (frames->searches++ >= FRAMES_SEARCHES_MAX)
		return "";
	for (uint32_t i = 0; i < names->room && near->offered < NEAR_COMPARED_MAX; i++)
		if (names->slots[i].name && *names->slots[i].name)
			near_offer(near, names->slots[i].name);
	return near_such_as(near);
}

/* scope: the scope in which the name was looked up */
static void frames_complain(struct frames *frames, const struct frames_frame *frame, uint32_t scope, const char *what,
	const char *name, frames_report_fn report, void *ctx)
{
	char text[800];
	struct near near;
	const char *where = frames->scopes.at[scope].model_frame == SDF_NONE ? "the world" : "this model";
	snprintf(text, sizeof text,
		"%s \"%.80s\" has %s \"%.80s\": expected the name of a link, joint, frame or model of %s%s",
		frames_kind_text(frame->kind), frame->name, what, name, where,
		frames_such_as(frames, scope, name, &near));
	report(ctx, frame->element, text);
}

static void frames_complain_circle(
	const struct frames_frame *frame, const char *what, const char *through, frames_report_fn report, void *ctx)
{
	char text[400];
	snprintf(text, sizeof text,
		"%s \"%.80s\": its %s on itself through \"%.80s\": expected frames without a circle",
		frames_kind_text(frame->kind), frame->name, what, through);
	report(ctx, frame->element, text);
}

/* Finds the frame that a name in the file means. If there is none, reports it and returns the root. */
static uint32_t frames_find_or_complain(struct frames *frames, const struct frames_frame *frame, uint32_t scope,
	const char *what, const char *name, frames_report_fn report, void *ctx)
{
	uint32_t found = frames_find(frames, scope, name);
	if (found != SDF_NONE)
		return found;
	frames_complain(frames, frame, scope, what, name, report, ctx);
	return frames->scopes.at[scope].root;
}

static void frames_find_targets(struct frames *frames, struct frames_frame *frame, frames_report_fn report, void *ctx)
{
	uint32_t root = frames->scopes.at[frame->scope].root;
	if (frame->kind == FRAMES_ROOT || frame->kind == FRAMES_MISSING)
		return;
	if (frame->kind == FRAMES_JOINT) /* the loader reports missing links of joints */
		frame->attached = frame->attached_to ? frames_find(frames, frame->scope, frame->attached_to) : SDF_NONE;
	else if (frame->kind == FRAMES_FRAME)
		frame->attached = frame->attached_to ? frames_find_or_complain(frames, frame, frame->scope,
							       "attached_to", frame->attached_to, report, ctx)
						     : root;
	frame->target = frame->attached != SDF_NONE ? frame->attached : root;
	if (frame->relative_to)
		frame->target = frames_find_or_complain(
			frames, frame, frame->scope, "pose relative_to", frame->relative_to, report, ctx);
	if (frame->placement)
		frame->placement_target = frames_find_or_complain(
			frames, frame, frame->inner, "placement_frame", frame->placement, report, ctx);
}

/* A frame that must be placed before the pose of target in scope is known; SDF_NONE: it is known already. */
static uint32_t frames_first_unknown(const struct frames *frames, uint32_t target, uint32_t scope)
{
	if (target == SDF_NONE)
		return SDF_NONE;
	if (frames->frames.at[target].state != DONE)
		return target;
	for (uint32_t at = frames->frames.at[target].scope; at != scope; at = frames->scopes.at[at].parent) {
		uint32_t model = frames->scopes.at[at].model_frame;
		if (frames->frames.at[model].state != DONE)
			return model;
	}
	return SDF_NONE;
}

struct pose frames_pose(const struct frames *frames, uint32_t frame, uint32_t scope)
{
	struct pose pose = frames->frames.at[frame].in_scope;
	for (uint32_t at = frames->frames.at[frame].scope; at != scope; at = frames->scopes.at[at].parent)
		pose = pose_mul(frames->frames.at[frames->scopes.at[at].model_frame].in_scope, pose);
	return pose;
}

static void frames_place(struct frames *frames, struct frames_frame *frame)
{
	/* a pose relative to its own scope keeps the exact bits of the file */
	frame->in_scope = frame->target == frames->scopes.at[frame->scope].root
				  ? frame->raw
				  : pose_mul(frames_pose(frames, frame->target, frame->scope), frame->raw);
	if (frame->placement_target != SDF_NONE)
		frame->in_scope = pose_mul(
			frame->in_scope, pose_inverse(frames_pose(frames, frame->placement_target, frame->inner)));
}

/* Places start and all frames that it depends on. */
static void frames_place_with_stack(struct frames *frames, uint32_t start, frames_report_fn report, void *ctx)
{
	VEC(uint32_t) stack = {0};
	vec_push(&stack, start);
	while (stack.count) {
		struct frames_frame *frame = &frames->frames.at[stack.at[stack.count - 1]];
		uint32_t before = frames_first_unknown(frames, frame->target, frame->scope);
		if (before == SDF_NONE && frame->placement_target != SDF_NONE)
			before = frames_first_unknown(frames, frame->placement_target, frame->inner);
		frame->state = FRAMES_OPEN;
		if (before != SDF_NONE && frames->frames.at[before].state == FRAMES_NEW) {
			vec_push(&stack, before);
			continue;
		}
		if (before != SDF_NONE)
			frames_complain_circle(frame, "pose depends", frames->frames.at[before].name, report, ctx);
		else
			frames_place(frames, frame);
		frame->state = DONE;
		stack.count--;
	}
	vec_free(&stack);
}

/* One step towards the link. SDF_NONE: the frame is an end; *ret_end and *ret_link describe it. */
static uint32_t frames_follow(
	const struct frames *frames, const struct frames_frame *frame, uint8_t *ret_end, uint32_t *ret_link)
{
	*ret_end = END_NONE;
	switch (frame->kind) {
	case FRAMES_LINK:
		*ret_end = DONE;
		*ret_link = frame->link;
		return SDF_NONE;
	case FRAMES_MODEL:
	case FRAMES_ROOT: {
		const struct frames_scope *scope =
			&frames->scopes.at[frame->kind == FRAMES_MODEL ? frame->inner : frame->scope];
		if (scope->canonical != SDF_NONE) {
			*ret_end = DONE;
			*ret_link = scope->canonical;
		} else if (scope->missing && scope->model_frame != SDF_NONE) {
			*ret_end = END_MISSING;
		}
		return SDF_NONE;
	}
	case FRAMES_MISSING:
		*ret_end = END_MISSING;
		return SDF_NONE;
	default:
		return frame->attached;
	}
}

/* Walks to the end, then walks again and writes the end into each frame. False: the walk returned to itself. */
static bool frames_find_end(struct frames *frames, uint32_t start)
{
	uint8_t end = FRAMES_NEW;
	uint32_t link = SDF_NONE, at = start;
	bool round = false;
	while (at != SDF_NONE) {
		struct frames_frame *frame = &frames->frames.at[at];
		if (frame->end_state == FRAMES_OPEN) {
			round = true;
			end = END_NONE;
			break;
		}
		if (frame->end_state != FRAMES_NEW) {
			end = frame->end_state;
			link = frame->end;
			break;
		}
		frame->end_state = FRAMES_OPEN;
		at = frames_follow(frames, frame, &end, &link);
	}
	for (at = start; at != SDF_NONE && frames->frames.at[at].end_state == FRAMES_OPEN;) {
		struct frames_frame *frame = &frames->frames.at[at];
		uint8_t ignored_end;
		uint32_t ignored_link;
		at = frames_follow(frames, frame, &ignored_end, &ignored_link);
		frame->end_state = end;
		frame->end = link;
	}
	return !round;
}

void frames_resolve(struct frames *frames, frames_report_fn report, void *ctx)
{
	for (uint32_t i = 0; i < frames->frames.count; i++)
		frames_find_targets(frames, &frames->frames.at[i], report, ctx);
	for (uint32_t i = 0; i < frames->frames.count; i++)
		if (frames->frames.at[i].kind == FRAMES_ROOT || frames->frames.at[i].kind == FRAMES_MISSING)
			frames->frames.at[i].state = DONE;
	for (uint32_t i = 0; i < frames->frames.count; i++)
		if (frames->frames.at[i].state == FRAMES_NEW)
			frames_place_with_stack(frames, i, report, ctx);
	for (uint32_t i = 0; i < frames->frames.count; i++)
		if (frames->frames.at[i].end_state == FRAMES_NEW && !frames_find_end(frames, i))
			frames_complain_circle(
				&frames->frames.at[i], "attachment depends", frames->frames.at[i].name, report, ctx);
}

bool frames_link(const struct frames *frames, uint32_t frame, uint32_t *ret_link, bool *ret_missing)
{
	*ret_missing = frames->frames.at[frame].end_state == END_MISSING;
	if (frames->frames.at[frame].end_state != DONE)
		return false;
	*ret_link = frames->frames.at[frame].end;
	return true;
}

void frames_fini(struct frames *frames)
{
	for (uint32_t i = 0; i < frames->scopes.count; i++)
		map_fini(&frames->scopes.at[i].names);
	vec_free(&frames->scopes);
	vec_free(&frames->frames);
}
