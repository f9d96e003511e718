/* Pictures for pages: only what has changed since the page's last picture, however long ago that was; all of it when
 * links or models came or went; the bytes are those of PROTOCOL.md, read here by a reader of their own. */
#include "../random.h"
#include "gateway/view/picture_cache.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(picture_cache, .timeout = 60);

enum { LINKS = 40, MODELS = 20, PAGES = 5, ROUNDS = 3000 };

static uint64_t dice;

struct state { /* of a world, and what a page has of it; by id */
	bool has_link[LINKS], has_model[MODELS];
	float pose[LINKS][7];
	uint32_t status[MODELS];
	double step, time_s;
	float rtf;
};

static void take_state(struct picture_cache *picture_cache, const struct state *state)
{
	uint32_t links[LINKS], models[MODELS], status[MODELS];
	float poses[7 * LINKS];
	struct text bytes = {0};
	struct troupe_error error;
	Troupe__Msgs__View view = TROUPE__MSGS__VIEW__INIT;
	view.link = links;
	view.model = models;
	view.status = status;
	view.pose = poses;
	for (uint32_t i = 0; i < LINKS; i++)
		if (state->has_link[i]) {
			memcpy(poses + 7 * view.n_link, state->pose[i], sizeof state->pose[i]);
			links[view.n_link++] = i;
		}
	for (uint32_t i = 0; i < MODELS; i++)
		if (state->has_model[i]) {
			status[view.n_model] = state->status[i];
			models[view.n_model++] = i;
		}
	view.n_pose = 7 * view.n_link;
	view.n_status = view.n_model;
	view.step = (uint64_t)state->step;
	view.real_time_factor = (double)state->rtf;
	view.real_time_s = state->step / 8;
	message_add_bytes(&bytes, &view.base);
	cr_assert_eq(picture_cache_take(picture_cache, bytes.at, bytes.count, (int64_t)(state->time_s * 1e9), &error),
		TROUPE_OK, "%s", error.text);
	text_fini(&bytes);
}

/* --- a page ------------------------------------------------------------------------------------------------------- */

struct page {
	struct state has;
	uint64_t seen;
};

static const char *take(const char *at, void *ret_value, size_t bytes)
{
	memcpy(ret_value, at, bytes); /* this test runs on machines with the order of the protocol only */
	return at + bytes;
}

/* Returns the number of links and models in the picture. */
static uint32_t read_picture(struct page *page, const char *at, size_t count, uint16_t world)
{
	const char *end = at + count;
	uint8_t kind, whole;
	uint16_t index;
	uint32_t links, models, ids[LINKS];
	struct state *has = &page->has;
	at = take(take(take(at, &kind, 1), &whole, 1), &index, 2);
	cr_assert(kind == 1 && whole <= 1 && index == world);
	at = take(take(take(at, &has->rtf, 4), &has->step, 8), &has->time_s, 8);
	at = take(take(at, &links, 4), &models, 4);
	cr_assert_eq(count, 32 + 32 * (size_t)links + 8 * (size_t)models + 8);
	if (whole) {
		memset(has->has_link, 0, sizeof has->has_link);
		memset(has->has_model, 0, sizeof has->has_model);
	}
	at = take(at, ids, 4 * links);
	for (uint32_t i = 0; i < links; i++) {
		at = take(at, has->pose[ids[i]], 28);
		cr_assert(whole || has->has_link[ids[i]]);
		has->has_link[ids[i]] = true;
	}
	at = take(at, ids, 4 * models);
	for (uint32_t i = 0; i < models; i++) {
		at = take(at, &has->status[ids[i]], 4);
		has->has_model[ids[i]] = true;
	}
	double real_s;
	at = take(at, &real_s, sizeof real_s);
	cr_assert_eq(real_s, has->step / 8);
	cr_assert_eq(at, end);
	return links + models;
}

static uint32_t show(const struct picture_cache *picture_cache, struct page *page)
{
	struct text picture = {0};
	picture_cache_add_picture(picture_cache, page->seen, 3, &picture);
	uint32_t count = read_picture(page, picture.at, picture.count, 3);
	page->seen = picture_cache->number;
	text_fini(&picture);
	return count;
}

