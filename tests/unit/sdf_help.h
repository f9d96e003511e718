/* Shared by the tests of the loader: loads SDF from text, or fails an assertion. */
#ifndef TESTS_UNIT_SDF_HELP_H
#define TESTS_UNIT_SDF_HELP_H

#include "base/text.h"
#include "sdf/sdf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* What a test has loaded and does not free: sdf_help_end() does, which is the .fini of a suite. */
static VEC(struct sdf *) sdf_help_kept;

static inline struct sdf *sdf_help_keep(struct sdf *sdf)
{
	vec_push(&sdf_help_kept, sdf);
	return sdf;
}

static inline void sdf_help_end(void)
{
	for (uint32_t i = 0; i < sdf_help_kept.count; i++)
		sdf_free(sdf_help_kept.at[i]);
	vec_free(&sdf_help_kept);
}

/* --- the same beside others --------------------------------------------------------------------------------------- */

/* What a world may have before the part that a test is about: parts of each kind, none of which is told of. */
#define SDF_HELP_DECOY_LINK(name, more)                                                                                \
	"<link name='" name "'><pose>1 2 3 0.1 0.2 0.3</pose><inertial><mass>3</mass></inertial><collision "           \
	"name='decoy_c'><pose>0 0 1 0 0 0.2</pose><geometry><box><size>1 2 3</size></box></geometry></collision>"      \
	"<visual name='decoy_v'><geometry><sphere><radius>2</radius></sphere></geometry><material><diffuse>1 0 0 1"    \
	"</diffuse></material></visual><sensor name='decoy_imu' type='imu'><update_rate>1</update_rate></sensor>"      \
	"<sensor name='decoy_contact' type='contact'><contact><collision>decoy_c</collision></contact></sensor>"       \
	"<sensor name='decoy_camera' type='camera'><update_rate>1</update_rate><camera><image><width>8</width>"        \
	"<height>6</height></image></camera></sensor>" more "</link>"
#define SDF_HELP_DECOY                                                                                                 \
	"<light name='decoy_light' type='point'><pose>0 0 9 0 0 0</pose></light><model name='decoy_one'><pose>50 60 "  \
	"70 0.3 0.2 0.1</pose>" SDF_HELP_DECOY_LINK(                                                                   \
		"decoy_a", "<light name='decoy_lamp' type='point'/>") SDF_HELP_DECOY_LINK("decoy_b",                   \
		"") "<joint name='decoy_j' type='revolute'><parent>decoy_a</parent>"                                   \
		    "<child>decoy_b</child><axis><xyz>0 1 0</xyz><limit><lower>-1"                                     \
		    "</lower><upper>2</upper></limit></axis><sensor name='decoy_ft' "                                  \
		    "type='force_torque'/></joint><frame name='decoy_f'/><model name='decoy_in'><link "                \
		    "name='decoy_a'/></model><plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>"  \
		    "<model name='decoy_two'><static>true</static><link "                                              \
		    "name='decoy_a'/></model>"

enum { SDF_HELP_DECOY_MAX = 20000 }; /* bytes of a text */

/* The text with the decoy at the begin of its only world, or beside its bare model; false: it has another form. No line
 * is added. */
static inline bool sdf_help_put_decoy(const char *text, const char *world, struct text *out)
{
	const char *at = strstr(text, "<world name='"), *end = at ? strstr(text, "</world>") : strstr(text, "</sdf>");
	bool bare = !at;
	if (strncmp(text, "<sdf ", 5) || strlen(text) > SDF_HELP_DECOY_MAX || !end || (at && strstr(at + 1, "<world")))
		return false;
	at = strchr(at ? at : text, '>');
	if (!at || at[-1] == '/' || (bare && strncmp(at + 1, "<model ", 7)))
		return false;
	text_add_bytes(out, text, (size_t)(at + 1 - text));
	if (bare)
		text_add(out, "<world name='%s'>", world);
	text_add(out, "%s", SDF_HELP_DECOY);
	text_add_bytes(out, at + 1, (size_t)(end - at - 1));
	text_add(out, "%s%s", bare ? "</world>" : "", end);
	return true;
}

/* Leaves out the entities of the world that are the decoy's; and, if asked, the world around its models. */
static inline void sdf_help_drop_decoy(const char *printed, bool bare, struct text *out)
{
	static const char *const around[] = {"  <world", "  </world>", "    <gravity>"};
	char end[32] = "";
	for (const char *next; *printed; printed = next) {
		next = strchr(printed, '\n');
		next = next ? next + 1 : printed + strlen(printed);
		const char *name = strstr(printed, "name=\"decoy_");
		bool left_out = *end;
		if (!*end && !strncmp(printed, "    <", 5) && name && name < next) {
			(void)snprintf(end, sizeof end, "    </%.*s>", (int)strcspn(printed + 5, " >"), printed + 5);
			continue;
		}
		for (size_t i = 0; bare && i < sizeof around / sizeof *around; i++)
			left_out |= !strncmp(printed, around[i], strlen(around[i]));
		if (*end && !strncmp(printed, end, strlen(end)))
			*end = '\0';
		printed += bare && !strncmp(printed, "    ", 4) ? 2 : 0;
		if (!left_out)
			text_add_bytes(out, printed, (size_t)(next - printed));
	}
}

