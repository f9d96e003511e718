/* The parts of saved states: the encoding of numbers and bytes, and the set of files that were read. */
#include "base/files.h"

#include "base/hash.h"
#include "sdf/catalog.h"
#include "base/squeeze.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(files, .timeout = 60);

/* --- pack --------------------------------------------------------------------------------------------------------- */

static struct unpack reading(const struct text *text)
{
	return (struct unpack){text->at, text->at + text->count, false};
}

Test(files, numbers_come_back_and_lie_little_endian)
{
	struct text out = {0};
	size_t count;
	pack_u64(&out, 0x0102030405060708);
	pack_u64(&out, UINT64_MAX);
	pack_double(&out, -0.0);
	pack_double(&out, 5e-324);
	pack_string(&out, "");
	pack_string(&out, "a b");
	pack_bytes(&out, "\0\xff", 2);
	cr_assert_eq(out.count, 4 * 8 + 8 + 8 + 3 + 8 + 2);
	cr_assert_eq(memcmp(out.at, "\10\7\6\5\4\3\2\1", 8), 0);
	struct unpack in = reading(&out);
	cr_assert_eq(unpack_u64(&in), 0x0102030405060708u);
	cr_assert_eq(unpack_u64(&in), UINT64_MAX);
	double zero = unpack_double(&in);
	cr_assert(zero == 0 && signbit(zero));
	cr_assert_eq(unpack_double(&in), 5e-324);
	char *none = unpack_string(&in), *some = unpack_string(&in);
	cr_assert_str_eq(none, "");
	cr_assert_str_eq(some, "a b");
	const char *bytes = unpack_bytes(&in, &count);
	cr_assert(count == 2 && !memcmp(bytes, "\0\xff", 2));
	cr_assert(!in.bad && in.at == in.end);
	free(none);
	free(some);
	text_fini(&out);
}

Test(files, what_is_not_there_is_nothing_and_stays_bad)
{
	struct text out = {0};
	size_t count = 5;
	pack_u64(&out, 9);
	pack_u64(&out, 7);
	for (size_t cut = 0; cut < 8; cut++) {
		struct unpack in = {out.at, out.at + cut, false};
		cr_assert(unpack_u64(&in) == 0 && in.bad);
	}
	struct unpack in = reading(&out);
	cr_assert(unpack_count(&in, 8) == 0 && in.bad, "a count above its limit is accepted");
	cr_assert_eq(unpack_u64(&in), 0, "numbers after a bad one are read");
	in = reading(&out);
	cr_assert(unpack_count(&in, 9) == 9 && unpack_count(&in, 7) == 7 && !in.bad);
	cr_assert(unpack_double(&in) == 0 && in.bad);
	in = reading(&out); /* the count says nine bytes, and eight follow */
	cr_assert(!strcmp(unpack_bytes(&in, &count), "") && count == 0 && in.bad);
	text_fini(&out);
}

/* A length is neither added to a pointer nor allocated before so many bytes are known to follow. */
Test(files, lengths_beyond_everything_are_bad)
{
	const uint64_t lengths[] = {
		1, 9, UINT32_MAX, (uint64_t)UINT32_MAX + 1, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX - 7, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct text out = {0};
		size_t count = 1;
		pack_u64(&out, lengths[i]);
		struct unpack in = reading(&out);
		(void)unpack_bytes(&in, &count);
		cr_assert(in.bad && !count);
		in = reading(&out);
		char *text = unpack_string(&in);
		cr_assert(in.bad && !*text);
		free(text);
		in = reading(&out);
		(void)unpack_count(&in, UINT64_MAX);
		cr_assert_eq(in.bad, lengths[i] > UINT32_MAX, "a count of more than 32 bits is bad, and no other");
		text_fini(&out);
	}
}