static void expect_same(const struct state *a, const struct state *b)
{
	cr_assert_arr_eq(a->has_link, b->has_link, sizeof a->has_link);
	cr_assert_arr_eq(a->has_model, b->has_model, sizeof a->has_model);
	for (int i = 0; i < LINKS; i++)
		if (a->has_link[i])
			cr_assert_arr_eq(a->pose[i], b->pose[i], sizeof a->pose[i]);
	for (int i = 0; i < MODELS; i++)
		if (a->has_model[i])
			cr_assert_eq(a->status[i], b->status[i]);
	cr_assert_eq(a->step, b->step);
	cr_assert_float_eq(a->time_s, b->time_s, 2e-9);
	cr_assert_eq(a->rtf, b->rtf);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void change(struct state *world, bool may_come)
{
	for (uint32_t i = random_below(&dice, 6); i-- > 0;)
		world->pose[random_below(&dice, LINKS)][random_below(&dice, 7)] = (float)random_below(&dice, 1000);
	if (!random_below(&dice, 3))
		world->status[random_below(&dice, MODELS)] = random_below(&dice, 1u << 31);
	if (may_come && !random_below(&dice, 20))
		world->has_link[random_below(&dice, LINKS)] ^= true;
	if (may_come && !random_below(&dice, 20))
		world->has_model[random_below(&dice, MODELS)] ^= true;
	world->step++;
	world->time_s = world->step * 0.001;
	world->rtf = (float)random_below(&dice, 100);
}

/* Each page looks now and then, and always sees the world as it is. */
Test(picture_cache, every_page_sees_the_world)
{
	for (int come = 0; come <= 1; come++) {
		struct picture_cache picture_cache = {0};
		struct page pages[PAGES] = {0};
		struct state world = {0};
		dice = 7;
		for (int i = 0; i < LINKS / 2; i++)
			world.has_link[i] = world.has_model[i % MODELS] = true;
		for (int round = 0; round < ROUNDS; round++) {
			change(&world, come);
			take_state(&picture_cache, &world);
			for (uint32_t p = 0; p < PAGES; p++)
				if (!random_below(&dice, 1 + p * p)) {
					(void)show(&picture_cache, &pages[p]);
					expect_same(&pages[p].has, &world);
				}
		}
		picture_cache_fini(&picture_cache);
	}
}

/* A page gets each change once, and nothing of what stands still. */
Test(picture_cache, only_changes_are_sent)
{
	struct picture_cache picture_cache = {0};
	struct page page = {0};
	struct state world = {0};
	for (int i = 0; i < LINKS; i++)
		world.has_link[i] = true;
	for (int i = 0; i < MODELS; i++)
		world.has_model[i] = true;
	take_state(&picture_cache, &world);
	cr_assert_eq(show(&picture_cache, &page), (uint32_t)(LINKS + MODELS));
	take_state(&picture_cache, &world);
	cr_assert_eq(show(&picture_cache, &page), 0u);
	world.pose[3][0] = 1;
	take_state(&picture_cache, &world);
	world.pose[5][6] = 1;
	world.status[7] = 2;
	take_state(&picture_cache, &world);
	cr_assert_eq(show(&picture_cache, &page), 3u);
	cr_assert_eq(show(&picture_cache, &page), 0u);
	world.has_link[0] = false;
	take_state(&picture_cache, &world);
	cr_assert_eq(show(&picture_cache, &page), (uint32_t)(LINKS - 1 + MODELS));
	expect_same(&page.has, &world);
	picture_cache_fini(&picture_cache);
}

/* Of what is no view, or one whose lists do not fit, nothing is taken. */
Test(picture_cache, bad_views_are_refused)
{
	struct picture_cache picture_cache = {0};
	struct troupe_error error;
	uint32_t ids[] = {1, 2};
	float poses[14] = {0};
	struct text bytes = {0};
	Troupe__Msgs__View view = TROUPE__MSGS__VIEW__INIT;
	cr_assert_neq(picture_cache_take(&picture_cache, "\xff\xff", 2, 0, &error), TROUPE_OK);
	view.link = view.model = ids;
	view.pose = poses;
	view.n_link = 2;
	view.n_pose = 13;
	message_add_bytes(&bytes, &view.base);
	cr_assert_eq(picture_cache_take(&picture_cache, bytes.at, bytes.count, 0, &error), TROUPE_ECOMMAND);
	view.n_pose = 14;
	view.n_model = 1;
	bytes.count = 0;
	message_add_bytes(&bytes, &view.base);
	cr_assert_eq(picture_cache_take(&picture_cache, bytes.at, bytes.count, 0, &error), TROUPE_ECOMMAND);
	cr_assert_eq(picture_cache.number, 0u);
	text_fini(&bytes);
	picture_cache_fini(&picture_cache);
}
