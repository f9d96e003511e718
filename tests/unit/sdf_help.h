/* Shared by the tests of the loader: loads SDF from text, or fails an assertion. */
#ifndef TESTS_UNIT_SDF_HELP_H
#define TESTS_UNIT_SDF_HELP_H

#include "sdf/sdf.h"

#include <criterion/criterion.h>
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

/* The caller frees *ret_sdf whatever the status. */
static inline troupe_status sdf_help_load(
	const char *text, const struct sdf_options *options, struct sdf **ret_sdf, struct troupe_error *error)
{
	troupe_status status = sdf_load_text(text, strlen(text), "t.sdf", options, ret_sdf, error);
	cr_assert_not_null(*ret_sdf);
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