Test(files, strings_with_zeros_and_numbers_that_are_not_finite_are_bad)
{
	const double wrong[] = {NAN, -NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct text out = {0};
		pack_double(&out, wrong[i]);
		struct unpack in = reading(&out);
		cr_assert(unpack_double(&in) == 0 && in.bad);
		text_fini(&out);
	}
	struct text out = {0};
	pack_bytes(&out, "a\0b", 3);
	struct unpack in = reading(&out);
	char *text = unpack_string(&in);
	cr_assert(in.bad && !*text);
	free(text);
	text_fini(&out);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static char folder[64];

static char *in_folder(const char *name)
{
	return mem_printf("%s/%s", folder, name);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

static void set_up(void)
{
	strcpy(folder, "/tmp/test_files.XXXXXX");
	cr_assert(mkdtemp(folder));
}

static void tear_down(void)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = in_folder(names[i]);
		unlink(path);
		free(path);
	}
	cr_assert(!rmdir(folder), "the folder has another file");
}

Test(files, a_set_keeps_what_it_read_and_what_it_found, .init = set_up, .fini = tear_down)
{
	struct files files = {0};
	struct troupe_error error;
	const char *bytes;
	size_t count;
	char *a = in_folder("a"), *b = in_folder("b"), *c = in_folder("c");
	put(a, "first");
	put(b, "second");
	cr_assert_eq(files_look(&files, folder), FILES_FOLDER);
	cr_assert_eq(files_look(&files, c), FILES_NOTHING);
	cr_assert_eq(files_look(&files, b), FILES_FILE);
	cr_assert_eq(files_read(&files, c, 100, &bytes, &count, &error), TROUPE_EIO);
	cr_assert(strstr(error.text, c));
	cr_assert_eq(files_read(&files, a, 4, &bytes, &count, &error), TROUPE_ELIMIT);
	cr_assert_eq(files_read(&files, a, 5, &bytes, &count, &error), TROUPE_OK);
	cr_assert(count == 5 && !strcmp(bytes, "first"));
	put(a, "changed");
	unlink(b);
	cr_assert_eq(files_read(&files, a, 100, &bytes, &count, &error), TROUPE_OK);
	cr_assert_str_eq(bytes, "first", "a file that is kept is read again");
	cr_assert_eq(files_read(&files, a, 4, &bytes, &count, &error), TROUPE_ELIMIT,
		"limits hold for files that are kept, too");
	cr_assert_eq(files_look(&files, b), FILES_FILE, "a file that was found is looked for again");
	put(c, "later");
	cr_assert_eq(files_look(&files, c), FILES_NOTHING, "a file that was not there is looked for again");
	cr_assert_eq(files_read(&files, c, 100, &bytes, &count, &error), TROUPE_EIO);
	cr_assert_eq(files.all.count, 3);
	files_fini(&files);
	free(a);
	free(b);
	free(c);
}

static void read_two(struct files *files, const char *a, const char *b)
{
	struct troupe_error error;
	const char *bytes;
	size_t count;
	put(a, "first");
	put(b, "second");
	cr_assert_eq(files_read(files, a, 100, &bytes, &count, &error), TROUPE_OK);
	cr_assert_eq(files_read(files, b, 100, &bytes, &count, &error), TROUPE_OK);
}

/* Bytes of all kinds come back: none, one, without repetitions, one byte many times, a copy that reaches into itself.
 */
Test(files, squeezed_bytes_come_back)
{
	enum { MOST = 70000 };
	char *bytes = malloc(MOST);
	for (int kind = 0; kind < 4; kind++)
		for (size_t count = 0; count <= MOST; count += count < 100 ? 1 : 23300) {
			struct text squeezed = {0};
			for (size_t i = 0; i < count; i++)
				bytes[i] = (char)(kind == 0   ? hash_mix(7, i)
						  : kind == 1 ? i
						  : kind == 2 ? 0
							      : i % 19 + (i > count / 2));
			squeeze(bytes, count, &squeezed);
			char *again = squeeze_undo(&squeezed, count);
			cr_assert(!memcmp(bytes, again, count) && !again[count], "kind %d, %zu bytes", kind, count);
			cr_assert(kind == 0 || count < 1000 || squeezed.count < count / 10, "kind %d", kind);
			cr_assert_leq(squeezed.count, count + 8);
			free(again);
			text_fini(&squeezed);
		}
	free(bytes);
}