/* What was loaded is the same when other parts are before it in the world, and so is all that is told. */
static inline void sdf_help_beside(const char *text, const struct sdf *sdf, troupe_status status)
{
	struct text changed = {0}, alone = {0}, both = {0}, rest = {0};
	struct sdf *beside = NULL;
	struct troupe_error error;
	if (!sdf_help_put_decoy(text, sdf->worlds.count ? sdf->worlds.at[0].name : "w", &changed)) {
		text_fini(&changed);
		return;
	}
	cr_assert_eq(sdf_load_text(changed.at, changed.count, "t.sdf", NULL, &beside, &error), status,
		"beside others: %s", text);
	cr_assert_eq(beside->messages.count, sdf->messages.count, "%u messages beside others, %u alone: %s: %s",
		beside->messages.count, sdf->messages.count,
		beside->messages.count ? beside->messages.at[beside->messages.count - 1].text : "", text);
	for (uint32_t i = 0; i < sdf->messages.count; i++) { /* names that are near to a wrong one may be others */
		const char *mine = sdf->messages.at[i].text, *such = strstr(mine, "such as");
		cr_assert(!strncmp(beside->messages.at[i].text, mine, such ? (size_t)(such - mine) : strlen(mine) + 1),
			"'%s' beside others, '%s' alone: %s", beside->messages.at[i].text, mine, text);
	}
	if (!status) {
		sdf_print(sdf, &alone);
		sdf_print(beside, &both);
		sdf_help_drop_decoy(both.at, !strstr(text, "<world"), &rest);
		cr_assert_str_eq(rest.at, alone.at, "beside others:\n%s\nalone:\n%s\nof %s", rest.at, alone.at, text);
	}
	sdf_free(beside);
	text_fini(&changed);
	text_fini(&alone);
	text_fini(&both);
	text_fini(&rest);
}

/* With comments after all tags, and in other quotes, a text says the same. */
static inline void sdf_help_dressed(const char *text, const struct sdf *sdf)
{
	struct text dressed = {0}, plain = {0}, again = {0};
	struct sdf *second = NULL;
	struct troupe_error error;
	if (strstr(text, "<!") || strchr(text, '"') || strlen(text) > SDF_HELP_DECOY_MAX)
		return;
	for (const char *at = text; *at; at++)
		text_add(&dressed, "%c%s", *at == '\'' ? '"' : *at, *at == '>' ? "<!--<a b='c'>& > ]]-->" : "");
	cr_assert_eq(sdf_load_text(dressed.at, dressed.count, "t.sdf", NULL, &second, &error), TROUPE_OK, "%s: %s",
		error.text, dressed.at);
	cr_assert_eq(second->messages.count, sdf->messages.count, "%s", dressed.at);
	for (uint32_t i = 0; i < sdf->messages.count; i++)
		cr_assert_str_eq(second->messages.at[i].text, sdf->messages.at[i].text);
	sdf_print(sdf, &plain);
	sdf_print(second, &again);
	cr_assert_str_eq(again.at, plain.at, "with comments:\n%s\nwithout:\n%s", again.at, plain.at);
	sdf_free(second);
	text_fini(&dressed);
	text_fini(&plain);
	text_fini(&again);
}

/* The caller frees *ret_sdf whatever the status. */
static inline troupe_status sdf_help_load(
	const char *text, const struct sdf_options *options, struct sdf **ret_sdf, struct troupe_error *error)
{
	troupe_status status = sdf_load_text(text, strlen(text), "t.sdf", options, ret_sdf, error);
	cr_assert_not_null(*ret_sdf);
	if (!options)
		sdf_help_beside(text, *ret_sdf, status);
	if (!options && !status)
		sdf_help_dressed(text, *ret_sdf);
	return status;
}

static inline struct sdf *sdf_help_good(const char *text, const struct sdf_options *options)
{
	struct troupe_error error = {0};
	struct sdf *sdf = NULL;
	troupe_status status = sdf_help_load(text, options, &sdf, &error);
	cr_assert_eq(status, TROUPE_OK, "%s\nin %s", error.text, text);
	cr_assert_eq(sdf->error_count, 0);
	cr_assert_gt(sdf->worlds.count, 0, "no world in %s", text);
	return sdf;
}

static inline bool sdf_help_says(const struct sdf *sdf, enum sdf_severity severity, const char *part)
{
	for (uint32_t i = 0; i < sdf->messages.count; i++)
		if (sdf->messages.at[i].severity == severity && strstr(sdf->messages.at[i].text, part))
			return true;
	return false;
}

#endif