/* A squeezed file takes less memory, and is for every reader what it was. */
Test(files, a_squeezed_file_reads_the_same, .init = set_up, .fini = tear_down)
{
	enum { ROBOTS = 1000 };
	struct files files = {0}, other = {0}, later = {.before = &files}, closed = {0};
	struct text text = {0}, before = {0}, after = {0};
	const char *bytes;
	size_t count;
	for (int i = 0; i < ROBOTS; i++)
		text_add(&text, "<model name='robot_%d'><link name='chassis'/></model>\n", i);
	files_add(&files, "world", text.at, text.count);
	files_add(&files, "few", "bytes", 5);
	files_pack(&files, &before);
	files_squeeze(&files, "world");
	files_squeeze(&files, "few");
	files_squeeze(&files, "none");
	cr_assert_null(files.all.at[0].bytes);
	cr_assert_lt(files.all.at[0].squeezed.count, text.count / 4);
	cr_assert_str_eq(files.all.at[1].bytes, "bytes");
	files_pack(&files, &after);
	cr_assert(after.count == before.count && !memcmp(after.at, before.at, after.count));
	files_add(&files, "world", "not this", 8);
	files_add_all(&other, &files);
	cr_assert_str_eq(other.all.at[0].bytes, text.at);
	cr_assert(files_holds(&files, &other.all.at[0]) && files_holds(&other, &files.all.at[0]));
	cr_assert(!files_differ(&files, &other));
	cr_assert_eq(files_read(&later, "world", text.count, &bytes, &count, NULL), TROUPE_OK);
	cr_assert(count == text.count && !strcmp(bytes, text.at));
	cr_assert_eq(files.all.at[0].bytes, NULL, "the set itself has changed");
	struct unpack in = reading(&after);
	files_unpack(&closed, &in);
	closed.all.at[0].bytes[text.count / 2]++;
	cr_assert(files_differ(&files, &closed) && !files_holds(&files, &closed.all.at[0]));
	cr_assert_eq(files_read(&files, "world", text.count, &bytes, &count, NULL), TROUPE_OK);
	cr_assert(count == text.count && !strcmp(bytes, text.at));
	files_squeeze(&files, "world");
	files_replace_all(&files, &closed);
	cr_assert(files_holds(&files, &closed.all.at[0]));
	files_fini(&files);
	files_fini(&other);
	files_fini(&later);
	files_fini(&closed);
	text_fini(&text);
	text_fini(&before);
	text_fini(&after);
}

/* A file whose bytes are left to the file system is read again, also through another set, as long as it is the same. */
Test(files, a_file_that_is_left_must_stay_the_same, .init = set_up, .fini = tear_down)
{
	struct files files = {0}, packed = {0}, closed = {0};
	struct troupe_error error;
	struct text out = {0};
	const char *bytes;
	size_t count;
	char *a = in_folder("a"), *b = in_folder("b");
	read_two(&files, a, b);
	files_leave(&files, a);
	cr_assert_null(files.all.at[0].bytes);
	cr_assert_eq(files_look(&files, a), FILES_FILE);
	struct files later = {.before = &files, .closed = true};
	cr_assert_eq(files_read(&later, a, 4, &bytes, &count, &error), TROUPE_ELIMIT);
	cr_assert_eq(files_read(&later, a, 100, &bytes, &count, &error), TROUPE_OK, "%s", error.text);
	cr_assert_str_eq(bytes, "first");
	cr_assert(files_holds(&files, &later.all.at[0]) && !files_differ(&files, &later));
	cr_assert_null(files.all.at[0].bytes, "the set itself has changed");
	packed.before = &files;
	cr_assert_eq(files_recall(&packed, &error), TROUPE_OK);
	files_pack_both(&files, &packed, &out);
	struct unpack in = reading(&out);
	files_unpack(&closed, &in);
	cr_assert(!in.bad);
	cr_assert_eq(files_read(&closed, a, 100, &bytes, &count, &error), TROUPE_OK);
	cr_assert_str_eq(bytes, "first");
	files_leave(&closed, a);
	cr_assert_eq(files_read(&closed, a, 100, &bytes, &count, &error), TROUPE_OK, "a closed set has nothing else");
	files_fini(&later);
	files_fini(&packed);
	put(a, "fresh");
	struct files changed = {.before = &files, .closed = true};
	cr_assert_eq(files_read(&changed, a, 100, &bytes, &count, &error), TROUPE_EIO);
	cr_assert(strstr(error.text, a) && strstr(error.text, "changed"), "%s", error.text);
	cr_assert_eq(files_recall(&changed, &error), TROUPE_EIO);
	put(a, "longer than it was");
	cr_assert_eq(files_read(&files, a, 100, &bytes, &count, &error), TROUPE_EIO);
	unlink(a);
	cr_assert_eq(files_read(&files, a, 100, &bytes, &count, &error), TROUPE_EIO);
	cr_assert_not(strstr(error.text, "changed"), "a file that is gone: %s", error.text);
	put(a, "first");
	cr_assert_eq(files_read(&files, a, 100, &bytes, &count, &error), TROUPE_OK);
	files_fini(&changed);
	files_fini(&closed);
	files_fini(&files);
	text_fini(&out);
	free(a);
	free(b);
}

struct source_of_tests {
	const char *bytes;
	uint32_t asked;
	troupe_status refusal; /* without bytes */
};

static troupe_status fetch_for_tests(
	void *ctx, const char *path, char **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	struct source_of_tests *source = ctx;
	source->asked++;
	if (!source->bytes)
		return fail(error, source->refusal, "%s is not given", path);
	*ret_bytes = mem_strdup(source->bytes);
	*ret_count = strlen(source->bytes);
	return TROUPE_OK;
}

/* The bytes of a file that is set apart go only when they are asked for, and must be those that were there. */
Test(files, bytes_that_come_later, .init = set_up, .fini = tear_down)
{
	struct files files = {0}, far = {0}, whole = {0};
	struct troupe_error error;
	struct text out = {0}, given = {0};
	struct source_of_tests from = {"first", 0, TROUPE_EINTERNAL};
	const struct files_source source = {fetch_for_tests, &from};
	const char *bytes;
	size_t count;
	char *a = in_folder("a"), *b = in_folder("b");
	read_two(&files, a, b);
	cr_assert_null(files_note(&files, a, &count));
	files_set_apart(&files, a, "box", 3);
	files_leave(&files, a);
	files_pack_apart(&files, &(struct files){0}, &out);
	struct unpack in = reading(&out);
	files_unpack(&far, &in);
	cr_assert(!in.bad && in.at == in.end);
	const char *note = files_note(&far, a, &count);
	cr_assert(note && count == 3 && !memcmp(note, "box", 3));
	cr_assert_null(files_note(&far, b, &count));
	cr_assert_eq(files_look(&far, a), FILES_FILE);

	struct files early = {.before = &far, .closed = true}, late = {.before = &far, .closed = true},
		     other = {.before = &far, .closed = true};
	cr_assert_eq(files_read(&early, a, 100, &bytes, &count, &error), TROUPE_EIO, "it is there without a source");
	far.source = &source;
	cr_assert_eq(files_read(&late, b, 100, &bytes, &count, &error), TROUPE_OK);
	cr_assert_eq(from.asked, 0u);
	cr_assert_eq(files_read(&late, a, 100, &bytes, &count, &error), TROUPE_OK, "%s", error.text);
	cr_assert(from.asked == 1 && !strcmp(bytes, "first"));
	from.bytes = "worse";
	cr_assert_eq(files_read(&other, a, 100, &bytes, &count, &error), TROUPE_EIO);
	cr_assert(strstr(error.text, "changed"), "%s", error.text);
	from.bytes = NULL;
	cr_assert_eq(files_read(&other, a, 100, &bytes, &count, &error), TROUPE_EINTERNAL);
	from.refusal = TROUPE_EPEER;
	cr_assert_eq(files_read(&other, a, 100, &bytes, &count, &error), TROUPE_EPEER);
	cr_assert(strstr(error.text, "is not given"), "a run that is over is said to have changed a file: %s",
		error.text);

	struct files needed = {.before = &files}, ready = {0};
	cr_assert_eq(files_read(&needed, a, 100, &bytes, &count, &error), TROUPE_OK);
	out.count = 0;
	files_pack_apart(&files, &needed, &out);
	in = reading(&out);
	files_unpack(&ready, &in);
	cr_assert(!in.bad && in.at == in.end && files_note(&files, a, &count));
	cr_assert_null(files_note(&ready, a, &count), "it has come with its bytes");
	cr_assert_eq(files_read(&ready, a, 100, &bytes, &count, &error), TROUPE_OK, "%s", error.text);
	cr_assert_str_eq(bytes, "first");
	files_fini(&needed);
	files_fini(&ready);

	cr_assert_eq(files_give(&files, a, &given, &error), TROUPE_OK);
	cr_assert(given.count == 5 && !memcmp(given.at, "first", 5));
	cr_assert_eq(files_give(&files, b, &given, &error), TROUPE_EIO, "a file that was sent is given again");
	put(a, "fresh");
	cr_assert_eq(files_give(&files, a, &given, &error), TROUPE_EIO);
	put(a, "first");
	cr_assert_eq(files_read(&files, a, 100, &bytes, &count, &error), TROUPE_OK);
	cr_assert_null(files_note(&files, a, &count), "it has another use, and is still apart");
	out.count = 0;
	files_pack_apart(&files, &(struct files){0}, &out);
	in = reading(&out);
	files_unpack(&whole, &in);
	cr_assert_eq(files_read(&whole, a, 100, &bytes, &count, &error), TROUPE_OK);
	files_fini(&early);
	files_fini(&late);
	files_fini(&other);
	files_fini(&far);
	files_fini(&whole);
	files_fini(&files);
	text_fini(&out);
	text_fini(&given);
	free(a);
	free(b);
}

/* The names in a folder are sorted; a closed set knows only those that it has. */
Test(files, names_in_a_folder, .init = set_up, .fini = tear_down)
{
	struct files files = {0}, kept = {.closed = true}, before = {0};
	struct arena arena = {0};
	const char *const *names;
	char *a = in_folder("a"), *b = in_folder("b"), *deep = in_folder("c/x/y"), *none = in_folder("none");
	put(b, "");
	put(a, "");
	files_add(&before, deep, "text", 4);
	files.before = &before;
	cr_assert_eq(files_list(&files, folder, &arena, &names), 3);
	cr_assert(!strcmp(names[0], "a") && !strcmp(names[1], "b") && !strcmp(names[2], "c"));
	cr_assert_eq(files_list(&files, none, &arena, &names), 0);
	cr_assert_eq(files.all.count, 0, "what is only listed is not kept");
	files_add(&kept, deep, "text", 4);
	files_add(&kept, b, NULL, 0);
	cr_assert_eq(files_list(&kept, folder, &arena, &names), 2);
	cr_assert(!strcmp(names[0], "b") && !strcmp(names[1], "c"));
	files_fini(&files);
	files_fini(&kept);
	files_fini(&before);
	arena_fini(&arena);
	free(a);
	free(b);
	free(deep);
	free(none);
}

/* What was not there stays so when the set is packed and asked before the file system. */
Test(files, absences_are_kept, .init = set_up, .fini = tear_down)
{
	struct files files = {0}, again = {0}, inner = {0}, other = {0};
	struct text out = {0};
	struct troupe_error error;
	const char *bytes;
	size_t count;
	char *a = in_folder("a"), *b = in_folder("b");
	put(b, "b");
	cr_assert_eq(files_look(&files, a), FILES_NOTHING);
	cr_assert_eq(files_read(&files, b, 100, &bytes, &count, &error), TROUPE_OK);
	files_pack(&files, &out);
	put(a, "a");
	struct unpack in = reading(&out);
	files_unpack(&again, &in);
	cr_assert(!in.bad && again.all.count == 2);
	again.closed = false;
	cr_assert_eq(files_look(&again, a), FILES_NOTHING);
	cr_assert_eq(files_read(&again, a, 100, &bytes, &count, &error), TROUPE_EIO);
	inner.before = &again;
	cr_assert_eq(files_look(&inner, a), FILES_NOTHING);
	cr_assert_eq(files_read(&inner, a, 100, &bytes, &count, &error), TROUPE_EIO);
	cr_assert_eq(files_look(&again, folder), FILES_FOLDER);
	/* another set in which it is there */
	files_add(&other, a, "a", 1);
	cr_assert(files_differ(&files, &other) && !files_holds(&files, &other.all.at[0]));
	files_add_all(&files, &other);
	cr_assert(!files_read(&other, a, 100, &bytes, &count, &error) && files_look(&files, a) == FILES_NOTHING);
	files_replace_all(&files, &other);
	cr_assert(!files_differ(&files, &other) && files_holds(&files, &other.all.at[0]));
	cr_assert(!files_read(&files, a, 100, &bytes, &count, &error) && !strcmp(bytes, "a"));
	files_fini(&other);
	files_fini(&inner);
	files_fini(&again);
	files_fini(&files);
	text_fini(&out);
	free(a);
	free(b);
}

/* Only what is below a place is read, wherever links lead; and no file but a plain one with content. */
Test(files, places_bound_what_is_read, .init = set_up, .fini = tear_down)
{
	struct files_places places = {0};
	struct files files = {.places = &places}, open = {0};
	struct troupe_error error;
	const char *bytes;
	size_t count;
	char *a = in_folder("a"), *inside = in_folder("a/x"), *link = in_folder("a/y"), *up = in_folder("a/../b");
	char *b = in_folder("b"), *empty = in_folder("c"), *pipe = in_folder("d");
	cr_assert(!mkdir(a, 0700) && !mkfifo(pipe, 0600));
	put(inside, "inside");
	put(b, "outside");
	put(empty, "");
	cr_assert(!symlink("../b", link));
	files_allow(&places, a);
	files_allow(&places, "/nowhere");
	cr_assert(places.all.count == 1 && files_allows(&places, a) && files_allows(&places, inside));
	cr_assert(!files_allows(&places, b) && !files_allows(&places, folder) && !files_allows(&places, link));
	cr_assert_eq(files_look(&files, inside), FILES_FILE);
	cr_assert(!files_read(&files, inside, 100, &bytes, &count, &error) && !strcmp(bytes, "inside"));
	const char *const outside[] = {b, link, up, "/etc/passwd", "/proc/self/environ", "/dev/zero"};
	for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
		struct files fresh = {.places = &places};
		cr_assert_eq(files_read(&fresh, outside[i], 100, &bytes, &count, &error), TROUPE_EIO, "%s", outside[i]);
		cr_assert(strstr(error.text, outside[i]));
		cr_assert_eq(files_look(&fresh, outside[i]), FILES_REFUSED, "%s", outside[i]);
		cr_assert_eq(files_look(&fresh, outside[i]), FILES_NOTHING, "it is absent then");
		cr_assert(fresh.all.count == 1 && fresh.all.at[0].absent && !fresh.all.at[0].bytes);
		files_fini(&fresh);
	}
	cr_assert(!files_read_given(&files, b, 100, &bytes, &count, &error) && !strcmp(bytes, "outside"));
	const char *const special[] = {
		pipe, empty, "/proc/self/environ", "/dev/zero", "/sys/kernel/mm/transparent_hugepage/enabled"};
	for (size_t i = 0; i < ARRAY_LEN(special); i++)
		cr_assert_eq(files_read(&open, special[i], 100, &bytes, &count, &error), TROUPE_EIO, "%s", special[i]);
	files_fini(&open);
	files_fini(&files);
	files_places_fini(&places);
	cr_assert(!unlink(inside) && !unlink(link) && !rmdir(a));
	free(a), free(inside), free(link), free(up), free(b), free(empty), free(pipe);
}

/* A package reaches from the folder with its description; a file that has none, only to its own folder. */
Test(files, a_package_is_a_place, .init = set_up, .fini = tear_down)
{
	struct files_places places = {0};
	char *urdf = in_folder("a"), *robot = in_folder("a/robot.urdf"), *mark = in_folder("package.xml");
	cr_assert(!mkdir(urdf, 0700));
	put(robot, "x");
	files_allow_around(&places, robot);
	cr_assert(files_allows(&places, urdf) && !files_allows(&places, folder));
	put(mark, "x");
	files_allow_around(&places, robot);
	cr_assert(files_allows(&places, folder) && !files_allows(&places, "/tmp"));
	files_places_fini(&places);
	cr_assert(!unlink(mark) && !unlink(robot) && !rmdir(urdf));
	/* without a description, by the name of the folder in which robots lie in a package */
	struct files_places named = {0};
	free(urdf), free(robot);
	urdf = in_folder("urdf"), robot = in_folder("urdf/robot.urdf");
	cr_assert(!mkdir(urdf, 0700));
	files_allow_around(&named, robot);
	cr_assert(files_allows(&named, folder) && !files_allows(&named, "/tmp"));
	files_places_fini(&named);
	cr_assert(!rmdir(urdf));
	free(urdf), free(robot), free(mark);
}

Test(files, a_closed_set_is_all_there_is, .init = set_up, .fini = tear_down)
{
	struct files files = {0}, again = {0}, inner = {0};
	struct text out = {0};
	struct troupe_error error;
	const char *bytes;
	size_t count;
	char *a = in_folder("a");
	put(a, "on the disk");
	files_add(&files, "x/y/z", "deep", 4);
	files_add(&files, "x/only seen", NULL, 0);
	files_add(&files, "empty", "", 0);
	files_add(&files, "empty", "later", 5);
	files_pack(&files, &out);
	struct unpack in = reading(&out);
	files_unpack(&again, &in);
	cr_assert(!in.bad && in.at == in.end && again.closed && again.all.count == 3);
	cr_assert_eq(files_look(&again, "x"), FILES_FOLDER);
	cr_assert_eq(files_look(&again, "x/"), FILES_FOLDER);
	cr_assert_eq(files_look(&again, "x/y"), FILES_FOLDER);
	cr_assert_eq(files_look(&again, "x/y/z"), FILES_FILE);
	cr_assert_eq(files_look(&again, "x/y/"), FILES_FOLDER);
	cr_assert_eq(files_look(&again, "x/o"), FILES_NOTHING, "a part of a file's name counts as a folder");
	cr_assert_eq(files_look(&again, "x/only seen"), FILES_FILE);
	cr_assert_eq(files_look(&again, a), FILES_NOTHING);
	cr_assert_eq(files_read(&again, a, 100, &bytes, &count, &error), TROUPE_EIO);
	cr_assert_eq(files_read(&again, "x/only seen", 100, &bytes, &count, &error), TROUPE_EIO);
	cr_assert(!files_read(&again, "x/y/z", 100, &bytes, &count, &error) && !strcmp(bytes, "deep") && count == 4);
	cr_assert(!files_read(&again, "empty", 100, &bytes, &count, &error) && !*bytes && !count);
	/* a set that is asked before the file system; a file that is found there is kept */
	inner.before = &again;
	cr_assert(!files_read(&inner, "x/y/z", 100, &bytes, &count, &error) && !strcmp(bytes, "deep"));
	cr_assert_eq(files_look(&inner, a), FILES_FILE);
	cr_assert_eq(files_look(&inner, "x/y"), FILES_FOLDER);
	cr_assert_eq(inner.all.count, 2);
	/* once open again, the set has its files, and asks the file system for the others */
	again.closed = false;
	cr_assert_eq(files_look(&again, "x/y"), FILES_FOLDER);
	cr_assert_eq(files_look(&again, "x/o"), FILES_NOTHING);
	cr_assert_eq(files_look(&again, ""), FILES_NOTHING);
	cr_assert_eq(files_look(&again, a), FILES_FILE);
	cr_assert(!files_read(&again, a, 100, &bytes, &count, &error) && !strcmp(bytes, "on the disk"));
	cr_assert_eq(again.all.count, 6, "what was not there is kept, too");
	files_fini(&inner);
	files_fini(&again);
	files_fini(&files);
	text_fini(&out);
	free(a);
}

/* A set that is cut anywhere, or has false counts, is bad, and takes no more memory than it has bytes. */
Test(files, damaged_sets_are_bad)
{
	struct files files = {0};
	struct text out = {0};
	files_add(&files, "a", "text", 4);
	files_add(&files, "b", NULL, 0);
	files_pack(&files, &out);
	for (size_t cut = 0; cut < out.count; cut++) {
		struct files again = {0};
		char *part = memcpy(mem_alloc(cut + 1), out.at, cut);
		struct unpack in = {part, part + cut, false};
		files_unpack(&again, &in);
		cr_assert(in.bad && again.all.count <= 2, "cut at %d", (int)cut);
		files_fini(&again);
		free(part);
	}
	memset(out.at, 0xff, 4); /* a count of four thousand million */
	struct files again = {0};
	struct unpack in = reading(&out);
	files_unpack(&again, &in);
	cr_assert(in.bad && again.all.count == 2);
	files_fini(&again);
	files_fini(&files);
	text_fini(&out);
}

/* The first sentence of a world's comment is what is told of it: in one line, and with one blank where there are more.
 */
Test(files, a_catalog_has_the_first_sentence_of_a_comment, .init = set_up, .fini = tear_down)
{
#define WORLD "<sdf version='1.9'><world name='w'/></sdf>"
	static const struct {
		const char *text, *sentence;
	} rows[] = {
		{"<?xml version='1.0'?>\n<!-- a.b  boxes\n\t that fall \t.  Others. -->" WORLD, "a.b boxes that fall"},
		{"<?xml version='1.0'?><?a b?><!--one-->" WORLD, "one"},
		{"<!--   two lines\n\n\n-->" WORLD, "two lines"}, {"<!-- three.--><!-- four. -->" WORLD, "three"},
		{"<sdf version='1.9'><!-- late. --><world name='w'/></sdf>", ""}, {"<!-- \xff. -->" WORLD, ""}};
	const char *const folders[] = {folder, NULL};
	const struct sdf_catalog_request request = {.folders = folders, .worlds = true};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdf_catalog catalog;
		char *path = in_folder("w.sdf");
		put(path, rows[i].text);
		cr_assert_eq(sdf_catalog_read(&request, &catalog, NULL), TROUPE_OK);
		cr_assert_eq(catalog.entries.count, 1);
		cr_assert_str_eq(catalog.entries.at[0].description, rows[i].sentence);
		cr_assert_str_eq(catalog.entries.at[0].name, "w");
		sdf_catalog_fini(&catalog);
		cr_assert(!unlink(path));
		free(path);
	}
#undef WORLD
}
